// SPDX-License-Identifier: Apache-2.0
// Look-up in the operator table: a hash from (domain, name) to the rows of that operator, built on first use.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/hash.h"
#include "core/op/extension.h"

static const byoc_op_family_t *families;
static size_t family_count;

void byoc_op_table_set(const byoc_op_family_t *list, size_t count) {
  families = list;
  family_count = count;
}

// Open addressing; each slot starts a chain of the versions of one operator. The table is static, so that look-up never
// fails. If there are more rows than ROW_LIMIT, the first look-up ends the process: raise the limit then.
#define SLOT_COUNT 8192u
#define ROW_LIMIT  4096u
static pthread_once_t index_once = PTHREAD_ONCE_INIT;
static const byoc_op_t *index_rows[ROW_LIMIT];
static uint16_t index_next[ROW_LIMIT]; // row number + 1 of the operator's next version; 0 ends
static uint16_t index_slots[SLOT_COUNT];
static size_t index_count;

static uint32_t slot_of(const char *domain, const char *name) {
  return (uint32_t)byoc_hash_combine(byoc_hash_string(domain), byoc_hash_string(name)) % SLOT_COUNT;
}

static bool same_operator(const byoc_op_t *row, const char *domain, const char *name) {
  return strcmp(row->name, name) == 0 && strcmp(row->domain, domain) == 0;
}

static uint16_t *find_slot(const char *domain, const char *name) {
  uint32_t slot = slot_of(domain, name);
  while (index_slots[slot] != 0 && !same_operator(index_rows[index_slots[slot] - 1], domain, name)) {
    slot = (slot + 1) % SLOT_COUNT;
  }
  return &index_slots[slot];
}

static void build_index(void) {
  if (family_count == 0) {
    (void)fputs("byoc: the operator table is empty: link core/ops/families.c into the program\n", stderr);
    abort();
  }
  for (size_t f = 0; f < family_count; ++f) {
    for (size_t i = 0; i < *families[f].count; ++i) {
      if (index_count == ROW_LIMIT) {
        (void)fputs("byoc: the operator table has more rows than ROW_LIMIT of core/op/table.c\n", stderr);
        abort();
      }
      const byoc_op_t *row = &families[f].rows[i];
      uint16_t *slot = find_slot(row->domain, row->name);
      index_rows[index_count] = row;
      index_next[index_count] = *slot;
      *slot = (uint16_t)++index_count;
    }
  }
}

static uint16_t first_row(const char *domain, const char *name) {
  pthread_once(&index_once, build_index);
  return *find_slot(domain, name);
}

// byoc's own operators come first: no extension has an operator of the same name.
const byoc_op_t *byoc_op_find(const char *domain, const char *name, int32_t opset) {
  const byoc_op_t *best = NULL;
  uint16_t first = first_row(domain, name);
  for (uint16_t i = first; i != 0; i = index_next[i - 1]) {
    const byoc_op_t *row = index_rows[i - 1];
    if (row->since_version <= opset && (!best || row->since_version > best->since_version)) best = row;
  }
  return first != 0 ? best : byoc_op_find_extended(domain, name, opset);
}

const byoc_op_t *byoc_op_newest(const char *domain, const char *name) {
  return byoc_op_find(domain, name, INT32_MAX);
}

const byoc_op_t *byoc_op_find_oldest(const char *domain, const char *name) {
  // Before their oldest row these operators had another meaning: sizes as attributes, other defaults, strings for
  // types.
  static const char *const changed[] = {"BatchNormalization",
                                        "Cast",
                                        "Concat",
                                        "Dropout",
                                        "GRU",
                                        "GlobalLpPool",
                                        "LSTM",
                                        "LpPool",
                                        "Pad",
                                        "RNN",
                                        "Reshape",
                                        "Split",
                                        "Tile",
                                        "Upsample"};
  for (size_t i = 0; domain[0] == '\0' && i < sizeof(changed) / sizeof(changed[0]); ++i) {
    if (strcmp(name, changed[i]) == 0) return NULL;
  }
  const byoc_op_t *oldest = NULL;
  for (uint16_t i = first_row(domain, name); i != 0; i = index_next[i - 1]) {
    const byoc_op_t *row = index_rows[i - 1];
    if (oldest == NULL || row->since_version < oldest->since_version) oldest = row;
  }
  return oldest;
}

const byoc_op_t *byoc_op_of(const byoc_node_t *node) {
  return node->callee ? NULL : byoc_op_find(node->domain, node->op, node->since_version);
}

bool byoc_node_has_trait(const byoc_node_t *node, uint32_t trait) {
  const byoc_op_t *op = byoc_op_of(node);
  return op && (op->traits & trait) != 0;
}

bool byoc_op_known(const char *domain, const char *name) {
  return first_row(domain, name) != 0 || byoc_op_find_extended(domain, name, INT32_MAX) != NULL;
}

const char *byoc_op_nearest(const char *domain, const char *name) {
  const char *names[ROW_LIMIT];
  size_t count = 0;
  size_t rows = byoc_op_count();
  for (size_t i = 0; i < rows && count < ROW_LIMIT; ++i) {
    const byoc_op_t *row = byoc_op_at(i);
    if (!row || strcmp(row->domain, domain) != 0) continue;
    if (count > 0 && strcmp(names[count - 1], row->name) == 0) continue;
    names[count++] = row->name;
  }
  return byoc_nearest_match(name, names, count);
}

size_t byoc_op_count(void) {
  pthread_once(&index_once, build_index);
  return index_count + byoc_op_extended_count();
}

const byoc_op_t *byoc_op_at(size_t index) {
  pthread_once(&index_once, build_index);
  return index < index_count ? index_rows[index] : byoc_op_extended_at(index - index_count);
}

const char *byoc_op_trait_name(uint32_t bit) {
  switch (bit) {
#define BYOC_OP_TRAIT(NAME, number, text)                                                                              \
  case number:                                                                                                         \
    return text;
#include "core/op/traits.def"
#undef BYOC_OP_TRAIT
  default:
    return NULL;
  }
}

const char *byoc_op_work_name(byoc_op_work_t work) {
  static const char *const names[] = {
#define BYOC_OP_WORK_NAME(NAME, text) text,
      BYOC_OP_WORK_LIST(BYOC_OP_WORK_NAME)
#undef BYOC_OP_WORK_NAME
  };
  return names[work];
}
