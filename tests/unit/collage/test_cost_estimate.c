// SPDX-License-Identifier: Apache-2.0
// The estimate: operations and bytes of operators, and the times that follow.
#include "tests/support/support.h"

#include <stdio.h>
#include <stdlib.h>

#include "core/base/file.h"
#include "core/collage/calibrate.h"
#include "core/collage/estimate.h"
#include "core/ir/module_text.h"

static const char graph_text[] = "module {opset_import. = 17} {\n"
                                 "  constant @scale : f32[] = splat 0.5\n"
                                 "  constant @zero : u8[] = splat 3\n"
                                 "  constant @signed_zero : i8[] = splat 0\n"
                                 "  constant @filter : i8[16,8,3,3] = splat 1\n"
                                 "  constant @matrix : i8[64,32] = splat 1\n"
                                 "  func @quantised(%x : u8[1,8,10,10]) -> (%y : u8[1,16,8,8]) {\n"
                                 "    %y = QLinearConv@10(%x, @scale, @zero, @filter, @scale, @signed_zero, @scale, "
                                 "@zero) : u8[1,16,8,8]\n"
                                 "    return %y\n"
                                 "  }\n"
                                 "  func @quantised_product(%x : u8[5,64]) -> (%y : u8[5,32]) {\n"
                                 "    %y = QLinearMatMul@10(%x, @scale, @zero, @matrix, @scale, @signed_zero, @scale, "
                                 "@zero) : u8[5,32]\n"
                                 "    return %y\n"
                                 "  }\n"
                                 "  func @integers(%x : u8[1,8,10,10]) -> (%y : i32[1,16,8,8]) {\n"
                                 "    %y = ConvInteger@10(%x, @filter) : i32[1,16,8,8]\n"
                                 "    return %y\n"
                                 "  }\n"
                                 "  func @integer_product(%x : u8[5,64]) -> (%y : i32[5,32]) {\n"
                                 "    %y = MatMulInteger@10(%x, @matrix) : i32[5,32]\n"
                                 "    return %y\n"
                                 "  }\n"
                                 "  func @half(%x : f16[5,64], %w : f16[64,32]) -> (%y : f16[5,32]) {\n"
                                 "    %y = MatMul@13(%x, %w) : f16[5,32]\n"
                                 "    return %y\n"
                                 "  }\n"
                                 "  constant @w : f32[16,8,3,3] = splat 1.0\n"
                                 "  constant @m : f32[64,32] = splat 1.0\n"
                                 "  constant @t : f32[8,4,2,2] = splat 1.0\n"
                                 "  func @conv(%x : f32[1,8,10,10]) -> (%y : f32[1,16,8,8]) {\n"
                                 "    %0 = Conv@11(%x, @w) : f32[1,16,8,8]\n"
                                 "    %y = Relu@14(%0) : f32[1,16,8,8]\n"
                                 "    return %y\n"
                                 "  }\n"
                                 "  func @grouped(%x : f32[1,16,10,10]) -> (%y : f32[1,16,8,8]) {\n"
                                 "    %y = Conv@11(%x, @w) {group = 2} : f32[1,16,8,8]\n"
                                 "    return %y\n"
                                 "  }\n"
                                 "  func @product(%x : f32[5,64]) -> (%y : f32[5,32]) {\n"
                                 "    %y = MatMul@13(%x, @m) : f32[5,32]\n"
                                 "    return %y\n"
                                 "  }\n"
                                 "  func @transposed(%x : f32[64,5]) -> (%y : f32[5,32]) {\n"
                                 "    %y = Gemm@13(%x, @m) {transA = 1} : f32[5,32]\n"
                                 "    return %y\n"
                                 "  }\n"
                                 "  func @attend(%q : f32[1,2,3,8], %k : f32[1,2,5,8], %v : f32[1,2,5,4]) -> "
                                 "(%y : f32[1,2,3,4]) {\n"
                                 "    %y = Attention@23(%q, %k, %v) : f32[1,2,3,4]\n"
                                 "    return %y\n"
                                 "  }\n"
                                 "  func @up(%x : f32[1,8,6,6]) -> (%y : f32[1,4,12,12]) {\n"
                                 "    %y = ConvTranspose@11(%x, @t) {strides = [2, 2]} : f32[1,4,12,12]\n"
                                 "    return %y\n"
                                 "  }\n"
                                 "  func @pool(%x : f32[1,4,6,6]) -> (%y : f32[1,4,3,3]) {\n"
                                 "    %y = MaxPool@12(%x) {kernel_shape = [2, 2], strides = [2, 2]} : f32[1,4,3,3]\n"
                                 "    return %y\n"
                                 "  }\n"
                                 "  func @rows(%i : i64[3]) -> (%y : f32[3,32]) {\n"
                                 "    %y = Gather@13(@m, %i) : f32[3,32]\n"
                                 "    return %y\n"
                                 "  }\n"
                                 "  func @calls(%x : f32[5,64]) -> (%y : f32[5,32]) {\n"
                                 "    %0 = call @product(%x) : f32[5,32]\n"
                                 "    %y = Tanh@13(%0) : f32[5,32]\n"
                                 "    return %y\n"
                                 "  }\n"
                                 "  func @symbolic(%x : f32[N,64]) -> (%y : f32[N,32]) {\n"
                                 "    %y = MatMul@13(%x, @m) : f32[N,32]\n"
                                 "    return %y\n"
                                 "  }\n"
                                 "}\n";

