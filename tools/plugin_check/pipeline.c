// SPDX-License-Identifier: Apache-2.0
// The steps of a build that rules take one by one, tensors for their ports, and how results are compared.
#include "tools/plugin_check/pipeline.h"

#include <math.h>
#include <string.h>

#include "core/ir/element.h"
#include "tools/plugin_check/specimen.h"

byoc_status_t check_pipeline_open(check_pipeline_t *pipeline, byoc_plugin_registry_t *registry,
                                  const check_model_t *model, const char *targets, byoc_build_extent_t extent,
                                  byoc_allocator_t allocator, byoc_diag_t *diag) {
  *pipeline = (check_pipeline_t){0};
  const byoc_target_registry_t kinds = byoc_plugin_registry_targets(registry);
  BYOC_RETURN_IF_ERROR(byoc_target_list_parse(&targets, 1, &kinds, allocator, diag, &pipeline->targets));
  const byoc_build_options_t options = {.targets = &pipeline->targets};
  byoc_build_init(&pipeline->build, &options, allocator);
  BYOC_RETURN_IF_ERROR(
      byoc_build_read_memory(&pipeline->build, model->data, model->size_bytes, "cases.onnx", NULL, diag));
  return byoc_build_compile(&pipeline->build, extent, diag);
}

void check_pipeline_close(check_pipeline_t *pipeline) {
  byoc_build_deinit(&pipeline->build);
  byoc_target_list_deinit(&pipeline->targets);
  *pipeline = (check_pipeline_t){0};
}

byoc_status_t check_pipeline_compose(const check_pipeline_t *pipeline, const char *path, byoc_diag_t *diag) {
  const byoc_compose_options_t output = {.output = path, .model_name = "cases"};
  return byoc_build_compose(&pipeline->build, &output, diag);
}

byoc_status_t check_pipeline_evaluate(const check_pipeline_t *pipeline, void *const *inputs, void *const *outputs,
                                      byoc_diag_t *diag) {
  byoc_build_evaluation_t evaluation;
  byoc_status_t status = byoc_build_evaluate(&pipeline->build, 1, diag, &evaluation);
  if (status == BYOC_OK) {
    status = byoc_evaluator_run(evaluation.evaluator, (const void *const *)inputs, outputs, diag);
  }
  byoc_build_evaluation_end(&evaluation);
  return status;
}

