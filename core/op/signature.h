// SPDX-License-Identifier: Apache-2.0
// Signatures as text: the types of an operator's operands and results, for operators that are declared instead of
// written here (core/op/declared.h). Inference follows from them.
//
//   (x: T[B..., D], scale: T[D], bias?: T[D]) -> (y: T[B..., D], mean: f32[B...]) where T = f16 | bf16 | f32
//   (x: T[S...]) -> (y: T[S...]) where T = float
//   (x: T[A...axis, N, B...]) -> (y: T[A..., B...]) where T = float
//   (x: T[N, C, L]) -> (y: T[N, C, floordiv(L + 2 * pad - width, stride) + 1]) where T = number
//
// A value has an element type, or a variable that stands for one, and dimensions: a number, a name, or a name with
// three dots, which stands for any number of dimensions (at most once in an operand); an attribute behind the dots, an
// integer, says how many there are, from the end if it is negative (at most once, too). What has the same name must be
// equal; dimensions that are open are compared when the program runs. A question mark makes an operand, and all behind
// it, optional. Dimensions of results are expressions, as in types of the text form, over names of required operands
// and attributes: an integer by its name, element i of a list of integers as pads.i. `where` lists the types of each
// variable; float, integer and number stand for all of their kind.
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
  const char *axis; // the attribute that says how many; NULL: as many as there are
  byoc_dim_t dim;   // a number, a symbol or, in results, an expression
} byoc_signature_dim_t;

typedef struct byoc_signature_value_t {
  const char *name;
  bool is_optional;
  byoc_dtype_t dtype;  // NONE: what the variable stands for
  uint32_t variable;   // its place in the signature
  const char *element; // as it is written
  int32_t dim_count;
  byoc_signature_dim_t dims[BYOC_MAX_RANK];
  int32_t rest;    // of an operand: which of them stands for as many as there are; -1: none
  int32_t counted; // of an operand: which of them an attribute counts; -1: none
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

// What the names stand for in one node.
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

// Reads the text. `attributes` (ends with one without a name; may be NULL) are those that results may use. The
// signature lives in `arena`; positions in errors are those of the text.
byoc_status_t byoc_signature_parse(const char *text, const byoc_op_attribute_t *attributes, byoc_arena_t *arena,
                                   byoc_diag_t *diag, const byoc_signature_t **out_signature);

// Binds names to what the node's operands have. Nothing is compared: that is what inference is for.
void byoc_signature_bind(const byoc_signature_t *signature, const byoc_node_t *node,
                         byoc_signature_binding_t *out_binding);
// The place of a name; -1 if no operand that is given has it.
int32_t byoc_signature_find(const byoc_signature_binding_t *binding, const char *name);

// Sets the types of all results, or says which operand does not fit.
byoc_status_t byoc_signature_infer(const byoc_signature_t *signature, const byoc_infer_t *infer);

#endif // BYOC_CORE_OP_SIGNATURE_H_
