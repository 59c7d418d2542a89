// SPDX-License-Identifier: Apache-2.0
// Element types for byoc explain: those of regions, and those because of which a target did not get a node.
#include "core/collage/element_types.h"

#include <string.h>

#include "core/base/visible.h"
#include "core/collage/constraint.h"
#include "core/plugin/pattern.h"

// ---- of regions ----

static bool is_inside(const byoc_dataflow_t *flow, const byoc_index_set_t *nodes, const byoc_node_t *node) {
  return node != NULL && node->block == flow->block &&
         byoc_index_set_contains(nodes, byoc_numbering_get(&flow->numbers, node));
}

// Does a region read the value from outside, as data or weights?
static bool is_read(const byoc_dataflow_t *flow, const byoc_index_set_t *nodes, const byoc_value_t *value) {
  if (value == NULL || !byoc_type_is_tensor(value->type)) return false;
  if (byoc_value_is_constant(value)) return value->type->rank >= 2;
  return !is_inside(flow, nodes, byoc_value_producer(value));
}

static bool is_given(const byoc_dataflow_t *flow, const byoc_index_set_t *nodes, const byoc_value_t *value) {
  if (!byoc_type_is_tensor(value->type)) return false;
  for (size_t u = 0; u < value->uses.count; ++u) {
    if (!is_inside(flow, nodes, value->uses.data[u].node)) return true;
  }
  return false;
}

// Appends the type unless `seen` has it.
static void append_once(byoc_dtype_t dtype, uint64_t *seen, byoc_string_t *out) {
  if ((*seen >> dtype & 1) != 0) return;
  byoc_string_appendf(out, "%s%s", *seen != 0 ? ", " : "", byoc_dtype_name(dtype));
  *seen |= UINT64_C(1) << dtype;
}

void byoc_region_types(const byoc_dataflow_t *flow, const byoc_index_set_t *nodes, byoc_string_t *out) {
  uint64_t read = 0, given = 0;
  for (uint32_t i = 0; i < nodes->count; ++i) {
    const byoc_node_t *node = flow->nodes[nodes->items[i]];
    for (uint32_t k = 0; k < node->operand_count; ++k) {
      if (is_read(flow, nodes, node->operands[k])) append_once(node->operands[k]->type->dtype, &read, out);
    }
  }
  byoc_string_append(out, read != 0 ? " -> " : "-> ");
  for (uint32_t i = 0; i < nodes->count; ++i) {
    const byoc_node_t *node = flow->nodes[nodes->items[i]];
    for (uint32_t k = 0; k < node->result_count; ++k) {
      if (is_given(flow, nodes, node->results[k])) append_once(node->results[k]->type->dtype, &given, out);
    }
  }
}

// ---- refusals ----

typedef struct refuser_t {
  byoc_candidates_t *list;
  const byoc_dataflow_t *flow;
  const byoc_target_t *target;
  const byoc_rule_t *rule;
  const bool *is_out; // by node: the target has a candidate with it, or was not asked
  byoc_match_t match;
  byoc_type_clash_t clash;
  byoc_string_t text;
  byoc_diag_t *diag;
} refuser_t;

// "f32, f16 and bf16"
static void append_dtypes(uint64_t dtypes, byoc_string_t *out) {
  for (byoc_dtype_t dtype = 1; dtype < BYOC_DTYPE_COUNT; ++dtype) {
    if ((dtypes >> dtype & 1) == 0) continue;
    const uint64_t later = dtypes >> dtype >> 1, earlier = dtypes & ((UINT64_C(1) << dtype) - 1);
    byoc_string_appendf(out, "%s%s", earlier == 0 ? "" : later == 0 ? " and " : ", ", byoc_dtype_name(dtype));
  }
}

