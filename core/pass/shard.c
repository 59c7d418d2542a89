// SPDX-License-Identifier: Apache-2.0
// shard: splits the main function over a mesh of ranks, and leaves the part of one rank.
//
// Nodes are visited in order. Each gets its operands sharded as its rule wants them (core/pass/shard_rules.h): operands
// that are sharded otherwise are resharded in front of it, once for all readers. Then its types are inferred anew from
// the shapes of this rank. A value that names its sharding is resharded behind the node that makes it; a parameter or
// constant that does is sharded from the beginning. Results of the function are whole unless they name another
// sharding.
#include <string.h>

#include "core/base/hash.h"
#include "core/ir/attribute_names.h"
#include "core/ir/structural.h"
#include "core/op/op.h"
#include "core/op/util.h"
#include "core/pass/pass.h"
#include "core/pass/reshard.h"
#include "core/pass/shard_rules.h"

// A value of the function as it was, and its sharding.
typedef struct entry_t {
  const byoc_type_t *type; // of the whole value
  byoc_spread_t spread;    // how `now` is spread
  byoc_value_t *now;       // this rank's value: the same one, or one that was made of it
  bool has_said;           // it says how it is spread: `said`
  byoc_spread_t said;
} entry_t;

typedef struct resharded_t {
  const byoc_value_t *value;
  byoc_spread_t to;
  byoc_value_t *made;
} resharded_t;

typedef struct sharder_t {
  byoc_graph_module_t *module;
  byoc_function_t *main;
  byoc_mesh_t mesh;
  int64_t build;        // a hash of the model and of how it is cut
  int32_t weights_axis; // along which weights are cut; -1: none
  byoc_arena_t arena;
  byoc_map_t entries; // pointer map: value → entry_t *
  BYOC_VECTOR(resharded_t) resharded;
  byoc_node_t *end; // stands behind all nodes while the pass runs
  byoc_diag_t *diag;
  size_t *changes;
} sharder_t;

// ---- entries ----

static entry_t *entry_of(const sharder_t *s, const byoc_value_t *value) {
  return byoc_pointer_map_get(&s->entries, value);
}

// Notes a value, and removes the sharding that it names.
static byoc_status_t add_entry(sharder_t *s, byoc_value_t *value) {
  entry_t *entry = BYOC_ARENA_NEW(&s->arena, entry_t);
  if (entry == NULL || !byoc_pointer_map_put(&s->entries, value, entry)) return byoc_diag_out_of_memory(s->diag);
  *entry = (entry_t){.type = value->type, .now = value};
  const char *said = value->device.ranks;
  value->device.ranks = NULL;
  if (said == NULL) return BYOC_OK;
  entry->has_said = true;
  const char *name = value->name != NULL ? value->name : byoc_value_is_constant(value) ? value->constant->name : "";
  BYOC_RETURN_IF_ERROR_IN(s->diag, byoc_spread_parse(said, &s->mesh, s->diag, &entry->said), "value '%s'", name);
  for (int32_t k = 0; k < s->mesh.axis_count; ++k) {
    const byoc_spread_axis_t *axis = &entry->said.axes[k];
    const bool fits = byoc_is_ranked(entry->type) && axis->dim < entry->type->rank &&
                      byoc_spread_divides(&entry->said, &s->mesh, axis->dim, entry->type->dims[axis->dim]);
    if (axis->kind != BYOC_SPREAD_SPLIT || fits) continue;
    return byoc_diag_error(
        s->diag, BYOC_INVALID_ARGUMENT,
        "value '%s' cannot be cut along its dimension %d: it must be known, and hold %d equal blocks", name, axis->dim,
        s->mesh.sizes[k] * axis->parts);
  }
  return BYOC_OK;
}

static byoc_status_t add_entries(sharder_t *s) {
  const byoc_block_t *body = s->main->body;
  for (size_t i = 0; i < body->parameters.count; ++i) BYOC_RETURN_IF_ERROR(add_entry(s, body->parameters.data[i]));
  for (size_t i = 0; i < s->main->constants.count; ++i) {
    BYOC_RETURN_IF_ERROR(add_entry(s, s->main->constants.entries[i].value));
  }
  BYOC_FOR_EACH_NODE(node, body) {
    for (uint32_t r = 0; r < node->result_count; ++r) BYOC_RETURN_IF_ERROR(add_entry(s, node->results[r]));
  }
  return BYOC_OK;
}

