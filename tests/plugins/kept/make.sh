#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds plugin.c with the headers of a minor: make.sh HEADERS OUT.so [FLAGS...]. HEADERS is a folder with byoc/, or a
# tarball of one. The kept binaries beside this file came from this repository's history by
#
#   for n in 1 2 3 4; do make.sh ../../abi/released/minor$n.tar.gz minor$n.so; done
#
# on Debian 12 (gcc 12, x86-64). They are never built again: that they run is the test.
set -euo pipefail
sources=$(cd "$(dirname "$0")" && pwd)
headers=$1 out=$2
shift 2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
if [[ -f $headers ]]; then
  tar -xzf "$headers" -C "$work"
  headers=$work
fi
flags=(-std=c11 -O1 -fPIC -fvisibility=hidden -fno-asynchronous-unwind-tables -Wall -Werror -I"$headers" "$@")
"${CC:-cc}" "${flags[@]}" -c "$sources/parts.c" -o "$work/parts.o"
strip --strip-debug "$work/parts.o"
"${CC:-cc}" "${flags[@]}" -shared -s -Wl,-z,defs -Wl,--build-id=none -DKEPT_PARTS="\"$work/parts.o\"" \
  "$sources/plugin.c" "$work/parts.o" -o "$out"
