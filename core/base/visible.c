// SPDX-License-Identifier: Apache-2.0
// Decides which characters are safe to show, and writes the others as escapes.
#include "core/base/visible.h"

#include <string.h>

size_t byoc_utf8_decode(const char *text, size_t size, uint32_t *out_code) {
  static const struct {
    unsigned char mask, lead;
    uint32_t least;
  } forms[] = {{0x80, 0x00, 0}, {0xE0, 0xC0, 0x80}, {0xF0, 0xE0, 0x800}, {0xF8, 0xF0, 0x10000}};
  const unsigned char *bytes = (const unsigned char *)text;
  *out_code = 0;
  for (size_t n = 0; n < sizeof(forms) / sizeof(forms[0]); ++n) {
    if ((bytes[0] & forms[n].mask) != forms[n].lead) continue;
    if (n + 1 > size) return 0;
    uint32_t code = bytes[0] & (unsigned char)~forms[n].mask;
    for (size_t i = 1; i <= n; ++i) {
      if ((bytes[i] & 0xC0) != 0x80) return 0;
      code = code << 6 | (bytes[i] & 0x3F);
    }
    const bool is_surrogate = code >= 0xD800 && code <= 0xDFFF;
    *out_code = code;
    return code >= forms[n].least && code <= 0x10FFFF && !is_surrogate ? n + 1 : 0;
  }
  return 0;
}

bool byoc_is_unsafe_character(uint32_t code) {
  static const struct {
    uint32_t first, last;
  } ranges[] = {
      {0x0000, 0x001F},   // controls
      {0x007F, 0x009F},   // delete, and the second set of controls
      {0x00AD, 0x00AD},   // soft hyphen
      {0x061C, 0x061C},   // Arabic letter mark
      {0x180E, 0x180E},   // Mongolian vowel separator
      {0x200B, 0x200F},   // no width; marks of direction
      {0x2028, 0x202E},   // separators of lines; embeddings and overrides of direction
      {0x2060, 0x206F},   // no width; isolates of direction
      {0xFEFF, 0xFEFF},   // byte order mark
      {0xFFF9, 0xFFFB},   // annotations
      {0xE0000, 0xE0FFF}, // tags and selectors
  };
  for (size_t i = 0; i < sizeof(ranges) / sizeof(ranges[0]); ++i) {
    if (code >= ranges[i].first && code <= ranges[i].last) return true;
  }
  return false;
}

size_t byoc_show_character(const char *text, size_t size, char shown[BYOC_SHOWN_BYTES]) {
  uint32_t code = 0;
  const size_t length = byoc_utf8_decode(text, size, &code);
  if (length == 0 || (length == 1 && byoc_is_unsafe_character(code))) {
    snprintf(shown, BYOC_SHOWN_BYTES, "\\x%02x", (unsigned)(unsigned char)text[0]);
    return 1;
  }
  if (byoc_is_unsafe_character(code)) {
    snprintf(shown, BYOC_SHOWN_BYTES, "\\u{%04X}", (unsigned)code);
    return length;
  }
  memcpy(shown, text, length);
  shown[length] = '\0';
  return length;
}

static void append(byoc_string_t *string, const char *text, bool keeps_lines) {
  const char *end = text + strlen(text);
  char shown[BYOC_SHOWN_BYTES];
  while (text < end) {
    if (keeps_lines && (*text == '\n' || *text == '\t')) {
      byoc_string_append_bytes(string, text++, 1);
    } else {
      text += byoc_show_character(text, (size_t)(end - text), shown);
      byoc_string_append(string, shown);
    }
  }
}

void byoc_string_append_shown(byoc_string_t *string, const char *text) {
  append(string, text, false);
}

void byoc_string_append_shown_lines(byoc_string_t *string, const char *text) {
  append(string, text, true);
}

void byoc_string_append_shown_cut(byoc_string_t *string, const char *text, size_t width) {
  const char *end = text + strlen(text);
  char shown[BYOC_SHOWN_BYTES];
  size_t used = 0, fitting = string->size; // the size after which "..." still fits
  while (text < end && used <= width) {
    text += byoc_show_character(text, (size_t)(end - text), shown);
    byoc_string_append(string, shown);
    used += byoc_shown_width(shown);
    if (used + 3 <= width) fitting = string->size;
  }
  if (used <= width || string->failed) return;
  string->data[string->size = fitting] = '\0';
  byoc_string_append(string, "...");
}

void byoc_write_shown_lines(FILE *stream, const char *text) {
  const char *end = text + strlen(text);
  char shown[BYOC_SHOWN_BYTES];
  while (text < end) {
    if (*text == '\n' || *text == '\t') {
      fputc(*text, stream);
      if (*text++ == '\n' && *text != ' ' && *text != '\n' && text < end) fputs("  ", stream);
    } else {
      text += byoc_show_character(text, (size_t)(end - text), shown);
      fputs(shown, stream);
    }
  }
}

size_t byoc_shown_width(const char *text) {
  size_t width = 0;
  for (; *text != '\0'; ++text) width += ((unsigned char)*text & 0xC0) != 0x80;
  return width;
}
