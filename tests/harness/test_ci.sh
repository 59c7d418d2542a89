#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Does .ci/run say what it did not do? A copy of it in a tree whose commands only write down that they ran.
# Usage: test_ci.sh CI_RUN
set -euo pipefail
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
mkdir -p "$tree"/{.ci,bin,tools,tests/python}
# The copy has a clock that stands still, but for what stops.
copy() {
  echo 0 >"$tree/clock"
  sed "s|\$\?SECONDS|\$(cat '$tree/clock')|g" "$1" >"$tree/.ci/run"
  chmod +x "$tree/.ci/run"
}
copy "$1"
cat >"$tree/bin/command" <<'EOF'
#!/usr/bin/env bash
# Fails where its name and arguments are in $FAILS, and is killed where they are in $DIES; as `timeout`, runs out of time
# where the command's are in $STOPS.
if [ "${0##*/}" = timeout ]; then
  left=$3
  shift 3 # -k 20 SECONDS
  case ",${STOPS-}," in *",$*,"*) echo $(($(cat "$CLOCK") + left)) >"$CLOCK" && exit 124 ;; esac
  exec "$@"
fi
case ",${DIES-}," in *",${0##*/} $*,"*) exit 137 ;; esac
echo "ran ${0##*/} $*"
[ "${0##*/} $*" != "test release" ] || echo "100% tests passed, 0 tests failed out of 1"
case ",${FAILS-}," in *",${0##*/} $*,"*) exit 1 ;; esac
EOF
chmod +x "$tree/bin/command"
for name in tools/test tools/link-graph tools/fuzz tests/python/wheel bin/cmake bin/timeout; do
  cp "$tree/bin/command" "$tree/$name"
done
export PATH=$tree/bin:$PATH CLOCK=$tree/clock

# run CODE: runs the copy, and expects this exit code.
run() {
  local code=0
  echo 0 >"$tree/clock"
  "$tree/.ci/run" >"$tree/out" 2>&1 || code=$?
  [[ $code -eq $1 ]] || complain "exit code $code, expected $1"
}

complain() {
  echo "$1; .ci/run printed:"
  cat "$tree/out"
  exit 1
}

printed() { grep -qxF -- "$1" "$tree/out" || complain "the line '$1' is missing"; }
not_printed() { if grep -q -- "$1" "$tree/out"; then complain "'$1' was printed"; fi; }
ends_with() { [[ $(tail -n "$(wc -l <<<"$1")" "$tree/out") == "$1" ]] || complain "the last lines are not '$1'"; }
first_long_part() { grep -xE '== (ubsan|asan|fuzz|clang|long|tsan)' "$tree/out" | head -1; }
verdict="100% tests passed, 0 tests failed out of 1"

# Everything ran.
BYOC_CI_TURN=0 run 0
not_printed INCOMPLETE
ends_with "$verdict"
for part in links format wheel ubsan asan fuzz clang long tsan; do printed "== $part"; done
printed "ran test long"

# A part ran out of time, and there was none for those behind it, which is no failure.
BYOC_CI_TURN=0 STOPS="tools/test asan" run 0
ends_with "INCOMPLETE: asan (stopped), fuzz (never ran), clang (never ran), long (never ran), tsan (never ran)
$verdict"

# No part had time: it was the whole suite that took it.
sed 's/^limit_s=.*/limit_s=30/' "$1" >"$tree/short"
copy "$tree/short"
BYOC_CI_TURN=4 run 0
ends_with "INCOMPLETE: links (never ran), format (never ran), wheel (never ran), long (never ran), tsan (never ran), \
ubsan (never ran), asan (never ran), fuzz (never ran), clang (never ran)
$verdict"
copy "$1"

# Failures beside a part that did not finish; one is that the machine had no memory.
BYOC_CI_TURN=0 FAILS="test ubsan" DIES="test asan" STOPS="tools/test tsan -L threads" run 1
ends_with "INCOMPLETE: tsan (stopped)
failed: ubsan asan
$verdict"
STOPS="tools/test release" run 1
[[ $(grep -c INCOMPLETE "$tree/out") -eq 10 ]] || complain "nine parts never ran, and the last lines say so"
ends_with "failed: tests
no verdict: the tests did not come to their end"

# Each part has its turn, by number, and a commit moves on.
for turn in 0 1 2 3 4 5; do
  BYOC_CI_TURN=$turn run 0
  first_long_part
done | sort | uniq -u | wc -l | grep -qx 6 || complain "six turns did not begin with six parts"
git -C "$tree" init -q
commit() { git -C "$tree" -c user.name=t -c user.email=t@example.org commit -q --allow-empty -m commit; }
commit
run 0
before=$(first_long_part)
commit
run 0
[[ $(first_long_part) != "$before" ]] || complain "both commits begin with '$before'"
