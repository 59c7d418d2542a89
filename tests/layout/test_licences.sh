#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# test_licences.sh REPOSITORY: each package that tools/install-deps installs has its row in THIRD-PARTY.md, and no other has one.
set -euo pipefail
cd "$1"
installed=$(sed -n '/^[a-z]*_packages=(.*)$/{p;d}; /^[a-z]*_packages=(/,/)/p' tools/install-deps | sed 's/^[a-z]*_packages=(//; s/)//' | tr -s ' ' '\n' | sed '/^$/d' | sort)
listed=$(sed -n '/^| package/d; /^| ---/d; s/^| \([^|]*\) |.*/\1/p' THIRD-PARTY.md | tr -d ' ' | tr ',' '\n' | sort)
[[ -n $installed && -n $listed ]] || { echo "no packages found"; exit 1; }
if ! diff <(echo "$installed") <(echo "$listed"); then
  echo "'<': the package has no row in THIRD-PARTY.md. '>': tools/install-deps does not install the package."
  exit 1
fi
