// SPDX-License-Identifier: Apache-2.0
// Lays out the read-only data of an artifact: each content once, aligned, in a fixed order.
#include "core/compose/c/data_layout.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/runtime/weights.h"

// Code reaches data by offsets of 31 bits. This much of the 2 GB is left for code, tables and libraries' own data:
#define LIMIT_BYTES ((uint64_t)1920 << 20)

// Large pieces start on a page of the file, so that an engine can map a library that travels here instead of copying
// it (plugins/json_runtime/engine/library/image.h).
#define PAGE_BYTES       4096
#define PAGE_ALIGN_BYTES ((size_t)64 << 10)

// The bytes of a model's constants that are read before their pages leave memory.
#define TOUCHED_BYTES ((uint64_t)64 << 20)

// Two pieces of different sizes may start at one place (a tensor and a part of it).
typedef struct piece_key_t {
  char text[64];
} piece_key_t;

static piece_key_t piece_key(const void *data, size_t size_bytes) {
  piece_key_t key;
  snprintf(key.text, sizeof(key.text), "%" PRIxPTR "-%zu", (uintptr_t)data, size_bytes);
  return key;
}

void byoc_data_layout_touched(byoc_data_layout_t *layout, uint64_t size_bytes) {
  layout->touched_bytes += size_bytes;
  if (layout->touched_bytes >= TOUCHED_BYTES) byoc_data_layout_forget(layout);
}

void byoc_data_layout_forget(byoc_data_layout_t *layout) {
  for (size_t i = 0; i < layout->program_count; i++) {
    if (layout->programs[i]->module != NULL) byoc_graph_module_forget_pages(layout->programs[i]->module);
  }
  layout->touched_bytes = 0;
}

// Makes an entry for a piece of data; *out_new is NULL if one of its kind has the same bytes.
static byoc_status_t enter(byoc_data_layout_t *layout, const void *data, size_t size_bytes, bool is_weight,
                           byoc_diag_t *diag, byoc_data_entry_t **out_new) {
  *out_new = NULL;
  if (byoc_data_layout_find(layout, data, size_bytes) != NULL) return BYOC_OK;
  byoc_data_entry_t entry = {.data = data, .size_bytes = size_bytes, .hash = byoc_content_hash(data, size_bytes)};
  char digits[33], key[64];
  byoc_content_hash_format(entry.hash, digits);
  snprintf(key, sizeof(key), "%s-%zu%s", digits, size_bytes, is_weight ? "-weight" : "");
  byoc_data_entry_t *same = byoc_string_map_get(&layout->by_content, key);
  if (same != NULL && (size_bytes == 0 || memcmp(same->data, data, size_bytes) == 0)) {
    return byoc_string_map_put(&layout->by_piece, piece_key(data, size_bytes).text, same)
               ? BYOC_OK
               : byoc_diag_out_of_memory(diag);
  }
  byoc_data_entry_t *copy = byoc_arena_copy(&layout->arena, &entry, sizeof(entry));
  if (copy == NULL || !byoc_string_map_put(&layout->by_piece, piece_key(data, size_bytes).text, copy) ||
      (same == NULL && !byoc_string_map_put(&layout->by_content, key, copy))) {
    return byoc_diag_out_of_memory(diag);
  }
  *out_new = copy;
  return BYOC_OK;
}

static byoc_status_t add_inside(byoc_data_layout_t *layout, byoc_data_entry_t *entry, byoc_diag_t *diag) {
  const size_t size_bytes = entry->size_bytes;
  const uint64_t mask = (size_bytes >= PAGE_ALIGN_BYTES ? PAGE_BYTES : BYOC_BUFFER_ALIGNMENT) - 1;
  entry->offset_bytes = (layout->size_bytes + mask) & ~mask;
  if (size_bytes > LIMIT_BYTES || entry->offset_bytes + size_bytes > LIMIT_BYTES) {
    byoc_status_t status = byoc_diag_error(
        diag, BYOC_UNSUPPORTED, "the model's constants take more than the %.1f GB that one artifact can hold",
        (double)LIMIT_BYTES / (double)(1u << 30));
    byoc_diag_hint(diag, "put them behind the code of a shared object, or into a file: --weights appended or external");
    return status;
  }
  layout->size_bytes = entry->offset_bytes + size_bytes;
  return byoc_vector_push(&layout->entries, layout->allocator, entry) ? BYOC_OK : byoc_diag_out_of_memory(diag);
}

