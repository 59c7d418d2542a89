// SPDX-License-Identifier: Apache-2.0
// Runs operators on strings that do more than move data.
#define _GNU_SOURCE // newlocale
#include "core/runtime/text_call.h"

#include <ctype.h>
#include <errno.h>
#include <float.h>
#include <math.h>
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <wctype.h>

// ---- pairs ----

int32_t byoc_text_equal(const byoc_call_t *call) {
  uint8_t *out = result(call, 0)->data;
  int64_t count = count_of(result(call, 0));
  for (int64_t i = 0; i < count; ++i) out[i] = strcmp(text_at(tensor(call, 0), i), text_at(tensor(call, 1), i)) == 0;
  return BYOC_OK;
}

int32_t byoc_text_concat(const byoc_call_t *call) {
  const char **out = result(call, 0)->data;
  int64_t count = count_of(result(call, 0));
  for (int64_t i = 0; i < count; ++i) {
    const char *a = text_at(tensor(call, 0), i), *b = text_at(tensor(call, 1), i);
    size_t a_size = strlen(a), b_size = strlen(b);
    char *made = allocate(call, a_size + b_size + 1);
    if (made == NULL) return out_of_memory(call);
    memcpy(made, a, a_size);
    memcpy(made + a_size, b, b_size + 1);
    out[i] = made;
  }
  return BYOC_OK;
}

int32_t byoc_text_search(const byoc_call_t *call) {
  const DLTensor *x = tensor(call, 0), *texts = tensor(call, 1);
  int64_t *out = result(call, 0)->data;
  const int64_t count = count_of(result(call, 0)), all = count_of(texts);
  for (int64_t i = 0; i < count; ++i) {
    int64_t low = 0, high = all; // strings before `low` are less, from `high` on they are not
    while (low < high) {
      const int64_t middle = low + (high - low) / 2;
      if (strcmp(text_at(texts, middle), text_at(x, i)) < 0)
        low = middle + 1;
      else
        high = middle;
    }
    out[i] = low < all && strcmp(text_at(texts, low), text_at(x, i)) == 0 ? low : -1;
  }
  return BYOC_OK;
}

static int compare_texts(const void *a, const void *b) {
  return strcmp(**(const char *const *const *)a, **(const char *const *const *)b);
}

int32_t byoc_text_ranks(const byoc_call_t *call) {
  int64_t *out = result(call, 0)->data;
  const int64_t count = count_of(result(call, 0));
  // The strings, and after them pointers to them, which are sorted.
  const char **texts = count > 0 ? (const char **)(void *)allocate(call, (size_t)count * 2 * sizeof(void *)) : NULL;
  if (count > 0 && texts == NULL) return out_of_memory(call);
  const char *const **order = (const char *const **)(void *)(texts + count);
  for (int64_t i = 0; i < count; ++i) {
    texts[i] = text_at(tensor(call, 0), i);
    order[i] = &texts[i];
  }
  if (count > 0) qsort(order, (size_t)count, sizeof(*order), compare_texts);
  int64_t rank = 0;
  for (int64_t i = 0; i < count; ++i) {
    if (i > 0 && strcmp(*order[i - 1], *order[i]) != 0) ++rank;
    out[order[i] - texts] = rank;
  }
  return BYOC_OK;
}

// ---- letters ----

// Reads one character; a byte that does not begin one counts as itself, with *size 1.
static uint32_t decode(const char *text, size_t *size) {
  const uint8_t *at = (const uint8_t *)text;
  size_t length = at[0] < 0xc2 ? 1 : at[0] < 0xe0 ? 2 : at[0] < 0xf0 ? 3 : at[0] < 0xf5 ? 4 : 1;
  uint32_t code = length == 1 ? at[0] : at[0] & (0x7fu >> length);
  for (size_t i = 1; i < length; ++i) {
    if ((at[i] & 0xc0) != 0x80) {
      *size = 1;
      return at[0];
    }
    code = code << 6 | (at[i] & 0x3fu);
  }
  *size = length;
  return code;
}

static size_t encode(uint32_t code, char *out) {
  if (code < 0x80) {
    out[0] = (char)code;
    return 1;
  }
  size_t length = code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
  for (size_t i = length - 1; i > 0; --i, code >>= 6) out[i] = (char)(0x80 | (code & 0x3f));
  out[0] = (char)((0xf00u >> length & 0xff) | code);
  return length;
}