byoc_status_t check_artifact_run(const byoc_loaded_artifact_t *artifact, int32_t thread_count, int runs,
                                 void *const *inputs, void *const *outputs, byoc_diag_t *diag) {
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

static check_ports_t make_ports(check_t *check, byoc_host_buffer_t *const *buffers, size_t count) {
  check_ports_t ports = {.count = count,
                         .names = check_allocate(check, count, sizeof(*ports.names)),
                         .dtypes = check_allocate(check, count, sizeof(*ports.dtypes)),
                         .element_counts = check_allocate(check, count, sizeof(*ports.element_counts)),
                         .sizes_bytes = check_allocate(check, count, sizeof(*ports.sizes_bytes)),
                         .data = check_allocate(check, count, sizeof(*ports.data))};
  for (size_t i = 0; i < count; ++i) {
    const byoc_type_t *type = buffers[i]->type;
    snprintf(ports.names[i], sizeof(ports.names[i]), "%s", buffers[i]->name);
    ports.dtypes[i] = type->dtype;
    ports.sizes_bytes[i] = (size_t)byoc_type_size_bytes(type);
    ports.element_counts[i] = byoc_type_element_count(type);
    ports.data[i] = check_allocate(check, ports.sizes_bytes[i] + 64, 1);
  }
  return ports;
}

static double input_value(check_random_t *random, const char *name, int64_t index) {
  const double value = check_random_value(random);
  if (strncmp(name, "positive", 8) == 0) return 1.25 + value;
  if (strncmp(name, "nan", 3) == 0) return index % 11 == 2 ? (double)NAN : value; // at any lane of a vector
  if (strncmp(name, "wild", 4) != 0 || index % 5 != 2) return value;
  const double special[] = {(double)NAN, (double)INFINITY, -(double)INFINITY, -0.0, 3e38};
  return special[(index / 5) % 5];
}

static void fill(check_ports_t *ports) {
  for (size_t i = 0; i < ports->count; ++i) {
    const char *name = strchr(ports->names[i], '_');
    name = name != NULL ? name + 1 : ports->names[i];
    check_random_t random = {1};
    // The number of the case does not count: a case has the same inputs wherever it stands.
    for (const char *p = name; *p != '\0'; ++p) random.state = random.state * 131 + (unsigned char)*p;
    for (int64_t k = 0; k < ports->element_counts[i]; ++k) {
      const double value = input_value(&random, name, k);
      byoc_element_set_f64(ports->dtypes[i], ports->data[i], (size_t)k, check_random_element(ports->dtypes[i], value));
    }
  }
}

check_ports_t check_inputs(check_t *check, const check_pipeline_t *pipeline) {
  const byoc_host_program_t *program = pipeline->build.result.program;
  check_ports_t ports = make_ports(check, program->inputs.data, program->inputs.count);
  fill(&ports);
  return ports;
}

check_ports_t check_outputs(check_t *check, const check_pipeline_t *pipeline) {
  const byoc_host_program_t *program = pipeline->build.result.program;
  check_ports_t ports = make_ports(check, program->outputs.data, program->outputs.count);
  for (size_t i = 0; i < ports.count; ++i) memset(ports.data[i], 0xA5, ports.sizes_bytes[i]);
  return ports;
}

// ---- comparing ----

static double element_of(const check_ports_t *ports, size_t port, int64_t index) {
  return byoc_element_f64(ports->dtypes[port], ports->data[port], (size_t)index);
}

// The root mean square of the finite elements: the error of a sum of many terms depends on their size, not on the
// sum's.
static double scale_of(const check_ports_t *ports, size_t port) {
  double sum = 0;
  int64_t count = 0;
  for (int64_t k = 0; k < ports->element_counts[port]; ++k) {
    const double value = element_of(ports, port, k);
    if (!isfinite(value) || fabs(value) > 1e30) continue;
    sum += value * value;
    count += 1;
  }
  return count > 0 ? sqrt(sum / (double)count) : 0;
}

// An open output may have a number in the place of NaN, and the largest number in that of infinity. special_nan.cases
// have none: what picks values keeps NaN.
static bool is_close(byoc_dtype_t dtype, double value, double expected, double scale, bool is_open) {
  if (!byoc_dtype_is_any_float(dtype)) return value == expected;
  if (isnan(expected)) return isnan(value) || is_open;
  if (isinf(expected)) return value == expected || (is_open && fabs(value) > 3.4e38 && (value > 0) == (expected > 0));
  return fabs(value - expected) <= 1e-4 * fabs(expected) + 1e-4 * scale + 1e-6;
}

typedef struct difference_t {
  int64_t wrong, first; // elements, and the first of them
} difference_t;

// Elements that are not close, or that are more than `step` off.
static difference_t count_beyond(const check_ports_t *outputs, const check_ports_t *expected, size_t port,
                                 double step) {
  const double scale = scale_of(expected, port);
  const bool is_open = strstr(expected->names[port], "_open") != NULL;
  difference_t out = {0};
  for (int64_t k = 0; k < expected->element_counts[port]; ++k) {
    const double value = element_of(outputs, port, k), right = element_of(expected, port, k);
    if (is_close(expected->dtypes[port], value, right, scale, is_open) || fabs(value - right) <= step) continue;
    if (out.wrong++ == 0) out.first = k;
  }
  return out;
}

// Where the order of floats decides, few elements may be a step off.
static difference_t compare_port(check_t *check, const check_case_file_t *file, const check_ports_t *outputs,
                                 const check_ports_t *expected, size_t port) {
  const difference_t all = count_beyond(outputs, expected, port, 0);
  if (all.wrong == 0) return all;
  const double step = specimen_step_of_case(check, file, expected->names[port]);
  const difference_t beyond = count_beyond(outputs, expected, port, step * (1 + 1e-6));
  const bool are_few = specimen_steps_are_few((size_t)all.wrong, (size_t)expected->element_counts[port]);
  return beyond.wrong > 0 || are_few ? beyond : all;
}

void check_compare(check_t *check, const check_case_file_t *file, const check_ports_t *outputs,
                   const check_ports_t *expected, const char *way) {
  if (outputs->count != expected->count) check_stop(check, NULL, "%s: outputs are missing", file->name);
  for (size_t i = 0; i < outputs->count; ++i) {
    if (strcmp(outputs->names[i], expected->names[i]) != 0 || outputs->sizes_bytes[i] != expected->sizes_bytes[i]) {
      check_fail(check, "%s: output '%s' is not '%s' or has another size", file->name, outputs->names[i],
                 expected->names[i]);
      continue;
    }
    const difference_t difference = compare_port(check, file, outputs, expected, i);
    if (difference.wrong == 0) continue;
    const int64_t first = difference.first;
    check_fail(check, "%s/%s, %s: %s differs in %lld of %lld elements; element %lld is %.7g, not %.7g", file->name,
               check_case_name(file, outputs->names[i]), way, outputs->names[i], (long long)difference.wrong,
               (long long)expected->element_counts[i], (long long)first, element_of(outputs, i, first),
               element_of(expected, i, first));
  }
}

void check_compare_bytes(check_t *check, const check_case_file_t *file, const check_ports_t *outputs,
                         const check_ports_t *expected, const char *way) {
  for (size_t i = 0; i < outputs->count; ++i) {
    if (memcmp(outputs->data[i], expected->data[i], outputs->sizes_bytes[i]) == 0) continue;
    check_fail(check, "%s/%s: %s is not the same bytes %s", file->name, check_case_name(file, outputs->names[i]),
               outputs->names[i], way);
  }
}

check_ports_t check_expected(check_t *check, const check_case_file_t *file) {
  byoc_diag_t diag = {0};
  check_pipeline_t pipeline;
  const check_model_t model = check_case_file_model(check, file);
  check_ok(check,
           check_pipeline_open(&pipeline, check->registry, &model, "c", BYOC_BUILD_ALL, byoc_allocator_system(), &diag),
           &diag, file->name);
  const check_ports_t inputs = check_inputs(check, &pipeline);
  check_ports_t expected = check_outputs(check, &pipeline);
  check_ok(check, check_pipeline_evaluate(&pipeline, inputs.data, expected.data, &diag), &diag, file->name);
  check_pipeline_close(&pipeline);
  return expected;
}
