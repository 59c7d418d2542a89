// SPDX-License-Identifier: Apache-2.0
// Gradient against central differences, rule by rule, in f64.
#include "tests/unit/ops/ops_support.h"

enum { COUNT = 6 };

static double run_forward(const char *text, const double *x, const double *w) {
  ops_run_t run;
  ops_run(text, (const void *const[]){x, w}, &run);
  double y = *(const double *)ops_result(&run, 0);
  ops_done(&run);
  return y;
}

// The difference quotient by element `index` of x (or of w).
static double slope(const char *text, const double *x, const double *w, bool by_w, size_t index) {
  const double step = 1e-6;
  double y[2];
  for (int side = 0; side < 2; ++side) {
    double moved_x[COUNT], moved_w[COUNT];
    memcpy(moved_x, x, sizeof(moved_x));
    memcpy(moved_w, w, sizeof(moved_w));
    (by_w ? moved_w : moved_x)[index] += side == 0 ? -step : step;
    y[side] = run_forward(text, moved_x, moved_w);
  }
  return (y[1] - y[0]) / (2 * step);
}

static void check_elements(const char *what, const char *forward, const double *actual, const double *x,
                           const double *w, bool by_w) {
  for (size_t i = 0; i < COUNT; ++i) {
    double expected = slope(forward, x, w, by_w, i);
    if (fabs(actual[i] - expected) > 1e-6 * (1 + fabs(expected))) {
      fail_msg("%s: by %c[%zu] it is %.9g, expected %.9g", what, by_w ? 'w' : 'x', i, actual[i], expected);
    }
  }
}

// `body` makes %t, of any shape, from %x and %w of these types, six elements each; y is a weighted sum of %t.
static void check(const char *x_type, const char *w_type, const char *body) {
  static const double x[COUNT] = {0.4, 1.3, 0.7, 2.1, 0.9, 1.6}, w[COUNT] = {1.1, 0.6, 1.9, 0.8, 1.4, 0.3};
  static const char *const rest = "    %q = Mul@14(%t, %t) : ?\n"
                                  "    %y = ReduceSum@13(%q) {keepdims = 0} : ?\n";
  char forward[1024], backward[1024];
  snprintf(forward, sizeof(forward),
           "module {\n  func @main(%%x : %s, %%w : %s) -> (%%y : ?) {\n    %s\n%s    return %%y\n  }\n}\n", x_type,
           w_type, body, rest);
  snprintf(backward, sizeof(backward),
           "module {\n  func @main(%%x : %s, %%w : %s) -> (%%dx : ?, %%dw : ?) {\n    %s\n%s"
           "    %%dx, %%dw = ai.onnx.preview.training::Gradient@1(%%x, %%w) {xs = [\"x\", \"w\"], y = \"y\"} : ?, ?\n"
           "    return %%dx, %%dw\n  }\n}\n",
           x_type, w_type, body, rest);
  ops_run_t run;
  ops_run(backward, (const void *const[]){x, w}, &run);
  check_elements(body, forward, ops_result(&run, 0), x, w, false);
  check_elements(body, forward, ops_result(&run, 1), x, w, true);
  ops_done(&run);
}

static void test_arithmetic(void **state) {
  (void)state;
  static const char *const operators[] = {"Add@14", "Sub@14", "Mul@14", "Div@14", "Pow@15"};
  for (size_t i = 0; i < sizeof(operators) / sizeof(operators[0]); ++i) {
    char body[128];
    snprintf(body, sizeof(body), "%%t = %s(%%x, %%w) : ?", operators[i]);
    check("f64[2,3]", "f64[2,3]", body);
    check("f64[2,3]", "f64[6,1,1]", body);
    check("f64[1,6]", "f64[6,1]", body);
  }
  check("f64[6]", "f64[6]", "%t = Sum@13(%x, %w, %x) : ?");
}

