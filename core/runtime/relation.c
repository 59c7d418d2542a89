// SPDX-License-Identifier: Apache-2.0
// The messages about dimensions that do not fit each other.
#include "core/runtime/relation.h"

#include <stdio.h>

// The words of a relation in messages.
static const char *demand(byoc_relation_kind_t kind) {
  switch (kind) {
  case BYOC_RELATION_BROADCASTS:
    return "one of them must be 1, or they must be equal";
  case BYOC_RELATION_ONE_OR:
    return "the first must be 1 or equal to the second";
  case BYOC_RELATION_AT_MOST:
    return "the first must not be larger";
  case BYOC_RELATION_MULTIPLE:
    return "the first must be a multiple of the second";
  default:
    return "they must be equal";
  }
}

static const char *demand_of_number(byoc_relation_kind_t kind) {
  switch (kind) {
  case BYOC_RELATION_BROADCASTS:
  case BYOC_RELATION_ONE_OR:
    return "1 or ";
  case BYOC_RELATION_AT_MOST:
    return "at most ";
  case BYOC_RELATION_MULTIPLE:
    return "a multiple of ";
  default:
    return "";
  }
}

void byoc_relation_explain(byoc_relation_kind_t kind, int64_t left, int64_t right, const byoc_relation_names_t *names,
                           char *text, uint64_t size) {
  long long l = (long long)left, r = (long long)right;
  if (kind == BYOC_RELATION_DECLARED) {
    (void)snprintf(text, size, "%s: %s is %lld, but the model declares %lld; export it without that shape",
                   names->where, names->left, l, r);
  } else if (names->right == NULL) {
    (void)snprintf(text, size, "%s: %s is %lld, but must be %s%lld", names->where, names->left, l,
                   demand_of_number(kind), r);
  } else if (names->left == NULL) {
    (void)snprintf(text, size, "%s: %s is %lld, but must be %s%lld", names->where, names->right, r,
                   kind == BYOC_RELATION_AT_MOST ? "at least " : demand_of_number(kind), l);
  } else {
    (void)snprintf(text, size, "%s: %s is %lld and %s is %lld, but %s", names->where, names->left, l, names->right, r,
                   demand(kind));
  }
}

int32_t byoc_frame_refuse(byoc_frame_t *frame, byoc_relation_kind_t kind, int64_t left, int64_t right,
                          const byoc_relation_names_t *names) {
  char text[480];
  byoc_relation_explain(kind, left, right, names, text, sizeof(text));
  return byoc_frame_fail(frame, BYOC_INVALID_ARGUMENT, "%s", text);
}
