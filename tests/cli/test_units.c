// SPDX-License-Identifier: Apache-2.0
// A rule names a quantised operator as one node, however the model writes it: by QuantizeLinear and DequantizeLinear
// around operators on floats, by QLinear operators, or by operators of com.microsoft.
#include <stdint.h>
#include <stdio.h>

#include <sqlite3.h>

#include "tests/support/command.h"

// The model in three spellings: a depthwise convolution with a scale for each channel, a Relu whose zero point is 0, a
// sum with the residual, and a product by weights of 4 bits in blocks.
static const char constants[] = "module {opset_import. = 21} {\n"
                                "  constant @s : f32[] = [0.02]\n"
                                "  constant @z : i8[] = [0]\n"
                                "  constant @t : f32[] = [0.05]\n"
                                "  constant @rz : i8[] = [5]\n"
                                "  constant @yz : i8[] = [-3]\n"
                                "  constant @w : i8[16,1,3,3] = splat 29\n"
                                "  constant @ws : f32[16] = splat 0.01\n"
                                "  constant @wz : i8[16] = splat 0\n"
                                "  constant @bi : i32[16] = splat -300\n"
                                "  constant @bs : f32[16] = splat 0.0002\n"
                                "  constant @k : i4[32,16] = splat 3\n"
                                "  constant @ks : f32[2,16] = splat 0.015625\n"
                                "  constant @q : u8[16,2,8] = splat 187\n"
                                "  constant @qs : f32[16,2] = splat 0.015625\n"
                                "  func @main(%x : i8[1,16,8,8], %r : i8[1,16,8,8], %l : f32[3,32]) -> "
                                "(%y : i8[1,16,8,8], %p : f32[3,16]) {\n";

static const char qdq[] = "    %0 = DequantizeLinear@21(%x, @s, @z) : f32[1,16,8,8]\n"
                          "    %1 = DequantizeLinear@21(@w, @ws, @wz) {axis = 0} : f32[16,1,3,3]\n"
                          "    %2 = DequantizeLinear@21(@bi, @bs) {axis = 0} : f32[16]\n"
                          "    %3 = Conv@11 \"depthwise\" (%0, %1, %2) {pads = [1, 1, 1, 1], group = 16} : "
                          "f32[1,16,8,8]\n"
                          "    %4 = Relu@14 \"act\" (%3) : f32[1,16,8,8]\n"
                          "    %5 = QuantizeLinear@21(%4, @t, @z) : i8[1,16,8,8]\n"
                          "    %6 = DequantizeLinear@21(%5, @t, @z) : f32[1,16,8,8]\n"
                          "    %7 = DequantizeLinear@21(%r, @s, @rz) : f32[1,16,8,8]\n"
                          "    %8 = Add@14 \"sum\" (%6, %7) : f32[1,16,8,8]\n"
                          "    %y = QuantizeLinear@21(%8, @t, @yz) : i8[1,16,8,8]\n"
                          "    %9 = DequantizeLinear@21(@k, @ks) {axis = 0, block_size = 16} : f32[32,16]\n"
                          "    %p = MatMul@13 \"blocks\" (%l, %9) : f32[3,16]\n";

static const char qlinear[] = "    %0 = QLinearConv@10 \"depthwise\" (%x, @s, @z, @w, @ws, @wz, @t, @z, @bi) "
                              "{pads = [1, 1, 1, 1], group = 16} : i8[1,16,8,8]\n"
                              "    %1 = Relu@14 \"act\" (%0) : i8[1,16,8,8]\n"
                              "    %y = com.microsoft::QLinearAdd@1 \"sum\" (%1, @t, @z, %r, @s, @rz, @t, @yz) : "
                              "i8[1,16,8,8]\n"
                              "    %p = com.microsoft::MatMulNBits@1 \"blocks\" (%l, @q, @qs) {K = 32, N = 16, "
                              "bits = 4, block_size = 16} : f32[3,16]\n";

static const char microsoft[] =
    "    %0 = com.microsoft::QLinearConv@1 \"depthwise\" (%x, @s, @z, @w, @ws, @wz, @t, @z, @bi) "
    "{pads = [1, 1, 1, 1], group = 16, channels_last = 0} : i8[1,16,8,8]\n"
    "    %1 = com.microsoft::DequantizeLinear@1(%0, @t, @z) : f32[1,16,8,8]\n"
    "    %2 = Relu@14 \"act\" (%1) : f32[1,16,8,8]\n"
    "    %3 = com.microsoft::QuantizeLinear@1(%2, @t, @z) : i8[1,16,8,8]\n"
    "    %y = com.microsoft::QLinearAdd@1 \"sum\" (%3, @t, @z, %r, @s, @rz, @t, @yz) : i8[1,16,8,8]\n"
    "    %p = com.microsoft::MatMulNBits@1 \"blocks\" (%l, @q, @qs) {K = 32, N = 16, bits = 4, block_size = 16} : "
    "f32[3,16]\n";

