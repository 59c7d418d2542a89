// SPDX-License-Identifier: Apache-2.0
// Cases become one model with an output for each, whose results are held against the reference.
#include <stdio.h>
#include <stdlib.h>

#include "core/base/file.h"
#include "tests/random/pipeline.h"
#include "tests/sweep/sweep.h"

const char *const sweep_form_names[SWEEP_FORMS] = {"static", "open", "source", "evaluated"};

enum { GROWTH = 1, SIZES = 2, MOST_ELEMENTS = 1 << 20, MOST_CASES = 256 };

typedef struct model_t {
  suite_t *suites[SIZES]; // of open models, the second one has larger dimensions
  size_t size_count;
  uint8_t *bytes;
  size_t size_bytes;
} model_t;

// What is being run, for messages and counts.
typedef struct running_t {
  const sweep_case_t *cases;
  const suite_t *suite;
  const byoc_host_program_t *program;
  const char *way;
  size_t target;
  sweep_options_t *options;
  sweep_table_t *table;
  sweep_form_t form;
} running_t;

static sweep_counts_t *counts_of(const running_t *running, size_t index) {
  return &(*running->table)[running->cases[index].op - sweep_operators][running->target];
}

static const char *target_of(const running_t *running) {
  return running->options->targets[running->target];
}

// ---- models ----

static suite_t *make_suite(const sweep_case_t *cases, size_t count, bool is_open, int64_t growth) {
  suite_t *suite = malloc(sizeof(*suite));
  assert_non_null(suite);
  suite_init(suite);
  suite->max_elements = MOST_ELEMENTS;
  suite->largest_value = 1e9;
  suite->is_open = is_open;
  for (size_t i = 0; i < count; ++i) {
    suite_begin_graph(suite, cases[i].seed);
    (void)cases[i].op->add(suite, &cases[i], growth);
    suite_end_graph(suite);
  }
  return suite;
}

static void make_model(const sweep_case_t *cases, size_t count, bool is_open, model_t *out) {
  *out = (model_t){.size_count = is_open ? SIZES : 1};
  for (size_t i = 0; i < out->size_count; ++i) out->suites[i] = make_suite(cases, count, is_open, (int64_t)i * GROWTH);
  byoc_diag_t diag = {0};
  byoc_test_ok(byoc_onnx_model_pack(out->suites[0]->model, &diag, &out->bytes, &out->size_bytes), &diag);
}

static void free_model(model_t *model) {
  for (size_t i = 0; i < model->size_count; ++i) {
    suite_deinit(model->suites[i]);
    free(model->suites[i]);
  }
  byoc_free(byoc_allocator_system(), model->bytes);
}

// ---- results ----

static bool has_shape(const byoc_argument_t *got, const tensor_t *tensor) {
  return got->dtype == (uint32_t)tensor->dtype && got->rank == (uint32_t)tensor->rank &&
         memcmp(got->dims, tensor->dims, (size_t)tensor->rank * sizeof(*tensor->dims)) == 0;
}

static bool is_right(const running_t *running, const byoc_argument_t *got, const tensor_t *tensor) {
  int64_t bad = 0, first = 0;
  const bool has_its_shape = has_shape(got, tensor);
  for (int64_t k = 0; k < tensor->count && has_its_shape; ++k) {
    if (is_close(tensor, k, element_at(tensor->dtype, got->data, k))) continue;
    if (bad++ == 0) first = k;
  }
  if (bad == 0 && has_its_shape) return true;
  if (running->options->shown-- <= 0) return false;
  char text[256];
  sweep_describe(&running->cases[tensor->graph], text, sizeof(text));
  print_error("wrong: %s, '%s', %s: ", text, target_of(running), running->way);
  if (!has_its_shape) print_error("another type or shape\n");
  if (has_its_shape)
    print_error("%s differs in %lld of %lld elements; element %lld is %.9g, not %.9g\n", tensor->name, (long long)bad,
                (long long)tensor->count, (long long)first, element_at(tensor->dtype, got->data, first),
                tensor->values[first]);
  return false;
}

// Counts a case as one result, whatever outputs it has.
static void look(void *self, const byoc_argument_t *outputs) {
  running_t *running = self;
  bool has_output[MOST_CASES] = {false}, is_wrong[MOST_CASES] = {false};
  for (size_t i = 0; i < running->program->outputs.count; ++i) {
    const tensor_t *tensor = suite_find(running->suite, running->program->outputs.data[i]->name);
    if (tensor == NULL) continue; // makes no sense in this size
    has_output[tensor->graph] = true;
    if (!is_right(running, &outputs[i], tensor)) is_wrong[tensor->graph] = true;
  }
  for (size_t g = 0; g < MOST_CASES; ++g) {
    if (has_output[g]) counts_of(running, g)->results[running->form] += 1;
    if (is_wrong[g]) counts_of(running, g)->wrong[running->form] += 1;
  }
}

static byoc_argument_t *make_inputs(const suite_t *suite, const byoc_host_program_t *program) {
  byoc_argument_t *inputs = calloc(program->inputs.count + 1, sizeof(*inputs));
  assert_non_null(inputs);
  for (size_t i = 0; i < program->inputs.count; ++i) {
    tensor_t *tensor = suite_find(suite, program->inputs.data[i]->name);
    assert_non_null(tensor);
    inputs[i] = new_argument(tensor);
  }
  return inputs;
}

