// SPDX-License-Identifier: Apache-2.0
// Joins the objects of several entries for one link. Files that an entry has alone become one object, whose names begin
// with the entry's. Files that several entries have (a library, an engine, the runtime) are linked once, under their
// own names.
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "byoc/artifact.h"
#include "core/base/elf.h"
#include "core/base/hash.h"
#include "core/compose/artifact/composing.h"

// A file, once for all entries that have it.
typedef struct content_t {
  const char *path; // where the first of them has it
  const char *shown;
  uint32_t entries;                        // a bit for each entry that has it
  bool is_shared;                          // it is linked once
  BYOC_VECTOR(uint32_t) defined, referred; // names
} content_t;

typedef struct name_t {
  uint32_t alone;  // a bit for each entry in which a file of its own defines it
  uint32_t sharer; // the first shared content that defines it, plus 1
} name_t;

typedef struct joining_t {
  byoc_composing_t *composing;
  byoc_joined_t *joined;
  byoc_map_t name_indices; // text → index + 1
  BYOC_VECTOR(name_t) names;
  byoc_map_t content_indices; // hash and size → index + 1
  BYOC_VECTOR(content_t) contents;
  content_t *reading;
} joining_t;

static byoc_status_t out_of_memory(const joining_t *joining) {
  return byoc_diag_out_of_memory(joining->composing->diag);
}

// ---- reading ----

static byoc_status_t read_symbol(void *self, const byoc_elf_symbol_t *symbol) {
  joining_t *joining = self;
  const byoc_allocator_t allocator = joining->composing->allocator;
  if (!symbol->global) return BYOC_OK;
  uintptr_t index = (uintptr_t)byoc_string_map_get(&joining->name_indices, symbol->name);
  if (index == 0) {
    index = joining->names.count + 1;
    if (!byoc_string_map_put(&joining->name_indices, symbol->name, (void *)index) ||
        !byoc_vector_push(&joining->names, allocator, ((name_t){0}))) {
      return out_of_memory(joining);
    }
  }
  const uint32_t name = (uint32_t)(index - 1);
  const bool ok = symbol->defined ? byoc_vector_push(&joining->reading->defined, allocator, name)
                                  : byoc_vector_push(&joining->reading->referred, allocator, name);
  return ok ? BYOC_OK : out_of_memory(joining);
}

static byoc_status_t read_object(void *self, const char *member, const uint8_t *data, size_t size_bytes) {
  const joining_t *joining = self;
  byoc_elf_t elf;
  if (!byoc_is_elf(data, size_bytes)) return BYOC_OK;
  BYOC_RETURN_IF_ERROR(byoc_elf_open(data, size_bytes, member, joining->composing->diag, &elf));
  return byoc_elf_visit_symbols(&elf, false, read_symbol, self, joining->composing->diag);
}

static byoc_status_t read_content(joining_t *joining, const byoc_file_view_t *view, const char *path, const char *shown,
                                  size_t entry) {
  byoc_composing_t *composing = joining->composing;
  char digits[33], key[64];
  byoc_content_hash_format(byoc_content_hash(view->data, view->size_bytes), digits);
  snprintf(key, sizeof(key), "%s-%zu", digits, view->size_bytes);
  const uintptr_t index = (uintptr_t)byoc_string_map_get(&joining->content_indices, key);
  if (index != 0) {
    joining->contents.data[index - 1].entries |= UINT32_C(1) << entry;
    joining->contents.data[index - 1].is_shared = true;
    return BYOC_OK;
  }
  const content_t content = {
      .path = byoc_arena_copy_string(&composing->arena, path), .shown = shown, .entries = UINT32_C(1) << entry};
  if (content.path == NULL ||
      !byoc_string_map_put(&joining->content_indices, key, (void *)(joining->contents.count + 1)) ||
      !byoc_vector_push(&joining->contents, composing->allocator, content)) {
    return out_of_memory(joining);
  }
  joining->reading = &joining->contents.data[joining->contents.count - 1];
  if (!byoc_is_ar(view->data, view->size_bytes)) return read_object(joining, path, view->data, view->size_bytes);
  return byoc_ar_visit(view->data, view->size_bytes, path, read_object, joining, composing->diag);
}

