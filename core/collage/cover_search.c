// SPDX-License-Identifier: Apache-2.0
// The search proper: shortest path over states, position by position.
#include <stdlib.h>
#include <string.h>

#include "core/collage/cover_states.h"

#define DEFAULT_BUDGET 2000000
#define FIRST_WIDTH    24    // states per position in the first pass, which finds a plan to compare the others with
#define UNIT_BYTES     64.0  // each of a state's UNIT_BYTES adds one unit of work
#define PAIR_LIMIT     16384 // a state that needs more is dropped like one over the width

typedef struct trace_t {
  uint32_t parent, item;
} trace_t;

typedef struct searcher_t {
  const byoc_cover_problem_t *p;
  byoc_allocator_t allocator;
  byoc_cover_layer_t *layers;             // [position]; has no memory until a state arrives
  BYOC_VECTOR(byoc_cover_layer_t) spares; // memory of layers that are done
  BYOC_VECTOR(trace_t) traces;
  byoc_cover_selector_t selector;
  byoc_cover_search_t *result;

  double best; // cost of the best plan known
  uint64_t best_rank;
  uint32_t best_trace; // of this pass; BYOC_COVER_NONE: it found none
  bool may_tie;        // keep states that can at best equal it

  // The state being continued: its open candidates' nodes, each with the index of its candidate.
  const byoc_cover_state_t *state;
  uint32_t at;      // first uncovered position
  uint32_t *covers; // [position]: == cover_mark: behind `at` and covered
  uint32_t *owners;
  uint32_t cover_mark;
  double covered_potential; // of those nodes

  // The item being added to it.
  const byoc_cover_item_t *item;
  uint32_t *insides, *reads; // [position]: == item_mark: a node of the item; a covered node that it reads
  uint32_t item_mark;
  BYOC_VECTOR(uint32_t) read_list;
  uint32_t *feeds, *reached; // [open candidate]: == item_mark: the item feeds it; it leads to the item
  uint32_t *paid;            // [open candidate]: == pay_mark: this value has been paid for
  uint32_t pay_mark;
  bool feeds_any, waits; // the item waits for something uncovered
  uint32_t next;         // first uncovered position with the item

  BYOC_VECTOR(uint8_t) codes; // with copies: the bytes of the state with the item
  BYOC_VECTOR(uint64_t) pairs;
  BYOC_VECTOR(uint32_t) opens;
  BYOC_VECTOR(uint64_t) buffer; // the state under construction
} searcher_t;

// ---- what is covered ----

static bool is_covered(const searcher_t *s, uint32_t node) {
  return node < s->next || s->covers[node] == s->cover_mark || s->insides[node] == s->item_mark;
}

// True if an uncovered node still reads this one. Later readers are the likelier ones.
static bool is_read(const searcher_t *s, uint32_t node) {
  const byoc_cover_problem_t *p = s->p;
  for (uint32_t e = p->successor_offsets[node + 1]; e-- > p->successor_offsets[node];) {
    if (p->successors[e] < s->next) return false;
    if (!is_covered(s, p->successors[e])) return true;
  }
  return false;
}

static bool tail_waits(const searcher_t *s, uint32_t tail) {
  const byoc_cover_problem_t *p = s->p;
  for (; p->tails[tail].node != BYOC_COVER_NONE; tail = p->tails[tail].next) {
    uint32_t node = p->tails[tail].node;
    for (uint32_t e = p->predecessor_offsets[node + 1]; e-- > p->predecessor_offsets[node];) {
      if (p->predecessors[e] < s->next) break;
      if (!is_covered(s, p->predecessors[e])) return true;
    }
  }
  return false;
}

static uint8_t place_of(const searcher_t *s, uint32_t node) {
  if (node < s->at) return (uint8_t)(byoc_cover_places(s->state)[s->p->slots[node]] / s->p->masks);
  return s->p->tails[byoc_cover_opens(s->state)[s->owners[node]]].place;
}

// ---- adding an item ----

