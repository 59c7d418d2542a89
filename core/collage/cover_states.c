// SPDX-License-Identifier: Apache-2.0
// Keeps the states of the cover search in layers, and selects those to continue from.
#include "core/collage/cover_states.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/hash.h"

// ---- layers ----

static size_t identity_size(const byoc_cover_state_t *state) {
  return state->pair_count * sizeof(uint64_t) + state->open_count * sizeof(uint32_t) + state->place_count;
}

size_t byoc_cover_state_size(const byoc_cover_state_t *state) {
  return (sizeof(*state) + identity_size(state) + 7) & ~(size_t)7;
}

static bool has_same_identity(const byoc_cover_state_t *a, const byoc_cover_state_t *b) {
  return !(a->error < b->error) && !(a->error > b->error) && a->pair_count == b->pair_count &&
         a->open_count == b->open_count && a->place_count == b->place_count &&
         memcmp(a + 1, b + 1, identity_size(a)) == 0;
}

static bool grow_slots(byoc_cover_layer_t *layer, byoc_allocator_t allocator) {
  size_t slot_count = layer->slot_count ? layer->slot_count * 2 : 64;
  uint32_t *slots = byoc_allocate(allocator, slot_count, sizeof(*slots));
  if (slots == NULL) return false;
  for (size_t i = 0; i < layer->count; ++i) {
    size_t slot = (size_t)layer->entries[i].hash & (slot_count - 1);
    while (slots[slot] != 0) slot = (slot + 1) & (slot_count - 1);
    slots[slot] = (uint32_t)i + 1;
  }
  byoc_free(allocator, layer->slots);
  layer->slots = slots;
  layer->slot_count = slot_count;
  return true;
}

byoc_cover_state_t *byoc_cover_layer_add(byoc_cover_layer_t *layer, const byoc_cover_state_t *state,
                                         byoc_allocator_t allocator, bool *out_is_new) {
  if ((layer->count + 1) * 2 > layer->slot_count && !grow_slots(layer, allocator)) return NULL;
  uint64_t hash = byoc_hash_bytes(state + 1, identity_size(state), state->open_count);
  if (state->error > 0) hash = byoc_hash_bytes(&state->error, sizeof(state->error), hash);
  size_t slot = (size_t)hash & (layer->slot_count - 1);
  *out_is_new = false;
  for (; layer->slots[slot] != 0; slot = (slot + 1) & (layer->slot_count - 1)) {
    uint32_t index = layer->slots[slot] - 1;
    byoc_cover_state_t *there = byoc_cover_state_at(layer, index);
    if (layer->entries[index].hash == hash && has_same_identity(there, state)) return there;
  }
  size_t size = byoc_cover_state_size(state);
  bool ok = byoc_vector_grow(allocator, (void **)&layer->bytes, &layer->capacity, layer->size, size, 1) &&
            byoc_vector_grow(allocator, (void **)&layer->entries, &layer->entry_capacity, layer->count, 1,
                             sizeof(*layer->entries));
  if (!ok) return NULL;
  byoc_cover_state_t *copy = (byoc_cover_state_t *)(void *)(layer->bytes + layer->size);
  memcpy(copy, state, sizeof(*state) + identity_size(state));
  layer->entries[layer->count].offset = layer->size;
  layer->entries[layer->count].hash = hash;
  layer->slots[slot] = (uint32_t)++layer->count;
  layer->size += size;
  *out_is_new = true;
  return copy;
}

void byoc_cover_layer_clear(byoc_cover_layer_t *layer) {
  layer->size = layer->count = 0;
  if (layer->slots != NULL) memset(layer->slots, 0, layer->slot_count * sizeof(*layer->slots));
}

void byoc_cover_layer_deinit(byoc_cover_layer_t *layer, byoc_allocator_t allocator) {
  byoc_free(allocator, layer->bytes);
  byoc_free(allocator, layer->entries);
  byoc_free(allocator, layer->slots);
  *layer = (byoc_cover_layer_t){0};
}

// ---- selection ----

// The largest number of states, with the same open candidates, that one state is compared with: the best of them are
// enough.
#define COMPARED_LIMIT             8
#define COMPARED_LIMIT_WITH_ERRORS 128 // they differ by their errors, too

bool byoc_cover_selector_init(byoc_cover_selector_t *s, const byoc_cover_problem_t *problem, bool no_dominance) {
  *s = (byoc_cover_selector_t){.problem = problem, .allocator = problem->allocator, .no_dominance = no_dominance};
  uint32_t n = problem->node_count;
  s->slot_owners = byoc_allocate(s->allocator, problem->slot_count[n], sizeof(*s->slot_owners));
  s->unread = byoc_allocate(s->allocator, n, sizeof(*s->unread));
  return s->slot_owners != NULL && s->unread != NULL;
}

void byoc_cover_selector_deinit(byoc_cover_selector_t *s) {
  byoc_free(s->allocator, s->slot_owners);
  byoc_free(s->allocator, s->unread);
  byoc_vector_deinit(&s->order, s->allocator);
  byoc_vector_deinit(&s->kept, s->allocator);
  byoc_vector_deinit(&s->heads, s->allocator);
  byoc_vector_deinit(&s->links, s->allocator);
}

void byoc_cover_selector_start(byoc_cover_selector_t *s) {
  const byoc_cover_problem_t *p = s->problem;
  s->dropped = INFINITY;
  for (uint32_t at = 0; at < p->node_count; ++at) {
    s->unread[at] = p->successor_offsets[at + 1] - p->successor_offsets[at];
  }
}

