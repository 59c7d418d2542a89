// SPDX-License-Identifier: Apache-2.0
// Flags of compilers in the Makefile of an artifact that is C source: quoted for make and for the shell.
#include <ctype.h>
#include <string.h>

#include "core/compose/artifact/source_writer.h"

byoc_status_t byoc_source_check_flags(const char *const *flags, size_t count, byoc_diag_t *diag) {
  for (size_t i = 0; i < count; i++) {
    if (strpbrk(flags[i], "\r\n") == NULL) continue;
    return byoc_diag_error(diag, BYOC_UNSUPPORTED,
                           "the compiler's flag %zu, '%.64s', is more than one line, which a Makefile "
                           "cannot hold",
                           i, flags[i]);
  }
  return BYOC_OK;
}

static bool is_plain(const char *flag) {
  for (const char *c = flag; *c != '\0'; c++) {
    if (!isalnum((unsigned char)*c) && strchr("-_+=./,:@%", *c) == NULL) return false;
  }
  return flag[0] != '\0';
}

// make reads "$" as the beginning of a variable, and "#" as that of a comment unless a backslash stands before it. It
// takes one of two backslashes before a "#".
static void append_for_make(char c, size_t *backslashes, byoc_string_t *out) {
  if (c == '$') byoc_string_append(out, "$");
  for (size_t i = 0; c == '#' && i < *backslashes + 1; i++) byoc_string_append(out, "\\");
  byoc_string_append_bytes(out, &c, 1);
  *backslashes = c == '\\' ? *backslashes + 1 : 0;
}

static void append_flag(const char *flag, byoc_string_t *out) {
  size_t backslashes = 0;
  if (is_plain(flag)) {
    byoc_string_append(out, flag);
    return;
  }
  byoc_string_append(out, "'");
  for (const char *c = flag; *c != '\0'; c++) {
    if (*c == '\'') {
      byoc_string_append(out, "'\\''");
      backslashes = 0;
    } else {
      append_for_make(*c, &backslashes, out);
    }
  }
  byoc_string_append(out, "'");
}

void byoc_source_append_flags(const char *const *flags, size_t count, byoc_string_t *out) {
  for (size_t i = 0; i < count; i++) {
    if (i > 0) byoc_string_append(out, " ");
    append_flag(flags[i], out);
  }
}
