// SPDX-License-Identifier: Apache-2.0
// byoc run: artifacts and models, inputs, expectations, saved outputs.
#include <stdio.h>
#include <stdlib.h>

#include "core/base/file.h"
#include "tests/cli/models.h"
#include "tests/support/command.h"

static const char *const target_lists[] = {"c", "cutlass; c", "cblas; c", "dnnl; c", "cutlass; dnnl; cblas; c"};

static int setup(void **state) {
  if (byoc_test_enter_folder(state) != 0) return -1;
  write_tiny("tiny.onnx", "2");
  write_vision("vision.onnx");
  return byoc_test_try_shell("byoc build tiny.onnx -o tiny.so");
}

// The expectations were computed by hand in models.c.
static void test_compiled_and_evaluated(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof(target_lists) / sizeof(target_lists[0]); ++i) {
    const char *targets = target_lists[i];
    byoc_test_shell(0, "byoc build tiny.onnx -o t.so --target '%s'", targets);
    byoc_test_shell(0, "byoc run t.so --input in/x:0=x.npy --expect out/y:0=y.npy");
    byoc_test_printed("out/y:0: as expected");
    byoc_test_shell(0, "byoc run t.so --threads 3 -i in/x:0=x.npy -e out/y:0=y.npy --rtol 0 --atol 1e-6");
    byoc_test_shell(0, "byoc run tiny.onnx --target '%s' --input in/x:0=x.npy --expect out/y:0=y.npy", targets);
    byoc_test_shell(0, "byoc run tiny.onnx --evaluate --target '%s' --input in/x:0=x.npy --expect out/y:0=y.npy",
                    targets);
  }
}

static void test_all_targets_agree(void **state) {
  (void)state;
  byoc_test_shell(0, "byoc run vision.onnx --evaluate --random --seed 5 --output-dir reference");
  for (size_t i = 0; i < sizeof(target_lists) / sizeof(target_lists[0]); ++i) {
    byoc_test_shell(0, "byoc run vision.onnx --target '%s' --random --seed 5 --expect scores=reference/scores.npy",
                    target_lists[i]);
    byoc_test_shell(0,
                    "byoc run vision.onnx --evaluate --target '%s' --random --seed 5 --expect "
                    "scores=reference/scores.npy",
                    target_lists[i]);
  }
}

static void test_output_folder(void **state) {
  (void)state;
  byoc_test_shell(0, "byoc run tiny.so --input in/x:0=x.npy --output-dir deep/er && ls deep/er");
  assert_string_equal(byoc_test_output() + strlen(byoc_test_output()) - strlen("out_y_0.npy\n"), "out_y_0.npy\n");
  byoc_test_shell(0, "byoc run tiny.so --input in/x:0=x.npy --expect out/y:0=deep/er/out_y_0.npy --rtol 0 --atol 0");
  // As NumPy writes it: the header and its padding take a multiple of 64 bytes.
  byoc_test_shell(0, "head -c 6 deep/er/out_y_0.npy | tail -c 5; stat -c ' %%s' deep/er/out_y_0.npy");
  assert_string_equal(byoc_test_output(), "NUMPY 152\n");
}

static void test_random_inputs(void **state) {
  (void)state;
  byoc_test_shell(0, "byoc run tiny.so --random --seed 3 --output-dir a && byoc run tiny.so --random --seed 3 "
                     "--output-dir b && cmp a/out_y_0.npy b/out_y_0.npy");
  byoc_test_shell(0, "byoc run tiny.so --random --seed 4 --output-dir b");
  byoc_test_shell(1, "cmp -s a/out_y_0.npy b/out_y_0.npy");
}

// Exit code 1: the model runs, its result is another. The worst element is shown.
// Threads share the elements of results, not the terms of sums.
static void test_threads_change_no_bit(void **state) {
  (void)state;
  byoc_test_shell(0, "byoc build vision.onnx -o threads.so --target 'cutlass; c'");
  for (int threads = 1; threads <= 7; threads += threads < 2 ? 1 : 5) {
    byoc_test_shell(0, "byoc run threads.so --threads %d --random --seed 3 --output-dir threads_%d", threads, threads);
    byoc_test_shell(0, "cmp threads_1/scores.npy threads_%d/scores.npy", threads);
  }
}

