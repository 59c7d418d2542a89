// SPDX-License-Identifier: Apache-2.0
// Propagates devices over the links between domains. All domains of a round decide at once, by the state before the
// round, so that the order of nodes does not matter.
#include <stdlib.h>

#include "core/device/domains.h"

// The devices of a domain's neighbours, each once.
typedef struct offer_t {
  byoc_virtual_device_t device;
  size_t count;
} offer_t;

typedef struct decision_t {
  uint32_t domain;
  byoc_virtual_device_t device;
} decision_t;

typedef BYOC_VECTOR(uint32_t) roots_t;

typedef struct spread_t {
  byoc_domains_t *domains;
  byoc_allocator_t allocator;
  uint32_t *begins;     // by item: where the neighbours of a root begin in `neighbours`; one more at the end
  uint32_t *neighbours; // roots
  uint32_t *rounds;     // by item: the round in which a root was last put into `next`
  roots_t open, next;   // domains that may decide in this round, in the next one
  BYOC_VECTOR(decision_t) decisions;
  BYOC_VECTOR(offer_t) offers;
} spread_t;

static bool make_neighbours(spread_t *s) {
  byoc_domains_t *domains = s->domains;
  const size_t count = domains->items.count;
  s->begins = byoc_allocate(s->allocator, count + 2, sizeof(*s->begins));
  s->neighbours = byoc_allocate(s->allocator, 2 * domains->links.count + 1, sizeof(*s->neighbours));
  s->rounds = byoc_allocate(s->allocator, count + 1, sizeof(*s->rounds));
  if (s->begins == NULL || s->neighbours == NULL || s->rounds == NULL) return false;
  for (size_t i = 0; i < count + 2; ++i) s->begins[i] = 0;
  for (size_t i = 0; i < count + 1; ++i) s->rounds[i] = 0;
  for (size_t l = 0; l < domains->links.count; ++l) {
    byoc_link_t *link = &domains->links.data[l];
    link->a = byoc_domains_root(domains, link->a);
    link->b = byoc_domains_root(domains, link->b);
    s->begins[link->a + 2]++;
    s->begins[link->b + 2]++;
  }
  for (size_t i = 2; i < count + 2; ++i) s->begins[i] += s->begins[i - 1];
  for (size_t l = 0; l < domains->links.count; ++l) {
    const byoc_link_t *link = &domains->links.data[l];
    s->neighbours[s->begins[link->a + 1]++] = link->b;
    s->neighbours[s->begins[link->b + 1]++] = link->a;
  }
  return true;
}

static bool offer(spread_t *s, const byoc_virtual_device_t *device) {
  for (size_t i = 0; i < s->offers.count; ++i) {
    if (!byoc_virtual_device_same(&s->offers.data[i].device, device)) continue;
    s->offers.data[i].count++;
    return true;
  }
  return byoc_vector_push(&s->offers, s->allocator, (offer_t){*device, 1});
}

// Chooses the device of a domain among those of its neighbours.
static bool decide(spread_t *s, uint32_t domain) {
  const byoc_virtual_device_t *own = &s->domains->items.data[domain].device;
  s->offers.count = 0;
  for (uint32_t n = s->begins[domain]; n < s->begins[domain + 1]; ++n) {
    const byoc_virtual_device_t *device = &s->domains->items.data[s->neighbours[n]].device;
    if (!byoc_virtual_device_lacks(own, device) || !byoc_virtual_device_agrees(own, device)) continue;
    if (!offer(s, device)) return false;
  }
  if (s->offers.count == 0) return true;
  const offer_t *best = &s->offers.data[0];
  for (size_t i = 1; i < s->offers.count; ++i) {
    const offer_t *other = &s->offers.data[i];
    const bool is_better =
        other->count > best->count ||
        (other->count == best->count && byoc_virtual_device_compare(&other->device, &best->device) < 0);
    if (is_better) best = other;
  }
  return byoc_vector_push(&s->decisions, s->allocator, (decision_t){domain, best->device});
}

static bool open_next(spread_t *s, uint32_t domain, uint32_t round) {
  if (s->rounds[domain] == round) return true;
  s->rounds[domain] = round;
  return byoc_vector_push(&s->next, s->allocator, domain);
}

static bool run_round(spread_t *s, uint32_t round) {
  s->decisions.count = s->next.count = 0;
  for (size_t i = 0; i < s->open.count; ++i) {
    if (!decide(s, s->open.data[i])) return false;
  }
  for (size_t i = 0; i < s->decisions.count; ++i) {
    const decision_t *decision = &s->decisions.data[i];
    byoc_virtual_device_merge(&s->domains->items.data[decision->domain].device, &decision->device);
    if (!open_next(s, decision->domain, round)) return false; // a neighbour may fill further fields
    for (uint32_t n = s->begins[decision->domain]; n < s->begins[decision->domain + 1]; ++n) {
      if (!open_next(s, s->neighbours[n], round)) return false;
    }
  }
  const roots_t open = s->open;
  s->open = s->next;
  s->next = open;
  return true;
}

byoc_status_t byoc_domains_spread(byoc_domains_t *domains) {
  spread_t s = {.domains = domains, .allocator = domains->allocator};
  bool ok = make_neighbours(&s);
  for (uint32_t i = 0; i < domains->items.count && ok; ++i) {
    if (domains->items.data[i].parent == i) ok = byoc_vector_push(&s.open, s.allocator, i);
  }
  for (uint32_t round = 1; ok && s.open.count > 0; ++round) ok = run_round(&s, round);
  byoc_free(s.allocator, s.begins);
  byoc_free(s.allocator, s.neighbours);
  byoc_free(s.allocator, s.rounds);
  byoc_vector_deinit(&s.open, s.allocator);
  byoc_vector_deinit(&s.next, s.allocator);
  byoc_vector_deinit(&s.decisions, s.allocator);
  byoc_vector_deinit(&s.offers, s.allocator);
  return ok ? BYOC_OK : byoc_diag_out_of_memory(domains->diag);
}
