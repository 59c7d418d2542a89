// SPDX-License-Identifier: Apache-2.0
// Walks a host program and keeps, at each instruction, the set of earlier ones that may still be running.
#include "core/hostir/verify/happens_before.h"

#include <string.h>

#include "core/hostir/verify/happens_before_internal.h"

// ---- rows ----

// A row has a bit for each run that may not have ended. The host and each queue have a row for their next instruction;
// each event has one for an instruction that waits for it. Row 0 is the host's.

static uint64_t *row(const byoc_host_order_t *o, size_t index) {
  return o->rows + index * o->words;
}

static void and_row(uint64_t *to, const uint64_t *from, size_t words) {
  for (size_t w = 0; w < words; ++w) to[w] &= from[w];
}

static bool has_bits_outside(const uint64_t *bits, const uint64_t *of, size_t words) {
  for (size_t w = 0; w < words; ++w) {
    if ((bits[w] & ~of[w]) != 0) return true;
  }
  return false;
}

// Room for one more run in all rows.
static bool reserve_run(byoc_host_order_t *o) {
  if (o->run_count < o->words * 64) return true;
  const size_t words = o->words * 2, count = o->row_count + BYOC_HOST_ORDER_EXTRA_ROWS;
  uint64_t *rows = byoc_allocate(o->allocator, count * words, sizeof(*rows));
  if (rows == NULL) return false;
  for (size_t r = 0; r < count; ++r) memcpy(rows + r * words, row(o, r), o->words * sizeof(*rows));
  byoc_free(o->allocator, o->rows);
  o->rows = rows;
  o->words = words;
  return true;
}

// ---- states of rows, for branches and loops ----

typedef struct state_t {
  uint64_t *rows; // NULL: none yet
  size_t words;
} state_t;

static bool keep(byoc_host_order_t *o, state_t *state) {
  byoc_free(o->allocator, state->rows);
  state->words = o->words;
  state->rows = byoc_allocate(o->allocator, o->row_count * o->words, sizeof(*state->rows));
  if (state->rows == NULL) return false;
  memcpy(state->rows, o->rows, o->row_count * o->words * sizeof(*state->rows));
  return true;
}

static void restore(byoc_host_order_t *o, const state_t *state) {
  for (size_t r = 0; r < o->row_count; ++r) {
    memset(row(o, r), 0, o->words * sizeof(*o->rows)); // runs that came later have not run here
    memcpy(row(o, r), state->rows + r * state->words, state->words * sizeof(*o->rows));
  }
}

// The union: an instruction may be running if it may be in either case.
static void join_kept(byoc_host_order_t *o, const state_t *state) {
  for (size_t r = 0; r < o->row_count; ++r) {
    for (size_t w = 0; w < state->words; ++w) row(o, r)[w] |= state->rows[r * state->words + w];
  }
}

// Does the present state have a bit that the kept one lacks?
static bool has_more(const byoc_host_order_t *o, const state_t *state) {
  for (size_t r = 0; r < o->row_count; ++r) {
    if (has_bits_outside(row(o, r), state->rows + r * state->words, state->words)) return true;
    for (size_t w = state->words; w < o->words; ++w) {
      if (row(o, r)[w] != 0) return true;
    }
  }
  return false;
}

// ---- one instruction ----

static byoc_status_t find_element(byoc_host_order_t *o, const char *name, uint32_t count, byoc_dim_t place,
                                  uint32_t *out_element) {
  int64_t value = 0;
  *out_element = 0;
  if (count == 0) return BYOC_OK;
  if (!byoc_host_order_value(o, place, count, &value)) {
    byoc_status_t status =
        byoc_diag_error(o->diag, BYOC_INTERNAL,
                        "host program '%s': instruction %zu (%s): which one of the set '%s' it names is not known",
                        o->program->name, o->number, byoc_host_op_name(o->at->op), name);
    byoc_diag_hint(o->diag, "name it by a number, or by sums and products of symbols of loops that count");
    return status;
  }
  *out_element = (uint32_t)value;
  return BYOC_OK;
}