static void test_mismatch(void **state) {
  (void)state;
  float other[2][3] = {{0}};
  write_npy("other.npy", 2, (const int64_t[]){2, 3}, &other[0][0]);
  byoc_test_shell(1, "byoc run tiny.so --input in/x:0=x.npy --expect out/y:0=other.npy");
  byoc_test_printed("out/y:0");
  byoc_test_printed("[");
  byoc_test_shell(0, "byoc run tiny.so --input in/x:0=x.npy --expect out/y:0=other.npy --atol 1000");
  byoc_test_shell(2, "byoc run tiny.so --input in/x:0=x.npy --expect y=y.npy");
  byoc_test_printed("the model has no output 'y'");
  byoc_test_printed("'out/y:0'");
}

// Expectations that differ from y = x in the last element only, by less than another reading of its bytes would see.
static void test_elements_of_every_type(void **state) {
  (void)state;
  static const float complex_x[] = {1, 2, 3, 4, 5, 6}, complex_other[] = {1, 2, 3, 4, 5, -6};
  static const double wide_x[] = {1, 2, 3, 4, 5, 6}, wide_other[] = {1, 2, 3, 4, 5, 6.5};
  static const int64_t large_x[] = {1, 2, INT64_C(1) << 53}, large_other[] = {1, 2, (INT64_C(1) << 53) + 1};
  static const uint64_t unsigned_x[] = {1, 2, UINT64_MAX}, unsigned_other[] = {1, 2, UINT64_MAX - 2};
  static const struct {
    byoc_dtype_t dtype;
    const char *descriptor;
    const void *x, *other;
    size_t size_bytes;
    const char *printed, *difference;
  } cases[] = {
      {BYOC_DTYPE_C64, "<c8", complex_x, complex_other, sizeof(complex_x), "y : c64[3] = 1+2i 3+4i 5+6i   (mean 3+4i)",
       "[2]: 5+6i, expected 5-6i"},
      {BYOC_DTYPE_C128, "<c16", wide_x, wide_other, sizeof(wide_x), "= 1+2i 3+4i 5+6i", "[2]: 5+6i, expected 5+6.5i"},
      {BYOC_DTYPE_I64, "<i8", large_x, large_other, sizeof(large_x), "= 1 2 9007199254740992   (from 1",
       "[2]: 9007199254740992, expected 9007199254740993"},
      {BYOC_DTYPE_U64, "<u8", unsigned_x, unsigned_other, sizeof(unsigned_x), "= 1 2 18446744073709551615",
       "[2]: 18446744073709551615, expected 18446744073709551613"},
  };
  for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); ++i) {
    write_identity("same.onnx", cases[i].dtype, "3");
    write_npy_of("same.npy", cases[i].descriptor, 1, (const int64_t[]){3}, cases[i].x, cases[i].size_bytes);
    write_npy_of("other.npy", cases[i].descriptor, 1, (const int64_t[]){3}, cases[i].other, cases[i].size_bytes);
    byoc_test_shell(0, "byoc run same.onnx --evaluate -i x=same.npy -e y=same.npy --rtol 0 --atol 0");
    byoc_test_shell(1, "byoc run same.onnx --evaluate -i x=same.npy -e y=other.npy --rtol 0 --atol 0");
    byoc_test_printed("differs in 1 of 3 elements");
    byoc_test_printed(cases[i].difference);
    byoc_test_shell(0, "byoc run same.onnx --evaluate -i x=same.npy -e y=other.npy --rtol 0 --atol 12");
    byoc_test_shell(0, "byoc run same.onnx --evaluate -i x=same.npy");
    byoc_test_printed(cases[i].printed);
  }
}

// Types that are packed, in files as one byte for each element.
static void test_packed_elements_are_bytes_in_npy_files(void **state) {
  (void)state;
  static const int8_t i4[] = {-8, 7, 3, -1, 0}, i2[] = {-2, 1, 0, -1, 1};
  static const uint8_t f4[] = {1, 15, 8, 7, 2};
  static const struct {
    byoc_dtype_t dtype;
    const char *descriptor, *printed, *wrong;
    const void *values;
  } cases[] = {
      {BYOC_DTYPE_I4, "|i1", "y : i4[5] = -8 7 3 -1 0", "element 0 is no i2", i4},
      {BYOC_DTYPE_I2, "|i1", "y : i2[5] = -2 1 0 -1 1", "element 0 is no u2", i2},
      {BYOC_DTYPE_F4E2M1, "|u1", "y : f4e2m1[5] = 0.5 -6 -0 6 1", "element 1 is no u2", f4},
  };
  for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); ++i) {
    write_identity("packed.onnx", cases[i].dtype, "5");
    write_npy_of("packed.npy", cases[i].descriptor, 1, (const int64_t[]){5}, cases[i].values, 5);
    byoc_test_shell(0, "byoc run packed.onnx --target c -i x=packed.npy --output-dir packed");
    byoc_test_printed(cases[i].printed);
    byoc_test_shell(0, "byoc run packed.onnx --evaluate -i x=packed/y.npy -e y=packed.npy");
    write_identity("packed.onnx", i == 0 ? BYOC_DTYPE_I2 : BYOC_DTYPE_U2, "5");
    byoc_test_shell(1, "byoc run packed.onnx --evaluate -i x=packed.npy");
    byoc_test_printed(cases[i].wrong);
  }
  write_npy("wide.npy", 1, (const int64_t[]){5}, (const float[]){1, 2, 3, 4, 5});
  byoc_test_shell(1, "byoc run packed.onnx --evaluate -i x=wide.npy");
  byoc_test_printed("'x' is u2[5], wide.npy holds f32[5]");
}