static void free_inputs(byoc_argument_t *inputs, size_t count) {
  for (size_t i = 0; i < count; ++i) free(inputs[i].data);
  free(inputs);
}

// ---- runs ----

static byoc_status_t run_in(const pipeline_t *pipeline, const model_t *model, const char *folder, const running_t *how,
                            byoc_diag_t *diag) {
  running_t running[SIZES];
  pipeline_call_t calls[SIZES];
  const byoc_host_program_t *program = pipeline->build.result.program;
  byoc_argument_t *inputs[SIZES];
  for (size_t i = 0; i < model->size_count; ++i) {
    running[i] = *how;
    running[i].suite = model->suites[i];
    running[i].program = program;
    inputs[i] = make_inputs(model->suites[i], program);
    calls[i] = (pipeline_call_t){inputs[i], program->outputs.count, look, &running[i]};
  }
  char path[600];
  snprintf(path, sizeof(path), "%s/random.%s", folder, how->form == SWEEP_SOURCE ? "c" : "so");
  byoc_status_t status;
  if (how->form == SWEEP_EVALUATED)
    status = pipeline_call_evaluated(pipeline, calls, model->size_count, diag);
  else if (how->form == SWEEP_SOURCE)
    status = pipeline_call_source(pipeline, path, calls, model->size_count, diag);
  else
    status = pipeline_call_compiled(pipeline, path, 2, calls, model->size_count, diag);
  for (size_t i = 0; i < model->size_count; ++i) free_inputs(inputs[i], program->inputs.count);
  return status;
}

// C source cannot hold engines and libraries.
static bool becomes_source(const char *target) {
  return strstr(target, "dnnl") == NULL && strstr(target, "cblas") == NULL && strstr(target, "opencl") == NULL;
}

static bool wanted(const sweep_options_t *options, const char *target, bool is_open, sweep_form_t form) {
  if (!options->forms[form]) return false;
  if (form == SWEEP_STATIC || form == SWEEP_OPEN) return (form == SWEEP_OPEN) == is_open;
  return form == SWEEP_EVALUATED || becomes_source(target);
}

static void tell_failure(const running_t *running, const byoc_diag_t *diag) {
  counts_of(running, 0)->failed[running->form] += 1;
  if (running->options->shown-- <= 0) return;
  char text[256], reason[2000];
  sweep_describe(&running->cases[0], text, sizeof(text));
  byoc_diag_format(diag, reason, sizeof(reason));
  print_error("failed: %s, '%s', %s: %s\n", text, target_of(running), running->way, reason);
}

// Runs the model in all forms that are asked for and not done. False if it cannot be built or run in one of them and
// has more than one case: nothing was counted for that form then.
static bool run_target(const running_t *all, size_t count, const model_t *model, bool *done) {
  const bool is_open = model->size_count > 1;
  pipeline_t pipeline;
  byoc_diag_t diag = {0};
  byoc_status_t built = pipeline_open(&pipeline, model->bytes, model->size_bytes, target_of(all), &diag);
  bool all_fine = true;
  for (int form = 0; form < SWEEP_FORMS; ++form) {
    if (!wanted(all->options, target_of(all), is_open, (sweep_form_t)form) || done[form]) continue;
    char way[64];
    snprintf(way, sizeof(way), "%s%s", sweep_form_names[form], form > SWEEP_OPEN && is_open ? " of open sizes" : "");
    running_t running = *all;
    running.form = (sweep_form_t)form;
    running.way = way;
    char *folder = byoc_test_folder();
    byoc_status_t status = built == BYOC_OK ? run_in(&pipeline, model, folder, &running, &diag) : built;
    assert_int_equal(byoc_remove_tree(folder, NULL), BYOC_OK);
    free(folder);
    done[form] = status == BYOC_OK || count == 1;
    if (status != BYOC_OK && count == 1) tell_failure(&running, &diag);
    all_fine = all_fine && done[form];
    if (built == BYOC_OK) byoc_diag_clear(&diag);
  }
  pipeline_close(&pipeline);
  return all_fine;
}

static void run_sizes(running_t *running, const sweep_case_t *cases, size_t count, bool is_open, const bool *before) {
  model_t model;
  bool done[SWEEP_FORMS];
  memcpy(done, before, sizeof(done));
  running->cases = cases;
  make_model(cases, count, is_open, &model);
  const bool all_fine = run_target(running, count, &model, done);
  free_model(&model);
  if (all_fine) return;
  run_sizes(running, cases, count / 2, is_open, done); // which ones are they?
  run_sizes(running, cases + count / 2, count - count / 2, is_open, done);
}

void sweep_run(const sweep_case_t *cases, size_t count, sweep_options_t *options, sweep_table_t *table) {
  assert_true(count <= MOST_CASES && sweep_operator_count <= SWEEP_MOST_OPERATORS);
  const bool others = options->forms[SWEEP_SOURCE] || options->forms[SWEEP_EVALUATED];
  const bool none_done[SWEEP_FORMS] = {false};
  for (size_t t = 0; t < options->target_count; ++t) {
    running_t running = {.target = t, .options = options, .table = table};
    if (options->forms[SWEEP_STATIC] || others) run_sizes(&running, cases, count, false, none_done);
    if (options->forms[SWEEP_OPEN] || others) run_sizes(&running, cases, count, true, none_done);
  }
}
