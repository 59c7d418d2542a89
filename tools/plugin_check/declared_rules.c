// SPDX-License-Identifier: Apache-2.0
// Rules about the operators that the plugin declares: their definitions are evaluated on examples.
#include <string.h>

#include "core/compile/build.h"
#include "core/ir/element.h"
#include "core/op/declared_example.h"
#include "core/plugin/library.h"
#include "tools/plugin_check/check.h"

enum { MOST_VALUES = BYOC_SIGNATURE_VALUES, MOST_FAILURES = 12 };

// One example, built for the evaluator.
typedef struct example_t {
  check_t *check;
  const byoc_op_t *row;
  byoc_op_form_t form;
  char label[192]; // "com.acme::MyGelu (f32[5,6]) -> ..."
  byoc_target_list_t targets;
  byoc_graph_module_t *module;
  byoc_build_t build;
  byoc_status_t status; // of compiling it, and why it failed
  byoc_diag_t diag;
} example_t;

// ---- examples ----

static void print_label(example_t *example, const byoc_node_t *node) {
  byoc_string_t text;
  byoc_string_init(&text, byoc_allocator_system());
  byoc_string_appendf(&text, "%s::%s(", example->row->domain, example->row->name);
  for (uint32_t i = 0; i < node->operand_count; ++i) {
    byoc_string_append(&text, i > 0 ? ", " : "");
    if (node->operands[i] != NULL) byoc_type_print(node->operands[i]->type, &text);
  }
  byoc_string_append(&text, ")");
  snprintf(example->label, sizeof(example->label), "%s", text.failed ? "?" : text.data);
  byoc_string_deinit(&text);
}

// False if the operator does not take these sizes.
static bool open_example(example_t *example) {
  static const char *const native = "c";
  byoc_diag_t diag = {0};
  byoc_node_t *node = NULL;
  check_ok(example->check, byoc_op_example(example->row, &example->form, &diag, &example->module, &node), &diag,
           "making an example of an operator");
  if (byoc_infer_node(node, NULL) != BYOC_OK) {
    byoc_graph_module_destroy(example->module);
    return false;
  }
  print_label(example, node);
  check_doing(example->check, "compiling %s", example->label);
  const byoc_target_registry_t kinds = byoc_plugin_registry_targets(example->check->registry);
  check_ok(example->check,
           byoc_target_list_parse(&native, 1, &kinds, byoc_allocator_system(), &diag, &example->targets), &diag,
           "reading the target 'c'");
  const byoc_build_options_t options = {.targets = &example->targets};
  byoc_build_init(&example->build, &options, byoc_allocator_system());
  byoc_build_lend(&example->build, example->module, false);
  example->diag = (byoc_diag_t){0};
  example->status = byoc_build_compile(&example->build, BYOC_BUILD_ALL, &example->diag);
  return true;
}

static void close_example(example_t *example) {
  byoc_build_deinit(&example->build);
  byoc_target_list_deinit(&example->targets);
  byoc_graph_module_destroy(example->module);
}

// Numbers of ordinary size; integers may be indices, and lie within the smallest dimension.
static void fill(const example_t *example, byoc_dtype_t dtype, void *data, size_t count) {
  const int64_t limit = example->form.size < 1 ? 1 : example->form.size < 4 ? example->form.size : 4;
  for (size_t i = 0; i < count; ++i) {
    const double number = byoc_dtype_is_any_float(dtype) ? (double)(i * 7 % 11) / 4 - 1 : (double)((int64_t)i % limit);
    byoc_element_set_f64(dtype, data, i, number);
  }
}

