// SPDX-License-Identifier: Apache-2.0
// Kernels of symbolic shape: the same model with N unknown and with N given computes the same.
#include "tests/unit/ops/ops_support.h"

// Writes `text` with every N that stands for a size replaced by the number.
static void fix_size(const char *text, int n, char *out, size_t size) {
  size_t used = 0;
  for (const char *at = text; *at && used + 16 < size; ++at) {
    bool symbol = *at == 'N' && at > text && (at[-1] == '[' || at[-1] == ',') && (at[1] == ',' || at[1] == ']');
    if (symbol) {
      used += (size_t)snprintf(out + used, size - used, "%d", n);
    } else {
      out[used++] = *at;
    }
  }
  out[used] = '\0';
}

// `body` makes %y from %x of `type`, whose N is 3; results have at most `count` elements.
static void check(const char *constants, const char *type, const char *body) {
  enum { N = 3, INPUTS = 4096 };
  static float x[INPUTS];
  ops_fill(x, INPUTS, 1);
  char text[1024], fixed[1024];
  snprintf(text, sizeof text, "module {\n%s  func @main(%%x : %s) -> (%%y : ?) {\n    %s\n    return %%y\n  }\n}\n",
           constants, type, body);
  fix_size(text, N, fixed, sizeof fixed);
  ops_run_t symbolic, expected;
  ops_run_symbolic(text, N, (const void *const[]){x}, &symbolic);
  ops_run(fixed, (const void *const[]){x}, &expected);
  int64_t count = byoc_type_element_count(byoc_graph_module_main(expected.module)->body->results.data[0]->type);
  assert_true(count > 0);
  ops_near(ops_result(&symbolic, 0), ops_result(&expected, 0), (size_t)count, body);
  ops_done(&symbolic);
  ops_done(&expected);
}

static void test_batch(void **state) {
  (void)state;
  check("  constant @w : f32[5,4,3,3] = splat 0.25\n", "f32[N,4,6,7]",
        "%y = Conv@11(%x, @w) {pads = [1, 1, 1, 1], strides = [2, 1]} : ?");
  check("  constant @w : f32[4,1,3,3] = splat 0.25\n", "f32[N,4,6,7]",
        "%y = Conv@11(%x, @w) {pads = [1, 1, 1, 1], group = 4} : ?");
  check("", "f32[N,4,6,7]", "%y = MaxPool@12(%x) {kernel_shape = [2, 2], strides = [2, 2]} : ?");
  check("", "f32[N,4,6,7]", "%y = GlobalAveragePool@1(%x) : ?");
  check("", "f32[N,40]", "%y = Softmax@13(%x) : ?");
  check("  constant @w : f32[40,9] = splat 0.5\n", "f32[N,40]", "%y = MatMul@13(%x, @w) : ?");
  check("  constant @w : f32[9,40] = splat 0.5\n", "f32[N,40]", "%y = Gemm@13(%x, @w) {transB = 1} : ?");
  // Enough rows for tiles; weights that are transposed at compile time.
  check("  constant @w : f32[40,9] = splat 0.5\n", "f32[N,4,40]", "%y = MatMul@13(%x, @w) : ?");
  check("  constant @w : f32[3,2] = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]\n", "f32[N,2]",
        "%y = Gemm@13(%x, @w) {transB = 1, alpha = 0.5} : ?");
  check("  constant @s : f32[40] = splat 2.0\n", "f32[N,40]", "%y = LayerNormalization@17(%x, @s) : ?");
}

static void test_inner_dimension(void **state) {
  (void)state;
  check("  constant @w : f32[5,4,3,3] = splat 0.25\n", "f32[1,4,N,7]",
        "%y = Conv@11(%x, @w) {pads = [1, 1, 1, 1]} : ?");
  check("  constant @w : f32[5,4,3,3] = splat 0.25\n", "f32[1,4,7,N]",
        "%y = Conv@11(%x, @w) {auto_pad = \"SAME_UPPER\", strides = [2, 2]} : ?");
  check("", "f32[2,N,5]", "%y = ReduceMean@13(%x) {axes = [1]} : ?");
  check("", "f32[2,5,N]", "%y = ReduceMax@13(%x) {axes = [2]} : ?");
  check("", "f32[2,5,N]", "%y = Softmax@13(%x) {axis = 2} : ?");
  check("", "f32[2,N,5]", "%y = Transpose@13(%x) {perm = [1, 0, 2]} : ?");
  check("", "f32[2,N,5]", "%y = Concat@13(%x, %x) {axis = 1} : ?");
  check("  constant @s : i64[1] = [-2]\n  constant @e : i64[1] = [9223372036854775807]\n"
        "  constant @a : i64[1] = [1]\n",
        "f32[2,N,5]", "%y = Slice@13(%x, @s, @e, @a) : ?");
  check("  constant @p : i64[4] = [1, 0, 2, 0]\n", "f32[N,5]", "%y = Pad@13(%x, @p) {mode = \"edge\"} : ?");
  check("", "f32[2,N,5]", "%s = Shape@15(%x) : ?\n    %y = Cast@13(%s) {to = 1} : ?");
}

