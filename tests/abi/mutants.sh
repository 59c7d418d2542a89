#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Each change of mutants.txt is refused by check.sh, as if today's headers were those of a released minor: once as it is,
# and once by what stays if somebody changes the manifest along with the header (the golden constants, and the manifest
# and probe library of the released minor). usage: mutants.sh WORK
# One change of five is tried, or each if BYOC_TEST_LONG=1.
set -uo pipefail
sources=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$sources/../.." && pwd)
work=$1
rm -rf "$work"
mkdir -p "$work/base"
"$root/tools/abi-release" "$work/released" >"$work/tarball" || exit 1
# The minor as a released one has all those before it.
minor=$(basename "$(cat "$work/tarball")" .tar.gz) minor=${minor#minor}
for ((i = 1; i < minor; i++)); do cp -n "$root/tests/abi/released/minor$i.tar.gz" "$work/released/" || exit 1; done
"$sources/check.sh" "$root/include" "$work/released" "$sources/constants.txt" "$work/base" ||
  { echo "the headers as they are do not pass"; exit 1; }

guards=(manifest constants kept)
frozen=(constants kept)
layouts=0 by_abidiff=0 has_abidiff=0
command -v abidiff >/dev/null && has_abidiff=1 && guards+=(abidiff) && frozen+=(abidiff)

count=0 tried=0 failed=0
while IFS=$'\t' read -r header name program; do
  [[ $header == \#* || -z $header ]] && continue
  count=$((count + 1))
  [[ ${BYOC_TEST_LONG-} == 1 || $((count % 5)) -eq 1 ]] || continue
  tried=$((tried + 1))
  rm -rf "$work/mutant"
  mkdir -p "$work/mutant/build"
  cp -r "$root/include/byoc" "$work/mutant/"
  # What was built of the released minors serves all mutants.
  cp -r "$work"/base/minor* "$work"/base/probe_[0-9]*.so "$work/mutant/build/" 2>/dev/null
  sed -i -e "$program" "$work/mutant/byoc/$header"
  cmp -s "$work/mutant/byoc/$header" "$root/include/byoc/$header" && { echo "$name: changes nothing"; failed=1; continue; }
  echo "#include \"byoc/$header\"" >"$work/mutant/alone.c"
  "${CC:-cc}" -std=c11 -w -I"$work/mutant" -I"$root/include" -fsyntax-only "$work/mutant/alone.c" ||
    { echo "$name: does not compile, so that nobody could make this change"; failed=1; continue; }
  caught=() still=()
  for guard in "${guards[@]}"; do
    "$sources/check.sh" "$work/mutant" "$work/released" "$sources/constants.txt" "$work/mutant/build" "$guard" \
      >"$work/mutant/$guard.txt" 2>&1 && continue
    caught+=("$guard")
    [[ " ${frozen[*]} " == *" $guard "* ]] && still+=("$guard")
    [[ $guard == kept ]] && layouts=$((layouts + 1))
    [[ $guard == abidiff ]] && by_abidiff=$((by_abidiff + 1))
  done
  echo "$name: ${caught[*]:-SURVIVES}"
  [[ ${#still[@]} -gt 0 ]] || { echo "$name survives once the manifest is changed too"; failed=1; }
done <"$sources/mutants.txt"
# A field at the end of a struct, in the header and in the manifest: refused as a part of the released minor, welcome in
# the next one.
rm -rf "$work/mutant"
mkdir -p "$work/mutant/build"
cp -r "$root/include/byoc" "$work/mutant/"
size=$(sed -nE 's/^BYOC_ABI_STRUCT\(byoc_plugin_t, .*, ([0-9]+)\)$/\1/p' "$root/include/byoc/abi.def")
row="BYOC_ABI_FIELD(byoc_plugin_t, appended, $((minor + 1)), $size, 8, OPTIONAL, \"nothing\", void *)"
sed -i -e 's|^} byoc_plugin_t;|  void *appended;\n&|' "$work/mutant/byoc/plugin.h"
sed -i -E -e "s|^(BYOC_ABI_STRUCT\(byoc_plugin_t, .*, )$size\)|\1$((size + 8)))|" \
  -e "s|^BYOC_ABI_FIELD\(byoc_plugin_t, destroy,.*|&\n$row|" "$work/mutant/byoc/abi.def"
check_mutant() { "$sources/check.sh" "$work/mutant" "$work/released" "$sources/constants.txt" "$work/mutant/build" "$@"; }
[[ $(check_mutant kept) == *"additions go into the next minor"* ]] || { echo "the released minor takes a field"; failed=1; }
sed -i "s|^#define BYOC_ABI_MINOR .*|#define BYOC_ABI_MINOR $((minor + 1))|" "$work/mutant/byoc/plugin.h"
check_mutant || { echo "the next minor refuses a field"; failed=1; }

echo "$tried of $count mutants; the released manifest catches $layouts of them, abidiff $by_abidiff"
[[ $count -ge 30 ]] || { echo "fewer than 30 mutants"; failed=1; }
[[ $has_abidiff -eq 0 || $((by_abidiff * 2)) -ge $tried ]] || { echo "abidiff catches too few"; failed=1; }
exit "$failed"