// Texts as NumPy has them, "<U4": read, compared, saved, printed.
static void test_texts_in_npy_files(void **state) {
  (void)state;
  static const uint32_t x[12] = {'a', 0, 0, 0, 0xfc, 0x1f600, 'c', 'd', 0, 0, 0, 0};
  static const uint32_t other[12] = {'a', 0, 0, 0, 0xfc, 0x1f600, 'c', 'e', 0, 0, 0, 0};
  static const uint32_t wrong[12] = {'a', 0, 0, 0, 0xd800};
  const int64_t dims[] = {3};
  write_identity("texts.onnx", BYOC_DTYPE_STRING, "3");
  write_npy_of("texts.npy", "<U4", 1, dims, x, sizeof(x));
  write_npy_of("other.npy", "<U4", 1, dims, other, sizeof(other));
  write_npy_of("wrong.npy", "<U4", 1, dims, wrong, sizeof(wrong));
  byoc_test_shell(0, "byoc run texts.onnx -i x=texts.npy --output-dir texts");
  byoc_test_printed("y : string[3] = 'a' '\xc3\xbc\xf0\x9f\x98\x80"
                    "cd' ''\n");
  byoc_test_shell(
      0,
      "tail -c 48 texts.npy > a.raw && tail -c 48 texts/y.npy > b.raw && cmp a.raw b.raw && grep -c '<U4' texts/y.npy");
  byoc_test_shell(0, "byoc run texts.onnx -i x=texts/y.npy -e y=texts.npy");
  byoc_test_shell(1, "byoc run texts.onnx -i x=texts.npy -e y=other.npy");
  byoc_test_printed("differs in 1 of 3 elements");
  byoc_test_shell(1, "byoc run texts.onnx -i x=wrong.npy");
  byoc_test_printed("string 1 has the number 55296, which is no character");
}

// A category that OneHotEncoder does not have ends the run, if the model does not ask for zeros.
static void test_unknown_category(void **state) {
  (void)state;
  FILE *file = fopen("category.byoc", "w");
  assert_non_null(file);
  fputs("module {\n  func @main(%x : i64[3]) -> (%y : f32[3,2]) {\n    %y = ai.onnx.ml::OneHotEncoder@1(%x) "
        "{cats_int64s = [7, 2], zeros = 0} : f32[3,2]\n    return %y\n  }\n}\n",
        file);
  assert_int_equal(fclose(file), 0);
  static const int64_t known[] = {7, 2, 7}, unknown[] = {7, 2, 0};
  write_npy_of("known.npy", "<i8", 1, (const int64_t[]){3}, known, sizeof(known));
  write_npy_of("unknown.npy", "<i8", 1, (const int64_t[]){3}, unknown, sizeof(unknown));
  byoc_test_shell(0, "byoc run category.byoc -i x=known.npy");
  byoc_test_printed("y : f32[3,2] = 1 0 0 1 1 0");
  for (int i = 0; i < 2; ++i) {
    byoc_test_shell(2, "byoc run category.byoc -i x=unknown.npy %s", i == 0 ? "" : "--evaluate");
    byoc_test_printed("an element is none of its categories, and 'zeros' is 0: the category: element 2 is -1");
  }
}

