// SPDX-License-Identifier: Apache-2.0
// Checks the options of callers of libbyoc before any work.
#include "core/library/check_options.h"

#include <string.h>

#include "core/base/file.h"
#include "core/compile/outputs.h"
#include "core/compile/setup.h"
#include "core/compile/weights.h"
#include "core/hostir/program/device.h"
#include "core/runtime/pool.h"

byoc_status_t byoc_library_read_struct(const void *given, size_t size_bytes, const char *name, void *out,
                                       byoc_diag_t *diag) {
  uint32_t given_bytes = 0;
  memset(out, 0, size_bytes);
  if (given == NULL) return byoc_diag_error(diag, BYOC_INVALID_ARGUMENT, "%s is NULL", name);
  memcpy(&given_bytes, given, sizeof(given_bytes));
  if (given_bytes < sizeof(given_bytes)) {
    return byoc_diag_error(diag, BYOC_INVALID_ARGUMENT, "struct_size of %s is %u; set it to sizeof(%s)", name,
                           given_bytes, name);
  }
  memcpy(out, given, given_bytes < size_bytes ? given_bytes : size_bytes);
  return BYOC_OK;
}

static byoc_status_t check_list(const void *items, uint64_t count, const char *name, byoc_diag_t *diag) {
  if (count > BYOC_LIBRARY_MOST_ITEMS) {
    return byoc_diag_error(diag, BYOC_INVALID_ARGUMENT, "%s has at most %d items, and there are said to be %llu", name,
                           BYOC_LIBRARY_MOST_ITEMS, (unsigned long long)count);
  }
  if (items != NULL || count == 0) return BYOC_OK;
  return byoc_diag_error(diag, BYOC_INVALID_ARGUMENT, "%s is NULL, but there are said to be %llu", name,
                         (unsigned long long)count);
}

byoc_status_t byoc_library_check_strings(const char *const *texts, uint64_t count, const char *name,
                                         byoc_diag_t *diag) {
  BYOC_RETURN_IF_ERROR(check_list(texts, count, name, diag));
  for (uint64_t i = 0; i < count; ++i) {
    if (texts[i] != NULL) continue;
    return byoc_diag_error(diag, BYOC_INVALID_ARGUMENT, "%s[%llu] is NULL; of %llu items, each is a string", name,
                           (unsigned long long)i, (unsigned long long)count);
  }
  return BYOC_OK;
}

static byoc_status_t check_bytes(const byoc_compiler_entry_t *model, byoc_diag_t *diag) {
  if (model->model_data != NULL || model->model_size_bytes == 0) return BYOC_OK;
  return byoc_diag_error(diag, BYOC_INVALID_ARGUMENT, "model_data is NULL, but has %llu bytes",
                         (unsigned long long)model->model_size_bytes);
}

static byoc_status_t check_model(const byoc_compiler_entry_t *model, const char *what, byoc_diag_t *diag) {
  BYOC_RETURN_IF_ERROR(check_bytes(model, diag));
  if ((model->model_path != NULL) != (model->model_data != NULL)) return BYOC_OK;
  return byoc_diag_error(diag, BYOC_INVALID_ARGUMENT, "%s takes one of model_path and model_data", what);
}

static byoc_status_t check_models(const byoc_compiler_build_t *build, byoc_diag_t *diag) {
  const uint64_t count = build->entry_count;
  const char *names[BYOC_COMPOSE_MOST_ENTRIES];
  BYOC_RETURN_IF_ERROR(check_list(build->entries, count, "entries", diag));
  if (count == 0) {
    const byoc_compiler_entry_t only = byoc_library_model(build, 0);
    return check_model(&only, "a build", diag);
  }
  if (build->model_path != NULL || build->model_data != NULL) {
    return byoc_diag_error(diag, BYOC_INVALID_ARGUMENT, "a build takes a model or entries, not both");
  }
  for (uint64_t k = 0; k < count && k < BYOC_COMPOSE_MOST_ENTRIES; ++k) {
    names[k] = build->entries[k].name;
    if (names[k] == NULL) {
      return byoc_diag_error(diag, BYOC_INVALID_ARGUMENT, "entries[%llu] has no name", (unsigned long long)k);
    }
    BYOC_RETURN_IF_ERROR(check_model(&build->entries[k], names[k], diag));
  }
  return byoc_setup_check_entries("the name of an entry", names, count, diag);
}

byoc_compiler_entry_t byoc_library_model(const byoc_compiler_build_t *build, size_t index) {
  if (build->entry_count > 0) return build->entries[index];
  return (byoc_compiler_entry_t){.model_path = build->model_path,
                                 .model_data = build->model_data,
                                 .model_size_bytes = build->model_size_bytes,
                                 .data_folder = build->data_folder};
}

