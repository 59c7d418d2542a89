// SPDX-License-Identifier: Apache-2.0
// Prints words, names, strings and numbers of the text forms.
#include "core/ir/text_names.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/visible.h"

static bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

bool byoc_text_is_word(const char *name) {
  if (!is_letter(name[0])) return false;
  for (const char *p = name; *p; ++p) {
    if (!is_letter(*p) && !is_digit(*p) && *p != '.') return false;
  }
  return true;
}

void byoc_text_print_quoted(const char *data, size_t size, byoc_string_t *out) {
  byoc_string_append(out, "\"");
  for (size_t i = 0; i < size;) {
    unsigned char c = (unsigned char)data[i];
    const char *escape = c == '\n' ? "\\n" : c == '\t' ? "\\t" : c == '\r' ? "\\r" : c == '"' ? "\\\"" : NULL;
    uint32_t code = 0;
    size_t length = byoc_utf8_decode(data + i, size - i, &code);
    const bool is_safe = length > 0 && !byoc_is_unsafe_character(code);
    if (length == 0) length = 1;
    if (c == '\\') escape = "\\\\";
    if (escape) {
      byoc_string_append(out, escape);
    } else if (is_safe) {
      byoc_string_append_bytes(out, data + i, length);
    } else {
      for (size_t k = 0; k < length; ++k) byoc_string_appendf(out, "\\x%02x", (unsigned char)data[i + k]);
    }
    i += length;
  }
  byoc_string_append(out, "\"");
}

void byoc_text_print_word(const char *name, byoc_string_t *out) {
  if (byoc_text_is_word(name)) {
    byoc_string_append(out, name);
  } else {
    byoc_text_print_quoted(name, strlen(name), out);
  }
}

void byoc_text_print_name(char sigil, const char *name, byoc_string_t *out) {
  bool bare = name[0] != 0, digits = true;
  for (const char *p = name; *p; ++p) {
    bare &= is_letter(*p) || is_digit(*p) || *p == '.';
    digits &= is_digit(*p);
  }
  byoc_string_append_bytes(out, &sigil, 1);
  if (bare && !digits) {
    byoc_string_append(out, name);
  } else {
    byoc_text_print_quoted(name, strlen(name), out);
  }
}

// Whole numbers get ".0", so that they are not read as integers.
static void complete_number(byoc_string_t *out, size_t start) {
  if (out->failed) return;
  if (strpbrk(out->data + start, ".eEin") == NULL) byoc_string_append(out, ".0");
}

void byoc_text_print_float(float value, byoc_string_t *out) {
  size_t start = out->size;
  byoc_string_append_f32(out, value);
  complete_number(out, start);
}

void byoc_text_print_double(double value, byoc_string_t *out) {
  size_t start = out->size;
  if (isfinite(value) && fabs(value) <= 3.4028234663852886e38 && (double)(float)value == value) {
    byoc_string_append_f32(out, (float)value);
    complete_number(out, start);
    if (!out->failed && strtod(out->data + start, NULL) != value) byoc_string_append(out, "f");
    return;
  }
  byoc_string_append_f64(out, value);
  complete_number(out, start);
}
