// SPDX-License-Identifier: Apache-2.0
// Diagnostics and the nearest match for a misspelt word.
#include "core/base/diag.h"

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "core/base/visible.h"

static bool starts_character(char c) {
  return ((unsigned char)c & 0xC0) != 0x80; // UTF-8
}

// Ends a string that was cut with "...", after a whole character.
static void mark_cut(char *buffer, size_t size) {
  size_t at = size - 4;
  while (at > 0 && !starts_character(buffer[at])) at--;
  memcpy(buffer + at, "...", 4);
}

static void formatv(char *buffer, size_t size, const char *format, va_list arguments)
    __attribute__((format(printf, 3, 0)));
static void formatv(char *buffer, size_t size, const char *format, va_list arguments) {
  int length = vsnprintf(buffer, size, format, arguments);
  if (length < 0) buffer[0] = '\0';
  if (length >= 0 && (size_t)length >= size) mark_cut(buffer, size);
}

bool byoc_status_is_known(int32_t status) {
  switch (status) {
#define STATUS_CASE(NAME, number, text)                                                                                \
  case number:                                                                                                         \
    return true;
    BYOC_STATUS_LIST(STATUS_CASE)
#undef STATUS_CASE
  default:
    return false;
  }
}

byoc_status_t byoc_diag_errorv(byoc_diag_t *diag, byoc_status_t status, const char *format, va_list arguments) {
  assert(status != BYOC_OK);
  if (diag == NULL || diag->status != BYOC_OK) return status;
  diag->status = status;
  formatv(diag->message, sizeof(diag->message), format, arguments);
  return status;
}

byoc_status_t byoc_diag_error(byoc_diag_t *diag, byoc_status_t status, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  byoc_diag_errorv(diag, status, format, arguments);
  va_end(arguments);
  return status;
}

byoc_status_t byoc_diag_out_of_memory(byoc_diag_t *diag) {
  return byoc_diag_error(diag, BYOC_OUT_OF_MEMORY, "out of memory");
}

byoc_status_t byoc_diag_failure(byoc_diag_t *diag) {
  return diag != NULL && diag->status != BYOC_OK ? diag->status : byoc_diag_out_of_memory(diag);
}

byoc_status_t byoc_diag_context(byoc_diag_t *diag, byoc_status_t status, const char *format, ...) {
  if (diag == NULL || status == BYOC_OK) return status;
  // The callee returned an error without a message: the name of the status stands for it.
  if (diag->status == BYOC_OK) byoc_diag_error(diag, status, "%s", byoc_status_name(status));
  char inner[sizeof(diag->context)];
  memcpy(inner, diag->context, sizeof(inner));
  va_list arguments;
  va_start(arguments, format);
  formatv(diag->context, sizeof(diag->context), format, arguments);
  va_end(arguments);
  if (inner[0] != '\0') {
    size_t used = strlen(diag->context);
    int length = snprintf(diag->context + used, sizeof(diag->context) - used, ": %s", inner);
    if (length < 0 || (size_t)length >= sizeof(diag->context) - used) mark_cut(diag->context, sizeof(diag->context));
  }
  return status;
}

void byoc_diag_hint(byoc_diag_t *diag, const char *format, ...) {
  if (diag == NULL || diag->hint[0] != '\0') return;
  va_list arguments;
  va_start(arguments, format);
  formatv(diag->hint, sizeof(diag->hint), format, arguments);
  va_end(arguments);
}

void byoc_diag_locate(byoc_diag_t *diag, const char *file, const char *text, size_t offset) {
  if (diag == NULL || diag->line != 0) return;
  if (file != NULL) {
    int length = snprintf(diag->file, sizeof(diag->file), "%s", file);
    if (length >= (int)sizeof(diag->file)) mark_cut(diag->file, sizeof(diag->file));
  }
  if (text == NULL) return;
  size_t start = 0;
  diag->line = 1;
  diag->column = 1;
  for (size_t i = 0; i < offset && text[i] != '\0'; i++) {
    if (text[i] == '\n') {
      diag->line++;
      diag->column = 1;
      start = i + 1;
    } else if (starts_character(text[i])) {
      diag->column++;
    }
  }
  size_t size = strcspn(text + start, "\r\n");
  bool cut = size >= sizeof(diag->source_line);
  if (cut) size = sizeof(diag->source_line) - 1;
  memcpy(diag->source_line, text + start, size);
  diag->source_line[size] = '\0';
  if (cut) mark_cut(diag->source_line, sizeof(diag->source_line));
}

byoc_status_t byoc_diag_adopt(byoc_diag_t *diag, const byoc_diag_t *other) {
  if (diag != NULL && diag->status == BYOC_OK) *diag = *other;
  return other->status;
}

void byoc_diag_clear(byoc_diag_t *diag) {
  if (diag != NULL) memset(diag, 0, sizeof(*diag));
}

