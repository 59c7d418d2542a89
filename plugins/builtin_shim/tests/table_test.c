// SPDX-License-Identifier: Apache-2.0
// Tests that wrong tables are refused with a reason.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "table.h"

static void expect_refused(const char *text, const char *part) {
  const byoc_host_t host = {.header = BYOC_HEADER(byoc_host_t, 1), .abi_major = BYOC_ABI_MAJOR};
  byoc_shim_table_t table;
  char error[512] = "";
  if (byoc_shim_table_read(&host, text, strlen(text), &table, error, sizeof(error))) fail_msg("%s", text);
  if (strstr(error, part) == NULL) fail_msg("%s: %s", text, error);
}

// The search for a member without a name does not read past the list of names.
static void members_without_a_name_are_refused(void **state) {
  (void)state;
  expect_refused("{\"\":[]}", "unknown member ''");
  expect_refused("{\" \":[]}", "unknown member ' '");
  expect_refused("{\"arget\":[]}", "unknown member 'arget'");
}

#define RULE(members)                                                                                                  \
  "{\"target\": \"t\", \"description\": \"d\", \"library\": {\"files\": [\"embedded\"]}, \"rules\": [{\"name\": "      \
  "\"t.mul\", "                                                                                                        \
  "\"pattern\": \"mul:Mul(%a, %b)\", " members "}]}"

static void rules_with_a_packed_function_have_operands_and_no_steps(void **state) {
  (void)state;
  expect_refused(RULE("\"packed\": 1"), "'packed' is not a string");
  expect_refused(RULE("\"packed\": \"f\""), "the list 'operands' is missing");
  expect_refused(RULE("\"packed\": \"f\", \"operands\": [\"a\", \"x\"]"), "operand 2 is no name of the pattern");
  expect_refused(RULE("\"packed\": \"f\", \"operands\": [\"a\"], \"steps\": []"),
                 "'steps' and 'result' have no meaning");
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(members_without_a_name_are_refused),
                                     cmocka_unit_test(rules_with_a_packed_function_have_operands_and_no_steps)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
