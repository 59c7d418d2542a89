// SPDX-License-Identifier: Apache-2.0
// split-transposed against the operator as it was written: any number of axes, strides, dilations, groups and pads.
#include "core/base/string.h"
#include "core/pass/pass.h"
#include "tests/unit/ops/ops_support.h"

enum { MOST_AXES = 3, NOT_OPEN = -1 };

typedef struct {
  const char *name;
  int axes, groups, channels, rows; // the latter two of one group
  int in[MOST_AXES], kernel[MOST_AXES], stride[MOST_AXES], dilation[MOST_AXES];
  int before[MOST_AXES], after[MOST_AXES], extra[MOST_AXES];
  bool biased;
  int open; // the axis of x whose size is N
} window_t;

enum { BATCH = 2 };

static void append_list(byoc_string_t *text, const char *name, const int *values, const int *more, int axes) {
  byoc_string_appendf(text, "%s = [", name);
  for (int i = 0; i < axes; ++i) byoc_string_appendf(text, "%s%d", i ? ", " : "", values[i]);
  for (int i = 0; more != NULL && i < axes; ++i) byoc_string_appendf(text, ", %d", more[i]);
  byoc_string_append(text, "], ");
}

static void append_values(byoc_string_t *text, int count, uint64_t seed) {
  byoc_test_random_t random = {.state = seed};
  for (int i = 0; i < count; ++i) {
    byoc_string_appendf(text, "%s%.6f", i ? ", " : " = [", (double)byoc_test_float(&random));
  }
  byoc_string_append(text, "]\n");
}

static int out_size(const window_t *t, int d) {
  return (t->in[d] - 1) * t->stride[d] + (t->kernel[d] - 1) * t->dilation[d] + 1 + t->extra[d] - t->before[d] -
         t->after[d];
}

static void write_module(const window_t *t, byoc_string_t *text) {
  int weights = t->groups * t->channels * t->rows;
  byoc_string_init(text, byoc_allocator_system());
  byoc_string_appendf(text, "module {\n  constant @w : f32[%d,%d", t->groups * t->channels, t->rows);
  for (int d = 0; d < t->axes; ++d) {
    byoc_string_appendf(text, ",%d", t->kernel[d]);
    weights *= t->kernel[d];
  }
  byoc_string_append(text, "]");
  append_values(text, weights, 5);
  if (t->biased) {
    byoc_string_appendf(text, "  constant @b : f32[%d]", t->groups * t->rows);
    append_values(text, t->groups * t->rows, 6);
  }
  const int x[2 + MOST_AXES] = {BATCH, t->groups * t->channels, t->in[0], t->in[1], t->in[2]};
  byoc_string_append(text, "  func @main(%x : f32[");
  for (int d = 0; d < 2 + t->axes; ++d) {
    if (d == t->open)
      byoc_string_appendf(text, "%sN", d ? "," : "");
    else
      byoc_string_appendf(text, "%s%d", d ? "," : "", x[d]);
  }
  byoc_string_appendf(text, "]) -> (%%y : ?) {\n    %%y = ConvTranspose@11(%%x, @w%s) {", t->biased ? ", @b" : "");
  append_list(text, "strides", t->stride, NULL, t->axes);
  append_list(text, "dilations", t->dilation, NULL, t->axes);
  append_list(text, "output_padding", t->extra, NULL, t->axes);
  append_list(text, "pads", t->before, t->after, t->axes);
  byoc_string_appendf(text, "group = %d} : ?\n    return %%y\n  }\n}\n", t->groups);
  assert_false(text->failed);
}

// The module after the pass, as text.
static void split(const char *text, byoc_string_t *out) {
  byoc_diag_t diag = {0};
  byoc_graph_module_t *module = NULL;
  size_t changes = 0;
  byoc_test_ok(byoc_graph_parse(text, "test", byoc_allocator_system(), &diag, &module), &diag);
  byoc_test_ok(byoc_infer_module(module, &diag), &diag);
  byoc_test_ok(byoc_pass_run(byoc_pass_find("split-transposed"), module, NULL, &diag, &changes), &diag);
  byoc_string_init(out, byoc_allocator_system());
  const byoc_print_options_t all = {0};
  byoc_graph_print(module, &all, out);
  assert_false(out->failed);
  byoc_graph_module_destroy(module);
  if (changes != 1 || strstr(out->data, "ConvTranspose") != NULL) fail_msg("it stayed:\n%s", out->data);
}

static void compare(const window_t *t) {
  int x_count = BATCH * t->groups * t->channels, y_count = BATCH * t->groups * t->rows;
  for (int d = 0; d < t->axes; ++d) x_count *= t->in[d], y_count *= out_size(t, d);
  const int sizes[2 + MOST_AXES] = {BATCH, 0, t->in[0], t->in[1], t->in[2]};
  const int n = t->open == NOT_OPEN ? 0 : sizes[t->open];
  float *x = malloc((size_t)x_count * sizeof *x);
  assert_non_null(x);
  ops_fill(x, (size_t)x_count, 4);
  byoc_string_t written, divided;
  write_module(t, &written);
  split(written.data, &divided);
  ops_run_t expected, actual;
  ops_run_symbolic(written.data, n, (const void *const[]){x}, &expected);
  ops_run_symbolic(divided.data, n, (const void *const[]){x}, &actual);
  ops_near(ops_result(&actual, 0), ops_result(&expected, 0), (size_t)y_count, t->name);
  ops_done(&expected), ops_done(&actual);
  byoc_string_deinit(&written), byoc_string_deinit(&divided);
  free(x);
}

