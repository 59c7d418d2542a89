// SPDX-License-Identifier: Apache-2.0
// Hashes the inputs and outputs of a program, on which it and its callers must agree, into one number.
#include "core/compose/c/signature.h"

#include "core/base/hash.h"

static void append_side(const char *side, byoc_host_buffer_t *const *buffers, size_t count, byoc_string_t *out) {
  for (size_t i = 0; i < count; i++) {
    byoc_string_appendf(out, "%s ", side);
    byoc_string_append_quoted(out, byoc_host_port_name(buffers[i]));
    byoc_string_append(out, " : ");
    byoc_type_print(buffers[i]->type, out);
    if (buffers[i]->over != NULL) {
      byoc_string_append(out, " over ");
      byoc_string_append_quoted(out, byoc_host_port_name(buffers[i]->over));
    }
    byoc_string_append(out, "\n");
  }
}

uint64_t byoc_compose_signature(const byoc_host_program_t *program, byoc_allocator_t allocator) {
  byoc_string_t text;
  byoc_string_init(&text, allocator);
  append_side("input", program->inputs.data, program->inputs.count, &text);
  append_side("output", program->outputs.data, program->outputs.count, &text);
  uint64_t hash = text.failed ? 0 : byoc_hash_string(text.data);
  byoc_string_deinit(&text);
  return hash;
}
