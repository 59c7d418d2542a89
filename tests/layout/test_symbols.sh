#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What libbyoc exports is what its Debian package promises. usage: test_symbols.sh LIBRARY SYMBOLS-FILE
set -euo pipefail
exported=$(nm -D --defined-only "$1" | awk '{ sub("@@", "@", $3); print $3 (index($3, "@") ? "" : "@" $3) }' | sort)
promised=$(awk '/^ / { print $1 }' "$2" | sort)
[[ -n $promised && $exported == "$promised" ]] && exit 0
echo "exported symbols (<) are not those of ${2##*/} (>); a symbol that goes needs another name of the library:"
diff <(echo "$exported") <(echo "$promised")
