// SPDX-License-Identifier: Apache-2.0
// Calls that fail, one at a time, in functions that once took it badly. What whole commands do is tried by
// tools/faults.
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/file.h"
#include "core/base/json.h"
#include "core/compose/artifact/module_tree.h"
#include "core/compose/cc/tool.h"
#include "core/plugin/hygiene.h"
#include "core/plugin/registry.h"
#include "tests/faults/inject.h"
#include "tests/support/command.h"

// Lets the n-th call of a kind fail, for each n until there are no more, and hands the status of the work to `judge`.
// Returns how many failed.
static size_t sweep(const char *kind, byoc_status_t (*work)(byoc_diag_t *diag)) {
  for (size_t n = 1;; n++) {
    char fault[64];
    snprintf(fault, sizeof(fault), "%s:command:%zu", kind, n);
    byoc_diag_t diag = {0};
    byoc_faults_set(fault);
    byoc_status_t status = work(&diag);
    bool has_struck = byoc_faults_struck() > 0;
    byoc_faults_set(NULL);
    if (!has_struck) {
      byoc_test_ok(status, &diag);
      return n - 1;
    }
    if (status != BYOC_OK && status != BYOC_OUT_OF_MEMORY) fail_msg("%s: %s", fault, diag.message);
  }
}

static byoc_status_t find_compiler(byoc_diag_t *diag) {
  const char *compiler = NULL;
  return byoc_c_compiler_find(NULL, diag, &compiler);
}

// It said that there was no C compiler.
static void test_compiler_is_found_without_memory(void **state) {
  (void)state;
  assert_int_equal(sweep("memory", find_compiler), 0);
}

static byoc_status_t dump_metadata(byoc_diag_t *diag) {
  (void)diag;
  json_t *object = json_pack("{s:i, s:s, s:{s:[i, f]}}", "format", 1, "a key of many characters, and one more", "text",
                             "inside", "numbers", 2, 0.5);
  char *text = byoc_json_dump(object, JSON_COMPACT);
  json_decref(object);
  if (text == NULL) return BYOC_OUT_OF_MEMORY;
  assert_string_equal(text, "{\"format\":1,\"a key of many characters, and one more\":\"text\","
                            "\"inside\":{\"numbers\":[2,0.5]}}");
  free(text);
  return BYOC_OK;
}

// The metadata of an artifact lost a key, and with it all others.
static void test_json_keeps_its_keys(void **state) {
  (void)state;
  assert_true(sweep("memory", dump_metadata) > 3);
}

// A compiler that took its time, by a clock that leapt, was known by its file from then on: other keys, other
// artifacts.
static void test_clock_leaps_while_the_compiler_is_asked(void **state) {
  (void)state;
  for (int n = 1; n < 100; n++) {
    char fault[32], *compiler = NULL;
    byoc_diag_t diag = {0};
    const char *version = NULL;
    assert_int_not_equal(asprintf(&compiler, "%*scc", n, ""), -1); // each is asked anew
    snprintf(fault, sizeof(fault), "clock:command:%d", n);
    byoc_faults_set(fault);
    byoc_status_t status = byoc_c_compiler_version(compiler, &diag, &version);
    bool has_struck = byoc_faults_struck() > 0;
    byoc_faults_set(NULL);
    free(compiler);
    byoc_test_ok(status, &diag);
    assert_null(strstr(version, "without a version"));
    if (!has_struck) return;
  }
  fail();
}

// The same of a compiler that failed once, as one does for which there was no memory.
static void test_compiler_fails_once(void **state) {
  (void)state;
  byoc_test_shell(0, "printf '#!/bin/sh\\n[ -e asked ] || { touch asked; exit 1; }\\necho version 7\\n' > flaky && "
                     "chmod +x flaky");
  byoc_diag_t diag = {0};
  const char *version = NULL;
  byoc_test_ok(byoc_c_compiler_version("./flaky", &diag, &version), &diag);
  assert_string_equal(version, "version 7");
}

