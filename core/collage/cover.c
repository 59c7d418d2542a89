// SPDX-License-Identifier: Apache-2.0
// Searches the cheapest cover of a block, and reports why there is none.
#include "core/collage/cover.h"

#include <string.h>

#include "core/base/string.h"
#include "core/collage/constraint.h"
#include "core/collage/cover_problem.h"

// ---- evaluation ----

// Which of the chosen candidates holds each node.
static byoc_status_t find_owners(const byoc_dataflow_t *flow, byoc_candidate_t *const *candidates,
                                 const uint32_t *chosen, uint32_t count, byoc_diag_t *diag, uint32_t *owners) {
  char text[256];
  for (uint32_t n = 0; n < flow->node_count; ++n) owners[n] = BYOC_COVER_NONE;
  for (uint32_t c = 0; c < count; ++c) {
    const byoc_index_set_t *nodes = &candidates[chosen[c]]->nodes;
    for (uint32_t k = 0; k < nodes->count; ++k) {
      if (nodes->items[k] >= flow->node_count) {
        return byoc_diag_error(diag, BYOC_INVALID_DATA, "the plan names node %u of %u", nodes->items[k],
                               flow->node_count);
      }
      uint32_t *owner = &owners[nodes->items[k]];
      byoc_node_describe(flow->nodes[nodes->items[k]], text, sizeof(text));
      if (*owner != BYOC_COVER_NONE) return byoc_diag_error(diag, BYOC_INVALID_DATA, "the plan takes %s twice", text);
      *owner = c;
    }
  }
  for (uint32_t n = 0; n < flow->node_count; ++n) {
    if (owners[n] != BYOC_COVER_NONE) continue;
    byoc_node_describe(flow->nodes[n], text, sizeof(text));
    return byoc_diag_error(diag, BYOC_INVALID_DATA, "the plan leaves out %s", text);
  }
  return BYOC_OK;
}

// Brings `chosen` into an order in which the candidates can run: the first candidate whose operands are all there comes
// next.
static byoc_status_t put_in_order(const byoc_dataflow_t *flow, byoc_candidate_t *const *candidates, uint32_t *chosen,
                                  uint32_t count, const uint32_t *owners, byoc_allocator_t allocator,
                                  byoc_diag_t *diag) {
  uint32_t *missing = byoc_allocate(allocator, count, sizeof(*missing)); // edges into a candidate not served yet
  uint32_t *ready = byoc_allocate(allocator, count, sizeof(*ready));
  uint32_t *sorted = byoc_allocate(allocator, count, sizeof(*sorted));
  byoc_status_t status = BYOC_OK;
  uint32_t first = 0, end = 0;
  if (!missing || !ready || !sorted) {
    status = byoc_diag_out_of_memory(diag);
    goto cleanup;
  }
  for (uint32_t n = 0; n < flow->node_count; ++n) {
    for (uint32_t e = flow->predecessor_offsets[n]; e < flow->predecessor_offsets[n + 1]; ++e) {
      if (owners[flow->predecessors[e]] != owners[n]) missing[owners[n]] += 1;
    }
  }
  for (uint32_t c = 0; c < count; ++c) {
    if (missing[c] == 0) ready[end++] = c;
  }
  while (first < end) {
    uint32_t c = ready[first];
    sorted[first++] = chosen[c];
    const byoc_index_set_t *nodes = &candidates[chosen[c]]->nodes;
    for (uint32_t k = 0; k < nodes->count; ++k) {
      uint32_t node = nodes->items[k];
      for (uint32_t e = flow->successor_offsets[node]; e < flow->successor_offsets[node + 1]; ++e) {
        uint32_t user = owners[flow->successors[e]];
        if (user != c && --missing[user] == 0) ready[end++] = user;
      }
    }
  }
  if (end == count) {
    if (count > 0) memcpy(chosen, sorted, count * sizeof(*chosen));
    goto cleanup;
  }
  char text[256] = "";
  for (uint32_t n = 0; n < flow->node_count && text[0] == 0; ++n) {
    if (missing[owners[n]] > 0) byoc_node_describe(flow->nodes[n], text, sizeof(text));
  }
  status =
      byoc_diag_error(diag, BYOC_INVALID_DATA, "parts of the plan wait for each other in a circle, from %s on", text);
cleanup:
  byoc_free(allocator, missing);
  byoc_free(allocator, ready);
  byoc_free(allocator, sorted);
  return status;
}

// Every node is paid for once by each candidate that reads it.
static double sum_transitions(const byoc_dataflow_t *flow, byoc_candidate_t *const *candidates, const uint32_t *chosen,
                              const uint32_t *owners, const byoc_cover_costs_t *costs, uint32_t *paid_for) {
  double sum = 0;
  for (uint32_t n = 0; n < flow->node_count; ++n) {
    for (uint32_t e = flow->successor_offsets[n]; e < flow->successor_offsets[n + 1]; ++e) {
      uint32_t user = owners[flow->successors[e]];
      if (user == owners[n] || paid_for[user] == n + 1) continue;
      paid_for[user] = n + 1;
      sum += costs->transition(costs->self, n, candidates[chosen[owners[n]]]->place, candidates[chosen[user]]->place);
    }
  }
  return sum;
}

