// SPDX-License-Identifier: Apache-2.0
// Runs a context: reserves it for one thread, checks the caller's arguments, executes the model, and releases it.
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "core/runtime/context.h"
#include "core/runtime/pool.h"
#include "core/runtime/subnormals.h"

// ---- one run at a time ----

static bool is_in_arguments(const byoc_model_context_t *context) {
  return atomic_load_explicit(&context->own, memory_order_relaxed) != NULL;
}

// Inside of run_arguments the context stays reserved.
static void leave(byoc_model_context_t *context) {
  if (is_in_arguments(context)) return;
  if (context->flushes) byoc_flush_leave(context->float_mode);
  atomic_store_explicit(&context->used, false, memory_order_release);
}

// Reserves the context for a run. Refuses a second thread. Refuses a context of the parent process if its libraries
// have threads, which a fork does not copy.
static int32_t enter(byoc_model_context_t *context) {
  const byoc_model_t *model = context->model;
  if (atomic_exchange_explicit(&context->used, true, memory_order_acquire)) {
    atomic_store(&context->misused, true);
    return BYOC_INVALID_ARGUMENT;
  }
  if (atomic_load_explicit(&context->misused, memory_order_relaxed)) atomic_store(&context->misused, false);
  byoc_reporter_begin(&context->shared.reporter);
  if (context->shared.stop != NULL) byoc_stop_begin(&context->stop);
  if (context->flushes) context->float_mode = byoc_flush_enter();
  const bool has_libraries = model->engine_count + model->setup_count > 0 || context->shared.devices != NULL;
  if (context->fork_generation == byoc_model_fork_generation() || !has_libraries) return BYOC_OK;
  (void)snprintf(context->error, sizeof(context->error),
                 "the context was made before this process was forked, and a library in it has threads that stayed "
                 "behind: make a context in the child");
  leave(context);
  return BYOC_UNSUPPORTED;
}

// ---- the caller's buffers ----

// Most callers pass the same buffers in every run.
static bool were_checked(const byoc_model_context_t *context, const void *const *inputs, void *const *outputs) {
  const byoc_artifact_t *artifact = context->model->artifact;
  const void *const *checked = context->checked;
  bool same = context->has_checked;
  for (uint32_t i = 0; i < artifact->input_count; i++) same = same && inputs[i] == checked[i];
  checked += artifact->input_count;
  for (uint32_t i = 0; i < artifact->output_count; i++) same = same && outputs[i] == checked[i];
  return same;
}

static const byoc_tensor_info_t *port_at(const byoc_artifact_t *artifact, uint32_t port) {
  return port < artifact->input_count ? &artifact->inputs[port] : &artifact->outputs[port - artifact->input_count];
}

// "the output 'y'"
static void append_port(byoc_model_context_t *context, const char *before, uint32_t port, const char *after) {
  const byoc_artifact_t *artifact = context->model->artifact;
  const size_t used = strlen(context->error);
  (void)snprintf(context->error + used, sizeof(context->error) - used, "%sthe %s '%s'%s", before,
                 port < artifact->input_count ? "input" : "output", port_at(artifact, port)->name, after);
}

// Either all outputs are given, or none: a caller that gives some has forgotten the others.
static int32_t refuse_missing(byoc_model_context_t *context, uint32_t port, void *const *outputs) {
  const byoc_artifact_t *artifact = context->model->artifact;
  context->error[0] = '\0';
  append_port(context, "", port, " is NULL");
  for (uint32_t i = 0; i < artifact->output_count && port >= artifact->input_count; i++) {
    if (outputs[i] == NULL || artifact->outputs[i].size_bytes == 0) continue;
    append_port(context, ", but ", artifact->input_count + i, " is given: a run needs all of them");
    break;
  }
  return BYOC_INVALID_ARGUMENT;
}