// Adds the pieces that always go into the section.
static byoc_status_t add(byoc_data_layout_t *layout, const void *data, size_t size_bytes, byoc_diag_t *diag) {
  byoc_data_entry_t *entry = NULL;
  BYOC_RETURN_IF_ERROR(enter(layout, data, size_bytes, false, diag, &entry));
  return entry != NULL ? add_inside(layout, entry, diag) : BYOC_OK;
}

static byoc_status_t add_constant(byoc_data_layout_t *layout, const void *data, size_t size_bytes, const char *name,
                                  byoc_diag_t *diag) {
  const bool is_weight = layout->is_external && size_bytes > 0;
  byoc_data_entry_t *entry = NULL;
  BYOC_RETURN_IF_ERROR(enter(layout, data, size_bytes, is_weight, diag, &entry));
  if (entry == NULL) return BYOC_OK;
  entry->name = name;
  if (!is_weight) {
    byoc_data_layout_touched(layout, size_bytes);
    return add_inside(layout, entry, diag);
  }
  entry->weight_hash = byoc_weights_hash(data, size_bytes);
  entry->weight = layout->weights.count + 1;
  layout->constants_size_bytes += size_bytes;
  byoc_data_layout_touched(layout, size_bytes);
  return byoc_vector_push(&layout->weights, layout->allocator, entry) ? BYOC_OK : byoc_diag_out_of_memory(diag);
}

// Constants of strings are pointers: tables in the host program's C.
static bool is_laid_out(const byoc_host_buffer_t *buffer) {
  return buffer->kind == BYOC_HOST_BUFFER_CONSTANT && buffer->type->dtype != BYOC_DTYPE_STRING;
}

static byoc_status_t add_operands(byoc_data_layout_t *layout, const byoc_host_instruction_t *instruction,
                                  byoc_diag_t *diag) {
  for (size_t i = 0; i < instruction->operands.count; i++) {
    if (instruction->operands.data[i] == NULL) continue;
    const byoc_host_buffer_t *buffer = byoc_host_buffer_root(instruction->operands.data[i]);
    if (!is_laid_out(buffer)) continue;
    BYOC_RETURN_IF_ERROR(add_constant(layout, buffer->data, (size_t)buffer->size_bytes, buffer->name, diag));
  }
  return BYOC_OK;
}

static byoc_status_t add_engine_constants(byoc_data_layout_t *layout, const byoc_host_engine_t *engine,
                                          byoc_diag_t *diag) {
  for (size_t i = 0; i < engine->functions.count; i++) {
    const byoc_runtime_module_t *function = engine->functions.data[i];
    for (size_t c = 0; c < function->constants.count; c++) {
      const byoc_bound_constant_t *constant = &function->constants.data[c];
      BYOC_RETURN_IF_ERROR(add_constant(layout, constant->data, constant->size_bytes, NULL, diag));
    }
  }
  return BYOC_OK;
}

static byoc_status_t add_engine_texts(byoc_data_layout_t *layout, const byoc_host_engine_t *engine, byoc_diag_t *diag) {
  for (size_t i = 0; i < engine->functions.count; i++) {
    const char *json = engine->functions.data[i]->json;
    BYOC_RETURN_IF_ERROR(add(layout, json, strlen(json) + 1, diag));
  }
  for (size_t i = 0; i < engine->engine->blobs.count; i++) {
    const byoc_file_bytes_t *blob = &engine->engine->blobs.data[i];
    BYOC_RETURN_IF_ERROR(add(layout, blob->data, blob->size_bytes, diag));
  }
  return BYOC_OK;
}

