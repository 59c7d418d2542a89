// SPDX-License-Identifier: Apache-2.0
// What the fuzz targets share. A target is one file of tests/fuzz/targets. It is given bytes that nobody chose and must
// find an answer or a reason for them: a crash, a hang, a leak, an error of byoc's own or one without a reason is a
// finding.
//
// Example:
//   int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
//     byoc_diag_t diag = {0};
//     char *text = fuzz_text(data, size);
//     fuzz_check(byoc_foo_parse(text, &diag), &diag);
//     free(text);
//     return 0;
//   }
//
// The preset `fuzz` links libFuzzer (tools/fuzz runs it); every other one links main.c, which replays files.
#ifndef BYOC_TESTS_FUZZ_FUZZ_H_
#define BYOC_TESTS_FUZZ_FUZZ_H_

#include "core/base/diag.h"
#include "core/base/string.h"

// What libFuzzer calls; always returns 0.
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
// A target may have one of these: it is called once, before the first input.
int LLVMFuzzerInitialize(int *argc, char ***argv);

// The system's allocator, which refuses what would be more than FUZZ_MEMORY_BYTES at one time: a case that asks for a
// lot ends early, and code meets failing requests. Not thread-safe.
#define FUZZ_MEMORY_BYTES ((size_t)64 << 20)
byoc_allocator_t fuzz_allocator(void);

// A copy with a NUL behind it and nothing else, so that the address sanitizer sees every byte read beyond it. Free it
// with free().
char *fuzz_text(const uint8_t *data, size_t size);
// The path of a file with these bytes. There is one such file, in memory: the next call changes it.
const char *fuzz_file(const void *data, size_t size);
// Another path of that file, which ends in "." and `ending`; it lives until the next call.
const char *fuzz_file_as(const char *ending);

// Fails if `status` is an error of byoc's own or one without a reason.
void fuzz_check(byoc_status_t status, const byoc_diag_t *diag);
// The same, and an error is a failure too: `what` must work.
void fuzz_check_ok(byoc_status_t status, const byoc_diag_t *diag, const char *what);
// Fails unless both texts are equal; out of memory is no difference.
void fuzz_check_same(const byoc_string_t *a, const byoc_string_t *b, const char *what);
// Prints the reason and ends the process, which libFuzzer takes for a crash.
_Noreturn void fuzz_fail(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif // BYOC_TESTS_FUZZ_FUZZ_H_