static const char *const spellings[] = {"qdq", "qlinear", "microsoft"};
enum { SPELLINGS = sizeof spellings / sizeof *spellings };

static int enter(void **state) {
  const char *const bodies[SPELLINGS] = {qdq, qlinear, microsoft};
  const int result = byoc_test_enter_folder(state);
  for (size_t i = 0; i < SPELLINGS && result == 0; ++i) {
    char path[32];
    snprintf(path, sizeof(path), "%s.byoc", spellings[i]);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fprintf(file, "%s%s    return %%y, %%p\n  }\n}\n", constants, bodies[i]) > 0);
    assert_int_equal(fclose(file), 0);
  }
  return result;
}

// The targets first and second of tests/plugins/demo_rows.c.
#define RULES(rules) "BYOC_PLUGIN_PATH=" BYOC_TEST_BUILD_DIR "/tests/plugins/good BYOC_TEST_RULES='" rules "' "

#define UNIT_RULES                                                                                                     \
  RULES("first.depthwise tells=x,xs,xz,w,ws,wz,ys,yz,b := "                                                            \
        "QLinearConv[group=16](%%x<i8|u8, 4>, @xs, @xz, @w<i8, 4>, @ws<f32, 1>, @wz, @ys, @yz, @b<i32, 1>)\n"          \
        "first.relu := Relu<i8>(%%x)\n"                                                                                \
        "first.add tells=a,as,az,b,bs,bz,ys,yz := "                                                                    \
        "com.microsoft::QLinearAdd<i8>(%%a, @as, @az, %%b, @bs, @bz, @ys, @yz)\n"                                      \
        "first.blocks tells=x,w,s := com.microsoft::MatMulNBits[bits=4, block_size=16](%%x<f32>, @w<u8>, @s, ...)")

static const char *const processors[] = {"native", "x86-64-v2", "x86-64-v3", "x86-64-v4"};
enum { PROCESSORS = sizeof processors / sizeof *processors };

// Operators with their attributes, without the names of values and the versions of operators.
#define FORM                                                                                                           \
  "grep ' = .* : ' form.txt | grep -v 'constant\\|call' | sed 's/[%%@][A-Za-z0-9_]*//g; s/, channels_last = 0//' "

// What a build says that the hook got.
#define TOLD "grep -o 'first\\.[a-z]*: .*' log.txt | sort"

static void expect_units(void) {
  byoc_test_printed("first.depthwise: x=i8[1,16,8,8] xs=f32[]:0.02 xz=i8[]:0 w=i8[16,1,3,3]:29 ws=f32[16]:0.01 "
                    "wz=i8[16]:0 ys=f32[]:0.05 yz=i8[]:0 b=i32[16]:-300\n");
  byoc_test_printed("first.add: a=i8[1,16,8,8] as=f32[]:0.05 az=i8[]:0 b=i8[1,16,8,8] bs=f32[]:0.02 bz=i8[]:5 "
                    "ys=f32[]:0.05 yz=i8[]:-3\n");
  byoc_test_printed("first.blocks: x=f32[3,32] w=u8[16,2,8]:187 s=f32[");
}

static void test_b36_units_are_one_node_in_each_spelling(void **state) {
  (void)state;
  byoc_test_shell(0,
                  UNIT_RULES "byoc opt qdq.byoc --passes=simplify -t 'first; c' > form.txt && " FORM "> first.txt && "
                             "cat first.txt && test $(wc -l < first.txt) = 4");
  byoc_test_printed(" = QLinearConv \"depthwise\" (");
  byoc_test_printed(" = Relu \"act\" (");
  byoc_test_printed(" = com.microsoft::QLinearAdd \"sum\" (");
  byoc_test_printed(" = com.microsoft::MatMulNBits \"blocks\" (");
  for (size_t i = 0; i < SPELLINGS; ++i) {
    for (size_t p = 0; p < PROCESSORS; ++p) {
      byoc_test_shell(0,
                      UNIT_RULES "byoc opt %s.byoc --passes=simplify -t 'first; c -mcpu=%s' > form.txt && " FORM
                                 "| diff first.txt -",
                      spellings[i], processors[p]);
    }
    byoc_test_shell(0,
                    UNIT_RULES "byoc build %s.byoc --plan greedy -t 'first; c' -v -o %s.so > log.txt 2>&1; "
                               "grep '^placed' log.txt; " TOLD,
                    spellings[i], spellings[i]);
    byoc_test_printed("placed first 4 operators in 4 regions, c 0 operators");
    expect_units();
  }
}

