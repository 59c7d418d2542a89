#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What holds the ABI: compares public headers with their manifest, with the golden list of constants and with those of
# every released minor. usage: check.sh HEADERS RELEASED CONSTANTS WORK [GUARD...]
#
#   HEADERS     a folder with byoc/*.h and byoc/abi.def
#   RELEASED    a folder of minor<N>.tar.gz (tools/abi-release)
#   CONSTANTS   the golden list: name, value, first minor
#   WORK        a folder for what is built
#   GUARD       all, if none is given:
#     complete    every struct of the headers has rows in the manifest
#     manifest    layouts and types are those of the manifest
#     constants   every constant of the golden list has its value
#     kept        what the manifest of the last released minor says still holds
#     abidiff     the probe library is compatible with that of each released minor; without abidiff: skipped
#
# Prints a line per complaint and returns 1 if there is one. $CC is the compiler.
set -uo pipefail
sources=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$sources/../.." && pwd)
headers=$1 released=$2 golden=$3 work=$4
shift 4
guards=("$@")
[[ ${#guards[@]} -gt 0 ]] || guards=(complete manifest constants kept abidiff)
cc=${CC:-cc}
failed=0
mkdir -p "$work"

# complain GUARD: shows standard input as complaints.
complain() {
  local line
  while IFS= read -r line; do
    echo "$1: $line"
    failed=1
  done
}

compile() { "$cc" -std=c11 -I"$headers" -I"$root/include" "$@"; }
has_minor() { [[ -f $released/minor$1.tar.gz ]]; }

minor=$(awk '$1 == "#define" && $2 == "BYOC_ABI_MINOR" { print $3 }' "$headers/byoc/plugin.h")
last=0
while has_minor "$((last + 1))"; do last=$((last + 1)); done

# include_all FOLDER: writes an include of each header there that plugins and artifacts speak. libbyoc's own, compiler.h,
# has versions of its own (tests/unit/library).
include_all() {
  local header
  for header in "$1"/byoc/*.h; do
    [[ ${header##*/} == compiler.h ]] || echo "#include \"byoc/${header##*/}\""
  done
}

# unpack MINOR: the headers of a released minor, in $work/minor<N>.
unpack() {
  [[ $work/minor$1 -nt $released/minor$1.tar.gz ]] && return
  rm -rf "$work/minor$1" "$work/probe_$1.so"
  mkdir -p "$work/minor$1" && tar -xzf "$released/minor$1.tar.gz" -C "$work/minor$1"
}

# ---- complete ----

# The inline functions of byoc/verify.h work with these two, which cross no boundary.
internal="byoc_seal_hash_t byoc_seal_source_t"

check_complete() {
  local type
  find "$headers/byoc" -name '*.h' ! -name compiler.h -exec grep -hE '^(typedef )?struct byoc_[a-z0-9_]+_t \{' {} + |
    grep -oE 'byoc_[a-z0-9_]+_t' |
    while read -r type; do
      [[ " $internal " == *" $type "* ]] && continue
      grep -q "^BYOC_ABI_STRUCT($type," "$headers/byoc/abi.def" && continue
      echo "$type has no rows in byoc/abi.def: add those that 'tools/abi-rows $type' prints"
    done
}

# ---- manifest, kept ----

# The assertions that failed, or the first error if it is another one.
errors() { sed -nE 's/.*(static assertion failed|static_assert failed)[^"]*"(.*)"/\2/p; s/.* error: //p' | head -5; }

# The rows of a manifest, without comments and without the words that say what zero stands for.
rows() { sed -e 's/"[^"]*"//g' -e 's|^//.*||' "$1"; }

check_manifest() { compile -fsyntax-only "$root/core/plugin/abi_layout.c" 2>&1 | errors; }

check_kept() {
  [[ $last -gt 0 ]] || return 0
  unpack "$last"
  # Minors before 4 had no manifest; they are parts of the later ones.
  [[ -f $work/minor$last/byoc/abi.def ]] || return 0
  cp "$work/minor$last/byoc/abi.def" "$work/kept.def"
  include_all "$work/minor$last" >"$work/probe_headers.h"
  compile -I"$work" -fsyntax-only "$sources/kept.c" 2>&1 | errors
  if [[ $last -eq $minor ]] && ! cmp -s <(rows "$headers/byoc/abi.def") <(rows "$work/kept.def"); then
    echo "minor $minor is released, and its manifest has changed: additions go into the next minor"
  fi
}

# ---- constants ----

