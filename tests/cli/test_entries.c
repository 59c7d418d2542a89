// SPDX-License-Identifier: Apache-2.0
// Artifacts of several models (byoc build --entry), which share weights and code.
#include "core/base/file.h"
#include "tests/support/command.h"

#define CC_FLAGS "-std=c99 -Wall -Wextra -Werror -O1"
#define ENTRIES  "--entry prefill=prefill.byoc --entry decode=decode.byoc --entry open=open.byoc "

// Two products with the same weights, of so many rows. All rows end in the same kernel but for the last operator.
static void write_model(const char *path, const char *rows, const char *last) {
  char text[1024];
  const int size = snprintf(text, sizeof(text),
                            "module {opset_import. = 17} {\n"
                            "  constant @w : f32[64,64] = splat 0.5\n"
                            "  constant @b : f32[64] = splat 0.25\n"
                            "  func @main(%%x : f32[%s,64]) -> (%%y : f32[%s,64]) {\n"
                            "    %%0 = MatMul@13(%%x, @w) : f32[%s,64]\n"
                            "    %%1 = Add@14(%%0, @b) : f32[%s,64]\n"
                            "    %%2 = Tanh@13(%%1) : f32[%s,64]\n"
                            "    %%3 = MatMul@13(%%2, @w) : f32[%s,64]\n"
                            "    %%y = %s@13(%%3) : f32[%s,64]\n"
                            "    return %%y\n"
                            "  }\n"
                            "}\n",
                            rows, rows, rows, rows, rows, rows, last, rows);
  byoc_diag_t diag = {0};
  assert_true(size > 0 && (size_t)size < sizeof(text));
  byoc_test_ok(byoc_file_write(path, text, (size_t)size, &diag), &diag);
}

static int enter(void **state) {
  int result = byoc_test_enter_folder(state);
  if (result != 0) return result;
  write_model("prefill.byoc", "8", "Tanh");
  write_model("decode.byoc", "1", "Sigmoid");
  write_model("again.byoc", "8", "Sigmoid");
  write_model("open.byoc", "N", "Neg");
  return byoc_test_try_shell("cp " BYOC_TEST_SOURCE_DIR "/tests/cli/user_entries.c program.c");
}

// Each entry computes what its model alone does, by kernels, a library, an engine, and code that a backend made.
static void test_entries_compute_what_their_models_do(void **state) {
  (void)state;
  static const char *const targets[] = {"c", "cblas; c", "cutlass; c", "dnnl; c"};
  for (size_t i = 0; i < sizeof(targets) / sizeof(targets[0]); i += byoc_test_is_long() ? 1 : 3) {
    byoc_test_shell(0, "byoc build " ENTRIES "-t '%s' -o m.so", targets[i]);
    byoc_test_printed(", 3 entries\nprefill: ");
    byoc_test_shell(0,
                    "for e in prefill decode open; do dim=; test $e = open && dim='--dim N=5'; rm -rf one all; "
                    "byoc build $e.byoc -t '%s' -o one.so && "
                    "byoc run one.so --random $dim --output-dir one && "
                    "byoc run m.so --entry $e --random $dim --output-dir all && diff -r one all || exit 1; done",
                    targets[i]);
  }
}

// A library and an engine are in the file once, and so are equal kernels and constants.
static void test_entries_share_constants(void **state) {
  (void)state;
  byoc_test_shell(0, "byoc build prefill.byoc -t 'dnnl; c' -o one.so && byoc build --entry a=prefill.byoc --entry "
                     "b=decode.byoc -t 'dnnl; c' -o two.so && "
                     "test $(($(stat -c %%s two.so) - $(stat -c %%s one.so))) -lt 65536");
  // 'prefill' and 'again' differ in their last kernel only.
  byoc_test_shell(0, "byoc build --entry a=prefill.byoc --entry b=again.byoc -t c -o two.c && "
                     "grep -q ' shared_0__byoc_k0_matmul' two.c/kernels_0.c && "
                     "grep -q 'byoc_k1_matmul_sigmoid' two.c/kernels_b_0.c && "
                     "! grep -q byoc_k0_matmul two.c/kernels_a_0.c two.c/kernels_b_0.c");
  byoc_test_shell(0, "byoc build " ENTRIES "-t c -o m.so --weights external && byoc build prefill.byoc -t c -o p.so "
                     "--weights external && cmp m.weights p.weights");
}

static void test_entries_have_their_own_functions(void **state) {
  (void)state;
  byoc_test_shell(0, "byoc build " ENTRIES "-t 'cblas; c' -o m.so && cc " CC_FLAGS " program.c -ldl -o loads && "
                     "./loads > loads.txt && cat loads.txt");
  byoc_test_printed("1 ");
  byoc_test_shell(0, "byoc build " ENTRIES "-t 'cblas; c' -o m.a && cc " CC_FLAGS
                     " -static program.c m.a -lm -lpthread -o static && ./static | diff - loads.txt");
  byoc_test_shell(0, "nm m.a | grep ' [A-TV-Z] ' | grep -v ' w ' | grep -vc ' m_' | grep -x 0");
  byoc_test_shell(0, "rm m.h && byoc build " ENTRIES "-t c -o m.c && make -s -C m.c CFLAGS='-O1 -std=c11 -pedantic "
                     "-Wall -Wextra -Werror' && cc " CC_FLAGS " -Im.c program.c m.c/libm.a -lm -o plain && "
                     "./plain | diff - loads.txt && printf '#include \"m.c/m.h\"\\nint main(void) { return 0; }\\n' > "
                     "header.cc && c++ -std=c++17 -Wall -Wextra -Werror -c header.cc");
}

