// Files of a link.
#include "core/compose/link_files.h"

#include <stdio.h>
#include <string.h>

#include "core/base/elf.h"
#include "core/base/hash.h"

extern const unsigned char byoc_embed_artifact_runtime[];
extern const unsigned long long byoc_embed_artifact_runtime_size;

void byoc_link_files_init(byoc_link_files_t *files, const char *folder, byoc_allocator_t allocator) {
  *files = (byoc_link_files_t){.folder = folder};
  byoc_arena_init(&files->arena, allocator);
  byoc_text_map_init(&files->contents, allocator);
}

void byoc_link_files_deinit(byoc_link_files_t *files) {
  byoc_map_deinit(&files->contents);
  byoc_vector_deinit(&files->paths, files->arena.allocator);
  byoc_vector_deinit(&files->needed, files->arena.allocator);
  byoc_arena_deinit(&files->arena);
}

byoc_status_t byoc_link_files_add_path(byoc_link_files_t *files, const char *name, byoc_diag_t *diag) {
  const char *path = byoc_arena_format(&files->arena, "%s/%s", files->folder, name);
  if (path == NULL || !byoc_vector_push(&files->paths, files->arena.allocator, path)) {
    return byoc_diag_out_of_memory(diag);
  }
  return BYOC_OK;
}

byoc_status_t byoc_link_files_add(byoc_link_files_t *files, const void *data, size_t size_bytes, byoc_diag_t *diag) {
  char digits[33], key[64];
  byoc_content_hash_format(byoc_content_hash(data, size_bytes), digits);
  snprintf(key, sizeof(key), "%s-%zu", digits, size_bytes);
  if (byoc_text_map_find(&files->contents, key) != NULL) return BYOC_OK;
  // Names by position: the order of the link is the order of the module, whatever the files were called.
  char name[32];
  snprintf(name, sizeof(name), "%04zu.%s", files->paths.count, byoc_is_ar(data, size_bytes) ? "a" : "o");
  BYOC_RETURN_IF_ERROR(byoc_link_files_add_path(files, name, diag));
  if (!byoc_text_map_put(&files->contents, key, files)) return byoc_diag_out_of_memory(diag);
  return byoc_file_write(files->paths.data[files->paths.count - 1], data, size_bytes, diag);
}

static byoc_status_t add_needed(byoc_link_files_t *files, const char *name, byoc_diag_t *diag) {
  for (size_t i = 0; i < files->needed.count; i++) {
    if (strcmp(files->needed.data[i], name) == 0) return BYOC_OK;
  }
  return byoc_vector_push(&files->needed, files->arena.allocator, name) ? BYOC_OK : byoc_diag_out_of_memory(diag);
}

byoc_status_t byoc_link_files_add_module(byoc_link_files_t *files, const byoc_runtime_module_t *module,
                                         byoc_diag_t *diag) {
  for (size_t i = 0; i < module->files.count; i++) {
    const byoc_file_bytes_t *file = &module->files.data[i];
    if (!byoc_is_ar(file->data, file->size_bytes) && !byoc_is_elf(file->data, file->size_bytes)) {
      return byoc_diag_error(diag, BYOC_INVALID_DATA,
                             "the file '%s' of runtime module '%s' is neither an ELF object nor an archive", file->name,
                             module->name);
    }
    BYOC_RETURN_IF_ERROR_IN(diag, byoc_link_files_add(files, file->data, file->size_bytes, diag),
                            "laying down '%s' of runtime module '%s'", file->name, module->name);
  }
  for (size_t i = 0; i < module->needed.count; i++)
    BYOC_RETURN_IF_ERROR(add_needed(files, module->needed.data[i], diag));
  return BYOC_OK;
}

byoc_status_t byoc_link_files_add_runtime(byoc_link_files_t *files, byoc_diag_t *diag) {
  return byoc_link_files_add(files, byoc_embed_artifact_runtime, (size_t)byoc_embed_artifact_runtime_size, diag);
}
