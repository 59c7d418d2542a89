// SPDX-License-Identifier: Apache-2.0
// Creates and destroys contexts. A context holds everything of a model that is not constant.
#include <errno.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/runtime/context.h"
#include "core/runtime/cpu_check.h"
#include "core/runtime/fit.h"
#include "core/runtime/huge_pages.h"
#include "core/runtime/memory.h"
#include "core/runtime/pool.h"
#include "core/runtime/processors.h"
#include "core/runtime/stack.h"
#include "core/runtime/subnormals.h"
#include "core/runtime/thread_text.h"
#include "core/runtime/verify.h"

// The head of memory that a library keeps in the context.
struct byoc_kept_t {
  byoc_kept_t *next;
  const void *key;
  uint8_t padding[BYOC_BUFFER_ALIGNMENT - 2 * sizeof(void *)];
};

__attribute__((format(printf, 2, 3))) static int32_t create_error(int32_t status, const char *format, ...) {
  char *text = byoc_thread_text(true);
  if (text == NULL) return status;
  va_list arguments;
  va_start(arguments, format);
  (void)vsnprintf(text, BYOC_THREAD_TEXT_BYTES, format, arguments);
  va_end(arguments);
  return status;
}

static void set_error(void *self, const char *message) {
  byoc_model_context_t *context = self;
  (void)snprintf(context->reason, sizeof(context->reason), "%s", message);
}

static void *allocate_text(void *self, uint64_t size_bytes) {
  byoc_model_context_t *context = self;
  return byoc_frame_scratch(&context->shared.frame, size_bytes);
}

static void *keep(void *self, const void *key, uint64_t size_bytes) {
  byoc_model_context_t *context = self;
  byoc_kept_t *kept = context->kept;
  while (kept != NULL && kept->key != key) kept = kept->next;
  if (kept != NULL) return kept + 1;
  if (size_bytes > SIZE_MAX - 2 * sizeof(*kept)) return NULL;
  const size_t size = ((size_t)size_bytes + sizeof(*kept) - 1) / sizeof(*kept) * sizeof(*kept);
  kept = byoc_memory_allocate(sizeof(*kept) + size);
  if (kept == NULL) return NULL;
  kept->next = context->kept;
  kept->key = key;
  context->kept = kept;
  return kept + 1;
}

static void run_alone(void *self, byoc_parallel_body_t body, void *argument, int64_t count, int64_t grain) {
  (void)self;
  (void)grain;
  if (count > 0) body(argument, 0, count, 0);
}

static void run_in_pool(void *self, byoc_parallel_body_t body, void *argument, int64_t count, int64_t grain) {
  byoc_model_context_t *context = self;
  const int32_t threads = context->shared.runtime.thread_count;
  if (context->pace.is_alone) {
    run_alone(self, body, argument, count, grain);
  } else if (context->minds_others) {
    byoc_model_pool_run_in_crowd(&context->crowd, threads, body, argument, count, grain);
  } else {
    byoc_model_pool_run(threads, body, argument, count, grain);
  }
}

static void run_in_user_pool(void *self, byoc_parallel_body_t body, void *argument, int64_t count, int64_t grain) {
  const byoc_model_context_t *context = self;
  if (count > 0) context->user_pool.parallel_for(context->user_pool.self, body, argument, count, grain);
}

// The loops of kernels of target c, in a context whose runs may end early.
static void run_in_parts(void *self, byoc_parallel_body_t body, void *argument, int64_t count, int64_t grain) {
  byoc_model_context_t *context = self;
  byoc_parts_t parts = {.stop = &context->stop, .body = body, .argument = argument, .grain = grain};
  context->shared.runtime.parallel_for(self, byoc_stop_run_parts, &parts, count, grain);
}

static uint32_t wanted(void *self) {
  return byoc_reporter_wanted(&((byoc_model_context_t *)self)->shared.reporter);
}

