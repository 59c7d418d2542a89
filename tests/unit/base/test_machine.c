// SPDX-License-Identifier: Apache-2.0
// Machines by triple and by ELF number.
#include "tests/support/support.h"

#include <elf.h>
#include <string.h>

#include "core/base/elf.h"
#include "core/base/machine.h"

static void test_triples(void **state) {
  (void)state;
  static const struct {
    const char *triple;
    byoc_machine_t machine;
  } good[] = {{"aarch64-linux-gnu", BYOC_MACHINE_AARCH64},
              {"riscv64-linux-gnu", BYOC_MACHINE_RISCV64},
              {"x86_64-linux-musl", BYOC_MACHINE_X86_64},
              {"aarch64-none-linux-gnu", BYOC_MACHINE_AARCH64}};
  byoc_diag_t diag = {0};
  byoc_machine_t machine;
  for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); ++i) {
    byoc_test_ok(byoc_machine_of_triple(good[i].triple, &diag, &machine), &diag);
    assert_int_equal(machine, good[i].machine);
  }
  byoc_test_ok(byoc_machine_of_triple(byoc_machine_host_triple(), &diag, &machine), &diag);
  assert_int_equal(machine, byoc_machine_host());
}

static void test_wrong_triples(void **state) {
  (void)state;
  static const char *const wrong[] = {"",
                                      "aarch64",
                                      "aarch64-",
                                      "-linux-gnu",
                                      "mips-linux",
                                      "aarch64--gnu",
                                      "aarch64-linux gnu",
                                      "aarch64-linux;gnu",
                                      "aarch64/x",
                                      "aarch64x-linux",
                                      "riscv64-linux-gnu-",
                                      "aarch64-../x",
                                      "x86_64-w64-mingw32",
                                      "aarch64-none-elf"};
  for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); ++i) {
    byoc_diag_t diag = {0};
    byoc_machine_t machine;
    byoc_test_error(byoc_machine_of_triple(wrong[i], &diag, &machine), BYOC_INVALID_ARGUMENT, &diag,
                    "there are x86_64, aarch64, riscv64");
  }
  byoc_diag_t diag = {0};
  byoc_machine_t machine;
  assert_int_equal(byoc_machine_of_triple("aarch46-linux-gnu", &diag, &machine), BYOC_INVALID_ARGUMENT);
  assert_string_equal(diag.hint, "did you mean 'aarch64-linux-gnu'?");
  static const char *const bare[][2] = {{"aarch64", "did you mean 'aarch64-linux-gnu'?"},
                                        {"arm", "did you mean 'arm-linux-gnueabihf'?"},
                                        {"x86_64-w64-mingw32", ""}};
  for (size_t i = 0; i < sizeof(bare) / sizeof(bare[0]); ++i) {
    byoc_diag_clear(&diag);
    assert_int_equal(byoc_machine_of_triple(bare[i][0], &diag, &machine), BYOC_INVALID_ARGUMENT);
    assert_string_equal(diag.hint, bare[i][1]);
  }
}

static void test_numbers(void **state) {
  (void)state;
  char name[BYOC_MACHINE_NAME_BYTES];
  assert_int_equal(byoc_machine_elf(byoc_machine_host()), byoc_elf_host_machine());
  assert_int_equal(byoc_machine_elf(BYOC_MACHINE_AARCH64), EM_AARCH64);
  assert_int_equal(byoc_machine_elf(BYOC_MACHINE_RISCV64), EM_RISCV);
  assert_int_equal(byoc_machine_elf(BYOC_MACHINE_X86_64), EM_X86_64);
  assert_string_equal(byoc_machine_print_elf(EM_AARCH64, name), "aarch64");
  assert_string_equal(byoc_machine_print_elf(EM_S390, name), "ELF machine 22");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_triples),
      cmocka_unit_test(test_wrong_triples),
      cmocka_unit_test(test_numbers),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