// Marks the item's nodes; false where one of them is covered already.
static bool enter_item(searcher_t *s, const byoc_cover_item_t *item) {
  s->item = item;
  for (uint32_t k = 1; k < item->count; ++k) {
    if (s->covers[item->nodes[k]] == s->cover_mark) return false;
  }
  s->item_mark += 1;
  for (uint32_t k = 0; k < item->count; ++k) s->insides[item->nodes[k]] = s->item_mark;
  return true;
}

// Finds the nodes that the item reads and feeds; returns the cost of its transitions.
static bool connect_item(searcher_t *s, double *out_cost) {
  const byoc_cover_problem_t *p = s->p;
  const byoc_cover_item_t *item = s->item;
  double cost = 0;
  s->read_list.count = 0;
  s->feeds_any = s->waits = false;
  for (uint32_t k = 0; k < item->count; ++k) {
    uint32_t node = item->nodes[k];
    for (uint32_t e = p->predecessor_offsets[node]; e < p->predecessor_offsets[node + 1]; ++e) {
      uint32_t source = p->predecessors[e];
      if (s->insides[source] == s->item_mark || s->reads[source] == s->item_mark) continue;
      if (source >= s->at && s->covers[source] != s->cover_mark) {
        s->waits = true;
        continue;
      }
      s->reads[source] = s->item_mark;
      if (!byoc_vector_push(&s->read_list, s->allocator, source)) return false;
      if (p->has_transitions) cost += byoc_cover_transition(p, source, place_of(s, source), item->place);
    }
    s->pay_mark += 1;
    for (uint32_t e = p->successor_offsets[node + 1]; s->state->open_count > 0 && e-- > p->successor_offsets[node];) {
      uint32_t user = p->successors[e];
      if (s->covers[user] != s->cover_mark) continue;
      uint32_t open = s->owners[user];
      if (s->paid[open] == s->pay_mark) continue;
      s->paid[open] = s->pay_mark;
      s->feeds[open] = s->item_mark;
      s->feeds_any = true;
      uint8_t place = p->tails[byoc_cover_opens(s->state)[open]].place;
      if (p->has_transitions) cost += byoc_cover_transition(p, node, item->place, place);
    }
  }
  *out_cost = cost;
  return true;
}

// True if a node that the item feeds leads to a node that it reads.
static bool closes_circle(searcher_t *s) {
  const uint64_t *pairs = byoc_cover_pairs(s->state);
  for (uint32_t i = 0; s->feeds_any && i < s->state->pair_count; ++i) {
    uint32_t open = s->owners[pairs[i] >> 32], node = (uint32_t)pairs[i];
    if (s->feeds[open] == s->item_mark && s->reads[node] == s->item_mark) return true;
  }
  return false;
}

static int compare_pairs(const void *left, const void *right) {
  const uint64_t *a = left, *b = right;
  return *a < *b ? -1 : *a > *b;
}

// Adds the pairs of `last`, the last node of an open candidate that waits. It leads to the item, or the candidate is
// the item. So it leads to the item's nodes, and to all nodes behind those that the item feeds.
static bool add_pairs(searcher_t *s, uint32_t last) {
  for (uint32_t k = 0; k < s->item->count; ++k) {
    uint64_t pair = (uint64_t)last << 32 | s->item->nodes[k];
    if (is_read(s, s->item->nodes[k]) && !byoc_vector_push(&s->pairs, s->allocator, pair)) return false;
  }
  const uint64_t *pairs = byoc_cover_pairs(s->state);
  for (uint32_t i = 0; s->feeds_any && i < s->state->pair_count; ++i) {
    uint32_t open = s->owners[pairs[i] >> 32], node = (uint32_t)pairs[i];
    if (s->feeds[open] != s->item_mark || !is_read(s, node)) continue;
    if (!byoc_vector_push(&s->pairs, s->allocator, (uint64_t)last << 32 | node)) return false;
  }
  return true;
}

