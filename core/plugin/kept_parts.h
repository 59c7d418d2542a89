// SPDX-License-Identifier: Apache-2.0
// The parts of an entry with a cached answer: numbers, texts, contents, and nodes by their place. Large contents are
// entries of their own, which several answers share. Internal to core/plugin/kept_answer.c.
#ifndef BYOC_CORE_PLUGIN_KEPT_PARTS_H_
#define BYOC_CORE_PLUGIN_KEPT_PARTS_H_

#include "core/plugin/kept_answer.h"

typedef struct kept_writer_t {
  const byoc_kept_answers_t *kept;
  byoc_arena_t *arena; // scratch
  byoc_string_t text;
  uint64_t size_bytes; // with contents
  bool has_lost;       // a content could not be stored
} kept_writer_t;

void kept_write_number(kept_writer_t *w, uint64_t number);
void kept_write_text(kept_writer_t *w, const char *text); // may be NULL
void kept_write_content(kept_writer_t *w, const void *data, uint64_t size_bytes);

// After `failed`, numbers are 0 and texts NULL.
typedef struct kept_reader_t {
  const byoc_kept_answers_t *kept;
  byoc_codegen_t *session;
  const uint8_t *at, *end;
  bool failed; // the entry is no valid one
  bool is_out_of_memory;
} kept_reader_t;

uint64_t kept_read_number(kept_reader_t *r);
uint64_t kept_read_count(kept_reader_t *r); // not more than bytes are left
const char *kept_read_text(kept_reader_t *r, byoc_arena_t *arena);
// The data lives as long as the session.
byoc_status_t kept_read_content(kept_reader_t *r, byoc_diag_t *diag, const void **out_data, uint64_t *out_size_bytes);

// All nodes of the session's function and of those that it calls, in the order of a walk.
typedef struct kept_nodes_t {
  BYOC_VECTOR(byoc_node_t *) list;
  byoc_arena_t *arena;
} kept_nodes_t;
byoc_status_t kept_nodes_list(byoc_codegen_t *session, byoc_diag_t *diag, kept_nodes_t *out_nodes);
uint64_t kept_nodes_find(const kept_nodes_t *nodes, const byoc_node_t *node); // UINT64_MAX: it is not there

#endif // BYOC_CORE_PLUGIN_KEPT_PARTS_H_
