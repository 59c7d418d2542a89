// SPDX-License-Identifier: Apache-2.0
// Operators that plugins declare: a signature gives their inference, a text their definition. They become rows like any
// others (core/op/extension.h adds them to the table).
#ifndef BYOC_CORE_OP_DECLARED_H_
#define BYOC_CORE_OP_DECLARED_H_

#include "core/op/extension.h"

// The longest signature or definition, in bytes: it bounds the depth of expressions.
#define BYOC_DECLARED_TEXT 16384

struct byoc_signature_t; // core/op/signature.h

typedef struct byoc_op_declaration_t {
  const char *domain, *name;
  int32_t since_version;
  const char *signature;       // core/op/signature.h
  const char *element, *loops; // core/op/definition.h; at most one of them. Both NULL: only backends can compute it
  const byoc_op_attribute_t *attributes; // ends with one without a name; NULL: none
  bool broadcasts;                       // operands broadcast as in NumPy; with `element` only
  bool commutes;                         // two operands that may be swapped
  const char *description;               // one line; NULL or "": none
} byoc_op_declaration_t;

// Makes the row, in `arena`. The declaration's strings and attributes must live as long. BYOC_INVALID_DATA with the
// operator's name if anything but the definition is wrong.
byoc_status_t byoc_op_declare(const byoc_op_declaration_t *declaration, const byoc_op_extension_t *extension,
                              byoc_arena_t *arena, byoc_diag_t *diag, const byoc_op_t **out_row);

// Tries the definition of such a row: for each element type, with known and dynamic dimensions, with and without
// optional operands. The table must have the row. BYOC_INVALID_DATA if it cannot be read or breaks a rule of loops.
byoc_status_t byoc_op_try(const byoc_op_t *row, byoc_diag_t *diag);

// The declaration behind a row, and its signature; NULL for other rows.
const byoc_op_declaration_t *byoc_op_declaration(const byoc_op_t *op);
const struct byoc_signature_t *byoc_op_signature(const byoc_op_t *op);
// Records the error of another diagnostic about a text of the operator: "operator 'a::B': its signature ...".
byoc_status_t byoc_op_text_error(const byoc_op_declaration_t *declaration, const char *what, const byoc_diag_t *inner,
                                 byoc_diag_t *diag);

#endif // BYOC_CORE_OP_DECLARED_H_
