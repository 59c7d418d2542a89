// SPDX-License-Identifier: Apache-2.0
// pipeline-collectives: a product that waits for the data of all ranks, or whose result all ranks wait for, becomes
// products of one block after the other. Ranks compute on one block while the next one is on its way (the host pass
// overlap-collectives makes that possible).
#include <string.h>

#include "core/ir/attribute_names.h"
#include "core/op/op.h"
#include "core/op/util.h"
#include "core/op/write.h"
#include "core/pass/pass.h"
#include "core/pass/spread.h"

// The group of a collective, as this rank sees it.
typedef struct group_t {
  int64_t members, stride, own;
} group_t;

static group_t group_of(const byoc_node_t *node) {
  group_t g = {.members = byoc_node_int(node, "members"), .stride = byoc_node_int(node, "stride")};
  g.own = byoc_attributes_int(&node->function->module->attributes, BYOC_ATTRIBUTE_RANK, 0) / g.stride % g.members;
  return g;
}

// Each member's block goes to the one that is `by` places further on.
static byoc_value_t *write_shift(byoc_writer_t *w, byoc_value_t *x, const group_t *g, int64_t by) {
  int64_t targets[BYOC_MESH_MOST_RANKS];
  for (int64_t m = 0; m < g->members; ++m) targets[m] = (m + by + g->members) % g->members;
  const byoc_attribute_t attributes[] = {
      {.name = "members", .kind = BYOC_ATTRIBUTE_INT, .i = g->members},
      {.name = "stride", .kind = BYOC_ATTRIBUTE_INT, .i = g->stride},
      {.name = "targets", .kind = BYOC_ATTRIBUTE_INTS, .ints = targets, .count = (size_t)g->members},
  };
  return byoc_write_node(w, "byoc", "Permute", x, NULL, NULL, attributes, 3);
}

// A value whose only reader is a Reshape by a constant is read by that one's readers.
static byoc_value_t *behind_reshape(byoc_value_t *value) {
  if (value->uses.count != 1 || value->uses.data[0].node == NULL) return value;
  const byoc_node_t *user = value->uses.data[0].node;
  return byoc_node_is_onnx(user, "Reshape") && user->operands[0] == value ? user->results[0] : value;
}

// x · w with a matrix w and the rows of x in one piece, all of it known: a block of x has consecutive rows.
static bool is_product_of_rows(const byoc_node_t *node) {
  if (!byoc_node_is_onnx(node, "MatMul")) return false;
  const byoc_type_t *x = byoc_operand_type(node, 0), *w = byoc_operand_type(node, 1), *y = node->results[0]->type;
  if (!byoc_type_is_static(x) || !byoc_type_is_static(y) || !byoc_is_ranked(w) || w->rank != 2 || x->rank < 2) {
    return false;
  }
  for (int32_t d = 0; d + 2 < x->rank; ++d) {
    if (x->dims[d].constant != 1) return false;
  }
  return true;
}

static void dims_of_block(const byoc_type_t *type, int64_t members, int64_t *dims) {
  for (int32_t d = 0; d < type->rank; ++d) dims[d] = type->dims[d].constant;
  dims[type->rank - 2] /= members;
}

// ---- all_gather, then products ----

static bool is_gathered_for_products(const byoc_node_t *node, byoc_value_t **out_whole) {
  if (!byoc_node_is(node, "byoc", "AllGather") || byoc_node_int(node, "members") < 2 ||
      byoc_node_int(node, "members") > BYOC_MESH_MOST_RANKS) {
    return false;
  }
  byoc_value_t *whole = behind_reshape(node->results[0]);
  *out_whole = whole;
  for (size_t u = 0; u < whole->uses.count; ++u) {
    const byoc_use_t *use = &whole->uses.data[u];
    if (use->node == NULL || use->index != 0 || use->node->block != node->block || !is_product_of_rows(use->node) ||
        whole->type->dims[whole->type->rank - 2].constant % byoc_node_int(node, "members") != 0) {
      return false;
    }
  }
  return whole->uses.count > 0;
}

