// SPDX-License-Identifier: Apache-2.0
// Splits strings into tokens: parts that match a pattern, parts between matches, or characters.
#define _GNU_SOURCE // newlocale
#include <regex.h>
#include <stdlib.h>

#include "core/runtime/text_call.h"

// A string that is split by one of the patterns, and the begin of its next part.
typedef struct part_t {
  const char *text;
  size_t size, from;
} part_t;

typedef struct tokens_t {
  const byoc_call_t *call;
  regex_t *patterns;
  part_t *parts;              // one per pattern, and one more
  int64_t count, kind, least; // of patterns; BYOC_TEXT_TOKENS_*; the fewest characters of a token
  const char **out;           // NULL: tokens are only counted
  int64_t room, used;
  bool failed; // out of memory
} tokens_t;

static size_t character_size(const char *text, size_t size) {
  size_t bytes = 1;
  while (bytes < size && ((uint8_t)text[bytes] & 0xc0) == 0x80) ++bytes;
  return bytes;
}

static void add(tokens_t *t, const char *text, size_t size) {
  int64_t characters = 0;
  for (size_t at = 0; at < size; at += character_size(text + at, size - at)) ++characters;
  if (characters < t->least || characters == 0 || t->failed) return;
  if (t->out != NULL && t->used < t->room) {
    t->out[t->used] = copy(t->call, text, size);
    t->failed = t->out[t->used] == NULL;
  }
  t->used += 1;
}

// The first, longest match in text[*begin, size); false if there is none.
static bool search(tokens_t *t, const regex_t *pattern, const char *text, size_t size, size_t *begin, size_t *end) {
#ifdef REG_STARTEND // the characters before *begin are visible to the pattern
  regmatch_t match = {.rm_so = (regoff_t)*begin, .rm_eo = (regoff_t)size};
  if (regexec(pattern, text, 1, &match, REG_STARTEND) != 0) return false;
  *end = (size_t)match.rm_eo, *begin = (size_t)match.rm_so;
  (void)t;
  return true;
#else
  regmatch_t match;
  char *rest = malloc(size - *begin + 1);
  t->failed |= rest == NULL;
  if (rest == NULL) return false;
  memcpy(rest, text + *begin, size - *begin);
  rest[size - *begin] = '\0';
  const bool is_found = regexec(pattern, rest, 1, &match, *begin > 0 ? REG_NOTBOL : 0) == 0;
  free(rest);
  if (is_found) *end = *begin + (size_t)match.rm_eo, *begin += (size_t)match.rm_so;
  return is_found;
#endif
}

static void add_matches(tokens_t *t, const char *text, size_t size) {
  size_t begin = 0, end = 0;
  while (begin < size && search(t, &t->patterns[0], text, size, &begin, &end)) {
    add(t, text + begin, end - begin);
    if (end == begin && begin < size) end += character_size(text + begin, size - begin);
    begin = end > begin ? end : size;
  }
}

// Takes the next part of `whole`, up to the next match; false if there is none. An empty match separates nothing.
static bool next_part(tokens_t *t, const regex_t *pattern, part_t *whole, part_t *out) {
  size_t begin = whole->from, end = whole->size;
  if (begin >= whole->size) return false;
  if (!search(t, pattern, whole->text, whole->size, &begin, &end)) {
    begin = end = whole->size;
  } else if (end == begin) {
    return false;
  }
  *out = (part_t){.text = whole->text + whole->from, .size = begin - whole->from};
  whole->from = end;
  return true;
}

// Splits by one pattern after the other.
static void add_separated(tokens_t *t, const char *text, size_t size) {
  part_t *parts = t->parts;
  int64_t depth = 0;
  parts[0] = (part_t){.text = text, .size = size};
  while (depth >= 0) {
    if (depth == t->count) {
      add(t, parts[depth].text, parts[depth].size);
      --depth;
    } else if (next_part(t, &t->patterns[depth], &parts[depth], &parts[depth + 1])) {
      ++depth;
    } else {
      --depth;
    }
  }
}

