// SPDX-License-Identifier: Apache-2.0
// Exchanges the data of an artifact: its code stays, byte for byte, if the programs would have the same code.
#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "byoc/artifact.h"
#include "byoc/verify.h"
#include "core/base/elf.h"
#include "core/base/json.h"
#include "core/compose/artifact/composing.h"
#include "core/compose/artifact/data_object.h"
#include "core/compose/artifact/metadata.h"
#include "core/compose/artifact/seal.h"
#include "core/loader/artifact_file.h"

// Bytes of the artifact that become others, as many.
typedef struct patch_t {
  const uint8_t *at;
  size_t size_bytes;
  const byoc_bytes_t *parts;
  size_t part_count;
} patch_t;
enum { PATCH_BUILD_ID, PATCH_DATA, PATCH_METADATA, PATCH_COUNT };

typedef struct replacing_t {
  byoc_composing_t *composing;
  byoc_diag_t *diag;
  const char *path;
  byoc_artifact_file_t file;
  BYOC_VECTOR(byoc_bytes_t) data;  // the new one
  BYOC_VECTOR(byoc_bytes_t) whole; // the new file
  patch_t patches[PATCH_COUNT];
} replacing_t;

static const char *text_of(const json_t *object, const char *key) {
  const char *text = json_string_value(json_object_get(object, key));
  return text != NULL ? text : "";
}

static byoc_status_t read_metadata(const char *text, byoc_diag_t *diag, json_t **out_root) {
  json_error_t error;
  *out_root = byoc_json_load(text, strlen(text), 0, &error);
  if (*out_root != NULL) return BYOC_OK;
  if (byoc_json_out_of_memory(&error)) return byoc_diag_out_of_memory(diag);
  return byoc_diag_error(diag, BYOC_INVALID_DATA, "the artifact's metadata cannot be read: %s", error.text);
}

byoc_status_t byoc_composing_adopt_compiler(byoc_composing_t *composing) {
  byoc_artifact_file_t file;
  json_t *root = NULL;
  BYOC_RETURN_IF_ERROR(byoc_artifact_file_open(composing->options->replaces, composing->diag, &file));
  byoc_status_t status = read_metadata(file.metadata, composing->diag, &root);
  const char *version = json_string_value(json_object_get(root, "compiler"));
  if (status == BYOC_OK && version != NULL) {
    composing->compiler_version = byoc_arena_copy_string(&composing->arena, version);
    if (composing->compiler_version == NULL) status = byoc_diag_out_of_memory(composing->diag);
  }
  json_decref(root);
  byoc_artifact_file_close(&file);
  return status;
}

// ---- refusing ----

static byoc_constant_t *find_initializer(const byoc_compose_options_t *options, const char *name) {
  for (size_t i = 0; i < options->initializer_count; i++) {
    if (strcmp(options->initializers[i]->name, name) == 0) return options->initializers[i];
  }
  return NULL;
}

static bool is_read_otherwise(const json_t *before, byoc_constant_t *now) {
  const json_t *hash = json_object_get(before, "read");
  json_t *other = hash != NULL ? byoc_compose_read_json(now) : NULL;
  const bool differs = hash != NULL && !json_equal(hash, other);
  json_decref(other);
  return differs;
}

// Lists the initialisers of an entry whose values are in the code and are others now.
static byoc_status_t list_read(const replacing_t *replacing, const json_t *root, const byoc_compose_options_t *options,
                               byoc_string_t *names, size_t *count) {
  enum { SHOWN = 8 };
  size_t index;
  const json_t *before;
  json_array_foreach(json_object_get(root, "initializers"), index, before) {
    const char *name = text_of(before, "name");
    byoc_constant_t *now = find_initializer(options, name);
    if (now == NULL) {
      return byoc_diag_error(replacing->diag, BYOC_INVALID_DATA,
                             "'%s' was made of a model with an initialiser '%s', which this one lacks", replacing->path,
                             name);
    }
    if (!is_read_otherwise(before, now)) continue;
    if (*count < SHOWN) byoc_string_appendf(names, "%s'%s'", *count > 0 ? ", " : "", name);
    *count += 1;
  }
  if (*count > SHOWN) byoc_string_appendf(names, " and %zu more", *count - SHOWN);
  return names->failed ? byoc_diag_out_of_memory(replacing->diag) : BYOC_OK;
}

static byoc_status_t refuse(const replacing_t *replacing, const json_t *root, const byoc_string_t *names) {
  const byoc_data_layout_t *layout = &replacing->composing->layout;
  const size_t constants = json_array_size(json_object_get(root, "constants"));
  byoc_diag_t *diag = replacing->diag;
  if (names->size > 0) {
    byoc_status_t status = byoc_diag_error(diag, BYOC_UNSUPPORTED,
                                           "the code of '%s' depends on values that are others now: they were folded "
                                           "into it from %s",
                                           replacing->path, names->data);
    byoc_diag_hint(diag, "build the model again (byoc build), or keep these values");
    return status;
  }
  if (constants != layout->constant_count + layout->weights.count) {
    byoc_status_t status = byoc_diag_error(diag, BYOC_UNSUPPORTED,
                                           "'%s' has %zu constants and would have %zu: equal ones are stored once, "
                                           "and other ones are equal now",
                                           replacing->path, constants, layout->constant_count + layout->weights.count);
    byoc_diag_hint(diag, "build the model again (byoc build)");
    return status;
  }
  byoc_status_t status = byoc_diag_error(diag, BYOC_UNSUPPORTED,
                                         "'%s' has other code than this model would have: the model, a target or an "
                                         "option is another one",
                                         replacing->path);
  byoc_diag_hint(diag, "give the options that it was built with, a plan by its file: -- --plan FILE.json");
  return status;
}