static byoc_status_t find_row_of_event(byoc_host_order_t *o, const byoc_host_event_use_t *use, size_t *out_row) {
  uint32_t element = 0;
  BYOC_RETURN_IF_ERROR(find_element(o, use->event->name, use->event->count, use->place, &element));
  *out_row = o->event_rows[use->event->index] + element;
  return BYOC_OK;
}

// Applies the waits to the extra row OPEN, and reports to the watch which of them add something.
static byoc_status_t apply_waits(byoc_host_order_t *o, byoc_host_instruction_t *i) {
  size_t event = 0;
  for (size_t k = 0; k < i->waits.count && o->watch->wait != NULL; ++k) {
    uint64_t *others = row(o, o->row_count + BYOC_HOST_ORDER_OTHERS);
    memcpy(others, row(o, o->row_count + BYOC_HOST_ORDER_OPEN), o->words * sizeof(*others));
    for (size_t j = 0; j < i->waits.count; ++j) {
      BYOC_RETURN_IF_ERROR(find_row_of_event(o, &i->waits.data[j], &event));
      if (j != k) and_row(others, row(o, event), o->words);
    }
    BYOC_RETURN_IF_ERROR(find_row_of_event(o, &i->waits.data[k], &event));
    const bool adds = has_bits_outside(others, row(o, event), o->words);
    BYOC_RETURN_IF_ERROR(o->watch->wait(o->watch->self, i, k, adds));
  }
  for (size_t k = 0; k < i->waits.count; ++k) {
    BYOC_RETURN_IF_ERROR(find_row_of_event(o, &i->waits.data[k], &event));
    and_row(row(o, o->row_count + BYOC_HOST_ORDER_OPEN), row(o, event), o->words);
  }
  return BYOC_OK;
}

static byoc_host_order_site_t *new_site(byoc_host_order_t *o, byoc_host_instruction_t *i, uint32_t element) {
  byoc_host_order_site_t *site = BYOC_ARENA_NEW(&o->arena, byoc_host_order_site_t);
  if (site == NULL || !reserve_run(o) || !byoc_vector_push(&o->sites, byoc_arena_allocator(&o->arena), site)) {
    return NULL;
  }
  site->run = (byoc_host_run_t){.instruction = i, .number = o->number, .element = element};
  site->index = o->run_count++;
  return site;
}

// The run of an instruction: a new one each time while iterations are counted, else the one that stands for all
// iterations.
static byoc_host_order_site_t *find_site(byoc_host_order_t *o, byoc_host_instruction_t *i, uint32_t element) {
  if (o->is_exact) return new_site(o, i, element);
  byoc_host_order_site_t **slot = &o->repeated[o->number];
  while (*slot != NULL && (*slot)->run.element != element) slot = &(*slot)->next;
  if (*slot == NULL) *slot = new_site(o, i, element);
  return *slot;
}

// Adds the accesses in o->accesses to the run.
static bool add_accesses(byoc_host_order_t *o, byoc_host_run_t *run) {
  for (size_t k = 0; k < o->accesses.count; ++k) {
    const byoc_host_access_t *access = &o->accesses.data[k];
    bool is_known = false;
    for (size_t j = 0; j < run->accesses.count && !is_known; ++j) {
      const byoc_host_access_t *other = &run->accesses.data[j];
      is_known = other->buffer == access->buffer && other->is_write == access->is_write &&
                 other->place == access->place && other->bytes.begin <= access->bytes.begin &&
                 access->bytes.end <= other->bytes.end;
    }
    if (!is_known && !byoc_vector_push(&run->accesses, byoc_arena_allocator(&o->arena), *access)) return false;
  }
  return true;
}

// For at most this many runs the walk keeps the set of runs that ended before them: the bits grow with the square of
// the number.
enum { MOST_ENDS = 1 << 14 };

