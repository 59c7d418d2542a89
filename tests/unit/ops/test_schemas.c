// SPDX-License-Identifier: Apache-2.0
// The operator table against the onnx package: schemas.txt holds every operator at every version, with the number of
// its operands and results, its attributes with their kinds and defaults, and the element types of its operands;
// schemas_microsoft.txt those of ONNX Runtime, without the types.
// Whatever differs stands in schema_differences.txt, with the reason.
#include <stdarg.h>

#include "core/base/file.h"
#include "core/ir/module_text.h"
#include "plausible.h"

#define MICROSOFT "com.microsoft"

enum { MOST_TYPES = 64, MOST_SETS = 128, MOST_ROWS = 4096, NAME_SIZE = 64, REPORT_SIZE = 320 };

typedef struct {
  char words[MOST_TYPES][16];
  int count;
} type_set_t;

typedef struct {
  char name[REPORT_SIZE];
  bool is_met;
} difference_t;

typedef struct {
  char *known; // schema_differences.txt
  type_set_t sets[MOST_SETS];
  difference_t differences[512];
  size_t difference_count;
  bool is_met[MOST_ROWS]; // by a line of schemas.txt with the row's own version
  uint32_t unlisted, compared, typed;
  const byoc_op_t *op;      // the row that is compared; NULL: there is none
  char what[2 * NAME_SIZE]; // "Add@14"
  int version;
} comparison_t;

static void differ(comparison_t *c, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void differ(comparison_t *c, const char *format, ...) {
  char text[REPORT_SIZE];
  int used = snprintf(text, sizeof text, "%s: ", c->what);
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text + used, sizeof text - (size_t)used, format, arguments);
  va_end(arguments);
  const size_t name_size = strcspn(c->what, "@");
  for (size_t i = 0; i < c->difference_count; ++i) {
    const char *name = c->differences[i].name; // "Add@14: ...", or "Add@*: ..." for all versions
    const bool is_any = strncmp(name, text, name_size) == 0 && strncmp(name + name_size, "@*:", 3) == 0 &&
                        strcmp(name + name_size + 2, text + strlen(c->what)) == 0;
    if (!is_any && strcmp(name, text) != 0) continue;
    c->differences[i].is_met = true;
    return;
  }
  printf("%s\n", text);
  ++c->unlisted;
}

// ---- the table ----

static size_t index_of(const byoc_op_t *op) {
  size_t index = 0;
  while (byoc_op_at(index) != op) ++index;
  assert_true(index < MOST_ROWS);
  return index;
}

static void compare_operator(comparison_t *c, const char *line) {
  char domain[NAME_SIZE], name[NAME_SIZE];
  int counts[4];
  assert_int_equal(sscanf(line, "op %63s %63s %d %d %d %d %d", domain, name, &c->version, &counts[0], &counts[1],
                          &counts[2], &counts[3]),
                   7);
  const bool is_plain = strcmp(domain, "-") == 0;
  snprintf(c->what, sizeof c->what, "%s%s%s@%d", is_plain ? "" : domain, is_plain ? "" : "::", name, c->version);
  c->op = byoc_op_find(is_plain ? "" : domain, name, c->version);
  // The reader takes the oldest row for versions before it, where the meaning is the same.
  if (c->op == NULL) c->op = byoc_op_find_oldest(is_plain ? "" : domain, name);
  if (c->op != NULL && c->op->since_version == c->version) c->is_met[index_of(c->op)] = true;
  ++c->compared;
  if (c->op == NULL) {
    if (strcmp(domain, MICROSOFT) == 0) return; // those that nobody exports are not taken
    differ(c, "no row");
    return;
  }
  const int ours[] = {c->op->min_inputs, c->op->max_inputs, c->op->min_outputs, c->op->max_outputs};
  if (ours[0] != counts[0] || ours[1] != counts[1]) {
    differ(c, "%d to %d operands, not %d to %d", ours[0], ours[1], counts[0], counts[1]);
  }
  if (ours[2] != counts[2] || ours[3] != counts[3]) {
    differ(c, "%d to %d results, not %d to %d", ours[2], ours[3], counts[2], counts[3]);
  }
}