static byoc_status_t read_entry(joining_t *joining, const byoc_link_files_t *files, size_t entry) {
  for (size_t i = 0; i < files->paths.count; i++) {
    byoc_file_view_t view;
    BYOC_RETURN_IF_ERROR(byoc_file_view_open(files->paths.data[i], joining->composing->diag, &view));
    byoc_status_t status = read_content(joining, &view, files->paths.data[i], files->names.data[i], entry);
    byoc_file_view_close(&view);
    if (status != BYOC_OK) return status;
  }
  return BYOC_OK;
}

// ---- deciding ----

static void count_names(joining_t *joining) {
  for (size_t i = 0; i < joining->names.count; i++) joining->names.data[i] = (name_t){0};
  for (size_t c = 0; c < joining->contents.count; c++) {
    const content_t *content = &joining->contents.data[c];
    for (size_t i = 0; i < content->defined.count; i++) {
      name_t *name = &joining->names.data[content->defined.data[i]];
      if (!content->is_shared) name->alone |= content->entries;
      if (content->is_shared && name->sharer == 0) name->sharer = (uint32_t)c + 1;
    }
  }
}

// A file that refers to a symbol that an entry has alone belongs to that entry. A file cannot be shared either if a
// shared file of other entries defines one of its names.
static bool can_be_shared(const joining_t *joining, const content_t *content) {
  for (size_t i = 0; i < content->referred.count; i++) {
    if ((joining->names.data[content->referred.data[i]].alone & content->entries) != 0) return false;
  }
  for (size_t i = 0; i < content->defined.count; i++) {
    const uint32_t sharer = joining->names.data[content->defined.data[i]].sharer;
    if (sharer == 0) continue;
    const content_t *first = &joining->contents.data[sharer - 1];
    if (first != content && (first->entries & content->entries) == 0) return false;
  }
  return true;
}

static void decide(joining_t *joining) {
  for (bool is_changed = true; is_changed;) {
    is_changed = false;
    count_names(joining);
    for (size_t c = 0; c < joining->contents.count && !is_changed; c++) {
      content_t *content = &joining->contents.data[c];
      if (!content->is_shared || can_be_shared(joining, content)) continue;
      content->is_shared = false;
      is_changed = true;
    }
  }
}

// ---- writing ----

typedef struct renaming_t {
  const byoc_composing_entry_t *entry;
  char part[BYOC_COMPOSE_PART_BYTES]; // the prefix of its names
  byoc_string_t name;                 // the last one that was made
} renaming_t;

static const char *rename_symbol(void *self, const char *name, bool defined) {
  renaming_t *renaming = self;
  const byoc_compose_place_t *place = &renaming->entry->options.place;
  if (!defined) return byoc_string_map_get(&renaming->entry->shared, name); // NULL: it keeps its name
  char table[48];
  snprintf(table, sizeof(table), BYOC_HOST_C_TABLE, byoc_compose_position(place));
  if (strcmp(name, BYOC_ARTIFACT_ENTRY) == 0 || strcmp(name, table) == 0) return name;
  byoc_string_clear(&renaming->name);
  byoc_string_appendf(&renaming->name, "%s__%s", renaming->part, name);
  return renaming->name.failed ? name : renaming->name.data;
}

static byoc_status_t rename_object(const joining_t *joining, const byoc_composing_entry_t *entry, const char *path) {
  byoc_diag_t *diag = joining->composing->diag;
  renaming_t renaming = {.entry = entry};
  byoc_compose_part_name(&entry->options.place, renaming.part);
  byoc_file_view_t view;
  byoc_string_t renamed;
  byoc_elf_t elf;
  BYOC_RETURN_IF_ERROR(byoc_file_view_open(path, diag, &view));
  byoc_string_init(&renaming.name, joining->composing->allocator);
  byoc_string_init(&renamed, joining->composing->allocator);
  byoc_status_t status = byoc_elf_open(view.data, view.size_bytes, "the object of an entry", diag, &elf);
  if (status == BYOC_OK) status = byoc_elf_rename(&elf, rename_symbol, &renaming, &renamed, diag);
  if (status == BYOC_OK && (renaming.name.failed || renamed.failed)) status = byoc_diag_out_of_memory(diag);
  byoc_file_view_close(&view);
  if (status == BYOC_OK) status = byoc_file_write(path, renamed.data, renamed.size, diag);
  byoc_string_deinit(&renamed);
  byoc_string_deinit(&renaming.name);
  return status;
}

