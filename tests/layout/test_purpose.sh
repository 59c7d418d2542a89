#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Each source file names its licence, and each C file of the product says in the next line what the file is for.
# usage: test_purpose.sh SOURCE_FOLDER
set -euo pipefail
cd "$1"
failed=0
while IFS= read -r file; do
  head -n 2 "$file" | grep -q 'SPDX-License-Identifier: Apache-2.0' && continue
  echo "$file: the first two lines have no SPDX-License-Identifier: Apache-2.0"
  failed=1
done < <(find core plugins tools include tests examples python cmake communicators .ci CMakeLists.txt Containerfile -type f -not -path 'tests/fuzz/seeds/*' \
           -not -path 'tests/fuzz/found/*' '(' -name '*.[ch]' -o -name '*.def' -o -name '*.cu' -o -name '*.rs' -o -name '*.js' -o -name '*.py' -o -name '*.sh' \
           -o -name '*.cmake' -o -name CMakeLists.txt -o -name Containerfile -o -name Makefile ')')
while IFS= read -r file; do
  [[ $(sed -n 2p "$file") == "// "* ]] && continue
  echo "$file: the second line does not say what the file is for"
  failed=1
done < <(find core plugins tools -name '*.c')
exit "$failed"