static int32_t check_buffers(byoc_model_context_t *context, const void *const *inputs, void *const *outputs) {
  const byoc_artifact_t *artifact = context->model->artifact;
  const uint32_t input_count = artifact->input_count, count = input_count + artifact->output_count;
  context->has_checked = false;
  for (uint32_t i = 0; i < count; i++) {
    const void *data = i < input_count ? inputs[i] : outputs[i - input_count];
    const uint64_t size_bytes = port_at(artifact, i)->size_bytes;
    if (data == NULL && size_bytes > 0) return refuse_missing(context, i, outputs);
    context->checked[i] = data;
    context->spans[i] = byoc_span_of(data, size_bytes, i);
  }
  uint32_t ports[2];
  if (byoc_find_overlap(context->spans, input_count, artifact->output_count, artifact->outputs_over, ports)) {
    context->error[0] = '\0';
    append_port(context, "", ports[0], "");
    append_port(context, " and ", ports[1], " overlap in memory");
    return BYOC_INVALID_ARGUMENT;
  }
  context->has_checked = true;
  return BYOC_OK;
}

static int32_t fail_by_reason(byoc_model_context_t *context, int32_t status) {
  (void)snprintf(context->error, sizeof(context->error), "%s", byoc_model_reason(context, status));
  context->reason[0] = '\0';
  return status;
}

// Ends a run whose devices failed before the first step or after the last one.
static int32_t end_failed(byoc_model_context_t *context, int32_t status) {
  (void)fail_by_reason(context, byoc_devices_finish(context->shared.devices, status));
  leave(context);
  return status;
}

// A model with inputs or outputs needs the arrays of them.
static int32_t check_arrays(byoc_model_context_t *context, const void *inputs, const void *outputs) {
  const byoc_artifact_t *artifact = context->model->artifact;
  const bool lacks_inputs = inputs == NULL && artifact->input_count > 0;
  if (!lacks_inputs && (outputs != NULL || artifact->output_count == 0)) return BYOC_OK;
  (void)snprintf(context->error, sizeof(context->error), "`%s` is NULL, and the model '%s' has %u of them",
                 lacks_inputs ? "inputs" : "outputs", artifact->model_name,
                 (unsigned)(lacks_inputs ? artifact->input_count : artifact->output_count));
  leave(context);
  return BYOC_INVALID_ARGUMENT;
}

static int32_t begin(byoc_model_context_t *context, const void *const *inputs, void *const *outputs) {
  // Only run_arguments knows the array that it made.
  bool is_own = inputs != NULL && inputs == atomic_load_explicit(&context->own, memory_order_relaxed);
  int32_t status = is_own ? BYOC_OK : enter(context);
  if (status == BYOC_OK) status = check_arrays(context, inputs, outputs);
  if (status != BYOC_OK || were_checked(context, inputs, outputs)) return status;
  status = check_buffers(context, inputs, outputs);
  if (status != BYOC_OK) leave(context);
  return status;
}

static int32_t lend(byoc_devices_t *devices, const void *const *inputs, void *const *outputs) {
  for (uint32_t i = 0; i < devices->places->port_count; i++) {
    const byoc_device_port_row_t *place = &devices->places->ports[i];
    devices->ports[i].host = place->is_output ? outputs[place->port] : (void *)(uintptr_t)inputs[place->port];
  }
  return byoc_devices_lend(devices);
}

// ---- threads ----

// Wakes sleeping threads at the begin of a longer run, before its first loop needs them. Runs of dynamic models differ
// too much in length for a choice, and a profile shows the threads that were asked for: both use all threads.
static void begin_pace(byoc_model_context_t *context) {
  byoc_pace_t *pace = &context->pace;
  const byoc_model_t *model = context->model;
  const bool is_profiled = model->artifact->profile != NULL;
  const uint64_t now_ns = byoc_model_now_ns();
  byoc_pace_begin(pace, now_ns);
  if (model->execute != NULL || is_profiled) pace->is_alone = false;
  context->minds_others = pace->is_long && !is_profiled;
  int32_t threads = context->shared.runtime.thread_count;
  if (context->minds_others) threads = byoc_crowd_threads(&context->crowd, threads, (int64_t)now_ns);
  if (pace->is_long) byoc_model_pool_wake(threads);
}

static void end_pace(byoc_model_context_t *context) {
  if (context->has_pace) byoc_pace_end(&context->pace, byoc_model_now_ns());
}

// Replaces the reason of a kernel or a collective that ended early by that of the stop.
static int32_t explain_stop(byoc_model_context_t *context, int32_t status) {
  if (context->shared.stop == NULL) return status;
  if (status != BYOC_CANCELLED && status != BYOC_TIMED_OUT) return status;
  const int32_t found = byoc_stop_status(&context->stop);
  if (found == BYOC_OK) return status;
  byoc_stop_explain(&context->stop, found, context->reason, sizeof(context->reason));
  byoc_collectives_abandon(&context->collectives);
  return found;
}