// A parameter that says how it is spread is given so.
static byoc_status_t cut_parameter(sharder_t *s, byoc_value_t *parameter) {
  entry_t *entry = entry_of(s, parameter);
  if (!entry->has_said) return BYOC_OK;
  entry->spread = entry->said;
  byoc_dim_t dims[BYOC_MAX_RANK];
  const byoc_type_t *type = entry->type;
  for (int32_t d = 0; byoc_is_ranked(type) && d < type->rank; ++d) {
    dims[d] = type->dims[d];
    for (int32_t k = 0; k < s->mesh.axis_count; ++k) {
      const byoc_spread_axis_t *axis = &entry->said.axes[k];
      if (axis->kind == BYOC_SPREAD_SPLIT && axis->dim == d) dims[d].constant /= s->mesh.sizes[k];
    }
  }
  if (!byoc_is_ranked(type)) return BYOC_OK;
  parameter->type = byoc_type_tensor(&s->module->arena, type->dtype, type->rank, dims);
  *s->changes += 1;
  return parameter->type != NULL ? BYOC_OK : byoc_diag_out_of_memory(s->diag);
}

// ---- resharding ----

static byoc_status_t cut_computed(sharder_t *s, byoc_value_t *value, const byoc_spread_t *to, byoc_node_t *before,
                                  byoc_value_t **out_value);

static byoc_status_t value_as(sharder_t *s, byoc_value_t *value, const byoc_spread_t *to, byoc_node_t *before,
                              byoc_value_t **out_value) {
  const entry_t *entry = entry_of(s, value);
  *out_value = entry->now;
  if (byoc_spread_equal(&entry->spread, to)) return BYOC_OK;
  for (size_t i = 0; i < s->resharded.count; ++i) {
    const resharded_t *known = &s->resharded.data[i];
    if (known->value != value || !byoc_spread_equal(&known->to, to)) continue;
    *out_value = known->made;
    return BYOC_OK;
  }
  BYOC_RETURN_IF_ERROR(cut_computed(s, value, to, before, out_value));
  if (*out_value == entry->now) {
    BYOC_RETURN_IF_ERROR(byoc_reshard(entry->now, &entry->spread, to, &s->mesh, before, s->diag, out_value));
  }
  *s->changes += 1;
  const resharded_t made = {value, *to, *out_value};
  return byoc_vector_push(&s->resharded, byoc_arena_allocator(&s->arena), made) ? BYOC_OK
                                                                                : byoc_diag_out_of_memory(s->diag);
}

// From now on the value has the sharding that it names.
static byoc_status_t settle_value(sharder_t *s, byoc_value_t *value, byoc_node_t *before) {
  entry_t *entry = entry_of(s, value);
  if (!entry->has_said) return BYOC_OK;
  byoc_value_t *made = NULL;
  BYOC_RETURN_IF_ERROR(value_as(s, value, &entry->said, before, &made));
  entry->now = made;
  entry->spread = entry->said;
  return BYOC_OK;
}

// ---- nodes ----

// The shardings of a node's operands and results, along all axes.
typedef struct plan_t {
  const byoc_type_t **types; // by operand
  byoc_spread_t *wanted;     // by operand
  byoc_spread_t *made;       // by result
} plan_t;

static bool fits(const sharder_t *s, const byoc_spread_t *spread, const byoc_type_t *type) {
  for (int32_t k = 0; k < s->mesh.axis_count; ++k) {
    const byoc_spread_axis_t *axis = &spread->axes[k];
    if (axis->kind != BYOC_SPREAD_SPLIT) continue;
    if (!byoc_is_ranked(type) || axis->dim >= type->rank ||
        !byoc_spread_divides(spread, &s->mesh, axis->dim, type->dims[axis->dim])) {
      return false;
    }
  }
  return true;
}

