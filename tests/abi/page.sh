#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The reference page has every struct of the manifest, with what its header says of it. usage: page.sh MANIFEST PAGE
set -euo pipefail
manifest=$1 page=$2
failed=0
complain() {
  echo "$*"
  failed=1
}
count=0
while read -r type; do
  count=$((count + 1))
  grep -qx "### $type" "$page" || complain "$type is missing"
done < <(awk -F'[(,] *' '/^BYOC_ABI_STRUCT\(/ { print $2 }' "$manifest")
[[ $(grep -c '^### ' "$page") -eq $count ]] || complain "there are headings of no struct"
! grep -q '^`not declared`' "$page" || complain "a struct was not found in its header"
[[ $(grep -c '^`byoc/dlpack.h`' "$page") -eq 3 ]] || complain "a struct was not found in its header"
row() { grep -F "| \`$1\` |" "$page" | grep -qF "$2" || complain "the row of $1 does not say '$2'"; }
row prepare 'optional; 0: no preparation | Since minor 1; optional. Called before generate'
row maximum 'INT; both 0: any'          # two fields in one declaration
row create_node 'Inserts an operator before `before`' # a declaration of several lines
row grid 'work-groups along each axis'  # an array
row BYOC_OPTION_CPU '| `6` | 4 |'
row BYOC_OPTION_PRECISION '| `7` | 5 |'
exit "$failed"
