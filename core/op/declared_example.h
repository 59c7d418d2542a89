// SPDX-License-Identifier: Apache-2.0
// Examples of declared operators: modules with one node, for whoever tries what a declaration says.
#ifndef BYOC_CORE_OP_DECLARED_EXAMPLE_H_
#define BYOC_CORE_OP_DECLARED_EXAMPLE_H_

#include "core/op/declared.h"
#include "core/op/signature.h"

// One form of the node.
typedef struct byoc_op_form_t {
  byoc_dtype_t dtypes[BYOC_SIGNATURE_VARIABLES]; // of the signature's variables
  bool is_complete;                              // optional operands are given
  bool is_open;                                  // dimensions are symbols
  int64_t size;                                  // otherwise: the least one; dimensions of other names differ a little
  int32_t rest_rank;                             // dimensions that a name with dots stands for
  size_t choice;                                 // which text attributes have that are one of several
} byoc_op_form_t;

// Sets the element types: `index` counts through the types of each variable, the others have their first one. False
// behind the last.
bool byoc_op_form_set_dtypes(const byoc_op_t *row, size_t index, byoc_op_form_t *form);
// "T = f32", "" without variables: what _set_dtypes chose.
void byoc_op_form_print_dtypes(const byoc_op_t *row, size_t index, char *buffer, size_t size);
// How many values of `choice` there are, 1 or more.
size_t byoc_op_form_choices(const byoc_op_t *row);

// Makes a module whose function "definition" is the node alone: its operands are the parameters, its results the
// results. Its types are not inferred.
byoc_status_t byoc_op_example(const byoc_op_t *row, const byoc_op_form_t *form, byoc_diag_t *diag,
                              byoc_graph_module_t **out_module, byoc_node_t **out_node);

#endif // BYOC_CORE_OP_DECLARED_EXAMPLE_H_