static byoc_status_t add_path(joining_t *joining, const char *path, const char *shown) {
  const byoc_allocator_t allocator = joining->composing->allocator;
  return path != NULL && byoc_vector_push(&joining->joined->paths, allocator, path) &&
                 byoc_vector_push(&joining->joined->names, allocator, shown)
             ? BYOC_OK
             : out_of_memory(joining);
}

// One object of all files that the entry has alone.
static byoc_status_t write_entry(joining_t *joining, size_t index) {
  byoc_composing_t *composing = joining->composing;
  const byoc_composing_entry_t *entry = &composing->entries[index];
  const char **paths = BYOC_ARENA_ARRAY(&composing->arena, const char *, joining->contents.count);
  const char **shown = BYOC_ARENA_ARRAY(&composing->arena, const char *, joining->contents.count);
  const char *output = byoc_arena_format(&composing->arena, "%s/entry_%zu.o", composing->folder, index);
  const char *table = byoc_arena_format(&composing->arena, BYOC_HOST_C_TABLE, index);
  if (paths == NULL || shown == NULL || output == NULL || table == NULL) return out_of_memory(joining);
  const char *const exports[] = {table, BYOC_ARTIFACT_ENTRY};
  size_t count = 0;
  for (size_t c = 0; c < joining->contents.count; c++) {
    const content_t *content = &joining->contents.data[c];
    if (content->is_shared || (content->entries & UINT32_C(1) << index) == 0) continue;
    paths[count] = content->path;
    shown[count++] = content->shown;
  }
  const byoc_link_job_t job = {.output = output,
                               .compiler = composing->native->compiler,
                               .files = paths,
                               .file_count = count,
                               .names = shown,
                               .exports = exports,
                               .export_count = index == 0 ? 2 : 1};
  BYOC_RETURN_IF_ERROR(byoc_link_relocatable(&job, composing->diag));
  BYOC_RETURN_IF_ERROR(rename_object(joining, entry, output));
  return add_path(joining, output, NULL);
}

static byoc_status_t write_all(joining_t *joining) {
  for (size_t k = 0; k < joining->composing->entry_count; k++) BYOC_RETURN_IF_ERROR(write_entry(joining, k));
  for (size_t c = 0; c < joining->contents.count; c++) {
    const content_t *content = &joining->contents.data[c];
    if (content->is_shared) BYOC_RETURN_IF_ERROR(add_path(joining, content->path, content->shown));
  }
  return BYOC_OK;
}

byoc_status_t byoc_composing_join(byoc_composing_t *composing, const byoc_link_files_t *files,
                                  byoc_joined_t *out_joined) {
  joining_t joining = {.composing = composing, .joined = out_joined};
  out_joined->allocator = composing->allocator;
  byoc_string_map_init(&joining.name_indices, composing->allocator);
  byoc_string_map_init(&joining.content_indices, composing->allocator);
  byoc_status_t status = BYOC_OK;
  for (size_t k = 0; k < composing->entry_count && status == BYOC_OK; k++) status = read_entry(&joining, &files[k], k);
  if (status == BYOC_OK) {
    decide(&joining);
    status = write_all(&joining);
  }
  for (size_t c = 0; c < joining.contents.count; c++) {
    byoc_vector_deinit(&joining.contents.data[c].defined, composing->allocator);
    byoc_vector_deinit(&joining.contents.data[c].referred, composing->allocator);
  }
  byoc_vector_deinit(&joining.contents, composing->allocator);
  byoc_vector_deinit(&joining.names, composing->allocator);
  byoc_map_deinit(&joining.content_indices);
  byoc_map_deinit(&joining.name_indices);
  return status;
}

void byoc_joined_deinit(byoc_joined_t *joined) {
  if (joined->allocator.resize == NULL) return; // nothing was joined
  byoc_vector_deinit(&joined->paths, joined->allocator);
  byoc_vector_deinit(&joined->names, joined->allocator);
}