// Another machine: nothing of it is needed to see the text of the host program.
static void test_b36_units_are_the_same_for_another_machine(void **state) {
  (void)state;
  for (size_t i = 0; i < SPELLINGS; ++i) {
    byoc_test_shell(0,
                    UNIT_RULES "byoc build %s.byoc --plan greedy --triple aarch64-linux-gnu -t 'first; c' --emit=host "
                               "-v -o other.txt > log.txt 2>&1; grep '^placed' log.txt; " TOLD,
                    spellings[i]);
    byoc_test_printed("placed first 4 operators in 4 regions, c 0 operators");
    expect_units();
  }
}

// The results are those of the same model without the target.
static void test_b36_units_have_the_results_of_the_model(void **state) {
  (void)state;
  byoc_test_shell(0, "byoc run qdq.byoc --evaluate -t c --random --seed 3 --output-dir expected");
  for (size_t i = 0; i < SPELLINGS; ++i) {
    byoc_test_shell(0,
                    "byoc run %s.byoc --evaluate -t c --random --seed 3 --output-dir own && diff -r expected own && "
                    "byoc run %s.so --random --seed 3 --output-dir own && cmp expected/y.npy own/y.npy && "
                    "byoc run %s.so --random --seed 3 --expect p=expected/p.npy",
                    spellings[i], spellings[i], spellings[i]);
  }
}

// A unit, its cut, and the sum behind them are one match.
static void test_b36_a_residual_block_is_one_match(void **state) {
  (void)state;
  for (size_t i = 0; i < SPELLINGS; ++i) {
    byoc_test_shell(
        0,
        RULES(
            "first.block := com.microsoft::QLinearAdd(({Relu|Clip}?(QLinearConv(%%x<u8|i8>, @xs, @xz, "
            "@w<i8>, @ws, @wz, @ys, @yz, @b))), @as, @az, %%r, @rs, @rz, @ts, @tz)") "byoc explain %s.byoc --plan "
                                                                                     "greedy -t 'first; c' --node sum",
        spellings[i]);
    byoc_test_printed("placed on first, region 0, by first.block, with nodes 0-2, in int8, types i8 -> i8\n");
  }
}

// ---- products ----

#define PRODUCT_CONSTANTS                                                                                              \
  "module {opset_import. = 21} {\n  constant @s : f32[] = [0.02]\n  constant @z : i8[] = [3]\n"                        \
  "  constant @t : f32[] = [0.05]\n  constant @w : i8[16,8] = splat 29\n  constant @v : i8[8,16] = splat 29\n"         \
  "  constant @ws : f32[8] = splat 0.01\n  constant @wz : i8[8] = splat 0\n  constant @bi : i32[8] = splat 70\n"       \
  "  constant @bs : f32[8] = splat 0.0002\n"

#define TO_BYTES  "  func @main(%x : i8[2,16]) -> (%y : i8[2,8]) {\n"
#define TO_FLOATS "  func @main(%x : i8[2,16]) -> (%y : f32[2,8]) {\n"
#define X         "    %0 = DequantizeLinear@21(%x, @s, @z) : f32[2,16]\n"
#define W         "    %1 = DequantizeLinear@21(@w, @ws, @wz) {axis = 1} : f32[16,8]\n"
#define B         "    %2 = DequantizeLinear@21(@bi, @bs) {axis = 0} : f32[8]\n"
#define Q         "    %y = QuantizeLinear@21(%3, @t, @z) : i8[2,8]\n"

