// SPDX-License-Identifier: Apache-2.0
// Operators of plugins: rows that core/op/declared.h makes. From byoc_op_extend to byoc_op_retract a look-up by name
// finds them as it finds byoc's own.
//
// A look-up may run in any thread at any time. The rows of an extension end with byoc_op_retract: call it after the
// modules with its operators were destroyed or are no longer used.
#ifndef BYOC_CORE_OP_EXTENSION_H_
#define BYOC_CORE_OP_EXTENSION_H_

#include "core/op/op.h"

typedef struct byoc_op_extension_t byoc_op_extension_t;
struct byoc_op_extension_t {
  const char *name, *version; // of the plugin
  const char *path;           // for messages
  const char *content;        // hash of that file, as a string: part of the keys of caches
  const byoc_op_t *const *rows;
  size_t row_count;
  byoc_op_extension_t *next; // used by the table
};

// BYOC_ALREADY_EXISTS if a row has the name of one of byoc's operators, or of an operator of another file; the message
// names both. The same content may be added several times. The struct is the caller's, and must live until it is
// retracted.
byoc_status_t byoc_op_extend(byoc_op_extension_t *extension, byoc_diag_t *diag);
void byoc_op_retract(byoc_op_extension_t *extension);

// Is it a domain of which byoc itself defines the operators: "" (ai.onnx), "ai.onnx" or "byoc"?
bool byoc_op_domain_is_reserved(const char *domain);

// A source of operators of other domains: the reader of a model asks it for each domain.
typedef struct byoc_op_source_t {
  void *self;
  // Adds the operators of the domain to the table. BYOC_OK, also if there are none; otherwise an error.
  byoc_status_t (*load)(void *self, const char *domain, byoc_diag_t *diag);
  // The reason why operators of the domain are missing; NULL if there is none.
  const char *(*refusal)(void *self, const char *domain);
} byoc_op_source_t;

// For core/op/table.c.
const byoc_op_t *byoc_op_find_extended(const char *domain, const char *name, int32_t opset);
size_t byoc_op_extended_count(void);
const byoc_op_t *byoc_op_extended_at(size_t index);

#endif // BYOC_CORE_OP_EXTENSION_H_
