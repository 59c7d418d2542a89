#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# test_commit_hook.sh HOOKS: what git's hook for messages takes and refuses, in a repository of its own.
set -euo pipefail
command -v git > /dev/null || { echo "skipped: git is not installed"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export HOME=$work GIT_CONFIG_NOSYSTEM=1 GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b
unset GIT_DIR GIT_INDEX_FILE GIT_WORK_TREE
cd "$work"
git init -q .
git config core.hooksPath "$1"
bad=0

# takes MESSAGE and refuses MESSAGE SENTENCE: a commit with this message.
takes() {
  git commit -q --allow-empty -F - <<< "$1" 2> said || { echo "refused: '$1'"; cat said; bad=1; }
}
refuses() {
  if git commit -q --allow-empty -F - <<< "$1" 2> said; then
    echo "taken: '$1'"
    bad=1
  elif ! grep -qF "$2" said; then
    echo "said of '$1':"
    cat said
    bad=1
  fi
}

long=$(printf 'x%.0s' {1..72})
takes 'A short subject'
takes "$long"
takes $'A subject\n\nand a body with lines that are longer than seventy-two characters, as a table may need them.'
takes "$(printf 'é%.0s' {1..72})" # characters, not bytes
takes "Merge branch '$long'"
refuses "x$long" "the subject has 73 characters, and may have 72: '$long|x'"
refuses $'A subject\nand more of it' "the line below the subject is not empty: 'and more of it'"
[[ $(git log --format=%h | wc -l) -eq 5 ]] || { echo "there are other commits"; git log --format=%s; bad=1; }

# Comments of git's are no subject, and nothing below the scissors counts.
printf '\n# A comment that is longer than the seventy-two characters that a subject may have at most.\nA subject\n# c\n' > message
"$1/commit-msg" message || bad=1
printf 'A subject\n# ------------------------ >8 ------------------------\ndiff\n' > message
"$1/commit-msg" message || bad=1
exit $bad
