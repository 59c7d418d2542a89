// SPDX-License-Identifier: Apache-2.0
// The options of callers of libbyoc: their structs, read as far as both sides know them, and checked before any work.
// Internal to core/library.
#ifndef BYOC_CORE_LIBRARY_CHECK_OPTIONS_H_
#define BYOC_CORE_LIBRARY_CHECK_OPTIONS_H_

#include "byoc/compiler.h"
#include "core/base/diag.h"

// Of a model's name, with the NUL.
#define BYOC_LIBRARY_NAME_BYTES 128

// Of any list of a caller: more are a number that was not set.
#define BYOC_LIBRARY_MOST_ITEMS 16384

// Copies the fields of the caller's struct that both sides know; the rest of ours is zero.
byoc_status_t byoc_library_read_struct(const void *given, size_t size_bytes, const char *name, void *out,
                                       byoc_diag_t *diag);
// The same of a list of strings, none of which is NULL.
byoc_status_t byoc_library_check_strings(const char *const *texts, uint64_t count, const char *name, byoc_diag_t *diag);
byoc_status_t byoc_library_check_build(const byoc_compiler_build_t *build, byoc_diag_t *diag);
// One of the entries; of a build without any, the model, without a name.
byoc_compiler_entry_t byoc_library_model(const byoc_compiler_build_t *build, size_t index);

#endif // BYOC_CORE_LIBRARY_CHECK_OPTIONS_H_