// Prints the line, and a caret under the column. Tabs are kept, and a character that is not safe to show takes one
// column, so that the caret is in the right column on any terminal. Prints no caret if the line was cut before the
// column.
static void print_source(const byoc_diag_t *diag, FILE *stream) {
  const char *line = diag->source_line, *end = line + strlen(line);
  char shown[BYOC_SHOWN_BYTES];
  fputs("  ", stream);
  for (const char *c = line; c < end;) {
    const size_t length = byoc_show_character(c, (size_t)(end - c), shown);
    const bool is_same = memcmp(shown, c, length) == 0 && shown[length] == '\0';
    fputs(*c == '\t' ? "\t" : is_same ? shown : "?", stream);
    c += length;
  }
  fputc('\n', stream);
  const char *c = line;
  int column = 1;
  while (column < diag->column && c < end) {
    c++;
    if (starts_character(*c)) column++;
  }
  if (column < diag->column || (c == end && c - line == (int)sizeof(diag->source_line) - 1)) return;
  fputs("  ", stream);
  for (const char *d = line; d < c; d++) {
    if (*d == '\t') fputc('\t', stream);
    if (*d != '\t' && starts_character(*d)) fputc(' ', stream);
  }
  fputs("^\n", stream);
}

void byoc_diag_print(const byoc_diag_t *diag, FILE *stream) {
  if (diag == NULL || diag->status == BYOC_OK) return;
  byoc_write_shown_lines(stream, diag->file);
  if (diag->file[0] != '\0' && diag->line > 0) fprintf(stream, ":%d:%d", diag->line, diag->column);
  if (diag->file[0] != '\0') fputs(": ", stream);
  fputs("error: ", stream);
  byoc_write_shown_lines(stream, diag->context);
  if (diag->context[0] != '\0') fputs(": ", stream);
  byoc_write_shown_lines(stream, diag->message);
  fputc('\n', stream);
  if (diag->line > 0 && diag->source_line[0] != '\0') print_source(diag, stream);
  if (diag->hint[0] == '\0') return;
  fputs("hint: ", stream);
  byoc_write_shown_lines(stream, diag->hint);
  fputc('\n', stream);
}

void byoc_diag_format(const byoc_diag_t *diag, char *buffer, size_t size) {
  if (size == 0) return;
  buffer[0] = '\0';
  if (diag == NULL || diag->status == BYOC_OK) return;
  char position[sizeof(diag->file) + 32] = "";
  if (diag->file[0] != '\0' && diag->line > 0) {
    snprintf(position, sizeof(position), "%s:%d:%d: ", diag->file, diag->line, diag->column);
  } else if (diag->file[0] != '\0') {
    snprintf(position, sizeof(position), "%s: ", diag->file);
  }
  int length = snprintf(buffer, size, "%s%s%s%s%s%s%s", position, diag->context, diag->context[0] != '\0' ? ": " : "",
                        diag->message, diag->hint[0] != '\0' ? " (" : "", diag->hint, diag->hint[0] != '\0' ? ")" : "");
  if (length >= 0 && (size_t)length >= size && size > 4) mark_cut(buffer, size);
  for (char *c = buffer; *c != '\0'; c++) {
    if (*c == '\n' || *c == '\r') *c = ' ';
  }
}

enum { MAX_WORD = 64 };

static char lower(char c) {
  return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

// The number of edits (insert, delete, replace, swap of neighbours) that change `a` into `b`; letter case does not
// matter.
static size_t edit_distance(const char *a, size_t a_size, const char *b, size_t b_size) {
  uint8_t rows[3][MAX_WORD + 1];
  uint8_t *before = rows[0], *above = rows[1], *row = rows[2];
  for (size_t j = 0; j <= b_size; j++) above[j] = (uint8_t)j;
  for (size_t i = 1; i <= a_size; i++) {
    row[0] = (uint8_t)i;
    for (size_t j = 1; j <= b_size; j++) {
      bool same = lower(a[i - 1]) == lower(b[j - 1]);
      unsigned best = above[j - 1] + (same ? 0u : 1u);
      if (above[j] + 1u < best) best = above[j] + 1u;
      if (row[j - 1] + 1u < best) best = row[j - 1] + 1u;
      bool swapped = i > 1 && j > 1 && lower(a[i - 1]) == lower(b[j - 2]) && lower(a[i - 2]) == lower(b[j - 1]);
      if (swapped && before[j - 2] + 1u < best) best = before[j - 2] + 1u;
      row[j] = (uint8_t)best;
    }
    uint8_t *oldest = before;
    before = above;
    above = row;
    row = oldest;
  }
  return above[b_size];
}

const char *byoc_nearest_match(const char *word, const char *const *names, size_t count) {
  size_t size = strlen(word);
  if (size == 0 || size > MAX_WORD) return NULL;
  size_t limit = (size + 2) / 3; // one typing error in three letters
  const char *nearest = NULL;
  size_t nearest_distance = limit + 1;
  for (size_t i = 0; i < count; i++) {
    size_t name_size = strlen(names[i]);
    if (name_size == 0 || name_size > MAX_WORD) continue;
    size_t distance = edit_distance(word, size, names[i], name_size);
    // If `word` is the beginning of a longer name, that name is likely meant.
    if (distance > limit && size >= 3 && strncmp(word, names[i], size) == 0) distance = limit;
    size_t longest = size > name_size ? size : name_size;
    if (distance < nearest_distance && distance < longest) {
      nearest = names[i];
      nearest_distance = distance;
    }
  }
  return nearest;
}