// Inputs that do not fit: what was wanted and what was found.
static void test_wrong_inputs(void **state) {
  (void)state;
  static const float values[16] = {0};
  write_npy("wide.npy", 2, (const int64_t[]){2, 5}, values);
  write_npy("flat.npy", 1, (const int64_t[]){8}, values);
  byoc_test_shell(1, "byoc run tiny.so --input in/x:0=wide.npy");
  byoc_test_printed("'in/x:0' is f32[2,4], wide.npy holds f32[2,5]");
  byoc_test_shell(1, "byoc run tiny.onnx --evaluate --input in/x:0=flat.npy");
  byoc_test_printed("'in/x:0' is f32[2,4], flat.npy holds f32[8]");
  byoc_test_shell(2, "byoc run tiny.so");
  byoc_test_printed("input 'in/x:0' (f32[2,4]) is missing");
  byoc_test_shell(1, "byoc run tiny.so --input in/x:0=missing.npy");
  byoc_test_printed("missing.npy");
  for (int size = 0; size < 160; size += 13) {
    byoc_test_shell(1, "head -c %d x.npy > cut.npy && byoc run tiny.so --input in/x:0=cut.npy", size);
    byoc_test_printed("cut.npy");
  }
  byoc_test_shell(2, "byoc run tiny.so --evaluate --input in/x:0=x.npy");
  byoc_test_printed("is an artifact");
}

static void write_text(const char *path, const char *text) {
  FILE *file = fopen(path, "w");
  assert_non_null(file);
  fputs(text, file);
  assert_int_equal(fclose(file), 0);
}

// Sequences and optionals as inputs, as results in --output-dir, and as expectations.
static void test_sequences_and_optionals_are_files(void **state) {
  (void)state;
  static const float values[6] = {0, 1, 2, 3, 4, 5};
  write_text("parts.byoc",
             "module {\n  func @main(%s : seq<f32[N,2]>, %o : opt<f32[3]>, %x : f32[1,2]) -> (%t : seq<f32[N,2]>, "
             "%p : opt<f32[3]>, %n : i64[]) {\n    %t = SequenceInsert@11(%s, %x) : seq<f32[N,2]>\n"
             "    %p = Identity@16(%o) : opt<f32[3]>\n    %n = SequenceLength@11(%s) : i64[]\n"
             "    return %t, %p, %n\n  }\n}\n");
  byoc_test_shell(0, "mkdir -p s gap empty wide && byoc build parts.byoc -o parts.so");
  write_npy("s/0.npy", 2, (const int64_t[]){2, 2}, values);
  write_npy("s/1.npy", 2, (const int64_t[]){3, 2}, values);
  write_npy("gap/1.npy", 2, (const int64_t[]){3, 2}, values);
  write_npy("wide/0.npy", 2, (const int64_t[]){2, 3}, values);
  write_npy("o.npy", 1, (const int64_t[]){3}, values);
  write_npy("one.npy", 2, (const int64_t[]){1, 2}, values);
  write_npy_of("n3.npy", "<i8", 0, NULL, &(const int64_t){3}, sizeof(int64_t));
  byoc_test_shell(0, "mkdir want && cp s/*.npy want && cp one.npy want/2.npy");
  for (int i = 0; i < 2; ++i) {
    const char *model = i == 0 ? "parts.so" : "parts.byoc --evaluate";
    byoc_test_shell(0, "byoc run %s -i s=s -i o=o.npy -i x=one.npy --output-dir saved", model);
    byoc_test_printed("t : sequence of f32[?,2] with 3 items\n  t[0] : f32[2,2] = 0 1 2 3");
    byoc_test_printed("p : optional f32[3] with 1 item\n  p : f32[3] = 0 1 2");
    byoc_test_shell(0, "ls -R saved");
    byoc_test_printed("saved/t:\n0.npy\n1.npy\n2.npy\n");
    byoc_test_shell(0, "byoc run %s -i s=s -i o=o.npy -i x=one.npy -e t=want -e p=saved/p.npy", model);
    byoc_test_printed("t[2]: as expected");
    byoc_test_shell(0, "byoc run %s -i s=saved/t -i o=o.npy -i x=one.npy -e n=n3.npy", model);
    // What a run saves is all that is there: a shorter sequence, an optional that is empty.
    byoc_test_shell(0, "byoc run %s -i s=empty -i o= -i x=one.npy --output-dir saved && ls -R saved", model);
    byoc_test_printed("saved:\nn.npy\nt\n\nsaved/t:\n0.npy\n");
    byoc_test_shell(0, "byoc run %s -i s=empty -i o= -i x=one.npy -e p= -e t=saved/t", model);
    byoc_test_shell(1, "byoc run %s -i s=s -i o= -i x=one.npy -e t=saved/t", model);
    byoc_test_printed("output 't' has 3 items, expected 1");
    byoc_test_shell(1, "byoc run %s -i s=empty -i o=o.npy -i x=one.npy -e t=wide", model);
    byoc_test_printed("'t' is f32[");
    byoc_test_printed("wide/0.npy holds f32[2,3]");
    byoc_test_shell(1, "byoc run %s -i s=x.npy -i o= -i x=one.npy", model);
    byoc_test_printed("'s' is a sequence of f32[N,2], and x.npy is no folder\nhint: a sequence is a folder");
    byoc_test_shell(1, "byoc run %s -i s=gap -i o= -i x=one.npy", model);
    byoc_test_printed("gap holds 1 file, but no item 0.npy");
    byoc_test_shell(1, "byoc run %s -i s=wide -i o= -i x=one.npy", model);
    byoc_test_printed("'s' is f32[N,2], wide/0.npy holds f32[2,3]");
    byoc_test_shell(1, "byoc run %s -i s=s -i o=one.npy -i x=one.npy", model);
    byoc_test_printed("'o' is f32[3], one.npy holds f32[1,2]");
    byoc_test_shell(2, "byoc run %s --random", model);
    byoc_test_printed("input 's' (sequence of f32[N,2]) is missing\nhint: give --input 's=FOLDER'");
  }
}

