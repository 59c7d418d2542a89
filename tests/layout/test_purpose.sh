#!/usr/bin/env bash
# Each C file of the product opens with a line that says what the file is for. usage: test_purpose.sh SOURCE_FOLDER
set -euo pipefail
cd "$1"
failed=0
while IFS= read -r file; do
  IFS= read -r first < "$file" || true
  [[ $first == "// "* ]] && continue
  echo "$file: the first line does not say what the file is for"
  failed=1
done < <(find core plugins tools -name '*.c')
exit "$failed"
