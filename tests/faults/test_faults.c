// Calls that fail, one at a time, in functions that once took it badly. What whole commands do is tried by
// tools/faults.
#include <stdio.h>
#include <string.h>

#include "core/compose/tool.h"
#include "tests/faults/inject.h"
#include "tests/support/support.h"

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
    if (status != BYOC_OK && status != BYOC_OUT_OF_MEMORY) fail_msg("%s: status %d", fault, (int)status);
  }
}

static byoc_status_t find_compiler(byoc_diag_t *diag) {
  const char *compiler = NULL;
  return byoc_compiler_find(NULL, diag, &compiler);
}

// It said that there was no C compiler.
static void test_compiler_is_found_without_memory(void **state) {
  (void)state;
  assert_int_equal(sweep("memory", find_compiler), 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_compiler_is_found_without_memory),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