static const char *kind_of(const byoc_op_attribute_t *attribute) {
  static const char *const names[] = {
      [BYOC_ATTRIBUTE_INT] = "int",       [BYOC_ATTRIBUTE_FLOAT] = "float",     [BYOC_ATTRIBUTE_STRING] = "string",
      [BYOC_ATTRIBUTE_INTS] = "ints",     [BYOC_ATTRIBUTE_FLOATS] = "floats",   [BYOC_ATTRIBUTE_STRINGS] = "strings",
      [BYOC_ATTRIBUTE_TENSOR] = "tensor", [BYOC_ATTRIBUTE_TYPE] = "type_proto",
  };
  return attribute->is_block ? "graph" : names[attribute->value.kind];
}

static void default_of(const byoc_op_attribute_t *attribute, char *text, size_t size) {
  const byoc_attribute_t *value = &attribute->value;
  text[0] = '\0';
  if (value->kind == BYOC_ATTRIBUTE_INT) snprintf(text, size, "%lld", (long long)value->i);
  if (value->kind == BYOC_ATTRIBUTE_FLOAT) snprintf(text, size, "%.9g", value->f);
  if (value->kind == BYOC_ATTRIBUTE_STRING) snprintf(text, size, "%s", value->s);
  for (size_t i = 0; i < value->count && value->kind == BYOC_ATTRIBUTE_INTS; ++i) {
    const size_t used = strlen(text);
    snprintf(text + used, size - used, "%s%lld", i ? "," : "", (long long)value->ints[i]);
  }
  for (size_t i = 0; i < value->count && value->kind == BYOC_ATTRIBUTE_STRINGS; ++i) {
    const size_t used = strlen(text);
    snprintf(text + used, size - used, "%s%s", i ? "," : "", value->strings[i]);
  }
}

static void compare_attribute(comparison_t *c, const char *line) {
  char name[NAME_SIZE], kind[NAME_SIZE], need[NAME_SIZE], expected[NAME_SIZE] = "", ours[2 * NAME_SIZE];
  assert_true(sscanf(line, "attr %63s %63s %63s %63[^\n]", name, kind, need, expected) >= 3);
  // The reader drops this hint about memory, which computes nothing.
  if (c->op == NULL || strcmp(name, "consumed_inputs") == 0) return;
  const byoc_op_attribute_t *attribute = byoc_op_attribute(c->op, name);
  if (attribute == NULL) {
    differ(c, "attribute '%s' is missing", name);
    return;
  }
  // Sparse tensors become dense ones when they are read.
  if (strcmp(kind_of(attribute), strcmp(kind, "sparse_tensor") == 0 ? "tensor" : kind) != 0) {
    differ(c, "attribute '%s' is of kind %s, not %s", name, kind_of(attribute), kind);
  }
  default_of(attribute, ours, sizeof ours);
  if (!attribute->has_default) ours[0] = '\0';
  const char *state = attribute->required ? "required" : attribute->has_default ? "default" : "optional";
  if (strcmp(state, need) != 0) {
    differ(c, "attribute '%s' is %s%s%s, not %s%s%s", name, state, ours[0] ? " " : "", ours[0] ? ours : "", need,
           expected[0] ? " " : "", expected);
  } else if (strcmp(ours, expected) != 0) {
    differ(c, "attribute '%s' has default %s, not %s", name, ours, expected);
  }
}

// Attributes of the row that the version does not have; `line` is that of the operator.
static void compare_extra_attributes(comparison_t *c, const char *line) {
  for (const byoc_op_attribute_t *a = c->op ? c->op->attributes : NULL; a && a->value.name; ++a) {
    if (!byoc_op_attribute_holds(a, c->op->since_version)) continue;
    bool is_known = false;
    for (const char *at = line; (at = strchr(at, '\n')) != NULL && strncmp(at + 1, "attr ", 5) == 0 && !is_known;) {
      const size_t size = strlen(a->value.name);
      at += sizeof "\nattr " - 1;
      is_known = strncmp(at, a->value.name, size) == 0 && at[size] == ' ';
    }
    if (!is_known) differ(c, "attribute '%s' is not ONNX's", a->value.name);
  }
}

// A row whose version is none of ONNX's would take models of versions that it was not written for, or leave some to the
// row before it.
static void compare_versions(comparison_t *c) {
  for (size_t i = 0; i < byoc_op_count(); ++i) {
    const byoc_op_t *op = byoc_op_at(i);
    const bool is_onnx = strcmp(op->domain, "") == 0 || strncmp(op->domain, "ai.onnx", 7) == 0;
    if ((!is_onnx && strcmp(op->domain, MICROSOFT) != 0) || c->is_met[i]) continue;
    snprintf(c->what, sizeof c->what, "%s%s%s@%d", op->domain, op->domain[0] ? "::" : "", op->name, op->since_version);
    differ(c, "ONNX has no such version");
  }
}