// `given` has an element for each operand.
static byoc_status_t plan_axis(sharder_t *s, const byoc_node_t *node, int32_t k, const byoc_spread_axis_t *given,
                               plan_t *plan) {
  const uint32_t operands = node->operand_count, results = node->result_count;
  byoc_spread_axis_t *axes = BYOC_ARENA_ARRAY(&s->arena, byoc_spread_axis_t, (size_t)operands + results + 1);
  if (axes == NULL) return byoc_diag_out_of_memory(s->diag);
  byoc_spread_axis_t *wanted = axes, *made = wanted + operands;
  const byoc_shard_rule_t rule = {.node = node,
                                  .types = plan->types,
                                  .given = given,
                                  .size = s->mesh.sizes[k],
                                  .seeks_weights = k == s->weights_axis,
                                  .wanted = wanted,
                                  .made = made};
  byoc_shard_apply_rule(&rule);
  bool ok = true;
  for (uint32_t i = 0; i < operands; ++i) {
    plan->wanted[i].axes[k] = wanted[i];
    ok = ok && (node->operands[i] == NULL || fits(s, &plan->wanted[i], plan->types[i]));
  }
  for (uint32_t i = 0; i < results; ++i) {
    plan->made[i].axes[k] = made[i];
    ok = ok && fits(s, &plan->made[i], node->results[i]->type);
  }
  const byoc_spread_axis_t whole = {0};
  for (uint32_t i = 0; i < operands && !ok; ++i) plan->wanted[i].axes[k] = whole;
  for (uint32_t i = 0; i < results && !ok; ++i) plan->made[i].axes[k] = whole;
  return BYOC_OK;
}

static byoc_status_t begin_plan(sharder_t *s, const byoc_node_t *node, plan_t *plan) {
  plan->types = BYOC_ARENA_ARRAY(&s->arena, const byoc_type_t *, (size_t)node->operand_count + 1);
  plan->wanted = BYOC_ARENA_ARRAY(&s->arena, byoc_spread_t, (size_t)node->operand_count + 1);
  plan->made = BYOC_ARENA_ARRAY(&s->arena, byoc_spread_t, (size_t)node->result_count + 1);
  if (plan->types == NULL || plan->wanted == NULL || plan->made == NULL) return byoc_diag_out_of_memory(s->diag);
  for (uint32_t i = 0; i < node->operand_count; ++i) {
    if (node->operands[i] != NULL) plan->types[i] = entry_of(s, node->operands[i])->type;
  }
  return BYOC_OK;
}

static byoc_status_t plan_node(sharder_t *s, const byoc_node_t *node, plan_t *plan) {
  byoc_spread_axis_t *given = BYOC_ARENA_ARRAY(&s->arena, byoc_spread_axis_t, (size_t)node->operand_count + 1);
  if (given == NULL) return byoc_diag_out_of_memory(s->diag);
  BYOC_RETURN_IF_ERROR(begin_plan(s, node, plan));
  for (int32_t k = 0; k < s->mesh.axis_count; ++k) {
    for (uint32_t i = 0; i < node->operand_count; ++i) {
      if (node->operands[i] != NULL) given[i] = entry_of(s, node->operands[i])->spread.axes[k];
    }
    BYOC_RETURN_IF_ERROR(plan_axis(s, node, k, given, plan));
  }
  return BYOC_OK;
}

// ---- weights that are computed ----

// Finds the sharding of the operands, led by the first one, that gives the result along axis k as `to` says.
static byoc_status_t plan_backwards(sharder_t *s, const byoc_node_t *node, int32_t k, const byoc_spread_axis_t *to,
                                    plan_t *plan, bool *out_found) {
  *out_found = to->kind == BYOC_SPREAD_WHOLE;
  if (to->kind != BYOC_SPREAD_SPLIT || !byoc_is_ranked(plan->types[0])) return BYOC_OK;
  byoc_spread_axis_t *given = BYOC_ARENA_ARRAY(&s->arena, byoc_spread_axis_t, (size_t)node->operand_count);
  if (given == NULL) return byoc_diag_out_of_memory(s->diag);
  for (int32_t d = 0; d < plan->types[0]->rank && !*out_found; ++d) {
    given[0] = byoc_shard_split(d, to->parts);
    BYOC_RETURN_IF_ERROR(plan_axis(s, node, k, given, plan));
    *out_found = byoc_spread_axis_equal(&plan->made[0].axes[k], to);
  }
  return BYOC_OK;
}