// Keeps the set of instructions that may be running when the run has ended; later ones may run too.
static byoc_status_t keep_end(byoc_host_order_t *o, byoc_host_order_site_t *site) {
  uint64_t *end = BYOC_ARENA_ARRAY(&o->arena, uint64_t, o->words);
  if (end == NULL) return byoc_diag_out_of_memory(o->diag);
  memcpy(end, row(o, o->row_count + BYOC_HOST_ORDER_OPEN), o->words * sizeof(*end));
  for (size_t k = o->run_count; k < o->words * 64; ++k) end[k / 64] |= UINT64_C(1) << k % 64;
  site->end = end;
  site->end_words = o->words;
  return BYOC_OK;
}

// Only instructions behind it in its own queue know that the run has ended.
static byoc_status_t start_run(byoc_host_order_t *o, byoc_host_instruction_t *i, uint32_t element, size_t own) {
  byoc_host_order_site_t *site = find_site(o, i, element);
  if (site == NULL || !add_accesses(o, &site->run)) return byoc_diag_out_of_memory(o->diag);
  uint64_t *open = row(o, o->row_count + BYOC_HOST_ORDER_OPEN);
  if (o->watch->meet != NULL) BYOC_RETURN_IF_ERROR(o->watch->meet(o->watch->self, o, &site->run));
  const uint64_t bit = UINT64_C(1) << site->index % 64;
  open[site->index / 64] &= ~bit;
  for (size_t r = 0; r < o->row_count; ++r) {
    if (r != own) row(o, r)[site->index / 64] |= bit;
  }
  memcpy(row(o, own), open, o->words * sizeof(*open));
  return o->watch->assumes && o->is_exact && site->index < MOST_ENDS ? keep_end(o, site) : BYOC_OK;
}

static byoc_status_t run(byoc_host_order_t *o, byoc_host_instruction_t *i) {
  const byoc_host_queue_t *queue = i->on.queue;
  uint32_t element = 0;
  size_t own = 0, signal = 0;
  if (queue != NULL) {
    BYOC_RETURN_IF_ERROR(find_element(o, queue->name, queue->count, i->on.place, &element));
    own = o->queue_rows[queue->index] + element;
  }
  if (!byoc_host_order_find_accesses(o, i)) return byoc_diag_out_of_memory(o->diag);
  if (queue == NULL && i->waits.count == 0 && o->accesses.count == 0) return BYOC_OK;
  uint64_t *open = row(o, o->row_count + BYOC_HOST_ORDER_OPEN);
  memcpy(open, row(o, own), o->words * sizeof(*open));
  and_row(open, row(o, 0), o->words);
  BYOC_RETURN_IF_ERROR(apply_waits(o, i));
  if (o->accesses.count > 0) BYOC_RETURN_IF_ERROR(start_run(o, i, element, own));
  if (o->accesses.count == 0) memcpy(row(o, own), open, o->words * sizeof(*open));
  if (i->signal.event == NULL) return BYOC_OK;
  BYOC_RETURN_IF_ERROR(find_row_of_event(o, &i->signal, &signal));
  memcpy(row(o, signal), row(o, own), o->words * sizeof(*open));
  return BYOC_OK;
}

// ---- regions ----

static byoc_status_t walk_region(byoc_host_order_t *o, const byoc_host_region_t *region);

static size_t count_nested(const byoc_host_region_t *region) {
  size_t count = 0;
  for (const byoc_host_instruction_t *i = region->first; i != NULL; i = i->next) {
    count += 1;
    for (uint32_t r = 0; r < i->region_count; ++r) count += count_nested(&i->regions[r]);
  }
  return count;
}

static byoc_status_t walk_branch(byoc_host_order_t *o, const byoc_host_instruction_t *i) {
  state_t before = {0}, then = {0};
  byoc_status_t status = keep(o, &before) ? BYOC_OK : byoc_diag_out_of_memory(o->diag);
  if (status == BYOC_OK) status = walk_region(o, &i->regions[0]);
  if (status == BYOC_OK && !keep(o, &then)) status = byoc_diag_out_of_memory(o->diag);
  if (status == BYOC_OK) restore(o, &before);
  if (status == BYOC_OK) status = walk_region(o, &i->regions[1]);
  if (status == BYOC_OK) join_kept(o, &then);
  byoc_free(o->allocator, before.rows);
  byoc_free(o->allocator, then.rows);
  return status;
}

