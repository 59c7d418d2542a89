// SPDX-License-Identifier: Apache-2.0
// Shared by the operators of com.microsoft.
#include "core/ops/microsoft/common.h"

byoc_value_t *byoc_microsoft_number(byoc_writer_t *w, const byoc_value_t *like, double value) {
  if (w->failed || !like) return NULL;
  byoc_graph_module_t *module = w->node->function->module;
  const byoc_type_t *type = byoc_type_tensor_static(&module->arena, BYOC_DTYPE_F32, 0, NULL);
  const float single = (float)value;
  byoc_constant_t *constant = type ? byoc_constant_create(module, "number", type, &single) : NULL;
  byoc_value_t *made = constant ? byoc_function_constant(w->node->function, constant) : NULL;
  if (!made) w->failed = true;
  return byoc_write_cast(w, made, like->type->dtype);
}

byoc_value_t *byoc_microsoft_integer(byoc_writer_t *w, int64_t value) {
  return byoc_write_vector(w, "number", BYOC_DTYPE_I64, 1, &value);
}

byoc_value_t *byoc_microsoft_add(byoc_writer_t *w, byoc_value_t *x, byoc_value_t *bias) {
  return bias ? byoc_write_plain(w, "Add", x, bias) : x;
}

byoc_value_t *byoc_microsoft_size(byoc_writer_t *w, byoc_value_t *x, int32_t d) {
  const byoc_attribute_t range[] = {byoc_write_int("start", d), byoc_write_int("end", d + 1)};
  return byoc_write_plain(w, "Squeeze", byoc_write_node(w, "", "Shape", x, NULL, NULL, range, 2), NULL);
}

byoc_value_t *byoc_microsoft_unsqueeze(byoc_writer_t *w, byoc_value_t *x, const int64_t *axes, int64_t count) {
  return byoc_write_plain(w, "Unsqueeze", x, byoc_write_vector(w, "axes", BYOC_DTYPE_I64, count, axes));
}

byoc_value_t *byoc_microsoft_count(byoc_writer_t *w, byoc_value_t *end) {
  const int64_t none = 0, one = 1;
  byoc_value_t *from = byoc_write_plain(w, "Squeeze", byoc_write_vector(w, "from", BYOC_DTYPE_I64, 1, &none), NULL);
  byoc_value_t *step = byoc_write_plain(w, "Squeeze", byoc_write_vector(w, "step", BYOC_DTYPE_I64, 1, &one), NULL);
  return byoc_write_node(w, "", "Range", from, end, step, NULL, 0);
}

void byoc_microsoft_split(byoc_writer_t *w, byoc_value_t *x, const int64_t sizes[3], byoc_value_t *out[3]) {
  const byoc_attribute_t axis = byoc_write_int("axis", -1);
  byoc_value_t *operands[] = {x, byoc_write_vector(w, "sizes", BYOC_DTYPE_I64, 3, sizes)};
  if (!x) w->failed = true;
  byoc_node_t *made = byoc_write_many(w, "", "Split", operands, 2, 3, &axis, 1);
  for (int i = 0; i < 3; ++i) out[i] = made ? made->results[i] : NULL;
}

void byoc_microsoft_replace(byoc_writer_t *w, uint32_t result, byoc_value_t *value) {
  if (w->failed || !byoc_has_result(w->node, result)) return;
  if (!value || !byoc_value_replace_uses(w->node->results[result], value)) w->failed = true;
}

byoc_status_t byoc_microsoft_need_int(const byoc_infer_t *infer, const char *name, int64_t only) {
  const int64_t value = byoc_node_int(infer->node, name);
  if (value == only) return BYOC_OK;
  return byoc_infer_unsupported(infer, "attribute '%s' is %lld; only %lld is supported", name, (long long)value,
                                (long long)only);
}

byoc_status_t byoc_microsoft_need_absent(const byoc_infer_t *infer, uint32_t index, const char *what) {
  if (!byoc_has_operand(infer->node, index)) return BYOC_OK;
  return byoc_infer_unsupported(infer, "operand %u, %s, is not supported", index, what);
}

byoc_status_t byoc_microsoft_need_float(const byoc_infer_t *infer, uint32_t index) {
  if (index > 0 && !byoc_has_operand(infer->node, index)) return BYOC_OK;
  BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, index, byoc_dtype_is_float, "a float tensor"));
  return byoc_infer_need_same(infer, index);
}

byoc_status_t byoc_microsoft_need_ranked(const byoc_infer_t *infer, uint32_t index, int32_t least, int32_t most) {
  BYOC_RETURN_IF_ERROR(byoc_microsoft_need_float(infer, index));
  BYOC_RETURN_IF_ERROR(byoc_infer_need_rank(infer, index, least, most));
  if (byoc_is_ranked(byoc_operand_type(infer->node, index))) return BYOC_OK;
  return byoc_infer_unsupported(infer, "operand %u: its rank must be known", index);
}

byoc_status_t byoc_microsoft_broadcast(const byoc_infer_t *infer, const uint32_t *indices, size_t count,
                                       byoc_dtype_t dtype) {
  byoc_dim_t dims[BYOC_MAX_RANK];
  bool failed = false;
  int32_t rank = 0;
  for (size_t i = 0; i < count; ++i) {
    const byoc_type_t *type = byoc_operand_type(infer->node, indices[i]);
    if (!byoc_is_ranked(type)) return byoc_infer_set_unranked(infer, 0, dtype);
    if (type->rank > rank) rank = type->rank;
  }
  for (int32_t d = 0; d < rank; ++d) {
    byoc_side_t side = byoc_side_number(1);
    for (size_t i = 0; i < count; ++i) {
      const int32_t at = d - (rank - byoc_operand_type(infer->node, indices[i])->rank);
      if (at < 0) continue;
      if (!byoc_broadcast_dim(infer, side, byoc_side_of(infer, indices[i], at), &dims[d], &failed)) {
        return byoc_infer_error(infer, "operand %u does not broadcast with those before it (dimension %d)", indices[i],
                                (int)d);
      }
      const bool is_first = byoc_dim_is_constant(side.dim) && side.dim.constant == 1;
      side = is_first ? byoc_side_of(infer, indices[i], at) : byoc_side(dims[d], "what comes before");
    }
  }
  BYOC_RETURN_IF_ERROR(byoc_infer_memory(infer, failed));
  return byoc_infer_set(infer, 0, dtype, rank, dims);
}
