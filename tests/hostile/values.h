// SPDX-License-Identifier: Apache-2.0
// The file of values that the program that builds artifacts writes for the one that runs them under the sanitizers: the
// right inputs of a model, then its expected outputs, in the machine's byte order.
//
//   u32 inputs, u32 outputs, then each value: u32 kind, dtype, rank; i64 dims[rank]; u64 count; then the elements'
//   bytes (count of them), texts (each NUL-terminated), or the items of a sequence or an optional
#ifndef BYOC_TESTS_HOSTILE_VALUES_H_
#define BYOC_TESTS_HOSTILE_VALUES_H_

#include <stdio.h>

#include "byoc/artifact.h"

enum { HOSTILE_MAX_PORTS = 64, HOSTILE_MAX_RANK = 16 };

// The runner's last line, and its exit status if a sanitizer ends it.
#define HOSTILE_VERDICT "verdict"
enum { HOSTILE_EXIT_SANITIZER = 77, HOSTILE_EXIT_WRONG = 78, HOSTILE_EXIT_SILENT = 79 };

#endif // BYOC_TESTS_HOSTILE_VALUES_H_