// Every value is copied once to each other device with a reader of it; results go to the host.
static double sum_copies(const byoc_dataflow_t *flow, byoc_candidate_t *const *candidates, const uint32_t *chosen,
                         const uint32_t *owners, const byoc_cover_costs_t *costs) {
  double sum = 0;
  for (uint32_t n = 0; n < flow->node_count; ++n) {
    const uint32_t assignment = costs->device(costs->self, candidates[chosen[owners[n]]]->place);
    uint32_t has = 1u << assignment, wanted = flow->is_result[n] ? 1u << BYOC_COVER_HOST : 0;
    for (uint32_t e = flow->successor_offsets[n]; e < flow->successor_offsets[n + 1]; ++e) {
      wanted |= 1u << costs->device(costs->self, candidates[chosen[owners[flow->successors[e]]]]->place);
    }
    for (uint32_t to = 0; to < costs->device_count; ++to) {
      if ((wanted & ~has) >> to & 1) sum += costs->copy(costs->self, n, assignment, to);
    }
  }
  for (uint32_t k = 0; k < costs->input_count; ++k) {
    uint32_t wanted = 0;
    for (uint32_t r = 0; r < costs->inputs[k].reader_count; ++r) {
      wanted |= 1u << costs->device(costs->self, candidates[chosen[owners[costs->inputs[k].readers[r]]]]->place);
    }
    for (uint32_t to = 0; to < costs->device_count; ++to) {
      if (to != BYOC_COVER_HOST && (wanted >> to & 1)) sum += costs->input_copy(costs->self, k, to);
    }
  }
  return sum;
}

byoc_status_t byoc_cover_evaluate(const byoc_dataflow_t *flow, byoc_candidate_t *const *candidates, uint32_t *chosen,
                                  uint32_t count, const byoc_cover_costs_t *costs, byoc_allocator_t allocator,
                                  byoc_diag_t *diag, double *out_cost_ns, double *out_transition_ns) {
  *out_cost_ns = *out_transition_ns = 0;
  uint32_t *owners = byoc_allocate(allocator, flow->node_count, sizeof(*owners));
  uint32_t *paid_for = byoc_allocate(allocator, count, sizeof(*paid_for));
  byoc_status_t status = owners && paid_for ? BYOC_OK : byoc_diag_out_of_memory(diag);
  if (status == BYOC_OK) status = find_owners(flow, candidates, chosen, count, diag, owners);
  if (status == BYOC_OK && costs != NULL && costs->transition != NULL) {
    *out_transition_ns = sum_transitions(flow, candidates, chosen, owners, costs, paid_for);
  }
  if (status == BYOC_OK && costs != NULL && costs->device_count > 1) {
    *out_transition_ns += sum_copies(flow, candidates, chosen, owners, costs);
  }
  *out_cost_ns = *out_transition_ns;
  for (uint32_t c = 0; c < count; ++c) *out_cost_ns += candidates[chosen[c]]->cost_ns;
  if (status == BYOC_OK) status = put_in_order(flow, candidates, chosen, count, owners, allocator, diag);
  byoc_free(allocator, owners);
  byoc_free(allocator, paid_for);
  return status;
}

// ---- nothing to find ----

#define NAMED_LIMIT 4 // most nodes named in a message

// Lists up to NAMED_LIMIT nodes as "Foo 'a' (ai.onnx 1): cutlass.gemm: it crashed".
static void append_node(byoc_string_t *text, const byoc_dataflow_t *flow, uint32_t node,
                        byoc_candidate_t *const *candidates, size_t candidate_count) {
  char name[160];
  byoc_node_describe(flow->nodes[node], name, sizeof(name));
  byoc_string_appendf(text, "%s%s", text->size > 0 ? "; " : "", name);
  int count = 0;
  for (size_t i = 0; i < candidate_count && count < 2; ++i) {
    const byoc_candidate_t *candidate = candidates[i];
    if (candidate->reason == NULL || !byoc_index_set_contains(&candidate->nodes, node)) continue;
    byoc_string_appendf(text, "%s%s: %s", count > 0 ? ", " : " (", candidate->rule ? candidate->rule : "",
                        candidate->reason);
    ++count;
  }
  byoc_string_append(text, count > 0 ? ")" : "");
}

// Did the code of a candidate for the node compute something else?
static bool has_wrong(byoc_candidate_t *const *candidates, size_t candidate_count, uint32_t node) {
  for (size_t i = 0; i < candidate_count; ++i) {
    if (candidates[i]->is_wrong && byoc_index_set_contains(&candidates[i]->nodes, node)) return true;
  }
  return false;
}

#define FORGET_HINT                                                                                                    \
  "byoc costs list shows the measured costs; after byoc costs prune --older-than 0 they are measured again"

