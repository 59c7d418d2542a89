// SPDX-License-Identifier: Apache-2.0
// Hardening of the command, a plugin and an artifact, read back from the files.
#include <stdio.h>

#include "tests/cli/models.h"
#include "tests/support/command.h"

static int setup(void **state) {
  if (byoc_test_enter_folder(state) != 0) return -1;
  write_vision("vision.onnx");
  return 0;
}

// What every file of ours has: no segment that is writable and executable, addresses that are bound and read-only
// before the first call, a build ID.
static void is_hardened(const char *path) {
  byoc_test_shell(0, "readelf -hlW '%s'", path);
  byoc_test_printed("DYN (");
  byoc_test_printed("GNU_RELRO");
  byoc_test_printed("GNU_STACK");
  byoc_test_no_line("RWE|W E");
  byoc_test_shell(0, "readelf -dW '%s' | grep FLAGS_1", path);
  byoc_test_printed("NOW");
  byoc_test_shell(0, "readelf -dW '%s'", path);
  byoc_test_no_line("TEXTREL");
  byoc_test_shell(0, "readelf -nW '%s'", path);
  byoc_test_printed("NT_GNU_BUILD_ID");
}

// Sanitized code has checks of its own, and only optimised code can have those of _FORTIFY_SOURCE.
static void checks_its_buffers(const char *path) {
#ifndef BYOC_SANITIZED
  byoc_test_shell(0, "nm -D --undefined-only '%s'", path);
  byoc_test_printed("__stack_chk_fail");
#ifdef __OPTIMIZE__
  byoc_test_printed("__vsnprintf_chk");
#endif
#endif
  (void)path;
}

static void test_command(void **state) {
  (void)state;
  is_hardened(BYOC_TEST_BUILD_DIR "/bin/byoc");
  checks_its_buffers(BYOC_TEST_BUILD_DIR "/bin/byoc");
  byoc_test_shell(0, "readelf -dW '" BYOC_TEST_BUILD_DIR "/bin/byoc' | grep FLAGS_1");
  byoc_test_printed("PIE");
}

static void test_plugins(void **state) {
  (void)state;
  static const char *const names[] = {"cutlass", "dnnl", "cblas"};
  for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); ++i) {
    char path[512];
    snprintf(path, sizeof(path), BYOC_TEST_PLUGIN_DIR "/%s.so", names[i]);
    if (byoc_test_try_shell("test -e '%s'", path) != 0) continue; // cblas is for x86-64 only
    is_hardened(path);
    checks_its_buffers(path);
  }
}

static void test_artifacts(void **state) {
  (void)state;
  static const char *const compilers[] = {"gcc", "clang"};
  static const char *const targets[] = {"c", "cutlass; c"};
  for (size_t i = 0; i < sizeof(compilers) / sizeof(compilers[0]); ++i) {
    if (byoc_test_try_shell("command -v %s", compilers[i]) != 0) continue;
    for (size_t t = 0; t < sizeof(targets) / sizeof(targets[0]); ++t) {
      byoc_test_shell(0, "CC=%s byoc build vision.onnx --target '%s'", compilers[i], targets[t]);
      is_hardened("vision.so");
      checks_its_buffers("vision.so");
      byoc_test_shell(0, "readelf -nW vision.so");
      byoc_test_no_line("Build ID: 00000000");
      // Kernels check no canary: the symbols of the artifact's own kernels are still in the file.
      if (t == 0 && byoc_test_try_shell("command -v objdump") == 0) {
        byoc_test_shell(0,
                        "objdump -d vision.so | awk '/^[0-9a-f]+ </ {in_kernel = /<byoc_k[0-9]/} in_kernel' > k.s && "
                        "grep -q byoc_k0 k.s && ! grep -E 'stack_chk|%%fs:0x28' k.s");
      }
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_command),
      cmocka_unit_test(test_plugins),
      cmocka_unit_test(test_artifacts),
  };
  return cmocka_run_group_tests(tests, setup, byoc_test_leave_folder);
}
