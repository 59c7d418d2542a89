// SPDX-License-Identifier: Apache-2.0
// States of the cover search and the layers that they wait in. Private to core/collage/cover*.c.
#ifndef BYOC_CORE_COLLAGE_COVER_STATES_H_
#define BYOC_CORE_COLLAGE_COVER_STATES_H_

#include "core/collage/cover_problem.h"

// All nodes before the first uncovered one are covered, and so are the tails of `opens`. Behind this header lie, in one
// piece that is also the state's identity:
//   uint64_t pairs[pair_count]    (last node of a waiting open candidate) << 32 | (a node still read that depends on
//   it) uint32_t opens[open_count]    tails of chosen candidates behind the first uncovered node, by their next node
//   uint8_t places[place_count]   by slot: the place of a node still read, else BYOC_COVER_NO_PLACE
typedef struct byoc_cover_state_t {
  double cost;  // so far
  double bound; // cost plus the least that the rest can cost
  double error; // of the candidates so far; part of the identity
  uint64_t rank;
  uint32_t trace; // how it was reached
  uint32_t pair_count, open_count, place_count;
} byoc_cover_state_t;

static inline uint64_t *byoc_cover_pairs(const byoc_cover_state_t *state) {
  return (uint64_t *)(uintptr_t)(state + 1);
}
static inline uint32_t *byoc_cover_opens(const byoc_cover_state_t *state) {
  return (uint32_t *)(byoc_cover_pairs(state) + state->pair_count);
}
static inline uint8_t *byoc_cover_places(const byoc_cover_state_t *state) {
  return (uint8_t *)(byoc_cover_opens(state) + state->open_count);
}

// States with the same first uncovered node, by identity.
typedef struct byoc_cover_layer_t {
  uint8_t *bytes;
  size_t size, capacity;
  struct byoc_cover_entry_t {
    size_t offset; // of the state
    uint64_t hash;
  } * entries;
  size_t count, entry_capacity;
  uint32_t *slots; // open addressing: entry + 1
  size_t slot_count;
} byoc_cover_layer_t;

static inline byoc_cover_state_t *byoc_cover_state_at(const byoc_cover_layer_t *layer, size_t index) {
  return (byoc_cover_state_t *)(void *)(layer->bytes + layer->entries[index].offset);
}
// Bytes of a state with its identity, a multiple of 8.
size_t byoc_cover_state_size(const byoc_cover_state_t *state);

// Finds the state with the identity of `state`, or adds a copy. NULL if out of memory.
byoc_cover_state_t *byoc_cover_layer_add(byoc_cover_layer_t *layer, const byoc_cover_state_t *state,
                                         byoc_allocator_t allocator, bool *out_is_new);
void byoc_cover_layer_clear(byoc_cover_layer_t *layer); // keeps the memory
void byoc_cover_layer_deinit(byoc_cover_layer_t *layer, byoc_allocator_t allocator);

// True if cost a is lower than b, or equal with the lower rank.
static inline bool byoc_cover_is_better(double a, uint64_t rank_a, double b, uint64_t rank_b) {
  double near = BYOC_COVER_EPSILON * b;
  return a < b - near || (a <= b + near && rank_a < rank_b);
}

// Picks the states of a layer to continue from: the best `width` of those that no other one dominates, and always one
// without open candidates. If every node has a candidate of its own, such a state can be completed.
typedef struct byoc_cover_selector_t {
  const byoc_cover_problem_t *problem;
  byoc_allocator_t allocator;
  bool no_dominance;
  uint32_t *slot_owners; // which node's place a slot holds now
  uint32_t *unread;      // successors of a node that are not passed yet
  BYOC_VECTOR(uint32_t) order;
  BYOC_VECTOR(uint32_t) kept; // the selection, best first
  BYOC_VECTOR(uint32_t) heads;
  BYOC_VECTOR(uint32_t) links;
  double dropped; // the least bound among the states dropped because of the width
} byoc_cover_selector_t;
bool byoc_cover_selector_init(byoc_cover_selector_t *selector, const byoc_cover_problem_t *problem, bool no_dominance);
void byoc_cover_selector_deinit(byoc_cover_selector_t *selector);
void byoc_cover_selector_start(byoc_cover_selector_t *selector); // before position 0
// Call it for each position in turn, also where there are no states (layer is NULL). False if out of memory.
bool byoc_cover_select(byoc_cover_selector_t *selector, uint32_t position, const byoc_cover_layer_t *layer,
                       size_t width);

#endif // BYOC_CORE_COLLAGE_COVER_STATES_H_
