// SPDX-License-Identifier: Apache-2.0
// Reports two devices that one domain is bound to: the message names both, and the shortest chain that joins them. It
// does not depend on the order of nodes, as far as values have names.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/string.h"
#include "core/device/domains.h"
#include "core/ir/text_parts.h"

enum {
  NAME_SIZE = 160,
  SHOWN = 4, // steps of a long chain that are shown at each end
};

typedef struct said_name_t {
  const byoc_said_t *said;
  char name[NAME_SIZE];
} said_name_t;

// An end of a join, to look up the joins of an item.
typedef struct end_t {
  uint32_t item, join;
} end_t;

typedef struct search_t {
  byoc_domains_t *domains;
  end_t *ends;
  size_t end_count;
  uint32_t *distances; // by item, from the first device; BYOC_NO_ITEM: not reached
  uint32_t *queue;
} search_t;

static const char *function_of(const byoc_item_t *item) {
  if (item->value != NULL) return item->value->function->name;
  return item->node != NULL ? item->node->function->name : item->function->name;
}

static void name_item(const byoc_item_t *item, char name[NAME_SIZE]) {
  char node[NAME_SIZE / 2];
  const byoc_value_t *value = item->value;
  if (value == NULL && item->node == NULL) {
    snprintf(name, NAME_SIZE, "result %u", (unsigned)item->index);
  } else if (value == NULL) {
    byoc_node_describe(item->node, node, sizeof(node));
    snprintf(name, NAME_SIZE, "operand %u of %s", (unsigned)item->index, node);
  } else if (value->kind == BYOC_VALUE_CONSTANT) {
    snprintf(name, NAME_SIZE, "@%s", value->constant->name);
  } else if (value->name != NULL && value->name[0] != '\0') {
    snprintf(name, NAME_SIZE, "%%%s", value->name);
  } else if (value->node != NULL) {
    byoc_node_describe(value->node, node, sizeof(node));
    snprintf(name, NAME_SIZE, "result %u of %s", (unsigned)value->index, node);
  } else {
    snprintf(name, NAME_SIZE, "parameter %u", (unsigned)value->index);
  }
}

static int compare_names(const void *a, const void *b) {
  const said_name_t *one = a, *other = b;
  const int names = strcmp(one->name, other->name);
  return names != 0 ? names : byoc_virtual_device_compare(&one->said->device, &other->said->device);
}

static int compare_ends(const void *a, const void *b) {
  const end_t *one = a, *other = b;
  if (one->item != other->item) return one->item < other->item ? -1 : 1;
  return one->join < other->join ? -1 : one->join > other->join;
}

static bool prepare(search_t *s) {
  const byoc_domains_t *domains = s->domains;
  const size_t count = domains->joins.count;
  s->ends = byoc_allocate(domains->allocator, 2 * count + 1, sizeof(*s->ends));
  s->distances = byoc_allocate(domains->allocator, domains->items.count, sizeof(*s->distances));
  s->queue = byoc_allocate(domains->allocator, domains->items.count, sizeof(*s->queue));
  if (s->ends == NULL || s->distances == NULL || s->queue == NULL) return false;
  for (uint32_t j = 0; j < count; ++j) {
    s->ends[s->end_count++] = (end_t){domains->joins.data[j].a, j};
    s->ends[s->end_count++] = (end_t){domains->joins.data[j].b, j};
  }
  qsort(s->ends, s->end_count, sizeof(*s->ends), compare_ends);
  return true;
}