typedef struct case_t {
  const char *name;
  double product_flops, other_flops, bytes;
} case_t;

static void test_c4_work_is_counted(void **state) {
  (void)state;
  static const case_t cases[] = {
      {"conv", 2.0 * 16 * 64 * 8 * 9, 16 * 64, 4.0 * (800 + 1024 + 1152)},
      {"grouped", 2.0 * 16 * 64 * 8 * 9, 0, 4.0 * (1600 + 1024 + 1152)},
      {"product", 2.0 * 5 * 32 * 64, 0, 4.0 * (320 + 160 + 2048)},
      {"transposed", 2.0 * 5 * 32 * 64, 0, 4.0 * (320 + 160 + 2048)},
      {"attend", 2.0 * 5 * (48 + 24), 0, 4.0 * (48 + 80 + 40 + 24)},
      {"up", 2.0 * 8 * 36 * 4 * 4, 0, 4.0 * (288 + 576 + 128)},
      {"pool", 0, 36 * 4, 4.0 * (144 + 36)},
      {"rows", 0, 96, 4.0 * (96 + 2048) + 8 * 3}, // not an operation for each element of the table
      {"calls", 2.0 * 5 * 32 * 64, 160 * 10, 4.0 * (320 + 160 + 2048)},
      {"symbolic", 2.0 * BYOC_ESTIMATE_DIM * 32 * 64, 0, 4.0 * (BYOC_ESTIMATE_DIM * 96 + 2048)},
  };
  byoc_diag_t diag = {0};
  byoc_graph_module_t *module = NULL;
  byoc_test_ok(byoc_graph_parse(graph_text, "test", byoc_allocator_system(), &diag, &module), &diag);
  for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); ++i) {
    byoc_work_t work = byoc_function_work(byoc_graph_module_find(module, cases[i].name));
    if (work.product_flops != cases[i].product_flops || work.other_flops != cases[i].other_flops ||
        work.bytes != cases[i].bytes) {
      fail_msg("%s: %g products, %g others, %g bytes", cases[i].name, work.product_flops, work.other_flops, work.bytes);
    }
  }
  byoc_graph_module_destroy(module);
}

