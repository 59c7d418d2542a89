#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# test_readmes.sh REPOSITORY: each folder of core and plugins that holds sources has a README.md of at most 25 lines of 120
# columns, which names each source file and sub-folder of it, and no file that is not there.
# The page of core may be longer: it has the tree of all layers.
# `x.[ch]` names x.c and x.h; a sub-folder is named with a slash behind it. Other folders' files are named by their paths.
set -euo pipefail
cd "$1"
most_lines=25
most_columns=120
folders() {
  find core plugins/* -name source_folder -prune -o -path 'plugins/*/tests' -prune -o -type d -print | sort
}

# What the page on standard input names, one a line: source files, and folders with a slash behind them. A path names
# nothing of this folder.
named_files() {
  { grep -oP '(?<![\w/.])\w+\.(\[ch\]|c|h|def)(?!\w)' || true; } | sed -E 's/^(.*)\.\[ch\]$/\1.c\n\1.h/' | sort -u
}
named_folders() {
  { grep -oP '(?<![\w/.])\w+/(?!\w)' || true; } | sort -u
}

complaints() {
  local -r folder=$1 page=$1/README.md
  local -r files=$(find "$folder" -maxdepth 1 -type f \( -name '*.c' -o -name '*.h' -o -name '*.def' \) -printf '%f\n' | sort)
  local -r below=$(find "$folder" -type f \( -name '*.c' -o -name '*.h' -o -name '*.def' \) -printf '%f\n' | sort -u)
  local -r children=$(find "$folder" -mindepth 1 -maxdepth 1 -type d -printf '%f/\n' | sort)
  [[ -n $below ]] || return 0
  if [[ ! -f $page ]]; then
    echo "$folder: there is no README.md"
    return
  fi
  local -r lines=$(wc -l < "$page")
  [[ $folder == core ]] || ((lines <= most_lines)) || echo "$page: $lines lines; at most $most_lines are wanted"
  { grep -nP "^.{$((most_columns + 1)),}" "$page" || true; } | sed -E "s|^([0-9]+):.*|$page:\1: more than $most_columns columns|"
  comm -23 <(echo "$files") <(named_files < "$page") | sed "/^$/d; s|.*|$page: does not name &|"
  comm -23 <(echo "$children") <(named_folders < "$page") | sed "/^$/d; s|.*|$page: does not name &|"
  comm -13 <(echo "$below") <(named_files < "$page") | sed "/^$/d; s|.*|$page: names &, which is not there|"
}

export LC_ALL=C.UTF-8
found=$(folders | while IFS= read -r folder; do complaints "$folder"; done)
[[ $(folders | wc -l) -gt 20 ]] || found+="only $(folders | wc -l) folders were found"
printf '%s' "${found:+$found
}"
[[ -z $found ]]
