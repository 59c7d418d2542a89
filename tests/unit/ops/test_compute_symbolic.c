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
static void test_17_division_of_open_sizes_truncates(void **state) {
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
      cmocka_unit_test(test_batch),
      cmocka_unit_test(test_inner_dimension),
      cmocka_unit_test(test_17_division_of_open_sizes_truncates),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
