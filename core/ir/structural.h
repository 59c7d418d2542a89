// Structural hash and equality: names of values, functions and constants do not count; operators, attributes, types,
// constants' content and the graph's shape do.
#ifndef BYOC_CORE_IR_STRUCTURAL_H_
#define BYOC_CORE_IR_STRUCTURAL_H_

#include "core/ir/graph.h"

typedef enum byoc_structural_flags_t {
  BYOC_STRUCTURAL_DEFAULT = 0,
  BYOC_STRUCTURAL_IGNORE_CONSTANT_DATA = 1,       // constants compare by type only
  BYOC_STRUCTURAL_IGNORE_FUNCTION_ATTRIBUTES = 2, // the outermost function's attributes do not count
  BYOC_STRUCTURAL_IGNORE_KERNEL = 4,              // nor whether it was lowered: the graph of its body does
} byoc_structural_flags_t;

uint64_t byoc_function_structural_hash(const byoc_function_t *function, unsigned flags);
bool byoc_function_structural_equal(const byoc_function_t *a, const byoc_function_t *b, unsigned flags);
// Function by function, by name.
bool byoc_graph_structural_equal(const byoc_graph_module_t *a, const byoc_graph_module_t *b, unsigned flags);

#endif // BYOC_CORE_IR_STRUCTURAL_H_