// The operator that both spellings become, and the spellings.
static const struct {
  const char *form, *spellings[2];
} products[] = {
    {"QLinearMatMul",
     {TO_BYTES X W "    %3 = MatMul@13 \"u\" (%0, %1) : f32[2,8]\n" Q,
      TO_BYTES "    %y = com.microsoft::QGemm@1 \"u\" (%x, @s, @z, @w, @ws, @wz, _, @t, @z) : i8[2,8]\n"}},
    {"QLinearMatMul",
     {TO_BYTES X W "    %3 = Gemm@13 \"u\" (%0, %1) : f32[2,8]\n" Q,
      TO_BYTES "    %y = com.microsoft::QGemm@1 \"u\" (%x, @s, @z, @v, @ws, @wz, _, @t, @z) {transB = 1} : i8[2,8]\n"}},
    {"com.microsoft::QGemm",
     {TO_BYTES X W B "    %3 = Gemm@13 \"u\" (%0, %1, %2) : f32[2,8]\n" Q,
      TO_BYTES "    %y = com.microsoft::QGemm@1 \"u\" (%x, @s, @z, @w, @ws, @wz, @bi, @t, @z) : i8[2,8]\n"}},
    {"MatMulInteger",
     {TO_FLOATS X W B "    %y = Gemm@13 \"u\" (%0, %1, %2) : f32[2,8]\n",
      TO_FLOATS "    %y = com.microsoft::QGemm@1 \"u\" (%x, @s, @z, @w, @ws, @wz, @bi) : f32[2,8]\n"}},
    {"MatMulInteger",
     {TO_FLOATS X W "    %y = MatMul@13 \"u\" (%0, %1) : f32[2,8]\n",
      TO_FLOATS "    %y = com.microsoft::MatMulIntegerToFloat@1 \"u\" (%x, @w, @s, @ws, @z, @wz) : f32[2,8]\n"}},
};

static void write_module(const char *path, const char *head, const char *body) {
  FILE *file = fopen(path, "w");
  assert_non_null(file);
  assert_true(fprintf(file, "%s%s    return %%y\n  }\n}\n", head, body) > 0);
  assert_int_equal(fclose(file), 0);
}

static void test_b36_products_have_one_form(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof products / sizeof *products; ++i) {
    write_module("a.byoc", PRODUCT_CONSTANTS, products[i].spellings[0]);
    write_module("b.byoc", PRODUCT_CONSTANTS, products[i].spellings[1]);
    byoc_test_shell(0,
                    "byoc opt b.byoc --passes=simplify > form.txt && " FORM "> b.txt && "
                    "byoc opt a.byoc --passes=simplify > form.txt && " FORM "> a.txt && diff a.txt b.txt && cat a.txt");
    char expected[64];
    snprintf(expected, sizeof(expected), " = %s@", products[i].form);
    byoc_test_shell(0, "cat form.txt");
    byoc_test_printed(expected);
    byoc_test_printed(" \"u\" (");
    byoc_test_shell(0, "byoc run a.byoc --evaluate -t c --random --output-dir a && "
                       "byoc run b.byoc --evaluate -t c --random --output-dir b && diff -r a b");
  }
}

// Weights of 2, 4 and 8 bits, with a scale for each block and, below 8 bits, for each column.
static void test_b36_weights_of_few_bits_are_matmulnbits(void **state) {
  (void)state;
  static const char *const types[] = {"i2", "u2", "i4", "u4", "i8", "u8"};
  for (size_t i = 0; i < sizeof types / sizeof *types; ++i) {
    for (int by_column = 0; by_column < (i < 4 ? 2 : 1); ++by_column) {
      char head[512], expected[64];
      snprintf(head, sizeof(head),
               "module {opset_import. = 25} {\n  constant @w : %s[64,8] = splat 1\n  constant @s : f32[%s8] = splat "
               "0.5\n  func @main(%%x : f32[3,64]) -> (%%y : f32[3,8]) {\n    %%0 = DequantizeLinear@25(@w, @s) "
               "{axis = %d%s} : f32[64,8]\n",
               types[i], by_column ? "" : "2,", by_column, by_column ? "" : ", block_size = 32");
      write_module("few.byoc", head, "    %y = MatMul@13 \"u\" (%x, %0) : f32[3,8]\n");
      byoc_test_shell(
          0, RULES("first.few := com.microsoft::MatMulNBits(%%x<f32>, @w<u8, 3>, @s<f32, 2>, ...)") "byoc opt few.byoc "
                                                                                                    "--passes=simplify "
                                                                                                    "-t 'first; c' | "
                                                                                                    "grep MatMulNBits");
      snprintf(expected, sizeof(expected), "\"u\" (%%x, @w_1, @s_1");
      byoc_test_printed(expected);
      snprintf(expected, sizeof(expected), "bits = %c, block_size = %d}", types[i][1], by_column ? 64 : 32);
      byoc_test_printed(expected);
      byoc_test_shell(0,
                      "byoc run few.byoc --evaluate -t c --disable-pass keep-packed-weights --random --output-dir a && "
                      "byoc build few.byoc -t c -o few.so && byoc run few.so --random --expect y=a/y.npy");
    }
  }
}