// The room of a windowed cache holds the window. Queries say the size of heads, which the cache leaves open.
static void test_a_window_fits_into_its_cache(void **state) {
  (void)state;
  write_text("window.byoc",
             "module {\n  constant @after : i32[2] = [5, 5]\n  constant @most : i32[1] = [6]\n"
             "  func @main(%q : f32[2,1,32], %k : f32[2,1,16], %pk : f32[2,2,R,D], %pv : f32[2,2,R,D]) -> (%y : ?) {\n"
             "    %y = com.microsoft::GroupQueryAttention@1(%q, %k, %k, %pk, %pv, @after, @most) {num_heads = 4, "
             "kv_num_heads = 2, local_window_size = 4, sliding_window_cache = 1} : ?\n    return %y\n  }\n}\n");
  write_npy("q.npy", 3, (const int64_t[]){2, 1, 32}, (const float[64]){0});
  write_npy("k.npy", 3, (const int64_t[]){2, 1, 16}, (const float[32]){0});
  byoc_test_shell(0, "byoc build window.byoc -o window.so -t c");
  for (int i = 0; i < 2; ++i) {
    const char *model = i == 0 ? "window.so" : "window.byoc --evaluate";
    for (int64_t room = 3; room <= 4; ++room) {
      write_npy("past.npy", 4, (const int64_t[]){2, 2, room, 8}, (const float[128]){0});
      byoc_test_shell(room == 3 ? 2 : 0, "byoc run %s -i q=q.npy -i k=k.npy -i pk=past.npy -i pv=past.npy", model);
      if (room == 4) continue;
      byoc_test_printed("GroupQueryAttention (com.microsoft 1): attribute 'local_window_size' is 4 and dimension 2 of "
                        "operand 3 'pk' is 3, but the first must not be larger");
    }
  }
  byoc_test_shell(1, "sed 's/R,/3,/g' window.byoc >three.byoc && byoc build three.byoc -o window.so -t c");
  byoc_test_printed("'local_window_size' is 4 and dimension 2 of operand 3 'pk' is 3");
}

#define TABLES                                                                                                         \
  "constant @a : f32[2,2] = [1.0, 2.0, 3.0, 4.0]\n  constant @p : f32[4,2] = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, "     \
  "8.0]\n  constant @g : f32[2] = [1.0, 1.0]\n"
#define EMBEDDED "com.microsoft::EmbedLayerNormalization@1(%w, _, @a, @p, _, @g, @g, %mask)"

static void expect_length(const char *model, const char *input, int64_t length, int code, const char *said) {
  static const int32_t zeros[8] = {0};
  write_npy_of("w.npy", "<i4", 2, (const int64_t[]){2, length}, zeros, sizeof(zeros[0]) * 2 * (size_t)length);
  byoc_test_shell(0, "byoc build %s.byoc -o open.so -t c", model);
  for (int i = 0; i < 2; ++i) {
    const char *run = i == 0 ? "open.so" : model, *evaluate = i == 0 ? "" : ".byoc --evaluate";
    byoc_test_shell(code, "byoc run %s%s -i w=w.npy -i %s", run, evaluate, input);
    byoc_test_printed(said);
  }
}

