// SPDX-License-Identifier: Apache-2.0
// A model's names of its outputs' dimensions. If such a dimension is a formula over the inputs' dimensions, or known
// only at run time, output for people shows the name. Text forms keep the formula, because they are read back.
//
// Example:
//   byoc_dim_names_t names;
//   if (!byoc_function_dim_names(main, &arena, &names)) return byoc_diag_out_of_memory(diag);
//   byoc_type_print_named(value->type, &names, &text); // "f32[batch,frames]"
#ifndef BYOC_CORE_IR_DIM_NAMES_H_
#define BYOC_CORE_IR_DIM_NAMES_H_

#include "core/ir/graph.h"

typedef struct byoc_dim_name_t {
  const char *name;
  byoc_dim_t dim; // a formula or an unknown
} byoc_dim_name_t;

typedef struct byoc_dim_names_t {
  byoc_dim_name_t *items; // each dimension once, and each name once
  size_t count, capacity;
} byoc_dim_names_t;

// Makes room for all names that the module has (BYOC_ATTRIBUTE_RESULT_DIMENSIONS). False if out of memory.
bool byoc_dim_names_init(byoc_dim_names_t *names, const byoc_graph_module_t *module, byoc_arena_t *arena);
// Adds the names of one output's dimensions; a dimension whose size is known gets none.
void byoc_dim_names_add(byoc_dim_names_t *names, const byoc_graph_module_t *module, const char *output,
                        const byoc_type_t *type);
// Both, for all results of a function.
bool byoc_function_dim_names(const byoc_function_t *main, byoc_arena_t *arena, byoc_dim_names_t *out_names);

// `names` may be NULL.
void byoc_dim_print_named(byoc_dim_t dim, const byoc_dim_names_t *names, byoc_string_t *out);
void byoc_type_print_named(const byoc_type_t *type, const byoc_dim_names_t *names, byoc_string_t *out);
// Adds ", frames = floordiv(T, 2) + 1" for each name that the type's dimensions have.
void byoc_type_print_formulas(const byoc_type_t *type, const byoc_dim_names_t *names, byoc_string_t *out);

#endif // BYOC_CORE_IR_DIM_NAMES_H_
