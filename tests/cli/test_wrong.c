// SPDX-License-Identifier: Apache-2.0
// What a user gets wrong, and what goes wrong on a user's machine: a clear message, the right exit code, no file left.
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "core/base/file.h"
#include "tests/cli/models.h"
#include "tests/support/command.h"

static char *model_bytes;
static size_t model_size;

static int setup(void **state) {
  byoc_diag_t diag = {0};
  if (byoc_test_enter_folder(state) != 0) return -1;
  write_tiny("tiny.onnx", "2");
  write_vision("vision.onnx");
  return byoc_file_read("vision.onnx", byoc_allocator_system(), &diag, &model_bytes, &model_size) != BYOC_OK;
}

static int teardown(void **state) {
  byoc_free(byoc_allocator_system(), model_bytes);
  return byoc_test_leave_folder(state);
}

static void assert_nothing_left(void) {
  assert_int_equal(byoc_test_try_shell("ls out && rmdir out && mkdir out"), 0);
  assert_string_equal(byoc_test_output(), "");
}

// ---- models ----

static void test_truncated_models(void **state) {
  (void)state;
  byoc_diag_t diag = {0};
  byoc_test_shell(0, "mkdir -p out");
  for (size_t i = 0; i < 48; ++i) {
    byoc_test_ok(byoc_file_write("cut.onnx", model_bytes, model_size * i / 48, &diag), &diag);
    byoc_test_shell(1, "byoc build cut.onnx -o out/cut.so");
    byoc_test_printed("error: ");
    byoc_test_printed("cut.onnx");
  }
  assert_nothing_left();
}

// A flipped bit may hit a weight, and then nothing is wrong; else it is refused. Never a crash, never half a file.
static void test_flipped_models(void **state) {
  (void)state;
  byoc_test_random_t random = {.state = 11};
  byoc_diag_t diag = {0};
  int refused = 0;
  for (int i = 0; i < (byoc_test_is_long() ? 150 : 60); ++i) {
    // Weights are most of the bytes; the structure is what is interesting.
    size_t at = (size_t)byoc_test_below(&random, i % 3 == 0 ? model_size : 900);
    char flipped = (char)(1 << byoc_test_below(&random, 8));
    model_bytes[at] ^= flipped;
    byoc_test_ok(byoc_file_write("flip.onnx", model_bytes, model_size, &diag), &diag);
    int code = byoc_test_try_shell("byoc inspect flip.onnx && byoc opt flip.onnx --passes=simplify --target 'dnnl; "
                                   "cutlass; c' > /dev/null");
    model_bytes[at] ^= flipped;
    if (code != 0 && code != 1) fail_msg("bit of byte %zu flipped: exit code %d\n%s", at, code, byoc_test_output());
    if (code == 1) byoc_test_printed("error: ");
    refused += code == 1;
  }
  assert_true(refused > 10);
}

static void test_other_files(void **state) {
  (void)state;
  write_unknown_operator("unknown.onnx");
  byoc_test_shell(1, "byoc build unknown.onnx -o u.so");
  byoc_test_printed("mistyped");
  byoc_test_printed("Reluu");
  byoc_test_printed("is Relu\n"); // the nearest one
  byoc_test_shell(1, "byoc build missing.onnx -o u.so");
  byoc_test_printed("missing.onnx");
  byoc_test_shell(1, "byoc build . -o u.so");
  byoc_test_shell(1, ": > empty.onnx; byoc build empty.onnx -o u.so");
  byoc_test_printed("empty.onnx");
  byoc_test_shell(1, "head -c 5000 /dev/urandom > noise.onnx; byoc build noise.onnx -o u.so");
  byoc_test_shell(1, "byoc inspect noise.onnx");
  byoc_test_shell(1, "byoc opt noise.onnx");
  assert_false(byoc_file_exists("u.so"));
}

// ---- the machine ----

static void test_no_compiler(void **state) {
  (void)state;
  byoc_test_shell(0, "mkdir -p out empty");
  // A warm cache would hide what is missing.
  byoc_test_shell(1, "BYOC_CACHE_DIR=$PWD/cold CC= PATH=$PWD/empty %s/byoc build vision.onnx -o out/v.so",
                  BYOC_TEST_PROGRAM_DIR);
  byoc_test_printed("compiler");
  byoc_test_printed("hint: ");
  assert_nothing_left();
  byoc_test_shell(1, "BYOC_CACHE_DIR=$PWD/cold byoc build vision.onnx -o out/v.so --target 'c -cc=no-such-cc'");
  byoc_test_printed("no-such-cc");
  assert_nothing_left();
  byoc_test_shell(1, "BYOC_CACHE_DIR=$PWD/cold byoc build vision.onnx -o out/v.so --target 'c -cc=false'");
  byoc_test_printed("false");
  assert_nothing_left();
  // The evaluator needs none.
  static const char *const targets[] = {"c", "cblas; c", "dnnl; c"};
  for (size_t i = 0; i < 3; ++i) {
    byoc_test_shell(0,
                    "BYOC_CACHE_DIR=$PWD/cold CC= PATH=$PWD/empty %s/byoc run vision.onnx --evaluate --random "
                    "--target '%s'",
                    BYOC_TEST_PROGRAM_DIR, targets[i]);
  }
}

