// SPDX-License-Identifier: Apache-2.0
// Prints and parses the data of constants.
#include <math.h>
#include <string.h>

#include "core/ir/base64.h"
#include "core/ir/element.h"
#include "core/ir/text_names.h"
#include "core/ir/text_parts.h"

// Longer constants are written as `splat` or as base64.
#define LIST_MAX 64

// ---- printing ----

static void print_number(byoc_dtype_t dtype, double value, byoc_string_t *out) {
  if (dtype == BYOC_DTYPE_F64 || dtype == BYOC_DTYPE_C128) {
    size_t start = out->size;
    byoc_string_append_f64(out, value);
    if (!out->failed && strpbrk(out->data + start, ".eEin") == NULL) byoc_string_append(out, ".0");
  } else {
    byoc_text_print_float((float)value, out);
  }
}

static void print_element(const byoc_constant_t *constant, size_t index, byoc_string_t *out) {
  byoc_dtype_t dtype = constant->type->dtype;
  if (dtype == BYOC_DTYPE_STRING) {
    const char *text = ((const char *const *)constant->data)[index];
    byoc_text_print_quoted(text, strlen(text), out);
  } else if (byoc_dtype_is_complex(dtype)) {
    byoc_string_append(out, "(");
    print_number(dtype, byoc_element_f64(dtype, constant->data, index), out);
    byoc_string_append(out, ", ");
    print_number(dtype, byoc_element_imaginary(dtype, constant->data, index), out);
    byoc_string_append(out, ")");
  } else if (byoc_dtype_is_any_float(dtype)) {
    print_number(dtype, byoc_element_f64(dtype, constant->data, index), out);
  } else if (dtype == BYOC_DTYPE_BOOL) {
    byoc_string_append(out, byoc_element_i64(dtype, constant->data, index) ? "true" : "false");
  } else if (dtype == BYOC_DTYPE_U64) {
    byoc_string_appendf(out, "%llu", (unsigned long long)byoc_element_i64(dtype, constant->data, index));
  } else {
    byoc_string_appendf(out, "%lld", (long long)byoc_element_i64(dtype, constant->data, index));
  }
}

// Does reading the printed element give the same bytes? Not for unusual NaNs, nor for booleans other than 0 and 1.
static bool element_reads_back(const byoc_constant_t *constant, size_t index) {
  byoc_dtype_t dtype = constant->type->dtype;
  size_t size = byoc_dtype_bits(dtype) / 8;
  if (dtype == BYOC_DTYPE_STRING || byoc_dtype_is_any_integer(dtype)) return true;
  unsigned char again[16] = {0};
  double real = byoc_element_f64(dtype, constant->data, index);
  // A NaN is read as the default NaN, without its sign.
  if (isnan(real)) real = NAN;
  if (byoc_dtype_is_complex(dtype)) {
    double imaginary = byoc_element_imaginary(dtype, constant->data, index);
    byoc_element_set_complex(dtype, again, 0, real, isnan(imaginary) ? NAN : imaginary);
  } else {
    byoc_element_set_f64(dtype, again, 0, real);
  }
  return memcmp(again, (const char *)constant->data + index * size, size) == 0;
}

// The unused bits in the last byte of a packed type are part of the content.
static bool is_rest_zero(const byoc_constant_t *constant, size_t count) {
  const size_t used = count * byoc_dtype_bits(constant->type->dtype);
  return used % 8 == 0 || ((const uint8_t *)constant->data)[used / 8] >> used % 8 == 0;
}

static bool is_uniform(const byoc_constant_t *constant, size_t count) {
  byoc_dtype_t dtype = constant->type->dtype;
  size_t size = byoc_dtype_bits(dtype) / 8;
  const char *bytes = constant->data;
  if (dtype == BYOC_DTYPE_STRING || !element_reads_back(constant, 0)) return false;
  if (size > 0) return memcmp(bytes, bytes + size, (count - 1) * size) == 0;
  const double first = byoc_element_f64(dtype, bytes, 0);
  for (size_t i = 1; i < count; ++i) {
    const double value = byoc_element_f64(dtype, bytes, i);
    if (value != first || signbit(value) != signbit(first)) return false;
  }
  return is_rest_zero(constant, count);
}