// Refuses to begin a run that is cancelled already.
static int32_t refuse_cancelled(byoc_model_context_t *context) {
  if (context->shared.stop == NULL) return BYOC_OK;
  const int32_t status = explain_stop(context, byoc_stop_status(&context->stop));
  return status == BYOC_OK ? BYOC_OK : fail_by_reason(context, status);
}

// Refuses a run of which a report of a backend could not be shown.
static int32_t refuse_reports(byoc_model_context_t *context) {
  const byoc_reporter_t *reporter = &context->shared.reporter;
  const int32_t status = byoc_reporter_status(reporter);
  if (status == BYOC_OK) return BYOC_OK;
  (void)snprintf(context->reason, sizeof(context->reason), "%s", reporter->reason);
  return fail_by_reason(context, status);
}

int32_t byoc_model_begin(byoc_context_t *shared, const void *const *inputs, void *const *outputs) {
  byoc_model_context_t *context = (byoc_model_context_t *)shared;
  int32_t status = begin(context, inputs, outputs);
  if (status != BYOC_OK) return status;
  status = refuse_cancelled(context);
  if (status != BYOC_OK) leave(context);
  if (status == BYOC_OK && context->has_pace) begin_pace(context);
  if (status != BYOC_OK || shared->devices == NULL) return status;
  status = byoc_devices_begin(shared->devices);
  if (status == BYOC_OK) status = lend(shared->devices, inputs, outputs);
  return status == BYOC_OK ? BYOC_OK : end_failed(context, status);
}

int32_t byoc_model_end(byoc_context_t *shared) {
  byoc_model_context_t *context = (byoc_model_context_t *)shared;
  int32_t status = shared->devices != NULL ? byoc_devices_finish(shared->devices, BYOC_OK) : BYOC_OK;
  if (status != BYOC_OK) return end_failed(context, status);
  status = refuse_reports(context);
  end_pace(context);
  leave(context);
  return status;
}

int32_t byoc_model_failed(byoc_context_t *shared, int32_t status, uint32_t step) {
  byoc_model_context_t *context = (byoc_model_context_t *)shared;
  status = explain_stop(context, status);
  (void)snprintf(context->error, sizeof(context->error), "%s: %s", context->model->steps[step],
                 byoc_model_reason(context, status));
  context->reason[0] = '\0'; // the next failure has its own reason
  byoc_collectives_settle(&context->collectives);
  if (context->model->execute != NULL) return status; // run_arguments does the rest
  if (shared->devices != NULL) (void)byoc_devices_finish(shared->devices, status);
  leave(context);
  return status;
}

int32_t byoc_model_stopped(byoc_context_t *shared, uint32_t step) {
  const int32_t status = byoc_stop_status(shared->stop);
  return status == BYOC_OK ? BYOC_OK : byoc_model_failed(shared, status, step);
}

// ---- shapes known at run time ----

int32_t byoc_model_refuse_run(byoc_context_t *shared, const void *const *inputs, void *const *outputs) {
  (void)inputs, (void)outputs;
  byoc_model_context_t *context = (byoc_model_context_t *)shared;
  (void)snprintf(context->error, sizeof(context->error),
                 "shapes of the model '%s' are known only when it runs: call run_arguments in place of run",
                 context->model->artifact->model_name);
  return BYOC_UNSUPPORTED;
}

static byoc_port_info_t port_info(const byoc_tensor_info_t *tensor, const char *kinds) {
  return (byoc_port_info_t){
      .name = tensor->name, .kinds = kinds, .dtype = tensor->dtype, .rank = tensor->rank, .dims = tensor->dims};
}

