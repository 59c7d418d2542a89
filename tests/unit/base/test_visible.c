// SPDX-License-Identifier: Apache-2.0
// What is not safe to show is escaped, wherever text from models is printed.
#include "tests/support/support.h"

#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

#include "core/base/json.h"
#include "core/base/visible.h"

static const struct {
  const char *text, *shown, *c, *json;
} rows[] = {
    {"plain name:0", "plain name:0", "\"plain name:0\"", "\"plain name:0\""},
    {"\x1b[31m", "\\x1b[31m", "\"\\033[31m\"", "\"\\u001b[31m\""},
    {"a\nb\tc", "a\\x0ab\\x09c", "\"a\\nb\\tc\"", "\"a\\nb\\tc\""},
    {"\x7f", "\\x7f", "\"\\177\"", "\"\\u007f\""},
    {"\u202Egpj", "\\u{202E}gpj", "\"\\342\\200\\256gpj\"", "\"\\u202egpj\""},
    {"a\u2066b\u2069", "a\\u{2066}b\\u{2069}", "\"a\\342\\201\\246b\\342\\201\\251\"", "\"a\\u2066b\\u2069\""},
    {"\u200Bx\uFEFF", "\\u{200B}x\\u{FEFF}", "\"\\342\\200\\213x\\357\\273\\277\"", "\"\\u200bx\\ufeff\""},
    {"\xc2\x9bm", "\\u{009B}m", "\"\\302\\233m\"", "\"\\u009bm\""},
    {"\U000E0041", "\\u{E0041}", "\"\\363\\240\\201\\201\"", "\"\\udb40\\udc41\""},
    {"gr\u00f6\u00dfe \u4f60\u597d", "gr\u00f6\u00dfe \u4f60\u597d", "\"gr\u00f6\u00dfe \u4f60\u597d\"",
     "\"gr\u00f6\u00dfe \u4f60\u597d\""},
    {"?\?/", "?\?/", "\"\\?\\?/\"", "\"?\?/\""},
    {"\xff\xc0\x80", "\\xff\\xc0\\x80", "\"\\377\\300\\200\"", NULL},
    {"\xed\xa0\x80", "\\xed\\xa0\\x80", "\"\\355\\240\\200\"", NULL}, // a surrogate
    {"\xe2\x80", "\\xe2\\x80", "\"\\342\\200\"", NULL},               // cut short
};
enum { ROWS = sizeof(rows) / sizeof(rows[0]) };

static void names_are_escaped(void **state) {
  (void)state;
  for (size_t i = 0; i < ROWS; ++i) {
    byoc_string_t out;
    byoc_string_init(&out, byoc_allocator_system());
    byoc_string_append_shown(&out, rows[i].text);
    assert_string_equal(out.data, rows[i].shown);
    byoc_string_clear(&out);
    byoc_string_append_c_quoted(&out, rows[i].text);
    assert_string_equal(out.data, rows[i].c);
    byoc_string_clear(&out);
    byoc_string_append_quoted(&out, rows[i].text);
    if (rows[i].json != NULL) assert_string_equal(out.data, rows[i].json);
    byoc_string_deinit(&out);
  }
}

static void json_is_escaped_and_reads_back(void **state) {
  (void)state;
  for (size_t i = 0; i < ROWS; ++i) {
    if (rows[i].json == NULL) continue;
    json_t *value = byoc_json_string(rows[i].text);
    char *text = byoc_json_dump(value, JSON_ENCODE_ANY);
    assert_non_null(text);
    for (const char *at = text; *at != '\0'; ++at) assert_in_range((unsigned char)*at, ' ', 0xFF);
    assert_true(strcasecmp(text, rows[i].json) == 0);
    json_t *again = json_loads(text, JSON_DECODE_ANY, NULL);
    assert_string_equal(json_string_value(again), rows[i].text);
    json_decref(again);
    json_decref(value);
    free(text);
  }
  assert_null(byoc_json_dump(NULL, 0));
}

