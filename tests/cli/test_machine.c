// SPDX-License-Identifier: Apache-2.0
// The machine that byoc runs on: closed descriptors, full disks, read-only caches and a sudden end.
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/base/file.h"
#include "tests/cli/models.h"
#include "tests/support/command.h"

static int setup(void **state) {
  if (byoc_test_enter_folder(state) != 0) return -1;
  write_tiny("tiny.onnx", "2");
  return 0;
}

static void skip_without_mounts(void) {
  if (geteuid() == 0 && byoc_test_try_shell("mkdir -p mnt && unshare -m mount -t tmpfs tmpfs mnt") == 0) return;
  byoc_test_skip("mounting a file system takes root and a mount namespace");
}

// ---- closed descriptors ----

static void test_closed_descriptors(void **state) {
  (void)state;
  static const char *const rows[] = {"<&-", ">&-", "2>&-", "<&- >&-", "<&- 2>&-", ">&- 2>&-", "<&- >&- 2>&-"};
  byoc_test_shell(0, "byoc build tiny.onnx -o open.so --name tiny --plan greedy -t 'cutlass; c'");
  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); ++i) {
    // The artifact is made either way; what the command has to say about it cannot be printed.
    const int code = strstr(rows[i], ">&-") == rows[i] || strstr(rows[i], " >&-") != NULL ? 1 : 0;
    byoc_test_shell(code, "byoc build tiny.onnx -o closed.so --name tiny --plan greedy -t 'cutlass; c' %s", rows[i]);
    byoc_test_shell(0, "cmp open.so closed.so && rm closed.*");
  }
  byoc_test_shell(0, "byoc-modelgen lenet -o open.onnx && byoc-modelgen lenet -o closed.onnx <&- >&- 2>&-"
                     " && cmp open.onnx closed.onnx && rm open.* closed.*");
}

// What cannot be printed is an error of each command that prints.
static void test_output_that_is_lost(void **state) {
  (void)state;
  static const char *const commands[] = {"--help",
                                         "--version",
                                         "build --help",
                                         "build tiny.onnx -o lost.so -t c",
                                         "build tiny.onnx --emit host",
                                         "explain tiny.onnx -t c --plan greedy",
                                         "run all.so --random",
                                         "run tiny.onnx --evaluate --random",
                                         "run all.so --random --trace",
                                         "bench all.so --runs 1",
                                         "bench all.so --runs 1 --json",
                                         "debug diff all.trace all.trace",
                                         "debug bisect tiny.onnx -t c",
                                         "profile all.so --runs 1",
                                         "inspect all.so",
                                         "inspect all.so --json",
                                         "inspect tiny.onnx",
                                         "weights list all.so",
                                         "costs list --json",
                                         "targets",
                                         "ops",
                                         "plugins",
                                         "new-plugin lost",
                                         "opt tiny.onnx"};
  byoc_test_shell(
      0, "byoc build tiny.onnx -o all.so -t c --trace --profile && byoc run all.so --random --trace=all.trace");
  for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); ++i) {
    byoc_test_shell(1, "rm -rf lost; byoc %s >&-", commands[i]);
    byoc_test_printed("error: cannot write to standard output");
    byoc_test_shell(1, "rm -rf lost; byoc %s > /dev/full", commands[i]);
    byoc_test_printed("cannot write to standard output");
  }
  byoc_test_shell(0, "rm -rf lost lost.* all.*");
}

// ---- all files of a build, or none ----

static const char four_files[] = "-o out/m.so --save-plan out/m.json --html out/m.html --plan greedy -t 'cutlass; c'";

// The compiler fails after the plan is made.
static void test_failing_build_writes_nothing(void **state) {
  (void)state;
  byoc_test_shell(0, "mkdir out");
  byoc_test_shell(1, "CC=false BYOC_CACHE_DIR=$PWD/cold byoc build tiny.onnx %s", four_files);
  byoc_test_shell(0, "rm -rf cold && rmdir out");
}

// The disk is full when the artifact, the largest of four files, is to be written; the older files stay.
static void test_full_disk_keeps_older_files(void **state) {
  (void)state;
  skip_without_mounts();
  byoc_test_shell(0, "byoc-modelgen lenet -o lenet.onnx && mkdir out");
  byoc_test_try_shell(
      "unshare -m sh -c '"
      "mount -t tmpfs -o size=150k tmpfs out && for end in so h json html; do echo old > out/m.$end; done\n"
      "byoc build lenet.onnx %s\necho code $?; cat out/*; ls -A out | wc -l'",
      "-o out/m.so --save-plan out/m.json --html out/m.html --plan greedy -t c");
  byoc_test_printed("No space left on device");
  byoc_test_printed("code 1\nold\nold\nold\nold\n4\n");
  byoc_test_shell(0, "rmdir out && rm lenet.onnx");
}

