// SPDX-License-Identifier: Apache-2.0
// Structural hash and equality. They depend on operators, attributes, types, the content of constants and the form of
// the graph, not on names of values, functions and constants.
#ifndef BYOC_CORE_IR_STRUCTURAL_H_
#define BYOC_CORE_IR_STRUCTURAL_H_

#include "core/ir/graph.h"

typedef enum byoc_structural_flags_t {
  BYOC_STRUCTURAL_DEFAULT = 0,
  BYOC_STRUCTURAL_IGNORE_CONSTANT_DATA = 1,       // constants compare by type only
  BYOC_STRUCTURAL_IGNORE_FUNCTION_ATTRIBUTES = 2, // without the outermost function's attributes
  BYOC_STRUCTURAL_IGNORE_KERNEL = 4,              // with the graph of a body only, not its kernel
} byoc_structural_flags_t;

uint64_t byoc_function_structural_hash(const byoc_function_t *function, unsigned flags);
bool byoc_function_structural_equal(const byoc_function_t *a, const byoc_function_t *b, unsigned flags);

#endif // BYOC_CORE_IR_STRUCTURAL_H_
