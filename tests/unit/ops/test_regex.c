// Patterns of RE2 as POSIX ones: the same texts match, and what has no such form is refused by name.
#include <regex.h>

#include "core/ops/regex.h"
#include "tests/support/support.h"

static bool matches(const char *pattern, const char *text) {
  byoc_string_t translated;
  byoc_string_init(&translated, byoc_allocator_system());
  char reason[BYOC_REGEX_REASON_SIZE];
  if (!byoc_regex_translate(pattern, &translated, reason)) fail_msg("%s: %s", pattern, reason);
  regex_t compiled;
  if (regcomp(&compiled, translated.data, REG_EXTENDED | REG_NOSUB) != 0) fail_msg("%s: %s", pattern, translated.data);
  bool found = regexec(&compiled, text, 0, NULL, 0) == 0;
  regfree(&compiled);
  byoc_string_deinit(&translated);
  return found;
}

static void whole_texts_match(void **state) {
  (void)state;
  assert_true(matches("a|bc", "bc"));
  assert_false(matches("a|bc", "xbc"));
  assert_true(matches("www\\.[\\w.-]+\\.com", "www.a-b.example.com"));
  assert_false(matches("www\\.[\\w.-]+\\.com", "wwwxa.com"));
  assert_true(matches("(?:ab)+\\d{2}", "abab12"));
  assert_true(matches("\\S+@[^@\\s]+", "a@b"));
  assert_false(matches("\\S+@[^@\\s]+", "a@b c"));
  assert_true(matches("[^\\]x]\\[", "a["));
  assert_true(matches("\\bcom\\b", "com"));
  assert_true(matches("", ""));
}

static void characters_are_more_than_bytes(void **state) {
  (void)state;
  assert_true(matches("caf.", "caf\xc3\xa9"));
  assert_true(matches("\xc3\xa9{2}", "\xc3\xa9\xc3\xa9"));
  assert_true(matches("[^a]", "\xe2\x82\xac"));
  assert_false(matches(".", "\n"));
}

static void the_rest_is_refused(void **state) {
  (void)state;
  static const char *const patterns[] = {"a*?",         "(?i)a",      "\\zx",     "\\p{L}",
                                         "[[:alpha:]]", "[\xc3\xa9]", "(?P<n>a)", "["};
  for (size_t i = 0; i < sizeof(patterns) / sizeof(patterns[0]); ++i) {
    byoc_string_t translated;
    byoc_string_init(&translated, byoc_allocator_system());
    char reason[BYOC_REGEX_REASON_SIZE];
    if (byoc_regex_translate(patterns[i], &translated, reason)) fail_msg("%s", patterns[i]);
    assert_non_null(strstr(reason, "not supported at '"));
    byoc_string_deinit(&translated);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(whole_texts_match),
      cmocka_unit_test(characters_are_more_than_bytes),
      cmocka_unit_test(the_rest_is_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
