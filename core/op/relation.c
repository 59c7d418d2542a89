// SPDX-License-Identifier: Apache-2.0
// Records relations of dimensions that inference cannot compare yet.
#include "core/op/relation.h"

#include <string.h>

#include "core/op/util.h"

void byoc_relations_deinit(byoc_relations_t *relations) {
  byoc_vector_deinit(&relations->items, relations->allocator);
  byoc_vector_deinit(&relations->limits, relations->allocator);
}

byoc_side_t byoc_side_of(const byoc_infer_t *infer, uint32_t operand, int32_t axis) {
  return (byoc_side_t){.dim = byoc_operand_type(infer->node, operand)->dims[axis], .operand = operand, .axis = axis};
}

// Does the relation hold for all values of the symbols?
static bool always_holds(const byoc_infer_t *infer, byoc_relation_kind_t kind, byoc_dim_t left, byoc_dim_t right,
                         bool *failed) {
  bool left_is_one = byoc_dim_is_constant(left) && left.constant == 1;
  bool right_is_one = byoc_dim_is_constant(right) && right.constant == 1;
  switch (kind) {
  case BYOC_RELATION_BROADCASTS:
    return left_is_one || right_is_one || byoc_dim_equal(left, right);
  case BYOC_RELATION_ONE_OR:
    return left_is_one || byoc_dim_equal(left, right);
  case BYOC_RELATION_AT_MOST:
    return byoc_dim_equal(byoc_dim_binary(infer->arena, BYOC_DIM_MIN, left, right, failed), left);
  case BYOC_RELATION_MULTIPLE: {
    if (!byoc_dim_is_constant(right) || right.constant <= 0) return false;
    byoc_dim_t rest = byoc_dim_binary(infer->arena, BYOC_DIM_MOD, left, right, failed);
    return byoc_dim_is_constant(rest) && rest.constant == 0;
  }
  default:
    return byoc_dim_equal(left, right);
  }
}

// NULL if the side is a plain number; *failed is set if out of memory.
static const char *name_of(const byoc_infer_t *infer, const byoc_side_t *side, bool *failed) {
  const char *name = NULL;
  if (side->name) {
    name = byoc_arena_copy_string(infer->arena, side->name);
  } else if (side->operand >= 0) {
    const char *own = infer->node->operands[side->operand]->name;
    name = byoc_arena_format(infer->arena, "dimension %lld of operand %lld%s%s%s", (long long)side->axis,
                             (long long)side->operand, own ? " '" : "", own ? own : "", own ? "'" : "");
  } else {
    return NULL;
  }
  *failed |= name == NULL;
  return name;
}

byoc_status_t byoc_infer_relate(const byoc_infer_t *infer, byoc_relation_kind_t kind, byoc_side_t left,
                                byoc_side_t right) {
  bool is_known = byoc_dim_is_constant(left.dim) && byoc_dim_is_constant(right.dim);
  if (is_known && byoc_relation_holds(kind, left.dim.constant, right.dim.constant)) return BYOC_OK;
  if (!is_known && !infer->relations) return BYOC_OK;
  bool failed = false;
  if (!is_known && always_holds(infer, kind, left.dim, right.dim, &failed)) return BYOC_OK;
  byoc_relation_t relation = {.kind = kind, .left = left.dim, .right = right.dim};
  relation.left_name = name_of(infer, &left, &failed);
  relation.right_name = name_of(infer, &right, &failed);
  BYOC_RETURN_IF_ERROR(byoc_infer_memory(infer, failed || infer->arena->is_exhausted)); // else the sides may be wrong
  if (!is_known) {
    return byoc_vector_push(&infer->relations->items, infer->relations->allocator, relation)
               ? BYOC_OK
               : byoc_diag_out_of_memory(infer->diag);
  }
  char where[256], text[512];
  byoc_node_describe(infer->node, where, sizeof where);
  const byoc_relation_names_t names = {where, relation.left_name, relation.right_name};
  byoc_relation_explain(kind, left.dim.constant, right.dim.constant, &names, text, sizeof text);
  return byoc_diag_error(infer->diag, BYOC_INVALID_DATA, "%s", text);
}

byoc_status_t byoc_infer_relate_made(const byoc_infer_t *infer, byoc_relation_kind_t kind, byoc_side_t left,
                                     byoc_side_t right) {
  if (!infer->relations) return BYOC_OK;
  const size_t before = infer->relations->items.count;
  BYOC_RETURN_IF_ERROR(byoc_infer_relate(infer, kind, left, right));
  for (size_t i = before; i < infer->relations->items.count; ++i) infer->relations->items.data[i].is_of_result = true;
  return BYOC_OK;
}

// ---- relations of a node's types beyond inference ----

// Dimensions that are known only at run time, and the dimensions for them in the types of the results.
typedef struct {
  const byoc_infer_t *infer;
  uint64_t first_unknown; // made by this inference, from here on
  struct {
    byoc_dim_t unknown, stands;
  } known[4 * BYOC_MAX_RANK];
  size_t count;
} made_t;

