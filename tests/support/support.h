// SPDX-License-Identifier: Apache-2.0
// Small helpers shared by the tests. Include this instead of <cmocka.h>: it needs four headers before it.
#ifndef BYOC_TESTS_SUPPORT_SUPPORT_H_
#define BYOC_TESTS_SUPPORT_SUPPORT_H_

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "core/base/allocator.h"
#include "core/base/diag.h"
#include "tests/support/group.h"

// Fails the test with the diagnostic's words unless `status` is BYOC_OK.
#define byoc_test_ok(status, diag) byoc_test_ok_at((status), (diag), __FILE__, __LINE__)
void byoc_test_ok_at(byoc_status_t status, const byoc_diag_t *diag, const char *file, int line);
// Fails unless `status` is `expected` and `part` occurs in the diagnostic's text.
#define byoc_test_error(status, expected, diag, part)                                                                  \
  byoc_test_error_at((status), (expected), (diag), (part), __FILE__, __LINE__)
void byoc_test_error_at(byoc_status_t status, byoc_status_t expected, const byoc_diag_t *diag, const char *part,
                        const char *file, int line);
// Fails, showing both texts and the first line that differs, unless they are equal.
#define byoc_test_same_text(actual, expected) byoc_test_same_text_at((actual), (expected), __FILE__, __LINE__)
void byoc_test_same_text_at(const char *actual, const char *expected, const char *file, int line);

// A folder for this test, removed when the process ends. Free with free().
char *byoc_test_folder(void);
// The number of entries of a folder.
size_t byoc_test_count_entries(const char *path);

// Runs `body` with the first, the second, ... allocation failing, until a run has no failing request. Each run must
// return BYOC_OUT_OF_MEMORY (the last one BYOC_OK) and free every block. With `may_recover`, BYOC_OK is accepted too,
// for bodies that recover from a failed request.
typedef byoc_status_t (*byoc_test_body_t)(void *argument, byoc_allocator_t allocator);
void byoc_test_each_allocation_fails(byoc_test_body_t body, void *argument, bool may_recover);

// A seeded sequence of numbers for random tests.
typedef struct byoc_test_random_t {
  uint64_t state;
} byoc_test_random_t;
uint64_t byoc_test_next(byoc_test_random_t *random);
uint64_t byoc_test_below(byoc_test_random_t *random, uint64_t limit);
float byoc_test_float(byoc_test_random_t *random); // in [-1, 1)

#endif // BYOC_TESTS_SUPPORT_SUPPORT_H_
