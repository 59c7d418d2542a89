#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A test is called after what it shows, and no file tells of an issue by its number. A test may begin with the row of
# tests/rows/rows.txt that it belongs to (test_h15_...).
# usage: test_names.sh SOURCE_FOLDER
set -euo pipefail
planted=$(mktemp -d)
trap 'rm -rf "$planted"' EXIT

# numbers FOLDER...: lines and files that have a number of the tracker.
numbers() {
  local kinds=(--include='*.'{c,h,cpp,def,cu,cl,py,rs,js,sh,cmake,md,txt,byoc,host,cases} --include=run --include=Makefile)
  grep -rnE "${kinds[@]}" --exclude-dir={build,.git,seeds,found} --exclude=test_names.sh \
    -e '\b(test|bench|case)_[0-9]+(_[0-9]+)*_[a-z]' -e '\b[Ii]ssues? *#?[0-9]' -e '\b[Tt]ickets? #?[0-9]' "$@" ||
    true
  find "$@" -name build -prune -o '(' -iname '*issue[0-9_-]*' -o -name 'test_[0-9]*' ')' \
    -printf '%p: the file is called after a number\n'
}

# rows FOLDER: names of tests that begin with a row, and the row that rows.txt lacks.
rows() {
  grep -rhoE --include='*.c' '\btest(_[abchp][0-9]+)+_' "$1/tests" | grep -oE '[abchp][0-9]+' | tr a-z A-Z | sort -u |
    while read -r row; do
      grep -q "^$row " "$1/tests/rows/rows.txt" || echo "tests are called after the row $row, which tests/rows/rows.txt lacks"
    done
}

# The check sees what it is for.
mkdir -p "$planted/tests/rows"
: > "$planted/tests/test_19.c"
echo 'A1 a row' > "$planted/tests/rows/rows.txt"
printf '%s\n' 'static void test_18_7_weights(void **state) {' '// Issue 14, item 6: values' '// Mutant of issue 12.' \
  'static void test_a1_is_a_row(void **state) {' 'static void test_c9_is_none(void **state) {' > "$planted/tests/bad.c"
[[ $(numbers "$planted" | wc -l) -eq 4 && $(rows "$planted" | wc -l) -eq 1 ]] || { echo 'the check is blind'; exit 1; }

cd "$1"
found=$(
  numbers core plugins tools include tests examples python cmake communicators docs .ci ./*.md
  rows .
)
printf '%s' "${found:+$found
}"
[[ -z $found ]]