// Checks that the caller's buffers for outputs do not overlap inputs or each other.
static int32_t check_placed(byoc_model_context_t *context, const byoc_argument_t *inputs) {
  const byoc_model_t *model = context->model;
  const byoc_artifact_t *artifact = model->artifact;
  const uint32_t input_count = artifact->input_count;
  for (uint32_t i = 0; i < input_count; i++) {
    const bool is_tensor = inputs[i].kind == BYOC_ARGUMENT_TENSOR;
    const uint64_t size = is_tensor ? byoc_cell_size_bytes(context->shared.frame.cells[model->input_cells[i]]) : 0;
    context->spans[i] = byoc_span_of(is_tensor ? inputs[i].data : NULL, size, i);
  }
  for (uint32_t i = 0; i < artifact->output_count; i++) {
    byoc_span_t *span = &context->spans[input_count + i];
    *span = byoc_span_of(context->placed[i].data, context->placed[i].size_bytes, input_count + i);
    const int32_t over = artifact->outputs_over[i];
    if (over < 0 || context->spans[over].begin != span->begin) continue;
    span->size_bytes = context->spans[over].size_bytes; // the rest of the buffer is not written
  }
  uint32_t ports[2];
  if (!byoc_find_overlap(context->spans, input_count, artifact->output_count, artifact->outputs_over, ports)) {
    return BYOC_OK;
  }
  return byoc_frame_fail(&context->shared.frame, BYOC_INVALID_ARGUMENT,
                         "the %s '%s' and the output '%s' overlap in memory",
                         ports[0] < input_count ? "input" : "output", port_at(artifact, ports[0])->name,
                         port_at(artifact, ports[1])->name);
}

static void note_failure(byoc_model_context_t *context, int32_t found, int32_t *status) {
  if (*status == BYOC_OK && found != BYOC_OK) *status = fail_by_reason(context, found);
}

// Fills all outputs, even if one fails, because the caller needs their shapes. Outputs that may overwrite inputs come
// last, because other outputs may pass these inputs on.
static int32_t hand_out(byoc_model_context_t *context, byoc_argument_t *outputs) {
  const byoc_artifact_t *artifact = context->model->artifact;
  int32_t status = BYOC_OK;
  for (uint32_t i = 0; i < artifact->output_count; i++) {
    if (artifact->outputs_over[i] < 0) note_failure(context, byoc_model_hand_out(context, i, &outputs[i]), &status);
  }
  for (uint32_t i = 0; i < artifact->output_count && context->with != NULL; i++) {
    note_failure(context, byoc_model_keep_input(context, i), &status);
  }
  for (uint32_t i = 0; i < artifact->output_count; i++) {
    if (artifact->outputs_over[i] >= 0) note_failure(context, byoc_model_hand_out(context, i, &outputs[i]), &status);
  }
  return status;
}

// Runs the steps of a dynamic model, and its devices.
static int32_t execute(byoc_model_context_t *context) {
  byoc_devices_t *devices = context->shared.devices;
  const int32_t cancelled = refuse_cancelled(context);
  if (cancelled != BYOC_OK) return cancelled;
  if (context->has_pace) begin_pace(context);
  if (devices == NULL) {
    const int32_t status = context->model->execute(&context->shared);
    if (status == BYOC_OK) end_pace(context);
    return status == BYOC_OK ? refuse_reports(context) : status;
  }
  int32_t status = byoc_devices_begin(devices);
  if (status != BYOC_OK) return fail_by_reason(context, byoc_devices_finish(devices, status));
  status = context->model->execute(&context->shared);
  const int32_t ended = byoc_devices_finish(devices, status);
  if (status == BYOC_OK && ended == BYOC_OK) return refuse_reports(context);
  return status != BYOC_OK ? status : fail_by_reason(context, ended);
}

static int32_t run_dynamic(byoc_model_context_t *context, const byoc_argument_t *inputs, byoc_argument_t *outputs) {
  const byoc_model_t *model = context->model;
  const byoc_artifact_t *artifact = model->artifact;
  byoc_frame_t *frame = &context->shared.frame;
  int32_t status = BYOC_OK;
  for (uint32_t i = 0; i < artifact->input_count && status == BYOC_OK; i++) {
    byoc_port_info_t port = port_info(&artifact->inputs[i], artifact->input_kinds[i]);
    status = byoc_frame_import(frame, model->input_cells[i], &inputs[i], &port);
  }
  if (status == BYOC_OK && context->with != NULL) status = check_placed(context, inputs);
  if (status != BYOC_OK) return fail_by_reason(context, status);
  status = execute(context);
  if (status != BYOC_OK) return status;
  status = hand_out(context, outputs);
  for (uint32_t i = 0; i < artifact->output_count && status != BYOC_OK; i++) outputs[i].data = NULL;
  context->reason[0] = '\0';
  return status;
}

