// SPDX-License-Identifier: Apache-2.0
// RE2 patterns translated to POSIX: the same texts match, and patterns without such a form are refused with a reason.
#include <regex.h>

#include "core/ops/onnx/text/regex.h"
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

static void expect_refused(const char *pattern, const char *part) {
  byoc_string_t translated;
  byoc_string_init(&translated, byoc_allocator_system());
  char reason[BYOC_REGEX_REASON_SIZE] = "";
  if (byoc_regex_translate(pattern, &translated, reason)) fail_msg("%.60s", pattern);
  if (strstr(reason, part) == NULL) fail_msg("%.60s: %s", pattern, reason);
  byoc_string_deinit(&translated);
}

// Such patterns ended the artifact, out of memory or of stack, when it ran.
static void large_patterns_are_refused(void **state) {
  (void)state;
  static char nested[2 * 30000 + 2];
  memset(nested, '(', 30000);
  nested[30000] = 'a';
  memset(nested + 30001, ')', 30000);
  expect_refused(nested, "a group inside of 1000 others is not supported");
  expect_refused("a{1001}", "more than 1000 repetitions");
  expect_refused("a{,30000}", "more than 1000 repetitions");
  expect_refused("a{2,99999999999999999999}", "more than 1000 repetitions");
  expect_refused("((a{1000}){1000}){1000}", "more than 2000 characters");
  expect_refused("(a{50}b?){50}", "more than 2000 characters");
  expect_refused("a{1000}b{1000}c", "more than 2000 characters");
  memset(nested + 29000, '(', 1000);
  nested[31001] = '\0';
  memset(nested + 30001, ')', 1000);
  assert_true(matches(nested + 29000, "a"));
  assert_true(matches("(a?){1000}(.?){1000}", "aaab"));
  assert_true(matches("a{2,}[{]1001", "aaa{1001"));
}

// Found by tests/fuzz: they closed the group around the whole pattern, so that "a)|(b" matched a part of a text, and
// what they repeated was not counted.
static void parentheses_without_group_are_refused(void **state) {
  (void)state;
  expect_refused("a)|(b", "a parenthesis that closes no group is not supported at ')|(b'");
  expect_refused("(((|\\B\\B)+))'?\\B\\B\\B)+)", "a parenthesis that closes no group");
  expect_refused(")", "a parenthesis that closes no group");
  assert_true(matches("a[)]|[(]b\\)", "(b)"));
}

// Found by tests/fuzz: the C library takes time without bound for assertions in loops.
static void repeated_assertions_are_refused(void **state) {
  (void)state;
  expect_refused("(((|(((|)'?\\B\\B\\B)+))'?\\B\\B\\B)+)", "a repetition of more than two of ^, $, \\b and \\B");
  expect_refused("((\\B|)*(\\B|)*)*", "a repetition of more than two");
  expect_refused("(((|(((|)'?)+|)'?)+\\B\\B)+)+", "a repetition of a repetition with ^, $, \\b or \\B");
  expect_refused("((a|)*\\b(b|)*)*", "a repetition of a repetition with ^, $, \\b or \\B is not supported at '*'");
  expect_refused("(\\ba)*(\\bb)*(\\bc)*(\\bd)*(\\be)*", "so many of ^, $, \\b and \\B are not supported");
  char many[33 * 4 + 1] = "";
  for (int i = 0; i < 33; ++i) strcat(many, "a\\b ");
  expect_refused(many, "so many");
  assert_true(matches("(\\bfoo\\b ?)+", "foo foo"));
  assert_true(matches("(\\ba *)*(\\bb *)*", "a a b"));
  many[32 * 4] = '\0';
  assert_false(matches(many, "a"));
}

// Found by tests/fuzz: the C library takes time without bound for loops around loops.
static void repetitions_of_repetitions_are_refused(void **state) {
  (void)state;
  char nested[4 * 33 + 2] = "";
  for (int i = 0; i < 33; ++i) nested[i] = '(';
  nested[33] = 'a';
  for (int i = 0; i < 33; ++i) memcpy(nested + 34 + 3 * i, "b)*", 4);
  expect_refused(nested, "a repetition of 32 others inside of one another is not supported at '*'");
  nested[strlen(nested) - 1] = '\0'; // one loop less
  assert_true(matches(nested, "abbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"));
  expect_refused("((((((((((((a)+)+)+)+)+)+)+)+)+)+)+)+", "more than 2000 characters");
  expect_refused("a**", "a repetition of a repetition is not supported at '*'");
  expect_refused("(a|b?*)", "a repetition of a repetition is not supported at '*)'");
  expect_refused("a{2}{3}", "a repetition of a repetition is not supported at '{3}'");
  expect_refused("a+{2,}", "a repetition of a repetition is not supported at '{2,}'");
  assert_true(matches("((((a*)*b+)*)?)*[*]*\\**", "aab***"));
}

// Found by tests/fuzz: the C library takes time without bound for loops over what may be empty.
static void repetitions_of_what_may_be_empty_are_simplified(void **state) {
  (void)state;
  assert_true(matches("((((((a|)+|)+|)+|)+|)+|)+", "aa"));
  assert_true(matches("((((((((((((a)*)*)+)+){0,})?)*)*)*){2,})*)+", "aaa"));
  assert_true(matches("((((((((((((a)*)*)+)+){0,})?)*)*)*){2,})*)+", ""));
  assert_false(matches("(((a|)+|b)+|){3,}c", "aba"));
  assert_true(matches("(((a|)+|b)+|){3,}c", "abac"));
  assert_true(matches("(((a|)+|b)+|){3,}c", "c"));
  assert_true(matches("(a*|b)*(a*b)+(|(a|b)*)+", "baab"));
  assert_false(matches("(a*b)+", ""));
  assert_false(matches("(a*b|c){2,}", "ab"));
  assert_true(matches("((a|)(b|)(c|)){2}", "cab"));
  expect_refused("((a|)*(b|)*(c|)*(d|)*(e|)*(f|)*(g|)*(h|)*(i|)*)*",
                 "more than eight repetitions without end of groups that may be empty");
  expect_refused("(a|)*(b|)*(c|)*(d|)*(e|)*(f|)*(g|)*(h|)*(i|)*", "more than eight repetitions without end of groups");
  assert_true(matches("(a|)*(b|)*(c|)*(d|)*(e|)*(f|)*(g|)*(h|)*", "aach"));
  expect_refused("(((a|)*){9}|)*", "more than eight repetitions without end of groups");
  expect_refused("(a|){2, 3}", "nvalid"); // not {2,}
  expect_refused("(a{2,}){3,2}", "nvalid");
}

static void what_does_not_compile_is_refused(void **state) {
  (void)state;
  expect_refused("(a", "nmatched");
  expect_refused("a{3,2}", "nvalid");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(whole_texts_match),
      cmocka_unit_test(characters_are_more_than_bytes),
      cmocka_unit_test(the_rest_is_refused),
      cmocka_unit_test(large_patterns_are_refused),
      cmocka_unit_test(repetitions_of_repetitions_are_refused),
      cmocka_unit_test(repetitions_of_what_may_be_empty_are_simplified),
      cmocka_unit_test(parentheses_without_group_are_refused),
      cmocka_unit_test(repeated_assertions_are_refused),
      cmocka_unit_test(what_does_not_compile_is_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