// What an operator asks of a size that a pass finds out, or of one that another operator makes, too, is asked still
// when the operator has been written as others; a branch fails when it is run.
static void test_sizes_that_passes_find_are_asked_about(void **state) {
  (void)state;
  static const char refusal[] = "dimension 1 of operand 7 'mask' is 3 and dimension 1 of operand 0 'w' is 2";
  write_npy_of("m.npy", "<i4", 1, (const int64_t[]){6}, (const int32_t[6]){0}, 6 * sizeof(int32_t));
  write_text("found.byoc", "module {\n  " TABLES "  constant @shape : i64[2] = [-2, -3]\n"
                           "  func @main(%w : i32[2,S], %m : i32[6]) -> (%y : ?) {\n    %s = Abs@13(@shape) : ?\n"
                           "    %mask = Reshape@14(%m, %s) : ?\n    %y = " EMBEDDED " : ?\n    return %y\n  }\n}\n");
  expect_length("found", "m=m.npy", 3, 0, "y : f32[2,3,2]");
  expect_length("found", "m=m.npy", 2, 2, refusal);
  write_npy("x.npy", 2, (const int64_t[]){2, 2}, (const float[]){1, 0, 1, 1});
  write_text("merged.byoc",
             "module {\n  " TABLES "  func @main(%w : i32[2,S], %x : f32[2,2]) -> (%y : ?, %n : ?) {\n"
             "    %n = NonZero@13(%x) : ?\n    %same = NonZero@13(%x) : ?\n    %mask = Cast@13(%same) {to = 6} : ?\n"
             "    %y = " EMBEDDED " : ?\n    return %y, %n\n  }\n}\n");
  expect_length("merged", "x=x.npy", 3, 0, "y : f32[2,3,2]");
  expect_length("merged", "x=x.npy", 2, 2, refusal);
  write_text("branch.byoc",
             "module {\n  " TABLES "  constant @shape : i64[2] = [-2, -3]\n"
             "  func @main(%c : bool[], %w : i32[2,2], %m : i32[6]) -> (%y : f32[2,2,2]) {\n"
             "    %y = If@16(%c) [then_branch () -> (%t : f32[2,2,2]) {\n      %s = Abs@13(@shape) : ?\n"
             "      %mask = Reshape@14(%m, %s) : ?\n      %t = " EMBEDDED " : f32[2,2,2]\n      return %t\n"
             "    }, else_branch () -> (%e : f32[2,2,2]) {\n      %e = Gather@13(@a, %w) : f32[2,2,2]\n"
             "      return %e\n    }] : f32[2,2,2]\n    return %y\n  }\n}\n");
  write_npy_of("no.npy", "|b1", 0, NULL, "\0", 1);
  write_npy_of("yes.npy", "|b1", 0, NULL, "\1", 1);
  expect_length("branch", "m=m.npy -i c=no.npy", 2, 0, "y : f32[2,2,2] = 1 2 1 2");
  expect_length("branch", "m=m.npy -i c=yes.npy", 2, 2, "dimension 1 of operand 7 'mask' is 3, but must be 2");
}

// Dimensions of one name: inputs give it to the others, and may not contradict each other.
static void test_dimensions_that_contradict_each_other_are_refused(void **state) {
  (void)state;
  static const float values[12] = {0};
  write_text("add.byoc", "module {\n  func @main(%x : f32[N,4], %y : f32[N,4]) -> (%z : f32[N,4]) {\n"
                         "    %z = Add@14(%x, %y) : f32[N,4]\n    return %z\n  }\n}\n");
  write_npy("two.npy", 2, (const int64_t[]){2, 4}, values);
  write_npy("three.npy", 2, (const int64_t[]){3, 4}, values);
  byoc_test_shell(0, "byoc build add.byoc -o add.so");
  for (int i = 0; i < 2; ++i) {
    const char *model = i == 0 ? "add.so" : "add.byoc --evaluate";
    byoc_test_shell(2, "byoc run %s -i x=two.npy -i y=three.npy", model);
    byoc_test_printed("input 'y' has 3 in dimension 0, which is N, and input 'x' has 2");
    byoc_test_shell(0, "byoc run %s -i y=three.npy --random", model);
    byoc_test_printed("z : f32[3,4]");
  }
  byoc_test_shell(2, "byoc run add.so -i x=two.npy -i y=two.npy --dim N=3");
  byoc_test_printed("--dim gives 'N' the value 3, and in input 'x' it is 2");
}