// 3 - 4 is negative: Div truncates it, where a floor would make the result one shorter.
static void test_repeats(void **state) {
  (void)state;
  static const char *const scales[] = {"1.0, 1.0, 2.0, 2.0", "1.0, 1.0, 1.0, 3.0", "1.0, 1.0, 3.0, 1.0"};
  for (size_t i = 0; i < sizeof scales / sizeof *scales; ++i) {
    char constant[128];
    snprintf(constant, sizeof constant, "  constant @s : f32[4] = [%s]\n", scales[i]);
    check(constant, "f32[1,2,5,N]",
          "%y = Resize@19(%x, _, @s) {mode = \"nearest\", coordinate_transformation_mode = \"asymmetric\", "
          "nearest_mode = "
          "\"floor\"} : ?");
    check(constant, "f32[N,2,N,N]", "%y = Resize@19(%x, _, @s) {mode = \"nearest\"} : ?");
  }
}

// ---- elements that are moved, against loops written here: sizes around those of tiles and runs ----

static float *numbered(int64_t count) {
  float *x = calloc((size_t)count + 1, sizeof *x);
  assert_non_null(x);
  for (int64_t i = 0; i < count; ++i) x[i] = (float)i;
  return x;
}

// `type` has dimensions d, of which those that are 0 are N; `perm` turns three of them.
static void check_transpose(const int64_t d[3], const int perm[3], int64_t n) {
  int64_t size[3];
  char dims[64] = "", text[512];
  for (int i = 0; i < 3; ++i) {
    size[i] = d[i] == 0 ? n : d[i];
    if (d[i] == 0)
      snprintf(dims + strlen(dims), sizeof dims - strlen(dims), "%sN", i > 0 ? "," : "");
    else
      snprintf(dims + strlen(dims), sizeof dims - strlen(dims), "%s%d", i > 0 ? "," : "", (int)d[i]);
  }
  snprintf(
      text, sizeof text,
      "module {\n  func @main(%%x : f32[%s]) -> (%%y : ?) {\n    %%y = Transpose@13(%%x) {perm = [%d, %d, %d]} : ?\n"
      "    return %%y\n  }\n}\n",
      dims, perm[0], perm[1], perm[2]);
  float *x = numbered(size[0] * size[1] * size[2]);
  ops_run_t run;
  ops_run_symbolic(text, n, (const void *const[]){x}, &run);
  const float *y = ops_result(&run, 0);
  const int64_t step[3] = {size[1] * size[2], size[2], 1};
  int64_t at = 0;
  for (int64_t i = 0; i < size[perm[0]]; ++i) {
    for (int64_t j = 0; j < size[perm[1]]; ++j) {
      for (int64_t k = 0; k < size[perm[2]]; ++k, ++at) {
        const int64_t from = i * step[perm[0]] + j * step[perm[1]] + k * step[perm[2]];
        if (y[at] != x[from]) fail_msg("N = %d: element %d of %s", (int)n, (int)at, text);
      }
    }
  }
  ops_done(&run);
  free(x);
}

static void test_transposes(void **state) {
  (void)state;
  static const int64_t sizes[] = {1, 2, 15, 16, 17, 33, 64, 70};
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; ++i) {
    check_transpose((const int64_t[]){3, 0, 20}, (const int[]){0, 2, 1}, sizes[i]);
    check_transpose((const int64_t[]){2, 0, 0}, (const int[]){0, 2, 1}, sizes[i]);
    check_transpose((const int64_t[]){0, 3, 0}, (const int[]){2, 1, 0}, sizes[i]);
    check_transpose((const int64_t[]){0, 12, 8}, (const int[]){1, 0, 2}, sizes[i]);
    check_transpose((const int64_t[]){0, 70, 64}, (const int[]){1, 0, 2}, sizes[i]);
    check_transpose((const int64_t[]){5, 0, 0}, (const int[]){1, 0, 2}, sizes[i]);
  }
}

// Where an index of a padded axis is taken from; -1: from nowhere.
static int64_t source(const char *mode, int64_t at, int64_t size) {
  if (strcmp(mode, "edge") == 0) return at < 0 ? 0 : at < size ? at : size - 1;
  if (strcmp(mode, "wrap") == 0) return (at % size + size) % size;
  if (strcmp(mode, "constant") == 0) return at >= 0 && at < size ? at : -1;
  if (size == 1) return 0;
  at = (at % (2 * size - 2) + 2 * size - 2) % (2 * size - 2);
  return at < size ? at : 2 * size - 2 - at;
}

// The same of an axis that may be cut first, by negative pads.
static int64_t source_of_rest(const char *mode, int64_t at, int64_t size, int64_t before, int64_t behind) {
  const int64_t first = before < 0 ? -before : 0, rest = size - first - (behind < 0 ? -behind : 0);
  const int64_t place = source(mode, at - before - first, rest);
  return place < 0 ? place : place + first;
}

