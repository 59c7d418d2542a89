// SPDX-License-Identifier: Apache-2.0
// code.h - a table's library for other machines, as the host wants it announced: its sources, and archives by triple.
#ifndef BYOC_SHIM_CODE_H_
#define BYOC_SHIM_CODE_H_

#include "table.h"

typedef struct byoc_shim_code_t {
  byoc_runtime_code_t code;
  byoc_machine_code_t archives[BYOC_SHIM_MAX_FILES];
  byoc_file_content_t files[BYOC_SHIM_MAX_FILES]; // of the archives
  byoc_file_content_t sources[BYOC_SHIM_MAX_FILES], headers[BYOC_SHIM_MAX_HEADERS];
} byoc_shim_code_t;

// Fills `out`, which points into the table and into itself. Returns how many codes there are to announce: 0, if the
// library is files and shared libraries of this machine only, or 1.
uint32_t byoc_shim_code_make(const byoc_shim_table_t *table, byoc_shim_code_t *out);

#endif // BYOC_SHIM_CODE_H_