// Writes the pairs of the new state. Pairs of open candidates that no longer wait, and of nodes without further
// readers, are dropped.
static bool make_pairs(searcher_t *s) {
  const uint64_t *old = byoc_cover_pairs(s->state);
  s->pairs.count = 0;
  if (s->state->pair_count == 0 && !s->waits) return true;
  for (uint32_t i = 0; i < s->state->pair_count; ++i) {
    if (s->reads[(uint32_t)old[i]] == s->item_mark) s->reached[s->owners[old[i] >> 32]] = s->item_mark;
  }
  uint32_t last = BYOC_COVER_NONE; // pairs are sorted: one check for each open candidate
  bool waits = false;
  for (uint32_t i = 0; i < s->state->pair_count; ++i) {
    if (old[i] >> 32 != last) {
      last = (uint32_t)(old[i] >> 32);
      uint32_t open = s->owners[last];
      waits = tail_waits(s, byoc_cover_opens(s->state)[open]);
      if (waits && s->reached[open] == s->item_mark && !add_pairs(s, last)) return false;
    }
    if (!waits || !is_read(s, (uint32_t)old[i])) continue;
    if (!byoc_vector_push(&s->pairs, s->allocator, old[i])) return false;
  }
  if (s->waits && !add_pairs(s, s->item->nodes[s->item->count - 1])) return false;
  if (s->pairs.count < 2) return true;
  qsort(s->pairs.data, s->pairs.count, sizeof(uint64_t), compare_pairs);
  size_t kept = 1;
  for (size_t i = 1; i < s->pairs.count; ++i) {
    if (s->pairs.data[i] != s->pairs.data[kept - 1]) s->pairs.data[kept++] = s->pairs.data[i];
  }
  s->pairs.count = kept;
  return true;
}

// Tails behind the next position, by their next node.
static bool make_opens(searcher_t *s) {
  const byoc_cover_problem_t *p = s->p;
  s->opens.count = 0;
  for (uint32_t i = 0; i <= s->state->open_count; ++i) {
    uint32_t tail = i < s->state->open_count ? byoc_cover_opens(s->state)[i] : s->item->rest;
    while (p->tails[tail].node != BYOC_COVER_NONE && p->tails[tail].node < s->next) tail = p->tails[tail].next;
    if (p->tails[tail].node == BYOC_COVER_NONE) continue;
    if (!byoc_vector_push(&s->opens, s->allocator, tail)) return false;
    uint32_t k = (uint32_t)s->opens.count - 1;
    for (; k > 0 && p->tails[s->opens.data[k - 1]].node > p->tails[tail].node; --k) {
      s->opens.data[k] = s->opens.data[k - 1];
    }
    s->opens.data[k] = tail;
  }
  return true;
}

static void make_places(const searcher_t *s, uint8_t *places, uint32_t count) {
  const byoc_cover_problem_t *p = s->p;
  uint32_t old_count = s->state->place_count;
  if (old_count > 0) memcpy(places, byoc_cover_places(s->state), old_count);
  memset(places + old_count, BYOC_COVER_NO_PLACE, count - old_count);
  for (size_t i = 0; i < s->read_list.count; ++i) {
    uint32_t node = s->read_list.data[i];
    if (node < s->at && !is_read(s, node)) places[p->slots[node]] = BYOC_COVER_NO_PLACE;
  }
  for (uint32_t node = s->at; node < s->next; ++node) {
    if (p->slots[node] == BYOC_COVER_NONE) continue;
    uint8_t place = s->insides[node] == s->item_mark ? s->item->place : place_of(s, node);
    places[p->slots[node]] = is_read(s, node) ? p->alike[(size_t)node * p->place_count + place] : BYOC_COVER_NO_PLACE;
  }
}

// For problems with copies: pays for those that are needed up to the next position.
static bool pass_nodes(searcher_t *s, double *out_cost) {
  const byoc_cover_problem_t *p = s->p;
  const uint32_t old_count = s->state->place_count, count = p->slot_count[s->next];
  s->codes.count = 0;
  *out_cost = 0;
  if (!byoc_vector_reserve(&s->codes, s->allocator, (size_t)count + 1)) return false;
  if (old_count > 0) memcpy(s->codes.data, byoc_cover_places(s->state), old_count);
  memset(s->codes.data + old_count, BYOC_COVER_NO_PLACE, count - old_count);
  for (uint32_t node = s->at; node < s->next; ++node) {
    const uint8_t place = s->insides[node] == s->item_mark ? s->item->place : place_of(s, node);
    *out_cost += byoc_cover_pass(p, node, place, s->codes.data);
  }
  return true;
}