// ---- integers of other than 8 bits ----

#define OTHER_RULES                                                                                                    \
  RULES("first.conv tells=x,xs,w,ws,ys := byoc::QLinearConv(%%x<i8|u8|i16|u16>, @xs, @xz, "                            \
        "@w<i8|u8|i4|u4|i2|u2>, @ws, @wz, @ys, @yz, ...)")

static const struct {
  const char *data, *weights;
  bool is_byte; // without a rule for it, it becomes the unit of bytes
} others[] = {{"i16", "i8", false}, {"u16", "u8", false}, {"i16", "i16", false}, {"i8", "i4", true},
              {"u8", "u4", true},   {"i8", "i2", true},   {"u8", "u2", true}};

static void write_other(const char *data, const char *weights) {
  char head[640], tail[96];
  snprintf(head, sizeof(head),
           "module {opset_import. = 25} {\n  constant @s : f32[] = [0.02]\n  constant @z : %s[] = [3]\n"
           "  constant @t : f32[] = [0.5]\n  constant @w : %s[4,2,3,3] = splat 1\n  constant @ws : f32[4] = splat "
           "0.25\n  constant @wz : %s[4] = splat 0\n  func @main(%%x : %s[1,2,6,6]) -> (%%y : %s[1,4,4,4]) {\n"
           "    %%0 = DequantizeLinear@25(%%x, @s, @z) : f32[1,2,6,6]\n    %%1 = DequantizeLinear@25(@w, @ws, @wz) "
           "{axis = 0} : f32[4,2,3,3]\n    %%2 = Conv@11 \"u\" (%%0, %%1) : f32[1,4,4,4]\n",
           data, weights, weights, data, data);
  snprintf(tail, sizeof(tail), "    %%y = QuantizeLinear@25(%%2, @t, @z) : %s[1,4,4,4]\n", data);
  write_module("other.byoc", head, tail);
}

// Data of 16 bits, and filters of few bits, have units of byoc, the same for all processors and lists of targets.
static void test_b36_words_and_few_bits_are_units(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof others / sizeof *others; ++i) {
    char expected[160];
    const char *data = others[i].data, *weights = others[i].weights;
    write_other(data, weights);
    byoc_test_shell(
        0, "byoc opt other.byoc --passes=simplify -t 'cutlass; c -mcpu=x86-64-v2' > a.txt && "
           "byoc opt other.byoc --passes=simplify -t 'c -mcpu=x86-64-v4' | diff a.txt - && grep 'Conv@' a.txt");
    byoc_test_printed("%y = byoc::QLinearConv@1 \"u\" (%x, @s, @z, @w, @ws, @wz, @t, @z) :");
    if (strcmp(weights, "i16") == 0) continue; // the rule does not take them
    byoc_test_shell(0, OTHER_RULES "byoc build other.byoc --plan greedy -t 'first; c' -v -o other.so > log.txt 2>&1; "
                                   "grep '^placed' log.txt; " TOLD);
    byoc_test_printed("placed first 1 operator in 1 region, c 0 operators");
    snprintf(expected, sizeof(expected), "first.conv: x=%s[1,2,6,6] xs=f32[]:0.02 w=%s[4,2,3,3]", data, weights);
    byoc_test_printed(expected);
    byoc_test_printed(" ws=f32[4]:0.25 ys=f32[]:0.5\n");
    byoc_test_shell(0, "byoc run other.byoc --evaluate -t c --random --output-dir a && "
                       "byoc run other.so --random --output-dir b && cmp a/y.npy b/y.npy");
  }
}

