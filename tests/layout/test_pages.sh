#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# test_pages.sh REPOSITORY: the README leads to each page of docs. (tests/pages/links.py checks where links lead.)
set -euo pipefail
cd "$1"
bad=0
for page in docs/*.md; do
  grep -qF "]($page)" README.md || { echo "README.md does not lead to $page"; bad=1; }
done
exit $bad