# list_constants FOLDER: each constant of the headers there with its value. Counts grow, and are left out.
list_constants() {
  local names
  include_all "$1" >"$work/all.c"
  names=$(
    {
      "$cc" -std=c11 -I"$1" -I"$root/include" -E -P "$work/all.c" | sed 's/"[^"]*"//g' | grep -oE '\bBYOC_[A-Z0-9_]+\b'
      "$cc" -std=c11 -I"$1" -I"$root/include" -E -dM "$work/all.c" |
        awk '$1 == "#define" && $2 ~ /^BYOC_[A-Z0-9_]+$/ && NF > 2 && $3 !~ /^__attribute__/ { print $2 }'
    } | grep -vE '_COUNT$|^BYOC_ABI_MINOR$' | sort -u
  )
  {
    cat "$work/all.c"
    cat <<'C'
#include <stdio.h>
static inline void show_text(const char *name, const char *text) { printf("%s \"%s\"\n", name, text); }
static inline void show_number(const char *name, long long number) { printf("%s %lld\n", name, number); }
#define SHOW(name) _Generic((name), char *: show_text, const char *: show_text, default: show_number)(#name, name);
int main(void) {
C
    for name in $names; do echo "SHOW($name)"; done
    echo "return 0; }"
  } >"$work/constants.c"
  "$cc" -std=c11 -w -I"$1" -I"$root/include" "$work/constants.c" -o "$work/constants" && "$work/constants"
}

check_constants() {
  list_constants "$headers" >"$work/constants.txt" || { echo "the constants cannot be listed"; return; }
  awk -v minor="$minor" -v is_released="$(has_minor "$minor" && echo 1)" '
    FNR == NR { value[$1] = $2; next }
    /^#/ { next }
    { known[$1] = 1 }
    $3 > minor { next }
    !($1 in value) { print $1 " is gone; it was " $2 " since minor " $3; next }
    value[$1] != $2 { print $1 " is " value[$1] "; it was " $2 " since minor " $3 }
    END {
      for (name in value) {
        if (name in known) continue
        if (is_released) print name " is new, and minor " minor " is released: it goes into the next minor"
        else print name " is not in tests/abi/constants.txt: add the line \"" name " " value[name] " " minor "\""
      }
    }' "$work/constants.txt" "$golden"
}

# ---- abidiff ----

# probe FOLDER MANIFEST MINOR NAME: builds the library of the structs that had been there in that minor.
probe() {
  include_all "$1" >"$work/probe_headers.h"
  awk -v minor="$3" -F'[(,] *' '/^BYOC_ABI_STRUCT\(/ && $5 + 0 <= minor + 0' "$2" >"$work/probe.def"
  "$cc" -std=c11 -g -O0 -fPIC -shared -I"$work" -I"$1" -I"$root/include" "$sources/probe.c" -o "$work/$4.so"
}

# Reads abidiff's report of changed types and prints what is more than a struct that grew at its end, as those may that
# the manifest says GROWS of.
incompatible() {
  awk -v growing="$1" -v minor="$2" '
    BEGIN { split(growing, names, " "); for (i in names) grows[names[i]] = 1 }
    /^(Leaf changes|Changed leaf types|Removed\/Changed\/Added)/ || /^ *$/ { next }
    /^[^ ]/ { # the type that the lines below are about
      about = $0
      is_growing = $1 == "'\''struct" && $2 in grows
      old_size = -1
      if (is_growing) next
    }
    is_growing && /^  type size changed from [0-9]+ to [0-9]+ / { old_size = $5; if ($7 + 0 > old_size + 0) next }
    is_growing && /^  [0-9]+ data member insertions?:$/ { next }
    is_growing && match($0, /, at offset [0-9]+ \(in bits\)/) {
      split(substr($0, RSTART, RLENGTH), word, " ")
      if (old_size >= 0 && word[4] + 0 >= old_size + 0) next
    }
    { sub(/ changed:$/, "", about); sub(/^ +/, ""); print "against minor " minor ": " about ": " $0 }'
}

check_abidiff() {
  local kept manifest growing status
  command -v abidiff >/dev/null || { echo "skipped: there is no abidiff (Debian: abigail-tools)" >&2; return; }
  growing=$(awk -F'[(,] *' '/^BYOC_ABI_STRUCT\(/ && $4 == "GROWS" { print $2 }' "$headers/byoc/abi.def")
  probe "$headers" "$headers/byoc/abi.def" "$minor" probe_today 2>&1 | errors
  for ((kept = 1; kept <= last && kept <= minor; kept++)); do
    unpack "$kept"
    manifest=$work/minor$kept/byoc/abi.def
    [[ -f $manifest ]] || manifest=$root/include/byoc/abi.def
    [[ -f $work/probe_$kept.so ]] || probe "$work/minor$kept" "$manifest" "$kept" "probe_$kept" 2>&1 | errors
    abidiff --no-added-syms --leaf-changes-only "$work/probe_$kept.so" "$work/probe_today.so" >"$work/abidiff.txt" 2>&1
    status=$?
    [[ $((status & 3)) -eq 0 ]] || { echo "abidiff fails:"; head -3 "$work/abidiff.txt"; }
    [[ $status -eq 0 ]] || incompatible "$(echo $growing)" "$kept" <"$work/abidiff.txt" | head -5
  done
}

for guard in "${guards[@]}"; do complain "$guard" < <("check_$guard"); done
exit "$failed"
