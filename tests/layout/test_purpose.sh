#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Each source file names its licence, and each C file of the product says in the next line, in at least six words, what
# the file is for: the name of the file or of a pass is no purpose.
# usage: test_purpose.sh SOURCE_FOLDER
set -euo pipefail
cd "$1"

sources() {
  find core plugins tools include tests examples python cmake communicators .ci CMakeLists.txt Containerfile -type f \
    -not -path 'tests/fuzz/seeds/*' -not -path 'tests/fuzz/found/*' \
    '(' -name '*.[ch]' -o -name '*.def' -o -name '*.cu' -o -name '*.rs' -o -name '*.js' -o -name '*.py' -o -name '*.sh' \
    -o -name '*.cmake' -o -name CMakeLists.txt -o -name Containerfile -o -name Makefile ')' -size +0 -print0
}

# Lists what is missing. `wanted` is what the first two lines name somewhere, `second` what the second line begins with.
missing() {
  xargs -0 awk -v wanted="$1" -v second="$2" -v complaint="$3" '
    function tell() { if (file != "" && !found) print file ": " complaint }
    FNR == 1 { tell(); file = FILENAME; found = 0 }
    FNR <= 2 && wanted != "" && index($0, wanted) { found = 1 }
    FNR == 2 && second != "" && index($0, second) == 1 { found = 1 }
    END { tell() }'
}

# Lists purposes that say next to nothing: "Reading files.", "The host pass order-queues."
too_short() {
  xargs -0 awk '
    FNR == 2 && (split($0, words, " ") < 7 && $0 ~ /[.]$/ || $0 ~ /^[/][/] The ([a-z]+ )*pass [a-z-]+[.]$/) {
      print FILENAME ": the second line says too little: " $0
    }'
}

licences=$(sources | missing 'SPDX-License-Identifier: Apache-2.0' '' \
  'the first two lines have no SPDX-License-Identifier: Apache-2.0')
product() { find core plugins tools -name '*.[ch]' -not -path '*/templates/*' -print0; }
purposes=$(product | missing '' '// ' 'the second line does not say what the file is for'; product | too_short)
empty=$(find core plugins tools include tests -name '*.[ch]' -size 0 -printf '%p: the file is empty\n')
printf '%s' "${licences:+$licences
}${purposes:+$purposes
}${empty:+$empty
}"
[[ -z $licences$purposes$empty ]]
