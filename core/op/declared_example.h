// SPDX-License-Identifier: Apache-2.0
// Examples of declared operators: modules with one node, to try a declaration.
#ifndef BYOC_CORE_OP_DECLARED_EXAMPLE_H_
#define BYOC_CORE_OP_DECLARED_EXAMPLE_H_

#include "core/op/declared.h"
#include "core/op/signature.h"

// One form of the node.
typedef struct byoc_op_form_t {
  byoc_dtype_t dtypes[BYOC_SIGNATURE_VARIABLES]; // of the signature's variables
  bool is_complete;                              // optional operands are given
  bool is_open;                                  // dimensions are symbols
  int64_t size;      // otherwise: the smallest dimension; other names get slightly larger ones
  int32_t rest_rank; // the number of dimensions of a name with dots
  size_t choice;     // index of the value of attributes with a choice of strings
} byoc_op_form_t;

// Sets the element types: `index` counts through the types of each variable, while the others have their first one.
// False after the last.
bool byoc_op_form_set_dtypes(const byoc_op_t *row, size_t index, byoc_op_form_t *form);
// "T = f32": the choice of _set_dtypes; "" without variables.
void byoc_op_form_print_dtypes(const byoc_op_t *row, size_t index, char *buffer, size_t size);
// The number of values of `choice`, at least 1.
size_t byoc_op_form_choices(const byoc_op_t *row);

// Makes a module whose function "definition" consists of the node: its operands are the parameters, its results the
// results. The types are not inferred.
byoc_status_t byoc_op_example(const byoc_op_t *row, const byoc_op_form_t *form, byoc_diag_t *diag,
                              byoc_graph_module_t **out_module, byoc_node_t **out_node);

#endif // BYOC_CORE_OP_DECLARED_EXAMPLE_H_
