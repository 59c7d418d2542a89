// SPDX-License-Identifier: Apache-2.0
// Chooses among the runtime code that a backend announces, by triple.
#include "core/targets/runtime_code.h"

#include <string.h>

#include "core/base/file.h"

const byoc_runtime_code_t *byoc_runtime_code_find(const byoc_backend_t *backend, const char *name) {
  for (uint32_t i = 0; backend != NULL && i < backend->runtime_code_count; ++i) {
    if (strcmp(backend->runtime_code[i].name, name) == 0) return &backend->runtime_code[i];
  }
  return NULL;
}

// `*` stands for any characters. After a mismatch the last `*` takes one character more.
static bool fits(const char *pattern, size_t size, const char *triple) {
  const char *const end = pattern + size, *star = NULL, *resume = NULL;
  while (*triple != '\0') {
    if (pattern < end && *pattern == '*') {
      star = pattern++;
      resume = triple;
    } else if (pattern < end && *pattern == *triple) {
      ++pattern, ++triple;
    } else if (star != NULL) {
      pattern = star + 1;
      triple = ++resume;
    } else {
      return false;
    }
  }
  while (pattern < end && *pattern == '*') ++pattern;
  return pattern == end;
}

// The next of several words; NULL at the end.
static const char *next_word(const char **cursor, size_t *out_size) {
  const char *word = *cursor + strspn(*cursor, " ");
  *out_size = strcspn(word, " ");
  *cursor = word + *out_size;
  return *out_size > 0 ? word : NULL;
}

static bool are_for(const byoc_machine_code_t *archives, const char *triple) {
  const char *cursor = archives->machines;
  size_t size = 0;
  for (const char *word; (word = next_word(&cursor, &size)) != NULL;) {
    if (fits(word, size, triple)) return true;
  }
  return false;
}

// The first file that is not where the backend said; NULL if all are there.
static const char *lost_file(const byoc_machine_code_t *archives) {
  for (uint32_t i = 0; i < archives->file_count; ++i) {
    const char *path = archives->files[i].path;
    if (path != NULL && !byoc_file_exists(path)) return path;
  }
  return NULL;
}

bool byoc_machine_code_is_there(const byoc_machine_code_t *archives) {
  return lost_file(archives) == NULL;
}

bool byoc_runtime_code_is_for_source(const byoc_runtime_code_t *code) {
  for (uint32_t i = 0; i < code->archive_count; ++i) {
    if (byoc_machine_code_is_there(&code->archives[i])) return true;
  }
  return code->source_count > 0;
}

const byoc_machine_code_t *byoc_runtime_code_archives(const byoc_runtime_code_t *code, const char *triple,
                                                      const char **out_lost) {
  *out_lost = NULL;
  for (uint32_t i = 0; i < code->archive_count; ++i) {
    const byoc_machine_code_t *archives = &code->archives[i];
    if (!are_for(archives, triple)) continue;
    const char *lost = lost_file(archives);
    if (lost == NULL) return archives;
    if (*out_lost == NULL) *out_lost = lost;
  }
  return NULL;
}

bool byoc_runtime_code_serves(const byoc_backend_t *backend, const char *triple,
                              const byoc_runtime_code_t **out_missing) {
  *out_missing = NULL;
  for (uint32_t i = 0; i < backend->runtime_code_count && *out_missing == NULL; ++i) {
    const byoc_runtime_code_t *code = &backend->runtime_code[i];
    const char *lost = NULL;
    if (code->source_count == 0 && byoc_runtime_code_archives(code, triple, &lost) == NULL) *out_missing = code;
  }
  const bool is_for_all = (backend->flags & BYOC_BACKEND_EVERY_MACHINE) != 0;
  return *out_missing == NULL && (is_for_all || backend->runtime_code_count > 0);
}

void byoc_runtime_code_explain(const byoc_runtime_code_t *code, const char *triple, byoc_string_t *out) {
  const char *separator = "", *lost = NULL;
  (void)byoc_runtime_code_archives(code, triple, &lost);
  if (lost != NULL) {
    byoc_string_appendf(out, "'%s', its archive for %s, is not there", lost, triple);
    return;
  }
  byoc_string_append(out, "it is there for ");
  for (uint32_t i = 0; i < code->archive_count; ++i) {
    if (lost_file(&code->archives[i]) != NULL) continue;
    const char *cursor = code->archives[i].machines;
    size_t size = 0;
    for (const char *word; (word = next_word(&cursor, &size)) != NULL; separator = ", ") {
      byoc_string_appendf(out, "%s%.*s", separator, (int)size, word);
    }
  }
  byoc_string_appendf(out, "%s and not for %s; its plugin can add an archive for this triple, or sources for all",
                      separator[0] != '\0' ? "," : "no other machine,", triple);
}
