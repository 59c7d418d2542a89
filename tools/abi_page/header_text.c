// SPDX-License-Identifier: Apache-2.0
// Finds what the public headers say about structs and fields: the comments before and behind their declarations.
#include "tools/abi_page/header_text.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/file.h"

static const char *skip_spaces(const char *text) {
  while (*text == ' ') ++text;
  return text;
}

static bool is_comment(const char *line) {
  return strncmp(skip_spaces(line), "//", 2) == 0;
}

// A line of dashes, or one between them, heads a part of a header and says nothing of a declaration.
static bool is_rule(const char *line) {
  return strncmp(skip_spaces(line), "// --", 5) == 0;
}

static void add_comment(byoc_string_t *text, const char *comment) {
  comment += strspn(comment, "/ ");
  if (*comment == '\0') return;
  if (text->size > 0) byoc_string_append(text, " ");
  byoc_string_append(text, comment);
}

// ---- lines ----

static bool split(header_t *header) {
  const byoc_allocator_t allocator = byoc_allocator_system();
  for (char *line = header->text; *line != '\0';) {
    char *end = line + strcspn(line, "\n");
    if (!byoc_vector_push(&header->lines, allocator, line)) return false;
    line = *end == '\0' ? end : end + 1;
    *end = '\0';
  }
  return true;
}

byoc_status_t headers_read(const char *folder, headers_t *headers, byoc_diag_t *diag) {
  const byoc_allocator_t allocator = byoc_allocator_system();
  char **names = NULL;
  size_t count = 0;
  BYOC_RETURN_IF_ERROR(byoc_list_directory(folder, allocator, diag, &names, &count));
  byoc_status_t status = BYOC_OK;
  for (size_t i = 0; i < count && status == BYOC_OK; ++i) {
    if (!byoc_ends_with(names[i], ".h")) continue;
    header_t header = {0};
    size_t size = 0;
    char *path = byoc_path_join(allocator, folder, names[i]);
    status = path != NULL ? byoc_file_read(path, allocator, diag, &header.text, &size) : byoc_diag_out_of_memory(diag);
    byoc_free(allocator, path);
    if (status != BYOC_OK) break;
    snprintf(header.name, sizeof(header.name), "byoc/%s", names[i]);
    const bool is_kept = split(&header) && byoc_vector_push(&headers->list, allocator, header);
    if (is_kept) continue;
    byoc_vector_deinit(&header.lines, allocator);
    byoc_free(allocator, header.text);
    status = byoc_diag_out_of_memory(diag);
  }
  byoc_free_names(allocator, names, count);
  return status;
}

void headers_free(headers_t *headers) {
  const byoc_allocator_t allocator = byoc_allocator_system();
  for (size_t i = 0; i < headers->list.count; ++i) {
    byoc_vector_deinit(&headers->list.data[i].lines, allocator);
    byoc_free(allocator, headers->list.data[i].text);
  }
  byoc_vector_deinit(&headers->list, allocator);
}

// ---- structs ----

// Does the declaration of a type begin in that line? DLPack's structs have their name behind them only.
static bool opens(const header_t *header, size_t line, const char *type) {
  char plain[128], typed[128], end[128];
  snprintf(plain, sizeof(plain), "struct %s {", type);
  snprintf(typed, sizeof(typed), "typedef struct %s {", type);
  snprintf(end, sizeof(end), "} %s;", type);
  const char *first = header->lines.data[line];
  if (strcmp(first, plain) == 0 || strcmp(first, typed) == 0) return true;
  if (strcmp(first, "typedef struct {") != 0) return false;
  while (line < header->lines.count && header->lines.data[line][0] != '}') ++line;
  return line < header->lines.count && strcmp(header->lines.data[line], end) == 0;
}

bool headers_find(const headers_t *headers, const char *type, declaration_t *out) {
  for (size_t h = 0; h < headers->list.count; ++h) {
    const header_t *header = &headers->list.data[h];
    for (size_t i = 0; i < header->lines.count; ++i) {
      if (!opens(header, i, type)) continue;
      *out = (declaration_t){header, i};
      return true;
    }
  }
  return false;
}

void declaration_comment(const declaration_t *declaration, byoc_string_t *out) {
  char *const *lines = declaration->header->lines.data;
  size_t first = declaration->line;
  while (first > 0 && is_comment(lines[first - 1]) && !is_rule(lines[first - 1])) --first;
  for (size_t i = first; i < declaration->line; ++i) add_comment(out, lines[i]);
}

// ---- fields ----

// Does the declaration, which ends with its ';', declare a field of that name? Parameters of function pointers do not
// count.
static bool declares(const char *text, const char *name) {
  const size_t size = strlen(name);
  const char *function = strstr(text, "(*");
  if (function != NULL) return strncmp(function + 2, name, size) == 0 && function[2 + size] == ')';
  for (const char *at = text; (at = strstr(at, name)) != NULL; at += size) {
    const bool starts = at > text && !isalnum((unsigned char)at[-1]) && at[-1] != '_';
    if (starts && strchr(",;[", at[size]) != NULL && at[size] != '\0') return true;
  }
  return false;
}

void declaration_field_comment(const declaration_t *declaration, const char *name, byoc_string_t *out) {
  const header_t *header = declaration->header;
  char text[1024] = "";
  byoc_string_clear(out);
  for (size_t i = declaration->line + 1; i < header->lines.count && header->lines.data[i][0] != '}'; ++i) {
    const char *line = header->lines.data[i];
    if (*skip_spaces(line) == '\0' || is_rule(line)) {
      byoc_string_clear(out);
      continue;
    }
    if (is_comment(line)) {
      add_comment(out, skip_spaces(line));
      continue;
    }
    const char *tail = strstr(line, "//");
    const size_t used = strlen(text), size = tail != NULL ? (size_t)(tail - line) : strlen(line);
    snprintf(text + used, sizeof(text) - used, "%.*s", (int)size, line);
    if (tail != NULL) add_comment(out, tail);
    if (strchr(text, ';') == NULL) continue;
    if (declares(text, name)) return;
    text[0] = '\0';
    byoc_string_clear(out);
  }
  byoc_string_clear(out);
}
