// SPDX-License-Identifier: Apache-2.0
// RE2's patterns (core/ops/onnx/text/regex.h): a translation is one that the C library takes.
#include <regex.h>
#include <stdlib.h>

#include "core/ops/onnx/text/regex.h"
#include "tests/fuzz/fuzz.h"

enum { PATTERN_AT_MOST = 200, TRANSLATION_AT_MOST = 2000 }; // the C library takes very long for more

static void compile(const char *pattern, const byoc_string_t *translated) {
  regex_t regex;
  int error = regcomp(&regex, translated->data, REG_EXTENDED | REG_NOSUB);
  if (error == 0) {
    regfree(&regex);
  } else if (error != REG_ESPACE) {
    char reason[128];
    (void)regerror(error, &regex, reason, sizeof(reason));
    fuzz_fail("'%s' becomes '%s': %s", pattern, translated->data, reason);
  }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size > PATTERN_AT_MOST) return 0;
  char reason[BYOC_REGEX_REASON_SIZE] = "";
  char *pattern = fuzz_text(data, size);
  byoc_string_t translated;
  byoc_string_init(&translated, fuzz_allocator());
  bool is_translated = byoc_regex_translate(pattern, &translated, reason);
  if (!is_translated && reason[0] == '\0') fuzz_fail("no reason");
  if (is_translated && !translated.failed && translated.size <= TRANSLATION_AT_MOST) compile(pattern, &translated);
  byoc_string_deinit(&translated);
  free(pattern);
  return 0;
}
