#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Does tools/link-graph see what it is there for? Small trees of sources and objects, each with one fault.
# Usage: test_link_graph.sh LINK_GRAPH C_COMPILER
set -euo pipefail
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
mkdir -p "$tree"/{core,plugins,tools} "$tree"/build/{core,plugins,tools}
cp "$1" "$tree/tools/link-graph"
printf 'core/base\ncore/ir\n' >"$tree/build/rooms.txt"

# source FILE OBJECT_FOLDER TEXT: a source and its object, where CMake would put it.
source_file() {
  local object=$tree/build/$2/$(basename "$1").o
  mkdir -p "$tree/$(dirname "$1")" "$tree/build/$2"
  printf '%s\n' "$3" >"$tree/$1"
  "$compiler" -I"$tree" -c -o "$object" "$tree/$1"
}

# expect CODE TEXT: what the check of the tree exits with and says.
expect() {
  local code=0 output
  output=$("$tree/tools/link-graph" "$tree/build" 2>&1) || code=$?
  if [[ $code -ne $1 || $output != *"$2"* ]]; then
    printf 'expected exit code %s and "%s", got %s and:\n%s\n' "$1" "$2" "$code" "$output" >&2
    exit 1
  fi
}

compiler=$2
base=core/CMakeFiles/byoc_base.dir/base ir=core/CMakeFiles/byoc_ir.dir/ir
expect 2 "holds no objects"

source_file core/base/low.c $base 'int byoc_low(void) { return 0; }'
source_file core/ir/high.c $ir 'int byoc_low(void); int byoc_high(void) { return byoc_low(); }'
source_file tools/byoc/main.c tools/CMakeFiles/byoc.dir/byoc 'int byoc_high(void); int main(void) { return byoc_high(); }'
expect 0 "3 objects, 2 rooms of core, 0 circles between files, 0 faults"

source_file core/base/up.c $base 'int byoc_high(void); int byoc_up(void) { return byoc_high(); }'
expect 1 "core/base/up -> core/ir/high: byoc_high; core/ir stands above core/base"

rm "$tree/core/base/up.c" # its object, left behind, does not count
expect 0 "3 objects"

echo 'int byoc_high(void);' >"$tree/core/ir/high.h"
source_file core/base/reader.c $base '#include "core/ir/high.h"'
expect 1 'core/base/reader -> core/ir/high: #include "core/ir/high.h"; core/ir stands above core/base'
rm "$tree/core/base/reader.c"

source_file plugins/own/hook.c plugins/own/CMakeFiles/own.dir 'int byoc_low(void); int hook(void) { return byoc_low(); }'
expect 1 "plugins/own/hook -> core/base/low: byoc_low; plugins/own may use nothing of core"
rm "$tree/plugins/own/hook.c"

printf 'plugins/own/low\nplugins/own/high\n' >"$tree/build/plugin_folders.txt"
own=plugins/own/CMakeFiles/own.dir
source_file plugins/own/low/leaf.c $own/low 'int leaf(void) { return 0; }'
source_file plugins/own/high/tree.c $own/high 'int leaf(void); int tree(void) { return leaf(); }'
source_file plugins/own/hook.c $own 'int leaf(void); int tree(void); int hook(void) { return leaf() + tree(); }'
expect 0 "6 objects, 2 rooms of core, 0 circles between files, 0 faults"
source_file plugins/own/low/root.c $own/low 'int tree(void); int root(void) { return tree(); }'
expect 1 "plugins/own/low/root -> plugins/own/high/tree: tree; plugins/own/high stands above plugins/own/low"
echo 'int tree(void);' >"$tree/plugins/own/high/tree.h"
echo '#include "high/tree.h"' >"$tree/plugins/own/low/root.c"
expect 1 'plugins/own/low/root -> plugins/own/high/tree: #include "plugins/own/high/tree.h"; plugins/own/high stands above'
rm -r "$tree/plugins/own/low/root.c"

source_file plugins/common/shared.c plugins/common/CMakeFiles/common.dir 'int shared; '
source_file plugins/own/hook.c $own 'extern int shared; int hook(void) { return shared; }'
expect 0 "7 objects"
source_file plugins/other/hook.c plugins/other/CMakeFiles/other.dir 'int leaf(void); int other(void) { return leaf(); }'
expect 1 "plugins/other/hook -> plugins/own/low/leaf: leaf; plugins/other may not use plugins/own"
rm -r "$tree"/plugins/{own,other,common} "$tree/build/plugin_folders.txt"

source_file tools/other/main.c tools/CMakeFiles/other.dir/other 'int byoc_table; '
source_file tools/byoc/more.c tools/CMakeFiles/byoc.dir/byoc 'extern int byoc_table; int more(void) { return byoc_table; }'
expect 1 "tools/byoc/more -> tools/other/main: byoc_table; tools/byoc may not use tools/other"
rm "$tree/tools/byoc/more.c"

source_file tools/common/shared.c tools/CMakeFiles/common.dir/common 'int byoc_shared; '
source_file tools/byoc/more.c tools/CMakeFiles/byoc.dir/byoc 'extern int byoc_shared; int more(void) { return byoc_shared; }'
expect 0 "6 objects"
rm "$tree/tools/byoc/more.c"

source_file core/attic/old.c core/CMakeFiles/byoc_attic.dir/attic 'int byoc_old(void) { return 0; }'
expect 1 "core/attic/old: core/attic is not in the list of rooms in core/CMakeLists.txt"
rm "$tree/core/attic/old.c"

source_file core/base/first.c $base 'int byoc_second(void); int byoc_first(void) { return byoc_second(); }'
source_file core/base/second.c $base 'int byoc_first(void); int byoc_second(void) { return byoc_first(); }'
expect 1 "core/base/first core/base/second: a circle; cut it, or give its reason"
echo 'core/base: second first | they are one' >"$tree/tools/link-graph.circles"
expect 0 "circle of 2 files: core/base/first core/base/second: they are one"

# With a reason or without: a circle of six is too large.
for k in 1 2 3 4 5 6; do
  source_file core/ir/ring$k.c $ir "int byoc_ring$((k % 6 + 1))(void); int byoc_ring$k(void) { return byoc_ring$((k % 6 + 1))(); }"
done
echo 'core/ir: ring1 ring2 ring3 ring4 ring5 ring6 | a reason' >>"$tree/tools/link-graph.circles"
expect 1 "a circle of 6 files is too large"
rm "$tree"/core/ir/ring*.c
expect 1 "there is no such circle any more"