// Macros begin with the entry's name: entry 'a' with an input 'b_x', and entry 'a_b' with an input 'x'.
static void test_macros_of_entries_differ(void **state) {
  (void)state;
  byoc_test_shell(
      0,
      "for m in 'a b_x 2' 'b x 5'; do set -- $m; printf 'module {opset_import. = 17} {\n  func @main(%%%%%%s : "
      "f32[%%s]) "
      "-> (%%%%y : f32[%%s]) {\n    %%%%y = Neg@13(%%%%%%s) : f32[%%s]\n    return %%%%y\n  }\n}\n' $2 $3 $3 $2 $3 > "
      "named_$1.byoc || exit 1; done && byoc build --entry a=named_a.byoc --entry a_b=named_b.byoc -t c -o named.so && "
      "printf '#include \"named.h\"\nint main(void) { return NAMED_A_B_X_COUNT + NAMED_A_B_X_2_COUNT != 7; }\n' > "
      "named.c && cc " CC_FLAGS " named.c -ldl -o named && ./named");
}

// The same inputs give the same bytes, and weights outside serve every entry.
static void test_weights_outside_serve_every_entry(void **state) {
  (void)state;
  byoc_test_shell(0, "mkdir -p again && byoc build " ENTRIES "-t c -o m.so --weights external && "
                     "byoc build " ENTRIES "-t c -o again/m.so --weights external && cmp m.so again/m.so && "
                     "cmp m.weights again/m.weights && cc " CC_FLAGS " program.c -ldl -o loads && "
                     "BYOC_VERIFY=1 ./loads && mv m.weights away && ! ./loads");
  byoc_test_printed("m.weights' cannot be read");
  byoc_test_shell(0, "byoc build " ENTRIES "-t 'dnnl; c' -o m.so --weights appended && "
                     "byoc run m.so --entry decode --random");
}

static void test_entries_are_chosen_by_name(void **state) {
  (void)state;
  byoc_test_shell(0, "byoc build " ENTRIES "-t c -o m.so --profile && byoc inspect m.so");
  byoc_test_printed("entry prefill of prefill, decode, open\n");
  byoc_test_printed("input  x : f32[8,64]");
  byoc_test_shell(0, "byoc inspect m.so --entry decode --json");
  byoc_test_printed("\"entry\": \"decode\"");
  byoc_test_shell(0, "byoc bench m.so --entry decode --runs 2 && byoc profile m.so --entry decode --runs 2");
  byoc_test_shell(2, "byoc run m.so --entry encode --random");
  byoc_test_printed("the artifact has no entry 'encode'; it has prefill, decode, open");
  byoc_test_shell(2, "byoc inspect m.so --entry encode");
  byoc_test_printed("the artifact has no entry 'encode'; it has prefill, decode, open");
  byoc_test_shell(2, "byoc build decode.byoc -t c -o one.so && byoc run one.so --entry decode --random");
  byoc_test_printed("the artifact has one model, and no entry 'decode'");
}

static void test_wrong_entries_are_refused(void **state) {
  (void)state;
  static const struct {
    const char *words, *message;
  } cases[] = {
      {"--entry a=prefill.byoc", "give -o"},
      {"--entry a=prefill.byoc decode.byoc -o m.so", "not both"},
      {"--entry prefill.byoc -o m.so", "--entry takes NAME=MODEL"},
      {"--entry a=prefill.byoc --entry A=decode.byoc -o m.so", "there are two entries 'A'"},
      {"--entry 1=prefill.byoc -o m.so", "--entry takes a C identifier"},
      {"--entry a=prefill.byoc -o m.so --emit host", "--emit is for one model"},
      {"--entry a=prefill.byoc -o prefill.byoc", "-o would overwrite 'prefill.byoc'"},
      {"--entry a=prefill.byoc --entry b=header.h -o header.so", "the header of -o would overwrite 'header.h'"},
      {"--entry a=prefill.byoc --entry b=w.weights -o m.so --weights w.weights",
       "the weights file of -o would overwrite 'w.weights'"},
      {"--entry a=prefill.byoc --entry b=folder.c/decode.byoc -o folder.c",
       "the model 'folder.c/decode.byoc' lies in 'folder.c', a folder that is replaced as a whole"},
  };
  byoc_test_shell(0,
                  "mkdir folder.c && cp decode.byoc folder.c && cp decode.byoc header.h && cp decode.byoc w.weights");
  for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); ++i) {
    byoc_test_shell(2, "byoc build %s", cases[i].words);
    byoc_test_printed(cases[i].message);
  }
  byoc_test_shell(0, "for f in folder.c/decode.byoc header.h w.weights; do cmp decode.byoc $f || exit 1; done");
  byoc_test_shell(2, "byoc build --entry a=prefill.byoc > log 2>&1; code=$?; ! grep -F '(null)' log && exit $code");
  byoc_test_shell(1, "rm -f m.so; byoc build --entry a=prefill.byoc --entry b=missing.onnx -o m.so; code=$?; "
                     "ls m.so; exit $code");
  byoc_test_printed("the entry 'b'");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_entries_compute_what_their_models_do),
      cmocka_unit_test(test_entries_share_constants),
      cmocka_unit_test(test_entries_have_their_own_functions),
      cmocka_unit_test(test_macros_of_entries_differ),
      cmocka_unit_test(test_weights_outside_serve_every_entry),
      cmocka_unit_test(test_entries_are_chosen_by_name),
      cmocka_unit_test(test_wrong_entries_are_refused),
  };
  return cmocka_run_group_tests(tests, enter, byoc_test_leave_folder);
}
