// SPDX-License-Identifier: Apache-2.0
// Operators on strings that do more than move data. They are packed functions (byoc/call.h). Elements are `const char
// *` to NUL-terminated UTF-8, and NULL counts as "". New strings are allocated by the runtime's `allocate`. An
// operator's attributes come as operands after its own. Nothing here depends on the process's locale.
#ifndef BYOC_CORE_RUNTIME_TEXT_H_
#define BYOC_CORE_RUNTIME_TEXT_H_

#include "byoc/call.h"

// X(name)                              operands → results
#define BYOC_TEXT_LIST(X)                                                                                              \
  X(equal)     /* a, b → bool, elements in pairs */                                                                  \
  X(concat)    /* a, b → a + b, elements in pairs */                                                                 \
  X(search)    /* x, texts in ascending order → i64: the place of the first equal text, or -1 */                     \
  X(ranks)     /* x → i64: how many different texts of x are less */                                                 \
  X(normalize) /* x, stop words, i64[2] {case sensitive, 0 as is / 1 lower / 2 upper} → texts kept, i64[1] count */  \
  X(split_count) /* x, delimiter, i64[1] most splits or -1 → i64 parts of each */                                    \
  X(split)       /* x, anything of the result's shape, delimiter, most splits → parts of each, then "" */            \
  X(token_count) /* x, POSIX extended patterns, i64[3] {BYOC_TEXT_TOKENS_*, least characters, marks} → i64 tokens */ \
  X(tokens)      /* x, anything of the result's shape, patterns, settings, padding → tokens of each, then padding */ \
  X(match)       /* x, POSIX extended pattern → bool */                                                              \
  X(from_f32)    /* x → the shortest text that reads back as x; so the others */                                     \
  X(from_f64)                                                                                                          \
  X(from_i64)                                                                                                          \
  X(from_u64)                                                                                                          \
  X(from_bool) /* True, False */                                                                                       \
  X(print_f64) /* six digits behind the point */                                                                       \
  X(to_f64)    /* numbers, INF, NAN in any case; else an error */                                                      \
  X(to_i64)

// The meaning of the patterns: they match tokens, or separators, or there is none and each character is a token.
enum { BYOC_TEXT_TOKENS_MATCH, BYOC_TEXT_TOKENS_SEPARATE, BYOC_TEXT_TOKENS_CHARACTERS };

#define BYOC_TEXT_DECLARE(name) BYOC_PACKED int32_t byoc_text_##name(const byoc_call_t *call);
BYOC_TEXT_LIST(BYOC_TEXT_DECLARE)
#undef BYOC_TEXT_DECLARE

// The function with that symbol ("byoc_text_equal"); NULL if there is none.
byoc_packed_function_t byoc_text_find(const char *symbol);

#endif // BYOC_CORE_RUNTIME_TEXT_H_