typedef enum { AS_IS, LOWER, UPPER } letters_t;

// Needs at most twice the bytes: the other case of a letter is at most one byte longer.
static char *change_case(const byoc_call_t *call, const char *text, letters_t letters, locale_t locale) {
  char *made = allocate(call, 2 * strlen(text) + 1), *to = made;
  if (made == NULL) return NULL;
  for (size_t size = 0; *text != '\0'; text += size) {
    uint32_t code = decode(text, &size);
    if (size == 1 && code >= 0x80) { // not a character: the byte stays
      *to++ = *text;
      continue;
    }
    wint_t other = letters == LOWER ? towlower_l((wint_t)code, locale) : towupper_l((wint_t)code, locale);
    to += encode((uint32_t)other, to);
  }
  *to = '\0';
  return made;
}

static bool equals_any(const DLTensor *words, const char *text, bool is_case_sensitive, const byoc_call_t *call,
                       locale_t locale, bool *failed) {
  int64_t count = count_of(words);
  const char *plain = is_case_sensitive || count == 0 ? text : change_case(call, text, LOWER, locale);
  for (int64_t i = 0; i < count && plain != NULL; ++i) {
    const char *word = text_at(words, i);
    if (!is_case_sensitive) word = change_case(call, word, LOWER, locale);
    if (word == NULL) plain = NULL;
    if (word != NULL && strcmp(plain, word) == 0) return true;
  }
  *failed |= plain == NULL;
  return false;
}

int32_t byoc_text_normalize(const byoc_call_t *call) {
  const DLTensor *x = tensor(call, 0), *words = tensor(call, 1);
  const int64_t *settings = tensor(call, 2)->data;
  const char **out = result(call, 0)->data;
  int64_t count = count_of(x), kept = 0, room = count_of(result(call, 0));
  locale_t locale = newlocale(LC_CTYPE_MASK, "C.UTF-8", (locale_t)0);
  if (locale == (locale_t)0) locale = newlocale(LC_CTYPE_MASK, "C", (locale_t)0); // English letters only
  if (locale == (locale_t)0) return out_of_memory(call);
  bool failed = false;
  for (int64_t i = 0; i < count && !failed; ++i) {
    const char *text = text_at(x, i);
    if (equals_any(words, text, settings[0] != 0, call, locale, &failed) || failed) continue;
    if (settings[1] != AS_IS) text = change_case(call, text, (letters_t)settings[1], locale);
    failed |= text == NULL;
    if (!failed) out[kept++] = text;
  }
  freelocale(locale);
  for (int64_t i = kept; i < room; ++i) out[i] = "";
  ((int64_t *)result(call, 1)->data)[0] = kept > 0 ? kept : 1; // one empty string if none is left
  return failed ? out_of_memory(call) : BYOC_OK;
}

// ---- splitting ----

static bool is_blank(char c) {
  return c == ' ' || (c >= '\t' && c <= '\r');
}

// The next part of *rest; false if there is none. `left` is the number of splits that may still be made; -1: any
// number.
static bool next_part(const char **rest, const char *delimiter, int64_t *left, const char **part, size_t *size) {
  const char *at = *rest;
  if (at == NULL) return false;
  if (delimiter[0] == '\0') {
    while (is_blank(*at)) ++at;
    if (*at == '\0') return false;
    const char *end = at;
    while (*end != '\0' && (*left == 0 || !is_blank(*end))) ++end;
    *rest = *end != '\0' ? end : NULL;
    *part = at, *size = (size_t)(end - at);
  } else {
    const char *end = *left == 0 ? NULL : strstr(at, delimiter);
    *part = at, *size = end != NULL ? (size_t)(end - at) : strlen(at);
    *rest = end != NULL ? end + strlen(delimiter) : NULL;
  }
  if (*left > 0) *left -= 1;
  return true;
}