// A function that fails with this status has its reason.
static int32_t tell(byoc_model_context_t *context, int32_t status) {
  if (status != BYOC_OK) set_error(context, context->shared.reporter.reason);
  return status;
}

static int32_t report_step(void *self, const char *name, uint64_t duration_ns) {
  byoc_model_context_t *context = self;
  return tell(context, byoc_reporter_step(&context->shared.reporter, name, duration_ns));
}

static int32_t report_counter(void *self, const char *name, const char *unit, double value) {
  byoc_model_context_t *context = self;
  return tell(context, byoc_reporter_counter(&context->shared.reporter, name, unit, value));
}

static int32_t report_tensor(void *self, const char *name, const DLTensor *tensor) {
  byoc_model_context_t *context = self;
  return tell(context, byoc_reporter_tensor(&context->shared.reporter, name, tensor));
}

static int32_t is_ending(void *self) {
  return byoc_stop_status(&((byoc_model_context_t *)self)->stop) != BYOC_OK;
}

typedef struct flushed_t {
  byoc_parallel_body_t body;
  void *argument;
} flushed_t;

static void run_flushed(void *argument, int64_t begin, int64_t end, int32_t worker) {
  const flushed_t *flushed = argument;
  const uint64_t before = byoc_flush_enter();
  flushed->body(flushed->argument, begin, end, worker);
  byoc_flush_leave(before);
}

static void share_flushed(void *self, byoc_parallel_body_t body, void *argument, int64_t count, int64_t grain) {
  const byoc_model_context_t *context = self;
  flushed_t flushed = {body, argument};
  context->share(self, run_flushed, &flushed, count, grain);
}

static int32_t set_up_flushing(byoc_model_context_t *context, const byoc_context_options_t *options) {
  if (options->flush_subnormals == 0) return BYOC_OK;
  if (options->flush_subnormals != 1) {
    return create_error(BYOC_INVALID_ARGUMENT, "flush_subnormals is %llu, and may be 0 or 1",
                        (unsigned long long)options->flush_subnormals);
  }
  if (!BYOC_CAN_FLUSH) {
    return create_error(BYOC_UNSUPPORTED, "this machine cannot treat subnormal numbers as zeros");
  }
  context->flushes = true;
  context->share = context->shared.runtime.parallel_for;
  context->shared.runtime.parallel_for = share_flushed;
  return BYOC_OK;
}

static int32_t check_processor(const byoc_model_t *model, char *message, uint64_t size) {
  const char *name = model->artifact->model_name;
  return model->level_count > 0 ? byoc_model_check_isa_levels(name, model->levels, model->level_count, message, size)
                                : byoc_model_check_cpu(name, model->cpu_features, message, size);
}

int32_t byoc_model_check(const byoc_model_t *model, char *message, uint64_t size) {
  int32_t status = check_processor(model, message, size);
  char *text = status != BYOC_OK ? byoc_thread_text(true) : NULL;
  if (text != NULL) (void)check_processor(model, text, BYOC_THREAD_TEXT_BYTES);
  return status;
}

const char *byoc_model_last_error(const byoc_context_t *shared) {
  if (shared == NULL) {
    const char *text = byoc_thread_text(false);
    return text != NULL ? text : byoc_thread_text_was_lost() ? "out of memory" : "";
  }
  const byoc_model_context_t *context = (const byoc_model_context_t *)shared;
  // The error string belongs to the thread that runs.
  if (atomic_load(&context->misused)) {
    return "the context is used by two threads at once: give each thread a context of its own";
  }
  return context->error;
}

// Reads a number from the environment; *out_value is unchanged if the variable is not set.
static int32_t read_number(const char *name, long least, long most, int32_t *out_value) {
  const char *variable = getenv(name);
  if (variable == NULL || variable[0] == '\0') return BYOC_OK;
  char *end = NULL;
  errno = 0;
  long value = strtol(variable, &end, 10);
  if (errno != 0 || *end != '\0' || value < least || value > most) {
    return create_error(BYOC_INVALID_ARGUMENT, "%s is '%s'; a number from %ld to %ld is needed", name, variable, least,
                        most);
  }
  *out_value = (int32_t)value;
  return BYOC_OK;
}

