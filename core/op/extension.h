// SPDX-License-Identifier: Apache-2.0
// Operators that are not byoc's own: rows that a plugin brings (core/op/declared.h makes them). They stand beside the
// static table from byoc_op_extend to byoc_op_retract, and everything that looks operators up by name then finds them.
//
// A look-up may run in any thread at any time. A row that it returned is gone once its extension is retracted, so that
// comes after the modules in which its operators occur were destroyed or are no longer worked on.
#ifndef BYOC_CORE_OP_EXTENSION_H_
#define BYOC_CORE_OP_EXTENSION_H_

#include "core/op/op.h"

typedef struct byoc_op_extension_t byoc_op_extension_t;
struct byoc_op_extension_t {
  const char *name, *version; // of what brings the operators: a plugin
  const char *path;           // for messages
  const char *content;        // hash of that file, as text: part of the keys of caches
  const byoc_op_t *const *rows;
  size_t row_count;
  byoc_op_extension_t *next; // used by the table
};

// BYOC_ALREADY_EXISTS if a row has the name of an operator of byoc's own, or of one that another file brings; the
// message names both. The same content may be there several times. The struct is the caller's, and is used until it is
// retracted.
byoc_status_t byoc_op_extend(byoc_op_extension_t *extension, byoc_diag_t *diag);
void byoc_op_retract(byoc_op_extension_t *extension);

// Is it a domain of which byoc itself defines the operators: "" (ai.onnx), "ai.onnx" or "byoc"?
bool byoc_op_domain_is_reserved(const char *domain);

// Where models' operators of other domains come from: what reads a model asks it for each domain.
typedef struct byoc_op_source_t {
  void *self;
  // Brings the operators of the domain; BYOC_OK if there is nothing that has any. Otherwise, what is in the way.
  byoc_status_t (*load)(void *self, const char *domain, byoc_diag_t *diag);
  // Why operators of the domain are missing; NULL if there is nothing to say.
  const char *(*refusal)(void *self, const char *domain);
} byoc_op_source_t;

// For core/op/table.c.
const byoc_op_t *byoc_op_find_extended(const char *domain, const char *name, int32_t opset);
size_t byoc_op_extended_count(void);
const byoc_op_t *byoc_op_extended_at(size_t index);

#endif // BYOC_CORE_OP_EXTENSION_H_
