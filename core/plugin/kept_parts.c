// SPDX-License-Identifier: Apache-2.0
// Writes and reads numbers, texts, contents and places of nodes.
#include "core/plugin/kept_parts.h"

#include <string.h>

#include "core/base/hash.h"

enum { LARGE_BYTES = 1 << 16 }; // contents of this size are entries of their own

// ---- writing ----

void kept_write_number(kept_writer_t *w, uint64_t number) {
  byoc_string_append_bytes(&w->text, &number, sizeof(number));
  w->size_bytes += sizeof(number);
}

static void write_bytes(kept_writer_t *w, const void *data, size_t size_bytes) {
  kept_write_number(w, size_bytes);
  if (size_bytes > 0) byoc_string_append_bytes(&w->text, data, size_bytes);
  w->size_bytes += size_bytes;
}

void kept_write_text(kept_writer_t *w, const char *text) {
  if (text == NULL) kept_write_number(w, UINT64_MAX);
  if (text != NULL) write_bytes(w, text, strlen(text));
}

static void content_key(const void *data, size_t size_bytes, char out_key[64]) {
  char digits[33];
  byoc_content_hash_format(byoc_content_hash(data, size_bytes), digits);
  snprintf(out_key, 64, "content/%s", digits);
}

// An entry that is there and whole is not written again.
static bool store(kept_writer_t *w, const char *key, const void *data, size_t size_bytes) {
  byoc_arena_t scratch;
  byoc_arena_init(&scratch, byoc_allocator_system());
  const void *known = NULL;
  size_t known_bytes = 0;
  byoc_diag_t diag = {0};
  bool is_there = byoc_plugin_cache_get(&w->kept->cache, key, &scratch, &diag, &known, &known_bytes) == BYOC_OK;
  if (!is_there) is_there = byoc_plugin_cache_put(&w->kept->cache, key, data, size_bytes, &diag) == BYOC_OK;
  byoc_arena_deinit(&scratch);
  return is_there;
}

void kept_write_content(kept_writer_t *w, const void *data, uint64_t size_bytes) {
  const bool is_large = size_bytes >= LARGE_BYTES;
  kept_write_number(w, is_large);
  if (!is_large) {
    write_bytes(w, data, (size_t)size_bytes);
    return;
  }
  char key[64];
  content_key(data, (size_t)size_bytes, key);
  w->size_bytes += size_bytes;
  if (w->size_bytes > BYOC_KEPT_ENTRY_LIMIT_BYTES || !store(w, key, data, (size_t)size_bytes)) w->has_lost = true;
  kept_write_text(w, key);
}

// ---- reading ----

uint64_t kept_read_number(kept_reader_t *r) {
  uint64_t number = 0;
  if (r->failed || (size_t)(r->end - r->at) < sizeof(number)) {
    r->failed = true;
    return 0;
  }
  memcpy(&number, r->at, sizeof(number));
  r->at += sizeof(number);
  return number;
}

uint64_t kept_read_count(kept_reader_t *r) {
  const uint64_t count = kept_read_number(r);
  if (count <= (uint64_t)(r->end - r->at)) return count;
  r->failed = true;
  return 0;
}

const char *kept_read_text(kept_reader_t *r, byoc_arena_t *arena) {
  const uint64_t size = kept_read_number(r);
  if (r->failed || size == UINT64_MAX) return NULL;
  char *copy = size <= (uint64_t)(r->end - r->at) ? byoc_arena_allocate(arena, (size_t)size + 1, 1) : NULL;
  if (copy == NULL) {
    r->is_out_of_memory = size <= (uint64_t)(r->end - r->at);
    r->failed = true;
    return NULL;
  }
  memcpy(copy, r->at, (size_t)size);
  r->at += size;
  return copy;
}

static byoc_status_t read_large(kept_reader_t *r, byoc_diag_t *diag, const void **out_data, uint64_t *out_size_bytes) {
  size_t size = 0;
  const char *key = kept_read_text(r, &r->session->arena);
  if (key == NULL) return BYOC_OK;
  const byoc_status_t status = byoc_plugin_cache_get(&r->kept->cache, key, &r->session->arena, diag, out_data, &size);
  *out_size_bytes = size;
  if (status != BYOC_NOT_FOUND) return status;
  r->failed = true;
  return BYOC_OK;
}

byoc_status_t kept_read_content(kept_reader_t *r, byoc_diag_t *diag, const void **out_data, uint64_t *out_size_bytes) {
  *out_data = "";
  *out_size_bytes = 0;
  if (kept_read_number(r) != 0) return read_large(r, diag, out_data, out_size_bytes);
  const uint64_t size = kept_read_count(r);
  if (r->failed) return BYOC_OK;
  *out_data = r->at;
  *out_size_bytes = size;
  r->at += size;
  return BYOC_OK;
}

// ---- nodes ----

static bool list_node(void *self, byoc_node_t *node) {
  kept_nodes_t *nodes = self;
  if (!byoc_vector_push(&nodes->list, byoc_arena_allocator(nodes->arena), node)) return false;
  return node->callee == NULL || byoc_block_walk(node->callee->body, list_node, nodes);
}

byoc_status_t kept_nodes_list(byoc_codegen_t *session, byoc_diag_t *diag, kept_nodes_t *out_nodes) {
  *out_nodes = (kept_nodes_t){.arena = &session->arena};
  const bool ok = byoc_block_walk(session->functions[0]->body, list_node, out_nodes);
  return ok ? BYOC_OK : byoc_diag_out_of_memory(diag);
}

uint64_t kept_nodes_find(const kept_nodes_t *nodes, const byoc_node_t *node) {
  for (size_t i = 0; i < nodes->list.count; ++i) {
    if (nodes->list.data[i] == node) return i;
  }
  return UINT64_MAX;
}
