// SPDX-License-Identifier: Apache-2.0
// Signatures as text: the types of operands and results of operators that plugins declare (core/op/declared.h).
// Inference follows from them.
//
//   (x: T[B..., D], scale: T[D], bias?: T[D]) -> (y: T[B..., D], mean: f32[B...]) where T = f16 | bf16 | f32
//   (x: T[S...]) -> (y: T[S...]) where T = float
//   (x: T[A...axis, N, B...]) -> (y: T[A..., B...]) where T = float
//   (x: T[N, C, L]) -> (y: T[N, C, floordiv(L + 2 * pad - width, stride) + 1]) where T = number
//
// A value has an element type, or a variable that stands for one, and dimensions: a number, a name, or a name with
// three dots, which stands for any number of dimensions (at most once in an operand). An integer attribute after the
// dots counts them, from the end if it is negative (at most once, too). Dimensions of one name must be equal; dynamic
// ones are compared when the program runs. A question mark makes an operand, and all after it, optional. Dimensions of
// results are expressions, as in types of the text form, over names of required operands and attributes: an integer by
// its name, element i of a list of integers as pads.i. `where` lists the types of each variable; float, integer and
// number stand for all of their kind.
#ifndef BYOC_CORE_OP_SIGNATURE_H_
#define BYOC_CORE_OP_SIGNATURE_H_

#include "core/op/op.h"

enum {
  BYOC_SIGNATURE_VALUES = 16,   // operands, and results
  BYOC_SIGNATURE_VARIABLES = 8, // that stand for element types
  BYOC_SIGNATURE_NAMES = 32,    // of dimensions
  BYOC_SIGNATURE_TYPES = 32,    // of a variable
};

typedef struct byoc_signature_dim_t {
  const char *rest; // the name of any number of dimensions; NULL: one dimension
  const char *axis; // the attribute that counts them; NULL: all that are left
  byoc_dim_t dim;   // a number, a symbol or, in results, an expression
} byoc_signature_dim_t;

typedef struct byoc_signature_value_t {
  const char *name;
  bool is_optional;
  byoc_dtype_t dtype;  // NONE: that of the variable
  uint32_t variable;   // its index in the signature
  const char *element; // as written in the signature
  int32_t dim_count;
  byoc_signature_dim_t dims[BYOC_MAX_RANK];
  int32_t rest;    // of an operand: index of the rest without a count; -1: none
  int32_t counted; // of an operand: index of the rest that an attribute counts; -1: none
} byoc_signature_value_t;

typedef struct byoc_signature_variable_t {
  const char *name;
  byoc_dtype_t dtypes[BYOC_SIGNATURE_TYPES];
  uint32_t count;
} byoc_signature_variable_t;

typedef struct byoc_signature_t {
  byoc_signature_value_t operands[BYOC_SIGNATURE_VALUES], results[BYOC_SIGNATURE_VALUES];
  uint32_t operand_count, required_count, result_count;
  byoc_signature_variable_t variables[BYOC_SIGNATURE_VARIABLES];
  uint32_t variable_count;
  bool broadcasts; // operands broadcast as in NumPy instead of having equal dimensions; set by the caller
} byoc_signature_t;

// The values of the names in one node.
typedef struct byoc_signature_binding_t {
  const byoc_node_t *node;
  byoc_dtype_t dtypes[BYOC_SIGNATURE_VARIABLES]; // NONE: none of its operands is given
  const char *names[BYOC_SIGNATURE_NAMES];
  struct {
    uint32_t operand;
    int32_t first, count; // dimensions of the operand; count is 1 for a plain name
    bool is_rest;
  } places[BYOC_SIGNATURE_NAMES];
  uint32_t name_count;
} byoc_signature_binding_t;

// Reads the text. Results may use the `attributes` (their list ends with one without a name; it may be NULL). The
// signature lives in `arena`; errors have locations in the text.
byoc_status_t byoc_signature_parse(const char *text, const byoc_op_attribute_t *attributes, byoc_arena_t *arena,
                                   byoc_diag_t *diag, const byoc_signature_t **out_signature);

// Binds names to the types of the node's operands. Compares nothing: inference does that.
void byoc_signature_bind(const byoc_signature_t *signature, const byoc_node_t *node,
                         byoc_signature_binding_t *out_binding);
// The index of a name; -1 if no given operand has it.
int32_t byoc_signature_find(const byoc_signature_binding_t *binding, const char *name);

// Sets the types of all results; an error names the operand that does not fit.
byoc_status_t byoc_signature_infer(const byoc_signature_t *signature, const byoc_infer_t *infer);

#endif // BYOC_CORE_OP_SIGNATURE_H_
