// SPDX-License-Identifier: Apache-2.0
// Values for the parameters of a module, of any type, and the comparison of results.
#ifndef BYOC_TESTS_EXECUTED_ARGUMENTS_H_
#define BYOC_TESTS_EXECUTED_ARGUMENTS_H_

#include "byoc/artifact.h"
#include "core/base/arena.h"
#include "core/ir/type.h"

// Ways to fill a parameter. Operators refuse some: a divisor must not be 0, an index must be in its range.
enum { FILL_SIGNED, FILL_COUNTS, FILL_ZEROS, FILL_ONES, FILL_PARTS, FILL_WAYS };

// A value of the type, which has no open dimension, in memory of the arena; false if there is none.
bool argument_make(byoc_arena_t *arena, const byoc_type_t *type, int way, uint64_t seed, byoc_argument_t *out);
// A copy in memory of the arena.
bool argument_copy(byoc_arena_t *arena, const byoc_argument_t *from, byoc_argument_t *out);
// Why a result is not what it should be; NULL if it is.
const char *argument_difference(const byoc_argument_t *is, const byoc_argument_t *wanted);

#endif // BYOC_TESTS_EXECUTED_ARGUMENTS_H_
