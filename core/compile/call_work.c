// SPDX-License-Identifier: Apache-2.0
// Counts the operations of C calls that a backend put in the place of operators.
#include "core/compile/call_work.h"

#include "core/collage/estimate.h"
#include "core/ir/attribute_names.h"
#include "core/module/c_call.h"

typedef struct marking_t {
  size_t call_count;
  int64_t flops; // of each call; negative: count only
} marking_t;

static bool visit_call(void *self, byoc_node_t *node) {
  marking_t *marking = self;
  if (!byoc_node_is(node, "byoc", "CallC")) return true;
  marking->call_count += 1;
  return marking->flops < 0 || byoc_attributes_set_int(&node->attributes, BYOC_ATTRIBUTE_FLOPS, marking->flops);
}

byoc_status_t byoc_call_work_note(byoc_function_t *const *functions, size_t count, byoc_allocator_t allocator,
                                  byoc_diag_t *diag, double **out_flops) {
  *out_flops = byoc_allocate(allocator, count > 0 ? count : 1, sizeof(**out_flops));
  if (*out_flops == NULL) return byoc_diag_out_of_memory(diag);
  for (size_t i = 0; i < count; ++i) {
    byoc_work_t work = byoc_function_work(functions[i]);
    (*out_flops)[i] = work.product_flops + work.other_flops;
  }
  return BYOC_OK;
}

byoc_status_t byoc_call_work_mark(byoc_function_t *const *functions, size_t count, const double *flops,
                                  byoc_diag_t *diag) {
  for (size_t i = 0; i < count; ++i) {
    marking_t marking = {.flops = -1};
    (void)byoc_block_walk(functions[i]->body, visit_call, &marking);
    if (marking.call_count == 0) continue;
    marking.flops = (int64_t)(flops[i] / (double)marking.call_count);
    if (!byoc_block_walk(functions[i]->body, visit_call, &marking)) return byoc_diag_out_of_memory(diag);
  }
  return BYOC_OK;
}
