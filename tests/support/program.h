// SPDX-License-Identifier: Apache-2.0
// A host program in both executors: the evaluator, and an artifact in a folder of its own.
#ifndef BYOC_TESTS_SUPPORT_PROGRAM_H_
#define BYOC_TESTS_SUPPORT_PROGRAM_H_

#include <stdlib.h>

#include "core/base/file.h"
#include "core/compose/artifact/compose.h"
#include "core/compose/artifact/resolve.h"
#include "core/hostir/pass/pass.h"
#include "core/loader/loader.h"
#include "tests/support/support.h"

typedef struct byoc_test_program_t {
  byoc_graph_module_t *module;
  byoc_host_program_t *program;
  byoc_runtime_t runtime; // of one thread
  byoc_resolver_t *resolver;
  byoc_evaluator_t *evaluator;
  char *folder;
  byoc_loaded_artifact_t artifact;
  byoc_context_t *context;
} byoc_test_program_t;

// Makes what the evaluator calls.
static inline void byoc_test_program_resolve(byoc_test_program_t *p) {
  byoc_diag_t diag = {0};
  p->runtime = byoc_serial_runtime(1);
  byoc_test_ok(byoc_resolver_create(p->program, NULL, &p->runtime, byoc_allocator_system(), &diag, &p->resolver),
               &diag);
}

static inline byoc_status_t byoc_test_program_evaluate(byoc_test_program_t *p, byoc_diag_t *diag) {
  byoc_symbol_resolver_t resolver = byoc_resolver_interface(p->resolver);
  return byoc_evaluator_create(p->program, &resolver, 1, byoc_allocator_system(), diag, &p->evaluator);
}

// Composes and loads the artifact; a context is the caller's business.
static inline void byoc_test_program_compile(byoc_test_program_t *p, bool trace) {
  byoc_diag_t diag = {0};
  p->folder = byoc_test_folder();
  char path[512];
  snprintf(path, sizeof(path), "%s/model.so", p->folder);
  const byoc_compose_options_t options = {
      .output = path, .model_name = "host", .cpu_features = "", .profile = true, .trace = trace};
  byoc_test_ok(byoc_compose_artifact(p->program, &options, byoc_allocator_system(), &diag), &diag);
  byoc_test_ok(byoc_artifact_load(path, &diag, &p->artifact), &diag);
}

// Both executors of a program whose passes have run, and a context of the artifact.
static inline void byoc_test_program_prepare(byoc_test_program_t *p, bool trace) {
  byoc_diag_t diag = {0};
  byoc_test_program_resolve(p);
  byoc_test_ok(byoc_test_program_evaluate(p, &diag), &diag);
  byoc_test_program_compile(p, trace);
  if (p->artifact.table->create(NULL, &p->context) != BYOC_OK) fail_msg("%s", p->artifact.table->last_error(NULL));
}

// Takes a program that was made in part, too.
static inline void byoc_test_program_close(byoc_test_program_t *p) {
  if (p->artifact.table != NULL) p->artifact.table->destroy(p->context);
  byoc_artifact_unload(&p->artifact);
  byoc_evaluator_destroy(p->evaluator);
  byoc_resolver_destroy(p->resolver);
  byoc_host_program_destroy(p->program);
  byoc_graph_module_destroy(p->module);
  if (p->folder != NULL) byoc_test_ok(byoc_remove_tree(p->folder, NULL), NULL);
  free(p->folder);
}

#endif // BYOC_TESTS_SUPPORT_PROGRAM_H_