static void test_functions_of_one_operand(void **state) {
  (void)state;
  static const char *const operators[] = {"Neg@13", "Identity@16", "Exp@13",  "Log@13",        "Sqrt@13",    "Abs@13",
                                          "Sin@7",  "Cos@7",       "Tanh@13", "Reciprocal@13", "Sigmoid@13", "Relu@14"};
  for (size_t i = 0; i < sizeof(operators) / sizeof(operators[0]); ++i) {
    char body[160];
    snprintf(body, sizeof(body), "%%d = Sub@14(%%x, %%w) : ?\n    %%p = Mul@14(%%d, %%d) : ?\n    %%t = %s(%%p) : ?",
             operators[i]);
    check("f64[2,3]", "f64[2,3]", body);
    snprintf(body, sizeof(body), "%%s = %s(%%x) : ?\n    %%t = Mul@14(%%s, %%w) : ?", operators[i]);
    check("f64[2,3]", "f64[2,3]", body);
  }
}

static void test_products(void **state) {
  (void)state;
  check("f64[2,3]", "f64[3,2]", "%t = MatMul@13(%x, %w) : ?");
  check("f64[3,1,2]", "f64[2,3]", "%t = MatMul@13(%x, %w) : ?");
  check("f64[2,3]", "f64[3,2]", "%t = Gemm@13(%x, %w) {alpha = 0.5} : ?");
  check("f64[2,3]", "f64[2,3]", "%t = Gemm@13(%x, %w) {transB = 1} : ?");
  check("f64[3,2]", "f64[3,2]", "%t = Gemm@13(%x, %w) {transA = 1, alpha = 2.0} : ?");
  check("f64[3,2]", "f64[2,3]",
        "%p = MatMul@13(%x, %w) : ?\n    %t = Gemm@13(%w, %x, %p) {transA = 1, transB = 1} : ?");
}

static void test_shapes(void **state) {
  (void)state;
  check("f64[2,3]", "f64[3,2]", "%u = Transpose@13(%x) {perm = [1, 0]} : ?\n    %t = Mul@14(%u, %w) : ?");
  check("f64[1,2,3]", "f64[6]", "%u = Flatten@13(%x) {axis = 0} : ?\n    %t = Mul@14(%u, %w) : ?");
  check("f64[2,3]", "f64[6]", "%s = ReduceSum@13(%x) {keepdims = 0} : ?\n    %t = Mul@14(%s, %w) : ?");
  check("f64[2,3]", "f64[3,2]", "%s = ReduceMean@13(%x) {axes = [0]} : ?\n    %t = MatMul@13(%s, %w) : ?");
  check("f64[2,3]", "f64[2,3]", "%s = ReduceMean@13(%x) {axes = [-1]} : ?\n    %t = Mul@14(%s, %w) : ?");
  check("f64[2,3]", "f64[2,3]", "%s = Softmax@13(%x) {axis = 0} : ?\n    %t = Mul@14(%s, %w) : ?");
}

static void check_refused(const char *body, const char *message) {
  char text[1024];
  snprintf(text, sizeof(text),
           "module {\n  func @main(%%x : f64[2,3]) -> (%%dx : ?) {\n    %s\n    return %%dx\n  }\n}\n", body);
  byoc_diag_t diag = {0};
  byoc_graph_module_t *module = NULL;
  byoc_test_ok(byoc_graph_parse(text, "test", byoc_allocator_system(), &diag, &module), &diag);
  byoc_status_t status = byoc_infer_module(module, &diag);
  if (status == BYOC_OK) status = byoc_kernel_lower_module(module, NULL, &diag);
  byoc_test_error(status, status == BYOC_UNSUPPORTED ? BYOC_UNSUPPORTED : BYOC_INVALID_DATA, &diag, message);
  byoc_graph_module_destroy(module);
}

static void test_refusals(void **state) {
  (void)state;
  check_refused("%y = Erf@13(%x) : ?\n    %dx = ai.onnx.preview.training::Gradient@1(%x) {xs = [\"x\"], y = \"y\"} : ?",
                "there is no rule for this operator");
  check_refused("%dx = ai.onnx.preview.training::Gradient@1(%x) {xs = [\"x\"], y = \"z\"} : ?", "no value 'z'");
  check_refused("%dx = ai.onnx.preview.training::Gradient@1(%x) {xs = [\"x\", \"v\"], y = \"x\"} : ?",
                "do not fit 2 names in xs");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_arithmetic), cmocka_unit_test(test_functions_of_one_operand),
      cmocka_unit_test(test_products),   cmocka_unit_test(test_shapes),
      cmocka_unit_test(test_refusals),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