// options->thread_count, else $BYOC_THREADS, else the choice of the build, else the number of processors.
static int32_t choose_thread_count(const byoc_model_t *model, const byoc_context_options_t *options,
                                   int32_t *out_count) {
  int32_t count = options->thread_count;
  if (count < 0 || count > BYOC_MODEL_MAX_THREADS) {
    return create_error(BYOC_INVALID_ARGUMENT, "the thread count %d is not between 0 and %d", (int)count,
                        BYOC_MODEL_MAX_THREADS);
  }
  int32_t status = count == 0 ? read_number("BYOC_THREADS", 1, BYOC_MODEL_MAX_THREADS, &count) : BYOC_OK;
  if (status != BYOC_OK) return status;
  if (count == 0) count = model->thread_count;
  *out_count = count > 0 ? count : byoc_model_processor_count();
  return BYOC_OK;
}

static int32_t set_up_runtime(byoc_model_context_t *context, const byoc_context_options_t *options) {
  byoc_runtime_t *runtime = &context->shared.runtime;
  *runtime = (byoc_runtime_t){.struct_size = sizeof(*runtime),
                              .thread_count = 1,
                              .self = context,
                              .parallel_for = run_alone,
                              .set_error = set_error,
                              .allocate = allocate_text,
                              .keep = keep,
                              .wanted = wanted,
                              .report_step = report_step,
                              .report_counter = report_counter,
                              .report_tensor = report_tensor};
  char message[256];
  if (byoc_collectives_init(&context->collectives, options->communicator, context->model->rank_count,
                            context->model->rank, &runtime->communicator, message, sizeof(message)) != BYOC_OK) {
    return create_error(BYOC_INVALID_ARGUMENT, "%s", message);
  }
  if (options->pool != NULL) {
    size_t size = options->pool->struct_size;
    memcpy(&context->user_pool, options->pool, size < sizeof(context->user_pool) ? size : sizeof(context->user_pool));
    const int32_t count = context->user_pool.thread_count;
    if (context->user_pool.parallel_for == NULL || count < 1 || count > BYOC_MODEL_MAX_THREADS) {
      return create_error(BYOC_INVALID_ARGUMENT, "the thread pool needs parallel_for and 1 to %d threads; it has %d",
                          BYOC_MODEL_MAX_THREADS, (int)count);
    }
    runtime->thread_count = context->user_pool.thread_count;
    runtime->parallel_for = run_in_user_pool;
    return BYOC_OK;
  }
  int32_t count = 1;
  int32_t status = choose_thread_count(context->model, options, &count);
  if (status != BYOC_OK) return status;
  int32_t spin_turns = -1;
  status = read_number("BYOC_SPIN_TURNS", 0, INT32_MAX, &spin_turns);
  if (status != BYOC_OK) return status;
  if (spin_turns >= 0) byoc_model_pool_set_spin((uint32_t)spin_turns);
  if (count > 1) {
    count = byoc_model_pool_acquire(count);
    context->pool_acquired = true;
    runtime->parallel_for = run_in_pool;
    context->has_pace = count > 1;
  }
  runtime->thread_count = count;
  return BYOC_OK;
}

static void set_up_stop(byoc_model_context_t *context, const byoc_context_options_t *options) {
  context->stop.timeout_ms = options->timeout_ms;
  context->stop.cancel = options->cancel;
  if (!byoc_stop_is_set(&context->stop)) return;
  context->shared.stop = &context->stop;
  context->shared.runtime.is_ending = is_ending;
  context->in_parts = context->shared.runtime;
  context->in_parts.parallel_for = run_in_parts;
}