static void add_tokens(tokens_t *t, const char *text) {
  const size_t size = strlen(text);
  if (t->kind == BYOC_TEXT_TOKENS_MATCH) add_matches(t, text, size);
  if (t->kind == BYOC_TEXT_TOKENS_SEPARATE) add_separated(t, text, size);
  for (size_t at = 0, bytes = 0; t->kind == BYOC_TEXT_TOKENS_CHARACTERS && at < size; at += bytes) {
    bytes = character_size(text + at, size - at);
    add(t, text + at, bytes);
  }
}

// ---- calls ----

static void close_patterns(tokens_t *t) {
  for (int64_t i = 0; i < t->count; ++i) regfree(&t->patterns[i]);
  free(t->patterns);
  free(t->parts);
}

// Compiles the patterns at `index`; the settings follow them.
static int32_t open_patterns(tokens_t *t, uint32_t index) {
  const DLTensor *texts = tensor(t->call, index);
  const int64_t *settings = tensor(t->call, index + 1)->data, count = count_of(texts);
  t->kind = settings[0], t->least = settings[1];
  t->patterns = calloc((size_t)count + 1, sizeof(*t->patterns));
  t->parts = calloc((size_t)count + 1, sizeof(*t->parts));
  if (t->patterns == NULL || t->parts == NULL) {
    close_patterns(t);
    return out_of_memory(t->call);
  }
  for (; t->count < count; ++t->count) {
    const int error = regcomp(&t->patterns[t->count], text_at(texts, t->count), REG_EXTENDED);
    if (error == 0) continue;
    char reason[160] = "pattern: ";
    regerror(error, &t->patterns[t->count], reason + strlen(reason), sizeof(reason) - strlen(reason));
    close_patterns(t);
    return fail(t->call, BYOC_INVALID_ARGUMENT, reason);
  }
  if (count > 0 || t->kind != BYOC_TEXT_TOKENS_MATCH) return BYOC_OK;
  close_patterns(t);
  return fail(t->call, BYOC_INVALID_ARGUMENT, "there is no pattern of tokens");
}

int32_t byoc_text_token_count(const byoc_call_t *call) {
  const DLTensor *x = tensor(call, 0);
  int64_t *out = result(call, 0)->data;
  tokens_t t = {.call = call};
  plain_locale_t plain;
  if (!enter_plain_locale(&plain)) return out_of_memory(call);
  const int32_t status = open_patterns(&t, 1);
  for (int64_t i = 0, count = count_of(x); i < count && status == BYOC_OK; ++i) {
    t.used = 0;
    add_tokens(&t, text_at(x, i));
    out[i] = t.used;
  }
  if (status == BYOC_OK) close_patterns(&t);
  leave_plain_locale(&plain);
  return status == BYOC_OK && t.failed ? out_of_memory(call) : status;
}

int32_t byoc_text_tokens(const byoc_call_t *call) {
  const DLTensor *x = tensor(call, 0), *y = result(call, 0);
  const bool has_marks = ((const int64_t *)tensor(call, 3)->data)[2] != 0;
  const char *padding = text_at(tensor(call, 4), 0), **out = y->data;
  const int64_t room = y->shape[y->ndim - 1];
  tokens_t t = {.call = call};
  plain_locale_t plain;
  if (!enter_plain_locale(&plain)) return out_of_memory(call);
  const int32_t status = open_patterns(&t, 2);
  for (int64_t i = 0, count = count_of(x); i < count && status == BYOC_OK && room > 0; ++i) {
    t.out = out + i * room, t.room = room, t.used = 0;
    if (has_marks) t.out[t.used++] = "\002";
    add_tokens(&t, text_at(x, i));
    if (has_marks && t.used < room) t.out[t.used++] = "\003";
    while (t.used < room) t.out[t.used++] = padding;
  }
  if (status == BYOC_OK) close_patterns(&t);
  leave_plain_locale(&plain);
  return status == BYOC_OK && t.failed ? out_of_memory(call) : status;
}