// ---- element types ----

static bool is_operand_of(const char *list, int index) {
  for (const char *at = list; *at != '\0'; at += strcspn(at, ","), at += *at == ',') {
    if (atoi(at) == index) return true;
  }
  return false;
}

static bool is_accepted(const byoc_op_t *op, const plausible_t *p, const operand_t *operands, int count) {
  static char text[TEXT_SIZE];
  byoc_diag_t diag = {0};
  byoc_graph_module_t *module = NULL;
  write_module(op, p, operands, count, text);
  byoc_status_t status = byoc_graph_parse(text, "case", byoc_allocator_system(), &diag, &module);
  if (status == BYOC_OK) status = byoc_infer_module(module, &diag);
  byoc_graph_module_destroy(module);
  return status == BYOC_OK;
}

// How the operands that do not belong to the variable follow it, and whether constants stay constants of their values.
enum { ALONE, WITH_OTHERS, AS_CONSTANTS, ATTEMPTS };

static bool is_real(const char *dtype) {
  return dtype[0] == 'f' || strcmp(dtype, "bf16") == 0;
}

static void set_type(operand_t *operand, const char *dtype, bool keeps_values) {
  keeps_values = keeps_values && is_real(operand->dtype) == is_real(dtype);
  if (strcmp(operand->dtype, dtype) != 0) operand->is_constant &= keeps_values;
  snprintf(operand->dtype, sizeof operand->dtype, "%s", dtype);
  write_operand(operand);
}

// May the operands of `list` have this element type in one of the plausible nodes?
static bool takes_type(const byoc_op_t *op, const char *list, int last_formal, const char *dtype, bool *out_tried) {
  for (size_t k = 0; k < ATTEMPTS * sizeof plausible / sizeof *plausible; ++k) {
    const plausible_t *p = &plausible[k / ATTEMPTS];
    const int attempt = k % ATTEMPTS;
    operand_t operands[MOST_OPERANDS];
    if (!is_of(p, op)) continue;
    int count = read_operands(p->operands, operands), first = -1;
    for (int i = 0; i < count && first < 0; ++i) {
      if (operands[i].is_tensor && is_operand_of(list, i < last_formal ? i : last_formal)) first = i;
    }
    if (first < 0) continue;
    char old[16];
    memcpy(old, operands[first].dtype, sizeof old);
    for (int i = 0; i < count; ++i) {
      if (!operands[i].is_tensor) continue;
      const bool is_meant = is_operand_of(list, i < last_formal ? i : last_formal);
      const bool follows = attempt == WITH_OTHERS && strcmp(operands[i].dtype, old) == 0;
      if (is_meant || follows) set_type(&operands[i], dtype, attempt == AS_CONSTANTS);
    }
    *out_tried = true;
    if (is_accepted(op, p, operands, count)) return true;
  }
  return false;
}

// The graphs inside a plausible node hold element types, which do not follow.
static bool has_graphs(const byoc_op_t *op) {
  for (const byoc_op_attribute_t *a = op->attributes; a && a->value.name; ++a) {
    if (a->is_block) return true;
  }
  return false;
}

static void compare_types(comparison_t *c, const char *line, int last_formal) {
  char variable[NAME_SIZE], list[NAME_SIZE], missing[REPORT_SIZE] = "";
  int set = 0;
  assert_int_equal(sscanf(line, "type %63[^\n ] %63s %d", variable, list, &set), 3);
  assert_in_range(set, 0, MOST_SETS - 1);
  // A version that is older than the row took no more types than the row's.
  if (c->op == NULL || c->version < c->op->since_version || has_graphs(c->op)) return;
  bool tried = false;
  // Element types that byoc does not have are told once, by read_set.
  for (int i = 0; i < c->sets[set].count; ++i) {
    const char *word = c->sets[set].words[i];
    if (byoc_dtype_parse(word) == BYOC_DTYPE_NONE || takes_type(c->op, list, last_formal, word, &tried)) continue;
    const size_t used = strlen(missing);
    snprintf(missing + used, sizeof missing - used, " %s", word);
  }
  c->typed += tried;
  if (tried && missing[0] != '\0') differ(c, "%s does not take%s", variable, missing);
}