static bool is_hopeless(const searcher_t *s, double bound) {
  double near = BYOC_COVER_EPSILON * s->best;
  return s->best < INFINITY && bound >= (s->may_tie ? s->best + near : s->best - near);
}

static bool finish(searcher_t *s, double cost, uint64_t rank) {
  if (!byoc_cover_is_better(cost, rank, s->best, s->best_rank)) return true;
  trace_t trace = {s->state->trace, (uint32_t)(s->item - s->p->items)};
  s->best = cost;
  s->best_rank = rank;
  s->best_trace = (uint32_t)s->traces.count;
  return byoc_vector_push(&s->traces, s->allocator, trace);
}

static bool deliver(searcher_t *s, double cost, double error, double bound, uint64_t rank) {
  const byoc_cover_problem_t *p = s->p;
  byoc_cover_state_t head = {.cost = cost, .bound = bound, .error = error, .rank = rank};
  head.pair_count = (uint32_t)s->pairs.count;
  head.open_count = (uint32_t)s->opens.count;
  const bool has_copies = p->device_count > 1;
  head.place_count = p->has_transitions || has_copies ? p->slot_count[s->next] : 0;
  s->buffer.count = 0;
  if (!byoc_vector_reserve(&s->buffer, s->allocator, byoc_cover_state_size(&head) / 8)) return false;
  byoc_cover_state_t *state = (byoc_cover_state_t *)(void *)s->buffer.data;
  *state = head;
  if (head.pair_count) memcpy(byoc_cover_pairs(state), s->pairs.data, head.pair_count * sizeof(uint64_t));
  if (head.open_count) memcpy(byoc_cover_opens(state), s->opens.data, head.open_count * sizeof(uint32_t));
  if (head.place_count && has_copies) memcpy(byoc_cover_places(state), s->codes.data, head.place_count);
  if (head.place_count && !has_copies) make_places(s, byoc_cover_places(state), head.place_count);

  byoc_cover_layer_t *layer = &s->layers[s->next];
  if (layer->bytes == NULL && s->spares.count > 0) *layer = s->spares.data[--s->spares.count];
  bool is_new = false;
  byoc_cover_state_t *there = byoc_cover_layer_add(layer, state, s->allocator, &is_new);
  if (there == NULL) return false;
  trace_t trace = {s->state->trace, (uint32_t)(s->item - p->items)};
  if (is_new) {
    there->trace = (uint32_t)s->traces.count;
    s->result->state_count += 1;
    return s->traces.count < UINT32_MAX && byoc_vector_push(&s->traces, s->allocator, trace);
  }
  if (byoc_cover_is_better(cost, rank, there->cost, there->rank)) {
    there->cost = cost;
    there->bound = bound;
    there->rank = rank;
    s->traces.data[there->trace] = trace; // no state was made from it yet
  }
  return true;
}

static bool add_item(searcher_t *s, const byoc_cover_item_t *item) {
  const byoc_cover_problem_t *p = s->p;
  if (!enter_item(s, item)) return true;
  double transitions = 0, potential = s->covered_potential;
  for (uint32_t k = 0; k < item->count; ++k) potential += p->potentials[item->nodes[k]];
  double rest = p->remaining[s->at] - potential, error = s->state->error + item->error;
  if (!byoc_cover_allows(p, error)) return true;
  if (is_hopeless(s, byoc_cover_bound_of(p, s->state->cost + item->cost, error, rest))) return true;
  if (!connect_item(s, &transitions)) return false;
  double cost = s->state->cost + item->cost + transitions;
  double bound = fmax(byoc_cover_bound_of(p, cost, error, rest), s->state->bound);
  uint64_t rank = s->state->rank + item->rank;
  if (is_hopeless(s, bound) || closes_circle(s)) return true;
  s->next = s->at + 1;
  while (s->next < p->node_count && is_covered(s, s->next)) ++s->next;
  if (p->device_count > 1) {
    double copies = 0;
    if (!pass_nodes(s, &copies)) return false;
    cost += copies;
    bound = fmax(byoc_cover_bound_of(p, cost, error, rest), bound);
    if (is_hopeless(s, bound)) return true;
  }
  if (s->next == p->node_count) return finish(s, cost, rank);
  if (!make_pairs(s) || !make_opens(s)) return false;
  if (s->pairs.count > PAIR_LIMIT) {
    s->selector.dropped = fmin(s->selector.dropped, bound);
    return true;
  }
  return deliver(s, cost, error, bound, rank);
}

