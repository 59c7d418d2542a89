// SPDX-License-Identifier: Apache-2.0
// plan.h - a function as kernels: which nodes share a kernel, the order of the kernels, and the tensors between them.
//
// Example:
//   byoc_opencl_plan_t plan;
//   const char *reason = byoc_opencl_plan_function(&sizes, &plan); // NULL: it is planned, or plan.failed
//   // Its kernels and launches are in `plan`.
//   byoc_opencl_plan_deinit(&plan);
#ifndef BYOC_OPENCL_PLAN_H_
#define BYOC_OPENCL_PLAN_H_

#include "cluster.h"
#include "emit.h"

// A tensor between two kernels.
typedef struct byoc_opencl_temporary_t {
  const byoc_value_t *value;
  byoc_opencl_size_t size_bytes;
} byoc_opencl_temporary_t;

typedef struct byoc_opencl_plan_t {
  const byoc_graph_api_t *graph;
  const byoc_function_t *function;
  byoc_opencl_clusters_t clusters;
  byoc_opencl_kernel_t *kernels; // in the order in which they run
  uint32_t kernel_count;
  byoc_opencl_constants_t constants;
  byoc_opencl_temporary_t *temporaries; // in the order in which they are written
  uint32_t temporary_count;
  byoc_opencl_sizes_t sizes;
  bool failed; // out of memory
} byoc_opencl_plan_t;

// `sizes` names the function and has no extents yet. Returns NULL, or why the function is declined. If memory ran out,
// plan.failed is set instead. Deinit the plan in any case.
const char *byoc_opencl_plan_function(const byoc_opencl_sizes_t *sizes, byoc_opencl_plan_t *out_plan);
void byoc_opencl_plan_deinit(byoc_opencl_plan_t *plan);

typedef enum byoc_opencl_where_t {
  BYOC_OPENCL_OPERAND,
  BYOC_OPENCL_RESULT,
  BYOC_OPENCL_CONSTANT,
  BYOC_OPENCL_TEMPORARY,
} byoc_opencl_where_t;
// Where a tensor that is an argument of a kernel lies: which operand, result, constant or temporary it is.
byoc_opencl_where_t byoc_opencl_plan_place(const byoc_opencl_plan_t *plan, const byoc_opencl_argument_t *argument,
                                           uint32_t *out_index);

#endif // BYOC_OPENCL_PLAN_H_
