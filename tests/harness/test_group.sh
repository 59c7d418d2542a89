#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Does ctest see which tests of a program were skipped, and does a row take over what the whole program showed before?
# Usage: test_group.sh SPECIMEN LIST_SKIPS
set -euo pipefail
specimen=$1 list_skips=$2
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
mkdir results
unset BYOC_TEST_FILTER BYOC_TEST_RESULTS SPECIMEN_FAILS

complain() {
  echo "$1"
  cat out
  exit 1
}

# expect CODE FILTER: the specimen's exit code.
expect() {
  local code=0
  BYOC_TEST_FILTER=$2 "$specimen" >out 2>&1 || code=$?
  [[ $code -eq $1 ]] || complain "exit code $code, expected $1, of the tests '$2':"
}

expect 77 'test_skipped*'
expect 77 test_skipped
expect 0 'test_*s*ed'
expect 0 test_passed
SPECIMEN_FAILS=1 expect 1 'test_*'
expect 1 test_that_is_not_there
grep -q 'no test of .* matches BYOC_TEST_FILTER=test_that_is_not_there' out || complain "the reason is missing:"

# A run of ctest: the whole program, and three rows that look at some of its tests.
row() {
  echo "add_test($1 \"$specimen\")"
  echo "set_tests_properties($1 PROPERTIES SKIP_RETURN_CODE 77 ENVIRONMENT \"BYOC_TEST_RESULTS=$folder/results$2\")"
}
{
  row whole ""
  row row_skipped ";BYOC_TEST_FILTER=test_skipped*"
  row row_mixed ";BYOC_TEST_FILTER=test_*s*ed"
  row row_absent ";BYOC_TEST_FILTER=test_absent"
} >CTestTestfile.cmake
ctest -V >out 2>&1 && complain "the row without a test passed:"
grep -q 'whole \.* *Passed' out || complain "the whole program did not pass:"
grep -q 'row_skipped \.*\*\*\*Skipped' out || complain "the row whose tests are skipped is not shown as skipped:"
grep -q 'row_mixed \.* *Passed' out || complain "the row with one test that passes did not pass:"
grep -q 'row_absent \.*\*\*\*Failed' out || complain "the row without a test did not fail:"
[[ $(grep -c 'in the run of all tests of' out) -eq 4 ]] || complain "the rows did not take over the results:"
"$list_skips" Testing/Temporary/LastTest.log >skips
diff skips - <<'EOF' || complain "of this run:"
skipped 5 times: there is no unicorn (whole row_skipped row_mixed)
left out 1 times: nobody has a griffin (whole)
EOF

# What another run left is not taken over, nor is what a program with a failure left.
ctest -V -R row_mixed >out 2>&1 || complain "the row alone failed:"
if grep -q 'in the run of all tests of' out; then complain "an older run was taken over:"; fi
export SPECIMEN_FAILS=1
ctest -V -R 'whole|row_mixed' >out 2>&1 && complain "a program with a failure passed:"
grep -q 'row_mixed \.* *Passed' out || complain "a row without the failed test did not pass:"
if grep -q 'in the run of all tests of' out; then complain "a failed run was taken over:"; fi
