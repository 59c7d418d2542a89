// SPDX-License-Identifier: Apache-2.0
// Plugins as a user meets them: where they are found, which of two is used, what is refused and with which exit code.
#include <stdlib.h>
#include <unistd.h>

#include "core/base/file.h"
#include "tests/support/command.h"

#define GOOD BYOC_TEST_BUILD_DIR "/tests/plugins/good"
#define BAD  BYOC_TEST_BUILD_DIR "/tests/plugins/bad"

// The working folder, into `buffer`.
static const char *here(char buffer[1024]) {
  assert_non_null(getcwd(buffer, 1024));
  return buffer;
}

// ---- where plugins are looked for ----

static void test_a19_the_working_folder_is_never_searched(void **state) {
  (void)state;
  byoc_test_shell(0, "mkdir -p plugins && cp " GOOD "/demo_negate.so . && cp demo_negate.so plugins/");
  byoc_test_shell(2, "BYOC_PLUGIN_PATH= byoc build --target negate none.onnx");
  byoc_test_printed("unknown target 'negate'; there are: c");
  byoc_test_shell(2, "BYOC_PLUGIN_PATH=.:plugins: byoc build --target negate none.onnx");
  byoc_test_shell(0, "BYOC_PLUGIN_PATH=.:plugins: byoc plugins");
  byoc_test_printed("a relative folder in BYOC_PLUGIN_PATH is passed over");
  byoc_test_printed("an empty entry in BYOC_PLUGIN_PATH is passed over");
  byoc_test_shell(0,
                  "BYOC_PLUGIN_PATH= byoc plugins --plugin plugins/demo_negate.so"); // a file by name is another matter
  byoc_test_printed("targets negate");
}

// A program that runs with more rights than its user does not look where the user says.
static void test_a19_privileged_processes_ignore_the_environment(void **state) {
  (void)state;
  char folder[1024];
#if defined(__SANITIZE_ADDRESS__)
  byoc_test_skip("the leak sanitizer cannot look at a privileged process");
#endif
  if (geteuid() != 0) {
    byoc_test_skip("only root can make a program that belongs to another user");
  }
  byoc_test_shell(0, "mkdir -p privileged/bin paths && cp " GOOD
                     "/demo_negate.so paths/ && cp $(command -v byoc) privileged/bin/other && "
                     "chmod 755 . && chown 65534 privileged/bin/other && chmod 4755 privileged/bin/other");
  if (byoc_test_try_shell(
          "test $(privileged/bin/other --version > /dev/null; stat -c %%u privileged/bin/other) = 65534 && "
          "findmnt -no OPTIONS -T . > mount.txt && ! grep -q nosuid mount.txt") != 0) {
    byoc_test_skip("this file system does not let programs run as their owner");
  }
  byoc_test_shell(0, "BYOC_PLUGIN_PATH=%s/paths privileged/bin/other plugins", here(folder));
  if (strstr(byoc_test_output(), "demo_negate") != NULL) fail_msg("%s", byoc_test_output());
  byoc_test_shell(0, "BYOC_PLUGIN_PATH=%s/paths byoc plugins", here(folder));
  byoc_test_printed("demo_negate");
}

// ---- two plugins for one target ----

