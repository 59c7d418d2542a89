// SPDX-License-Identifier: Apache-2.0
// Inputs of host programs, each in memory of exactly its size, and the comparison of outputs.
#ifndef BYOC_TESTS_RANDOM_HOST_VALUES_H_
#define BYOC_TESTS_RANDOM_HOST_VALUES_H_

#include "core/hostir/program/program.h"
#include "tests/support/support.h"

// Small numbers and short texts. Free it with free().
void *make_elements(byoc_dtype_t dtype, uint64_t size_bytes, byoc_test_random_t *random);

// The arguments of a dynamic program. Each symbol has one value from 0 to 4 in all of them.
byoc_argument_t *make_arguments(const byoc_host_program_t *program, byoc_test_random_t *random);
void free_arguments(byoc_argument_t *arguments, size_t count);

uint64_t argument_size_bytes(const byoc_argument_t *argument);
// Are both the same value? Texts are compared as texts.
bool same_elements(byoc_dtype_t dtype, uint64_t size_bytes, const void *a, const void *b);
bool same_arguments(const byoc_argument_t *a, const byoc_argument_t *b);

#endif // BYOC_TESTS_RANDOM_HOST_VALUES_H_
