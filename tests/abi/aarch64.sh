#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The manifest's numbers hold on AArch64 too: the assertions are compiled for it, by a cross compiler or by clang with its
# own headers and declarations of what byoc/verify.h uses of libc. Returns 77 where there is neither. usage: aarch64.sh WORK
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
work=$1
assertions=$root/core/plugin/abi_layout.c
if command -v aarch64-linux-gnu-gcc >/dev/null && echo '#include <stdio.h>' | aarch64-linux-gnu-gcc -E - >/dev/null 2>&1; then
  exec aarch64-linux-gnu-gcc -std=c11 -I"$root/include" -fsyntax-only "$assertions"
fi
command -v clang >/dev/null || { echo "skipped: there is no compiler for AArch64 (Debian: gcc-aarch64-linux-gnu, clang)"; exit 77; }
mkdir -p "$work/stand_in/sys"
cat >"$work/stand_in/libc.h" <<'C'
#pragma once
#include <stddef.h>
#define SEEK_SET 0
#define SEEK_END 2
#define _IONBF   2
typedef struct FILE FILE;
struct stat { long st_size; unsigned st_mode; };
#define S_ISREG(mode) ((mode) != 0)
extern int errno;
C
for header in errno string stdio stdlib sys/stat; do echo '#include <libc.h>' >"$work/stand_in/$header.h"; done
exec clang --target=aarch64-linux-gnu -std=c11 -w -Wno-implicit-function-declaration -ffreestanding -nostdlibinc -I"$root/include" -I"$work/stand_in" \
  -fsyntax-only "$assertions"
