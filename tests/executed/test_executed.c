// SPDX-License-Identifier: Apache-2.0
// Every row of the operator table, each version of each operator, is compiled and run, and gives what the evaluator
// gives: with the sizes of tests/unit/ops/plausible.def, or with these left open. A row that nothing runs is a failure.
//
//   executed_operators TARGETS fixed|open
//   BYOC_TEST_OPERATOR=NAME   this operator alone, with each module
#include <stdlib.h>

#include "batch.h"
#include "core/ir/module_text.h"
#include "core/op/op.h"
#include "core/targets/target.h"
#include "exceptions.h"

static const plausible_t explicit_rows[] = {
#include "explicit.def"
};

static const char *target_text, *only;
static bool is_open_run;
static size_t executed, faults;

// What became of a row of the table.
typedef enum { MISSING, BUILT, EXECUTED } state_t;
static state_t *states;
static char (*reasons)[400];

static void report(const case_t *item, const char *fault) {
  if (fault == NULL) {
    states[item->row] = EXECUTED;
    executed += 1;
    return;
  }
  char *text = batch_text(&item, 1);
  printf("%s: %s\n%s", item->name, fault, text);
  snprintf(reasons[item->row], sizeof reasons[item->row], "%s", fault);
  free(text);
  faults += 1;
}

// ---- modules ----

// Attributes and blocks. Names in blocks get the number of the row, too, and $0 is the name of operand 0.
static void copy_attributes(const char *from, size_t row, char *out, size_t size) {
  size_t used = 0;
  for (; *from && used < size; ++from) {
    if (*from == '%')
      used += (size_t)snprintf(out + used, size - used, "%%b%zu_", row);
    else if (from[0] == '$' && from[1] == '0')
      used += (size_t)snprintf(out + used, size - used, "n%zu_0", row), ++from;
    else
      out[used++] = *from;
  }
  assert_true(used < size);
  out[used] = '\0';
}

// Writes the parts of the text. All names begin with the number of the row, so that many parts make one module.
static void write_case(case_t *item, const plausible_t *p, const operand_t *operands, int count) {
  const byoc_op_t *op = byoc_op_at(item->row);
  const unsigned row = (unsigned)item->row;
  char arguments[512] = "", types[TEXT_SIZE / 4] = "", attributes[TEXT_SIZE / 2];
  copy_attributes(p->attributes, item->row, attributes, sizeof attributes);
  item->constants[0] = item->parameters[0] = item->results[0] = item->names[0] = '\0';
  for (int i = 0; i < count; ++i) {
    const operand_t *o = &operands[i];
    char *at = arguments + strlen(arguments), *constant = item->constants + strlen(item->constants);
    char *parameter = item->parameters + strlen(item->parameters);
    const char *comma = i > 0 ? ", " : "";
    if (strcmp(o->text, "_") == 0) {
      snprintf(at, 24, "%s_", comma);
      continue;
    }
    snprintf(at, 24, "%s%sn%u_%d", comma, o->is_constant ? "@" : "%", row, i);
    if (o->is_constant)
      snprintf(constant, sizeof item->constants - (size_t)(constant - item->constants),
               "  constant @n%u_%d : %s = %s\n", row, i, o->text, o->values);
    else
      snprintf(parameter, sizeof item->parameters - (size_t)(parameter - item->parameters), "%s%%n%u_%d : %s",
               item->parameters[0] ? ", " : "", row, i, o->text);
  }
  for (int i = 0; i < p->results; ++i) {
    const char *comma = i > 0 ? ", " : "", *type = p->result_types[0] ? p->result_types : "?";
    char *result = item->results + strlen(item->results);
    snprintf(item->names + strlen(item->names), 24, "%s%%r%u_%d", comma, row, i);
    snprintf(types + strlen(types), PART_SIZE, "%s%s", comma, type);
    snprintf(result, PART_SIZE, "%s%%r%u_%d : %s", comma, row, i, type);
  }
  snprintf(item->node, sizeof item->node, "    %s%s%s%s%s@%d(%s) %s%s%s\n", item->names, p->results ? " = " : "",
           op->domain, op->domain[0] ? "::" : "", op->name, op->since_version, arguments, attributes,
           p->results ? " : " : "", types);
}