static bool is_listed(const byoc_constant_t *constant, size_t count) {
  if (constant->type->dtype == BYOC_DTYPE_STRING) return true;
  if (count > LIST_MAX) return false;
  for (size_t i = 0; i < count; ++i) {
    if (!element_reads_back(constant, i)) return false;
  }
  return is_rest_zero(constant, count);
}

void byoc_constant_print_data(const byoc_constant_t *constant, const byoc_print_options_t *options,
                              byoc_string_t *out) {
  int64_t elements = byoc_type_element_count(constant->type);
  size_t count = elements > 0 ? (size_t)elements : 0;
  if (count > 8 && is_uniform(constant, count)) {
    byoc_string_append(out, "splat ");
    print_element(constant, 0, out);
  } else if (options && options->elide_bytes && constant->size_bytes > options->elide_bytes) {
    byoc_string_append(out, "elided");
  } else if (is_listed(constant, count)) {
    byoc_string_append(out, "[");
    for (size_t i = 0; i < count; ++i) {
      if (i > 0) byoc_string_append(out, ", ");
      print_element(constant, i, out);
    }
    byoc_string_append(out, "]");
  } else {
    byoc_string_append(out, "base64 \"");
    byoc_base64_append(out, constant->data, constant->size_bytes);
    byoc_string_append(out, "\"");
  }
}

// ---- parsing ----

static bool parse_float(byoc_lexer_t *lexer, byoc_dtype_t dtype, double *out) {
  byoc_lexer_t ahead = byoc_lexer_ahead(lexer);
  bool negative = byoc_lexer_accept(&ahead, BYOC_TOKEN_MINUS);
  bool single = (dtype == BYOC_DTYPE_F32 || dtype == BYOC_DTYPE_C64 || dtype == BYOC_DTYPE_F8E8M0) &&
                (byoc_lexer_is(&ahead, BYOC_TOKEN_FLOAT) || byoc_lexer_is(&ahead, BYOC_TOKEN_INTEGER));
  float exact = ahead.token.single;
  size_t offset = lexer->token.offset;
  if (!byoc_lexer_expect_f64(lexer, out)) return false;
  if (!single) return true;
  if (isinf(exact)) return byoc_lexer_fail_at(lexer, offset, "this number is beyond %s", byoc_dtype_name(dtype));
  *out = negative ? -(double)exact : (double)exact; // rounded once, from the text
  return true;
}

static bool parse_integer(byoc_lexer_t *lexer, byoc_dtype_t dtype, int64_t *out) {
  if (dtype == BYOC_DTYPE_U64) {
    *out = (int64_t)lexer->token.integer;
    return byoc_lexer_expect(lexer, BYOC_TOKEN_INTEGER);
  }
  uint32_t bits = byoc_dtype_bits(dtype);
  bool is_signed = byoc_dtype_is_signed_integer(dtype);
  int64_t most = is_signed ? (int64_t)((UINT64_C(1) << (bits - 1)) - 1) : (int64_t)((UINT64_C(1) << bits) - 1);
  return byoc_lexer_expect_i64_in(lexer, is_signed ? -most - 1 : 0, most, out);
}

