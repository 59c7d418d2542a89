// SPDX-License-Identifier: Apache-2.0
// The operator table keeps its own rules: each row has one definition, versions rise, names are found.
#include "core/op/op.h"
#include "core/ops/families.h"
#include "tests/support/support.h"

static void test_each_row_has_one_definition(void **state) {
  (void)state;
  for (size_t i = 0; i < byoc_op_count(); ++i) {
    const byoc_op_t *op = byoc_op_at(i);
    // An expansion may decline a node, which then needs a kernel. Opaque operators may be known by name only.
    int kernels = (op->point != NULL) + (op->loops != NULL) + op->is_view, definitions = kernels + (op->expand != NULL);
    // Operators that the host program runs have no kernel.
    bool none = (op->traits & (BYOC_OP_CONTROL | BYOC_OP_HOST)) != 0, may_lack = (op->traits & BYOC_OP_OPAQUE) != 0;
    if (kernels > 1 || (none && kernels > 0) || (!none && !may_lack && definitions == 0)) {
      fail_msg("%s %d has %d definitions", op->name, op->since_version, definitions);
    }
    if (!op->infer) fail_msg("%s %d has no inference", op->name, op->since_version);
  }
}

static void test_versions_rise(void **state) {
  (void)state;
  for (size_t i = 0; i < byoc_op_count(); ++i) {
    const byoc_op_t *op = byoc_op_at(i);
    for (size_t j = i + 1; j < byoc_op_count(); ++j) {
      const byoc_op_t *later = byoc_op_at(j);
      if (strcmp(op->name, later->name) != 0 || strcmp(op->domain, later->domain) != 0) continue;
      if (later->since_version <= op->since_version) {
        fail_msg("%s: %d stands after %d", op->name, later->since_version, op->since_version);
      }
    }
  }
}

static void test_counts_and_traits_agree(void **state) {
  (void)state;
  for (size_t i = 0; i < byoc_op_count(); ++i) {
    const byoc_op_t *op = byoc_op_at(i);
    bool counts = op->min_inputs >= 0 && (op->max_inputs < 0 || op->max_inputs >= op->min_inputs) &&
                  op->min_outputs >= 0 && (op->max_outputs < 0 || op->max_outputs >= op->min_outputs);
    bool commutes = !(op->traits & BYOC_OP_COMMUTES) || (op->min_inputs == 2 && op->max_inputs == 2);
    bool elementwise = !(op->traits & BYOC_OP_ELEMENTWISE) || op->point || (op->traits & BYOC_OP_UNIT);
    bool broadcasts = !(op->traits & BYOC_OP_BROADCASTS) || (op->traits & BYOC_OP_ELEMENTWISE);
    bool heavy = !(op->traits & BYOC_OP_HEAVY) || op->loops || op->expand;
    bool shapes = op->max_inputs < 0 || (op->shape_operands >> op->max_inputs) == 0;
    if (!counts || !commutes || !elementwise || !broadcasts || !heavy || !shapes) {
      fail_msg("%s %d: traits or counts contradict each other", op->name, op->since_version);
    }
  }
}

// Entries with the same name are for different versions, and defaults fit.
static void test_attribute_tables_are_well_formed(void **state) {
  (void)state;
  for (size_t i = 0; i < byoc_op_count(); ++i) {
    const byoc_op_t *op = byoc_op_at(i);
    for (const byoc_op_attribute_t *a = op->attributes; a && a->value.name; ++a) {
      const char *name = a->value.name;
      if (byoc_attribute_is_reserved(name)) fail_msg("%s: '%s' is a reserved name", op->name, name);
      if (a->until != 0 && a->until <= a->since) fail_msg("%s: '%s' ends before it begins", op->name, name);
      if (a->required && a->has_default) fail_msg("%s: '%s' is required and has a default", op->name, name);
      if (a->allowed && a->value.kind != BYOC_ATTRIBUTE_STRING) fail_msg("%s: '%s' is no text", op->name, name);
      if (a->allowed && a->has_default && strcmp(a->allowed[0], a->value.s) != 0) {
        fail_msg("%s: the default of '%s' is not the first text that is allowed", op->name, name);
      }
      for (const byoc_op_attribute_t *b = op->attributes; b != a; ++b) {
        if (strcmp(b->value.name, name) != 0) continue;
        bool apart = (b->until != 0 && b->until <= a->since) || (a->until != 0 && a->until <= b->since);
        if (!apart) fail_msg("%s: two entries for '%s' at one version", op->name, name);
      }
    }
  }
}