static size_t first_end(const search_t *s, uint32_t item) {
  size_t low = 0, high = s->end_count;
  while (low < high) {
    const size_t middle = low + (high - low) / 2;
    if (s->ends[middle].item < item) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

static uint32_t other_side(const search_t *s, const end_t *end) {
  const byoc_join_t *join = &s->domains->joins.data[end->join];
  return join->a == end->item ? join->b : join->a;
}

static void measure_from(search_t *s, uint32_t item) {
  size_t head = 0, tail = 0;
  for (size_t i = 0; i < s->domains->items.count; ++i) s->distances[i] = BYOC_NO_ITEM;
  s->distances[item] = 0;
  s->queue[tail++] = item;
  while (head < tail) {
    const uint32_t at = s->queue[head++];
    for (size_t e = first_end(s, at); e < s->end_count && s->ends[e].item == at; ++e) {
      const uint32_t next = other_side(s, &s->ends[e]);
      if (s->distances[next] != BYOC_NO_ITEM) continue;
      s->distances[next] = s->distances[at] + 1;
      s->queue[tail++] = next;
    }
  }
}

// The join that leads from `item` one step back to where distances were measured from; of several the one to the item
// whose name comes first.
static const byoc_join_t *step_back(const search_t *s, uint32_t item, uint32_t *out_next) {
  char best[NAME_SIZE] = "", name[NAME_SIZE];
  const byoc_join_t *found = NULL;
  for (size_t e = first_end(s, item); e < s->end_count && s->ends[e].item == item; ++e) {
    const uint32_t next = other_side(s, &s->ends[e]);
    if (s->distances[next] + 1 != s->distances[item]) continue;
    name_item(&s->domains->items.data[next], name);
    if (found != NULL && strcmp(name, best) >= 0) continue;
    found = &s->domains->joins.data[s->ends[e].join];
    *out_next = next;
    memcpy(best, name, sizeof(best));
  }
  return found;
}

// " - Add - %b - call of 'f' - %x"
static void print_chain(const search_t *s, uint32_t from, byoc_string_t *out) {
  const uint32_t length = s->distances[from];
  uint32_t item = from;
  for (uint32_t step = 0; step < length; ++step) {
    uint32_t next = item;
    const byoc_join_t *join = step_back(s, item, &next);
    const bool is_shown = step < SHOWN || step + SHOWN >= length;
    if (is_shown && join->node != NULL) {
      const byoc_node_t *node = join->node;
      byoc_string_appendf(out, node->callee != NULL ? " - call of '%s'" : " - %s",
                          node->callee != NULL ? node->callee->name : node->op);
    }
    char name[NAME_SIZE];
    name_item(&s->domains->items.data[next], name);
    if (is_shown) byoc_string_appendf(out, " - %s", name);
    if (!is_shown && step == SHOWN) byoc_string_appendf(out, " - (%u steps)", (unsigned)(length - 2 * SHOWN));
    item = next;
  }
}

static void print_said(const byoc_domains_t *domains, const said_name_t *said, byoc_string_t *out) {
  byoc_string_appendf(out, "%s of function '%s' is", said->name, function_of(&domains->items.data[said->said->item]));
  byoc_virtual_device_print(&said->said->device, out);
  if (said->said->why != NULL) byoc_string_appendf(out, " (%s)", said->said->why);
}

static byoc_status_t report(search_t *s, const said_name_t *one, const said_name_t *other) {
  byoc_domains_t *domains = s->domains;
  measure_from(s, other->said->item);
  byoc_string_t text;
  byoc_string_init(&text, domains->allocator);
  print_said(domains, one, &text);
  byoc_string_append(&text, ", ");
  print_said(domains, other, &text);
  byoc_string_append(&text, ", and both must be on one device: ");
  byoc_string_append(&text, one->name);
  print_chain(s, one->said->item, &text);
  byoc_status_t status = BYOC_OUT_OF_MEMORY;
  if (!text.failed) status = byoc_diag_error(domains->diag, BYOC_INVALID_DATA, "%s", text.data);
  if (!text.failed) byoc_diag_hint(domains->diag, "byoc::OnDevice allows a copy between two of them");
  byoc_string_deinit(&text);
  return status == BYOC_OUT_OF_MEMORY ? byoc_diag_out_of_memory(domains->diag) : status;
}

// The first device, in the order of names, that conflicts with an earlier one, and the first of those.
static byoc_status_t find_and_report(search_t *s, const said_name_t *names, size_t count) {
  byoc_domains_t *domains = s->domains;
  for (size_t i = 0; i < domains->items.count; ++i) domains->items.data[i].device = BYOC_VIRTUAL_DEVICE_FREE;
  for (size_t k = 0; k < count; ++k) {
    const uint32_t root = byoc_domains_root(domains, names[k].said->item);
    if (byoc_virtual_device_agrees(&domains->items.data[root].device, &names[k].said->device)) {
      byoc_virtual_device_merge(&domains->items.data[root].device, &names[k].said->device);
      continue;
    }
    for (size_t i = 0; i < k; ++i) {
      const bool is_joined = byoc_domains_root(domains, names[i].said->item) == root;
      if (!is_joined || byoc_virtual_device_agrees(&names[i].said->device, &names[k].said->device)) continue;
      return report(s, &names[i], &names[k]);
    }
  }
  return BYOC_OK;
}

byoc_status_t byoc_domains_conflict(byoc_domains_t *domains) {
  search_t search = {.domains = domains};
  const size_t count = domains->said.count;
  said_name_t *names = byoc_allocate(domains->allocator, count + 1, sizeof(*names));
  byoc_status_t status = BYOC_OUT_OF_MEMORY;
  if (names != NULL && prepare(&search)) {
    for (size_t i = 0; i < count; ++i) {
      const byoc_item_t *item = &domains->items.data[domains->said.data[i].item];
      char name[NAME_SIZE];
      name_item(item, name);
      names[i].said = &domains->said.data[i];
      memcpy(names[i].name, name, sizeof(name));
    }
    qsort(names, count, sizeof(*names), compare_names);
    status = find_and_report(&search, names, count);
  }
  byoc_free(domains->allocator, names);
  byoc_free(domains->allocator, search.ends);
  byoc_free(domains->allocator, search.distances);
  byoc_free(domains->allocator, search.queue);
  return status == BYOC_OUT_OF_MEMORY ? byoc_diag_out_of_memory(domains->diag) : status;
}