// Says why the codes differ.
static byoc_status_t explain(const replacing_t *replacing, const json_t *first) {
  byoc_string_t names;
  size_t count = 0;
  const char *text = replacing->file.metadata;
  byoc_status_t status = BYOC_OK;
  byoc_string_init(&names, replacing->composing->allocator);
  for (size_t k = 0; k < replacing->composing->entry_count && status == BYOC_OK; k++) {
    json_t *root = NULL;
    if (text >= replacing->file.metadata_end) break;                     // it has fewer entries
    if (replacing->composing->entries[k].options.place.level > 0) break; // the other levels fold the same
    status = read_metadata(text, replacing->diag, &root);
    if (status == BYOC_OK) {
      status = list_read(replacing, root, &replacing->composing->entries[k].options, &names, &count);
    }
    json_decref(root);
    text += strlen(text) + 1;
  }
  if (status == BYOC_OK) status = refuse(replacing, first, &names);
  byoc_string_deinit(&names);
  return status;
}

static void append_features(const json_t *features, byoc_string_t *out) {
  size_t index;
  const json_t *feature;
  if (json_array_size(features) == 0) byoc_string_append(out, "nothing special");
  json_array_foreach(features, index, feature) {
    const char *name = json_string_value(feature);
    if (index > 0) byoc_string_append(out, " ");
    byoc_string_append(out, name != NULL ? name : "");
  }
}

static byoc_status_t refuse_processor(const replacing_t *replacing, const json_t *before, const json_t *now) {
  byoc_string_t text;
  byoc_string_init(&text, replacing->composing->allocator);
  append_features(before, &text);
  byoc_string_append(&text, ", and the model would be built for ones with ");
  append_features(now, &text);
  byoc_status_t status =
      text.failed ? byoc_diag_out_of_memory(replacing->diag)
                  : byoc_diag_error(replacing->diag, BYOC_UNSUPPORTED, "the code of '%s' is for processors with %s",
                                    replacing->path, text.data);
  byoc_diag_hint(replacing->diag, "-mcpu=native is the processor of the machine that builds: exchange the weights on "
                                  "such a machine, or build the model again (byoc build)");
  byoc_string_deinit(&text);
  return status;
}

static byoc_status_t compare_codes(const replacing_t *replacing, const json_t *before, const json_t *now) {
  byoc_diag_t *diag = replacing->diag;
  if (strcmp(text_of(before, "byoc"), BYOC_VERSION_TEXT) != 0 || json_object_get(before, "code") == NULL) {
    byoc_status_t status =
        byoc_diag_error(diag, BYOC_VERSION, "'%s' was built by another byoc, %s, and weights are exchanged by the same",
                        replacing->path, text_of(before, "byoc"));
    byoc_diag_hint(diag, "build the model again (byoc build)");
    return status;
  }
  const json_t *processor = json_object_get(before, "cpu_features"), *other = json_object_get(now, "cpu_features");
  if (!json_equal(processor, other)) return refuse_processor(replacing, processor, other);
  const byoc_string_t *metadata = &replacing->composing->metadata;
  const bool same_size = metadata->size == replacing->patches[PATCH_METADATA].size_bytes &&
                         replacing->composing->layout.size_bytes + 1 == replacing->patches[PATCH_DATA].size_bytes;
  const bool same_code = strcmp(text_of(before, "code"), text_of(now, "code")) == 0;
  return same_code && same_size ? BYOC_OK : explain(replacing, before);
}

static byoc_status_t check_code(const replacing_t *replacing) {
  json_t *before = NULL, *now = NULL;
  byoc_status_t status = read_metadata(replacing->file.metadata, replacing->diag, &before);
  if (status == BYOC_OK) status = read_metadata(replacing->composing->metadata.data, replacing->diag, &now);
  if (status == BYOC_OK) status = compare_codes(replacing, before, now);
  json_decref(before);
  json_decref(now);
  return status;
}

// ---- writing ----

static byoc_status_t find_section(replacing_t *replacing, const char *name, patch_t *patch) {
  byoc_status_t status =
      byoc_elf_find_section(&replacing->file.elf, name, replacing->diag, &patch->at, &patch->size_bytes);
  if (status != BYOC_NOT_FOUND) return status;
  return byoc_diag_error(replacing->diag, BYOC_VERSION, "'%s' has no section %s: it was built by another byoc",
                         replacing->path, name);
}

