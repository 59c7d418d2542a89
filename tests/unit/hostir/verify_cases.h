// SPDX-License-Identifier: Apache-2.0
// What the tests of the verifier share: cases of a text each, which it accepts or refuses with a sentence.
#ifndef BYOC_TESTS_UNIT_HOSTIR_VERIFY_CASES_H_
#define BYOC_TESTS_UNIT_HOSTIR_VERIFY_CASES_H_

#include "core/hostir/text/program_text.h"
#include "tests/support/support.h"

typedef struct case_t {
  const char *name, *text;
  const char *message; // NULL: the program is right
} case_t;

static inline byoc_status_t verify(const char *text, byoc_allocator_t allocator, byoc_diag_t *diag) {
  byoc_graph_module_t *module = NULL;
  byoc_host_program_t *program = NULL;
  byoc_status_t status = byoc_host_program_parse(text, "p.host", NULL, allocator, diag, &module, &program);
  if (status != BYOC_OK && status != BYOC_OUT_OF_MEMORY)
    fail_msg("%s at line %d of\n%s", diag->message, diag->line, text);
  if (status == BYOC_OK) status = byoc_host_program_verify(program, diag);
  byoc_host_program_destroy(program);
  byoc_graph_module_destroy(module);
  return status;
}

static inline void check(const case_t *cases, size_t count) {
  for (size_t k = 0; k < count; ++k) {
    byoc_diag_t diag = {0};
    byoc_status_t status = verify(cases[k].text, byoc_allocator_system(), &diag);
    if (cases[k].message == NULL && status != BYOC_OK) fail_msg("%s: %s", cases[k].name, diag.message);
    if (cases[k].message == NULL) continue;
    if (status != BYOC_INTERNAL || strstr(diag.message, cases[k].message) == NULL) {
      fail_msg("%s: status %d, '%s', not '%s'", cases[k].name, (int)status, diag.message, cases[k].message);
    }
  }
}

#define CHECK(cases) check(cases, sizeof(cases) / sizeof(cases[0]))

#endif // BYOC_TESTS_UNIT_HOSTIR_VERIFY_CASES_H_