// The compiler that the target names does it all, the links of this process included, where no other can be found.
static void test_named_compiler_only(void **state) {
  (void)state;
  byoc_test_shell(0,
                  "mkdir -p out empty named && printf '#!/bin/sh\\nPATH=%%s exec cc \"$@\"\\n' \"$PATH\" > named/cc && "
                  "chmod +x named/cc");
  static const char *const commands[] = {"run vision.onnx --evaluate --random", "build vision.onnx -o out/v.so"};
  for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); ++i) {
    byoc_test_shell(0,
                    "BYOC_CACHE_DIR=$PWD/named/cold%zu CC= PATH=$PWD/empty %s/byoc %s --target \"cutlass; c "
                    "-cc=$PWD/named/cc\"",
                    i, BYOC_TEST_PROGRAM_DIR, commands[i]);
  }
  byoc_test_shell(0, "rm -r out/* named");
}

// Names that mean something to a shell, to a linker's options or in a list of paths.
static void test_odd_temporary_folder(void **state) {
  (void)state;
  byoc_test_shell(0, "mkdir -p out 'odd, folder:;%%s'");
  static const char *const commands[] = {"build vision.onnx -o out/v.so", "run vision.onnx --evaluate --random"};
  for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); ++i) {
    byoc_test_shell(0,
                    "TMPDIR=\"$PWD/odd, folder:;%%s\" BYOC_CACHE_DIR=\"$PWD/odd, folder:;%%s/cache%zu\" byoc %s "
                    "--target 'cutlass; dnnl; c'",
                    i, commands[i]);
  }
  byoc_test_shell(0, "rm -r out/* odd*");
}

static void test_wrong_folders(void **state) {
  (void)state;
  byoc_test_shell(1, "byoc build tiny.onnx -o nowhere/t.so");
  byoc_test_printed("nowhere");
  byoc_test_shell(1, "byoc build tiny.onnx -o /proc/t.so");
  byoc_test_shell(2, "mkdir -p folder.so && byoc build tiny.onnx -o folder.so");
  byoc_test_printed("folder.so");
  byoc_test_shell(1, "byoc run tiny.onnx --input in/x:0=x.npy --output-dir /proc/none");
  byoc_test_shell(1, "byoc-modelgen mlp -o nowhere/mlp.onnx");
  byoc_test_printed("nowhere");
}

// Inputs are not overwritten, and two outputs do not go into one file.
static void test_outputs_that_clash(void **state) {
  (void)state;
  static const struct {
    const char *line, *message;
  } rows[] = {
      {"byoc build own.onnx -o own.onnx", "-o would overwrite 'own.onnx'"},
      {"byoc build own.onnx -o ./link.onnx", "-o would overwrite 'own.onnx'"},
      {"byoc build own.onnx --save-plan own.onnx", "--save-plan would overwrite 'own.onnx'"},
      {"byoc build own.onnx --emit c -o own.onnx", "-o would overwrite 'own.onnx'"},
      {"byoc build own.onnx -o out/o.so --html out/../out/o.so", "-o and --html would write the same file"},
      {"byoc build own.onnx -o out/o.so --save-plan out/o.h", "the header of -o and --save-plan would write"},
      {"byoc build own.onnx -o out/old --html out/again", "-o and --html would write the same file"},
      {"byoc build own.onnx -o out/old --save-plan out/hard", "-o and --save-plan would write the same file"},
      {"byoc explain own.onnx --html own.onnx", "--html would overwrite 'own.onnx'"},
      {"byoc explain own.onnx --html out/x --save-plan out/x", "--save-plan and --html would write the same file"},
      {"byoc opt own.onnx -o own.onnx", "-o would overwrite 'own.onnx'"},
      {"byoc run own.onnx --input in/x:0=x.npy --input in/x:0=x.npy", "--input gives 'in/x:0' twice"},
  };
  byoc_test_shell(0, "mkdir -p out && cp tiny.onnx own.onnx && ln -s own.onnx link.onnx && echo old > out/old && "
                     "ln -s old out/again && ln out/old out/hard");
  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); ++i) {
    byoc_test_shell(2, "%s", rows[i].line);
    byoc_test_printed(rows[i].message);
  }
  byoc_test_shell(0, "cmp own.onnx tiny.onnx && grep -q old out/old && rm out/old out/again out/hard");
  assert_nothing_left();
}