int32_t byoc_text_split_count(const byoc_call_t *call) {
  const char *delimiter = text_at(tensor(call, 1), 0);
  int64_t *out = result(call, 0)->data, count = count_of(result(call, 0));
  for (int64_t i = 0; i < count; ++i) {
    const char *rest = text_at(tensor(call, 0), i), *part = NULL;
    int64_t left = ((const int64_t *)tensor(call, 2)->data)[0];
    size_t size = 0;
    out[i] = 0;
    while (next_part(&rest, delimiter, &left, &part, &size)) out[i] += 1;
  }
  return BYOC_OK;
}

int32_t byoc_text_split(const byoc_call_t *call) {
  const DLTensor *x = tensor(call, 0), *y = result(call, 0);
  const char *delimiter = text_at(tensor(call, 2), 0), **out = y->data;
  int64_t count = count_of(x), room = y->shape[y->ndim - 1];
  for (int64_t i = 0; i < count; ++i) {
    const char *rest = text_at(x, i), *part = NULL;
    int64_t left = ((const int64_t *)tensor(call, 3)->data)[0], used = 0;
    size_t size = 0;
    while (used < room && next_part(&rest, delimiter, &left, &part, &size)) {
      const char *made = copy(call, part, size);
      if (made == NULL) return out_of_memory(call);
      out[i * room + used++] = made;
    }
    while (used < room) out[i * room + used++] = "";
  }
  return BYOC_OK;
}

// ---- patterns ----

int32_t byoc_text_match(const byoc_call_t *call) {
  uint8_t *out = result(call, 0)->data;
  int64_t count = count_of(result(call, 0));
  plain_locale_t plain;
  regex_t pattern;
  if (!enter_plain_locale(&plain)) return out_of_memory(call);
  int error = regcomp(&pattern, text_at(tensor(call, 1), 0), REG_EXTENDED | REG_NOSUB);
  char reason[160] = "pattern: ";
  if (error != 0) regerror(error, &pattern, reason + strlen(reason), sizeof(reason) - strlen(reason));
  for (int64_t i = 0; i < count && error == 0; ++i) {
    out[i] = regexec(&pattern, text_at(tensor(call, 0), i), 0, NULL, 0) == 0;
  }
  if (error == 0) regfree(&pattern);
  leave_plain_locale(&plain);
  return error == 0 ? BYOC_OK : fail(call, BYOC_INVALID_ARGUMENT, reason);
}

// ---- numbers ----

// The shortest digits that read back as x, in the form that Python prints: 0.1, 12.0, 1e-05.
static void print_number(double x, bool is_single, char *out, size_t size) {
  if (isnan(x) || isinf(x)) {
    snprintf(out, size, "%s", isnan(x) ? "nan" : x < 0 ? "-inf" : "inf");
    return;
  }
  char digits[40];
  int most = is_single ? 9 : 17;
  for (int precision = 1; precision <= most; ++precision) {
    snprintf(digits, sizeof(digits), "%.*e", precision - 1, x);
    if (is_single ? strtof(digits, NULL) == (float)x : strtod(digits, NULL) == x) break;
  }
  char *exponent_at = strchr(digits, 'e');
  int exponent = atoi(exponent_at + 1), count = 0;
  char plain[32];
  for (const char *at = digits; at < exponent_at; ++at) {
    if (isdigit((unsigned char)*at)) plain[count++] = *at;
  }
  const char *sign = digits[0] == '-' ? "-" : "";
  if (exponent < -4 || exponent >= 16) {
    snprintf(out, size, "%s%c%s%.*se%c%02d", sign, plain[0], count > 1 ? "." : "", count - 1, plain + 1,
             exponent < 0 ? '-' : '+', abs(exponent));
  } else if (exponent < 0) {
    snprintf(out, size, "%s0.%.*s%.*s", sign, -exponent - 1, "000", count, plain);
  } else if (count <= exponent + 1) {
    snprintf(out, size, "%s%.*s%.*s.0", sign, count, plain, exponent + 1 - count, "0000000000000000");
  } else {
    snprintf(out, size, "%s%.*s.%.*s", sign, exponent + 1, plain, count - exponent - 1, plain + exponent + 1);
  }
}

typedef enum { FROM_F32, FROM_F64, FROM_I64, FROM_U64, FROM_BOOL, PRINT_F64 } source_t;

