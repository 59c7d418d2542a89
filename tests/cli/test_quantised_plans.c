// SPDX-License-Identifier: Apache-2.0
// Variants, parts, levels, entries and ranks of a quantised model have the operators and the weights of its plain
// build.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/machine.h"
#include "core/base/string.h"
#include "tests/support/command.h"

// "  constant @name : type = [...]" of `count` integers of `least` to `most`.
static void add_integers(byoc_string_t *text, const char *name, const char *type, int count, int least, int most) {
  byoc_string_appendf(text, "  constant @%s : %s = [", name, type);
  for (int i = 0; i < count; ++i) {
    byoc_string_appendf(text, "%s%d", i > 0 ? ", " : "", least + (i * 13 + i / 7) % (most - least + 1));
  }
  byoc_string_appendf(text, "]\n");
}

static void write_text(const char *path, const byoc_string_t *text) {
  FILE *file = fopen(path, "w");
  assert_non_null(file);
  assert_true(fputs(text->data, file) >= 0);
  assert_int_equal(fclose(file), 0);
}

// A table and a product of weights of four bits in blocks; a convolution and a product between quantised values.
static void write_models(void) {
  byoc_string_t text;
  byoc_string_init(&text, byoc_allocator_system());
  byoc_string_appendf(&text, "module {opset_import. = 21} {\n");
  add_integers(&text, "table", "i4[16,128]", 16 * 128, -8, 7);
  add_integers(&text, "w", "i4[128,128]", 128 * 128, -8, 7);
  byoc_string_appendf(&text, "  constant @ts : f32[16,4] = splat 0.125\n  constant @ws : f32[4,128] = splat 0.015625\n"
                             "  func @main(%%i : i64[N]) -> (%%y : f32[N,128]) {\n"
                             "    %%e = DequantizeLinear@21(@table, @ts) {axis = 1, block_size = 32} : f32[16,128]\n"
                             "    %%0 = Gather@13(%%e, %%i) : f32[N,128]\n"
                             "    %%u = DequantizeLinear@21(@w, @ws) {axis = 0, block_size = 32} : f32[128,128]\n"
                             "    %%1 = MatMul@13(%%0, %%u) : f32[N,128]\n"
                             "    %%y = Tanh@13(%%1) : f32[N,128]\n    return %%y\n  }\n}\n");
  write_text("packed.byoc", &text);
  byoc_string_deinit(&text);
  byoc_string_init(&text, byoc_allocator_system());
  byoc_string_appendf(&text, "module {opset_import. = 21} {\n");
  add_integers(&text, "k", "i8[16,16,3,3]", 16 * 16 * 9, -128, 127);
  add_integers(&text, "w", "i8[64,64]", 64 * 64, -128, 127);
  byoc_string_appendf(&text,
                      "  constant @s : f32[] = [0.02]\n  constant @t : f32[] = [0.5]\n  constant @r : f32[] = [0.01]\n"
                      "  constant @z : u8[] = [128]\n  constant @n : i8[] = [0]\n"
                      "  constant @shape : i64[4] = [-1, 16, 1, 64]\n"
                      "  func @main(%%x : f32[N,16,8,8]) -> (%%y : f32[N,16,8,8], %%m : f32[N,16,1,64]) {\n"
                      "    %%q = QuantizeLinear@19(%%x, @s, @z) : u8[N,16,8,8]\n"
                      "    %%0 = DequantizeLinear@19(%%q, @s, @z) : f32[N,16,8,8]\n"
                      "    %%1 = DequantizeLinear@19(@k, @r, @n) : f32[16,16,3,3]\n"
                      "    %%2 = Conv@11(%%0, %%1) {pads = [1, 1, 1, 1]} : f32[N,16,8,8]\n"
                      "    %%3 = QuantizeLinear@19(%%2, @t, @z) : u8[N,16,8,8]\n"
                      "    %%y = DequantizeLinear@19(%%3, @t, @z) : f32[N,16,8,8]\n"
                      "    %%4 = DequantizeLinear@19(@w, @r, @n) : f32[64,64]\n"
                      "    %%5 = Flatten@21(%%0) {axis = 2} : f32[N * 16,64]\n"
                      "    %%6 = MatMul@13(%%5, %%4) : f32[N * 16,64]\n"
                      "    %%7 = QuantizeLinear@19(%%6, @t, @z) : u8[N * 16,64]\n"
                      "    %%8 = DequantizeLinear@19(%%7, @t, @z) : f32[N * 16,64]\n"
                      "    %%m = Reshape@13(%%8, @shape) : f32[N,16,1,64]\n    return %%y, %%m\n  }\n"
                      "}\n");
  write_text("bytes.byoc", &text);
  byoc_string_deinit(&text);
  byoc_test_shell(0, "for m in packed bytes; do for n in 1 2 5; do sed \"s/N \\* 16/$((n * 16))/g; s/\\[N/[$n/g\" "
                     "$m.byoc > $m$n.byoc || exit 1; done; done");
}

