// SPDX-License-Identifier: Apache-2.0
// Plans as JSON (core/collage/plan_json.h): what is read prints stably and is read again.
#include "core/collage/plan_json.h"
#include "tests/fuzz/fuzz.h"

static void check_again(const byoc_plan_t *plan) {
  byoc_diag_t diag = {0};
  byoc_plan_t again = {0};
  byoc_string_t first, second;
  byoc_string_init(&first, fuzz_allocator());
  byoc_string_init(&second, fuzz_allocator());
  byoc_status_t status = byoc_plan_print(plan, &first, &diag);
  fuzz_check_ok(status, &diag, "a plan that was read");
  if (status == BYOC_OK) {
    status = byoc_plan_read(fuzz_file(first.data, first.size), fuzz_allocator(), &diag, &again);
    fuzz_check_ok(status, &diag, first.data);
    if (status == BYOC_OK) {
      status = byoc_plan_print(&again, &second, &diag);
      fuzz_check_ok(status, &diag, "a plan that was printed");
      if (status == BYOC_OK) fuzz_check_same(&first, &second, "the printed plan");
      byoc_plan_deinit(&again);
    }
  }
  byoc_string_deinit(&second);
  byoc_string_deinit(&first);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  byoc_diag_t diag = {0};
  byoc_plan_t plan = {0};
  byoc_status_t status = byoc_plan_read(fuzz_file(data, size), fuzz_allocator(), &diag, &plan);
  fuzz_check(status, &diag);
  if (status != BYOC_OK) return 0;
  check_again(&plan);
  byoc_plan_deinit(&plan);
  return 0;
}
