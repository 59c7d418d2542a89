// SPDX-License-Identifier: Apache-2.0
// Quantised models have one form, whatever the machine and the targets: the operators that rules see are the same. What
// each machine makes of them has the same bits.
#include "tests/support/command.h"

#include <stdio.h>

// A depthwise convolution with a bias of floats, one of many channels whose sums pass 2^24, one with zero points of the
// weights, a grouped one of one dimension, a transposed one, and a matrix product with a bias.
static const char model[] =
    "module {\n"
    "  constant @s : f32[] = [0.02]\n"
    "  constant @z : u8[] = [3]\n"
    "  constant @t : f32[] = [0.25]\n"
    "  constant @m : i8[] = [0]\n"
    "  constant @u : f32[] = [0.01]\n"
    "  constant @none : i8[] = [0]\n"
    "  constant @some : i8[] = [5]\n"
    "  constant @six : f32[] = [6.0]\n"
    "  constant @nil : f32[] = [0.0]\n"
    "  constant @d : i8[640,1,3,3] = splat 117\n"
    "  constant @db : f32[640] = splat 0.7512\n"
    "  constant @w : i8[8,640,3,3] = splat 127\n"
    "  constant @v : i8[6,8,3,3] = splat -77\n"
    "  constant @g : i8[8,2,3] = splat 19\n"
    "  constant @a : i8[6,4,2,2] = splat 90\n"
    "  constant @ab : f32[4] = [0.5, -0.25, 1.0, 0.0]\n"
    "  constant @c : i8[16,8] = splat -31\n"
    "  constant @cb : f32[16] = splat 1.25\n"
    "  func @main(%x : u8[1,640,7,5], %l : u8[2,4,9], %r : u8[3,8]) -> (%y : i8[1,8,7,5], %p : u8[1,4,14,10], "
    "%q : u8[2,8,7], %o : i8[3,16]) {\n"
    "    %0 = DequantizeLinear@13(%x, @s, @z) : f32[1,640,7,5]\n"
    "    %1 = DequantizeLinear@13(@d, @u, @none) : f32[640,1,3,3]\n"
    "    %2 = Conv@11 \"depthwise\" (%0, %1, @db) {pads = [1, 1, 1, 1], group = 640} : f32[1,640,7,5]\n"
    "    %3 = Clip@13(%2, @nil, @six) : f32[1,640,7,5]\n"
    "    %4 = QuantizeLinear@13(%3, @s, @z) : u8[1,640,7,5]\n"
    "    %5 = DequantizeLinear@13(%4, @s, @z) : f32[1,640,7,5]\n"
    "    %6 = DequantizeLinear@13(@w, @u, @none) : f32[8,640,3,3]\n"
    "    %7 = Conv@11 \"deep\" (%5, %6) {pads = [1, 1, 1, 1]} : f32[1,8,7,5]\n"
    "    %8 = Relu@14(%7) : f32[1,8,7,5]\n"
    "    %y = QuantizeLinear@13(%8, @six, @m) : i8[1,8,7,5]\n"
    "    %10 = DequantizeLinear@13(%y, @six, @m) : f32[1,8,7,5]\n"
    "    %11 = DequantizeLinear@13(@v, @u, @some) : f32[6,8,3,3]\n"
    "    %12 = Conv@11 \"shifted\" (%10, %11) {dilations = [2, 2], pads = [2, 2, 2, 2]} : f32[1,6,7,5]\n"
    "    %13 = QuantizeLinear@13(%12, @six, @z) : u8[1,6,7,5]\n"
    "    %14 = DequantizeLinear@13(%13, @six, @z) : f32[1,6,7,5]\n"
    "    %15 = DequantizeLinear@13(@a, @u, @none) : f32[6,4,2,2]\n"
    "    %16 = ConvTranspose@11 \"up\" (%14, %15, @ab) {strides = [2, 2]} : f32[1,4,14,10]\n"
    "    %p = QuantizeLinear@13(%16, @six, @z) : u8[1,4,14,10]\n"
    "    %20 = DequantizeLinear@13(%l, @s, @z) : f32[2,4,9]\n"
    "    %21 = DequantizeLinear@13(@g, @u, @none) : f32[8,2,3]\n"
    "    %22 = Conv@11 \"signal\" (%20, %21) {group = 2} : f32[2,8,7]\n"
    "    %q = QuantizeLinear@13(%22, @t, @z) : u8[2,8,7]\n"
    "    %30 = DequantizeLinear@13(%r, @s, @z) : f32[3,8]\n"
    "    %31 = DequantizeLinear@13(@c, @u, @none) : f32[16,8]\n"
    "    %32 = Transpose@13(%31) {perm = [1, 0]} : f32[8,16]\n"
    "    %33 = MatMul@13 \"product\" (%30, %32) : f32[3,16]\n"
    "    %34 = Add@14(%33, @cb) : f32[3,16]\n"
    "    %35 = Relu@14(%34) : f32[3,16]\n"
    "    %o = QuantizeLinear@13(%35, @t, @m) : i8[3,16]\n"
    "    return %y, %p, %q, %o\n"
    "  }\n"
    "}\n";

