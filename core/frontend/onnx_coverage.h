// SPDX-License-Identifier: Apache-2.0
// The operators that a model uses, with the number of their nodes, and whether byoc knows them.
//
// Example:
//   byoc_onnx_coverage_t coverage;
//   BYOC_RETURN_IF_ERROR(byoc_onnx_cover_file("model.onnx", NULL, &arena, diag, &coverage));
//   for (size_t i = 0; i < coverage.count; i++) printf("%s\n", coverage.uses[i].name);
#ifndef BYOC_CORE_FRONTEND_ONNX_COVERAGE_H_
#define BYOC_CORE_FRONTEND_ONNX_COVERAGE_H_

#include "core/op/extension.h"

typedef enum byoc_onnx_use_kind_t {
  BYOC_ONNX_USE_KNOWN,      // a row of the table has it
  BYOC_ONNX_USE_FUNCTION,   // the model brings a local function
  BYOC_ONNX_USE_UNKNOWN,    // no operator of the domain has this name
  BYOC_ONNX_USE_TOO_EARLY,  // known, but with another meaning in this operator set
  BYOC_ONNX_USE_UNIMPORTED, // known, but the model imports no operator set of its domain
  BYOC_ONNX_USE_INTERNAL,   // an operator that only the compiler makes
  BYOC_ONNX_USE_NAMELESS,   // the node names no operator
} byoc_onnx_use_kind_t;

typedef struct byoc_onnx_use_t {
  const char *domain, *name; // "" is ai.onnx
  int64_t opset; // of the domain, as the model or its local function imports it, else 1 or, in domains that must be
                 // imported, 0
  bool is_imported;
  byoc_onnx_use_kind_t kind;
  int32_t since;       // KNOWN: the version in force; TOO_EARLY: the oldest known one; otherwise 0
  const char *plugin;  // the operator's plugin; NULL: it is byoc's own, or not known
  const char *first;   // the node that uses it first: "node 'conv1' (Conv)"
  uint64_t node_count; // in the file: nodes of a local function count once, also if it is called several times
} byoc_onnx_use_t;

typedef struct byoc_onnx_coverage_t {
  const byoc_onnx_use_t *uses; // in the order of the graph; then those of called local functions
  size_t count;
  size_t missing_count; // of these, neither KNOWN nor FUNCTION
} byoc_onnx_coverage_t;

// Can byoc compile operators of this kind?
static inline bool byoc_onnx_use_is_missing(const byoc_onnx_use_t *use) {
  return use->kind != BYOC_ONNX_USE_KNOWN && use->kind != BYOC_ONNX_USE_FUNCTION;
}
// The reason of a missing use, as a clause: "it is known from operator set 6 on". NULL: it is plainly not known. Lives
// in static memory or in `buffer`.
const char *byoc_onnx_use_reason(const byoc_onnx_use_t *use, char *buffer, size_t size);

// Reads the model's structure, not its weights. `operators`: the source of operators of other domains; NULL: none.
// Everything lives in `arena`. BYOC_OK also if operators are missing; otherwise as byoc_onnx_read_file.
byoc_status_t byoc_onnx_cover_file(const char *path, const byoc_op_source_t *operators, byoc_arena_t *arena,
                                   byoc_diag_t *diag, byoc_onnx_coverage_t *out_coverage);

#endif // BYOC_CORE_FRONTEND_ONNX_COVERAGE_H_