static void test_a21_two_plugins_for_one_target_are_an_error(void **state) {
  (void)state;
  char folder[1024];
  here(folder);
  byoc_test_shell(0, "mkdir -p one two && cp " BAD "/bad_good_larger_structs.so one/a.so && cp " BAD
                     "/bad_good_larger_note.so two/b.so");
  byoc_test_shell(1, "BYOC_PLUGIN_PATH=%s/one:%s/two byoc build --target bad none.onnx", folder, folder);
  byoc_test_printed("target 'bad' cannot be used: two plugins announce the target 'bad', '");
  byoc_test_printed("/one/a.so' and '");
  byoc_test_printed("/two/b.so' (choose one of them: --prefer FILE)");
  byoc_test_shell(1, "BYOC_PLUGIN_PATH=%s/one:%s/two byoc targets", folder, folder);
  byoc_test_printed("error: 2 plugins are refused, whose targets are missing here");
  byoc_test_shell(0, "BYOC_PLUGIN_PATH=%s/one:%s/two byoc targets 2>&1 | grep -c 'two plugins announce' | grep -x 1",
                  folder, folder); // once for both
  byoc_test_shell(0, "BYOC_PLUGIN_PATH=%s/one:%s/two byoc targets --prefer two", folder, folder);
  byoc_test_shell(0, "BYOC_PLUGIN_PATH=%s/one:%s/two byoc plugins --prefer two/b.so", folder, folder);
  byoc_test_printed("/one/a.so  (BYOC_PLUGIN_PATH)\n         reason: its target 'bad' is taken by '");
  byoc_test_shell(0, "BYOC_PLUGIN_PATH=%s/one byoc targets --plugin two/b.so", folder);
  byoc_test_shell(1, "BYOC_PLUGIN_PATH=%s/one byoc plugins --prefer two", folder);
  byoc_test_printed("--prefer 'two': no plugin was found there");
  // Copies of one plugin are no question.
  byoc_test_shell(0, "mkdir -p three && cp one/a.so three/copy.so");
  byoc_test_shell(0, "BYOC_PLUGIN_PATH=%s/one:%s/three byoc plugins --load", folder, folder);
  byoc_test_printed("it is a copy of '");
}

static void test_a21_unknown_targets_get_a_list(void **state) {
  (void)state;
  byoc_test_shell(2, "byoc build --target cutlas none.onnx");
  byoc_test_printed("unknown target 'cutlas'; there are: c, ");
  byoc_test_printed("hint: did you mean 'cutlass'?");
  byoc_test_shell(1, "byoc plugins --plugin " BAD "/bad_claims_c.so");
  byoc_test_printed("it claims the target 'c', which is the host's own");
}

// ---- what is refused, and the exit code ----

static void test_exit_codes_of_refusals(void **state) {
  (void)state;
  // Refused when it is loaded, by its file, and not at all.
  byoc_test_shell(1, "BYOC_PLUGIN_PATH= byoc targets --plugin " BAD "/bad_query_fails.so");
  byoc_test_printed("its query failed (unsupported): the licence has expired");
  byoc_test_printed("error: 1 plugin is refused, whose targets are missing here");
  byoc_test_shell(1, "BYOC_PLUGIN_PATH= byoc targets --json --plugin " BAD "/bad_query_fails.so");
  byoc_test_shell(1, "BYOC_PLUGIN_PATH= byoc targets --plugin " BAD "/bad_no_note.so");
  byoc_test_shell(0, "BYOC_PLUGIN_PATH= byoc targets --plugin " GOOD "/demo_negate.so");
  byoc_test_shell(0, "BYOC_PLUGIN_PATH= byoc plugins --plugin " BAD "/bad_query_fails.so"); // nothing was loaded
  byoc_test_shell(1, "BYOC_PLUGIN_PATH= byoc plugins --load --plugin " BAD "/bad_query_fails.so");
  byoc_test_printed("error: 1 of these plugins is refused");
  byoc_test_shell(1, "BYOC_PLUGIN_PATH= byoc plugins --load --json --plugin " BAD "/bad_query_fails.so");
  byoc_test_shell(0, "BYOC_PLUGIN_PATH= byoc plugins --load --plugin " GOOD "/demo_negate.so");
  byoc_test_shell(0, "mkdir -p notes && echo text > notes/x.so");
  char folder[1024];
  byoc_test_shell(1, "BYOC_PLUGIN_PATH=%s/notes byoc plugins --load", here(folder));
}

// ---- options ----