static bool allocate_parts(byoc_model_context_t *context) {
  const byoc_model_t *model = context->model;
  byoc_context_t *shared = &context->shared;
  shared->tensors = calloc((size_t)model->tensor_count + 1, sizeof(*shared->tensors));
  shared->calls = calloc((size_t)model->call_count + 1, sizeof(*shared->calls));
  shared->instances = calloc((size_t)model->engine_count + 1, sizeof(*shared->instances));
  shared->workspace = byoc_model_allocate(model->artifact->workspace_size_bytes);
  for (uint32_t i = 0; shared->workspace != NULL && i < model->cached_count; i++) {
    memset(shared->workspace + model->cached[i].offset_bytes, 0, (size_t)model->cached[i].size_bytes);
  }
  const size_t ports = (size_t)model->artifact->input_count + model->artifact->output_count;
  context->checked = calloc(ports + 1, sizeof(*context->checked));
  context->spans = calloc(ports + 1, sizeof(*context->spans));
  context->placed = calloc((size_t)model->artifact->output_count + 1, sizeof(*context->placed));
  context->engine_options = calloc((size_t)model->engine_count + 1, sizeof(*context->engine_options));
  if (context->engine_options == NULL) return false;
  return context->placed != NULL && shared->tensors != NULL && shared->calls != NULL && shared->instances != NULL &&
         shared->workspace != NULL && context->checked != NULL && context->spans != NULL;
}

static int32_t set_up_frame(byoc_model_context_t *context, const byoc_context_options_t *options) {
  const byoc_model_t *model = context->model;
  byoc_frame_t *frame = &context->shared.frame;
  int32_t most_iterations = 0;
  int32_t status = read_number("BYOC_MAX_ITERATIONS", 1, INT32_MAX, &most_iterations);
  if (status != BYOC_OK) return status;
  status = byoc_frame_init(frame, &context->shared.runtime, model->cell_count, model->symbol_count);
  frame->most_iterations = options->max_iterations > 0 ? options->max_iterations : (uint64_t)most_iterations;
  for (uint32_t i = 0; i < model->constant_count && status == BYOC_OK; i++) {
    const byoc_model_constant_t *constant = &model->constants[i];
    status =
        byoc_frame_constant(frame, constant->cell, constant->data, constant->dtype, constant->rank, constant->dims);
  }
  return status == BYOC_OK ? BYOC_OK : create_error(status, "out of memory");
}

// Fills in the calls by the generated tables, with pointers into this context's workspace.
static void fill_calls(byoc_model_context_t *own, const byoc_model_t *model) {
  byoc_context_t *context = &own->shared;
  memcpy(context->tensors, model->tensors, model->tensor_count * sizeof(*context->tensors));
  for (uint32_t i = 0; i < model->place_count; i++) {
    context->tensors[model->places[i].tensor].data = context->workspace + model->places[i].offset_bytes;
  }
  for (uint32_t i = 0; i < model->call_count; i++) {
    const byoc_model_call_t *from = &model->calls[i];
    context->calls[i] = (byoc_call_t){
        .struct_size = sizeof(byoc_call_t),
        .input_count = from->input_count,
        .output_count = from->output_count,
        .tensors = context->tensors + from->first_tensor,
        .runtime = from->is_kernel && context->stop != NULL ? &own->in_parts : &context->runtime,
        .workspace = from->workspace_size_bytes > 0 ? context->workspace + from->workspace_offset : NULL,
        .workspace_size_bytes = from->workspace_size_bytes,
    };
  }
}