// What a function writes on a stream.
static char *written(void (*write)(FILE *stream)) {
  char *text = NULL;
  size_t size = 0;
  FILE *stream = open_memstream(&text, &size);
  assert_non_null(stream);
  write(stream);
  assert_int_equal(fclose(stream), 0);
  return text;
}

static void write_diagnostic(FILE *stream) {
  byoc_diag_t diag = {0};
  byoc_diag_error(&diag, BYOC_INVALID_DATA, "the name '%s' is odd", "\x1b[2J\nerror: all is well");
  byoc_diag_context(&diag, BYOC_INVALID_DATA, "reading %s", "\u202Exnno");
  byoc_diag_hint(&diag, "rename %s", "\a");
  byoc_diag_locate(&diag, "a\x1b.txt", "x \x1b\u202E = y\n", 7);
  byoc_diag_print(&diag, stream);
}

// A line of a name begins with spaces, so that it cannot pass for a message; the caret stays below its column.
static void diagnostics_are_escaped(void **state) {
  (void)state;
  char *text = written(write_diagnostic);
  byoc_test_same_text(text, "a\\x1b.txt:1:6: error: reading \\u{202E}xnno: the name '\\x1b[2J\n"
                            "  error: all is well' is odd\n"
                            "  x ?? = y\n"
                            "       ^\n"
                            "hint: rename \\x07\n");
  free(text);
}

static void width_counts_characters(void **state) {
  (void)state;
  assert_int_equal(byoc_shown_width(""), 0);
  assert_int_equal(byoc_shown_width("gr\u00f6\u00dfe"), 5);
}

static void names_are_cut_between_characters(void **state) {
  (void)state;
  static const struct {
    const char *text;
    size_t width;
    const char *shown;
  } cuts[] = {
      {"abcdef", 6, "abcdef"},
      {"abcdefg", 6, "abc..."},
      {"gr\u00f6\u00dfer", 6, "gr\u00f6\u00dfer"},
      {"\u4f60\u4f60\u4f60\u4f60\u4f60", 4, "\u4f60..."},
      {"a\x1b\x1b\x1b", 8, "a\\x1b..."},
      {"\n\n", 6, "..."},
      {"\n", 4, "\\x0a"},
      {"abcd", 3, "..."},
      {"", 3, ""},
  };
  for (size_t i = 0; i < sizeof(cuts) / sizeof(cuts[0]); ++i) {
    byoc_string_t out;
    byoc_string_init(&out, byoc_allocator_system());
    byoc_string_append_shown_cut(&out, cuts[i].text, cuts[i].width);
    assert_string_equal(out.data, cuts[i].shown);
    byoc_string_deinit(&out);
  }
}

// A message that is cut is cut between two characters.
static void messages_are_cut_between_characters(void **state) {
  (void)state;
  for (size_t ahead = 0; ahead < 3; ++ahead) {
    char name[4 * sizeof(((byoc_diag_t *)0)->message)] = "";
    memset(name, 'n', ahead);
    for (size_t i = ahead; i + 3 < sizeof(name) / 2; i += 3) memcpy(name + i, "\u4f60", 3);
    byoc_diag_t diag = {0};
    byoc_diag_error(&diag, BYOC_INVALID_DATA, "%s", name);
    size_t size = strlen(diag.message), at = 0;
    assert_true(byoc_ends_with(diag.message, "..."));
    for (uint32_t code; at < size;) {
      size_t length = byoc_utf8_decode(diag.message + at, size - at, &code);
      assert_true(length > 0);
      at += length;
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(names_are_escaped),
      cmocka_unit_test(json_is_escaped_and_reads_back),
      cmocka_unit_test(diagnostics_are_escaped),
      cmocka_unit_test(width_counts_characters),
      cmocka_unit_test(names_are_cut_between_characters),
      cmocka_unit_test(messages_are_cut_between_characters),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
