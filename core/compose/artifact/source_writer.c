// SPDX-License-Identifier: Apache-2.0
// Writes the files of an artifact that is C source, and lists them.
#include "core/compose/artifact/source_writer.h"

#include <stdio.h>
#include <string.h>

byoc_status_t byoc_source_write_parts(byoc_source_writer_t *w, const char *path, const byoc_bytes_t *parts,
                                      size_t count) {
  char *whole = byoc_path_join(w->allocator, w->folder, path), *directory = NULL;
  if (whole != NULL) directory = byoc_path_directory(w->allocator, whole);
  byoc_status_t status = directory == NULL || w->text.failed ? byoc_diag_out_of_memory(w->diag) : BYOC_OK;
  if (status == BYOC_OK) status = byoc_make_directories(directory, w->diag);
  if (status == BYOC_OK) status = byoc_file_write_parts(whole, parts, count, w->diag);
  byoc_free(w->allocator, directory);
  byoc_free(w->allocator, whole);
  byoc_string_clear(&w->text);
  byoc_string_appendf(&w->files, "%s\n", path);
  return status;
}

byoc_status_t byoc_source_write_text(byoc_source_writer_t *w, const char *path) {
  const byoc_bytes_t bytes = {.data = w->text.data, .size_bytes = w->text.size};
  return byoc_source_write_parts(w, path, &bytes, 1);
}

// The names of the files of backends may be long, and several entries may have the same.
byoc_status_t byoc_source_take_name(byoc_source_writer_t *w, const char *name,
                                    char out_name[BYOC_SOURCE_JOB_NAME_BYTES]) {
  snprintf(out_name, BYOC_SOURCE_JOB_NAME_BYTES, "%.*s", BYOC_SOURCE_JOB_NAME_BYTES - 12, name);
  const size_t length = strlen(out_name);
  for (int number = 2; byoc_string_map_find(&w->taken, out_name) != NULL; number++) {
    snprintf(out_name + length, BYOC_SOURCE_JOB_NAME_BYTES - length, "_%d", number);
  }
  return byoc_string_map_put(&w->taken, out_name, w) ? BYOC_OK : byoc_diag_out_of_memory(w->diag);
}