static byoc_status_t read_metadata(byoc_diag_t *diag) {
  byoc_module_tree_t tree;
  byoc_status_t status = byoc_module_tree_read("{\"modules\": [{\"name\": \"a\", \"kind\": \"metadata\"}]}",
                                               byoc_allocator_system(), diag, &tree);
  byoc_module_tree_deinit(&tree);
  return status;
}

// It said that the text was no JSON.
static void test_json_needs_memory(void **state) {
  (void)state;
  assert_true(sweep("memory", read_metadata) > 0);
}

// A plugin was refused because it had changed the umask, where the umask could not be read.
static void test_umask_cannot_be_read(void **state) {
  (void)state;
  byoc_hygiene_t before;
  byoc_diag_t diag = {0};
  byoc_hygiene_take(&before);
  byoc_faults_set("open:command:1");
  byoc_status_t status = byoc_hygiene_check(&before, &diag);
  assert_int_equal(byoc_faults_struck(), 1);
  byoc_faults_set(NULL);
  byoc_test_ok(status, &diag);
}

static bool removes_folder_later(void) {
  char *folder = NULL;
  if (byoc_make_temporary_directory("byoc-faults", byoc_allocator_system(), NULL, &folder) != BYOC_OK) return false;
  byoc_faults_set("open:command:1");
  byoc_status_t status = byoc_remove_tree(folder, NULL);
  byoc_faults_set(NULL);
  byoc_remove_temporaries();
  bool is_gone = !byoc_is_directory(folder);
  byoc_free(byoc_allocator_system(), folder);
  return status == BYOC_IO && is_gone;
}

// A folder that could not be looked into was left behind for good. In a child: this process has temporary files, too.
static void test_folder_is_removed_later(void **state) {
  (void)state;
  pid_t child = fork();
  if (child == 0) _exit(removes_folder_later() ? 0 : 1);
  int status = -1;
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_int_equal(status, 0);
}

#define UNDER(fault)                                                                                                   \
  "rm -f counts && BYOC_FAULT=" fault " BYOC_FAULT_COUNTS=counts LD_PRELOAD=" BYOC_TEST_BUILD_DIR                      \
  "/tests/libbyoc_faults.so "

// The exit status was 2, as if the user had misspelt the target.
static void test_plugin_cannot_be_tried(void **state) {
  (void)state;
  static const char text[] = "module {\n  func @main(%x : f32[4]) -> (%y : f32[4]) {\n"
                             "    %y = Relu@14(%x) : f32[4]\n    return %y\n  }\n}\n";
  byoc_diag_t diag = {0};
  byoc_test_ok(byoc_file_write("m.byoc", text, sizeof(text) - 1, &diag), &diag);
  byoc_test_shell(1, UNDER("fork:command:1:on") "byoc explain m.byoc -t cblas --cost estimate");
  byoc_test_printed("target 'cblas' cannot be used");
  byoc_test_printed("Resource temporarily unavailable");
}

// Targets were left out of the list without a word.
static void test_list_of_targets_tells_what_is_missing(void **state) {
  (void)state;
  byoc_test_shell(1, UNDER("fork:command:1:on") "byoc targets");
  byoc_test_printed("cblas.so' is refused: cannot start a process to try it in");
  // So are they where any time that a file is opened fails: the second one of a plugin, behind its note, was not told.
  byoc_test_shell(0, "byoc targets > all.txt");
  byoc_test_shell(0, "told=0; for n in $(seq 1 40); do if " UNDER(
                         "open:command:$n") "byoc targets > some.txt 2> why.txt; then cmp all.txt some.txt || exit 1; "
                                            "else told=$((told + 1)); fi; done; test $told -gt 0");
}

