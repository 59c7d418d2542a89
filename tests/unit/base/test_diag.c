// SPDX-License-Identifier: Apache-2.0
// Diagnostics and nearest matches.
#include "tests/support/support.h"

#include <stdlib.h>

static char *printed(const byoc_diag_t *diag) {
  char *text = NULL;
  size_t size = 0;
  FILE *stream = open_memstream(&text, &size);
  assert_non_null(stream);
  byoc_diag_print(diag, stream);
  assert_int_equal(fclose(stream), 0);
  return text;
}

static void expect_print(const byoc_diag_t *diag, const char *expected) {
  char *text = printed(diag);
  byoc_test_same_text(text, expected);
  free(text);
}

static byoc_status_t inner(byoc_diag_t *diag) {
  return byoc_diag_error(diag, BYOC_INVALID_DATA, "bad number %d", 7);
}

static byoc_status_t middle(byoc_diag_t *diag) {
  BYOC_RETURN_IF_ERROR_IN(diag, inner(diag), "folding '%s'", "a");
  return BYOC_OK;
}

static void context_goes_outermost_first(void **state) {
  (void)state;
  byoc_diag_t diag = {0};
  expect_print(&diag, "");
  assert_int_equal(byoc_diag_context(&diag, middle(&diag), "building m.onnx"), BYOC_INVALID_DATA);
  expect_print(&diag, "error: building m.onnx: folding 'a': bad number 7\n");
  byoc_diag_hint(&diag, "use %d", 8);
  byoc_diag_hint(&diag, "not this one");
  expect_print(&diag, "error: building m.onnx: folding 'a': bad number 7\nhint: use 8\n");
  char text[200];
  byoc_diag_format(&diag, text, sizeof(text));
  assert_string_equal(text, "building m.onnx: folding 'a': bad number 7 (use 8)");
  byoc_diag_format(&diag, text, 12);
  assert_string_equal(text, "building...");
  byoc_diag_clear(&diag);
  expect_print(&diag, "");
}

static void first_error_stays(void **state) {
  (void)state;
  byoc_diag_t diag = {0};
  assert_int_equal(byoc_diag_error(&diag, BYOC_IO, "first"), BYOC_IO);
  assert_int_equal(byoc_diag_error(&diag, BYOC_TOOL, "second"), BYOC_TOOL);
  assert_int_equal(diag.status, BYOC_IO);
  assert_string_equal(diag.message, "first");
}

static void null_and_silent_errors(void **state) {
  (void)state;
  assert_int_equal(middle(NULL), BYOC_INVALID_DATA);
  assert_int_equal(byoc_diag_out_of_memory(NULL), BYOC_OUT_OF_MEMORY);
  byoc_diag_hint(NULL, "x");
  byoc_diag_locate(NULL, "f", "x", 0);
  byoc_diag_clear(NULL);
  byoc_diag_print(NULL, stderr);
  char text[8] = "x";
  byoc_diag_format(NULL, text, sizeof(text));
  assert_string_equal(text, "");
  byoc_diag_t diag = {0};
  assert_int_equal(byoc_diag_context(&diag, BYOC_OK, "nothing happened"), BYOC_OK);
  assert_int_equal(diag.status, BYOC_OK);
  byoc_diag_context(&diag, BYOC_NOT_FOUND, "looking");
  expect_print(&diag, "error: looking: not found\n");
}

static void position_with_caret(void **state) {
  (void)state;
  const char *text = "first\n\tb\xc3\xa9 = ?\nlast";
  byoc_diag_t diag = {0};
  byoc_diag_error(&diag, BYOC_INVALID_DATA, "unexpected '?'");
  byoc_diag_locate(&diag, "f.ir", text, (size_t)(strchr(text, '?') - text));
  assert_int_equal(diag.line, 2);
  assert_int_equal(diag.column, 7);
  expect_print(&diag, "f.ir:2:7: error: unexpected '?'\n  \tb\xc3\xa9 = ?\n  \t     ^\n");
  byoc_diag_format(&diag, diag.context, sizeof(diag.context));
}

static void position_at_the_end_and_in_long_lines(void **state) {
  (void)state;
  byoc_diag_t diag = {0};
  byoc_diag_error(&diag, BYOC_INVALID_DATA, "unexpected end");
  byoc_diag_locate(&diag, "f", "ab", 100);
  expect_print(&diag, "f:1:3: error: unexpected end\n  ab\n    ^\n");

  char line[1001];
  memset(line, 'x', 1000);
  line[1000] = '\0';
  byoc_diag_clear(&diag);
  byoc_diag_error(&diag, BYOC_INVALID_DATA, "far");
  byoc_diag_locate(&diag, NULL, line, 900);
  char *text = printed(&diag);
  assert_memory_equal(text, "error: far\n", 11);
  assert_null(strchr(text, '^')); // no caret beside a cut line
  free(text);
}

static void long_texts_are_cut(void **state) {
  (void)state;
  char huge[5000];
  memset(huge, 'y', sizeof(huge) - 1);
  huge[sizeof(huge) - 1] = '\0';
  byoc_diag_t diag = {0};
  byoc_diag_error(&diag, BYOC_IO, "%s", huge);
  assert_int_equal(strlen(diag.message), sizeof(diag.message) - 1);
  assert_string_equal(diag.message + sizeof(diag.message) - 4, "...");
  byoc_diag_context(&diag, BYOC_IO, "%s", huge);
  byoc_diag_context(&diag, BYOC_IO, "outermost");
  assert_memory_equal(diag.context, "outermost: yyy", 14);
  assert_string_equal(diag.context + sizeof(diag.context) - 4, "...");
  byoc_diag_hint(&diag, "%s", huge);
  assert_string_equal(diag.hint + sizeof(diag.hint) - 4, "...");
  byoc_diag_locate(&diag, huge, "x", 0);
  assert_string_equal(diag.file + sizeof(diag.file) - 4, "...");
}

static void nearest(void **state) {
  (void)state;
  static const char *const names[] = {"c", "cutlass", "cblas", "dnnl", "tune_trials", "Relu", "Conv"};
  const size_t count = sizeof(names) / sizeof(names[0]);
  assert_string_equal(byoc_nearest_match("cutlas", names, count), "cutlass");
  assert_string_equal(byoc_nearest_match("cbals", names, count), "cblas");
  assert_string_equal(byoc_nearest_match("dnn", names, count), "dnnl");
  assert_string_equal(byoc_nearest_match("relu", names, count), "Relu");
  assert_string_equal(byoc_nearest_match("RELU", names, count), "Relu");
  assert_string_equal(byoc_nearest_match("tune", names, count), "tune_trials");
  assert_string_equal(byoc_nearest_match("tune-trial", names, count), "tune_trials");
  assert_null(byoc_nearest_match("quantize", names, count));
  assert_null(byoc_nearest_match("", names, count));
  assert_null(byoc_nearest_match("x", names, count));
  assert_null(byoc_nearest_match("cutlass", names, 0));
  char huge[200];
  memset(huge, 'c', sizeof(huge) - 1);
  huge[sizeof(huge) - 1] = '\0';
  assert_null(byoc_nearest_match(huge, names, count));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(context_goes_outermost_first),
      cmocka_unit_test(first_error_stays),
      cmocka_unit_test(null_and_silent_errors),
      cmocka_unit_test(position_with_caret),
      cmocka_unit_test(position_at_the_end_and_in_long_lines),
      cmocka_unit_test(long_texts_are_cut),
      cmocka_unit_test(nearest),
  };
  return cmocka_run_group_tests_name("diag", tests, NULL, NULL);
}