static byoc_node_t *copy_with(sharder_t *s, const byoc_node_t *node, byoc_value_t *const *operands,
                              byoc_node_t *before) {
  byoc_node_t *copy = byoc_node_create(before->block, before, node->domain, node->op, node->since_version, operands,
                                       node->operand_count, 1);
  if (copy == NULL || !byoc_attributes_copy(&copy->attributes, &node->attributes)) return NULL;
  copy->name = node->name;
  return byoc_infer_node(copy, s->diag) == BYOC_OK ? copy : NULL;
}

// Of a whole value that is computed from constants, DequantizeLinear(w) say, the constants are cut: each rank computes
// its block. If there is no rule for that, *out_value stays.
static byoc_status_t cut_computed(sharder_t *s, byoc_value_t *value, const byoc_spread_t *to, byoc_node_t *before,
                                  byoc_value_t **out_value) {
  const entry_t *entry = entry_of(s, value);
  byoc_node_t *node = byoc_value_producer(value);
  if (node == NULL || entry->now != value || !byoc_spread_is_whole(&entry->spread)) return BYOC_OK;
  if (!byoc_shard_is_weight(value) || node->result_count != 1 || !byoc_has_operand(node, 0)) return BYOC_OK;
  if (byoc_node_is_onnx(node, "Reshape")) return BYOC_OK; // it would need another shape
  plan_t plan;
  bool found = true;
  BYOC_RETURN_IF_ERROR(begin_plan(s, node, &plan));
  for (int32_t k = 0; k < s->mesh.axis_count && found; ++k) {
    BYOC_RETURN_IF_ERROR(plan_backwards(s, node, k, &to->axes[k], &plan, &found));
  }
  byoc_value_t **operands = BYOC_ARENA_ARRAY(&s->arena, byoc_value_t *, node->operand_count);
  if (operands == NULL) return byoc_diag_out_of_memory(s->diag);
  if (!found) return BYOC_OK;
  for (uint32_t i = 0; i < node->operand_count; ++i) {
    if (node->operands[i] == NULL) continue;
    BYOC_RETURN_IF_ERROR(value_as(s, node->operands[i], &plan.wanted[i], before, &operands[i]));
  }
  const byoc_node_t *made = copy_with(s, node, operands, before);
  if (made == NULL) return byoc_diag_failure(s->diag);
  *out_value = made->results[0];
  return BYOC_OK;
}

// ---- operands that hold sizes ----

// A constant of integers with other elements.
static byoc_status_t set_sizes(sharder_t *s, byoc_node_t *node, uint32_t operand, const int64_t *values) {
  const byoc_constant_t *old = node->operands[operand]->constant;
  byoc_constant_t *made = byoc_constant_create(s->module, old->name, old->type, values);
  byoc_value_t *value = made != NULL ? byoc_function_constant(node->function, made) : NULL;
  return value != NULL && byoc_node_set_operand(node, operand, value) ? BYOC_OK : byoc_diag_out_of_memory(s->diag);
}

// How often dimension `dim` is cut.
static int64_t cuts_of(const sharder_t *s, const byoc_spread_t *spread, int32_t dim) {
  int64_t cuts = 1;
  for (int32_t k = 0; k < s->mesh.axis_count; ++k) {
    const byoc_spread_axis_t *axis = &spread->axes[k];
    if (axis->kind == BYOC_SPREAD_SPLIT && axis->dim == dim) cuts *= s->mesh.sizes[k];
  }
  return cuts;
}