static bool continue_state(searcher_t *s, const byoc_cover_state_t *state, uint32_t at) {
  const byoc_cover_problem_t *p = s->p;
  s->state = state;
  s->at = s->next = at;
  s->covered_potential = 0;
  s->cover_mark += 1;
  for (uint32_t i = 0; i < state->open_count; ++i) {
    for (uint32_t t = byoc_cover_opens(state)[i]; p->tails[t].node != BYOC_COVER_NONE; t = p->tails[t].next) {
      s->covers[p->tails[t].node] = s->cover_mark;
      s->owners[p->tails[t].node] = i;
      s->covered_potential += p->potentials[p->tails[t].node];
    }
  }
  for (uint32_t i = p->first_item[at]; i < p->first_item[at + 1]; ++i) {
    if (!add_item(s, &p->items[i])) return false;
  }
  return true;
}

// ---- passes ----

// The state in front of the first position: inputs are with the host.
static bool add_start(searcher_t *s) {
  const byoc_cover_problem_t *p = s->p;
  const byoc_cover_state_t head = {
      .trace = BYOC_COVER_NONE, .bound = byoc_cover_bound_of(p, 0, 0, p->remaining[0]), .place_count = p->input_count};
  s->buffer.count = 0;
  if (!byoc_vector_reserve(&s->buffer, s->allocator, byoc_cover_state_size(&head) / 8)) return false;
  byoc_cover_state_t *start = (byoc_cover_state_t *)(void *)s->buffer.data;
  *start = head;
  memset(byoc_cover_places(start), 1 << BYOC_COVER_HOST, p->input_count);
  bool is_new = false;
  return byoc_cover_layer_add(&s->layers[0], start, s->allocator, &is_new) != NULL;
}

// One walk over all positions. Each pass leaves unused work to the later ones.
static bool run_pass(searcher_t *s, double work) {
  const byoc_cover_problem_t *p = s->p;
  double saved = work / 8, income = (work - saved) / p->node_count;
  s->traces.count = 0;
  s->best_trace = BYOC_COVER_NONE;
  byoc_cover_selector_start(&s->selector);
  if (!add_start(s)) return false;
  for (uint32_t at = 0; at < p->node_count; ++at) {
    byoc_cover_layer_t *layer = &s->layers[at];
    saved += income;
    // The work of a state grows with its size, so that a wide graph gets fewer states.
    double weight = 1 + (layer->count > 0 ? (double)layer->size / (double)layer->count / UNIT_BYTES : 0);
    double width = fmax(2, FIRST_WIDTH / weight);
    if (work > 0) width = fmax(width, saved / 16 / weight);
    if (!byoc_cover_select(&s->selector, at, layer, (size_t)width)) return false;
    if (layer->count > s->result->peak_states) s->result->peak_states = (uint32_t)layer->count;
    if (layer->count > 0 && at > s->result->furthest) s->result->furthest = at;
    saved -= (double)s->selector.kept.count * weight;
    for (size_t i = 0; i < s->selector.kept.count; ++i) {
      if (!continue_state(s, byoc_cover_state_at(layer, s->selector.kept.data[i]), at)) return false;
    }
    if (layer->bytes == NULL) continue;
    byoc_cover_layer_clear(layer);
    if (!byoc_vector_push(&s->spares, s->allocator, *layer)) return false;
    *layer = (byoc_cover_layer_t){0};
  }
  return true;
}