// A file of another kind is called by its name; an option that has no effect is refused.
static void test_kinds_of_files(void **state) {
  (void)state;
  byoc_test_shell(0, "byoc build tiny.onnx -o kind.so && byoc opt tiny.onnx -o kind.txt");
  byoc_test_shell(1, "byoc build kind.so -o other.so");
  byoc_test_printed("'kind.so' is a shared object; a model is wanted here");
  byoc_test_shell(1, "byoc bench tiny.onnx");
  byoc_test_printed("make an artifact from a model with byoc build");
  byoc_test_shell(0, "byoc build kind.txt -o other.so"); // the text form by its first word
  byoc_test_shell(2, "byoc run kind.so --random --plan greedy");
  byoc_test_printed("--plan is for models; this is an artifact");
  byoc_test_shell(2, "byoc bench kind.so --dim N=3");
  byoc_test_printed("no input has a dimension 'N'");
  byoc_test_shell(2, "byoc inspect kind.so --dim N=3");
  byoc_test_printed("--dim is for models");
  byoc_test_shell(2, "byoc build kind.txt --dim N=3");
  byoc_test_printed("dimensions can be given to ONNX models");
  byoc_test_shell(2, "BYOC_HUGE_PAGES=abc byoc bench kind.so");
  byoc_test_printed("BYOC_HUGE_PAGES is 'abc'; a number from 0 to 1 is needed");
  byoc_test_shell(1, "CC=no-such-cc byoc build tiny.onnx -o other.so");
  byoc_test_printed("the compiler 'no-such-cc' of the variable CC was not found");
}

// An older artifact stays as it is if a new one cannot be made.
static void test_read_only_folder(void **state) {
  (void)state;
  if (geteuid() == 0 && byoc_test_try_shell("setpriv --version") != 0) {
    byoc_test_skip("root may write everywhere, and setpriv is missing");
  }
  const char *as = geteuid() == 0 ? "setpriv --reuid 65534 --clear-groups" : "";
  if (byoc_test_try_shell("%s byoc --version", as) != 0) {
    byoc_test_skip("other users do not reach the folder in which byoc was built");
  }
  byoc_test_shell(0, "mkdir -p locked && echo old > locked/t.so && chmod 555 locked && chmod 755 . && mkdir -p -m 777 "
                     "other");
  byoc_test_shell(1, "%s env BYOC_CACHE_DIR=$PWD/other/cache TMPDIR=$PWD/other byoc build tiny.onnx -o locked/t.so",
                  as);
  byoc_test_printed("locked");
  byoc_test_shell(0, "cat locked/t.so && ls locked other");
  byoc_test_printed("old\n");
  assert_null(strstr(byoc_test_output(), "t.h"));
  byoc_test_shell(0, "chmod 755 locked");
}

// The size limit is moved over all files, so that each is once the one that no longer fits.
static void test_full_disk(void **state) {
  (void)state;
  byoc_test_shell(0,
                  "mkdir -p out && byoc build vision.onnx -o whole.so --target 'cutlass; c' && stat -c %%s whole.so");
  long size = atol(byoc_test_output());
  for (long limit = 1; limit * 1024 < size + 4096; limit += 1 + limit / 3) {
    // ulimit -f counts blocks of 512 or 1024 bytes, by shell.
    int code = byoc_test_try_shell("(ulimit -f %ld; BYOC_CACHE_DIR=$PWD/cold%ld TMPDIR=$PWD byoc build vision.onnx -o "
                                   "out/v.so --target 'cutlass; c')",
                                   limit, limit);
    if (code == 0) {
      byoc_test_shell(0, "cmp whole.so out/v.so && rm out/v.so out/v.h");
      continue;
    }
    if (code != 1) fail_msg("limit %ld: exit code %d\n%s", limit, code, byoc_test_output());
    byoc_test_printed("error: ");
    assert_nothing_left();
  }
}

// The same on a real file system, where root may mount one.
static void test_full_file_system(void **state) {
  (void)state;
  static const char *const script =
      "mkdir -p disk && mount -t tmpfs -o size=24k tmpfs disk && (BYOC_CACHE_DIR=$PWD/cold byoc build vision.onnx -o "
      "disk/v.so; echo code $?; ls disk | wc -l; umount disk)";
  if (geteuid() != 0 || byoc_test_try_shell("unshare -m true") != 0) {
    byoc_test_skip("mounting a file system takes root and a mount namespace");
  }
  if (byoc_test_try_shell("unshare -m sh -c '%s'", script) != 0 || strstr(byoc_test_output(), "code") == NULL) {
    byoc_test_skip("a tmpfs cannot be mounted here: %s", byoc_test_output());
  }
  byoc_test_printed("No space left on device");
  byoc_test_printed("code 1\n0\n");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_truncated_models),    cmocka_unit_test(test_flipped_models),
      cmocka_unit_test(test_other_files),         cmocka_unit_test(test_no_compiler),
      cmocka_unit_test(test_named_compiler_only), cmocka_unit_test(test_odd_temporary_folder),
      cmocka_unit_test(test_wrong_folders),       cmocka_unit_test(test_read_only_folder),
      cmocka_unit_test(test_outputs_that_clash),  cmocka_unit_test(test_kinds_of_files),
      cmocka_unit_test(test_full_disk),           cmocka_unit_test(test_full_file_system),
  };
  return cmocka_run_group_tests(tests, setup, teardown);
}
