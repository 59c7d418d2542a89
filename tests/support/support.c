// SPDX-License-Identifier: Apache-2.0
// Helpers shared by the tests.
#include "tests/support/support.h"

#include "core/base/file.h"

void byoc_test_ok_at(byoc_status_t status, const byoc_diag_t *diag, const char *file, int line) {
  if (status == BYOC_OK) return;
  print_error("status %d (%s)\n", (int)status, byoc_status_name(status));
  if (diag != NULL) byoc_diag_print(diag, stderr);
  _fail(file, line);
}

void byoc_test_error_at(byoc_status_t status, byoc_status_t expected, const byoc_diag_t *diag, const char *part,
                        const char *file, int line) {
  char text[4096] = "";
  byoc_diag_format(diag, text, sizeof(text));
  if (status == expected && strstr(text, part) != NULL) return;
  print_error("status %d (%s), expected %d (%s)\n", (int)status, byoc_status_name(status), (int)expected,
              byoc_status_name(expected));
  print_error("diagnostic: %s\nexpected in it: %s\n", text, part);
  _fail(file, line);
}

void byoc_test_same_text_at(const char *actual, const char *expected, const char *file, int line) {
  if (strcmp(actual, expected) == 0) return;
  size_t start = 0;
  int number = 1;
  for (size_t i = 0; actual[i] == expected[i]; i++) {
    if (actual[i] != '\n') continue;
    start = i + 1;
    number++;
  }
  print_error("--- expected\n%s\n--- actual\n%s\n", expected, actual);
  print_error("--- line %d\n- %.*s\n+ %.*s\n", number, (int)strcspn(expected + start, "\n"), expected + start,
              (int)strcspn(actual + start, "\n"), actual + start);
  _fail(file, line);
}

char *byoc_test_folder(void) {
  byoc_diag_t diag = {0};
  char *path = NULL;
  byoc_test_ok(byoc_make_temporary_directory("byoc-test", byoc_allocator_system(), &diag, &path), &diag);
  return path;
}

size_t byoc_test_count_entries(const char *path) {
  byoc_diag_t diag = {0};
  char **names = NULL;
  size_t count = 0;
  byoc_test_ok(byoc_list_directory(path, byoc_allocator_system(), &diag, &names, &count), &diag);
  byoc_free_names(byoc_allocator_system(), names, count);
  return count;
}

void byoc_test_each_allocation_fails(byoc_test_body_t body, void *argument, bool may_recover) {
  for (int64_t n = 0;; n++) {
    byoc_failing_allocator_t state = {.base = byoc_allocator_system(), .fail_at = n};
    byoc_status_t status = body(argument, byoc_failing_allocator(&state));
    bool failed = state.count > n;
    bool right = failed ? status == BYOC_OUT_OF_MEMORY || (may_recover && status == BYOC_OK) : status == BYOC_OK;
    if (!right) fail_msg("request %lld failing: status %s", (long long)n, byoc_status_name(status));
    if (state.live_count != 0) {
      fail_msg("request %lld failing: %lld blocks were not freed", (long long)n, (long long)state.live_count);
    }
    if (!failed) return;
  }
}

// splitmix64
uint64_t byoc_test_next(byoc_test_random_t *random) {
  uint64_t z = (random->state += 0x9E3779B97F4A7C15u);
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return z ^ (z >> 31);
}

uint64_t byoc_test_below(byoc_test_random_t *random, uint64_t limit) {
  return byoc_test_next(random) % limit;
}

float byoc_test_float(byoc_test_random_t *random) {
  return (float)(int64_t)(byoc_test_next(random) >> 40) / (float)(1 << 23) - 1.0f;
}