// Both axes of x : f32[R,C] grow; `open` names C N.
static void check_grown(const char *mode, bool open, int64_t columns, const int64_t pads[4]) {
  enum { ROWS = 3 };
  char size[32], text[640];
  snprintf(size, sizeof size, "%d", (int)columns);
  const bool tiles = strcmp(mode, "tile") == 0;
  if (tiles) {
    snprintf(text, sizeof text,
             "module {\n  constant @p : i64[2] = [%d, %d]\n  func @main(%%x : f32[3,%s]) -> (%%y : ?) {\n"
             "    %%y = Tile@13(%%x, @p) : ?\n    return %%y\n  }\n}\n",
             (int)pads[0], (int)pads[1], open ? "N" : size);
  } else {
    snprintf(text, sizeof text,
             "module {\n  constant @p : i64[4] = [%d, %d, %d, %d]\n  func @main(%%x : f32[3,%s]) -> (%%y : ?) {\n"
             "    %%y = Pad@19(%%x, @p) {mode = \"%s\"} : ?\n    return %%y\n  }\n}\n",
             (int)pads[0], (int)pads[1], (int)pads[2], (int)pads[3], open ? "N" : size, mode);
  }
  float *x = numbered(ROWS * columns);
  ops_run_t run;
  ops_run_symbolic(text, columns, (const void *const[]){x}, &run);
  const float *y = ops_result(&run, 0);
  const int64_t height = tiles ? ROWS * pads[0] : ROWS + pads[0] + pads[2];
  const int64_t width = tiles ? columns * pads[1] : columns + pads[1] + pads[3];
  for (int64_t i = 0; i < height; ++i) {
    for (int64_t j = 0; j < width; ++j) {
      const int64_t row = tiles ? i % ROWS : source_of_rest(mode, i, ROWS, pads[0], pads[2]),
                    column = tiles ? j % columns : source_of_rest(mode, j, columns, pads[1], pads[3]);
      const float expected = row < 0 || column < 0 ? 0 : x[row * columns + column];
      if (y[i * width + j] != expected)
        fail_msg("%s of %d columns, %d %d: %s", mode, (int)columns, (int)i, (int)j, text);
    }
  }
  ops_done(&run);
  free(x);
}

static void test_tiles_and_pads(void **state) {
  (void)state;
  static const char *const modes[] = {"constant", "edge", "reflect", "wrap"};
  static const int64_t sizes[] = {1, 2, 15, 16, 17, 40};
  static const int64_t pads[][4] = {{0, 3, 0, 5}, {2, 0, 1, 4},  {1, 4, 0, 0},
                                    {1, 1, 2, 2}, {0, -1, 0, 2}, {2, 1, -1, -1}};
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; ++i) {
    for (int open = 0; open < 2; ++open) {
      check_grown("tile", open, sizes[i], (const int64_t[4]){1, 3});
      check_grown("tile", open, sizes[i], (const int64_t[4]){2, 2});
      check_grown("tile", open, sizes[i], (const int64_t[4]){2, 1});
      for (size_t m = 0; m < sizeof modes / sizeof *modes; ++m) {
        for (size_t p = 0; p < sizeof pads / sizeof *pads; ++p) {
          const int64_t least = pads[p][1] < pads[p][3] ? pads[p][1] : pads[p][3];
          if (sizes[i] + least <= 0 && m > 0) continue; // nothing is left to pad with
          if (sizes[i] + pads[p][1] + pads[p][3] > 0) check_grown(modes[m], open, sizes[i], pads[p]);
        }
      }
    }
  }
}

static void test_division_of_open_sizes_truncates(void **state) {
  (void)state;
  ops_run_t run;
  ops_run_symbolic("module {\n  constant @four : i64[1] = [4]\n  func @main(%x : f32[N]) -> (%y : ?) {\n"
                   "    %s = Shape@15(%x) : ?\n    %a = Sub@14(%s, @four) : ?\n    %b = Div@14(%a, @four) : ?\n"
                   "    %c = Add@14(%b, @four) : ?\n    %y = ConstantOfShape@9(%c) : ?\n    return %y\n  }\n}\n",
                   3, (const void *const[]){(const float[3]){0}}, &run);
  const byoc_type_t *type = byoc_graph_module_main(run.module)->body->results.data[0]->type;
  byoc_string_t text;
  byoc_string_init(&text, byoc_allocator_system());
  byoc_dim_print(type->dims[0], &text);
  assert_string_equal(text.data, "floordiv(max(N - 4, 0), 4) - floordiv(max(4 - N, 0), 4) + 4");
  byoc_string_deinit(&text);
  ops_done(&run);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_batch),          cmocka_unit_test(test_inner_dimension),
      cmocka_unit_test(test_repeats),        cmocka_unit_test(test_transposes),
      cmocka_unit_test(test_tiles_and_pads), cmocka_unit_test(test_division_of_open_sizes_truncates),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