// Products of integers are counted by their filter, which is not operand 1, and against the machine's peak of their
// type; so are those of each type of floats.
static void test_each_type_has_its_peak(void **state) {
  (void)state;
  static const struct {
    const char *name, *precision;
    byoc_arithmetic_t type;
    double flops;
  } cases[] = {
      {"quantised", "int8", BYOC_ARITHMETIC_INT8, 2.0 * 16 * 64 * 8 * 9},
      {"quantised_product", "int8", BYOC_ARITHMETIC_INT8, 2.0 * 5 * 32 * 64},
      {"integers", "int8", BYOC_ARITHMETIC_INT8, 2.0 * 16 * 64 * 8 * 9},
      {"integer_product", "int8", BYOC_ARITHMETIC_INT8, 2.0 * 5 * 32 * 64},
      {"half", "f16", BYOC_ARITHMETIC_F16, 2.0 * 5 * 32 * 64},
      {"product", "f32", BYOC_ARITHMETIC_F32, 2.0 * 5 * 32 * 64},
      {"pool", "f32", BYOC_ARITHMETIC_F32, 0},
  };
  byoc_diag_t diag = {0};
  byoc_graph_module_t *module = NULL;
  byoc_test_ok(byoc_graph_parse(graph_text, "test", byoc_allocator_system(), &diag, &module), &diag);
  byoc_string_t text;
  byoc_string_init(&text, byoc_allocator_system());
  for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); ++i) {
    const byoc_function_t *function = byoc_graph_module_find(module, cases[i].name);
    const byoc_work_t work = byoc_function_work(function);
    byoc_string_clear(&text);
    byoc_function_precision(function, &text);
    byoc_test_same_text(text.data, cases[i].precision);
    if (work.products[cases[i].type] != cases[i].flops || work.product_flops != cases[i].flops)
      fail_msg("%s: %g of %g", cases[i].name, work.products[cases[i].type], work.product_flops);
    assert_int_equal(byoc_work_arithmetic(&work), cases[i].type);
  }
  byoc_string_deinit(&text);
  static const byoc_backend_t row;
  byoc_target_kind_t backend = {.name = "b", .backend = &row};
  byoc_target_t target = {.kind = &backend};
  byoc_estimator_t slow = {.calibration = {.flops_per_ns = 0.1, .bytes_per_ns = 10}, .thread_count = 1}, fast = slow;
  fast.calibration.peaks[BYOC_ARITHMETIC_INT8] = 0.4;
  const byoc_function_t *bytes = byoc_graph_module_find(module, "quantised");
  const byoc_function_t *floats = byoc_graph_module_find(module, "conv");
  assert_true(byoc_estimate_ns(&fast, bytes, &target) < 0.3 * byoc_estimate_ns(&slow, bytes, &target));
  assert_true(byoc_bound_ns(&fast, bytes, &target) < 0.3 * byoc_bound_ns(&slow, bytes, &target));
  assert_true(byoc_estimate_ns(&fast, floats, &target) == byoc_estimate_ns(&slow, floats, &target));
  byoc_graph_module_destroy(module);
}

static double tenth(void *self, const byoc_target_t *target) {
  (void)self, (void)target;
  return 0.1;
}

// A bound must stay below what bytes take if a target may compute f32 by bytes.
static void test_bounds_allow_for_less_precision(void **state) {
  (void)state;
  static const byoc_backend_t exact, rounding = {.relative_error = tenth};
  byoc_target_kind_t kinds[] = {{.name = "a", .backend = &exact}, {.name = "b", .backend = &rounding}};
  byoc_target_t targets[] = {{.kind = &kinds[0]}, {.kind = &kinds[1]}};
  byoc_diag_t diag = {0};
  byoc_graph_module_t *module = NULL;
  byoc_test_ok(byoc_graph_parse(graph_text, "test", byoc_allocator_system(), &diag, &module), &diag);
  byoc_estimator_t machine = {.calibration = {.flops_per_ns = 0.1, .bytes_per_ns = 10}, .thread_count = 1};
  machine.calibration.peaks[BYOC_ARITHMETIC_INT8] = 0.4;
  const byoc_function_t *product = byoc_graph_module_find(module, "product");
  assert_true(byoc_bound_ns(&machine, product, &targets[1]) < 0.3 * byoc_bound_ns(&machine, product, &targets[0]));
  byoc_graph_module_destroy(module);
}

// Of another machine, byoc/isa.def says how types compare with f32.
static void test_peaks_of_other_machines(void **state) {
  (void)state;
  byoc_estimator_t machine = {.calibration = {.flops_per_ns = 100, .peaks = {[BYOC_ARITHMETIC_INT8] = 300}}};
  byoc_estimator_t other = machine, plain = machine;
  byoc_estimator_limit(&machine, UINT64_C(1) << BYOC_CPU_AVX512VNNI, false);
  assert_true(byoc_calibration_peak(&machine.calibration, BYOC_ARITHMETIC_INT8) == 300);
  byoc_estimator_limit(&other, UINT64_C(1) << BYOC_CPU_I8MM | UINT64_C(1) << BYOC_CPU_BF16, true);
  assert_true(byoc_calibration_peak(&other.calibration, BYOC_ARITHMETIC_INT8) == 400);
  assert_true(byoc_calibration_peak(&other.calibration, BYOC_ARITHMETIC_BF16) == 200);
  byoc_estimator_limit(&plain, 0, false); // -mcpu leaves the products of bytes out
  assert_true(byoc_calibration_peak(&plain.calibration, BYOC_ARITHMETIC_INT8) == 100);
}