static void test_a22_wrong_options_are_refused(void **state) {
  (void)state;
  static const struct {
    const char *target, *message;
  } rows[] = {
      {"cblas -cores=auto", "target 'cblas' has no option '-cores'; it has: -core"},
      {"cblas -core=zen", "target 'cblas': option '-core' takes one of auto, skylakex, haswell, prescott, not 'zen'"},
      {"c -O=9", "target 'c': option '-O' takes an integer from 0 to 3, not '9'"},
      {"c -O=99999999999999999999", "not '99999999999999999999'"},
  };
  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); ++i) {
    byoc_test_shell(2, "byoc build --target '%s' none.onnx", rows[i].target);
    byoc_test_printed(rows[i].message);
  }
  // A value that is too long is refused, not cut.
  byoc_test_shell(2, "byoc build --target \"c -cc=$(head -c 5000 /dev/zero | tr '\\0' x)\" none.onnx");
  byoc_test_printed("bytes, not 5000");
}

// ---- a plugin to start from ----

static void test_new_plugin(void **state) {
  (void)state;
  byoc_test_shell(0, "byoc new-plugin my-backend");
  byoc_test_printed("my-backend/my-backend.c\nmy-backend/CMakeLists.txt\n");
  byoc_test_shell(1, "grep -r hello my-backend");
  byoc_test_shell(1, "grep -r SPDX my-backend"); // the licence of what users write is theirs to choose
  byoc_test_shell(0, "test $(wc -l < my-backend/my-backend.c) -le 45"); // short enough to be read at once
  byoc_test_shell(0,
                  "cd my-backend && cc -shared -fPIC -fvisibility=hidden -I" BYOC_TEST_SOURCE_DIR
                  "/include my-backend.c -o my-backend.so && "
                  "BYOC_PLUGIN_PATH= byoc run model.byoc --plugin my-backend.so --target 'my-backend; c' --random -v "
                  "2>&1 | grep 'placed my-backend 1 operator'");
  byoc_test_shell(0, "byoc new-plugin other_one --flavour table");
  byoc_test_shell(1, "grep -rw shrink other_one");
  byoc_test_shell(0, "cd other_one && BYOC_PLUGIN_PATH= byoc run model.byoc --plugin other_one.json --target "
                     "'other_one; c' --random -v 2>&1 | grep 'placed other_one 2 operators'");
  // Names in C cannot have the '-' of a target's name.
  byoc_test_shell(0, "byoc new-plugin my-npu --flavour engine && byoc new-plugin my-device --flavour device");
  byoc_test_shell(1, "grep -ri -e abacus -e slab my-npu my-device");
  byoc_test_shell(1, "byoc new-plugin my-backend");
  byoc_test_printed("the folder 'my-backend' cannot be made: File exists");
  byoc_test_shell(0, "test -s my-backend/my-backend.c");
  byoc_test_shell(2, "byoc new-plugin c");
  byoc_test_printed("'c' is the host's own target");
  byoc_test_shell(2, "byoc new-plugin ../there");
  byoc_test_printed("'../there' cannot be a plugin's name: a letter, then letters, digits, '_' and '-', at most 31");
  byoc_test_shell(2, "byoc new-plugin driver --flavour device");
  byoc_test_printed("a plugin of this flavour cannot be named 'driver': it has the file driver.c");
  byoc_test_shell(2, "byoc new-plugin mine --flavour engines");
  byoc_test_printed(
      "there is no flavour 'engines'\nhint: did you mean 'engine'? there are c, engine, device, npu and table");
  byoc_test_shell(2, "byoc new-plugin");
  byoc_test_printed("the plugin's name");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_a19_the_working_folder_is_never_searched),
      cmocka_unit_test(test_a19_privileged_processes_ignore_the_environment),
      cmocka_unit_test(test_a21_two_plugins_for_one_target_are_an_error),
      cmocka_unit_test(test_a21_unknown_targets_get_a_list),
      cmocka_unit_test(test_exit_codes_of_refusals),
      cmocka_unit_test(test_a22_wrong_options_are_refused),
      cmocka_unit_test(test_new_plugin),
  };
  return cmocka_run_group_tests(tests, byoc_test_enter_folder, byoc_test_leave_folder);
}