static bool parse_element(byoc_lexer_t *lexer, byoc_dtype_t dtype, byoc_arena_t *arena, void *data, size_t index) {
  if (dtype == BYOC_DTYPE_STRING) {
    const char *text = NULL;
    if (!byoc_lexer_is(lexer, BYOC_TOKEN_STRING)) return byoc_lexer_expected(lexer, "a string");
    if (!byoc_lexer_expect_name(lexer, &text)) return false;
    char *copy = byoc_arena_copy_string(arena, text);
    if (!copy) return byoc_lexer_fail_memory(lexer);
    ((const char **)data)[index] = copy;
  } else if (byoc_dtype_is_complex(dtype)) {
    double real = 0, imaginary = 0;
    if (!byoc_lexer_expect(lexer, BYOC_TOKEN_LEFT_PAREN) || !parse_float(lexer, dtype, &real) ||
        !byoc_lexer_expect(lexer, BYOC_TOKEN_COMMA) || !parse_float(lexer, dtype, &imaginary) ||
        !byoc_lexer_expect(lexer, BYOC_TOKEN_RIGHT_PAREN))
      return false;
    byoc_element_set_complex(dtype, data, index, real, imaginary);
  } else if (byoc_dtype_is_any_float(dtype)) {
    double value = 0;
    if (!parse_float(lexer, dtype, &value)) return false;
    byoc_element_set_f64(dtype, data, index, value);
  } else if (dtype == BYOC_DTYPE_BOOL) {
    bool value = byoc_lexer_accept_word(lexer, "true");
    if (!value && !byoc_lexer_accept_word(lexer, "false")) return byoc_lexer_expected(lexer, "true or false");
    byoc_element_set_i64(dtype, data, index, value);
  } else {
    int64_t value = 0;
    if (!parse_integer(lexer, dtype, &value)) return false;
    byoc_element_set_i64(dtype, data, index, value);
  }
  return lexer->status == BYOC_OK;
}

static bool parse_splat(byoc_lexer_t *lexer, const byoc_type_t *type, byoc_arena_t *arena, void *data, size_t count) {
  byoc_dtype_t dtype = type->dtype;
  size_t size = byoc_dtype_bits(dtype) / 8;
  unsigned char first[16] = {0};
  static const unsigned char zeros[16];
  if (!parse_element(lexer, dtype, arena, first, 0)) return false;
  if (memcmp(first, zeros, sizeof(first)) == 0) return true; // the memory is cleared
  for (size_t i = 0; i < count; ++i) {
    if (size > 0) {
      memcpy((char *)data + i * size, first, size);
    } else {
      byoc_element_set_i64(dtype, data, i, byoc_element_i64(dtype, first, 0));
    }
  }
  return true;
}

bool byoc_constant_parse_data(byoc_lexer_t *lexer, const byoc_type_t *type, byoc_arena_t *arena, void *data) {
  size_t start = lexer->token.offset;
  size_t count = (size_t)byoc_type_element_count(type);
  if (byoc_lexer_accept_word(lexer, "splat")) return parse_splat(lexer, type, arena, data, count);
  if (byoc_lexer_is_word(lexer, "elided"))
    return byoc_lexer_fail(lexer, "the data of this constant was left out when it was printed; byoc opt --constants "
                                  "prints it");
  if (byoc_lexer_accept_word(lexer, "base64")) {
    byoc_token_t token = lexer->token;
    if (!byoc_lexer_expect(lexer, BYOC_TOKEN_STRING)) return false;
    if (type->dtype == BYOC_DTYPE_STRING)
      return byoc_lexer_fail_at(lexer, token.offset, "strings are written as a list, not in base64");
    if (byoc_base64_decode(token.text, token.size, data, (size_t)byoc_type_size_bytes(type))) return true;
    return byoc_lexer_fail_at(lexer, token.offset, "this is not base64 of %lld bytes",
                              (long long)byoc_type_size_bytes(type));
  }
  if (!byoc_lexer_is(lexer, BYOC_TOKEN_LEFT_BRACKET)) return byoc_lexer_expected(lexer, "a list, splat or base64");
  byoc_lexer_next(lexer);
  size_t index = 0;
  if (!byoc_lexer_is(lexer, BYOC_TOKEN_RIGHT_BRACKET)) {
    do {
      if (index == count)
        return byoc_lexer_fail(lexer, "there are more than the %zu elements that the type has", count);
      if (!parse_element(lexer, type->dtype, arena, data, index++)) return false;
    } while (byoc_lexer_accept(lexer, BYOC_TOKEN_COMMA));
  }
  if (lexer->status == BYOC_OK && index < count)
    return byoc_lexer_fail_at(lexer, start, "there are %zu elements, the type has %zu", index, count);
  return byoc_lexer_expect(lexer, BYOC_TOKEN_RIGHT_BRACKET);
}