// ---- caches ----

// A cache that cannot be written is read, costs included, and nothing is said of it.
static void test_read_only_cache(void **state) {
  (void)state;
  skip_without_mounts();
  static const char options[] = "-t 'cutlass; c' --plan collage --cost-budget 20 -o ro.so";
  byoc_test_shell(0,
                  "mkdir -p home/.cache && unset BYOC_CACHE_DIR XDG_CACHE_HOME && export HOME=$PWD/home "
                  "TMPDIR=$PWD/mnt && byoc build tiny.onnx %s && ls home/.cache/byoc/costs.sqlite",
                  options);
  byoc_test_shell(
      0,
      "unset BYOC_CACHE_DIR XDG_CACHE_HOME; export HOME=$PWD/home TMPDIR=$PWD/mnt; unshare -m sh -c \"mount "
      "--bind home home && mount -o remount,ro,bind home && byoc build -v tiny.onnx %s && ls -A mnt\"",
      options);
  byoc_test_printed("costs: 0 measured");
  const char *output = byoc_test_output();
  assert_null(strstr(output, "warning"));
  assert_null(strstr(output, "byoc-0")); // no other cache beside it
  byoc_test_shell(0, "rm -rf home mnt ro.so ro.h");
}

// A cache on a full disk costs time, nothing else.
static void test_full_cache(void **state) {
  (void)state;
  skip_without_mounts();
  byoc_test_shell(0, "unshare -m sh -c \"mount -t tmpfs -o size=64k,mode=0700 tmpfs mnt && "
                     "{ head -c 100k /dev/zero > mnt/fill || true; } 2> /dev/null; "
                     "BYOC_CACHE_DIR=$PWD/mnt byoc build tiny.onnx -t 'cutlass; c' --plan collage --cost-budget 20 "
                     "-o full.so\"");
  byoc_test_shell(0, "byoc run full.so --random && rm -rf mnt full.so full.h");
}

// ---- a sudden end ----

// A compiler that never comes back, with a child of its own.
static const char slow_cc[] = "#!/bin/sh\ncase \"$*\" in *--version*) exec cc \"$@\";; esac\n"
                              "sleep 300 &\necho $! > child.new\nmv child.new child\nwait\n";

// byoc and its compiler are killed at once, and the next build removes what they left.
static void test_killed(void **state) {
  (void)state;
  byoc_diag_t diag = {0};
  byoc_test_ok(byoc_file_write("slow-cc", slow_cc, sizeof(slow_cc) - 1, &diag), &diag);
  byoc_test_shell(0, "chmod +x slow-cc && mkdir -p tmp cache && here=$PWD\n"
                     "export TMPDIR=$here/tmp BYOC_CACHE_DIR=$here/cache\n"
                     "sed -i \"s|child|$here/child|g\" slow-cc\n"
                     "CC=$here/slow-cc byoc build tiny.onnx -t c > log 2>&1 & pid=$!\n"
                     "n=0; while [ ! -e child ] && [ $n -lt 600 ]; do sleep 0.1; n=$((n+1)); done\n"
                     "kill -9 $pid; read child < child\n"
                     "n=0; while grep -q '^State:.[^ZX]' /proc/$child/status 2> /dev/null && [ $n -lt 100 ]; do\n"
                     "  sleep 0.1; n=$((n+1)); done\n"
                     "cat log; ls -A tmp; [ $n -lt 100 ] || exit 9");
  byoc_test_printed("byoc-tmp");
  byoc_test_shell(0, "export TMPDIR=$PWD/tmp BYOC_CACHE_DIR=$PWD/cache\nbyoc build tiny.onnx -t c && ls -A tmp");
  assert_null(strstr(byoc_test_output(), "byoc-tmp"));
  byoc_test_shell(0, "rmdir tmp && rm -r cache child log slow-cc tiny.so tiny.h");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_closed_descriptors),
      cmocka_unit_test(test_output_that_is_lost),
      cmocka_unit_test(test_failing_build_writes_nothing),
      cmocka_unit_test(test_full_disk_keeps_older_files),
      cmocka_unit_test(test_read_only_cache),
      cmocka_unit_test(test_full_cache),
      cmocka_unit_test(test_killed),
  };
  return cmocka_run_group_tests(tests, setup, byoc_test_leave_folder);
}