static const char *const processors[] = {"native", "x86-64-v2", "x86-64-v3", "x86-64-v4", "avx512_vnni"};
enum { PROCESSORS = sizeof processors / sizeof *processors };

static void write_file(const char *path, const char *text) {
  FILE *file = fopen(path, "w");
  assert_non_null(file);
  assert_true(fputs(text, file) >= 0);
  assert_int_equal(fclose(file), 0);
}

static void write_model(void) {
  write_file("model.byoc", model);
}

static void test_rules_see_one_form(void **state) {
  (void)state;
  write_model();
  byoc_test_shell(0, "byoc opt model.byoc --passes=simplify > plain.txt && cat plain.txt");
  static const char *const units[] = {"QLinearConv@10 \"depthwise\"",
                                      "QLinearConv@10 \"deep\"",
                                      "QLinearConv@10 \"shifted\"",
                                      "QLinearConv@10 \"signal\"",
                                      "byoc::QLinearConvTranspose@1 \"up\"",
                                      "com.microsoft::QGemm@1 \"product\"",
                                      "Clip@13(",
                                      "Relu@14("};
  for (size_t i = 0; i < sizeof units / sizeof *units; ++i) byoc_test_printed(units[i]);
  byoc_test_no_line("DequantizeLinear|QuantizeLinear| Conv@|ConvTranspose@11|MatMul@|: f32\\[[0-9]+,[0-9,]+\\]$");
  for (size_t i = 0; i < PROCESSORS; ++i) {
    byoc_test_shell(0, "byoc opt model.byoc --passes=simplify -t 'c -mcpu=%s' | diff plain.txt -", processors[i]);
  }
}

// A backend that names a depthwise unit, the Relu of symmetric integers, and a sum of com.microsoft.
static const char npu_rules[] =
    "{\"target\": \"npu\", \"description\": \"bytes\", \"library\": {\"sources\": [\"npu.c\"]}, \"rules\": [\n"
    "  {\"name\": \"npu.depthwise\", \"packed\": \"npu_depthwise\", \"operands\": [\"x\"], \"pattern\":\n"
    "   \"depthwise:QLinearConv[group=8](%x<i8>, @xs, @xz, @w<i8>, @ws, @wz, @ys, @yz)\"},\n"
    "  {\"name\": \"npu.relu\", \"packed\": \"npu_relu\", \"operands\": [\"x\"], \"pattern\": \"relu:Relu<i8>(%x)\"},\n"
    "  {\"name\": \"npu.add\", \"packed\": \"npu_add\", \"operands\": [\"a\", \"b\"], \"pattern\":\n"
    "   \"add:com.microsoft::QLinearAdd<i8>(%a, @as, @az, %b, @bs, @bz, @ys, @yz)\"}]}\n";

static const char npu_source[] =
    "int npu_depthwise(const void *call); int npu_depthwise(const void *call) { return call == 0; }\n"
    "int npu_relu(const void *call); int npu_relu(const void *call) { return call == 0; }\n"
    "int npu_add(const void *call); int npu_add(const void *call) { return call == 0; }\n";

static const char residual[] =
    "module {opset_import. = 17, opset_import.com.microsoft = 1} {\n"
    "  constant @s : f32[] = [0.02]\n"
    "  constant @t : f32[] = [0.03]\n"
    "  constant @z : i8[] = [0]\n"
    "  constant @w : i8[8,1,3,3] = splat 17\n"
    "  func @main(%q : i8[1,8,6,6]) -> (%y : i8[1,8,6,6]) {\n"
    "    %0 = DequantizeLinear@13(%q, @s, @z) : f32[1,8,6,6]\n"
    "    %1 = DequantizeLinear@13(@w, @s, @z) : f32[8,1,3,3]\n"
    "    %2 = Conv@11 \"depthwise\" (%0, %1) {pads = [1, 1, 1, 1], group = 8} : f32[1,8,6,6]\n"
    "    %3 = Relu@14 \"relu\" (%2) : f32[1,8,6,6]\n"
    "    %4 = QuantizeLinear@13(%3, @t, @z) : i8[1,8,6,6]\n"
    "    %5 = DequantizeLinear@13(%4, @t, @z) : f32[1,8,6,6]\n"
    "    %6 = Add@14 \"sum\" (%0, %5) : f32[1,8,6,6]\n"
    "    %y = QuantizeLinear@13(%6, @s, @z) : i8[1,8,6,6]\n"
    "    return %y\n"
    "  }\n"
    "}\n";