// The shape of a Reshape, and the sizes of a Split, are those of this rank. A 0 in a shape stands for a dimension of
// the operand, which may be cut where the result is not.
static byoc_status_t adjust_sizes(sharder_t *s, byoc_node_t *node, const plan_t *plan) {
  byoc_ints_t sizes;
  const bool is_split = byoc_node_is_onnx(node, "Split"), is_reshape = byoc_node_is_onnx(node, "Reshape");
  const char *name = is_split ? "split" : "shape";
  if ((!is_split && !is_reshape) || byoc_read_ints(node, name, 1, &sizes) != BYOC_KNOWN_YES) return BYOC_OK;
  bool changes = false;
  for (size_t i = 0; i < sizes.count; ++i) {
    const int32_t d = is_split ? byoc_node_axis(node, "axis", plan->types[0]->rank) : (int32_t)i;
    const int64_t cuts = cuts_of(s, &plan->made[is_split ? i : 0], d);
    const byoc_type_t *whole = node->results[is_split ? i : 0]->type;
    const bool is_copied = is_reshape && sizes.values[i] == 0 && byoc_is_ranked(whole) && d < whole->rank &&
                           byoc_dim_is_constant(whole->dims[d]);
    if (cuts == 1 && !is_copied) continue;
    sizes.values[i] = whole->dims[d].constant / cuts;
    changes = true;
  }
  if (!changes) return BYOC_OK;
  if (byoc_has_operand(node, 1)) return set_sizes(s, node, 1, sizes.values);
  return byoc_attributes_set_ints(&node->attributes, name, sizes.values, sizes.count)
             ? BYOC_OK
             : byoc_diag_out_of_memory(s->diag);
}

// K and N of a product by packed weights are those of this rank.
static bool adjust_packed(sharder_t *s, byoc_node_t *node, const plan_t *plan) {
  if (!byoc_node_is(node, "com.microsoft", "MatMulNBits")) return true;
  const int64_t inner = cuts_of(s, &plan->wanted[0], plan->types[0]->rank - 1);
  const int64_t columns = cuts_of(s, &plan->made[0], node->results[0]->type->rank - 1);
  return byoc_attributes_set_int(&node->attributes, "K", byoc_node_int(node, "K") / inner) &&
         byoc_attributes_set_int(&node->attributes, "N", byoc_node_int(node, "N") / columns);
}

// ---- nested blocks ----

// Values that a nested block takes from outside are whole.
static byoc_status_t make_captures_whole(sharder_t *s, byoc_block_t *block, byoc_node_t *before) {
  const byoc_spread_t whole = {0};
  BYOC_FOR_EACH_NODE(node, block) {
    for (uint32_t i = 0; i < node->operand_count; ++i) {
      byoc_value_t *value = node->operands[i];
      if (value == NULL || entry_of(s, value) == NULL) continue;
      BYOC_RETURN_IF_ERROR(value_as(s, value, &whole, before, &value));
      if (!byoc_node_set_operand(node, i, value)) return byoc_diag_out_of_memory(s->diag);
    }
    for (uint32_t b = 0; b < node->block_count; ++b) {
      BYOC_RETURN_IF_ERROR(make_captures_whole(s, node->blocks[b], before));
    }
  }
  for (uint32_t i = 0; i < block->results.count; ++i) {
    byoc_value_t *value = block->results.data[i];
    if (entry_of(s, value) == NULL) continue;
    BYOC_RETURN_IF_ERROR(value_as(s, value, &whole, before, &value));
    if (!byoc_block_set_result(block, i, value)) return byoc_diag_out_of_memory(s->diag);
  }
  return BYOC_OK;
}

// ---- the walk ----

// x · w + bias, where each rank has a part of the sum: the bias is added once, behind it.
static byoc_status_t add_bias_behind(sharder_t *s, byoc_node_t *node, byoc_value_t *bias) {
  entry_t *entry = entry_of(s, node->results[0]);
  byoc_spread_t to = entry->spread;
  byoc_value_t *sum = NULL;
  for (int32_t k = 0; k < s->mesh.axis_count; ++k) {
    if (to.axes[k].kind == BYOC_SPREAD_PARTIAL) to.axes[k] = (byoc_spread_axis_t){0};
  }
  BYOC_RETURN_IF_ERROR(value_as(s, node->results[0], &to, node->next, &sum));
  byoc_value_t *operands[] = {sum, bias};
  byoc_node_t *add = byoc_op_create(node->block, sum->node->next, "", "Add", operands, 2, 1, s->diag);
  if (add == NULL) return byoc_diag_failure(s->diag);
  // Readers that come later find the value with its bias.
  s->resharded.data[s->resharded.count - 1].made = add->results[0];
  entry->now = add->results[0];
  entry->spread = to;
  return BYOC_OK;
}