// Evaluates the example, in memory in which results, and what is allocated, hold `spoil` before. The caller frees the
// results, also after a failure.
static byoc_status_t run_example(example_t *example, uint8_t spoil, uint8_t **results, byoc_diag_t *diag) {
  const byoc_host_program_t *program = example->build.result.program;
  if (example->status != BYOC_OK) return byoc_diag_adopt(diag, &example->diag);
  void *inputs[MOST_VALUES] = {NULL}, *outputs[MOST_VALUES] = {NULL};
  byoc_build_evaluation_t evaluation;
  for (size_t i = 0; i < program->inputs.count; ++i) {
    const byoc_type_t *type = program->inputs.data[i]->type;
    inputs[i] = check_allocate(example->check, 1, (size_t)byoc_type_size_bytes(type) + 1);
    fill(example, type->dtype, inputs[i], (size_t)byoc_type_element_count(type));
  }
  for (size_t i = 0; i < program->outputs.count; ++i) {
    const size_t size = (size_t)byoc_type_size_bytes(program->outputs.data[i]->type);
    outputs[i] = results[i] = check_allocate(example->check, 1, size + 1);
    memset(results[i], spoil, size);
  }
  check_doing(example->check, "evaluating %s", example->label);
  check_ok(example->check, byoc_build_evaluate(&example->build, 1, diag, &evaluation), diag, example->label);
  byoc_evaluator_set_undefined(evaluation.evaluator, spoil);
  byoc_status_t status = byoc_evaluator_run(evaluation.evaluator, (const void *const *)inputs, outputs, diag);
  byoc_build_evaluation_end(&evaluation);
  for (size_t i = 0; i < program->inputs.count; ++i) byoc_free(byoc_allocator_system(), inputs[i]);
  return status;
}

static void free_results(uint8_t **results) {
  for (size_t i = 0; i < MOST_VALUES; ++i) byoc_free(byoc_allocator_system(), results[i]);
}

// ---- all of them ----

// Calls `body` for examples of one operator, until it notes a failure.
static void each_form(check_t *check, const byoc_op_t *row, void (*body)(example_t *example)) {
  static const struct {
    int64_t size;
    int32_t rest_rank;
  } sizes[] = {{5, 2}, {5, 0}, {1, 1}, {0, 1}};
  enum { SIZES = sizeof(sizes) / sizeof(sizes[0]) };
  example_t example = {.check = check, .row = row};
  const int32_t failures = check->answer->failure_count;
  const size_t completions = row->min_inputs < row->max_inputs ? 2 : 1;
  const size_t ways = byoc_op_form_choices(row) * completions;
  for (size_t d = 0; byoc_op_form_set_dtypes(row, d, &example.form); ++d) {
    for (size_t i = 0; i < ways * SIZES; ++i) {
      example.form.choice = i % ways / completions;
      example.form.is_complete = i % completions == 0;
      example.form.size = sizes[i / ways].size;
      example.form.rest_rank = sizes[i / ways].rest_rank;
      if (!open_example(&example)) continue;
      check_tried(check, 1);
      body(&example);
      close_example(&example);
      if (check->answer->failure_count > failures) return;
    }
  }
}

static void each_example(check_t *check, void (*body)(example_t *example)) {
  const byoc_plugin_operators_t *operators = &check->entry->library->operators;
  if (operators->rows.count == 0) check_skip(check, "it declares no operators");
  for (size_t i = 0; i < operators->rows.count && check->answer->failure_count < MOST_FAILURES; ++i) {
    const byoc_op_t *row = operators->rows.data[i];
    if (row->point != NULL || row->loops != NULL) each_form(check, row, body);
  }
  check_need_tried(check, "no operator that it declares has a definition as loops");
}

// The evaluator checks each index.
static void run_once(example_t *example) {
  byoc_diag_t diag = {0};
  uint8_t *results[MOST_VALUES] = {NULL};
  if (run_example(example, 0xA5, results, &diag) != BYOC_OK) {
    check_fail_diag(example->check, &diag, "%s", example->label);
  }
  free_results(results);
}

void check_declared_memory(check_t *check) {
  each_example(check, run_once);
}

// Bytes that are never written keep their old contents.
static void run_twice(example_t *example) {
  uint8_t *first[MOST_VALUES] = {NULL}, *second[MOST_VALUES] = {NULL};
  // The other rule is for functions that cannot be evaluated.
  const bool fine =
      run_example(example, 0xA5, first, NULL) == BYOC_OK && run_example(example, 0x5A, second, NULL) == BYOC_OK;
  for (size_t i = 0; fine && i < example->build.result.program->outputs.count; ++i) {
    const byoc_host_buffer_t *port = example->build.result.program->outputs.data[i];
    const size_t size = (size_t)byoc_type_size_bytes(port->type);
    size_t at = 0;
    while (at < size && first[i][at] == second[i][at]) ++at;
    if (at == size) continue;
    check_fail(example->check, "%s: element %zu of '%s' is not written", example->label,
               at / ((byoc_dtype_bits(port->type->dtype) + 7) / 8), port->name);
  }
  free_results(first);
  free_results(second);
}

void check_declared_written(check_t *check) {
  each_example(check, run_twice);
}