static byoc_status_t no_cover(const byoc_cover_problem_t *p, byoc_candidate_t *const *candidates,
                              size_t candidate_count, const byoc_cover_search_t *search, byoc_diag_t *diag) {
  const byoc_dataflow_t *flow = p->flow;
  byoc_string_t text;
  byoc_string_init(&text, p->allocator);
  bool *claimed = byoc_allocate(p->allocator, flow->node_count, sizeof(*claimed));
  if (claimed == NULL) return byoc_diag_out_of_memory(diag);
  for (size_t i = 0; i < candidate_count; ++i) {
    if (!byoc_cover_admits(p, candidates[i])) continue;
    for (uint32_t k = 0; k < candidates[i]->nodes.count; ++k) claimed[candidates[i]->nodes.items[k]] = true;
  }
  uint32_t count = 0;
  const char *bound = NULL;
  bool is_wrong = false;
  for (uint32_t n = 0; n < flow->node_count; ++n) {
    is_wrong = is_wrong || (!claimed[n] && has_wrong(candidates, candidate_count, n));
    if (!claimed[n] && count++ < NAMED_LIMIT) append_node(&text, flow, n, candidates, candidate_count);
    if (!claimed[n] && bound == NULL) bound = byoc_node_bound_to(flow->nodes[n]);
  }
  byoc_free(p->allocator, claimed);
  byoc_status_t status = BYOC_NOT_FOUND;
  if (is_wrong) {
    status = byoc_diag_error(diag, BYOC_MISMATCH, "no target computes the right values of %s%s", text.data,
                             count > NAMED_LIMIT ? " and others" : "");
  } else if (count > 0 && !p->limits_error) {
    byoc_diag_error(diag, status, "every plan costs infinity: no target claims %s%s", text.data,
                    count > NAMED_LIMIT ? " and others" : "");
    if (bound == NULL) byoc_diag_hint(diag, FORGET_HINT);
    if (bound != NULL) byoc_diag_hint(diag, "remove target '%s' from the value's \"on {...}\"", bound);
  } else if (p->limits_error && !search->was_cut) {
    byoc_diag_error(diag, status, "no plan is within the error budget");
    byoc_diag_hint(diag, "allow a larger error, or name a target that computes these nodes exactly");
  } else if (search->was_cut) {
    status = BYOC_UNSUPPORTED;
    byoc_diag_error(diag, status, "no plan was found within the search's budget of states");
    byoc_diag_hint(diag, "allow more states, or give each node a candidate of its own");
  } else {
    append_node(&text, flow, p->order[search->furthest], candidates, candidate_count);
    byoc_diag_error(diag, status, "every plan costs infinity: no candidates fit together around %s", text.data);
    byoc_diag_hint(diag, FORGET_HINT);
  }
  byoc_string_deinit(&text);
  return status;
}

// ---- the search ----

byoc_status_t byoc_cover_search(const byoc_dataflow_t *flow, byoc_candidate_t *const *candidates,
                                size_t candidate_count, const byoc_cover_costs_t *costs,
                                const byoc_cover_options_t *options, byoc_allocator_t allocator, byoc_diag_t *diag,
                                byoc_cover_t *out_cover) {
  static const byoc_cover_options_t defaults = {0};
  if (options == NULL) options = &defaults;
  *out_cover = (byoc_cover_t){.allocator = allocator};
  byoc_cover_problem_t problem;
  byoc_cover_search_t search = {0};
  byoc_status_t status =
      byoc_cover_problem_init(&problem, flow, candidates, candidate_count, costs, options, allocator, diag);
  if (status == BYOC_OK) status = byoc_cover_run(&problem, options, diag, &search);
  if (status != BYOC_OK) goto cleanup;
  if (isinf(search.cost)) {
    status = no_cover(&problem, candidates, candidate_count, &search, diag);
    goto cleanup;
  }
  out_cover->state_count = search.state_count;
  out_cover->peak_states = search.peak_states;
  status = byoc_cover_evaluate(flow, candidates, search.sources, search.count, costs, allocator, diag,
                               &out_cover->cost_ns, &out_cover->transition_ns);
  if (status != BYOC_OK) goto cleanup;
  if (fabs(out_cover->cost_ns - search.cost) > 1e-9 * out_cover->cost_ns) {
    status = byoc_diag_error(diag, BYOC_INTERNAL, "the search found a plan of %g ns that costs %g ns", search.cost,
                             out_cover->cost_ns);
    goto cleanup;
  }
  out_cover->is_proven = search.lower_bound >= search.cost * (1 - 1e-9);
  out_cover->lower_bound_ns = out_cover->is_proven ? out_cover->cost_ns : search.lower_bound;
  for (uint32_t i = 0; i < search.count; ++i) out_cover->error += candidates[search.sources[i]]->error;
  out_cover->chosen = search.sources;
  out_cover->count = search.count;
  search.sources = NULL; // now the caller's
cleanup:
  byoc_free(allocator, search.sources);
  byoc_cover_problem_deinit(&problem);
  return status;
}

void byoc_cover_deinit(byoc_cover_t *cover) {
  byoc_free(cover->allocator, cover->chosen);
  *cover = (byoc_cover_t){0};
}
