// SPDX-License-Identifier: Apache-2.0
// Branches that cannot run (core/op/refusal.h inserts these nodes):
//
//   byoc::Refuse   ends the run with a message; it has results for the If, of unknown types
//   byoc::Fail     the same as the host program does it: one text, no results
#include "core/op/refusal.h"
#include "core/op/util.h"
#include "core/op/write.h"

// The other branch decides the types of the results.
static byoc_status_t infer_refuse(byoc_infer_t *infer) {
  (void)infer;
  return BYOC_OK;
}

static byoc_status_t infer_fail(byoc_infer_t *infer) {
  const byoc_type_t *type = byoc_operand_type(infer->node, 0);
  const bool fits = byoc_is_ranked(type) && type->dtype == BYOC_DTYPE_STRING && byoc_type_element_count(type) == 1;
  return fits ? BYOC_OK : byoc_infer_error(infer, "operand 0: expected one string");
}

// ---- expansion ----

// A tensor of the type, with dynamic sizes 0: it is never read.
static byoc_value_t *make_tensor(byoc_writer_t *w, const byoc_type_t *type) {
  const int32_t rank = type->rank == BYOC_RANK_UNKNOWN ? 0 : type->rank;
  const bool is_text = type->dtype == BYOC_DTYPE_STRING;
  int64_t dims[BYOC_MAX_RANK] = {0};
  for (int32_t d = 0; d < rank; ++d) {
    dims[d] = byoc_dim_is_constant(type->dims[d]) ? type->dims[d].constant : 0;
  }
  const uint64_t zero[2] = {0}; // of any element type
  const char *none = "";
  byoc_value_t *element =
      byoc_write_vector(w, "none", type->dtype, 1, is_text ? (const void *)&none : (const void *)zero);
  if (!element) return NULL;
  element = byoc_write_reshape(w, element, dims, 0);
  byoc_value_t *shape = rank > 0 ? byoc_write_vector(w, "shape", BYOC_DTYPE_I64, rank, dims) : NULL;
  return rank > 0 ? byoc_write_node(w, "", "Expand", element, shape, NULL, NULL, 0) : element;
}

static byoc_value_t *make_result(byoc_writer_t *w, const byoc_type_t *type) {
  if (type->kind == BYOC_TYPE_TENSOR) return make_tensor(w, type);
  const bool is_sequence = type->kind == BYOC_TYPE_SEQUENCE;
  // Element types have the numbers of ONNX.
  const byoc_attribute_t dtype = {.name = "dtype", .kind = BYOC_ATTRIBUTE_INT, .i = type->element->dtype};
  const byoc_attribute_t element = {.name = "type", .kind = BYOC_ATTRIBUTE_TYPE, .type = type->element};
  byoc_node_t *made = byoc_write_many(w, "", is_sequence ? "SequenceEmpty" : "Optional", NULL, 0, 1,
                                      is_sequence ? &dtype : &element, 1);
  return made ? made->results[0] : NULL;
}

// The type of a result, or else that of the If's result; NULL if neither is known.
static const byoc_type_t *type_of(const byoc_value_t *result) {
  if (result->type->kind != BYOC_TYPE_UNKNOWN) return result->type;
  const byoc_node_t *owner = result->node->block->owner;
  if (!owner || !byoc_node_is_onnx(owner, "If") || result->uses.count != 1 || result->uses.data[0].node) return NULL;
  const byoc_type_t *type = owner->results[result->uses.data[0].index]->type;
  return type->kind != BYOC_TYPE_UNKNOWN ? type : NULL;
}

// Fail, and empty values of the types that the If has for its results.
static byoc_status_t expand_refuse(byoc_node_t *node, byoc_diag_t *diag, bool *out_changed) {
  byoc_writer_t w = {.node = node, .diag = diag};
  const char *message = byoc_node_text(node, BYOC_REFUSE_MESSAGE);
  byoc_value_t *text = byoc_write_vector(&w, "message", BYOC_DTYPE_STRING, 1, &message);
  if (!text || !byoc_write_many(&w, "byoc", "Fail", &text, 1, 0, NULL, 0)) return byoc_diag_failure(diag);
  for (uint32_t i = 0; i < node->result_count; ++i) {
    const byoc_type_t *type = type_of(node->results[i]);
    if (!type) return byoc_diag_error(diag, BYOC_INVALID_DATA, "the type of result %u is not known", i);
    byoc_value_t *made = make_result(&w, type);
    if (!made || !byoc_value_replace_uses(node->results[i], made)) return byoc_diag_failure(diag);
  }
  *out_changed = true;
  return BYOC_OK;
}

static const byoc_op_attribute_t refuse_attributes[] = {
    {BYOC_ATTR_REQUIRED(STRING, BYOC_REFUSE_MESSAGE)},
    BYOC_ATTR_END,
};

const byoc_op_t byoc_ops_refuse[] = {
    {.domain = "byoc",
     .name = "Refuse",
     .since_version = 1,
     .min_outputs = 1,
     .max_outputs = -1,
     .traits = BYOC_OP_HOST | BYOC_OP_RANDOM,
     .attributes = refuse_attributes,
     .infer = infer_refuse,
     .expand = expand_refuse},
    {.domain = "byoc",
     .name = "Fail",
     .since_version = 1,
     .min_inputs = 1,
     .max_inputs = 1,
     .traits = BYOC_OP_HOST | BYOC_OP_RANDOM,
     .infer = infer_fail},
};
const size_t byoc_ops_refuse_count = sizeof byoc_ops_refuse / sizeof *byoc_ops_refuse;