// The code that a launch is in, each form with the NUL behind it.
static byoc_status_t add_code(byoc_data_layout_t *layout, const byoc_host_program_t *program,
                              const byoc_host_instruction_t *instruction, byoc_diag_t *diag) {
  if (instruction->op != BYOC_HOST_LAUNCH) return BYOC_OK;
  const byoc_runtime_module_t *module =
      byoc_graph_module_find_runtime_module(program->module, instruction->launch->module);
  for (size_t i = 0; module != NULL && i < module->variants.count; i++) {
    BYOC_RETURN_IF_ERROR(add(layout, module->variants.data[i].data, module->variants.data[i].size_bytes + 1, diag));
  }
  return BYOC_OK;
}

static byoc_status_t add_constants(byoc_data_layout_t *layout, const byoc_host_program_t *program, byoc_diag_t *diag) {
  for (const byoc_host_instruction_t *at = program->body.first; at != NULL; at = byoc_host_instruction_following(at)) {
    BYOC_RETURN_IF_ERROR(add_operands(layout, at, diag));
  }
  for (size_t i = 0; i < program->engines.count; i++) {
    BYOC_RETURN_IF_ERROR(add_engine_constants(layout, &program->engines.data[i], diag));
  }
  return BYOC_OK;
}

static byoc_status_t add_others(byoc_data_layout_t *layout, const byoc_host_program_t *program, byoc_diag_t *diag) {
  for (size_t i = 0; i < program->engines.count; i++) {
    BYOC_RETURN_IF_ERROR(add_engine_texts(layout, &program->engines.data[i], diag));
  }
  for (const byoc_host_instruction_t *at = program->body.first; at != NULL; at = byoc_host_instruction_following(at)) {
    BYOC_RETURN_IF_ERROR(add_code(layout, program, at, diag));
  }
  return BYOC_OK;
}

// The hashes of the weights are data, and not code: exchanging weights replaces them.
static byoc_status_t add_wanted(byoc_data_layout_t *layout, byoc_diag_t *diag) {
  const size_t count = layout->weights.count;
  if (count == 0) return BYOC_OK;
  byoc_model_weight_t *wanted = BYOC_ARENA_ARRAY(&layout->arena, byoc_model_weight_t, count);
  byoc_data_entry_t *entry = BYOC_ARENA_NEW(&layout->arena, byoc_data_entry_t);
  if (wanted == NULL || entry == NULL) return byoc_diag_out_of_memory(diag);
  for (size_t i = 0; i < count; i++) {
    const byoc_data_entry_t *weight = layout->weights.data[i];
    wanted[i] = (byoc_model_weight_t){.hash = weight->weight_hash, .size_bytes = weight->size_bytes};
  }
  *entry = (byoc_data_entry_t){.data = wanted, .size_bytes = count * sizeof(*wanted)};
  layout->wanted = entry;
  return add_inside(layout, entry, diag);
}

byoc_status_t byoc_data_layout_create(const byoc_host_program_t *const *programs, size_t count, bool is_external,
                                      byoc_allocator_t allocator, byoc_diag_t *diag, byoc_data_layout_t *out_layout) {
  byoc_data_layout_t *layout = out_layout;
  *layout = (byoc_data_layout_t){
      .allocator = allocator, .programs = programs, .program_count = count, .is_external = is_external};
  byoc_string_map_init(&layout->by_piece, allocator);
  byoc_string_map_init(&layout->by_content, allocator);
  byoc_arena_init(&layout->arena, allocator);
  byoc_status_t status = BYOC_OK;
  for (size_t i = 0; i < count && status == BYOC_OK; i++) status = add_constants(layout, programs[i], diag);
  layout->constants_size_bytes += layout->size_bytes;
  layout->constant_count = layout->entries.count;
  for (size_t i = 0; i < count && status == BYOC_OK; i++) status = add_others(layout, programs[i], diag);
  if (status == BYOC_OK) status = add_wanted(layout, diag);
  if (status != BYOC_OK) byoc_data_layout_deinit(layout);
  return status;
}