static int enter(void **state) {
  const int result = byoc_test_enter_folder(state);
  if (result == 0) write_models();
  return result;
}

static long long number_behind(const char *words) {
  const char *at = strstr(byoc_test_output(), words);
  assert_non_null(at);
  return strtoll(at + strlen(words), NULL, 10);
}

static long long constants_of(const char *artifact) {
  byoc_test_shell(0, "byoc inspect %s", artifact);
  return number_behind("constants ");
}

// Builds m.so of `model`; its weights are those of the plain build of `open`, and so are its results for N = 2.
static void expect_plain(const char *open, const char *model, const char *targets, const char *options,
                         const char *run) {
  byoc_test_shell(0,
                  "rm -rf plain other && byoc build %s.byoc -t '%s' --plan greedy -o plain.so && "
                  "byoc build %s.byoc -t '%s' --plan greedy %s -o m.so && "
                  "byoc run plain.so --random --dim N=2 --output-dir plain && "
                  "byoc run m.so --random %s --output-dir other && diff -r plain other",
                  open, targets, model, targets, options, run);
  assert_int_equal(constants_of("m.so"), constants_of("plain.so"));
}

static const char *const models[] = {"packed", "bytes"};
static const char *const target_lists[] = {"c", "cutlass; c"};

// The names of kernels without their numbers, each once, but for those that choose a variant.
#define KERNELS "grep -o 'byoc_k[0-9]*_[a-z0-9_]*' | sed 's/byoc_k[0-9]*_//' | grep -v '^shape_equal' | sort -u"

static void test_b34_variants_have_the_kernels_of_the_plain_build(void **state) {
  (void)state;
  for (size_t i = 0; i < 2; ++i) {
    for (size_t t = 0; t < (i == 0 && !byoc_test_is_long() ? 1 : 2); ++t) {
      if (t == 0) expect_plain(models[i], i == 0 ? "packed2" : "bytes2", target_lists[t], "", "");
      expect_plain(models[i], models[i], target_lists[t], "--dim N=2,5", "--dim N=2");
      if (t == 0) expect_plain(models[i], models[i], target_lists[t], "--dim N=1,5", "--dim N=2");
    }
    byoc_test_shell(
        0,
        "for n in '' 1 5; do byoc build %s$n.byoc -t c --plan greedy --emit=host || exit 1; done > all.host && "
        "byoc build %s.byoc -t c --plan greedy --dim N=1,5 --emit=host > variants.host && "
        "cat all.host | " KERNELS " > all.txt && cat variants.host | " KERNELS " | diff - all.txt",
        models[i], models[i]);
  }
}

static void test_b34_parts_have_the_weights_of_the_plain_build(void **state) {
  (void)state;
  expect_plain("packed", "packed2", "c", "--stream-axis i.0:2", "");
  expect_plain("bytes", "bytes2", "c", "--stream-axis x.0:2", "");
}

static void test_b34_levels_and_entries_have_the_weights_once(void **state) {
  (void)state;
  for (size_t i = 0; i < 2; ++i) {
    byoc_test_shell(0,
                    "byoc build --entry a=%s.byoc --entry b=%s.byoc -t c --plan greedy -o m.so && "
                    "byoc build %s.byoc -t c --plan greedy -o plain.so",
                    models[i], models[i], models[i]);
    assert_int_equal(constants_of("m.so"), constants_of("plain.so"));
  }
  if (byoc_machine_host() != BYOC_MACHINE_X86_64) return;
  byoc_test_shell(0, "byoc build packed.byoc -t 'c -mcpu=x86-64-v2,x86-64-v3' --plan greedy --dim N=1,4 -o m.so && "
                     "byoc build packed.byoc -t c --plan greedy -o plain.so");
  assert_int_equal(constants_of("m.so"), constants_of("plain.so"));
}

// Each rank has half of a table and of a product, packed.
static void test_b34_ranks_halve_packed_weights(void **state) {
  (void)state;
  byoc_test_shell(0, "byoc build packed2.byoc -t c -o plain.so && rm -rf plain && "
                     "byoc run plain.so --random --output-dir plain");
  const long long whole = constants_of("plain.so");
  for (int rank = 0; rank < 2; ++rank) {
    byoc_test_shell(0, "byoc build packed2.byoc -t c --shard megatron --ranks 2 --rank %d -o r%d.so", rank, rank);
  }
  assert_in_range(constants_of("r0.so") * 1000 / whole, 480, 540);
  byoc_test_shell(0, "byoc run --ranks 2 r0.so r1.so --random --expect y=plain/y.npy");
  byoc_test_printed("y: as expected");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_b34_variants_have_the_kernels_of_the_plain_build),
      cmocka_unit_test(test_b34_parts_have_the_weights_of_the_plain_build),
      cmocka_unit_test(test_b34_levels_and_entries_have_the_weights_once),
      cmocka_unit_test(test_b34_ranks_halve_packed_weights),
  };
  return cmocka_run_group_tests(tests, enter, byoc_test_leave_folder);
}