// $BYOC_HUGE_PAGES, else the choice of the build.
static int32_t place_constants(const byoc_model_t *model, const byoc_context_options_t *options) {
  int32_t huge_pages = model->huge_pages != 0, verify = 0;
  char message[1024];
  int32_t status = read_number("BYOC_HUGE_PAGES", 0, 1, &huge_pages);
  if (status == BYOC_OK) status = read_number("BYOC_VERIFY", 0, 1, &verify);
  if (status != BYOC_OK) return status;
  if (model->weights == NULL) {
    byoc_model_place_constants(model->data, model->artifact->constants_size_bytes, huge_pages != 0);
    return BYOC_OK;
  }
  status = byoc_model_open_weights(model->weights, options->weights, model->is_static != 0, huge_pages, verify, message,
                                   sizeof(message));
  return status == BYOC_OK ? BYOC_OK : create_error(status, "%s", message);
}

static int32_t verify_if_asked(const byoc_model_t *model) {
  int32_t wanted = 0;
  char message[512];
  int32_t status = read_number("BYOC_VERIFY", 0, 1, &wanted);
  if (status != BYOC_OK || !wanted || model->is_static) return status;
  status = byoc_model_verify_file(message, sizeof(message));
  return status == BYOC_OK ? BYOC_OK : create_error(status, "%s", message);
}

static byoc_runtime_schema_t schema_of(const byoc_model_engine_t *engine) {
  return (byoc_runtime_schema_t){engine->name, engine->options, engine->option_count};
}

// Are the caller's run-time options those of an engine or a device?
static int32_t check_options(const byoc_model_t *model, byoc_runtime_values_t values) {
  const byoc_device_tables_t *places = model->on_devices;
  const uint32_t devices = places != NULL ? places->device_count : 0;
  if (values.count == 0) return BYOC_OK;
  if (values.items == NULL) return create_error(BYOC_INVALID_ARGUMENT, "the list of run-time options is NULL");
  byoc_runtime_schema_t *schemas = calloc((size_t)model->engine_count + devices + 1, sizeof(*schemas));
  if (schemas == NULL) return create_error(BYOC_OUT_OF_MEMORY, "out of memory");
  for (uint32_t i = 0; i < model->engine_count; i++) schemas[i] = schema_of(&model->engines[i]);
  for (uint32_t i = 0; i < devices; i++) {
    const byoc_device_row_t *row = &places->devices[i];
    schemas[model->engine_count + i] = (byoc_runtime_schema_t){row->name, row->options, row->option_count};
  }
  char message[1000];
  const int32_t status =
      byoc_runtime_options_check(schemas, model->engine_count + devices, values, message, sizeof(message));
  free(schemas);
  return status == BYOC_OK ? BYOC_OK : create_error(status, "%s", message);
}

// Writes the reason of a failure into the thread's error text.
static int32_t create_engine(byoc_model_context_t *context, uint32_t index, byoc_runtime_values_t values) {
  const byoc_model_engine_t *engine = &context->model->engines[index];
  const byoc_engine_t *table = engine->table;
  if (table->abi_version != BYOC_ENGINE_ABI_VERSION || table->struct_size < offsetof(byoc_engine_t, profile) ||
      table->create == NULL || table->destroy == NULL || table->run == NULL) {
    return create_error(BYOC_VERSION, "the engine '%s' has version %u, and this artifact runs version %d", engine->name,
                        (unsigned)table->abi_version, BYOC_ENGINE_ABI_VERSION);
  }
  const byoc_runtime_schema_t schema = schema_of(engine);
  byoc_runtime_option_t *options = byoc_runtime_options_make(&schema, values);
  if (options == NULL) return create_error(BYOC_OUT_OF_MEMORY, "out of memory");
  context->engine_options[index] = options;
  byoc_engine_init_t init = {.struct_size = sizeof(init),
                             .function_count = engine->function_count,
                             .functions = engine->functions,
                             .blobs = engine->blobs,
                             .blob_count = engine->blob_count,
                             .runtime = &context->shared.runtime,
                             .options = options,
                             .option_count = engine->option_count};
  const char *what = NULL, *statement = NULL;
  int32_t status = byoc_engine_check_fits(table, &init, engine->fits, &what, &statement);
  if (status != BYOC_OK) {
    char text[1024];
    byoc_engine_explain_misfit(engine->name, what, statement, byoc_model_reason(context, status), text, sizeof(text));
    return create_error(status, "%s", text);
  }
  status = table->create(&init, &context->shared.instances[index]);
  if (status == BYOC_OK) return BYOC_OK;
  context->shared.instances[index] = NULL;
  return create_error(status, "the engine '%s' cannot start: %s", engine->name, byoc_model_reason(context, status));
}

