#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What tools/install-deps installs for a build is what the Debian packages are built with, but for what each Debian build has.
# usage: test_debian.sh SOURCE_FOLDER
set -euo pipefail
cd "$1"
installed=$(sed -n '/^build_packages=(/,/)/p' tools/install-deps | sed 's/^build_packages=(//; s/)//' | tr -s ' ' '\n' |
  sed '/^$/d' | grep -vxE 'gcc|libc6-dev|binutils' | sort)
needed=$(sed -n '/^Build-Depends:/,/^[^ ]*:/{s/^ \([^ ,]*\).*/\1/p}' debian/control |
  grep -vxE 'debhelper-compat|dh-python|pybuild-plugin-pyproject|python3-all|python3-setuptools' | sort)
[[ -n $installed && $installed == "$needed" ]] && exit 0
echo "packages of tools/install-deps build (<) are not those of debian/control (>):"
diff <(echo "$installed") <(echo "$needed")
