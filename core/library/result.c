// SPDX-License-Identifier: Apache-2.0
// Keeps the results of libbyoc: diagnostics, strings and bytes of a call.
#include "core/library/result.h"

byoc_result_t *byoc_result_create(void) {
  const byoc_allocator_t allocator = byoc_allocator_system();
  byoc_result_t *result = byoc_allocate(allocator, 1, sizeof(*result));
  if (result == NULL) return NULL;
  if (pthread_mutex_init(&result->lock, NULL) != 0) {
    byoc_free(allocator, result);
    return NULL;
  }
  byoc_arena_init(&result->arena, allocator);
  result->shown = (byoc_compiler_result_t){.struct_size = sizeof(result->shown), .plan = "", .placement = ""};
  return result;
}

void byoc_result_destroy(byoc_result_t *result) {
  if (result == NULL) return;
  const byoc_allocator_t allocator = byoc_allocator_system();
  byoc_vector_deinit(&result->diagnostics, allocator);
  byoc_arena_deinit(&result->arena);
  byoc_free(allocator, result->artifact);
  (void)pthread_mutex_destroy(&result->lock);
  byoc_free(allocator, result);
}

// Call with the lock held. Copies the strings; NULL stands for none.
static bool add(byoc_result_t *result, const byoc_compiler_diagnostic_t *said) {
  byoc_compiler_diagnostic_t *copy = BYOC_ARENA_NEW(&result->arena, byoc_compiler_diagnostic_t);
  if (copy == NULL) return false;
  *copy = *said;
  copy->struct_size = sizeof(*copy);
  const char **texts[] = {&copy->message, &copy->context, &copy->hint, &copy->file, &copy->source};
  for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); ++i) {
    if (*texts[i] == NULL) *texts[i] = "";
    *texts[i] = byoc_arena_copy_string(&result->arena, *texts[i]);
    if (*texts[i] == NULL) return false;
  }
  if (!byoc_vector_push(&result->diagnostics, byoc_allocator_system(), copy)) return false;
  result->shown.diagnostics = result->diagnostics.data;
  result->shown.diagnostic_count = result->diagnostics.count;
  if (result->heard != NULL) result->heard(result->self, copy);
  return true;
}

static bool add_locked(byoc_result_t *result, const byoc_compiler_diagnostic_t *said) {
  (void)pthread_mutex_lock(&result->lock);
  const bool is_added = add(result, said);
  (void)pthread_mutex_unlock(&result->lock);
  return is_added;
}

void byoc_result_add_line(byoc_result_t *result, byoc_log_level_t level, const char *message) {
  const byoc_compiler_diagnostic_t line = {
      .severity = level <= BYOC_LOG_WARNING ? BYOC_COMPILER_WARNING : BYOC_COMPILER_NOTE, .message = message};
  (void)add_locked(result, &line);
}

bool byoc_result_add_error(byoc_result_t *result, const byoc_diag_t *diag) {
  const byoc_compiler_diagnostic_t error = {.severity = BYOC_COMPILER_ERROR,
                                            .status = diag->status,
                                            .line = diag->line,
                                            .column = diag->column,
                                            .message = diag->message,
                                            .context = diag->context,
                                            .hint = diag->hint,
                                            .file = diag->file,
                                            .source = diag->source_line};
  result->shown.status = diag->status;
  return add_locked(result, &error);
}