// The engines that have started end where another one cannot start and the plan without engines runs.
static int32_t create_engines(byoc_model_context_t *context, byoc_runtime_values_t values) {
  const byoc_model_t *model = context->model;
  byoc_context_t *shared = &context->shared;
  int32_t status = BYOC_OK;
  for (uint32_t i = 0; i < model->engine_count && status == BYOC_OK; i++) status = create_engine(context, i, values);
  shared->runtime.has_engines = status == BYOC_OK;
  if (status == BYOC_OK || !model->has_engine_fallback) return status;
  for (uint32_t i = 0; i < model->engine_count; i++) {
    if (shared->instances[i] != NULL) model->engines[i].table->destroy(shared->instances[i]);
    shared->instances[i] = NULL;
  }
  const char *reason = byoc_thread_text(false);
  (void)snprintf(context->error, sizeof(context->error), "%s; the plan without engines runs",
                 reason != NULL ? reason : "an engine cannot start");
  return BYOC_OK;
}

// Comes after everything else that can fail: until then a rank that fails can inform the others.
static int32_t compare_builds(byoc_model_context_t *context) {
  char message[512];
  if (context->model->rank_count < 2) return BYOC_OK;
  const int32_t status =
      byoc_collectives_compare_builds(&context->collectives, context->model->rank_build, message, sizeof(message));
  return status == BYOC_OK ? BYOC_OK : create_error(status, "%s", message);
}

static byoc_runtime_values_t values_of(const byoc_context_options_t *options) {
  return (byoc_runtime_values_t){options->runtime_options, options->runtime_option_count};
}

static int32_t open_devices(byoc_model_context_t *context, const byoc_context_options_t *options) {
  byoc_context_t *shared = &context->shared;
  for (uint32_t i = 0; i < options->queue_count; i++) {
    if (options->queues != NULL && options->queues[i].driver != NULL && options->queues[i].current != NULL) continue;
    return create_error(BYOC_INVALID_ARGUMENT, "the caller's queue %u needs `driver` and `current`", (unsigned)i);
  }
  int32_t status = byoc_devices_create(context->model->on_devices, &shared->runtime, options->queues,
                                       options->queue_count, values_of(options), &shared->devices);
  shared->runtime.has_devices = status == BYOC_OK;
  if (status == BYOC_OK) shared->devices->reporter = &shared->reporter;
  if (status == BYOC_OK) return BYOC_OK;
  if (!context->model->on_devices->has_fallback) {
    return create_error(status, "%s", byoc_model_reason(context, status));
  }
  (void)snprintf(context->error, sizeof(context->error), "%s; the plan without devices runs",
                 byoc_model_reason(context, status));
  return BYOC_OK;
}

static int32_t check_stack(void) {
  const size_t left = byoc_stack_left_bytes();
  if (left >= BYOC_STACK_BYTES) return BYOC_OK;
  return create_error(BYOC_UNSUPPORTED,
                      "this thread has %zu KiB of stack left, and %d KiB are needed: create it with a larger stack "
                      "(pthread_attr_setstacksize)",
                      left / 1024, BYOC_STACK_BYTES / 1024);
}