// A unit that no rule takes becomes what a rule names: the unit of bytes, or an operator on floats. A rule may read the
// integers of the weights below it. If its hook declines, the weights become floats.
static void test_b36_units_of_words_are_floats_for_other_targets(void **state) {
  (void)state;
  static const char *const lists[] = {"cutlass; c", "first -answer=decline; cutlass; c"};
  for (size_t i = 0; i < sizeof others / sizeof *others; ++i) {
    write_other(others[i].data, others[i].weights);
    for (int late = 0; late < 2; ++late) {
      byoc_test_shell(0,
                      "BYOC_PLUGIN_PATH=$BYOC_PLUGIN_PATH:" BYOC_TEST_BUILD_DIR "/tests/plugins/good BYOC_TEST_RULES="
                      "'first.conv := Conv(%%x, DequantizeLinear(@w<i8|u8|i16>, @ws, @wz), ...)' "
                      "byoc build other.byoc --plan greedy -t '%s' -v -o other.so 2>&1 | grep '^placed'",
                      lists[late]);
      byoc_test_printed(others[i].is_byte ? "cutlass 1 operator in 1 region, c 0 operators"
                                          : "cutlass 1 operator in 1 region, c 2 operators");
    }
  }
}

#define WORD_RULE                                                                                                      \
  "BYOC_PLUGIN_PATH=$BYOC_PLUGIN_PATH:" BYOC_TEST_BUILD_DIR "/tests/plugins/good BYOC_TEST_RULES="                     \
  "'first.conv := byoc::QLinearConv<i16>(%%x, @xs, @xz, @w, @ws, @wz, @ys, @yz)' "                                     \
  "byoc build other.byoc --plan greedy -t '%s' -v -o other.so 2>&1 | grep '^placed'"

// A unit that a hook declines goes on to the next target as floats; one that a hook hands back stays a unit.
static void test_b36_a_unit_of_words_that_is_declined_goes_on(void **state) {
  (void)state;
  static const char *const lists[][2] = {
      {"first -answer=decline; cutlass; c", "cutlass 1 operator in 1 region, c 2 operators"},
      {"first -answer=decline; c", "first 0 operators in 0 regions, c 1 operator"},
      {"first; cutlass; c", "first 1 operator in 1 region, cutlass 0 operators in 0 regions, c 0 operators"}};
  write_other("i16", "i8");
  for (size_t i = 0; i < sizeof lists / sizeof *lists; ++i) {
    byoc_test_shell(0, WORD_RULE, lists[i][0]);
    byoc_test_printed(lists[i][1]);
  }
}

// ---- sums of 16 bits by 8 ----

// Weights of all values, in an order without a pattern.
static void add_weights(FILE *file, int count) {
  uint32_t seed = 7;
  for (int i = 0; i < count; ++i) {
    seed = seed * 1664525u + 1013904223u;
    fprintf(file, "%s%d", i > 0 ? ", " : "", (int)(seed >> 24) - 128);
  }
}

// The unit in words.byoc, and sums of f64, which are exact, in exact.byoc.
static void write_sums(const char *dtype, int zero, int weight_zero, const char *weights, int weight_count,
                       const char *x_shape, const char *unit, const char *exact) {
  for (int is_exact = 0; is_exact < 2; ++is_exact) {
    FILE *file = fopen(is_exact ? "exact.byoc" : "words.byoc", "w");
    assert_non_null(file);
    fprintf(file,
            "module {opset_import. = 21} {\n  constant @s : f32[] = [0.0003]\n  constant @z : %s[] = [%d]\n"
            "  constant @t : f32[] = [0.0015]\n  constant @u : f32[] = [0.00003]\n  constant @ws : f32[] = [0.007]\n"
            "  constant @wz : i8[] = [%d]\n  constant @b : i32[64] = splat 2000001\n  constant @w : i8[%s] = [",
            dtype, zero, weight_zero, weights);
    add_weights(file, weight_count);
    fprintf(file, "]\n  func @main(%%f : f32[%s]) -> (%%y : ?) {\n    %%x = QuantizeLinear@21(%%f, @u, @z) : ?\n",
            x_shape);
    const char *const head = "    %0 = Cast@13(%x) {to = 11} : ?\n    %1 = Cast@13(@z) {to = 11} : ?\n"
                             "    %2 = Sub@14(%0, %1) : ?\n    %9 = Cast@13(@w) {to = 11} : ?\n"
                             "    %10 = Cast@13(@wz) {to = 11} : ?\n    %3 = Sub@14(%9, %10) : ?\n"
                             "    %4 = Cast@13(@b) {to = 11} : ?\n";
    const char *const tail = "    %6 = Cast@13(%5) {to = 1} : ?\n    %7 = Mul@14(@s, @ws) : ?\n"
                             "    %8 = Mul@14(%6, %7) : ?\n    %y = QuantizeLinear@21(%8, @t, @z) : ?\n";
    fprintf(file, "%s%s%s    return %%y\n  }\n}\n", is_exact ? head : "", is_exact ? exact : unit,
            is_exact ? tail : "");
    assert_int_equal(fclose(file), 0);
  }
}