static void pass_node(byoc_cover_selector_t *s, uint32_t at) {
  const byoc_cover_problem_t *p = s->problem;
  for (uint32_t e = p->predecessor_offsets[at]; e < p->predecessor_offsets[at + 1]; ++e) {
    s->unread[p->predecessors[e]] -= 1;
  }
  if (p->slots[at] != BYOC_COVER_NONE) s->slot_owners[p->slots[at]] = at;
}

static bool has_same_opens(const byoc_cover_state_t *a, const byoc_cover_state_t *b) {
  return a->open_count == b->open_count &&
         memcmp(byoc_cover_opens(a), byoc_cover_opens(b), a->open_count * sizeof(uint32_t)) == 0;
}

// True if every completion of `state` also completes `by` (same nodes covered, no more waiting) at no higher cost.
static bool is_dominated(const byoc_cover_selector_t *s, const byoc_cover_state_t *state,
                         const byoc_cover_state_t *by) {
  double margin = state->cost - by->cost;
  if (margin < 0 || by->error > state->error || by->pair_count > state->pair_count || !has_same_opens(state, by))
    return false;
  const byoc_cover_problem_t *p = s->problem;
  const uint8_t *places = byoc_cover_places(state), *by_places = byoc_cover_places(by);
  for (uint32_t i = 0; i < state->place_count && margin >= 0; ++i) {
    if (places[i] == by_places[i]) continue;
    const uint32_t node = s->slot_owners[i];
    if (p->device_count > 1) margin -= byoc_cover_copy_excess(p, i, node, places[i], by_places[i]);
    if (i < p->input_count) continue;
    const uint8_t place = (uint8_t)(places[i] / p->masks), by_place = (uint8_t)(by_places[i] / p->masks);
    margin -= s->unread[node] * byoc_cover_disadvantage(p, node, place, by_place);
  }
  if (margin < 0 || (margin == 0 && by->rank > state->rank)) return false;
  const uint64_t *pairs = byoc_cover_pairs(state), *by_pairs = byoc_cover_pairs(by);
  uint32_t j = 0;
  for (uint32_t i = 0; i < by->pair_count; ++i) { // both lists are rising
    while (j < state->pair_count && pairs[j] < by_pairs[i]) ++j;
    if (j == state->pair_count || pairs[j] != by_pairs[i]) return false;
  }
  return true;
}

typedef struct sort_key_t {
  double bound;
  uint64_t rank;
  uint32_t index;
} sort_key_t;

static int compare_keys(const void *left, const void *right) {
  const sort_key_t *a = left, *b = right;
  if (a->bound != b->bound) return a->bound < b->bound ? -1 : 1;
  if (a->rank != b->rank) return a->rank < b->rank ? -1 : 1;
  return a->index < b->index ? -1 : a->index > b->index;
}

// Indices of the states, best first.
static bool sort_states(byoc_cover_selector_t *s, const byoc_cover_layer_t *layer) {
  s->order.count = s->kept.count = 0;
  if (!byoc_vector_reserve(&s->order, s->allocator, layer->count)) return false;
  if (!byoc_vector_reserve(&s->kept, s->allocator, layer->count)) return false;
  sort_key_t *keys = byoc_allocate(s->allocator, layer->count, sizeof(*keys));
  if (keys == NULL) return false;
  for (size_t i = 0; i < layer->count; ++i) {
    const byoc_cover_state_t *state = byoc_cover_state_at(layer, i);
    keys[i] = (sort_key_t){state->bound, state->rank, (uint32_t)i};
  }
  if (layer->count > 1) qsort(keys, layer->count, sizeof(*keys), compare_keys);
  for (size_t i = 0; i < layer->count; ++i) s->order.data[s->order.count++] = keys[i].index;
  byoc_free(s->allocator, keys);
  return true;
}

bool byoc_cover_select(byoc_cover_selector_t *s, uint32_t position, const byoc_cover_layer_t *layer, size_t width) {
  if (position > 0) pass_node(s, position - 1);
  s->kept.count = 0;
  if (layer == NULL || layer->count == 0) return true;
  if (!sort_states(s, layer)) return false;
  size_t head_count = 16; // of lists of kept states, by their open candidates
  while (head_count < layer->count) head_count *= 2;
  s->heads.count = s->links.count = 0;
  if (!byoc_vector_reserve(&s->heads, s->allocator, head_count)) return false;
  if (!byoc_vector_reserve(&s->links, s->allocator, layer->count)) return false;
  memset(s->heads.data, 0, head_count * sizeof(*s->heads.data));

  const int limit = s->problem->limits_error ? COMPARED_LIMIT_WITH_ERRORS : COMPARED_LIMIT;
  bool has_closed = false; // one without open candidates
  for (size_t i = 0; i < s->order.count; ++i) {
    uint32_t index = s->order.data[i];
    const byoc_cover_state_t *state = byoc_cover_state_at(layer, index);
    uint32_t *head = NULL;
    if (!s->no_dominance) {
      uint64_t hash = byoc_hash_bytes(byoc_cover_opens(state), state->open_count * sizeof(uint32_t), 1);
      head = &s->heads.data[hash & (head_count - 1)];
      bool is_needless = false;
      int compared = 0;
      for (uint32_t other = *head; other != 0 && !is_needless && compared < limit; ++compared) {
        is_needless = is_dominated(s, state, byoc_cover_state_at(layer, other - 1));
        other = s->links.data[other - 1];
      }
      if (is_needless) continue;
    }
    if (s->kept.count >= width && (has_closed || state->open_count > 0)) {
      s->dropped = fmin(s->dropped, state->bound);
      continue;
    }
    has_closed = has_closed || state->open_count == 0;
    s->kept.data[s->kept.count++] = index;
    if (head == NULL) continue;
    // Appends to its list, so that the best are compared first.
    s->links.data[index] = 0;
    while (*head != 0) head = &s->links.data[*head - 1];
    *head = index + 1;
  }
  return true;
}
