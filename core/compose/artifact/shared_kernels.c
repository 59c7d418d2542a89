// SPDX-License-Identifier: Apache-2.0
// Finds kernels that several entries of an artifact have: the same C but for the name.
#include "core/compose/artifact/composing.h"
#include "core/kernel/emit_c.h"

// One kernel of those that are the same.
typedef struct found_t {
  byoc_loop_kernel_t kernel; // a copy, whose name may change
  size_t entry;              // that had it first
  bool is_shared;
} found_t;

typedef struct finding_t {
  byoc_composing_t *composing;
  BYOC_VECTOR(found_t *) found;
  byoc_map_t by_text; // → found_t
} finding_t;

// The identity of a kernel: its C, and the ISA level that it is compiled for.
static byoc_status_t describe(const finding_t *finding, const byoc_loop_kernel_t *kernel, size_t level,
                              byoc_string_t *out) {
  byoc_loop_kernel_t nameless = *kernel;
  const byoc_loop_kernel_t *one = &nameless;
  nameless.name = "kernel";
  byoc_string_clear(out);
  byoc_status_t status = byoc_kernel_emit_c(&one, 1, out);
  byoc_string_appendf(out, "// level %zu\n", level);
  if (status == BYOC_OUT_OF_MEMORY || out->failed) return byoc_diag_out_of_memory(finding->composing->diag);
  if (status == BYOC_OK) return BYOC_OK;
  return byoc_diag_error(finding->composing->diag, status, "the kernel '%s' cannot be emitted as C", kernel->name);
}

static byoc_status_t add(finding_t *finding, const byoc_loop_kernel_t *kernel, size_t entry, byoc_string_t *text) {
  byoc_composing_t *composing = finding->composing;
  BYOC_RETURN_IF_ERROR(describe(finding, kernel, composing->entries[entry].options.place.level, text));
  found_t *same = byoc_string_map_get(&finding->by_text, text->data);
  if (same != NULL) {
    same->is_shared = same->is_shared || same->entry != entry;
    return BYOC_OK;
  }
  found_t *found = BYOC_ARENA_NEW(&composing->arena, found_t);
  if (found == NULL || !byoc_string_map_put(&finding->by_text, text->data, found) ||
      !byoc_vector_push(&finding->found, composing->allocator, found)) {
    return byoc_diag_out_of_memory(composing->diag);
  }
  *found = (found_t){.kernel = *kernel, .entry = entry};
  return BYOC_OK;
}

// Gives them names: kernels of two entries may have one name.
static byoc_status_t list_shared(finding_t *finding) {
  byoc_composing_t *composing = finding->composing;
  size_t count = 0;
  for (size_t i = 0; i < finding->found.count; i++) {
    found_t *found = finding->found.data[i];
    if (!found->is_shared) continue;
    byoc_composing_shared_t *shared = &composing->shared_levels[composing->entries[found->entry].options.place.level];
    found->kernel.name = byoc_arena_format(&composing->arena, "shared_%zu__%s", count++, found->kernel.name);
    if (found->kernel.name == NULL || !byoc_vector_push(&shared->kernels, composing->allocator, &found->kernel)) {
      return byoc_diag_out_of_memory(composing->diag);
    }
  }
  return BYOC_OK;
}

static byoc_status_t assign(const finding_t *finding, byoc_composing_entry_t *entry, byoc_string_t *text) {
  byoc_composing_t *composing = finding->composing;
  for (size_t i = 0; i < entry->program->kernels.count; i++) {
    const byoc_loop_kernel_t *kernel = entry->program->kernels.data[i];
    const found_t *found = NULL;
    if (composing->entry_count > 1) {
      BYOC_RETURN_IF_ERROR(describe(finding, kernel, entry->options.place.level, text));
      found = byoc_string_map_get(&finding->by_text, text->data);
    }
    const bool is_shared = found != NULL && found->is_shared;
    const bool ok = is_shared ? byoc_string_map_put(&entry->shared, kernel->name, (void *)(uintptr_t)found->kernel.name)
                              : byoc_vector_push(&entry->kernels, composing->allocator, kernel);
    if (!ok) return byoc_diag_out_of_memory(composing->diag);
  }
  entry->kernel_unit_count = byoc_kernel_unit_count(entry->kernels.count);
  return BYOC_OK;
}

static byoc_status_t list_levels(byoc_composing_t *composing) {
  const byoc_compose_place_t *last = &composing->entries[composing->entry_count - 1].options.place;
  composing->shared_levels = BYOC_ARENA_ARRAY(&composing->arena, byoc_composing_shared_t, last->level + 1);
  if (composing->shared_levels == NULL) return byoc_diag_out_of_memory(composing->diag);
  composing->shared_level_count = last->level + 1;
  for (size_t k = 0; k < composing->entry_count; k++) {
    const byoc_composing_entry_t *entry = &composing->entries[k];
    composing->shared_levels[entry->options.place.level].native = &entry->native;
  }
  return BYOC_OK;
}

byoc_status_t byoc_composing_share_kernels(byoc_composing_t *composing) {
  BYOC_RETURN_IF_ERROR(list_levels(composing));
  finding_t finding = {.composing = composing};
  byoc_string_t text;
  byoc_string_init(&text, composing->allocator);
  byoc_string_map_init(&finding.by_text, composing->allocator);
  byoc_status_t status = BYOC_OK;
  for (size_t k = 0; k < composing->entry_count && composing->entry_count > 1; k++) {
    const byoc_host_program_t *program = composing->entries[k].program;
    for (size_t i = 0; i < program->kernels.count && status == BYOC_OK; i++) {
      status = add(&finding, program->kernels.data[i], k, &text);
    }
  }
  if (status == BYOC_OK) status = list_shared(&finding);
  for (size_t k = 0; k < composing->entry_count && status == BYOC_OK; k++) {
    status = assign(&finding, &composing->entries[k], &text);
  }
  for (size_t i = 0; i < composing->shared_level_count; i++) {
    composing->shared_unit_count += byoc_kernel_unit_count(composing->shared_levels[i].kernels.count);
  }
  byoc_map_deinit(&finding.by_text);
  byoc_vector_deinit(&finding.found, composing->allocator);
  byoc_string_deinit(&text);
  return status;
}