static bool is_partial(const byoc_spread_t *spread) {
  for (int32_t k = 0; k < BYOC_MESH_MOST_AXES; ++k) {
    if (spread->axes[k].kind == BYOC_SPREAD_PARTIAL) return true;
  }
  return false;
}

// Removes the bias of a product, the last of its operands.
static byoc_status_t take_bias(sharder_t *s, byoc_node_t *node, byoc_value_t **out_bias) {
  uint32_t count = byoc_shard_bias(node);
  if (count == 0 || !byoc_has_operand(node, count)) return BYOC_OK;
  *out_bias = node->operands[count];
  if (byoc_node_is_onnx(node, "Gemm") && node->since_version < 13) {
    node->since_version = 13; // before 11 it had to have a bias
  }
  while (!byoc_has_operand(node, count - 1)) --count;
  return byoc_node_set_operands(node, node->operands, count) ? BYOC_OK : byoc_diag_out_of_memory(s->diag);
}

static byoc_status_t shard_node(sharder_t *s, byoc_node_t *node) {
  plan_t plan;
  BYOC_RETURN_IF_ERROR(plan_node(s, node, &plan));
  bool changes = false;
  for (uint32_t i = 0; i < node->operand_count; ++i) {
    byoc_value_t *value = node->operands[i];
    if (value == NULL) continue;
    BYOC_RETURN_IF_ERROR(value_as(s, value, &plan.wanted[i], node, &value));
    changes = changes || !byoc_spread_is_whole(&plan.wanted[i]);
    if (!byoc_node_set_operand(node, i, value)) return byoc_diag_out_of_memory(s->diag);
  }
  for (uint32_t b = 0; b < node->block_count; ++b) {
    BYOC_RETURN_IF_ERROR(make_captures_whole(s, node->blocks[b], node));
  }
  for (uint32_t i = 0; i < node->result_count; ++i) entry_of(s, node->results[i])->spread = plan.made[i];
  byoc_value_t *bias = NULL;
  if (is_partial(&plan.made[0])) BYOC_RETURN_IF_ERROR(take_bias(s, node, &bias));
  if (changes) {
    BYOC_RETURN_IF_ERROR(adjust_sizes(s, node, &plan));
    if (!adjust_packed(s, node, &plan)) return byoc_diag_out_of_memory(s->diag);
    for (uint32_t i = 0; i < node->result_count; ++i) node->results[i]->type = byoc_type_unknown();
    BYOC_RETURN_IF_ERROR(byoc_infer_node(node, s->diag));
    *s->changes += 1;
  }
  return bias != NULL ? add_bias_behind(s, node, bias) : BYOC_OK;
}

static byoc_status_t shard_body(sharder_t *s) {
  byoc_block_t *body = s->main->body;
  for (size_t i = 0; i < body->parameters.count; ++i) BYOC_RETURN_IF_ERROR(cut_parameter(s, body->parameters.data[i]));
  for (size_t i = 0; i < s->main->constants.count; ++i) {
    byoc_value_t *constant = s->main->constants.entries[i].value;
    if (entry_of(s, constant) == NULL) continue; // made by the pass
    BYOC_RETURN_IF_ERROR(settle_value(s, constant, body->first));
  }
  for (byoc_node_t *node = body->first, *next = NULL; node != s->end; node = next) {
    next = node->next;
    if (node->result_count > 0 && entry_of(s, node->results[0]) == NULL) continue; // made by the pass
    char where[256];
    byoc_node_describe(node, where, sizeof(where));
    BYOC_RETURN_IF_ERROR_IN(s->diag, shard_node(s, node), "%s", where);
    for (uint32_t r = 0; r < node->result_count; ++r) BYOC_RETURN_IF_ERROR(settle_value(s, node->results[r], next));
  }
  const byoc_spread_t whole = {0};
  for (uint32_t i = 0; i < body->results.count; ++i) {
    byoc_value_t *value = body->results.data[i];
    const entry_t *entry = entry_of(s, value);
    BYOC_RETURN_IF_ERROR(value_as(s, value, entry->has_said ? &entry->said : &whole, s->end, &value));
    if (!byoc_block_set_result(body, i, value)) return byoc_diag_out_of_memory(s->diag);
  }
  return BYOC_OK;
}

