#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The version of CMakeLists.txt is that of the Debian packages and of the Python package. usage: test_versions.sh SOURCE_FOLDER
set -euo pipefail
cd "$1"
version=$(sed -n 's/^  VERSION \([0-9.]*\)$/\1/p' CMakeLists.txt)
debian=$(sed -n '1s/^byoc (\([^)]*\)).*/\1/p' debian/changelog)
python=$(sed -n 's/^__version__ = "\(.*\)"$/\1/p' python/byoc/_version.py)
[[ -n $version && $debian == "$version" && $python == "$version" ]] && exit 0
echo "CMakeLists.txt has version '$version', debian/changelog '$debian', python/byoc/_version.py '$python'"
exit 1