static bool keep_plan(searcher_t *s) {
  uint32_t count = 0;
  for (uint32_t t = s->best_trace; t != BYOC_COVER_NONE; t = s->traces.data[t].parent) ++count;
  uint32_t *sources = byoc_allocate(s->allocator, count, sizeof(*sources));
  if (sources == NULL) return false;
  s->result->count = count;
  for (uint32_t t = s->best_trace; t != BYOC_COVER_NONE; t = s->traces.data[t].parent) {
    sources[--count] = s->p->items[s->traces.data[t].item].source;
  }
  byoc_free(s->allocator, s->result->sources);
  s->result->sources = sources;
  s->result->cost = s->best;
  return true;
}

static bool run_passes(searcher_t *s, double budget) {
  byoc_cover_search_t *result = s->result;
  result->lower_bound = fmax(0, byoc_cover_bound_of(s->p, 0, 0, s->p->remaining[0]));
  for (int pass = 0; pass < 2; ++pass) {
    s->may_tie = pass == 0;
    if (!run_pass(s, pass == 0 ? 0 : budget)) return false;
    if (s->best_trace != BYOC_COVER_NONE && !keep_plan(s)) return false;
    result->was_cut = s->selector.dropped < INFINITY;
    result->lower_bound = fmax(result->lower_bound, fmin(s->best, s->selector.dropped));
    if (!result->was_cut || result->lower_bound >= s->best * (1 - BYOC_COVER_EPSILON)) break;
  }
  return true;
}

byoc_status_t byoc_cover_run(const byoc_cover_problem_t *p, const byoc_cover_options_t *options, byoc_diag_t *diag,
                             byoc_cover_search_t *out_search) {
  *out_search = (byoc_cover_search_t){.cost = INFINITY};
  uint32_t n = p->node_count;
  byoc_allocator_t allocator = p->allocator;
  searcher_t s = {.p = p, .allocator = allocator, .result = out_search, .best = INFINITY, .best_rank = UINT64_MAX};
  bool ok = byoc_cover_selector_init(&s.selector, p, options->no_dominance);
  s.layers = byoc_allocate(allocator, n, sizeof(*s.layers));
  uint32_t **const marks[] = {&s.covers, &s.owners, &s.insides, &s.reads, &s.feeds, &s.reached, &s.paid};
  for (size_t i = 0; i < sizeof(marks) / sizeof(*marks); ++i) {
    *marks[i] = byoc_allocate(allocator, n, sizeof(uint32_t));
    ok = ok && *marks[i] != NULL;
  }
  ok = ok && s.layers != NULL;
  double budget = options->state_budget ? (double)options->state_budget : DEFAULT_BUDGET;
  if (ok && n > 0) ok = run_passes(&s, budget);
  if (n == 0) out_search->cost = 0;
  for (uint32_t at = 0; s.layers != NULL && at < n; ++at) byoc_cover_layer_deinit(&s.layers[at], allocator);
  for (size_t i = 0; i < s.spares.count; ++i) byoc_cover_layer_deinit(&s.spares.data[i], allocator);
  for (size_t i = 0; i < sizeof(marks) / sizeof(*marks); ++i) byoc_free(allocator, *marks[i]);
  byoc_free(allocator, s.layers);
  byoc_vector_deinit(&s.spares, allocator);
  byoc_vector_deinit(&s.traces, allocator);
  byoc_vector_deinit(&s.read_list, allocator);
  byoc_vector_deinit(&s.codes, allocator);
  byoc_vector_deinit(&s.pairs, allocator);
  byoc_vector_deinit(&s.opens, allocator);
  byoc_vector_deinit(&s.buffer, allocator);
  byoc_cover_selector_deinit(&s.selector);
  if (ok) return BYOC_OK;
  byoc_free(allocator, out_search->sources);
  *out_search = (byoc_cover_search_t){0};
  return byoc_diag_out_of_memory(diag);
}
