// SPDX-License-Identifier: Apache-2.0
// Emits loops that copy a run of elements as the C library's memcpy. memcpy loads several lines before it stores the
// first, so that loads do not wait for stores whose addresses look alike. Compilers alternate loads and stores; for
// rows of 256 bytes gathered from memory that takes twice the time.
#include <string.h>

#include "core/ir/loop_range.h"
#include "core/kernel/emit.h"

// For shorter runs loops are as fast.
enum { LEAST_BYTES = 128 };

// The store of `for i in begin..end { to[... + i] = from[... + i] }`; NULL for any other loop.
static const byoc_loop_stmt_t *copy_of(const byoc_emitter_t *emitter, const byoc_loop_stmt_t *loop, int64_t *out_begin,
                                       int64_t *out_count) {
  const byoc_loop_variable_t *variable = loop->loop.variable;
  int64_t end;
  if (loop->loop.kind != BYOC_LOOP_VECTOR || loop->loop.body->block.statements.count != 1 ||
      !byoc_loop_is_int(loop->loop.begin, out_begin) || !byoc_loop_is_int(loop->loop.end, &end)) {
    return NULL;
  }
  const byoc_loop_stmt_t *store = loop->loop.body->block.statements.data[0];
  if (store->kind != BYOC_LOOP_STORE || store->store.value->kind != BYOC_LOOP_LOAD) return NULL;
  const byoc_loop_buffer_t *to = store->store.buffer, *from = store->store.value->load.buffer;
  uint32_t bits = byoc_dtype_bits(to->dtype);
  *out_count = end - *out_begin;
  if (to == from || to->dtype != from->dtype || bits < 8 || *out_count * (int64_t)(bits / 8) < LEAST_BYTES) return NULL;
  const char *stored = byoc_c_storage_type(to->dtype); // local buffers may hold wider numbers
  if (strcmp(byoc_emit_element_type(emitter, to), stored) != 0) return NULL;
  if (strcmp(byoc_emit_element_type(emitter, from), stored) != 0) return NULL;
  bool is_run = byoc_loop_steps_by_one(store->store.index, variable) &&
                byoc_loop_steps_by_one(store->store.value->load.index, variable);
  return is_run ? store : NULL;
}

static void emit_place(byoc_emitter_t *emitter, const byoc_loop_buffer_t *buffer, const byoc_loop_expr_t *index) {
  byoc_string_appendf(emitter->out, "&%s[", buffer->name);
  byoc_emit_expr(emitter, index, BYOC_C_CONDITIONAL);
  byoc_string_append(emitter->out, "]");
}

bool byoc_emit_copy_loop(byoc_emitter_t *emitter, const byoc_loop_stmt_t *loop, int indent) {
  int64_t begin = 0, count = 0;
  const byoc_loop_stmt_t *store = copy_of(emitter, loop, &begin, &count);
  if (store == NULL) return false;
  byoc_string_t *out = emitter->out;
  byoc_string_indent(out, indent);
  byoc_string_append(out, "{\n");
  byoc_string_indent(out, indent + 2);
  byoc_string_appendf(out, "const int64_t %s = %lld; // and the %lld elements from there\n", loop->loop.variable->name,
                      (long long)begin, (long long)count);
  byoc_string_indent(out, indent + 2);
  emitter->uses_copy = true;
  byoc_string_append(out, "byoc_copy(");
  emit_place(emitter, store->store.buffer, store->store.index);
  byoc_string_append(out, ", ");
  emit_place(emitter, store->store.value->load.buffer, store->store.value->load.index);
  byoc_string_appendf(out, ", %lld);\n",
                      (long long)(count * (int64_t)(byoc_dtype_bits(store->store.buffer->dtype) / 8)));
  byoc_string_indent(out, indent);
  byoc_string_append(out, "}\n");
  return true;
}

void byoc_emit_copy_prelude(byoc_string_t *out) {
  byoc_string_append(out, "// The C library's copy and not the compiler's: the size is hidden from it.\n"
                          "static inline void byoc_copy(void *to, const void *from, size_t size_bytes) {\n"
                          "#if defined(__GNUC__)\n"
                          "  __asm__(\"\" : \"+r\"(size_bytes));\n"
                          "#endif\n"
                          "  memcpy(to, from, size_bytes);\n"
                          "}\n\n");
}
