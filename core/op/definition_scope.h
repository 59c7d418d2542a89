// SPDX-License-Identifier: Apache-2.0
// The meaning of names in a definition, for one node. Internal to core/op/definition*.c.
#ifndef BYOC_CORE_OP_DEFINITION_SCOPE_H_
#define BYOC_CORE_OP_DEFINITION_SCOPE_H_

#include "core/ir/loop_range.h"
#include "core/ir/loop_text.h"
#include "core/op/signature.h"

typedef struct byoc_definition_scope_t {
  const byoc_signature_t *signature;
  byoc_lower_t *lower;
  byoc_loop_builder_t *b; // of `lower`
  const byoc_node_t *node;
  byoc_diag_t *diag; // of `lower`; may be NULL
  byoc_signature_binding_t binding;
  byoc_arena_t scratch; // for the parsed text
  byoc_loop_scope_t names;
  byoc_map_t known; // pointer map: an expression, variable or buffer as it was read → as it was built
  byoc_loop_variable_info_t results[BYOC_SIGNATURE_VALUES]; // of an element
  byoc_map_t unnamed; // of an element: pointer map: variables of `let` whose values have no name yet → any
  bool is_element;
  bool may_emit; // of an element: values may get names
  int depth;     // of the expression that is built
  bool failed;
} byoc_definition_scope_t;

// Fills in types, dimensions and attributes. Must be closed, even after a failure.
bool byoc_definition_scope_open(byoc_definition_scope_t *scope, const byoc_signature_t *signature, byoc_lower_t *lower,
                                const byoc_node_t *node);
void byoc_definition_scope_close(byoc_definition_scope_t *scope);
// The names of operands are their elements at `indices`, those of results are variables.
bool byoc_definition_scope_add_elements(byoc_definition_scope_t *scope, int32_t rank,
                                        const byoc_loop_expr_t *const *indices);
// The names of operands and results are buffers.
bool byoc_definition_scope_add_buffers(byoc_definition_scope_t *scope);
bool byoc_definition_scope_parse(byoc_definition_scope_t *scope, const char *what, const char *text,
                                 byoc_loop_stmt_t **out_block);

#endif // BYOC_CORE_OP_DEFINITION_SCOPE_H_