static void know(byoc_host_order_t *o, uint32_t symbol, byoc_host_order_known_t known, int64_t value) {
  o->known[symbol] = known;
  o->values[symbol] = value;
}

// Iteration by iteration.
static byoc_status_t walk_iterations(byoc_host_order_t *o, const byoc_host_count_t *count, int64_t iterations,
                                     const byoc_host_region_t *body) {
  const int64_t start = byoc_host_range_of(&o->ranges, count->start).least; // the only value, as iterations are counted
  const int64_t step = byoc_host_range_of(&o->ranges, count->step).least;
  const size_t number = o->number, nested = count_nested(body);
  for (int64_t iteration = 0; iteration < iterations; ++iteration) {
    o->number = number;
    know(o, count->symbol, BYOC_HOST_ORDER_VALUE, start + iteration * step);
    BYOC_RETURN_IF_ERROR(walk_region(o, body));
  }
  o->number = number + nested;
  return BYOC_OK;
}

// Walks the body until no iteration adds to the state. Iterations whose numbers are equal modulo the period refer to
// the same elements of sets, so one state is kept for each remainder.
static byoc_status_t walk_any_iterations(byoc_host_order_t *o, const byoc_host_count_t *count,
                                         const byoc_host_region_t *body) {
  int64_t start = 0, step = 0;
  const bool knows_symbol = count != NULL && byoc_host_order_value(o, count->start, o->period, &start) &&
                            byoc_host_order_value(o, count->step, o->period, &step);
  const uint32_t period = knows_symbol ? o->period : 1;
  const size_t number = o->number, nested = count_nested(body);
  const bool was_exact = o->is_exact;
  state_t *heads = byoc_allocate(o->allocator, period, sizeof(*heads));
  if (heads == NULL) return byoc_diag_out_of_memory(o->diag);
  if (was_exact) memset(o->repeated, 0, (o->program->instruction_count + 1) * sizeof(*o->repeated));
  o->is_exact = false;
  byoc_status_t status = BYOC_OK;
  uint32_t unchanged = 0;
  for (uint64_t iteration = 0; status == BYOC_OK; ++iteration) {
    state_t *head = &heads[iteration % period];
    const bool brings_new = head->rows == NULL || has_more(o, head);
    unchanged = brings_new ? 0 : unchanged + 1;
    if (unchanged == period) break;
    if (head->rows != NULL) join_kept(o, head);
    if (brings_new && !keep(o, head)) status = byoc_diag_out_of_memory(o->diag);
    o->number = number;
    const int64_t value = knows_symbol ? (start + (int64_t)(iteration % period) * step) % period : 0;
    if (count != NULL) {
      know(o, count->symbol, knows_symbol ? BYOC_HOST_ORDER_RESIDUE : BYOC_HOST_ORDER_UNKNOWN, value);
    }
    if (status == BYOC_OK) status = walk_region(o, body);
  }
  for (uint32_t r = 0; r < period; ++r) {
    if (status == BYOC_OK && heads[r].rows != NULL) join_kept(o, &heads[r]);
    byoc_free(o->allocator, heads[r].rows);
  }
  byoc_free(o->allocator, heads);
  o->number = number + nested;
  o->is_exact = was_exact;
  return status;
}

static byoc_status_t walk_loop(byoc_host_order_t *o, const byoc_host_instruction_t *i) {
  const byoc_host_region_t *body = &i->regions[0];
  const int64_t iterations = i->count != NULL ? byoc_host_iterations_of(&o->ranges, i->count) : -1;
  const uint64_t nested = count_nested(body) + 1;
  if (o->is_exact && iterations >= 0 && (uint64_t)iterations <= o->budget / nested) {
    o->budget -= (uint64_t)iterations * nested;
    BYOC_RETURN_IF_ERROR(walk_iterations(o, i->count, iterations, body));
  } else {
    BYOC_RETURN_IF_ERROR(walk_any_iterations(o, i->count, body));
  }
  if (i->count != NULL) o->known[i->count->symbol] = BYOC_HOST_ORDER_UNKNOWN;
  return BYOC_OK;
}

