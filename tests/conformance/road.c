// The steps of a build that the suite takes one by one, and tensors for their ports.
#include "tests/conformance/road.h"

#include <math.h>
#include <stdlib.h>

#include "tests/support/support.h"

byoc_status_t road_open(road_t *road, byoc_plugin_registry_t *registry, const void *model, size_t size_bytes,
                        const char *targets, byoc_build_extent_t extent, byoc_allocator_t allocator,
                        byoc_diag_t *diag) {
  *road = (road_t){0};
  const byoc_target_registry_t kinds = byoc_plugin_registry_targets(registry);
  BYOC_RETURN_IF_ERROR(byoc_target_list_parse(&targets, 1, &kinds, allocator, diag, &road->targets));
  const byoc_build_options_t options = {.targets = &road->targets};
  byoc_build_init(&road->build, &options, allocator);
  BYOC_RETURN_IF_ERROR(byoc_build_read_memory(&road->build, model, size_bytes, "cases.onnx", NULL, diag));
  return byoc_build_compile(&road->build, extent, diag);
}

void road_close(road_t *road) {
  byoc_build_deinit(&road->build);
  byoc_target_list_deinit(&road->targets);
  *road = (road_t){0};
}

byoc_status_t road_compose(const road_t *road, const char *path, byoc_diag_t *diag) {
  const byoc_compose_options_t output = {.output = path, .model_name = "cases"};
  return byoc_build_compose(&road->build, &output, diag);
}

byoc_status_t road_evaluate(const road_t *road, void *const *inputs, void *const *outputs, byoc_diag_t *diag) {
  byoc_build_evaluation_t evaluation;
  byoc_status_t status = byoc_build_evaluate(&road->build, 1, diag, &evaluation);
  if (status == BYOC_OK) {
    status = byoc_evaluator_run(evaluation.evaluator, (const void *const *)inputs, outputs, diag);
  }
  byoc_build_evaluation_end(&evaluation);
  return status;
}

byoc_status_t artifact_run(const byoc_loaded_artifact_t *artifact, int32_t thread_count, int runs, void *const *inputs,
                           void *const *outputs, byoc_diag_t *diag) {
  const byoc_context_options_t options = {.struct_size = sizeof(options), .thread_count = thread_count};
  byoc_context_t *context = NULL;
  byoc_status_t status = artifact->table->create(&options, &context);
  for (int i = 0; i < runs && status == BYOC_OK; ++i) {
    status = artifact->table->run(context, (const void *const *)inputs, outputs);
  }
  if (status != BYOC_OK) status = byoc_diag_error(diag, status, "%s", artifact->table->last_error(context));
  artifact->table->destroy(context);
  return status;
}

// ---- ports ----

void port_set_init(port_set_t *set, byoc_host_buffer_t *const *buffers, size_t count) {
  *set = (port_set_t){.count = count,
                      .names = calloc(count + 1, sizeof(*set->names)),
                      .dtypes = calloc(count + 1, sizeof(*set->dtypes)),
                      .element_counts = calloc(count + 1, sizeof(*set->element_counts)),
                      .sizes_bytes = calloc(count + 1, sizeof(*set->sizes_bytes)),
                      .data = calloc(count + 1, sizeof(*set->data))};
  assert_true(set->names && set->dtypes && set->element_counts && set->sizes_bytes && set->data);
  for (size_t i = 0; i < count; ++i) {
    const byoc_type_t *type = buffers[i]->type;
    snprintf(set->names[i], sizeof(set->names[i]), "%s", buffers[i]->name);
    set->dtypes[i] = type->dtype;
    set->sizes_bytes[i] = (size_t)byoc_type_size_bytes(type);
    set->element_counts[i] = (int64_t)(set->sizes_bytes[i] / (byoc_dtype_bits(type->dtype) / 8));
    set->data[i] = calloc(1, set->sizes_bytes[i] + 64);
    assert_non_null(set->data[i]);
  }
}

void port_set_deinit(port_set_t *set) {
  for (size_t i = 0; i < set->count; ++i) free(set->data[i]);
  free(set->names);
  free(set->dtypes);
  free(set->element_counts);
  free(set->sizes_bytes);
  free(set->data);
  *set = (port_set_t){0};
}

static double input_value(byoc_test_random_t *random, const char *name, int64_t index) {
  const double value = (double)byoc_test_float(random);
  if (strncmp(name, "positive", 8) == 0) return 1.25 + value;
  if (strncmp(name, "wild", 4) != 0 || index % 5 != 2) return value;
  const double wild[] = {(double)NAN, (double)INFINITY, -(double)INFINITY, -0.0, 3e38};
  return wild[(index / 5) % 5];
}

void port_set_fill(port_set_t *set) {
  for (size_t i = 0; i < set->count; ++i) {
    const char *name = strchr(set->names[i], '_');
    name = name != NULL ? name + 1 : set->names[i];
    byoc_test_random_t random = {1};
    for (const char *p = set->names[i]; *p != '\0'; ++p) random.state = random.state * 131 + (unsigned char)*p;
    for (int64_t k = 0; k < set->element_counts[i]; ++k) {
      const double value = input_value(&random, name, k);
      if (set->dtypes[i] == BYOC_DTYPE_F32) ((float *)set->data[i])[k] = (float)value;
      if (set->dtypes[i] == BYOC_DTYPE_F64) ((double *)set->data[i])[k] = value;
    }
  }
}

void port_set_spoil(port_set_t *set) {
  for (size_t i = 0; i < set->count; ++i) memset(set->data[i], 0xA5, set->sizes_bytes[i]);
}
