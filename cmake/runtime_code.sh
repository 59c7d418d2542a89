#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Writes a C file that embeds the sources of an engine or a driver into a plugin, so that artifacts for other machines
# get them compiled (byoc_runtime_code_t of byoc/plugin.h). byoc_add_engine(... PORTABLE name) runs it; without CMake:
#
#   sh $(pkg-config --variable=runtime_code byoc-plugin) my_engine mine engine.c -- graph.h -- -O2 > code.c
#
#   extern const byoc_runtime_code_t my_engine_code[1]; // in the backend: .runtime_code = my_engine_code,
#       // .runtime_code_count = 1, .runtime_code_stride = sizeof(my_engine_code[0])
#
# `mine` is the name by which the plugin adds the engine, the driver or the static library. Then follow its sources, as
# paths below the working folder, behind -- what they include, and behind the next -- flags of the compiler.
set -eu
[ $# -ge 3 ] || { echo "usage: runtime_code.sh NAME MODULE source... [-- header... [-- flag...]]" >&2; exit 2; }
name=$1 module=$2
shift 2
kind=source
count=0
data= sources= headers= flags= flag_count=0
for file in "$@"; do
  if [ "$file" = -- ]; then
    case $kind in source) kind=header ;; *) kind=flag ;; esac
    continue
  fi
  if [ $kind = flag ]; then
    flags="$flags \"$file\","
    flag_count=$((flag_count + 1))
    continue
  fi
  case $file in /*) path=$file ;; *) path=$PWD/$file ;; esac
  [ -r "$path" ] || { echo "runtime_code.sh: there is no file '$file'" >&2; exit 1; }
  case $file in /* | ../* | *\ *) shown=${file##*/} ;; *) shown=${file#./} ;; esac
  symbol=${name}_code_$count
  data="$data
__asm__(\".pushsection .rodata.byoc_code, \\\"a\\\", %progbits\\n.globl $symbol\\n.hidden $symbol\\n$symbol:\\n\"
        \".incbin \\\"$path\\\"\\n.byte 0\\n.popsection\\n\");
extern const char $symbol[];"
  row="
    {BYOC_HEADER(byoc_file_content_t, 1), \"$shown\", NULL, $symbol, $(($(wc -c < "$path")))},"
  if [ $kind = source ]; then sources=$sources$row; else headers=$headers$row; fi
  count=$((count + 1))
done
[ -n "$sources" ] || { echo "runtime_code.sh: there are no sources" >&2; exit 1; }
# An array is never empty.
cat << END
// Written by byoc's runtime_code.sh.
#include "byoc/plugin.h"

#ifdef __cplusplus
extern "C" {
#endif
$data
static const byoc_file_content_t sources[] = {$sources
};
static const byoc_file_content_t headers[] = {$headers
    {BYOC_HEADER(byoc_file_content_t, 1), NULL, NULL, NULL, 0}};
static const char *const flags[] = {${flags}NULL};

extern const byoc_runtime_code_t ${name}_code[1];
const byoc_runtime_code_t ${name}_code[1] = {{BYOC_HEADER(byoc_runtime_code_t, 1), "$module", NULL, 0, 0, sources,
                                              sizeof(sources) / sizeof(sources[0]), sizeof(sources[0]), headers,
                                              sizeof(headers) / sizeof(headers[0]) - 1, sizeof(headers[0]),
                                              {flags, $flag_count}, {NULL, 0}}};

#ifdef __cplusplus
}
#endif
END