// Fills the parameters in one way after the other until the operator takes them. `types` is the module with all sizes.
static bool find_inputs(case_t *item, const byoc_graph_module_t *types, byoc_arena_t *arena, char *reason,
                        size_t size) {
  const byoc_block_t *body = byoc_graph_module_main(types)->body;
  item->input_count = body->parameters.count;
  if (item->input_count > BATCH_MOST_INPUTS) return false;
  for (int way = 0; way < FILL_WAYS; ++way) {
    byoc_diag_t diag = {0};
    bool made = true;
    for (size_t i = 0; i < item->input_count && made; ++i)
      made = argument_make(arena, body->parameters.data[i]->type, way, i + 1, &item->inputs[i]);
    if (!made) snprintf(reason, size, "no value can be made for a parameter");
    if (made && batch_evaluate(item, arena, &diag) == BYOC_OK) return true;
    if (made) snprintf(reason, size, "%s", diag.message);
  }
  return false;
}

static byoc_status_t read_known(const case_t *item, byoc_diag_t *diag, byoc_graph_module_t **out) {
  char *text = batch_text(&item, 1);
  byoc_status_t status = byoc_graph_parse(text, "test", byoc_allocator_system(), diag, out);
  if (status == BYOC_OK) status = byoc_infer_module(*out, diag);
  free(text);
  if (status == BYOC_OK) return BYOC_OK;
  byoc_graph_module_destroy(*out);
  *out = NULL;
  return status;
}

// "f32[A0n7,3]": dimension d of operand i of row 7 gets a name; d < 0: all of them.
static void open_operand(operand_t *o, size_t row, int i, int only_dim) {
  char text[sizeof o->text];
  size_t used = (size_t)snprintf(text, sizeof text, "%s[", o->dtype);
  for (int d = 0; d < o->rank; ++d) {
    const char *comma = d > 0 ? "," : "";
    const bool is_named = only_dim < 0 || only_dim == d;
    used += is_named ? (size_t)snprintf(text + used, sizeof text - used, "%s%c%dn%zu", comma, 'A' + i, d, row)
                     : (size_t)snprintf(text + used, sizeof text - used, "%s%ld", comma, o->dims[d]);
  }
  snprintf(text + used, sizeof text - used, "]");
  memcpy(o->text, text, sizeof text);
}

static bool can_open(const operand_t *o) {
  return o->is_tensor && !o->is_constant && o->rank > 0;
}

// One attempt: all dimensions open (at < 0), or dimension d of operand `at`.
static byoc_status_t try_open(batch_t *batch, case_t *item, const plausible_t *row, const operand_t *operands,
                              int count, int at, int d, byoc_diag_t *diag) {
  operand_t opened[MOST_OPERANDS];
  memcpy(opened, operands, sizeof opened);
  for (int i = 0; i < count; ++i) {
    if (can_open(&opened[i]) && (at < 0 || at == i)) open_operand(&opened[i], item->row, i, at < 0 ? -1 : d);
  }
  write_case(item, row, opened, count);
  *diag = (byoc_diag_t){0};
  return batch_add(batch, item, diag);
}

// Puts the case into the batch with all sizes open or, where the operator wants to know some, with one of them. What
// has no sizes is the same in both forms.
static byoc_status_t add_open(batch_t *batch, case_t *item, const plausible_t *row, const operand_t *operands,
                              int count, byoc_diag_t *diag) {
  bool any = false;
  for (int i = 0; i < count; ++i) any |= can_open(&operands[i]);
  byoc_status_t status = try_open(batch, item, row, operands, count, -1, 0, diag);
  for (int i = 0; i < count && any; ++i) {
    for (int d = 0; can_open(&operands[i]) && d < operands[i].rank && status != BYOC_OK; ++d)
      status = try_open(batch, item, row, operands, count, i, d, diag);
  }
  return status;
}

static void add_row(batch_t *batch, byoc_arena_t *arena, size_t index, const plausible_t *row) {
  const byoc_op_t *op = byoc_op_at(index);
  operand_t operands[MOST_OPERANDS];
  byoc_diag_t diag = {0};
  byoc_graph_module_t *known = NULL;
  static case_t item;
  memset(&item, 0, sizeof item);
  item.row = index;
  item.ignored = op->scratch_results;
  item.name = byoc_arena_format(arena, "%s%s%s@%d", op->domain, op->domain[0] ? "::" : "", op->name, op->since_version);
  const int count = read_operands(row->operands, operands);
  write_case(&item, row, operands, count);
  char *reason = reasons[index];
  byoc_status_t status = read_known(&item, &diag, &known);
  const bool fits = status == BYOC_OK && find_inputs(&item, known, arena, reason, sizeof reasons[index]);
  if (fits && is_open_run) status = add_open(batch, &item, row, operands, count, &diag);
  if (fits && !is_open_run) status = batch_add(batch, &item, &diag);
  if (status != BYOC_OK) snprintf(reason, sizeof reasons[index], "%s", diag.message);
  if (fits && status == BYOC_OK) states[index] = BUILT;
  if (only != NULL) printf("%s: %s\n%s", item.name, states[index] == BUILT ? "is built" : reason, item.node);
  byoc_graph_module_destroy(known);
}