void byoc_data_layout_deinit(byoc_data_layout_t *layout) {
  byoc_vector_deinit(&layout->entries, layout->allocator);
  byoc_vector_deinit(&layout->weights, layout->allocator);
  byoc_map_deinit(&layout->by_piece);
  byoc_map_deinit(&layout->by_content);
  byoc_arena_deinit(&layout->arena);
}

static bool sum_up(byoc_map_t *seen, const void *data, uint64_t size_bytes, uint64_t *sum) {
  if (byoc_pointer_map_get(seen, data) != NULL) return true;
  *sum += size_bytes;
  return byoc_pointer_map_put(seen, data, seen);
}

static bool sum_up_program(byoc_map_t *seen, const byoc_host_program_t *program, uint64_t *sum) {
  bool ok = true;
  for (size_t i = 0; i < program->buffers.count; i++) {
    const byoc_host_buffer_t *buffer = program->buffers.data[i];
    if (is_laid_out(buffer)) ok = ok && sum_up(seen, buffer->data, buffer->size_bytes, sum);
  }
  for (size_t i = 0; i < program->engines.count; i++) {
    for (size_t f = 0; f < program->engines.data[i].functions.count; f++) {
      const byoc_runtime_module_t *function = program->engines.data[i].functions.data[f];
      for (size_t c = 0; c < function->constants.count; c++) {
        const byoc_bound_constant_t *constant = &function->constants.data[c];
        ok = ok && sum_up(seen, constant->data, constant->size_bytes, sum);
      }
    }
  }
  return ok;
}

byoc_status_t byoc_data_layout_exceeds(const byoc_host_program_t *const *programs, size_t count, uint64_t bytes,
                                       byoc_allocator_t allocator, byoc_diag_t *diag, bool *out_exceeds) {
  byoc_map_t seen;
  bool ok = true;
  uint64_t sum = 0;
  byoc_pointer_map_init(&seen, allocator);
  for (size_t i = 0; i < count; i++) ok = ok && sum_up_program(&seen, programs[i], &sum);
  byoc_map_deinit(&seen);
  *out_exceeds = sum >= bytes;
  if (!ok) return byoc_diag_out_of_memory(diag);
  if (!*out_exceeds || count < 2) return BYOC_OK;
  byoc_data_layout_t layout; // finds equal contents
  BYOC_RETURN_IF_ERROR(byoc_data_layout_create(programs, count, true, allocator, diag, &layout));
  *out_exceeds = layout.constants_size_bytes >= bytes;
  byoc_data_layout_deinit(&layout);
  return BYOC_OK;
}

const byoc_data_entry_t *byoc_data_layout_find(const byoc_data_layout_t *layout, const void *data, size_t size_bytes) {
  return byoc_string_map_get(&layout->by_piece, piece_key(data, size_bytes).text);
}

size_t byoc_data_layout_part_count(const byoc_data_layout_t *layout) {
  return layout->entries.count * 2;
}

void byoc_data_layout_list(const byoc_data_layout_t *layout, byoc_bytes_t *out_parts) {
  static const uint8_t zeros[PAGE_BYTES];
  uint64_t at = 0;
  for (size_t i = 0; i < layout->entries.count; i++) {
    const byoc_data_entry_t *entry = layout->entries.data[i];
    out_parts[2 * i] = (byoc_bytes_t){zeros, (size_t)(entry->offset_bytes - at)};
    out_parts[2 * i + 1] = (byoc_bytes_t){entry->data, entry->size_bytes};
    at = entry->offset_bytes + entry->size_bytes;
  }
}
