// SPDX-License-Identifier: Apache-2.0
// Runtime code for other machines that a backend announces (byoc_runtime_code_t): which of it is for a triple. The
// arrays of a target kind's backend have been read and checked (core/plugin/runtime_code.h), so their strides are the
// sizes of our structs.
#ifndef BYOC_CORE_TARGETS_RUNTIME_CODE_H_
#define BYOC_CORE_TARGETS_RUNTIME_CODE_H_

#include <stdbool.h>

#include "byoc/plugin.h"
#include "core/base/string.h"

// The code of the engine, driver or static library of that name; NULL if the backend announces none.
const byoc_runtime_code_t *byoc_runtime_code_find(const byoc_backend_t *backend, const char *name);
// The first archives for the triple whose files are there. NULL if there are none; *out_lost is then a file that should
// be there, or NULL if none is announced for the triple.
const byoc_machine_code_t *byoc_runtime_code_archives(const byoc_runtime_code_t *code, const char *triple,
                                                      const char **out_lost);
// Are all files of the archives where the backend said?
bool byoc_machine_code_is_there(const byoc_machine_code_t *archives);
// Does the code have sources, or archives that are there? Only these can become part of an artifact that is C source.
bool byoc_runtime_code_is_for_source(const byoc_runtime_code_t *code);
// Can the backend's target be built for that machine? It says so itself, or each code that it announces is there for
// the triple. If it announces some and one is not there, *out_missing is the first of these; otherwise it is NULL.
bool byoc_runtime_code_serves(const byoc_backend_t *backend, const char *triple,
                              const byoc_runtime_code_t **out_missing);
// Appends why there is no code for the triple: the file that is missing, or the triples for which there are archives,
// and what the plugin can do.
void byoc_runtime_code_explain(const byoc_runtime_code_t *code, const char *triple, byoc_string_t *out);

#endif // BYOC_CORE_TARGETS_RUNTIME_CODE_H_