// Sealing makes a new build ID.
static byoc_status_t find_build_id(replacing_t *replacing, patch_t *patch) {
  static const uint8_t zeros[BYOC_BUILD_ID_BYTES];
  static const byoc_bytes_t none = {zeros, sizeof(zeros)};
  *patch = (patch_t){.parts = &none, .part_count = 1};
  byoc_status_t status = byoc_elf_find_note(&replacing->file.elf, ELF_NOTE_GNU, NT_GNU_BUILD_ID, replacing->diag,
                                            &patch->at, &patch->size_bytes);
  if (status == BYOC_OK && patch->size_bytes == sizeof(zeros)) return BYOC_OK;
  *patch = (patch_t){.at = replacing->file.view.data};
  return status == BYOC_OK || status == BYOC_NOT_FOUND ? BYOC_OK : status;
}

static byoc_status_t find_patches(replacing_t *replacing) {
  patch_t *patches = replacing->patches;
  BYOC_RETURN_IF_ERROR(find_build_id(replacing, &patches[PATCH_BUILD_ID]));
  BYOC_RETURN_IF_ERROR(find_section(replacing, BYOC_DATA_SECTION, &patches[PATCH_DATA]));
  return find_section(replacing, BYOC_ARTIFACT_METADATA_SECTION, &patches[PATCH_METADATA]);
}

static int compare(const void *left, const void *right) {
  const patch_t *a = left, *b = right;
  return a->at < b->at ? -1 : a->at > b->at;
}

// Where the code ends: appended weights, or the seal, follow.
static const uint8_t *find_end(const replacing_t *replacing) {
  const byoc_file_view_t *view = &replacing->file.view;
  const byoc_seal_source_t source = {.bytes = view->data, .size_bytes = view->size_bytes};
  const uint64_t end = byoc_seal_elf_end(&source), sealed = view->size_bytes - sizeof(byoc_seal_t);
  const bool is_appended = replacing->composing->options->weights == BYOC_COMPOSE_WEIGHTS_APPENDED;
  return view->data + (is_appended && end < sealed ? end : sealed);
}

static bool add_part(replacing_t *replacing, const void *data, size_t size_bytes) {
  return byoc_vector_push(&replacing->whole, replacing->composing->allocator, ((byoc_bytes_t){data, size_bytes}));
}

static byoc_status_t write(replacing_t *replacing, const char *output) {
  const byoc_data_layout_t *layout = &replacing->composing->layout;
  const byoc_allocator_t allocator = replacing->composing->allocator;
  const byoc_bytes_t metadata = {replacing->composing->metadata.data, replacing->composing->metadata.size};
  const size_t count = byoc_data_layout_part_count(layout);
  if (!byoc_vector_reserve(&replacing->data, allocator, count + 1)) return byoc_diag_out_of_memory(replacing->diag);
  byoc_data_layout_list(layout, replacing->data.data);
  replacing->data.data[count] = (byoc_bytes_t){"", 1};
  replacing->patches[PATCH_DATA].parts = replacing->data.data;
  replacing->patches[PATCH_DATA].part_count = count + 1;
  replacing->patches[PATCH_METADATA].parts = &metadata;
  replacing->patches[PATCH_METADATA].part_count = 1;
  qsort(replacing->patches, PATCH_COUNT, sizeof(replacing->patches[0]), compare);
  const uint8_t *at = replacing->file.view.data, *end = find_end(replacing);
  bool ok = true;
  for (size_t p = 0; p < PATCH_COUNT && ok; p++) {
    const patch_t *patch = &replacing->patches[p];
    if (patch->at < at || (size_t)(end - at) < (size_t)(patch->at - at) + patch->size_bytes) {
      return byoc_diag_error(replacing->diag, BYOC_INVALID_DATA, "the sections of '%s' overlap", replacing->path);
    }
    ok = add_part(replacing, at, (size_t)(patch->at - at));
    for (size_t i = 0; i < patch->part_count && ok; i++) {
      ok = add_part(replacing, patch->parts[i].data, patch->parts[i].size_bytes);
    }
    at = patch->at + patch->size_bytes;
  }
  ok = ok && add_part(replacing, at, (size_t)(end - at));
  if (!ok) return byoc_diag_out_of_memory(replacing->diag);
  return byoc_file_write_parts(output, replacing->whole.data, replacing->whole.count, replacing->diag);
}

byoc_status_t byoc_composing_replace(byoc_composing_t *composing, const char *output) {
  replacing_t replacing = {.composing = composing, .diag = composing->diag, .path = composing->options->replaces};
  BYOC_RETURN_IF_ERROR(byoc_artifact_file_open(replacing.path, composing->diag, &replacing.file));
  byoc_status_t status = find_patches(&replacing);
  if (status == BYOC_OK) status = check_code(&replacing);
  if (status == BYOC_OK) status = write(&replacing, output);
  if (status == BYOC_OK) status = byoc_composing_seal(composing, output);
  byoc_vector_deinit(&replacing.data, composing->allocator);
  byoc_vector_deinit(&replacing.whole, composing->allocator);
  byoc_artifact_file_close(&replacing.file);
  return status;
}