// "f32 and f16", "f32 of rank 4", "rank 4": of what a test asks for.
static void append_test(const byoc_type_clash_t *clash, uint64_t dtypes, int32_t rank, byoc_string_t *out) {
  append_dtypes(dtypes, out);
  if (!clash->has_rank) return;
  byoc_string_append(out, dtypes != 0 ? " of " : "");
  if (rank >= 0) byoc_string_appendf(out, "rank %d", (int)rank);
  if (rank < 0) byoc_string_append(out, "unknown rank");
}

static void append_type(const byoc_type_clash_t *clash, const byoc_type_t *type, byoc_string_t *out) {
  if (byoc_type_is_tensor(type)) {
    append_test(clash, clash->dtypes != 0 ? UINT64_C(1) << type->dtype : 0, type->rank, out);
  } else {
    byoc_string_append(out, "no tensor");
  }
}

static void append_node(const byoc_type_clash_t *clash, const byoc_node_t *node, byoc_string_t *out) {
  if (clash->nodes.count < 2) {
    byoc_string_append(out, "the node");
    return;
  }
  byoc_string_append_shown(out, node->op);
  if (node->name[0] == '\0') return;
  byoc_string_append(out, " '");
  byoc_string_append_shown(out, node->name);
  byoc_string_append(out, "'");
}

// The first node of the match that reads the value, with the operand's number.
static const byoc_node_t *find_reader(const byoc_type_clash_t *clash, uint32_t *out_operand) {
  for (size_t i = 0; i < clash->nodes.count; ++i) {
    const byoc_node_t *node = clash->nodes.data[i];
    for (*out_operand = 0; *out_operand < node->operand_count; ++*out_operand) {
      if (node->operands[*out_operand] == clash->value) return node;
    }
  }
  return clash->nodes.data[0];
}

// "takes f32 and f16, the node has bf16", "takes u8 as operand 0, Conv 'first' reads i8"
static void append_reason(const byoc_type_clash_t *clash, byoc_string_t *out) {
  uint32_t operand = 0;
  const byoc_node_t *node = clash->is_result ? clash->value->node : find_reader(clash, &operand);
  byoc_string_append(out, "takes ");
  append_test(clash, clash->dtypes, clash->rank, out);
  if (!clash->is_result) byoc_string_appendf(out, " as operand %u", (unsigned)operand);
  byoc_string_append(out, ", ");
  append_node(clash, node, out);
  byoc_string_append(out, clash->is_result ? " has " : " reads ");
  append_type(clash, clash->value->type, out);
}

static bool is_asked(void *self, const byoc_node_t *node) {
  const refuser_t *r = self;
  return !r->is_out[byoc_numbering_get(&r->flow->numbers, node)] && byoc_target_may_take(r->target, node);
}

// Has the rule refused more nodes for the same reason? Matches are found from the largest on.
static bool is_covered(const refuser_t *r, const byoc_index_set_t *set) {
  for (size_t i = 0; i < r->list->refusals.count; ++i) {
    const byoc_refusal_t *known = &r->list->refusals.data[i];
    if (known->target != r->target->index || strcmp(known->rule, r->rule->name) != 0 ||
        strcmp(known->reason, r->text.data) != 0)
      continue;
    uint32_t n = 0;
    while (n < set->count && byoc_index_set_contains(&known->nodes, set->items[n])) ++n;
    if (n == set->count) return true;
  }
  return false;
}

static byoc_status_t refuse(refuser_t *r) {
  const size_t count = r->clash.nodes.count;
  byoc_index_set_t set;
  uint32_t *numbers = byoc_allocate(r->list->arena.allocator, count, sizeof(*numbers));
  for (size_t i = 0; numbers != NULL && i < count; ++i)
    numbers[i] = byoc_numbering_get(&r->flow->numbers, r->clash.nodes.data[i]);
  const bool ok = numbers != NULL && byoc_index_set_make(&r->list->arena, numbers, count, &set);
  byoc_free(r->list->arena.allocator, numbers);
  byoc_string_clear(&r->text);
  append_reason(&r->clash, &r->text);
  if (!ok || r->text.failed) return byoc_diag_out_of_memory(r->diag);
  if (is_covered(r, &set)) return BYOC_OK;
  return byoc_candidates_refuse(r->list, &set, r->target->index, r->rule->name, r->text.data, r->diag);
}

