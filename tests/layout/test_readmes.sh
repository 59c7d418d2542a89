#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# test_readmes.sh REPOSITORY: each folder of core and plugins that holds sources has a README.md of at most 25 lines of 120
# columns, which names each source file and sub-folder of it, and no file that its layer or plugin does not have.
# `x.[ch]` names x.c and x.h; a sub-folder is named with a final slash. A path names nothing of this folder.
set -euo pipefail
export LC_ALL=C.UTF-8
most_lines=25
most_columns=120

# Folders of the product. Sources of artifacts (source_folder) and tests of plugins are none.
folders() {
  find core/* plugins/* -name source_folder -prune -o -path 'plugins/*/tests' -prune -o -type d -print | sort
}

# The names in the page on standard input, one a line: source files, and folders with a final slash.
named_files() {
  { grep -oP '(?<![\w/.])\w+\.(\[ch\]|c|h|def)(?!\w)' || true; } | sed -E 's/^(.*)\.\[ch\]$/\1.c\n\1.h/' | sort -u
}
named_folders() {
  { grep -oP '(?<![\w/.])\w+/(?!\w)' || true; } | sort -u
}

sources() {
  find "$@" -type f \( -name '*.c' -o -name '*.h' -o -name '*.def' \) -printf '%f\n' | sort -u
}

check_folder() {
  local -r folder=$1 page=$1/README.md
  local files known children lines
  [[ -n $(sources "$folder") ]] || return 0
  if [[ ! -f $page ]]; then
    echo "$folder: there is no README.md"
    return
  fi
  files=$(sources "$folder" -maxdepth 1)
  known=$(sources "$(cut -d/ -f1-2 <<< "$folder")")
  children=$(find "$folder" -mindepth 1 -maxdepth 1 -type d -printf '%f/\n' | sort)
  lines=$(wc -l < "$page")
  ((lines <= most_lines)) || echo "$page: $lines lines; at most $most_lines are wanted"
  { grep -nP "^.{$((most_columns + 1)),}" "$page" || true; } | sed -E "s|^([0-9]+):.*|$page:\1: more than $most_columns columns|"
  comm -23 <(echo "$files") <(named_files < "$page") | sed "/^$/d; s|.*|$page: does not name &|"
  comm -23 <(echo "$children") <(named_folders < "$page") | sed "/^$/d; s|.*|$page: does not name &|"
  comm -13 <(echo "$known") <(named_files < "$page") | sed "/^$/d; s|.*|$page: names &, which does not exist|"
}

check() {
  folders | while IFS= read -r folder; do check_folder "$folder"; done
}

# A tree with each mistake, and each complaint about it.
made=$(mktemp -d)
trap 'rm -rf "$made"' EXIT
mkdir -p "$made"/core/{good/inner,bad/inner,bare} "$made"/plugins/one/tests
touch "$made"/core/good/{a.c,a.h,b.def} "$made"/core/{good,bad}/inner/c.c "$made"/core/bad/{a.c,a.h,d.c} \
  "$made"/core/bare/a.c "$made"/plugins/one/{a.c,tests/a.c}
echo 'a.[ch], b.def and inner/; core/bad/e.c' > "$made/core/good/README.md"
echo 'c.c' | tee "$made/core/good/inner/README.md" > "$made/core/bad/inner/README.md"
printf 'a.c gone.h%s' "$(printf '\n%.0s' {1..30}; printf 'x%.0s' {1..121})" > "$made/core/bad/README.md"
echo 'a.c tests/' > "$made/plugins/one/README.md"
diff - <(cd "$made" && check) <<'END'
core/bad/README.md: 30 lines; at most 25 are wanted
core/bad/README.md:31: more than 120 columns
core/bad/README.md: does not name a.h
core/bad/README.md: does not name d.c
core/bad/README.md: does not name inner/
core/bad/README.md: names gone.h, which does not exist
core/bare: there is no README.md
END

cd "$1"
found=$(check)
[[ $(folders | wc -l) -gt 20 ]] || found+="only $(folders | wc -l) folders were found"
printf '%s' "${found:+$found
}"
[[ -z $found ]]
