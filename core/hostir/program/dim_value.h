// SPDX-License-Identifier: Apache-2.0
// The value of an operation on dimensions at run time. The evaluator computes it, and so do analyses that predict a
// run.
#ifndef BYOC_CORE_HOSTIR_PROGRAM_DIM_VALUE_H_
#define BYOC_CORE_HOSTIR_PROGRAM_DIM_VALUE_H_

#include "core/ir/dim.h"
#include "core/runtime/cell.h"

// `kind` has two operands.
static inline int64_t byoc_host_dim_value(byoc_dim_kind_t kind, int64_t a, int64_t b) {
  switch (kind) {
  case BYOC_DIM_ADD:
    return byoc_dim_add(a, b);
  case BYOC_DIM_SUB:
    return byoc_dim_sub(a, b);
  case BYOC_DIM_MUL:
    return byoc_dim_mul(a, b);
  case BYOC_DIM_FLOORDIV:
    return byoc_dim_floordiv(a, b);
  case BYOC_DIM_CEILDIV:
    return byoc_dim_ceildiv(a, b);
  case BYOC_DIM_MOD:
    return byoc_dim_mod(a, b);
  case BYOC_DIM_MIN:
    return byoc_dim_min(a, b);
  case BYOC_DIM_BROADCAST:
    return byoc_dim_broadcast(a, b);
  default:
    return byoc_dim_max(a, b);
  }
}

#endif // BYOC_CORE_HOSTIR_PROGRAM_DIM_VALUE_H_