// Where the processor multiplies bytes, there are two products, and the sums are those of integers to the bit.
// Elsewhere they are within a step.
static void expect_exact_sums(const char *kernel) {
  byoc_test_shell(0, "byoc run exact.byoc --evaluate -t c --random --output-dir a && "
                     "byoc run words.byoc --evaluate -t 'c -mcpu=avx512_vnni' --random --output-dir b && "
                     "cmp a/y.npy b/y.npy && byoc build words.byoc -t c -o words.so && "
                     "byoc run words.so --random --expect y=a/y.npy --atol 1");
  byoc_test_shell(0,
                  "byoc build words.byoc -t 'c -mcpu=avx512_vnni' --emit=host -o words.txt && "
                  "grep -o 'byoc_k[0-9]*_%s[a-z0-9_]*' words.txt | sort -u | wc -l && "
                  "grep -o 'byoc_k[0-9]*_halfword[a-z0-9_]*' words.txt | sort -u | sed 's/.*_//'",
                  kernel);
  byoc_test_printed("2\nhalfword\nhalfword\n"); // whatever makes x, its halves are those of one integer
}

static void test_b36_sums_of_words_are_exact(void **state) {
  (void)state;
  write_sums("i16", -2077, 0, "64,8,3,3", 64 * 8 * 9, "1,8,5,5",
             "    %y = byoc::QLinearConv@1(%x, @s, @z, @w, @ws, @wz, @t, @z, @b) {pads = [1, 1, 1, 1]} : ?\n",
             "    %5 = Conv@11(%2, %3, %4) {pads = [1, 1, 1, 1]} : ?\n");
  expect_exact_sums("conv");
  write_sums("u16", 40000, 3, "96,64", 96 * 64, "5,96",
             "    %y = byoc::QLinearMatMul@1(%x, @s, @z, @w, @ws, @wz, @t, @z, @b) : ?\n",
             "    %11 = MatMul@13(%2, %3) : ?\n    %5 = Add@14(%11, %4) : ?\n");
  expect_exact_sums("matmul");
}

// ---- a backend that says no ----

#define ADD_RULES                                                                                                      \
  RULES("first.add := com.microsoft::QLinearAdd(%%a, @as, @az, %%b, @bs, @bz, @ys, @yz)\n"                             \
        "second.add := com.microsoft::QLinearAdd(%%a, @as, @az, %%b, @bs, @bz, @ys, @yz)")
#define COLLAGE "BYOC_CACHE_DIR=$PWD/late byoc build qlinear.byoc --plan collage -v -o late.so "

// The measured costs of first are small from now on, those of second a little larger.
static void make_cheap(const char *path) {
  sqlite3 *database = NULL;
  assert_int_equal(sqlite3_open(path, &database), SQLITE_OK);
  assert_int_equal(sqlite3_exec(database,
                                "UPDATE costs SET cost_ns = 1, reason = NULL WHERE target LIKE 'first%';"
                                "UPDATE costs SET cost_ns = 2, reason = NULL WHERE target LIKE 'second%';",
                                NULL, NULL, NULL),
                   SQLITE_OK);
  assert_int_equal(sqlite3_close(database), SQLITE_OK);
}

// The kernels of a host program by their operators, without numbers.
#define KERNELS_OF "--emit=host 2> /dev/null | grep -o 'byoc_k[0-9]*_[a-z0-9_]*' | sed 's/byoc_k[0-9]*_//' | sort -u"

