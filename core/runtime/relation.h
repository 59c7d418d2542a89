// SPDX-License-Identifier: Apache-2.0
// Relations between dimensions that are known only at run time: the compiler relies on them, and the program checks
// them when both numbers are known. Type inference, host programs and artifacts use this one list.
#ifndef BYOC_CORE_RUNTIME_RELATION_H_
#define BYOC_CORE_RUNTIME_RELATION_H_

#include "core/runtime/cell.h"

// X(NAME, "word of host programs")
#define BYOC_RELATION_LIST(X)                                                                                          \
  X(EQUAL, "is")                 /* left is right */                                                                   \
  X(DECLARED, "is_declared")     /* the same; right is what a model declares */                                        \
  X(BROADCASTS, "broadcasts_to") /* they are equal, or one of them is 1 */                                             \
  X(ONE_OR, "is_1_or")           /* left is 1 or right */                                                              \
  X(AT_MOST, "is_at_most")       /* left is not larger than right */                                                   \
  X(MULTIPLE, "is_multiple_of")  /* right is positive and divides left */

#define BYOC_RELATION_ENUM(NAME, text) BYOC_RELATION_##NAME,
typedef enum byoc_relation_kind_t { BYOC_RELATION_LIST(BYOC_RELATION_ENUM) BYOC_RELATION_COUNT } byoc_relation_kind_t;
#undef BYOC_RELATION_ENUM

// Generated code calls this with a constant kind, so that one or two comparisons remain.
static inline int byoc_relation_holds(byoc_relation_kind_t kind, int64_t left, int64_t right) {
  switch (kind) {
  case BYOC_RELATION_BROADCASTS:
    return left == right || left == 1 || right == 1;
  case BYOC_RELATION_ONE_OR:
    return left == 1 || left == right;
  case BYOC_RELATION_AT_MOST:
    return left <= right;
  case BYOC_RELATION_MULTIPLE:
    return right > 0 && left % right == 0;
  default:
    return left == right;
  }
}

// The names of a relation's two sides, and of the operator that needs it: "MatMul 'head' (ai.onnx 13)", "dimension 1 of
// operand 0 'x'". A side without a name is a fixed number.
typedef struct byoc_relation_names_t {
  const char *where, *left, *right;
} byoc_relation_names_t;

// Reports the relation that does not hold, with both numbers, and returns BYOC_INVALID_ARGUMENT.
int32_t byoc_frame_refuse(byoc_frame_t *frame, byoc_relation_kind_t kind, int64_t left, int64_t right,
                          const byoc_relation_names_t *names);
// Writes only the message.
void byoc_relation_explain(byoc_relation_kind_t kind, int64_t left, int64_t right, const byoc_relation_names_t *names,
                           char *text, uint64_t size);

#endif // BYOC_CORE_RUNTIME_RELATION_H_
