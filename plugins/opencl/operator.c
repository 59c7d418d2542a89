// SPDX-License-Identifier: Apache-2.0
// Finds the row of operators.def for a node, and checks whether a kernel can compute it.
#include "operator.h"

#include <string.h>

// OpenCL promises a kernel 1024 bytes of arguments, which are 128 pointers.
enum { MOST_OPERANDS = 64 };

static const byoc_opencl_operator_t operators[] = {
#define FORMULA(op, checker, text)                                                                                     \
  {.name = #op,                                                                                                        \
   .role = BYOC_OPENCL_POINT,                                                                                          \
   .check = byoc_opencl_check_##checker,                                                                               \
   .point = byoc_opencl_point_formula,                                                                                 \
   .formula = text},
#define POINT(op, checker, emitter)                                                                                    \
  {.name = #op, .role = BYOC_OPENCL_POINT, .check = byoc_opencl_check_##checker, .point = byoc_opencl_point_##emitter},
#define VIEW(op)                                                                                                       \
  {.name = #op, .role = BYOC_OPENCL_VIEW, .check = byoc_opencl_check_view, .point = byoc_opencl_point_view},
#define MOVE(op, kind)                                                                                                 \
  {.name = #op, .role = BYOC_OPENCL_MOVE, .check = byoc_opencl_check_##kind, .point = byoc_opencl_point_##kind},
#define ANCHOR(op, kind)                                                                                               \
  {.name = #op, .role = BYOC_OPENCL_ANCHOR, .check = byoc_opencl_check_##kind, .anchor = byoc_opencl_anchor_##kind},
#include "operators.def"
#undef FORMULA
#undef POINT
#undef VIEW
#undef MOVE
#undef ANCHOR
};

uint32_t byoc_opencl_operator_count(void) {
  return sizeof(operators) / sizeof(*operators);
}

const char *byoc_opencl_operator_name(uint32_t index) {
  return operators[index].name;
}

const byoc_opencl_operator_t *byoc_opencl_operator_of(const byoc_graph_api_t *graph, const byoc_node_t *node) {
  if (graph->node_callee(node) != NULL || graph->node_domain(node)[0] != '\0') return NULL;
  const char *name = graph->node_operator(node);
  for (uint32_t i = 0; i < byoc_opencl_operator_count(); ++i)
    if (strcmp(operators[i].name, name) == 0) return &operators[i];
  return NULL;
}

const char *byoc_opencl_check(const byoc_opencl_source_t *source) {
  const byoc_opencl_operator_t *op = byoc_opencl_operator_of(source->graph, source->node);
  if (op == NULL) return "no kernel of OpenCL is written for this operator";
  if (source->graph->operand_count(source->node) > MOST_OPERANDS) return "more than 64 operands";
  return op->check(source);
}
