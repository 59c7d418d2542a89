// SPDX-License-Identifier: Apache-2.0
// Files of runtime modules, and the shared libraries that they need outside of artifacts.
#include <ctype.h>
#include <string.h>

#include "core/plugin/abi.h"
#include "core/plugin/session.h"

enum { MOST_NAME_BYTES = 255, MOST_LIBRARIES = 1 << 20 };

// A cached answer is right as long as the files that were read have the same content.
static byoc_status_t note_path(byoc_codegen_t *session, const char *path, byoc_diag_t *diag) {
  if (session == NULL || path == NULL) return BYOC_OK;
  const char *copy = byoc_arena_copy_string(&session->arena, path);
  if (copy == NULL || !byoc_vector_push(&session->paths, byoc_arena_allocator(&session->arena), copy)) {
    return byoc_diag_out_of_memory(diag);
  }
  return BYOC_OK;
}

byoc_status_t byoc_session_add_files(byoc_codegen_t *session, byoc_runtime_module_t *module,
                                     const byoc_file_content_t *files, uint32_t count, uint32_t stride, bool are_blobs,
                                     byoc_diag_t *diag) {
  for (uint32_t i = 0; i < count; ++i) {
    byoc_file_content_t content;
    BYOC_RETURN_IF_ERROR(byoc_abi_read_at(files, stride, i, byoc_abi_of(byoc_file_content_t),
                                          are_blobs ? "a blob" : "a file", &content, diag));
    if (content.name != NULL) {
      BYOC_RETURN_IF_ERROR(byoc_abi_copy_string(content.name, are_blobs ? "a blob's name" : "a file's name",
                                                MOST_NAME_BYTES, false, &module->arena, diag, &content.name));
    }
    BYOC_RETURN_IF_ERROR(byoc_runtime_module_add_file(module, &content, are_blobs, diag));
    BYOC_RETURN_IF_ERROR(note_path(session, content.path, diag));
  }
  return BYOC_OK;
}

// Names of shared libraries reach the linker as they are.
byoc_status_t byoc_session_add_needed(byoc_runtime_module_t *module, byoc_text_list_t needed, byoc_diag_t *diag) {
  byoc_text_list_t copy;
  BYOC_RETURN_IF_ERROR(byoc_abi_copy_strings(needed, "the list of needed libraries", MOST_NAME_BYTES, MOST_LIBRARIES,
                                             &module->arena, diag, &copy));
  for (uint64_t i = 0; i < copy.count; ++i) {
    bool valid = isalnum((unsigned char)copy.items[i][0]) != 0;
    for (const char *c = copy.items[i]; *c != '\0' && valid; ++c) {
      valid = isalnum((unsigned char)*c) || strchr("._+-", *c) != NULL;
    }
    if (!valid) {
      return byoc_diag_error(diag, BYOC_INVALID_ARGUMENT, "'%s' is not the name of a shared library", copy.items[i]);
    }
    if (!byoc_vector_push(&module->needed, byoc_arena_allocator(&module->arena), copy.items[i])) {
      return byoc_diag_out_of_memory(diag);
    }
  }
  return BYOC_OK;
}
