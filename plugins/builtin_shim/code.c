// SPDX-License-Identifier: Apache-2.0
// Announces the library of a table for other machines.
#include "code.h"

#include <string.h>

static byoc_file_content_t file_at(const char *path) {
  return (byoc_file_content_t){.header = BYOC_HEADER(byoc_file_content_t, 1), .path = path};
}

uint32_t byoc_shim_code_make(const byoc_shim_table_t *table, byoc_shim_code_t *out) {
  memset(out, 0, sizeof(*out));
  // Sources beside files are one part of the library only.
  const uint32_t source_count = table->file_count == 0 ? table->source_count : 0;
  if (source_count + table->archive_count == 0) return 0;
  for (uint32_t i = 0; i < source_count; ++i) out->sources[i] = file_at(table->sources[i]);
  for (uint32_t i = 0; i < table->header_count; ++i) out->headers[i] = file_at(table->headers[i]);
  for (uint32_t i = 0; i < table->archive_count; ++i) {
    out->files[i] = file_at(table->archives[i]);
    out->archives[i] = (byoc_machine_code_t){.header = BYOC_HEADER(byoc_machine_code_t, 1),
                                             .machines = table->archive_machines[i],
                                             .files = &out->files[i],
                                             .file_count = 1,
                                             .file_stride = sizeof(out->files[0])};
  }
  out->code = (byoc_runtime_code_t){.header = BYOC_HEADER(byoc_runtime_code_t, 1),
                                    .name = table->library_name,
                                    .archives = out->archives,
                                    .archive_count = table->archive_count,
                                    .archive_stride = sizeof(out->archives[0]),
                                    .sources = out->sources,
                                    .source_count = source_count,
                                    .source_stride = sizeof(out->sources[0]),
                                    .headers = out->headers,
                                    .header_count = table->header_count,
                                    .header_stride = sizeof(out->headers[0]),
                                    .flags = {table->flags, table->flag_count}};
  return 1;
}