// The reason stood in a warning about builds only, or was that of a rollback.
static void test_costs_say_why(void **state) {
  (void)state;
  byoc_test_shell(1, UNDER("fsync:command:5:on") "BYOC_CACHE_DIR=$PWD/costs byoc costs list");
  byoc_test_printed("error: the cost database cannot be used: disk I/O error");
}

// A line that found no memory was left out, and the command ended well.
static void test_left_out_lines_are_an_error(void **state) {
  (void)state;
  byoc_test_shell(0, "byoc plugins > whole.txt");
  byoc_test_shell(
      0, "for n in $(seq 1 2 121); do " UNDER("memory:command:$n:on") "byoc plugins > part.txt 2> why.txt && { cmp "
                                                                      "whole.txt part.txt || exit 1; }; done; true");
}

static byoc_status_t find_cache(byoc_diag_t *diag) {
  char *folder = NULL;
  byoc_status_t status = byoc_cache_directory(byoc_allocator_system(), diag, &folder);
  byoc_free(byoc_allocator_system(), folder);
  return status;
}

// For want of memory the folder of plugins was taken to be missing, or another folder was used for the cache.
static void test_folders_need_memory(void **state) {
  (void)state;
  // Libraries may allocate before the command does, so the folder's allocation is one of the first.
  byoc_test_shell(0, "byoc plugins > whole.txt; rm -f missing.txt; for n in $(seq 1 16); do " UNDER(
                         "memory:command:$n") "byoc plugins > part.txt 2> why.txt; code=$?; "
                                              "if [ $code -eq 0 ]; then cmp whole.txt part.txt || exit 1; "
                                              "else grep -q 'out of memory' why.txt || exit 2; echo $n >> missing.txt; "
                                              "fi; done; test -s missing.txt");
  byoc_test_shell(0, "mkdir -p mine && chmod 700 mine");
  setenv("BYOC_CACHE_DIR", "mine", 1);
  sweep("memory", find_cache);
  byoc_test_shell(0, "test ! -e $TMPDIR/byoc-$(id -u)");
}

static size_t plugin_count; // 0: not known yet

static byoc_status_t search_twice(byoc_diag_t *diag) {
  const byoc_plugin_options_t options = {.environment = BYOC_TEST_PLUGIN_DIR, .installation = BYOC_TEST_PLUGIN_DIR};
  byoc_plugin_registry_t *registry = NULL;
  BYOC_RETURN_IF_ERROR(byoc_plugin_registry_create(&options, byoc_allocator_system(), diag, &registry));
  if (plugin_count == 0) plugin_count = byoc_plugin_registry_count(registry);
  assert_int_equal(byoc_plugin_registry_count(registry), plugin_count);
  byoc_plugin_registry_destroy(registry);
  return BYOC_OK;
}

// For want of memory a folder that had been searched was searched again, and each of its plugins was refused once.
static void test_folder_is_searched_once(void **state) {
  (void)state;
  byoc_diag_t diag = {0};
  byoc_test_ok(search_twice(&diag), &diag);
  assert_true(sweep("memory", search_twice) > 0);
}

// Constants that were not packed, for want of memory, made another artifact than the same build before and after.
static void test_dnnl_packs_or_fails(void **state) {
  (void)state;
  byoc_test_shell(0, "byoc-modelgen lenet -o lenet.onnx");
  byoc_test_shell(1, UNDER("mmap:command:1:on") "byoc build lenet.onnx -t dnnl --plan greedy --emit=host");
  byoc_test_printed(
      "the constants of dnnl_0 cannot be packed: out of memory for the reserve of oneDNN; -pack=0 leaves");
  byoc_test_shell(1, UNDER("mmap:command:30:on") "byoc build lenet.onnx -t dnnl --plan greedy --emit=host");
  byoc_test_printed("oneDNN cannot create the primitive: out_of_memory");
  byoc_test_shell(0, UNDER("mmap:command:30:on") "byoc build lenet.onnx -t 'dnnl -pack=0' --plan greedy --emit=host");
}

