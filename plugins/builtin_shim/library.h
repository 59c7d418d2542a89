// SPDX-License-Identifier: Apache-2.0
// library.h - the library behind a table: linked into artifacts, and opened in the evaluator's process.
#ifndef BYOC_SHIM_LIBRARY_H_
#define BYOC_SHIM_LIBRARY_H_

#include "table.h"

typedef struct byoc_shim_library_t {
  const byoc_host_t *host;
  byoc_shim_table_t table;
  char setup[128]; // setup function of the last run, with options filled in; "": none
  void *handle;    // once opened
} byoc_shim_library_t;

// Hands the library to the host, with the setup function that the current target's options ask for.
int32_t byoc_shim_library_add(byoc_shim_library_t *library, byoc_codegen_t *codegen);
// Closes the library, if the evaluator has opened it.
void byoc_shim_library_deinit(byoc_shim_library_t *library);

#endif // BYOC_SHIM_LIBRARY_H_
