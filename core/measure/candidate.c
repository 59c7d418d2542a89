// SPDX-License-Identifier: Apache-2.0
// Decides which functions can be run on generated data.
#include "core/measure/candidate.h"

static bool can_be_made_up(const byoc_type_t *type) {
  return byoc_type_is_static(type) && type->dtype != BYOC_DTYPE_STRING;
}

bool byoc_cost_can_be_run(const byoc_function_t *function) {
  const byoc_block_t *body = function->body;
  for (size_t i = 0; i < body->parameters.count; ++i) {
    if (!can_be_made_up(body->parameters.data[i]->type)) return false;
  }
  for (size_t i = 0; i < body->results.count; ++i) {
    if (!can_be_made_up(body->results.data[i]->type)) return false;
  }
  return true;
}