// A loop whose condition never becomes false, and one that ends after as many turns as its input says.
static void test_loops_without_end_have_a_limit(void **state) {
  (void)state;
  write_text(
      "endless.byoc",
      "module {\n  constant @yes : bool[] = [true]\n  func @main(%n : i64[], %x : f32[2]) -> (%y : f32[2]) {\n"
      "    %y = Loop@16(%n, @yes, %x) [body (%i : i64[], %c1 : bool[], %s : f32[2]) -> (%c2 : bool[], %t : f32[2]) "
      "{\n      %c2 = Identity@14(%c1) : bool[]\n      %t = Add@14(%s, %s) : f32[2]\n      return %c2, %t\n"
      "    }] : f32[2]\n    return %y\n  }\n}\n");
  write_npy("start.npy", 1, (const int64_t[]){2}, (const float[]){1, 2});
  write_npy_of("large.npy", "<i8", 0, NULL, &(const int64_t){INT64_MAX}, sizeof(int64_t));
  write_npy_of("five.npy", "<i8", 0, NULL, &(const int64_t){5}, sizeof(int64_t));
  byoc_test_shell(0, "byoc build endless.byoc -o endless.so");
  for (int i = 0; i < 2; ++i) {
    const char *model = i == 0 ? "endless.so" : "endless.byoc --evaluate";
    byoc_test_shell(1, "byoc run %s -i n=large.npy -i x=start.npy --max-iterations 1000", model);
    byoc_test_printed("the loop did not end within 1000 iterations, the limit that the caller set");
    byoc_test_shell(0, "byoc run %s -i n=five.npy -i x=start.npy --max-iterations 5", model);
    byoc_test_printed("y : f32[2] = 32 64");
    byoc_test_shell(1, "byoc run %s -i n=five.npy -i x=start.npy --max-iterations 4", model);
  }
  byoc_test_shell(1, "BYOC_MAX_ITERATIONS=4 byoc run endless.so -i n=five.npy -i x=start.npy");
  byoc_test_printed("within 4 iterations");
  byoc_test_shell(0, "BYOC_MAX_ITERATIONS=4 byoc run endless.so -i n=five.npy -i x=start.npy --max-iterations 9");
  byoc_test_shell(2, "BYOC_MAX_ITERATIONS=none byoc run endless.so -i n=five.npy -i x=start.npy");
  byoc_test_printed("BYOC_MAX_ITERATIONS is 'none'; a number from 1 to 2147483647 is needed");
}

// The bound over the symbols, when it is built and in the artifact; the peak of a run.
static void test_h9_bound_and_peak_are_shown(void **state) {
  (void)state;
  write_tiny("symbolic.onnx", "N");
  byoc_test_shell(0, "byoc build symbolic.onnx -v --name symbolic -o bound.so 2>&1");
  byoc_test_printed("host program: at least N * 12 bytes in use at once");
  byoc_test_shell(0, "byoc inspect bound.so");
  byoc_test_printed("a run needs at least N * 12 bytes at once");
  byoc_test_shell(0, "byoc run bound.so -v --random --dim N=64 2>&1");
  byoc_test_printed("the run had at most 768 bytes in use at once");
  byoc_test_shell(0, "byoc run symbolic.onnx --evaluate -v --random --dim N=64 2>&1");
  byoc_test_printed("bytes in use at once");
}

