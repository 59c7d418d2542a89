// SPDX-License-Identifier: Apache-2.0
// Composes an accepted mutant, runs the artifact, and holds it against what the evaluator gave.
#include "core/compose/artifact/compose.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/file.h"
#include "core/loader/loader.h"
#include "core/runtime/check.h"
#include "core/runtime/text.h"
#include "tests/random/host/compose.h"
#include "tests/random/host/values.h"

bool can_be_composed(const byoc_host_program_t *program) {
  BYOC_HOST_FOR_EACH(i, program) {
    const bool is_known =
        i->symbol != NULL && (byoc_text_find(i->symbol) != NULL || byoc_check_find(i->symbol) != NULL);
    if (i->op == BYOC_HOST_ENGINE || i->op == BYOC_HOST_C_CALL || (i->op == BYOC_HOST_PACKED && !is_known))
      return false;
  }
  return true;
}

// Compilers may contract or reorder what the evaluator rounds step by step.
static bool is_near(double a, double b) {
  return (isnan(a) && isnan(b)) || a == b || fabs(a - b) <= 1e-4 * (1.0 + fabs(a));
}

static bool near_elements(byoc_dtype_t dtype, uint64_t size_bytes, const void *a, const void *b) {
  if (dtype != BYOC_DTYPE_F32 && dtype != BYOC_DTYPE_F64) return same_elements(dtype, size_bytes, a, b);
  const bool is_single = dtype == BYOC_DTYPE_F32;
  for (uint64_t k = 0; k < size_bytes / (is_single ? sizeof(float) : sizeof(double)); ++k) {
    const double x = is_single ? (double)((const float *)a)[k] : ((const double *)a)[k];
    const double y = is_single ? (double)((const float *)b)[k] : ((const double *)b)[k];
    if (!is_near(x, y)) return false;
  }
  return true;
}

static bool near_arguments(const byoc_argument_t *a, const byoc_argument_t *b) {
  if (a->kind != b->kind || a->dtype != b->dtype || a->rank != b->rank || a->count != b->count) return false;
  for (uint64_t k = 0; k < a->count; ++k) {
    if (!near_arguments(&a->items[k], &b->items[k])) return false;
  }
  if (a->kind != BYOC_ARGUMENT_TENSOR) return true;
  if (a->rank > 0 && memcmp(a->dims, b->dims, a->rank * sizeof(*a->dims)) != 0) return false;
  return near_elements((byoc_dtype_t)a->dtype, argument_size_bytes(a), a->data, b->data);
}

// Runs it twice, as the evaluator did.
static const char *run_twice(const byoc_host_program_t *program, const byoc_artifact_t *artifact,
                             byoc_context_t *context, const composed_t *wanted) {
  static char reason[700];
  byoc_argument_t *arguments = calloc(program->outputs.count + 1, sizeof(*arguments));
  void **outputs = calloc(program->outputs.count + 1, sizeof(void *));
  int32_t status = BYOC_OK;
  for (size_t k = 0; k < program->outputs.count; ++k) {
    const uint64_t size = program->outputs.data[k]->size_bytes;
    outputs[k] = calloc(size > 0 ? (size_t)size : 1, 1);
  }
  for (int turn = 0; turn < 2; ++turn) {
    status = program->is_dynamic ? artifact->run_arguments(context, wanted->input_arguments, arguments)
                                 : artifact->run(context, (const void *const *)wanted->inputs, outputs);
  }
  reason[0] = '\0';
  if (status != (int32_t)wanted->status) {
    snprintf(reason, sizeof(reason), "its artifact gives status %d, %s; the evaluator %d", (int)status,
             artifact->last_error(context), (int)wanted->status);
  }
  for (size_t k = 0; k < program->outputs.count && status == BYOC_OK && reason[0] == '\0'; ++k) {
    const byoc_host_buffer_t *output = program->outputs.data[k];
    const bool same = program->is_dynamic
                          ? near_arguments(&wanted->arguments[k], &arguments[k])
                          : near_elements(output->type->dtype, output->size_bytes, wanted->outputs[k], outputs[k]);
    if (!same) snprintf(reason, sizeof(reason), "its artifact gives another output '%s'", output->name);
  }
  for (size_t k = 0; k < program->outputs.count; ++k) free(outputs[k]);
  free(outputs);
  free(arguments);
  return reason[0] != '\0' ? reason : NULL;
}

static const char *load_and_run(const byoc_host_program_t *program, const char *path, const composed_t *wanted) {
  static char reason[700];
  byoc_diag_t diag = {0};
  byoc_loaded_artifact_t artifact;
  if (byoc_artifact_load(path, &diag, &artifact) != BYOC_OK) {
    snprintf(reason, sizeof(reason), "its artifact cannot be loaded: %s", diag.message);
    return reason;
  }
  const byoc_context_options_t options = {.struct_size = sizeof(options), .thread_count = 1};
  byoc_context_t *context = NULL;
  const char *found = "its artifact makes no context";
  if (artifact.table->create(&options, &context) == BYOC_OK)
    found = run_twice(program, artifact.table, context, wanted);
  artifact.table->destroy(context);
  byoc_artifact_unload(&artifact);
  return found;
}

const char *compose_and_run(const byoc_host_program_t *program, const composed_t *wanted) {
  static char reason[700];
  byoc_diag_t diag = {0};
  const byoc_target_list_t targets = {0};
  char *folder = byoc_test_folder();
  char *path = byoc_path_join(byoc_allocator_system(), folder, "mutant.so");
  const byoc_compose_options_t options = {
      .output = path, .model_name = "mutant", .targets = &targets, .in_haste = true};
  const char *found = reason;
  if (byoc_compose_artifact(program, &options, byoc_allocator_system(), &diag) == BYOC_OK) {
    found = load_and_run(program, path, wanted);
  } else {
    snprintf(reason, sizeof(reason), "it cannot be composed: %s", diag.message);
  }
  (void)byoc_remove_tree(folder, NULL);
  byoc_free(byoc_allocator_system(), path);
  free(folder);
  return found;
}