static byoc_status_t refuse_by_rule(refuser_t *r) {
  const byoc_pattern_t *pattern = NULL;
  byoc_status_t status = byoc_pattern_parse(r->rule->pattern, r->rule->name, &r->list->arena, r->diag, &pattern);
  if (status != BYOC_OK || !byoc_pattern_tests_types(pattern)) return status;
  for (uint32_t n = r->flow->node_count; n-- > 0 && status == BYOC_OK;) {
    bool failed = false;
    if (!is_asked(r, r->flow->nodes[n])) continue;
    const bool clashes =
        byoc_pattern_type_clash(pattern, r->flow->nodes[n], is_asked, r, &r->match, &r->clash, &failed);
    if (failed) status = byoc_diag_out_of_memory(r->diag);
    if (clashes) status = refuse(r);
  }
  return status;
}

static byoc_status_t refuse_by_target(byoc_candidates_t *list, const byoc_dataflow_t *flow, const byoc_target_t *target,
                                      const bool *is_out, byoc_diag_t *diag) {
  const byoc_backend_t *backend = target->kind->backend;
  refuser_t r = {.list = list, .flow = flow, .target = target, .is_out = is_out, .diag = diag};
  byoc_status_t status = BYOC_OK;
  byoc_match_init(&r.match, list->arena.allocator);
  byoc_string_init(&r.text, list->arena.allocator);
  for (uint32_t i = 0; backend != NULL && i < backend->rule_count && status == BYOC_OK; ++i) {
    r.rule = &backend->rules[i];
    if (r.rule->pattern != NULL && r.rule->name != NULL) status = refuse_by_rule(&r);
  }
  byoc_string_deinit(&r.text);
  byoc_vector_deinit(&r.clash.nodes, list->arena.allocator);
  byoc_match_deinit(&r.match);
  return status;
}

// The nodes that the target has candidates with, and those that greedy placement did not ask it about.
static void find_out(const byoc_candidates_t *list, const uint32_t *greedy_choice, size_t choice_count, uint32_t target,
                     bool *is_out) {
  for (size_t c = 0; c < list->items.count; ++c) {
    const byoc_candidate_t *candidate = list->items.data[c];
    for (uint32_t n = 0; candidate->target == target && n < candidate->nodes.count; ++n)
      is_out[candidate->nodes.items[n]] = true;
  }
  for (size_t c = 0; greedy_choice != NULL && c < choice_count; ++c) {
    const byoc_candidate_t *candidate = list->items.data[greedy_choice[c]];
    for (uint32_t n = 0; candidate->target < target && n < candidate->nodes.count; ++n)
      is_out[candidate->nodes.items[n]] = true;
  }
}

byoc_status_t byoc_candidates_refuse_types(byoc_candidates_t *list, const byoc_dataflow_t *flow,
                                           const byoc_target_list_t *targets, const uint32_t *greedy_choice,
                                           size_t choice_count, byoc_diag_t *diag) {
  byoc_status_t status = BYOC_OK;
  bool *is_out = byoc_allocate(list->arena.allocator, flow->node_count, sizeof(*is_out));
  if (is_out == NULL) return byoc_diag_out_of_memory(diag);
  for (size_t t = 0; t < targets->targets.count && status == BYOC_OK; ++t) {
    memset(is_out, 0, flow->node_count * sizeof(*is_out));
    find_out(list, greedy_choice, choice_count, (uint32_t)t, is_out);
    status = refuse_by_target(list, flow, targets->targets.data[t], is_out, diag);
  }
  byoc_free(list->arena.allocator, is_out);
  return status;
}
