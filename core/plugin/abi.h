// Reads what a plugin hands over: sized structs, arrays with strides, texts. As many bytes are read as both sides know,
// the rest is zero; a larger struct is never refused.
#ifndef BYOC_CORE_PLUGIN_ABI_H_
#define BYOC_CORE_PLUGIN_ABI_H_

#include "byoc/plugin.h"
#include "core/base/arena.h"
#include "core/base/diag.h"

// Copies the struct at `from` into `out`, which has `size_bytes` here. `what` names it in errors.
byoc_status_t byoc_abi_read(const void *from, const char *what, void *out, size_t size_bytes, byoc_diag_t *diag);
// Returns element `index` of an array whose elements start `stride` bytes apart.
byoc_status_t byoc_abi_read_at(const void *array, uint64_t stride, uint64_t index, const char *what, void *out,
                               size_t size_bytes, byoc_diag_t *diag);

// Is the text UTF-8 without control characters?
bool byoc_abi_text_is_printable(const char *text, size_t size);
// Is the text a name of a plugin or target: a letter, then letters, digits, '_' and '-'?
bool byoc_abi_is_name(const char *text, size_t size);
// Copies a printable text of one line and at most `limit` bytes. NULL is an error unless `optional`; then it becomes
// "".
byoc_status_t byoc_abi_copy_text(const char *text, const char *what, size_t limit, bool optional, byoc_arena_t *arena,
                                 byoc_diag_t *diag, const char **out_text);
// Copies a list of such texts, at most `count_limit`.
byoc_status_t byoc_abi_copy_texts(byoc_text_list_t list, const char *what, size_t limit, uint64_t count_limit,
                                  byoc_arena_t *arena, byoc_diag_t *diag, byoc_text_list_t *out_list);

#endif // BYOC_CORE_PLUGIN_ABI_H_