static int32_t from_numbers(const byoc_call_t *call, source_t source) {
  const void *x = tensor(call, 0)->data;
  const char **out = result(call, 0)->data;
  int64_t count = count_of(result(call, 0));
  plain_locale_t plain;
  if (!enter_plain_locale(&plain)) return out_of_memory(call);
  int32_t status = BYOC_OK;
  for (int64_t i = 0; i < count && status == BYOC_OK; ++i) {
    char text[DBL_MAX_10_EXP + 16]; // a number with all its digits before the point, and six after it
    switch (source) {
    case FROM_F32:
      print_number(((const float *)x)[i], true, text, sizeof(text));
      break;
    case FROM_F64:
      print_number(((const double *)x)[i], false, text, sizeof(text));
      break;
    case FROM_I64:
      snprintf(text, sizeof(text), "%lld", (long long)((const int64_t *)x)[i]);
      break;
    case FROM_U64:
      snprintf(text, sizeof(text), "%llu", (unsigned long long)((const uint64_t *)x)[i]);
      break;
    case FROM_BOOL:
      snprintf(text, sizeof(text), "%s", ((const uint8_t *)x)[i] != 0 ? "True" : "False");
      break;
    case PRINT_F64:
      snprintf(text, sizeof(text), "%f", ((const double *)x)[i]);
      break;
    }
    out[i] = copy(call, text, strlen(text));
    if (out[i] == NULL) status = out_of_memory(call);
  }
  leave_plain_locale(&plain);
  return status;
}

int32_t byoc_text_from_f32(const byoc_call_t *call) {
  return from_numbers(call, FROM_F32);
}
int32_t byoc_text_from_f64(const byoc_call_t *call) {
  return from_numbers(call, FROM_F64);
}
int32_t byoc_text_from_i64(const byoc_call_t *call) {
  return from_numbers(call, FROM_I64);
}
int32_t byoc_text_from_u64(const byoc_call_t *call) {
  return from_numbers(call, FROM_U64);
}
int32_t byoc_text_from_bool(const byoc_call_t *call) {
  return from_numbers(call, FROM_BOOL);
}
int32_t byoc_text_print_f64(const byoc_call_t *call) {
  return from_numbers(call, PRINT_F64);
}

static int32_t no_number(const byoc_call_t *call, const char *text) {
  char message[128];
  snprintf(message, sizeof(message), "'%.80s' is not a number", text);
  return fail(call, BYOC_INVALID_ARGUMENT, message);
}

static bool is_end(const char *begin, const char *end) {
  if (end == begin) return false;
  while (is_blank(*end)) ++end;
  return *end == '\0';
}

int32_t byoc_text_to_f64(const byoc_call_t *call) {
  double *out = result(call, 0)->data;
  int64_t count = count_of(result(call, 0));
  plain_locale_t plain;
  if (!enter_plain_locale(&plain)) return out_of_memory(call);
  int32_t status = BYOC_OK;
  for (int64_t i = 0; i < count && status == BYOC_OK; ++i) {
    const char *text = text_at(tensor(call, 0), i);
    char *end = NULL;
    out[i] = strtod(text, &end);
    if (!is_end(text, end)) status = no_number(call, text);
  }
  leave_plain_locale(&plain);
  return status;
}

int32_t byoc_text_to_i64(const byoc_call_t *call) {
  int64_t *out = result(call, 0)->data;
  int64_t count = count_of(result(call, 0));
  for (int64_t i = 0; i < count; ++i) {
    const char *text = text_at(tensor(call, 0), i);
    char *end = NULL;
    errno = 0;
    out[i] = strtoll(text, &end, 10);
    if (!is_end(text, end) || errno == ERANGE) return no_number(call, text);
  }
  return BYOC_OK;
}

byoc_packed_function_t byoc_text_find(const char *symbol) {
  static const struct {
    const char *symbol;
    byoc_packed_function_t function;
  } functions[] = {
#define BYOC_TEXT_ENTRY(name) {"byoc_text_" #name, byoc_text_##name},
      BYOC_TEXT_LIST(BYOC_TEXT_ENTRY)
#undef BYOC_TEXT_ENTRY
  };
  for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); ++i) {
    if (strcmp(functions[i].symbol, symbol) == 0) return functions[i].function;
  }
  return NULL;
}