// Where its last step gets no memory, dlopen of glibc keeps the library in part and then hands it out as if it were
// whole: the second creation crashed in it.
static void test_dnnl_is_not_used_in_part(void **state) {
  (void)state;
  byoc_test_shell(0, "byoc-modelgen lenet -o lenet.onnx && byoc build lenet.onnx -t dnnl --plan greedy -o dnnl.so");
  byoc_test_shell(0, "for n in $(seq 1 300); do " UNDER("memory:command:$n") BYOC_TEST_BUILD_DIR
                  "/tests/faults_host ./dnnl.so 1 1 create >out 2>reasons; code=$?; [ $code -lt 128 ] || "
                  "{ echo \"allocation $n: exit status $code\"; cat reasons; exit 9; }; "
                  "grep 'in part' reasons >>parts; done; cat parts");
  byoc_test_printed("is loaded in part: the system ran out of memory at the end; start the program again");
}

// How many calls of a kind the command under the library made.
static uint64_t counted(const char *name) {
  byoc_fault_count_t count;
  FILE *file = fopen("counts", "rb");
  assert_non_null(file);
  bool is_there = false;
  while (!is_there && fread(&count, sizeof(count), 1, file) == 1) is_there = strcmp(count.name, name) == 0;
  assert_int_equal(fclose(file), 0);
  if (!is_there) fail_msg("nothing counts %s", name);
  return count.count;
}

static void host_counts(const char *part, int threads) {
  byoc_test_shell(0,
                  "rm -f counts && BYOC_FAULT_WAITS=1 BYOC_FAULT_COUNTS=counts LD_PRELOAD=" BYOC_TEST_BUILD_DIR
                  "/tests/libbyoc_faults.so " BYOC_TEST_BUILD_DIR "/tests/faults_host ./still.so %d 1 %s",
                  threads, part);
}

// The first run of a context, with one thread and with two. oneDNN allocates, as include/byoc/artifact.h says.
static void test_runs_allocate_nothing(void **state) {
  (void)state;
  static const char *const targets[] = {"c", "cutlass", "cutlass; cblas; c"};
  byoc_test_shell(0, "byoc-modelgen lenet -o lenet.onnx");
  for (size_t i = 0; i < sizeof(targets) / sizeof(targets[0]); ++i) {
    byoc_test_shell(0, "byoc build lenet.onnx -t '%s' --plan greedy -o still.so", targets[i]);
    for (int threads = 1; threads <= 2; ++threads) {
      host_counts("create", threads);
      assert_true(counted("memory:command") > 0);
      host_counts("run", threads);
      assert_int_equal(counted("memory:command"), 0);
      assert_int_equal(counted("mmap:command"), 0);
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_compiler_is_found_without_memory),
      cmocka_unit_test(test_clock_leaps_while_the_compiler_is_asked),
      cmocka_unit_test(test_compiler_fails_once),
      cmocka_unit_test(test_json_needs_memory),
      cmocka_unit_test(test_json_keeps_its_keys),
      cmocka_unit_test(test_umask_cannot_be_read),
      cmocka_unit_test(test_folder_is_removed_later),
      cmocka_unit_test(test_plugin_cannot_be_tried),
      cmocka_unit_test(test_list_of_targets_tells_what_is_missing),
      cmocka_unit_test(test_costs_say_why),
      cmocka_unit_test(test_left_out_lines_are_an_error),
      cmocka_unit_test(test_folders_need_memory),
      cmocka_unit_test(test_folder_is_searched_once),
      cmocka_unit_test(test_dnnl_packs_or_fails),
      cmocka_unit_test(test_dnnl_is_not_used_in_part),
      cmocka_unit_test(test_runs_allocate_nothing),
  };
  return cmocka_run_group_tests(tests, byoc_test_enter_folder, byoc_test_leave_folder);
}