static void test_c4_estimates_follow_the_machine(void **state) {
  (void)state;
  static const byoc_backend_t row;
  byoc_target_kind_t backend = {.name = "b", .backend = &row}, plain = {.name = "c"};
  byoc_target_t of_backend = {.kind = &backend}, native = {.kind = &plain};
  byoc_diag_t diag = {0};
  byoc_graph_module_t *module = NULL;
  byoc_test_ok(byoc_graph_parse(graph_text, "test", byoc_allocator_system(), &diag, &module), &diag);
  const byoc_function_t *conv = byoc_graph_module_find(module, "conv"), *pool = byoc_graph_module_find(module, "pool");
  byoc_estimator_t one = {.calibration = {.flops_per_ns = 100, .bytes_per_ns = 10}, .thread_count = 1};
  byoc_estimator_t four = one;
  four.thread_count = 4;
  assert_true(byoc_estimate_ns(&one, conv, &of_backend) < byoc_estimate_ns(&one, conv, &native));
  assert_true(byoc_estimate_ns(&four, conv, &native) < byoc_estimate_ns(&one, conv, &native));
  assert_true(byoc_estimate_ns(&one, pool, &of_backend) == byoc_estimate_ns(&one, pool, &native));
  byoc_function_pricer_t pricer = byoc_estimator_pricer(&one);
  double ns = 0;
  const char *reason = "";
  byoc_test_ok(pricer.price(pricer.self, conv, &native, &diag, &ns, &reason), &diag);
  assert_true(ns == byoc_estimate_ns(&one, conv, &native));
  assert_null(reason);
  byoc_graph_module_destroy(module);
}

// The weights that somebody reads, and twice what the widest operator has at hand.
static void test_model_bytes(void **state) {
  (void)state;
  byoc_diag_t diag = {0};
  byoc_graph_module_t *module = NULL;
  byoc_test_ok(byoc_graph_parse("module {opset_import. = 17} {\n  constant @w : f32[100] = splat 1.0\n"
                                "  constant @v : f32[30] = splat 1.0\n"
                                "  func @main(%x : f32[1], %z : f32[10]) -> (%y : f32[100], %r : f32[10]) {\n"
                                "    %y = Add@14(%x, @w) : f32[100]\n    %a = Relu@14(%z) : f32[10]\n"
                                "    %r = Mul@14(%a, %z) : f32[10]\n    return %y, %r\n  }\n"
                                "  func @other(%x : f32[30]) -> (%y : f32[30]) {\n"
                                "    %y = Add@14(%x, @v) : f32[30]\n    return %y\n  }\n}\n",
                                "test", byoc_allocator_system(), &diag, &module),
               &diag);
  assert_int_equal(byoc_estimate_model_bytes(module), 4 * (100 + 30) + 2 * 4 * (1 + 100));
  byoc_graph_module_destroy(module);
}

// Measured once per machine.
static void test_c4_a_machine_is_calibrated_once(void **state) {
  (void)state;
  byoc_diag_t diag = {0};
  char *folder = byoc_test_folder();
  char *path = byoc_path_join(byoc_allocator_system(), folder, "costs.sqlite");
  byoc_cost_database_t *database = NULL;
  byoc_test_ok(byoc_cost_database_open(path, byoc_allocator_system(), &diag, &database), &diag);
  byoc_estimator_t first, second;
  byoc_test_ok(byoc_estimator_init(&first, 1, database, byoc_allocator_system(), &diag), &diag);
  byoc_test_ok(byoc_estimator_init(&second, 1, database, byoc_allocator_system(), &diag), &diag);
  printf("peak %.1f GFLOP/s, memory %.1f GB/s\n", first.calibration.flops_per_ns, first.calibration.bytes_per_ns);
  assert_true(first.calibration.flops_per_ns > 0.01 && first.calibration.bytes_per_ns > 0.01);
  assert_true(first.calibration.call_ns > 0 && first.calibration.call_ns < 10000); // it is a few
  assert_true(first.calibration.flops_per_ns == second.calibration.flops_per_ns);
  byoc_cost_database_close(database);
  (void)byoc_remove_tree(folder, NULL);
  free(path);
  free(folder);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_c4_work_is_counted),
      cmocka_unit_test(test_c4_estimates_follow_the_machine),
      cmocka_unit_test(test_each_type_has_its_peak),
      cmocka_unit_test(test_bounds_allow_for_less_precision),
      cmocka_unit_test(test_peaks_of_other_machines),
      cmocka_unit_test(test_c4_a_machine_is_calibrated_once),
      cmocka_unit_test(test_model_bytes),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