static byoc_status_t check_fields(const byoc_compiler_build_t *build, byoc_diag_t *diag) {
  BYOC_RETURN_IF_ERROR(byoc_library_check_strings(build->targets, build->target_count, "targets", diag));
  BYOC_RETURN_IF_ERROR(check_list(build->dims, build->dim_count, "dims", diag));
  BYOC_RETURN_IF_ERROR(check_list(build->plan_threads, build->plan_thread_count, "plan_threads", diag));
  BYOC_RETURN_IF_ERROR(check_list(build->aliases, build->alias_count, "aliases", diag));
  BYOC_RETURN_IF_ERROR(
      byoc_library_check_strings(build->disabled_passes, build->disabled_pass_count, "disabled_passes", diag));
  BYOC_RETURN_IF_ERROR(
      byoc_library_check_strings(build->optional_inputs, build->optional_input_count, "optional_inputs", diag));
  BYOC_RETURN_IF_ERROR(check_models(build, diag));
  if (build->thread_count < 0 || build->queue_count < 0 || !(build->cost_budget_s >= 0)) {
    return byoc_diag_error(diag, BYOC_INVALID_ARGUMENT, "thread_count, queue_count and cost_budget_s are not negative");
  }
  if (build->thread_count > BYOC_MODEL_MAX_THREADS || build->queue_count > BYOC_HOST_MAX_SET) {
    return byoc_diag_error(diag, BYOC_INVALID_ARGUMENT, "thread_count is at most %d, and queue_count at most %d",
                           BYOC_MODEL_MAX_THREADS, BYOC_HOST_MAX_SET);
  }
  if (build->reading < BYOC_COMPILER_READ_USUAL || build->reading > BYOC_COMPILER_READ_LENIENT) {
    return byoc_diag_error(diag, BYOC_INVALID_ARGUMENT, "reading is %d, expected 0 to 2", (int)build->reading);
  }
  for (uint64_t i = 0; i < build->dim_count; ++i) {
    if (build->dims[i].name != NULL && build->dims[i].value >= 0) continue;
    return byoc_diag_error(diag, BYOC_INVALID_ARGUMENT, "dims[%llu] has no name or a negative value",
                           (unsigned long long)i);
  }
  for (uint64_t i = 0; i < build->dim_count; ++i) {
    for (uint64_t k = 0; k < i; ++k) {
      if (build->dims[k].value != build->dims[i].value || strcmp(build->dims[k].name, build->dims[i].name) != 0)
        continue;
      return byoc_diag_error(diag, BYOC_INVALID_ARGUMENT, "dims[%llu] and dims[%llu] are the same",
                             (unsigned long long)k, (unsigned long long)i);
    }
  }
  for (uint64_t i = 0; i < build->alias_count; ++i) {
    if (build->aliases[i].output != NULL && build->aliases[i].input != NULL) continue;
    return byoc_diag_error(diag, BYOC_INVALID_ARGUMENT, "aliases[%llu] lacks a name", (unsigned long long)i);
  }
  return byoc_setup_check_name("name", build->name, BYOC_LIBRARY_NAME_BYTES, diag);
}

// `model`: a file that is read; NULL: it is in memory.
static byoc_status_t check_output(const byoc_compiler_build_t *build, const char *model, byoc_diag_t *diag) {
  const byoc_allocator_t allocator = byoc_allocator_system();
  byoc_compose_options_t options = {.output = build->output};
  BYOC_RETURN_IF_ERROR(byoc_build_parse_weights("weights", build->weights, &options, diag));
  if (build->output == NULL && options.weights == BYOC_COMPOSE_WEIGHTS_EXTERNAL) {
    return byoc_diag_error(diag, BYOC_INVALID_ARGUMENT,
                           "weights go to a file beside the artifact's; without `output` it has none");
  }
  if (build->output == NULL) return BYOC_OK;
  if (byoc_compose_is_source(build->output)) { // a folder of its own
    const byoc_output_t input = {"the model", model};
    return byoc_outputs_check_outside(&input, 1, build->output, diag);
  }
  char *weights = NULL;
  BYOC_RETURN_IF_ERROR(byoc_build_weights_path(&options, allocator, diag, &weights));
  char *header = byoc_file_is_special(build->output) ? NULL : byoc_compose_header_path(build->output, allocator);
  const byoc_output_t outputs[] = {
      {"output", build->output}, {"the header of output", header}, {"the weights file of output", weights}};
  const byoc_status_t status = byoc_outputs_check(outputs, 3, model, diag);
  byoc_free(allocator, header);
  byoc_free(allocator, weights);
  return status;
}

byoc_status_t byoc_library_check_build(const byoc_compiler_build_t *build, byoc_diag_t *diag) {
  BYOC_RETURN_IF_ERROR(check_fields(build, diag));
  for (size_t k = 0; k == 0 || k < build->entry_count; ++k) {
    BYOC_RETURN_IF_ERROR(check_output(build, byoc_library_model(build, k).model_path, diag));
  }
  return BYOC_OK;
}