// The memory of an output of known shape: the caller's, or the context's.
static int32_t find_memory(byoc_model_context_t *context, uint32_t output, byoc_argument_t *out_argument) {
  const byoc_tensor_info_t *info = &context->model->artifact->outputs[output];
  byoc_frame_t *frame = &context->shared.frame;
  const byoc_buffer_t *placed = &context->placed[output];
  if (context->with != NULL) {
    int32_t status = byoc_model_ask_for(context, output, out_argument, info->size_bytes);
    if (status != BYOC_OK) return status;
  }
  if (context->with != NULL && placed->data != NULL) {
    if (placed->size_bytes < info->size_bytes) {
      return byoc_frame_refuse_buffer(frame, info->name, out_argument, info->size_bytes, placed);
    }
    out_argument->data = placed->data;
    return BYOC_OK;
  }
  out_argument->data = byoc_frame_scratch(frame, info->size_bytes);
  return out_argument->data != NULL ? BYOC_OK : byoc_frame_out_of_memory(frame);
}

// Runs a static model with arguments: checks shapes, and gives results memory.
static int32_t run_static(byoc_model_context_t *context, const byoc_argument_t *inputs, byoc_argument_t *outputs) {
  const byoc_artifact_t *artifact = context->model->artifact;
  byoc_frame_t *frame = &context->shared.frame;
  uint32_t count = artifact->input_count + artifact->output_count;
  void **data = byoc_frame_scratch(frame, (count + 1) * sizeof(*data));
  int32_t status = data != NULL ? BYOC_OK : byoc_frame_out_of_memory(frame);
  for (uint32_t i = 0; i < artifact->input_count && status == BYOC_OK; i++) {
    byoc_port_info_t port = port_info(&artifact->inputs[i], artifact->input_kinds[i]);
    data[i] = inputs[i].data;
    status = byoc_frame_check_argument(frame, &inputs[i], &port);
  }
  for (uint32_t i = 0; i < artifact->output_count; i++) { // all of them, for their shapes
    const byoc_tensor_info_t *info = &artifact->outputs[i];
    outputs[i] = (byoc_argument_t){.dtype = info->dtype, .rank = info->rank, .dims = info->dims};
    if (status != BYOC_OK) continue;
    status = find_memory(context, i, &outputs[i]);
    data[artifact->input_count + i] = outputs[i].data;
  }
  for (uint32_t i = 0; i < artifact->output_count && status != BYOC_OK; i++) outputs[i].data = NULL;
  if (status != BYOC_OK) return fail_by_reason(context, status);
  atomic_store_explicit(&context->own, data, memory_order_relaxed);
  const byoc_observer_t *observer = context->shared.observer;
  const void *const *own = (const void *const *)data;
  if (observer != NULL && observer->profile != NULL) {
    status =
        artifact->profile(&context->shared, own, data + artifact->input_count, observer->profile, observer->argument);
  } else {
    status = artifact->run(&context->shared, own, data + artifact->input_count);
  }
  atomic_store_explicit(&context->own, NULL, memory_order_relaxed);
  for (uint32_t i = 0; i < artifact->output_count && status == BYOC_OK; i++) {
    if (outputs[i].dtype != BYOC_DTYPE_STRING) continue;
    status = byoc_frame_keep_texts(frame, outputs[i].data, artifact->outputs[i].size_bytes / sizeof(char *));
    if (status != BYOC_OK) return fail_by_reason(context, status);
  }
  return status;
}

void byoc_model_forget_texts(byoc_context_t *shared) {
  if (is_in_arguments((byoc_model_context_t *)shared)) return;
  if (shared->frame.scratch_used > 0) byoc_frame_finish(&shared->frame); // this run may read strings of the last one
  byoc_frame_reset(&shared->frame);
}