#define ONES                                                                                                           \
  { 1, 1, 1 }
static const window_t windows[] = {
    {"no stride", 2, 1, 3, 2, {5, 6}, {3, 2}, ONES, ONES, {1, 0}, {1, 1}, {0}, true, NOT_OPEN},
    {"no stride, open", 2, 1, 3, 2, {5, 6}, {3, 3}, ONES, ONES, {1, 1}, {1, 1}, {0}, true, 2},
    {"dilated", 2, 1, 2, 2, {5, 6}, {3, 2}, ONES, {2, 3, 1}, {2, 1}, {0, 3}, {1, 2}, true, NOT_OPEN},
    {"all pads cut", 2, 1, 2, 2, {6, 6}, {2, 3}, ONES, ONES, {3, 2}, {2, 3}, {0}, true, NOT_OPEN},
    {"groups", 2, 3, 2, 2, {4, 3}, {4, 4}, {2, 2, 1}, ONES, {1, 1}, {1, 1}, {0}, true, NOT_OPEN},
    {"depthwise", 2, 5, 1, 1, {4, 3}, {3, 3}, {2, 2, 1}, ONES, {1, 1}, {1, 1}, {1, 1}, false, 0},
    {"strides differ", 2, 1, 3, 2, {4, 5}, {3, 5}, {2, 3, 1}, ONES, {1, 2}, {0, 1}, {1, 2}, true, NOT_OPEN},
    {"strides differ, one open", 2, 1, 3, 2, {4, 5}, {3, 5}, {1, 3, 1}, ONES, {1, 2}, {0, 1}, {0, 2}, true, 3},
    {"gaps", 2, 1, 3, 2, {3, 4}, {2, 1}, {3, 3, 1}, ONES, {0, 0}, {0, 0}, {0}, true, 3},
    {"extra beyond the kernel", 2, 1, 2, 2, {3, 3}, {2, 2}, {2, 2, 1}, ONES, {0, 0}, {0, 0}, {1, 1}, true, NOT_OPEN},
    {"dilated with a stride", 2, 1, 2, 3, {4, 4}, {2, 3}, {2, 2, 1}, {3, 2, 1}, {1, 3}, {2, 0}, {1, 0}, true, NOT_OPEN},
    {"one axis", 1, 1, 4, 3, {7}, {8}, {4, 1, 1}, ONES, {2}, {2}, {0}, true, NOT_OPEN},
    {"one axis, open", 1, 1, 4, 3, {7}, {7}, {3, 1, 1}, ONES, {4}, {3}, {1}, true, 2},
    {"one axis, open batch, groups", 1, 2, 2, 3, {7}, {4}, {2, 1, 1}, ONES, {1}, {1}, {0}, true, 0},
    {"a convolution for each phase", 2, 1, 3, 16, {4, 5}, {3, 3}, {2, 2, 1}, ONES, {1, 1}, {1, 0}, {1, 0}, true, 0},
    {"the same, strides differ", 2, 2, 2, 16, {4, 5}, {5, 4}, {3, 2, 1}, ONES, {2, 1}, {2, 1}, {0, 1}, true, NOT_OPEN},
    {"the same, one axis", 1, 1, 2, 16, {7}, {5}, {4, 1, 1}, ONES, {1}, {1}, {0}, false, 2},
    {"the same, dilated", 1, 1, 2, 16, {7}, {3}, {6, 1, 1}, {3, 1, 1}, {1}, {0}, {0}, false, NOT_OPEN},
    {"the same, whole blocks cut", 2, 1, 2, 16, {4, 5}, {3, 3}, {2, 2, 1}, ONES, {3, 2}, {1, 0}, {0}, true, NOT_OPEN},
    {"a long line", 1, 1, 2, 2, {150}, {5}, {2, 1, 1}, ONES, {1}, {2}, {1}, true, NOT_OPEN},
    {"one axis without stride", 1, 1, 4, 3, {9}, {5}, ONES, ONES, {2}, {2}, {0}, false, 2},
    {"three axes", 3, 1, 2, 2, {2, 3, 3}, {4, 3, 2}, {2, 2, 2}, ONES, {1, 1, 0}, {1, 0, 0}, {0, 1, 0}, true, NOT_OPEN},
    {"three axes, one open", 3, 2, 2, 1, {2, 3, 3}, {3, 3, 3}, {1, 2, 3}, ONES, {1, 1, 0}, {1, 1, 0}, {0}, true, 4},
};

static void test_windows(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof windows / sizeof *windows; ++i) compare(&windows[i]);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_windows)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
