#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Finds lines of shell in tests that pass although a program in them failed: `! program | grep x`, and `program | grep x`
# where an exit code of 1 is expected. byoc_test_no_line (tests/support/command.h) and a file in between look at both.
# Usage: test_pipes.sh TESTS_FOLDER
set -euo pipefail
find "$1" -name harness -prune -o -name '*.[ch]' -print0 | xargs -0 awk '
  function tell(pattern, what) {
    while (match(text, pattern)) {
      printf "%s: %s: %s\n", file, what, substr(text, RSTART, RLENGTH)
      text = substr(text, RSTART + RLENGTH)
      found = 1
    }
  }
  function look(  whole) {
    gsub(/"[ \t]*\\?\1[ \t]*"/, "", text) # strings of several lines
    whole = text
    tell("[\" ;(]! +(byoc|readelf|nm|objdump|findmnt|\\./)[^\"|;&]*\\|[^|][^\"|;&]*", "`!` of a pipe")
    text = whole
    tell("byoc_test_shell\\([ \1]*1,[ \1]*\"[^\"]*[^|]\\| *(grep|wc|cmp|diff)[^\"]*", "1 expected of a pipe")
    text = whole
    tell("\\| *wc -l *\\| *grep -q?x 0", "a count of no lines")
  }
  FNR == 1 && file != "" { look() }
  FNR == 1 { file = FILENAME; text = "" }
  { text = text "\1" $0 }
  END { look(); exit found }'