static void test_symbolic_dimensions(void **state) {
  (void)state;
  write_tiny("symbolic.onnx", "N");
  byoc_test_shell(0, "byoc run symbolic.onnx --dim N=2 --input in/x:0=x.npy --expect out/y:0=y.npy");
  byoc_test_shell(0, "byoc run symbolic.onnx --evaluate --dim N=2 -i in/x:0=x.npy -e out/y:0=y.npy");
  byoc_test_shell(0, "byoc build symbolic.onnx -o n7.so --dim N=7 && byoc inspect n7.so");
  byoc_test_printed("out/y:0 : f32[7,3]");
  byoc_test_shell(0, "byoc inspect symbolic.onnx");
  byoc_test_printed("f32[N,4]");
  // Left open, the dimension takes its value when the model runs.
  byoc_test_shell(
      0, "byoc build symbolic.onnx --name symbolic -o open.so && byoc run open.so -i in/x:0=x.npy -e out/y:0=y.npy");
  byoc_test_shell(0, "cp " BYOC_TEST_SOURCE_DIR "/tests/cli/user_dynamic.c . && "
                     "cc -std=c99 -Wall -Wextra -Werror user_dynamic.c -o user_dynamic -ldl && ./user_dynamic");
  byoc_test_printed("2 3: ");
  byoc_test_printed("the input 'in/x:0' is f32[4,5], the model takes f32[?,4]");
  byoc_test_shell(0, "byoc run open.so --random --dim N=5");
  byoc_test_printed("out/y:0 : f32[5,3]");
  byoc_test_shell(0, "byoc inspect open.so");
  byoc_test_printed("f32[N,4]");
  byoc_test_shell(0, "byoc bench open.so --dim N=3 --runs 2");
  assert_int_not_equal(byoc_test_try_shell("byoc run open.so --random"), 0);
  byoc_test_printed("--dim");
  byoc_test_shell(2, "byoc bench open.so --runs 2"); // the hint names no option that the command lacks
  byoc_test_printed("hint: give its dimensions values: --dim NAME=VALUE\n");
  byoc_test_shell(2, "byoc run open.so --random --dim N=-2");
  byoc_test_printed("--dim takes NAME=VALUE with a whole number from 0 on, not 'N=-2'");
  byoc_test_printed("N=-2");
  byoc_test_shell(2, "byoc run open.so --random --dim N=2 --dim N=3");
  byoc_test_printed("--dim gives 'N' twice");
  byoc_test_shell(2, "byoc build symbolic.onnx -o none.so --dim N=2 --dim N=2");
  byoc_test_printed("--dim gives 'N' twice");
  assert_false(byoc_file_exists("none.so"));
  assert_int_not_equal(byoc_test_try_shell("byoc build symbolic.onnx -o none.so --dim M=2"), 0);
  byoc_test_printed("M");
}

// Weights of several huge pages, where the build or the environment wants them there.
static void test_huge_pages(void **state) {
  (void)state;
  byoc_test_shell(0, "byoc-modelgen mlp --layers 32 -o mlp.onnx");
  byoc_test_shell(0, "byoc run mlp.onnx --evaluate --target c --plan greedy --random --output-dir mlp");
  byoc_test_shell(0, "byoc build mlp.onnx -o mlp.so --target c --plan greedy --huge-pages");
  byoc_test_shell(0, "for f in mlp/*.npy; do n=$(basename $f .npy); for h in '' 0 1; do "
                     "BYOC_HUGE_PAGES=$h byoc run mlp.so --random --expect $n=$f || exit 1; done; done");
  byoc_test_printed("as expected");
}

// The whole file or none of it: each prefix of an artifact is refused with a sentence, none is run.
static void test_damaged_artifact(void **state) {
  (void)state;
  byoc_test_shell(0, "stat -c %%s tiny.so");
  long size = atol(byoc_test_output());
  for (int i = 0; i < 40; ++i) {
    int code =
        byoc_test_try_shell("head -c %ld tiny.so > cut.so && byoc run cut.so --input in/x:0=x.npy", size * i / 40);
    assert_int_equal(code, 1);
    byoc_test_printed("cut.so");
  }
  byoc_test_shell(1, "byoc run /bin/sh --random");
  byoc_test_printed("/bin/sh");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_compiled_and_evaluated),
      cmocka_unit_test(test_all_targets_agree),
      cmocka_unit_test(test_output_folder),
      cmocka_unit_test(test_random_inputs),
      cmocka_unit_test(test_threads_change_no_bit),
      cmocka_unit_test(test_mismatch),
      cmocka_unit_test(test_elements_of_every_type),
      cmocka_unit_test(test_packed_elements_are_bytes_in_npy_files),
      cmocka_unit_test(test_texts_in_npy_files),
      cmocka_unit_test(test_unknown_category),
      cmocka_unit_test(test_wrong_inputs),
      cmocka_unit_test(test_sequences_and_optionals_are_files),
      cmocka_unit_test(test_a_window_fits_into_its_cache),
      cmocka_unit_test(test_sizes_that_passes_find_are_asked_about),
      cmocka_unit_test(test_dimensions_that_contradict_each_other_are_refused),
      cmocka_unit_test(test_loops_without_end_have_a_limit),
      cmocka_unit_test(test_symbolic_dimensions),
      cmocka_unit_test(test_h9_bound_and_peak_are_shown),
      cmocka_unit_test(test_huge_pages),
      cmocka_unit_test(test_damaged_artifact),
  };
  return cmocka_run_group_tests(tests, setup, byoc_test_leave_folder);
}