static byoc_status_t walk_region(byoc_host_order_t *o, const byoc_host_region_t *region) {
  for (byoc_host_instruction_t *i = region->first; i != NULL; i = i->next) {
    o->at = i;
    o->number++;
    BYOC_RETURN_IF_ERROR(run(o, i));
    int64_t value = 0;
    if (i->op == BYOC_HOST_LET) {
      byoc_host_order_known_t known = BYOC_HOST_ORDER_UNKNOWN;
      if (byoc_host_order_value(o, i->dims[0], o->period, &value)) known = BYOC_HOST_ORDER_RESIDUE;
      if (byoc_host_order_value(o, i->dims[0], 0, &value)) known = BYOC_HOST_ORDER_VALUE;
      know(o, i->symbols[0], known, value);
    }
    const size_t number = o->number;
    if (i->op == BYOC_HOST_BRANCH) BYOC_RETURN_IF_ERROR(walk_branch(o, i));
    if (i->op == BYOC_HOST_LOOP) BYOC_RETURN_IF_ERROR(walk_loop(o, i));
    if (i->region_count > 0 && i->results.count > 0) { // these are made at the end
      const size_t behind = o->number;
      o->at = i;
      o->number = number;
      BYOC_RETURN_IF_ERROR(run(o, i));
      o->number = behind;
    }
  }
  return BYOC_OK;
}

// ---- the whole ----

byoc_status_t byoc_host_walk_order(const byoc_host_program_t *program, const byoc_host_watch_t *watch,
                                   byoc_diag_t *diag) {
  if (program->queues.count == 0) return BYOC_OK;
  byoc_host_order_t o = {.program = program, .watch = watch, .diag = diag, .allocator = program->arena.allocator};
  byoc_arena_init(&o.arena, o.allocator);
  byoc_status_t status = byoc_host_order_start(&o) ? BYOC_OK : byoc_diag_out_of_memory(diag);
  if (status == BYOC_OK) status = walk_region(&o, &program->body);
  byoc_free(o.allocator, o.rows);
  byoc_arena_deinit(&o.arena);
  return status;
}

// ---- for the watch ----

const byoc_host_run_t *byoc_host_order_next(const byoc_host_order_t *o, size_t *position) {
  const uint64_t *open = row(o, o->row_count + BYOC_HOST_ORDER_OPEN);
  for (; *position < o->run_count; ++*position) {
    const uint64_t rest = open[*position / 64] >> *position % 64;
    if (rest == 0) {
      *position |= 63; // on to the next word
      continue;
    }
    *position += (size_t)__builtin_ctzll(rest);
    return &o->sites.data[(*position)++]->run;
  }
  return NULL;
}

void byoc_host_order_assume(byoc_host_order_t *o, const byoc_host_run_t *earlier) {
  const byoc_host_order_site_t *site =
      (const byoc_host_order_site_t *)(const void *)((const char *)earlier - offsetof(byoc_host_order_site_t, run));
  uint64_t *open = row(o, o->row_count + BYOC_HOST_ORDER_OPEN);
  open[site->index / 64] &= ~(UINT64_C(1) << site->index % 64);
  if (site->end != NULL) and_row(open, site->end, site->end_words);
}

bool byoc_host_runs_conflict(const byoc_host_run_t *a, const byoc_host_run_t *b, const byoc_host_access_t **out_first,
                             const byoc_host_access_t **out_second) {
  for (size_t k = 0; k < a->accesses.count; ++k) {
    for (size_t j = 0; j < b->accesses.count; ++j) {
      const byoc_host_access_t *x = &a->accesses.data[k], *y = &b->accesses.data[j];
      if (x->place != y->place || (!x->is_write && !y->is_write) || x->bytes.begin >= y->bytes.end ||
          y->bytes.begin >= x->bytes.end) {
        continue;
      }
      *out_first = x;
      *out_second = y;
      return true;
    }
  }
  return false;
}
