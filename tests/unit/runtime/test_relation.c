// SPDX-License-Identifier: Apache-2.0
// The messages about dimensions that do not fit each other: every kind of relation, with two names and with one.
#include "core/runtime/relation.h"
#include "tests/support/support.h"

typedef struct expected_t {
  const char *both, *left_only, *right_only;
} expected_t;

static const expected_t expected[BYOC_RELATION_COUNT] = {
    [BYOC_RELATION_EQUAL] = {"Op: a is 2 and b is 3, but they must be equal", "Op: a is 2, but must be 3",
                             "Op: b is 3, but must be 2"},
    [BYOC_RELATION_DECLARED] = {"Op: a is 2, but the model declares 3; export it without that shape",
                                "Op: a is 2, but the model declares 3; export it without that shape", NULL},
    [BYOC_RELATION_BROADCASTS] = {"Op: a is 2 and b is 3, but one of them must be 1, or they must be equal",
                                  "Op: a is 2, but must be 1 or 3", "Op: b is 3, but must be 1 or 2"},
    [BYOC_RELATION_ONE_OR] = {"Op: a is 2 and b is 3, but the first must be 1 or equal to the second",
                              "Op: a is 2, but must be 1 or 3", "Op: b is 3, but must be 1 or 2"},
    [BYOC_RELATION_AT_MOST] = {"Op: a is 2 and b is 3, but the first must not be larger",
                               "Op: a is 2, but must be at most 3", "Op: b is 3, but must be at least 2"},
    [BYOC_RELATION_MULTIPLE] = {"Op: a is 2 and b is 3, but the first must be a multiple of the second",
                                "Op: a is 2, but must be a multiple of 3", NULL},
};

static void expect(byoc_relation_kind_t kind, const char *left, const char *right, const char *message) {
  char text[480];
  const byoc_relation_names_t names = {.where = "Op", .left = left, .right = right};
  byoc_relation_explain(kind, 2, 3, &names, text, sizeof text);
  assert_string_equal(text, message);
}

static void test_messages(void **state) {
  (void)state;
  for (int kind = 0; kind < BYOC_RELATION_COUNT; ++kind) {
    expect((byoc_relation_kind_t)kind, "a", "b", expected[kind].both);
    expect((byoc_relation_kind_t)kind, "a", NULL, expected[kind].left_only);
    if (expected[kind].right_only) expect((byoc_relation_kind_t)kind, NULL, "b", expected[kind].right_only);
  }
}

// Which pairs of small numbers each kind lets pass.
static void test_what_holds(void **state) {
  (void)state;
  static const char *const pairs[BYOC_RELATION_COUNT] = {[BYOC_RELATION_EQUAL] = "00 11 22 33",
                                                         [BYOC_RELATION_DECLARED] = "00 11 22 33",
                                                         [BYOC_RELATION_BROADCASTS] = "00 01 10 11 12 13 21 22 31 33",
                                                         [BYOC_RELATION_ONE_OR] = "00 10 11 12 13 22 33",
                                                         [BYOC_RELATION_AT_MOST] = "00 01 02 03 11 12 13 22 23 33",
                                                         [BYOC_RELATION_MULTIPLE] = "01 02 03 11 21 22 31 33"};
  for (int kind = 0; kind < BYOC_RELATION_COUNT; ++kind) {
    for (int left = 0; left < 4; ++left) {
      for (int right = 0; right < 4; ++right) {
        const char pair[] = {(char)('0' + left), (char)('0' + right), '\0'};
        bool holds = byoc_relation_holds((byoc_relation_kind_t)kind, left, right);
        if (holds != (strstr(pairs[kind], pair) != NULL)) fail_msg("kind %d, %d and %d", kind, left, right);
      }
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_messages), cmocka_unit_test(test_what_holds)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