int32_t byoc_model_create(const byoc_model_t *model, const byoc_context_options_t *options,
                          byoc_context_t **out_context) {
  *out_context = NULL;
  byoc_context_options_t known = {.struct_size = sizeof(known)};
  if (options != NULL) {
    if (options->struct_size < sizeof(options->struct_size)) {
      return create_error(BYOC_INVALID_ARGUMENT, "struct_size of the context options is not set");
    }
    memcpy(&known, options, options->struct_size < sizeof(known) ? options->struct_size : sizeof(known));
  }
  const byoc_runtime_values_t values = values_of(&known);
  int32_t status = check_stack();
  if (status == BYOC_OK) status = byoc_model_check(model, NULL, 0);
  if (status == BYOC_OK) status = verify_if_asked(model);
  if (status == BYOC_OK) status = check_options(model, values);
  if (status != BYOC_OK) return status;

  byoc_model_context_t *context = calloc(1, sizeof(*context));
  if (context == NULL) return create_error(BYOC_OUT_OF_MEMORY, "out of memory");
  context->model = model;
  context->fork_generation = byoc_model_fork_generation();
  if (!allocate_parts(context)) {
    status = create_error(BYOC_OUT_OF_MEMORY, "out of memory: the model '%s' needs a workspace of %llu bytes",
                          model->artifact->model_name, (unsigned long long)model->artifact->workspace_size_bytes);
    goto cleanup;
  }
  status = place_constants(model, &known);
  if (status == BYOC_OK) status = set_up_runtime(context, &known);
  if (status == BYOC_OK) status = set_up_flushing(context, &known);
  if (status == BYOC_OK) status = set_up_frame(context, &known);
  if (status != BYOC_OK) goto cleanup;
  set_up_stop(context, &known);
  fill_calls(context, model);
  for (uint32_t i = 0; i < model->setup_count && status == BYOC_OK; i++) {
    status = model->setups[i].function(&context->shared.runtime);
    if (status != BYOC_OK) {
      status = create_error(status, "setting up '%s': %s", model->setups[i].name, byoc_model_reason(context, status));
    }
  }
  if (status == BYOC_OK) status = create_engines(context, values);
  // The plan without engines has no devices either.
  const bool may_use_devices = model->has_engine_fallback == 0 || context->shared.runtime.has_engines != 0;
  if (status == BYOC_OK && model->on_devices != NULL && may_use_devices) status = open_devices(context, &known);
  if (status == BYOC_OK) {
    status = compare_builds(context);
  } else {
    byoc_collectives_abandon(&context->collectives);
  }
  if (status != BYOC_OK) goto cleanup;
  context->reason[0] = '\0';
  *out_context = &context->shared;
  context = NULL; // now the caller's
cleanup:
  byoc_model_destroy((byoc_context_t *)context);
  return status;
}

void byoc_model_destroy(byoc_context_t *shared) {
  if (shared == NULL) return;
  byoc_model_context_t *context = (byoc_model_context_t *)shared;
  // After a fork the threads of drivers are in the parent process, which closes the devices.
  const bool is_own = context->fork_generation == byoc_model_fork_generation();
  if (shared->frame.cells != NULL) byoc_frame_deinit(&shared->frame); // gives blocks back to devices
  if (is_own) byoc_devices_destroy(shared->devices);
  for (uint32_t i = context->model->engine_count; i-- > 0;) {
    if (shared->instances != NULL && shared->instances[i] != NULL) {
      context->model->engines[i].table->destroy(shared->instances[i]);
    }
  }
  for (uint32_t i = 0; context->engine_options != NULL && i < context->model->engine_count; i++) {
    free(context->engine_options[i]);
  }
  free(context->engine_options);
  if (context->pool_acquired) byoc_model_pool_release();
  for (byoc_kept_t *kept = context->kept; kept != NULL;) {
    byoc_kept_t *next = kept->next;
    byoc_memory_free(kept);
    kept = next;
  }
  free(context->placed);
  free(context->spans);
  free(context->checked);
  byoc_memory_free(shared->workspace);
  free(shared->instances);
  free(shared->calls);
  free(shared->tensors);
  free(context);
}