// A unit that measuring gave to a target, which declines it when the whole is built, is offered to the next target. In
// the end c lowers it to integers, as it does in a build without targets.
static void test_b36_a_unit_that_is_declined_late_goes_on(void **state) {
  (void)state;
  byoc_test_shell(0, ADD_RULES COLLAGE "-t 'first; second; c' > /dev/null 2>&1");
  make_cheap("late/costs.sqlite");
  byoc_test_shell(0, ADD_RULES COLLAGE "-t 'first; second; c' 2>&1 | grep '^placed'");
  byoc_test_printed("placed first 1 operator in 1 region, second 0 operators");
  byoc_test_shell(0, "BYOC_TEST_LATE=first " ADD_RULES COLLAGE "-t 'first; second; c' 2>&1 | grep '^placed\\|after'");
  byoc_test_printed("first declined 'first_0' after claiming it");
  byoc_test_printed("placed first 0 operators in 0 regions, second 1 operator in 1 region");
  byoc_test_shell(0, "BYOC_TEST_LATE=first " ADD_RULES COLLAGE "-t 'first; c' 2>&1 | grep '^placed\\|after'");
  byoc_test_printed("first declined 'first_0' after claiming it");
  byoc_test_printed("placed first 0 operators in 0 regions, c ");
  byoc_test_shell(0,
                  "byoc run late.so --random --seed 3 --output-dir own && cmp expected/y.npy own/y.npy && "
                  "byoc build qlinear.byoc -t c " KERNELS_OF " > plain.txt && "
                  "BYOC_TEST_LATE=first " ADD_RULES "BYOC_CACHE_DIR=$PWD/late byoc build qlinear.byoc --plan collage "
                  "-t 'first; c' " KERNELS_OF " | diff plain.txt -");
  byoc_test_shell(0, ADD_RULES "BYOC_CACHE_DIR=$PWD/never byoc build qlinear.byoc --plan collage -v -o never.so "
                               "-t 'first -answer=decline; c' 2>&1 | grep '^placed\\|cannot be used' && "
                               "byoc run never.so --random --seed 3 --output-dir own && cmp expected/y.npy own/y.npy");
  byoc_test_printed(
      "QLinearAdd cannot be used on first: it cannot be built: the backend declined it: the test says so");
  byoc_test_printed("placed first 0 operators in 0 regions, c ");
}

// The same for weights of integers: they become floats when the target that reads them declines the node, and then the
// next target takes it.
static void test_b36_weights_that_are_declined_late_go_on_as_floats(void **state) {
  (void)state;
#define WEIGHTS_RULES                                                                                                  \
  RULES("first.conv := Conv(%%x, DequantizeLinear(@w<i8>, @ws, @wz), ...)")                                            \
  "BYOC_CACHE_DIR=$PWD/weights byoc build weights.byoc --plan collage -v -t 'first; cutlass; c' -o weights.so 2>&1 | "
  write_module("weights.byoc",
               "module {opset_import. = 25} {\n  constant @w : i8[4,2,3,3] = splat 1\n  constant @ws : f32[4] = splat "
               "0.25\n  constant @wz : i8[4] = splat 0\n  func @main(%x : f32[1,2,6,6]) -> (%y : f32[1,4,4,4]) {\n"
               "    %0 = DequantizeLinear@25(@w, @ws, @wz) {axis = 0} : f32[4,2,3,3]\n",
               "    %y = Conv@11 \"u\" (%x, %0) : f32[1,4,4,4]\n");
  byoc_test_shell(0, WEIGHTS_RULES "grep '^placed'");
  make_cheap("weights/costs.sqlite");
  byoc_test_shell(0, WEIGHTS_RULES "grep '^placed'");
  byoc_test_printed("placed first 2 operators in 1 region, cutlass 0 operators");
  byoc_test_shell(0, "BYOC_TEST_LATE=first " WEIGHTS_RULES "grep '^placed\\|after'");
  byoc_test_printed("first declined 'first_0' after claiming it");
  byoc_test_printed("cutlass 1 operator in 1 region");
  byoc_test_shell(0, "byoc run weights.byoc --evaluate -t c --random --output-dir a && "
                     "byoc run weights.so --random --expect y=a/y.npy");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_b36_units_are_one_node_in_each_spelling),
      cmocka_unit_test(test_b36_units_are_the_same_for_another_machine),
      cmocka_unit_test(test_b36_units_have_the_results_of_the_model),
      cmocka_unit_test(test_b36_a_residual_block_is_one_match),
      cmocka_unit_test(test_b36_products_have_one_form),
      cmocka_unit_test(test_b36_weights_of_few_bits_are_matmulnbits),
      cmocka_unit_test(test_b36_words_and_few_bits_are_units),
      cmocka_unit_test(test_b36_units_of_words_are_floats_for_other_targets),
      cmocka_unit_test(test_b36_a_unit_of_words_that_is_declined_goes_on),
      cmocka_unit_test(test_b36_sums_of_words_are_exact),
      cmocka_unit_test(test_b36_a_unit_that_is_declined_late_goes_on),
      cmocka_unit_test(test_b36_weights_that_are_declined_late_go_on_as_floats),
  };
  return cmocka_run_group_tests(tests, enter, byoc_test_leave_folder);
}
