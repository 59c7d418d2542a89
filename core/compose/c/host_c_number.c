// SPDX-License-Identifier: Apache-2.0
// Numbers as C: constants, and dimensions over the symbols of a run.
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "core/compose/c/host_c.h"

void byoc_host_c_emit_integer(int64_t value, byoc_string_t *out) {
  if (value == INT64_MIN) byoc_string_append(out, "(-INT64_MAX - 1)");
  if (value != INT64_MIN) byoc_string_appendf(out, "%lld", (long long)value);
}

void byoc_host_c_emit_real(uint32_t type, double value, byoc_string_t *out) {
  bool single = type == BYOC_C_F32;
  if (isnan(value)) {
    byoc_string_append(out, single ? "NAN" : "(double)NAN");
    return;
  }
  if (isinf(value)) {
    byoc_string_appendf(out, "%s%s", value < 0 ? "-" : "", single ? "INFINITY" : "(double)INFINITY");
    return;
  }
  size_t start = out->size;
  if (single) byoc_string_append_f32(out, (float)value);
  if (!single) byoc_string_append_f64(out, value);
  if (strpbrk(out->data + start, ".eE") == NULL) byoc_string_append(out, ".0");
  if (single) byoc_string_append(out, "f");
}

void byoc_host_c_emit_dim(const byoc_host_c_t *host, byoc_dim_t dim, byoc_string_t *out) {
  if (byoc_dim_is_constant(dim)) {
    byoc_string_appendf(out, "%lld", (long long)dim.constant);
    return;
  }
  const byoc_dim_expr_t *e = dim.expr;
  if (e->kind == BYOC_DIM_SYMBOL) {
    uintptr_t index = (uintptr_t)byoc_string_map_get(&host->program->symbol_indices, e->symbol);
    byoc_string_appendf(out, "symbols[%zu]", (size_t)index - 1);
    return;
  }
  const char *open = "(";
  switch (e->kind) {
  case BYOC_DIM_ADD:
    open = "byoc_dim_add(";
    break;
  case BYOC_DIM_SUB:
    open = "byoc_dim_sub(";
    break;
  case BYOC_DIM_MUL:
    open = "byoc_dim_mul(";
    break;
  case BYOC_DIM_FLOORDIV:
    open = "byoc_dim_floordiv(";
    break;
  case BYOC_DIM_CEILDIV:
    open = "byoc_dim_ceildiv(";
    break;
  case BYOC_DIM_MOD:
    open = "byoc_dim_mod(";
    break;
  case BYOC_DIM_MIN:
    open = "byoc_dim_min(";
    break;
  case BYOC_DIM_BROADCAST:
    open = "byoc_dim_broadcast(";
    break;
  default:
    open = "byoc_dim_max(";
    break;
  }
  byoc_string_append(out, open);
  byoc_host_c_emit_dim(host, e->left, out);
  byoc_string_append(out, ", ");
  byoc_host_c_emit_dim(host, e->right, out);
  byoc_string_append(out, ")");
}