int32_t byoc_model_run_observed(byoc_context_t *shared, const byoc_argument_t *inputs, byoc_argument_t *outputs,
                                byoc_observer_t *observer) {
  byoc_model_context_t *context = (byoc_model_context_t *)shared;
  int32_t status = enter(context);
  if (status == BYOC_OK) status = check_arrays(context, inputs, outputs);
  if (status != BYOC_OK) return status;
  shared->observer = observer;
  shared->reporter.observer = observer;
  context->reason[0] = '\0';
  byoc_frame_reset(&shared->frame);
  bool is_dynamic = context->model->execute != NULL;
  status = is_dynamic ? run_dynamic(context, inputs, outputs) : run_static(context, inputs, outputs);
  if (status == BYOC_OK) byoc_frame_finish(&shared->frame);
  shared->observer = NULL;
  shared->reporter.observer = NULL;
  leave(context);
  return status;
}

static int32_t run_into(byoc_model_context_t *context, const byoc_argument_t *inputs, byoc_argument_t *outputs) {
  byoc_frame_t *frame = &context->shared.frame;
  int32_t status = byoc_model_take_buffers(context);
  if (status != BYOC_OK) return fail_by_reason(context, status);
  const bool is_dynamic = context->model->execute != NULL;
  frame->place = is_dynamic ? byoc_model_place : NULL;
  frame->place_self = context;
  status = is_dynamic ? run_dynamic(context, inputs, outputs) : run_static(context, inputs, outputs);
  frame->place = NULL;
  if (status == BYOC_OK) byoc_frame_finish(frame);
  return status;
}

int32_t byoc_model_run_with(byoc_context_t *shared, const byoc_argument_t *inputs, byoc_argument_t *outputs,
                            const byoc_run_options_t *options) {
  byoc_model_context_t *context = (byoc_model_context_t *)shared;
  int32_t status = enter(context);
  if (status == BYOC_OK) status = check_arrays(context, inputs, outputs);
  if (status != BYOC_OK) return status;
  byoc_run_options_t known = {.struct_size = sizeof(known)};
  if (options != NULL) {
    memcpy(&known, options, options->struct_size < sizeof(known) ? options->struct_size : sizeof(known));
  }
  context->reason[0] = '\0';
  byoc_frame_reset(&shared->frame);
  context->with = &known;
  status = run_into(context, inputs, outputs);
  context->with = NULL;
  leave(context);
  return status;
}

int32_t byoc_model_run_arguments(byoc_context_t *shared, const byoc_argument_t *inputs, byoc_argument_t *outputs) {
  return byoc_model_run_observed(shared, inputs, outputs, NULL);
}

uint64_t byoc_model_peak_bytes(const byoc_context_t *shared) {
  if (shared == NULL) return 0;
  const byoc_model_t *model = ((const byoc_model_context_t *)shared)->model;
  return model->artifact->workspace_size_bytes + shared->frame.peak_bytes;
}

void byoc_model_set_counter_sink(byoc_context_t *shared, byoc_counter_sink_t sink, void *argument) {
  shared->reporter.counter = sink;
  shared->reporter.counter_argument = argument;
}

typedef struct node_sink_t {
  byoc_profile_sink_t sink;
  void *argument;
} node_sink_t;

// A tab distinguishes a node of an engine from an instruction of the same name.
static void report_node(void *self, const char *node, uint64_t duration_ns) {
  const node_sink_t *nodes = self;
  char name[256];
  (void)snprintf(name, sizeof(name), "\t%s", node != NULL ? node : "?");
  nodes->sink(nodes->argument, name, duration_ns);
}

void byoc_model_rest(byoc_context_t *shared) {
  if (((const byoc_model_context_t *)shared)->pool_acquired) byoc_model_pool_rest();
}

int32_t byoc_model_profile_engine(byoc_context_t *shared, uint32_t engine, uint32_t function, const byoc_call_t *call,
                                  byoc_profile_sink_t sink, void *argument) {
  const byoc_engine_t *table = ((const byoc_model_context_t *)shared)->model->engines[engine].table;
  void *instance = shared->instances[engine];
  const byoc_model_t *model = ((const byoc_model_context_t *)shared)->model;
  shared->reporter.function = model->engines[engine].functions[function].symbol;
  shared->reporter.count = 0;
  const bool has_profile = table->struct_size >= offsetof(byoc_engine_t, profile) + sizeof(table->profile);
  if (!has_profile || table->profile == NULL) return table->run(instance, function, call);
  node_sink_t nodes = {.sink = sink, .argument = argument};
  return table->profile(instance, function, call, report_node, &nodes);
}