// The cost of each operator, written down a second time, because estimates decide where models run.
static void test_work(void **state) {
  (void)state;
  static const char *const costly[] = {"Exp",   "Log",   "Tanh",     "Sigmoid", "Erf",  "Softmax", "LogSoftmax",
                                       "Gelu",  "Elu",   "Softplus", "Mish",    "Pow",  "Sin",     "Cos",
                                       "Tan",   "Asin",  "Acos",     "Selu",    "Atan", "Sinh",    "Cosh",
                                       "Asinh", "Acosh", "Atanh",    "Celu",    "Swish"};
  size_t found = 0;
  const char *last = "";
  for (size_t i = 0; i < byoc_op_count(); ++i) {
    const byoc_op_t *op = byoc_op_at(i);
    if (op->traits & BYOC_OP_FUSED) continue; // what it is written as has the cost
    bool listed = false;
    for (size_t k = 0; k < sizeof costly / sizeof *costly; ++k) listed |= strcmp(costly[k], op->name) == 0;
    if (listed != (op->work == BYOC_WORK_TRANSCENDENTAL)) fail_msg("%s %d", op->name, op->since_version);
    if (listed && strcmp(last, op->name) != 0) ++found;
    last = op->name;
    bool convolves = op->work == BYOC_WORK_CONVOLUTION || op->work == BYOC_WORK_TRANSPOSED_CONVOLUTION;
    if (op->traits & BYOC_OP_SPELLING) continue;
    const bool is_integer = strstr(op->name, "QLinearConv") || strcmp(op->name, "ConvInteger") == 0;
    if (convolves != (is_integer || ((op->traits & BYOC_OP_HEAVY) && strstr(op->name, "Conv")))) {
      fail_msg("%s %d", op->name, op->since_version);
    }
  }
  assert_int_equal(found, sizeof costly / sizeof *costly);
}

// Operators that only move elements compute nothing and fill nothing in.
static void test_what_moves_data(void **state) {
  (void)state;
  static const char *const moves[] = {"Transpose",    "Reshape",        "Flatten",  "Squeeze",        "Unsqueeze",
                                      "Slice",        "Gather",         "Expand",   "Tile",           "Identity",
                                      "Concat",       "Split",          "GatherND", "GatherElements", "DepthToSpace",
                                      "SpaceToDepth", "ReverseSequence"};
  for (size_t i = 0; i < byoc_op_count(); ++i) {
    const byoc_op_t *op = byoc_op_at(i);
    if (op->traits & (BYOC_OP_FUSED | BYOC_OP_SPELLING)) continue;
    bool listed = false;
    for (size_t k = 0; k < sizeof moves / sizeof *moves; ++k) listed |= strcmp(moves[k], op->name) == 0;
    if (listed != ((op->traits & BYOC_OP_MOVES) != 0)) fail_msg("%s %d", op->name, op->since_version);
  }
}

static void test_find(void **state) {
  (void)state;
  assert_null(byoc_op_find("", "Add", 5));
  assert_int_equal(byoc_op_find("", "Add", 6)->since_version, 6);
  assert_int_equal(byoc_op_find("", "Add", 12)->since_version, 7);
  assert_int_equal(byoc_op_find("", "Add", 99)->since_version, 14);
  assert_int_equal(byoc_op_find("", "Softplus", 6)->since_version, 1);
  assert_non_null(byoc_op_find("byoc", "Im2Col", 1));
  assert_null(byoc_op_find("byoc", "Add", 14));
  assert_true(byoc_op_known("", "Gelu"));
  assert_false(byoc_op_known("", "Gelo"));
  assert_string_equal(byoc_op_nearest("", "Gelo"), "Gelu");
  assert_string_equal(byoc_op_nearest("", "BatchNormalisation"), "BatchNormalization");
  assert_null(byoc_op_nearest("", "Zzzzzzzzzzzz"));
  assert_null(byoc_op_at(byoc_op_count()));
}

// Every row of every family is found, however many there are.
static size_t find_rows(const byoc_op_t *rows, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    if (byoc_op_find(rows[i].domain, rows[i].name, rows[i].since_version) != &rows[i]) {
      fail_msg("%s %d is not found", rows[i].name, rows[i].since_version);
    }
  }
  return count;
}

static void test_no_row_is_dropped(void **state) {
  (void)state;
  size_t count = 0;
  for (size_t i = 0; i < byoc_op_family_count; ++i) {
    count += find_rows(byoc_op_families[i].rows, *byoc_op_families[i].count);
  }
  assert_int_equal(byoc_op_count(), count);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_each_row_has_one_definition),
      cmocka_unit_test(test_versions_rise),
      cmocka_unit_test(test_counts_and_traits_agree),
      cmocka_unit_test(test_attribute_tables_are_well_formed),
      cmocka_unit_test(test_work),
      cmocka_unit_test(test_what_moves_data),
      cmocka_unit_test(test_find),
      cmocka_unit_test(test_no_row_is_dropped),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
