#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# test_pages.sh REPOSITORY: links between the pages lead to files that exist, and the README leads to each page of docs.
set -euo pipefail
cd "$1"
bad=0
checked=0
while IFS= read -r page; do
  while IFS= read -r target; do
    ((++checked))
    path=$(dirname "$page")/${target%%#*}
    [[ -e $path ]] || { echo "$page: the link to '$target' leads nowhere"; bad=1; }
  done < <(grep -oE '\]\([^)]+\)' "$page" | sed -E 's/^\]\(//; s/\)$//' | grep -vE '^(https?:|#)')
done < <(find . -name '*.md' -not -path './build*' -not -path './.git/*' -not -path './tests/hostile/*')
for page in docs/*.md; do
  grep -qF "]($page)" README.md || { echo "README.md does not lead to $page"; bad=1; }
done
[[ $checked -gt 20 ]] || { echo "only $checked links were found"; exit 1; }
exit $bad
