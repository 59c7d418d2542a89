#include "core/collage/constraint.h"

#include <string.h>

#include "core/collage/place.h"

bool byoc_target_may_take(const byoc_target_t *target, const byoc_node_t *node) {
  if (node->callee != NULL) return false;
  size_t count = 0;
  const int64_t *gave_back = byoc_attributes_ints(&node->attributes, BYOC_ATTRIBUTE_GIVEN_BACK_BY, &count);
  for (size_t i = 0; i < count; ++i) {
    if (gave_back[i] == target->index) return false;
  }
  for (uint32_t r = 0; r < node->result_count; ++r) {
    const char *wanted = node->results[r]->device.target;
    if (wanted != NULL && strcmp(wanted, target->kind->name) != 0) return false;
  }
  return true;
}