// AllGather(x) · w → x · w, then the next rank's block times w, and so on
static byoc_status_t pipeline_gather(byoc_node_t *node, byoc_value_t *whole, byoc_diag_t *diag) {
  const group_t g = group_of(node);
  const size_t readers = whole->uses.count;
  byoc_arena_t *arena = &node->function->module->arena;
  byoc_node_t **products = BYOC_ARENA_ARRAY(arena, byoc_node_t *, readers);
  byoc_value_t **parts = BYOC_ARENA_ARRAY(arena, byoc_value_t *, readers * (size_t)g.members);
  if (products == NULL || parts == NULL) return byoc_diag_out_of_memory(diag);
  for (size_t r = 0; r < readers; ++r) products[r] = whole->uses.data[r].node;
  byoc_node_t *last = products[0]; // all of them can stand where the last of them stands
  for (byoc_node_t *at = node; at != NULL; at = at->next) {
    for (size_t r = 0; r < readers; ++r) {
      if (products[r] == at) last = at;
    }
  }
  byoc_writer_t w = {.node = last, .diag = diag};
  int64_t dims[BYOC_MAX_RANK];
  dims_of_block(whole->type, g.members, dims);
  byoc_value_t *block = byoc_write_reshape(&w, node->operands[0], dims, whole->type->rank);
  for (int64_t k = 0; k < g.members && !w.failed; ++k) {
    byoc_value_t *next = k + 1 < g.members ? write_shift(&w, block, &g, -1) : NULL;
    for (size_t r = 0; r < readers; ++r) {
      parts[r * (size_t)g.members + (size_t)((g.own + k) % g.members)] =
          byoc_write_node(&w, "", "MatMul", block, products[r]->operands[1], NULL, NULL, 0);
    }
    block = next;
  }
  const byoc_attribute_t axis = {.name = "axis", .kind = BYOC_ATTRIBUTE_INT, .i = whole->type->rank - 2};
  for (size_t r = 0; r < readers && !w.failed; ++r) {
    byoc_node_t *joined =
        byoc_write_many(&w, "", "Concat", parts + r * (size_t)g.members, (uint32_t)g.members, 1, &axis, 1);
    if (joined == NULL || !byoc_value_replace_uses(products[r]->results[0], joined->results[0])) w.failed = true;
  }
  return w.failed ? byoc_diag_failure(diag) : BYOC_OK;
}

// The readers of the products must stand behind the last of them.
static bool can_wait(const byoc_value_t *whole) {
  for (size_t u = 0; u < whole->uses.count; ++u) {
    const byoc_node_t *product = whole->uses.data[u].node;
    for (const byoc_node_t *at = product->next; at != NULL; at = at->next) {
      bool is_product = false, reads = false;
      for (size_t o = 0; o < whole->uses.count; ++o) is_product = is_product || whole->uses.data[o].node == at;
      for (uint32_t i = 0; i < at->operand_count; ++i) reads = reads || at->operands[i] == product->results[0];
      if (at->block_count > 0) reads = true; // it may
      if (!reads) continue;
      for (const byoc_node_t *later = at; later != NULL; later = later->next) {
        for (size_t o = 0; o < whole->uses.count; ++o) {
          if (whole->uses.data[o].node == later && later != product) return false;
        }
      }
      break;
    }
  }
  return true;
}

// ---- a product, then reduce_scatter ----