// ---- the table ----

static bool is_exception(const byoc_op_t *op) {
  char name[128];
  snprintf(name, sizeof name, "%s%s%s", op->domain, op->domain[0] ? "::" : "", op->name);
  for (size_t i = 0; i < sizeof exceptions / sizeof *exceptions; ++i) {
    if (strcmp(exceptions[i].op, name) == 0 && (is_open_run || !exceptions[i].only_open)) return true;
  }
  return false;
}

// The first of the rows that fits this version.
static void add_rows(batch_t *batch, byoc_arena_t *arena, size_t index, const plausible_t *rows, size_t count) {
  for (size_t k = 0; k < count && states[index] == MISSING; ++k) {
    if (is_of(&rows[k], byoc_op_at(index))) add_row(batch, arena, index, &rows[k]);
  }
}

// Passes write these in programs of their own kind: what follows a BindSymbols depends on it, and where the others
// stand all sizes are known.
static bool is_alone(const byoc_op_t *op) {
  return strcmp(op->name, "BindSymbols") == 0 || strcmp(op->name, "Join") == 0 || strcmp(op->name, "Part") == 0;
}

static void run_table(const byoc_target_list_t *targets) {
  char *folder = byoc_test_folder();
  byoc_arena_t arena;
  batch_t *batch = calloc(1, sizeof *batch);
  assert_non_null(batch);
  byoc_arena_init(&arena, byoc_allocator_system());
  batch->targets = targets;
  batch->folder = folder;
  byoc_switches_turn_off(&batch->switches, "fold-constants"); // what is folded does not run
  byoc_switches_turn_off(&batch->switches, "fold-dequantised");
  for (size_t i = 0; i < byoc_op_count(); ++i) {
    const byoc_op_t *op = byoc_op_at(i);
    if (only != NULL && strcmp(only, op->name) != 0) continue;
    if (is_alone(op)) batch_run(batch, report);
    add_rows(batch, &arena, i, explicit_rows, sizeof explicit_rows / sizeof *explicit_rows);
    add_rows(batch, &arena, i, plausible, sizeof plausible / sizeof *plausible);
    if (batch->count == BATCH_CASES || is_alone(op)) batch_run(batch, report);
  }
  batch_run(batch, report);
  faults += batch->failures;
  byoc_arena_deinit(&arena);
  free(batch);
  free(folder);
}

static void test_each_row_of_the_table_is_executed(void **state) {
  (void)state;
  byoc_diag_t diag = {0};
  byoc_plugin_registry_t *registry = NULL;
  byoc_target_list_t targets = {0};
  const byoc_plugin_options_t plugins = {.environment = BYOC_TEST_PLUGIN_DIR};
  byoc_test_ok(byoc_plugin_registry_create(&plugins, byoc_allocator_system(), &diag, &registry), &diag);
  const byoc_target_registry_t kinds = byoc_plugin_registry_targets(registry);
  byoc_test_ok(byoc_target_list_parse(&target_text, 1, &kinds, byoc_allocator_system(), &diag, &targets), &diag);
  states = calloc(byoc_op_count(), sizeof *states);
  reasons = calloc(byoc_op_count(), sizeof *reasons);
  assert_true(states != NULL && reasons != NULL);
  run_table(&targets);
  size_t missing = 0;
  for (size_t i = 0; i < byoc_op_count(); ++i) {
    const byoc_op_t *op = byoc_op_at(i);
    if (states[i] == EXECUTED || (only != NULL && strcmp(only, op->name) != 0)) continue;
    if (is_exception(op)) continue;
    printf("nothing executes %s%s%s@%d: %s\n", op->domain, op->domain[0] ? "::" : "", op->name, op->since_version,
           reasons[i][0] ? reasons[i] : "it has no line in plausible.def");
    missing += 1;
  }
  printf("%zu rows are executed, %zu are not, %zu faults\n", executed, missing, faults);
  free(states);
  free(reasons);
  byoc_target_list_deinit(&targets);
  byoc_plugin_registry_destroy(registry);
  assert_int_equal(missing + faults, 0);
}

int main(int argc, char **argv) {
  if (argc != 3) return fprintf(stderr, "usage: executed_operators TARGETS fixed|open\n"), 2;
  target_text = argv[1];
  is_open_run = strcmp(argv[2], "open") == 0;
  only = getenv("BYOC_TEST_OPERATOR");
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_each_row_of_the_table_is_executed)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
