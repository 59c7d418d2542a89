// SPDX-License-Identifier: Apache-2.0
// Reads data of plugins: sized structs, arrays with strides, strings. Bytes that both sides know are read, and the rest
// is zero; a larger struct is never refused. Fields that byoc/abi.def calls required must be set, and one of those that
// it calls alternatives.
#ifndef BYOC_CORE_PLUGIN_ABI_H_
#define BYOC_CORE_PLUGIN_ABI_H_

#include "byoc/plugin.h"
#include "core/base/arena.h"
#include "core/base/diag.h"
#include "core/plugin/manifest.h"

// Copies the struct at `from` into `out`, this host's version of the struct. `what` names it in errors.
byoc_status_t byoc_abi_read(const void *from, const byoc_abi_struct_t *shape, const char *what, void *out,
                            byoc_diag_t *diag);
// Returns element `index` of an array whose elements start `stride` bytes apart.
byoc_status_t byoc_abi_read_at(const void *array, uint64_t stride, uint64_t index, const byoc_abi_struct_t *shape,
                               const char *what, void *out, byoc_diag_t *diag);
// Checks a table that is not copied (of an engine or a driver) and starts with its size and its version, which must be
// `version`.
byoc_status_t byoc_abi_check_table(const void *table, const byoc_abi_struct_t *shape, uint32_t version,
                                   const char *what, byoc_diag_t *diag);

// Is the string UTF-8 without control characters?
bool byoc_abi_text_is_printable(const char *text, size_t size);
// Is the string a name of a plugin or target: a letter, then letters, digits, '_' and '-'?
bool byoc_abi_is_name(const char *text, size_t size);
// Copies a printable string of one line and at most `limit` bytes. NULL is an error unless `optional`; then it becomes
// "".
byoc_status_t byoc_abi_copy_string(const char *text, const char *what, size_t limit, bool optional, byoc_arena_t *arena,
                                   byoc_diag_t *diag, const char **out_text);
// Copies a list of such strings, at most `count_limit`.
byoc_status_t byoc_abi_copy_strings(byoc_text_list_t list, const char *what, size_t limit, uint64_t count_limit,
                                    byoc_arena_t *arena, byoc_diag_t *diag, byoc_text_list_t *out_list);

#endif // BYOC_CORE_PLUGIN_ABI_H_