// The product whose sum over the ranks is scattered; NULL: there is none.
static byoc_node_t *scattered_product(const byoc_node_t *node) {
  if (!byoc_node_is(node, "byoc", "ReduceScatter") || byoc_node_int(node, "members") < 2 ||
      byoc_node_int(node, "members") > BYOC_MESH_MOST_RANKS || strcmp(byoc_node_text(node, "reduction"), "sum") != 0) {
    return NULL;
  }
  byoc_node_t *maker = byoc_value_producer(node->operands[0]);
  if (maker != NULL && byoc_node_is_onnx(maker, "Reshape") && maker->results[0]->uses.count == 1) {
    maker = byoc_value_producer(maker->operands[0]);
  }
  if (maker == NULL || maker->block != node->block || maker->results[0]->uses.count != 1 ||
      !is_product_of_rows(maker) || !byoc_type_is_static(node->results[0]->type)) {
    return NULL;
  }
  const byoc_type_t *y = maker->results[0]->type;
  return y->dims[y->rank - 2].constant % byoc_node_int(node, "members") == 0 ? maker : NULL;
}

// The product of one member's rows.
static byoc_value_t *write_rows(byoc_writer_t *w, const byoc_node_t *product, int64_t member, int64_t members,
                                const byoc_type_t *block) {
  const byoc_type_t *x = product->operands[0]->type;
  const int64_t rows = x->dims[x->rank - 2].constant / members;
  const int64_t numbers[] = {member * rows, (member + 1) * rows, x->rank - 2};
  byoc_value_t *operands[4] = {product->operands[0]};
  for (int i = 0; i < 3; ++i) operands[i + 1] = byoc_write_vector(w, "rows", BYOC_DTYPE_I64, 1, &numbers[i]);
  byoc_node_t *slice = byoc_write_many(w, "", "Slice", operands, 4, 1, NULL, 0);
  if (slice == NULL) return NULL;
  int64_t dims[BYOC_MAX_RANK];
  for (int32_t d = 0; d < block->rank; ++d) dims[d] = block->dims[d].constant;
  byoc_value_t *part = byoc_write_node(w, "", "MatMul", slice->results[0], product->operands[1], NULL, NULL, 0);
  return part != NULL ? byoc_write_reshape(w, part, dims, block->rank) : NULL;
}

// ReduceScatter(x · w) → the rows of each other rank times w, sent there; the own rows and the received ones, summed up
// in the order of the ranks
static byoc_status_t pipeline_scatter(byoc_node_t *node, const byoc_node_t *product, byoc_diag_t *diag) {
  const group_t g = group_of(node);
  const byoc_type_t *block = node->results[0]->type;
  byoc_value_t **terms = BYOC_ARENA_ARRAY(&node->function->module->arena, byoc_value_t *, (size_t)g.members);
  if (terms == NULL) return byoc_diag_out_of_memory(diag);
  byoc_writer_t w = {.node = node, .diag = diag};
  for (int64_t k = 1; k < g.members && !w.failed; ++k) {
    byoc_value_t *theirs = write_rows(&w, product, (g.own + k) % g.members, g.members, block);
    terms[(g.own - k + g.members) % g.members] = write_shift(&w, theirs, &g, k);
  }
  terms[g.own] = write_rows(&w, product, g.own, g.members, block);
  byoc_value_t *sum = terms[0];
  for (int64_t m = 1; m < g.members && !w.failed; ++m) {
    sum = byoc_write_node(&w, "", "Add", sum, terms[m], NULL, NULL, 0);
  }
  bool changed = false;
  return byoc_write_end(&w, sum, &changed);
}

byoc_status_t byoc_pass_pipeline_collectives(byoc_graph_module_t *module, byoc_diag_t *diag, size_t *changes) {
  BYOC_FOR_EACH_FUNCTION(function, module) {
    BYOC_FOR_EACH_NODE(node, function->body) {
      byoc_value_t *whole = NULL;
      const byoc_node_t *product = scattered_product(node);
      if (product != NULL) {
        BYOC_RETURN_IF_ERROR(pipeline_scatter(node, product, diag));
        *changes += 1;
      } else if (is_gathered_for_products(node, &whole) && can_wait(whole)) {
        BYOC_RETURN_IF_ERROR(pipeline_gather(node, whole, diag));
        *changes += 1;
      }
    }
  }
  return BYOC_OK;
}
