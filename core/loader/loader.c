// SPDX-License-Identifier: Apache-2.0
// Loads artifacts. A damaged file must be refused before dlopen sees it: the dynamic linker trusts what it maps, and
// touching a page beyond the end of a truncated file ends the process.
#include "core/loader/loader.h"

#include <dlfcn.h>
#include <stddef.h>
#include <string.h>

#include "core/base/log.h"
#include "core/base/machine.h"
#include "core/base/string.h"
#include "core/loader/artifact_file.h"

static byoc_status_t check_file(const char *path, byoc_diag_t *diag) {
  byoc_artifact_file_t file;
  BYOC_RETURN_IF_ERROR(byoc_artifact_file_open(path, diag, &file));
  byoc_status_t status = BYOC_OK;
  if (file.elf.machine != byoc_elf_host_machine()) {
    char name[BYOC_MACHINE_NAME_BYTES];
    status = byoc_diag_error(diag, BYOC_UNSUPPORTED, "'%s' was made for %s, and this machine is %s", path,
                             byoc_machine_print_elf(file.elf.machine, name), byoc_machine_name(byoc_machine_host()));
    byoc_diag_hint(diag, "run it on such a machine, or build the model for this one, without --triple");
  }
  byoc_artifact_file_close(&file);
  return status;
}

static byoc_status_t check_table(const char *path, const byoc_artifact_t *table, byoc_diag_t *diag) {
  if (table == NULL) {
    return byoc_diag_error(diag, BYOC_VERSION, "'%s' does not know version %d of the artifact interface", path,
                           BYOC_ARTIFACT_ABI);
  }
  // The first form of the table ended with `profile`; an artifact of a later byoc has more fields, never fewer.
  if (table->abi_version > BYOC_ARTIFACT_ABI || table->abi_version == 0) {
    byoc_status_t status =
        byoc_diag_error(diag, BYOC_VERSION, "'%s' has version %u of the artifact interface; this byoc knows version %d",
                        path, (unsigned)table->abi_version, BYOC_ARTIFACT_ABI);
    byoc_diag_hint(diag, "use the byoc that built it, or build the model again");
    return status;
  }
  const size_t least = offsetof(byoc_artifact_t, input_kinds);
  if (table->struct_size < least) {
    return byoc_diag_error(diag, BYOC_VERSION, "'%s' has a table of %u bytes where version %u has %zu", path,
                           (unsigned)table->struct_size, (unsigned)table->abi_version, least);
  }
  if (table->check == NULL || table->create == NULL || table->run == NULL || table->destroy == NULL ||
      table->last_error == NULL || table->model_name == NULL || table->metadata == NULL) {
    return byoc_diag_error(diag, BYOC_INVALID_DATA, "'%s' has an incomplete table", path);
  }
  char message[512];
  int32_t status = table->check(message, sizeof(message));
  return status == BYOC_OK ? BYOC_OK : byoc_diag_error(diag, status, "'%s' cannot run here: %s", path, message);
}

// Adds a slash: dlopen would look for a name without one in the system's folders.
static void *open_library(const char *path) {
  if (strchr(path, '/') != NULL) return dlopen(path, RTLD_NOW | RTLD_LOCAL);
  char *local = byoc_path_join(byoc_allocator_system(), ".", path);
  void *library = local != NULL ? dlopen(local, RTLD_NOW | RTLD_LOCAL) : NULL;
  byoc_free(byoc_allocator_system(), local);
  return library;
}

byoc_status_t byoc_artifact_load(const char *path, byoc_diag_t *diag, byoc_loaded_artifact_t *out_artifact) {
  *out_artifact = (byoc_loaded_artifact_t){0};
  int64_t start_ns = byoc_now_ns();
  BYOC_RETURN_IF_ERROR_IN(diag, check_file(path, diag), "loading an artifact");
  int64_t checked_ns = byoc_now_ns();
  byoc_loaded_artifact_t artifact = {.library = open_library(path), .check_ns = checked_ns - start_ns};
  if (artifact.library == NULL) {
    const char *reason = dlerror();
    byoc_status_t status = byoc_diag_error(diag, BYOC_INVALID_DATA, "'%s' cannot be loaded: %s", path,
                                           reason != NULL ? reason : "no reason was given");
    byoc_diag_hint(diag, "if a library is missing, install it, or build with the library inside");
    return status;
  }
  byoc_artifact_entry_t entry = NULL;
  void *symbol = dlsym(artifact.library, BYOC_ARTIFACT_ENTRY);
  byoc_status_t status = BYOC_OK;
  if (symbol == NULL) {
    status = byoc_diag_error(diag, BYOC_INVALID_DATA, "'%s' lacks %s", path, BYOC_ARTIFACT_ENTRY);
  } else {
    memcpy(&entry, &symbol, sizeof(entry));
    artifact.table = entry(BYOC_ARTIFACT_ABI);
    status = check_table(path, artifact.table, diag);
  }
  if (status != BYOC_OK) {
    byoc_artifact_unload(&artifact);
    return byoc_diag_context(diag, status, "loading an artifact");
  }
  *out_artifact = artifact;
  return BYOC_OK;
}

byoc_status_t byoc_artifact_choose(byoc_loaded_artifact_t *artifact, const char *entry, byoc_diag_t *diag) {
  const byoc_artifact_t *first = artifact->table;
  const bool has_entries = first->struct_size >= offsetof(byoc_artifact_t, entry_count) + sizeof(first->entry_count) &&
                           first->entry_count > 0;
  if (entry == NULL) return BYOC_OK;
  if (!has_entries) {
    return byoc_diag_error(diag, BYOC_INVALID_ARGUMENT, "the artifact has one model, and no entry '%s'", entry);
  }
  byoc_string_t names;
  byoc_string_init(&names, byoc_allocator_system());
  for (uint32_t i = 0; i < first->entry_count; i++) {
    artifact->table = first->entries[i];
    if (strcmp(artifact->table->entry, entry) == 0) break;
    byoc_string_appendf(&names, "%s%s", i > 0 ? ", " : "", artifact->table->entry);
    artifact->table = first;
  }
  byoc_status_t status = BYOC_OK;
  if (first->entry == NULL || artifact->table->entry == NULL || strcmp(artifact->table->entry, entry) != 0) {
    status = byoc_diag_error(diag, BYOC_INVALID_ARGUMENT, "the artifact has no entry '%s'; it has %s", entry,
                             names.failed ? "others" : names.data);
  }
  byoc_string_deinit(&names);
  return status;
}

void byoc_artifact_unload(byoc_loaded_artifact_t *artifact) {
  if (artifact->library != NULL) (void)dlclose(artifact->library);
  *artifact = (byoc_loaded_artifact_t){0};
}
