// Prints words, names, strings and numbers of the text forms.
#include "core/ir/text_names.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

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

// The size of the UTF-8 sequence at `text`; 0 if it is not valid (overlong forms and surrogates included).
static size_t utf8_length(const unsigned char *text, size_t size) {
  static const struct {
    unsigned char mask, lead;
    uint32_t least;
  } forms[] = {{0x80, 0x00, 0}, {0xE0, 0xC0, 0x80}, {0xF0, 0xE0, 0x800}, {0xF8, 0xF0, 0x10000}};
  for (size_t n = 0; n < 4; ++n) {
    if ((text[0] & forms[n].mask) != forms[n].lead) continue;
    if (n + 1 > size) return 0;
    uint32_t code = text[0] & (unsigned char)~forms[n].mask;
    for (size_t i = 1; i <= n; ++i) {
      if ((text[i] & 0xC0) != 0x80) return 0;
      code = code << 6 | (text[i] & 0x3F);
    }
    bool surrogate = code >= 0xD800 && code <= 0xDFFF;
    return code >= forms[n].least && code <= 0x10FFFF && !surrogate ? n + 1 : 0;
  }
  return 0;
}

void byoc_text_print_quoted(const char *data, size_t size, byoc_string_t *out) {
  byoc_string_append(out, "\"");
  for (size_t i = 0; i < size;) {
    unsigned char c = (unsigned char)data[i];
    const char *escape = c == '\n' ? "\\n" : c == '\t' ? "\\t" : c == '\r' ? "\\r" : c == '"' ? "\\\"" : NULL;
    size_t length = utf8_length((const unsigned char *)data + i, size - i);
    if (c == '\\') escape = "\\\\";
    if (escape) {
      byoc_string_append(out, escape);
      length = 1;
    } else if (length == 0 || c < 0x20 || c == 0x7F) {
      byoc_string_appendf(out, "\\x%02x", c);
      length = 1;
    } else {
      byoc_string_append_bytes(out, data + i, length);
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
