// SPDX-License-Identifier: Apache-2.0
// A host program on the driver `sim`, compiled and evaluated. The text names the driver "sim" and the code "kernels",
// whose entries are those of tests/devices/sim_kernels.c.
//
// Example:
//   program_t p;
//   program_open(&p, "host program \"p\" { ... }", "plan-memory");
//   program_run(&p, inputs, outputs); // both ways; they agree
//   program_close(&p);
#ifndef BYOC_TESTS_DEVICES_PROGRAM_H_
#define BYOC_TESTS_DEVICES_PROGRAM_H_

#include <stdlib.h>

#include "core/hostir/text/program_text.h"
#include "tests/devices/sim.h"
#include "tests/support/program.h"

enum { PROGRAM_PORTS = 8 };

#define PROGRAM_MODULES                                                                                                \
  "module driver \"sim\" of \"simdev\" { driver_symbol \"sim_driver\" symbol \"sim_driver\" }\n"                       \
  "module device \"kernels\" of \"simdev\" { driver \"sim\" import \"sim\"\n"                                          \
  "  entry \"scale\" entry \"add\" entry \"relu\" entry \"negate\" entry \"count\" entry \"fail\" entry \"spin\"\n"    \
  "  entry \"matmul\"\n"                                                                                               \
  "  code binary \"sim\" for \"sim_0\" base64 \"\"\n"                                                                  \
  "  code source \"sim\" base64 \"c2NhbGUgYWRkIHJlbHUgbmVnYXRlIGNvdW50IGZhaWwgc3BpbiBtYXRtdWw=\"\n}\n"

typedef byoc_test_program_t program_t;

static inline void program_parse(program_t *p, const char *text, const char *passes) {
  byoc_diag_t diag = {0};
  *p = (program_t){0};
  char *all = NULL;
  assert_true(asprintf(&all, "%s\n%s", text, PROGRAM_MODULES) > 0);
  byoc_test_ok(byoc_host_program_parse(all, "p.host", NULL, byoc_allocator_system(), &diag, &p->module, &p->program),
               &diag);
  free(all);
  byoc_runtime_module_t *driver = byoc_graph_module_find_runtime_module(p->module, "sim");
  const byoc_file_content_t file = {.header = {.struct_size = sizeof(file)}, .path = SIM_ARCHIVE};
  byoc_test_ok(byoc_runtime_module_add_file(driver, &file, false, &diag), &diag);
  driver->driver = &sim_driver;
  byoc_test_ok(byoc_host_pass_run_list(passes, p->program, NULL, &diag), &diag);
  byoc_test_ok(byoc_host_program_verify(p->program, &diag), &diag);
  byoc_test_program_resolve(p);
}

static inline byoc_status_t program_evaluate(program_t *p, byoc_diag_t *diag) {
  return byoc_test_program_evaluate(p, diag);
}

static inline void program_compile(program_t *p) {
  byoc_test_program_compile(p, true);
}

static inline void program_open(program_t *p, const char *text, const char *passes) {
  byoc_diag_t diag = {0};
  program_parse(p, text, passes);
  byoc_test_ok(program_evaluate(p, &diag), &diag);
  program_compile(p);
  if (p->artifact.table->create(NULL, &p->context) != BYOC_OK) fail_msg("%s", p->artifact.table->last_error(NULL));
}

static inline void program_close(program_t *p) {
  byoc_test_program_close(p);
  sim_counts_t counts;
  sim_count(&counts);
  assert_memory_equal(&counts, &(sim_counts_t){0}, sizeof(counts));
}

// Static programs: runs both ways. The outputs become what both made.
static inline void program_run(program_t *p, const void *const *inputs, void *const *outputs) {
  byoc_diag_t diag = {0};
  void *compiled[PROGRAM_PORTS] = {0};
  byoc_test_ok(byoc_evaluator_run(p->evaluator, inputs, outputs, &diag), &diag);
  for (size_t k = 0; k < p->program->outputs.count; ++k) {
    compiled[k] = calloc(1, p->program->outputs.data[k]->size_bytes);
    assert_non_null(compiled[k]);
  }
  if (p->artifact.table->run(p->context, inputs, compiled) != BYOC_OK) {
    fail_msg("%s", p->artifact.table->last_error(p->context));
  }
  for (size_t k = 0; k < p->program->outputs.count; ++k) {
    assert_memory_equal(compiled[k], outputs[k], p->program->outputs.data[k]->size_bytes);
    free(compiled[k]);
  }
}

#endif // BYOC_TESTS_DEVICES_PROGRAM_H_
