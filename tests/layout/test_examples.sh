#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The examples in headers compile. An example is the indented text below a comment line that says `Example:`; one with a
# function or an include stands in a file, any other in a function. What it takes from around it is in GIVEN: after a
# line `== PATTERN...` of paths, `#include`s and declarations. Calls that look like an example need that line.
# usage: test_examples.sh SOURCE_FOLDER GIVEN C_COMPILER [C_COMPILER_OPTION...]
set -euo pipefail
source=$1 given=$2
shift 2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# examples FILE: writes $work/N.c for the Nth example of the file, and tells of calls without the line `Example:`.
examples() {
  awk -v work="$work" -v file="$1" -v given="$work/given" '
    function indent(line) { match(line, /^ *\/\/ */); return RLENGTH }
    function opens_a_file(line) {
      if (line ~ /^(if|for|while|switch|else|[}])[ (]/) return 0
      if (line ~ /^(#include|extern) /) return 1
      return line ~ /^[A-Za-z_][A-Za-z0-9_]* [^(=]*[(].*(,|[)] [{])( *\/\/.*)?$/
    }
    function finish(  i, in_file, name, line, sections) {
      if (count == 0) return
      for (i = 1; i <= count; ++i) in_file = in_file || opens_a_file(lines[i])
      name = work "/" ++number ".c"
      while ((getline line < given) > 0) if (line ~ /^#define/) print line > name
      close(given)
      print "#include \"" file "\"" > name
      while ((getline line < given) > 0) if (line ~ /^#include/) print line > name
      close(given)
      if (!in_file) print "int32_t example(void);\nint32_t example(void) {" > name
      while ((getline line < given) > 0) {
        if (line == "==") { if (!in_file) { print "{" > name; ++sections } }
        else if (line !~ /^#/) print line > name
      }
      close(given)
      if (!in_file) print "{" > name
      print "#line " first " \"" file "\"" > name
      for (i = 1; i <= count; ++i) print lines[i] > name
      if (!in_file) { print "}" > name; for (i = 0; i < sections; ++i) print "}" > name; print "return 0;\n}" > name }
      close(name)
      count = 0
    }
    /^ *\/\/ +Example:$/ { finish(); marked = 1; first = FNR + 1; next }
    marked && count == 0 { margin = indent($0) }
    marked && (/^ *\/\/$/ || indent($0) >= margin) { lines[++count] = substr($0, margin + 1); next }
    { finish(); marked = 0 }
    /^ *\/\/   (.*[^a-z0-9_])?byoc_[a-z0-9_]+\(.*;( *\/\/.*)?$/ {
      print file ":" FNR ": code without a line \"Example:\" above it"
    }
    END { finish(); print number + 0 > (work "/count") }' "$source/$1"
}

# given_for FILE: the sections of GIVEN whose patterns match the path.
given_for() {
  local line pattern takes=0
  while IFS= read -r line; do
    if [[ $line == '== '* ]]; then
      takes=0
      for pattern in ${line#== }; do
        # shellcheck disable=SC2053
        [[ $1 == $pattern ]] && takes=1
      done
      [[ $takes -eq 1 ]] && echo ==
    elif [[ $takes -eq 1 && $line != '// '* ]]; then
      echo "$line"
    fi
  done < "$given"
}

set -f
bad=0 compiled=0
while IFS= read -r file; do
  given_for "$file" > "$work/given"
  examples "$file" > "$work/unmarked"
  [[ -s $work/unmarked ]] && { cat "$work/unmarked"; bad=1; }
  own=()
  if [[ $file == plugins/*/* ]]; then # a plugin includes its headers from its own folder on
    own=(-I"$source/plugins" -I"$source/$(cut -d/ -f1,2 <<< "$file")")
  fi
  for ((n = 1; n <= $(cat "$work/count"); ++n)); do
    ((++compiled))
    "$@" -std=gnu11 -D_GNU_SOURCE -fsyntax-only -I"$source" -I"$source/include" "${own[@]}" -Wall -Wextra -Werror -Wno-unused \
      -Wno-unused-parameter -Wno-uninitialized "$work/$n.c" 2> "$work/said" || { cat "$work/said"; bad=1; }
  done
done < <(cd "$source" && grep -rlE --include='*.h' --include='*.def' '^ *//   ' core include plugins tools tests | sort)
echo "$compiled examples"
[[ $compiled -gt 80 ]] || exit 1
exit $bad