static byoc_status_t find_axis(sharder_t *s, const char *name) {
  s->weights_axis = -1;
  for (int32_t k = 0; name != NULL && k < s->mesh.axis_count; ++k) {
    if (strcmp(s->mesh.names[k], name) == 0) s->weights_axis = k;
  }
  if (name == NULL || s->weights_axis >= 0) return BYOC_OK;
  return byoc_diag_error(s->diag, BYOC_INVALID_ARGUMENT,
                         "weights are to be cut along '%s', which is no axis of the mesh", name);
}

// A hash that is the same for all ranks of one build: of the model before it is sharded, of the sharding, and of the
// version of byoc. If memory runs out on the way, the hash is another one, and the build fails soon after.
static int64_t hash_build(const sharder_t *s, const char *mesh) {
  const byoc_attributes_t *attributes = &s->module->attributes;
  uint64_t hash = byoc_function_structural_hash(s->main, BYOC_STRUCTURAL_DEFAULT);
  hash = byoc_hash_combine(hash, byoc_hash_string(mesh));
  hash = byoc_hash_combine(hash, byoc_hash_string(byoc_attributes_string(attributes, BYOC_ATTRIBUTE_CUT_WEIGHTS, "")));
  hash = byoc_hash_combine(hash, (uint64_t)byoc_attributes_int(attributes, BYOC_ATTRIBUTE_PIPELINED, 0));
  hash = byoc_hash_combine(hash, byoc_hash_string(BYOC_VERSION_TEXT));
  return hash != 0 ? (int64_t)hash : 1;
}

static byoc_status_t finish(sharder_t *s) {
  byoc_attributes_t *attributes = &s->module->attributes;
  byoc_attributes_remove(attributes, BYOC_ATTRIBUTE_MESH);
  byoc_attributes_remove(attributes, BYOC_ATTRIBUTE_CUT_WEIGHTS);
  return byoc_attributes_set_int(attributes, BYOC_ATTRIBUTE_RANK, s->mesh.rank) &&
                 byoc_attributes_set_int(attributes, BYOC_ATTRIBUTE_RANK_COUNT, s->mesh.rank_count) &&
                 byoc_attributes_set_int(attributes, BYOC_ATTRIBUTE_RANK_BUILD, s->build)
             ? BYOC_OK
             : byoc_diag_out_of_memory(s->diag);
}

byoc_status_t byoc_pass_shard(byoc_graph_module_t *module, byoc_diag_t *diag, size_t *changes) {
  const char *mesh = byoc_attributes_string(&module->attributes, BYOC_ATTRIBUTE_MESH, NULL);
  sharder_t s = {.module = module, .main = byoc_graph_module_main(module), .diag = diag, .changes = changes};
  if (mesh == NULL || s.main == NULL) return BYOC_OK;
  const int64_t rank = byoc_attributes_int(&module->attributes, BYOC_ATTRIBUTE_RANK, 0);
  BYOC_RETURN_IF_ERROR(byoc_mesh_parse(mesh, rank < INT32_MAX ? (int32_t)rank : -1, diag, &s.mesh));
  BYOC_RETURN_IF_ERROR(find_axis(&s, byoc_attributes_string(&module->attributes, BYOC_ATTRIBUTE_CUT_WEIGHTS, NULL)));
  s.build = hash_build(&s, mesh);
  byoc_arena_init(&s.arena, module->allocator);
  byoc_pointer_map_init(&s.entries, module->allocator);
  byoc_status_t status = add_entries(&s);
  if (status == BYOC_OK) {
    s.end = byoc_node_create(s.main->body, NULL, "", "Identity", 1, NULL, 0, 1);
    if (s.end == NULL) status = byoc_diag_out_of_memory(diag);
  }
  if (status == BYOC_OK) status = shard_body(&s);
  if (s.end != NULL) byoc_node_erase(s.end);
  if (status == BYOC_OK) status = finish(&s);
  byoc_map_deinit(&s.entries);
  byoc_arena_deinit(&s.arena);
  return status;
}