// ---- the files ----

static void read_set(comparison_t *c, const char *line) {
  int number = 0, used = 0;
  assert_int_equal(sscanf(line, "set %d%n", &number, &used), 1);
  assert_in_range(number, 0, MOST_SETS - 1);
  type_set_t *set = &c->sets[number];
  for (const char *at = line + used; *at == ' '; at += strcspn(at, " \n")) {
    assert_true(set->count < MOST_TYPES);
    ++at;
    snprintf(set->words[set->count], sizeof *set->words, "%.*s", (int)strcspn(at, " \n"), at);
    snprintf(c->what, sizeof c->what, "element type %s", set->words[set->count]);
    if (byoc_dtype_parse(set->words[set->count++]) == BYOC_DTYPE_NONE) differ(c, "is missing");
  }
}

// "Add@14: what differs | why"
static void read_differences(comparison_t *c) {
  for (char *line = strtok(c->known, "\n"); line != NULL; line = strtok(NULL, "\n")) {
    if (line[0] == '#') continue;
    const char *bar = strstr(line, " | ");
    if (bar == NULL || strlen(bar) < 12) fail_msg("schema_differences.txt gives no reason: %s", line);
    assert_true(c->difference_count < sizeof c->differences / sizeof *c->differences);
    difference_t *difference = &c->differences[c->difference_count++];
    snprintf(difference->name, sizeof difference->name, "%.*s", (int)(bar - line), line);
  }
}

// The largest number of an operand that any variable of the operator lists.
static int last_formal_of(const char *line) {
  int last = 0;
  for (const char *at = line; (at = strchr(at, '\n')) != NULL && strncmp(at + 1, "op ", 3) != 0 && at[1] != '\0';
       ++at) {
    char list[NAME_SIZE];
    if (sscanf(at, "\ntype %*s %63s", list) != 1) continue;
    for (const char *n = list; *n != '\0'; n += strcspn(n, ","), n += *n == ',') last = atoi(n) > last ? atoi(n) : last;
  }
  return last;
}

static void compare_file(comparison_t *c, const char *path) {
  size_t size = 0;
  byoc_diag_t diag = {0};
  char *lines = NULL;
  int last_formal = 0;
  byoc_test_ok(byoc_file_read(path, byoc_allocator_system(), &diag, &lines, &size), &diag);
  for (const char *at = lines; at != NULL && *at != '\0';) {
    char line[REPORT_SIZE];
    snprintf(line, sizeof line, "%.*s", (int)strcspn(at, "\n"), at);
    if (strncmp(line, "set ", 4) == 0) read_set(c, line);
    if (strncmp(line, "op ", 3) == 0) {
      compare_operator(c, line);
      compare_extra_attributes(c, at);
      last_formal = last_formal_of(at);
    }
    if (strncmp(line, "attr ", 5) == 0) compare_attribute(c, line);
    if (strncmp(line, "type ", 5) == 0) compare_types(c, line, last_formal);
    at = strchr(at, '\n');
    if (at != NULL) ++at;
  }
  byoc_free(byoc_allocator_system(), lines);
}

static void test_the_table_is_onnx(void **state) {
  (void)state;
  static comparison_t c;
  size_t size = 0;
  byoc_diag_t diag = {0};
  const byoc_allocator_t system = byoc_allocator_system();
  byoc_test_ok(
      byoc_file_read(BYOC_TEST_SOURCE_DIR "/tests/unit/ops/schema_differences.txt", system, &diag, &c.known, &size),
      &diag);
  read_differences(&c);
  compare_file(&c, BYOC_TEST_SOURCE_DIR "/tests/unit/ops/schemas.txt");
  compare_file(&c, BYOC_TEST_SOURCE_DIR "/tests/unit/ops/schemas_microsoft.txt");
  compare_versions(&c);
  printf("%u versions of operators compared, %u lists of element types tried\n", c.compared, c.typed);
  uint32_t gone = 0;
  for (size_t i = 0; i < c.difference_count; ++i) {
    if (c.differences[i].is_met) continue;
    printf("%s: is listed, and is not so\n", c.differences[i].name);
    ++gone;
  }
  byoc_free(system, c.known);
  assert_true(c.compared > 600 && c.typed > 600);
  if (c.unlisted + gone > 0) {
    fail_msg("%u differences from onnx are not in schema_differences.txt, %u of it are no more", c.unlisted, gone);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_the_table_is_onnx),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