static void test_a_backend_of_bytes_takes_the_same_nodes_on_every_machine(void **state) {
  (void)state;
  write_file("npu.json", npu_rules);
  write_file("npu.c", npu_source);
  write_file("residual.byoc", residual);
  byoc_test_shell(0, "byoc explain residual.byoc --plugin npu.json -t 'npu; c' --plan greedy > plain.txt && "
                     "sed 's/  */ /g' plain.txt");
  byoc_test_printed("main: 3 nodes, 3 regions");
  byoc_test_printed(" QLinearConv depthwise i8[1,8,6,6] 0 npu npu.depthwise");
  byoc_test_printed(" Relu relu i8[1,8,6,6] 1 npu npu.relu");
  byoc_test_printed(" com.microsoft::QLinearAdd sum i8[1,8,6,6] 2 npu npu.add");
  for (size_t i = 0; i < PROCESSORS; ++i) {
    byoc_test_shell(0,
                    "byoc explain residual.byoc --plugin npu.json -t 'npu; c -mcpu=%s' --plan greedy | "
                    "diff plain.txt -",
                    processors[i]);
  }
}

static void test_rules_see_one_form_for_another_machine(void **state) {
  (void)state;
  write_model();
  write_file("residual.byoc", residual);
  byoc_test_shell(0, "for m in model residual; do byoc build $m.byoc -t c --emit=ir > plain.txt && "
                     "byoc build $m.byoc -t c --triple aarch64-linux-gnu --emit=ir | diff plain.txt - || exit 1; done");
}

// The ways differ: bytes, floats that hold integers, and floats in parts.
static void test_machines_agree(void **state) {
  (void)state;
  write_model();
  byoc_test_shell(0, "byoc run model.byoc --evaluate -t c --random --seed 7 --output-dir expected");
  for (size_t i = 0; i < PROCESSORS; ++i) {
    byoc_test_shell(0,
                    "byoc run model.byoc --evaluate -t 'c -mcpu=%s' --random --seed 7 --output-dir other && "
                    "diff -r expected other",
                    processors[i]);
  }
  byoc_test_shell(0,
                  "byoc build model.byoc -t c -o model.so && byoc run model.so --random --seed 7 --output-dir own && "
                  "diff -r expected own");
}

// Sums of integers over an axis in the middle, of few columns each: gcc 12 vectorised the loop around the columns, with
// wrong sums (core/kernel/emit_stmt.c).
static void test_short_sums_of_integers(void **state) {
  (void)state;
  static const int columns[] = {2, 3, 5, 7, 8, 9, 12, 15};
  for (size_t i = 0; i < sizeof columns / sizeof *columns; ++i) {
    FILE *file = fopen("sum.byoc", "w");
    assert_non_null(file);
    fprintf(file,
            "module {opset_import. = 18} {\n  constant @axes : i64[1] = [1]\n  constant @z : i32[] = [10]\n"
            "  func @main(%%x : i32[2,16,%d], %%u : i64[3,37,%d]) -> (%%y : ?, %%v : ?) {\n"
            "    %%1 = ReduceSum@13(%%x, @axes) {keepdims = 1} : ?\n    %%y = Mul@14(%%1, @z) : ?\n"
            "    %%v = ReduceProd@18(%%u, @axes) {keepdims = 1} : ?\n    return %%y, %%v\n  }\n}\n",
            columns[i], columns[i]);
    assert_int_equal(fclose(file), 0);
    byoc_test_shell(0, "byoc run sum.byoc --evaluate -t c --random --seed 5 --output-dir expected && "
                       "byoc build sum.byoc -t c --check-budget 0 -o sum.so && "
                       "byoc run sum.so --random --seed 5 --output-dir own && diff -r expected own");
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_rules_see_one_form),
      cmocka_unit_test(test_a_backend_of_bytes_takes_the_same_nodes_on_every_machine),
      cmocka_unit_test(test_rules_see_one_form_for_another_machine),
      cmocka_unit_test(test_machines_agree),
      cmocka_unit_test(test_short_sums_of_integers),
  };
  return cmocka_run_group_tests(tests, byoc_test_enter_folder, byoc_test_leave_folder);
}