static bool stands_for(void *self, byoc_dim_t leaf, byoc_dim_t *out) {
  const made_t *made = self;
  for (size_t i = 0; i < made->count; ++i) {
    *out = made->known[i].stands;
    if (byoc_dim_equal(made->known[i].unknown, leaf)) return true;
  }
  return false;
}

// Relations between dimensions that are known only at run time become relations between the dimensions in the types.
static byoc_status_t settle(made_t *made, byoc_relations_t *relations, size_t first) {
  bool failed = false;
  for (size_t i = first; i < relations->items.count; ++i) {
    byoc_relation_t *relation = &relations->items.data[i];
    byoc_dim_t left = byoc_dim_replace(relation->left, stands_for, made, made->infer->arena, &failed);
    byoc_dim_t right = byoc_dim_replace(relation->right, stands_for, made, made->infer->arena, &failed);
    relation->is_of_result |= !byoc_dim_equal(left, relation->left) || !byoc_dim_equal(right, relation->right);
    relation->left = left, relation->right = right;
  }
  return byoc_infer_memory(made->infer, failed);
}

static bool is_older(void *self, byoc_dim_t leaf) {
  const made_t *made = self;
  return !byoc_dim_is_unknown(leaf) || leaf.expr->id < made->first_unknown;
}

// The result must have this rank in a run, because the model declares it or inference has assumed it.
static byoc_status_t relate_rank(const byoc_infer_t *infer, int32_t rank) {
  const char *name = infer->node->results[0]->name;
  char text[200];
  snprintf(text, sizeof text, "the rank of result 0%s%s%s", name ? " '" : "", name ? name : "", name ? "'" : "");
  return byoc_infer_relate(infer, BYOC_RELATION_EQUAL, byoc_side(infer->relations->rank, text), byoc_side_number(rank));
}

static byoc_status_t relate_result(made_t *made, uint32_t r, const byoc_type_t *has, const byoc_type_t *follows) {
  const byoc_infer_t *infer = made->infer;
  if (r == 0 && infer->relations->has_rank && byoc_is_ranked(has)) {
    BYOC_RETURN_IF_ERROR(relate_rank(infer, has->rank));
  }
  if (!byoc_is_ranked(has) || !byoc_is_ranked(follows) || has->rank != follows->rank) return BYOC_OK;
  bool failed = false;
  for (int32_t d = 0; d < has->rank; ++d) {
    byoc_dim_t dim = byoc_dim_replace(follows->dims[d], stands_for, made, infer->arena, &failed);
    if (byoc_dim_is_unknown(dim) && !is_older(made, dim)) {
      if (made->count < sizeof made->known / sizeof *made->known) {
        made->known[made->count].unknown = dim, made->known[made->count++].stands = has->dims[d];
      }
      continue; // core/kernel/shapes.c compares its declared value with the computed one
    }
    if (!byoc_dim_walk(dim, is_older, made)) continue;
    const char *name = infer->node->results[r]->name;
    char text[200];
    snprintf(text, sizeof text, "dimension %d of result %u%s%s%s", (int)d, (unsigned)r, name ? " '" : "",
             name ? name : "", name ? "'" : "");
    BYOC_RETURN_IF_ERROR(byoc_infer_memory(infer, failed));
    bool is_number = byoc_dim_is_constant(has->dims[d]);
    BYOC_RETURN_IF_ERROR(byoc_infer_relate(infer, is_number ? BYOC_RELATION_DECLARED : BYOC_RELATION_EQUAL,
                                           byoc_side(dim, text),
                                           byoc_side(has->dims[d], is_number ? NULL : "the declared size")));
  }
  return byoc_infer_memory(infer, failed);
}

byoc_status_t byoc_infer_relations(byoc_node_t *node, byoc_diag_t *diag, byoc_relations_t *relations) {
  byoc_graph_module_t *module = node->function->module;
  const byoc_op_t *op = byoc_op_of(node);
  if (!op) return BYOC_OK;
  byoc_infer_t infer = {node, &module->arena, op->since_version, diag, &module->next_id, relations};
  made_t made = {.infer = &infer, .first_unknown = module->next_id};
  const byoc_type_t **has = BYOC_ARENA_ARRAY(&module->arena, const byoc_type_t *, node->result_count + 1);
  if (!has) return byoc_diag_out_of_memory(diag);
  bool is_given = op->domain[0] != '\0' && strcmp(op->domain, "byoc") == 0; // types of our own are part of the operator
  for (uint32_t r = 0; r < node->result_count; ++r) {
    has[r] = node->results[r]->type;
    if (!is_given) node->results[r]->type = byoc_type_unknown();
  }
  size_t first = relations->items.count;
  relations->has_rank = false;
  relations->made = node->result_count > 0 && byoc_is_ranked(has[0]) ? has[0] : NULL;
  byoc_status_t status = op->infer(&infer);
  for (uint32_t r = 0; r < node->result_count; ++r) {
    const byoc_type_t *follows = node->results[r]->type;
    node->results[r]->type = has[r];
    if (status == BYOC_OK && !is_given && !(op->traits & (BYOC_OP_CONTROL | BYOC_OP_HOST))) {
      status = relate_result(&made, r, has[r], follows);
    }
  }
  return status == BYOC_OK ? settle(&made, relations, first) : status;
}
