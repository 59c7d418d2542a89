// SPDX-License-Identifier: Apache-2.0
// The backend's hook: plans every function, puts the kernels of all into one module, and binds the functions to them.
#include "generate.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "binary.h"
#include "module.h"
#include "plan.h"

extern const byoc_driver_t byoc_driver_opencl;

// The archive that artifacts link to (byoc_embed in CMakeLists.txt).
extern const unsigned char byoc_embed_opencl_driver[];
extern const unsigned long long byoc_embed_opencl_driver_size;

// One function of the codegen.
typedef struct job_t {
  byoc_function_t *function;
  byoc_opencl_plan_t plan;
  uint32_t *entries; // of its kernels, in the module
} job_t;

typedef struct generation_t {
  const byoc_opencl_state_t *state;
  byoc_codegen_t *codegen;
  job_t *jobs; // those that are not declined
  uint32_t job_count;
  byoc_opencl_module_t module;
} generation_t;

static int32_t out_of_memory(const generation_t *generation) {
  return generation->state->host->codegen->error(generation->codegen, BYOC_OUT_OF_MEMORY, "out of memory");
}

static void job_deinit(job_t *job) {
  byoc_opencl_plan_deinit(&job->plan);
  free(job->entries);
}

// ---- planning ----

static int32_t plan_job(generation_t *generation, byoc_function_t *function) {
  job_t *job = &generation->jobs[generation->job_count];
  *job = (job_t){.function = function};
  byoc_opencl_sizes_t sizes = {.graph = generation->state->host->graph,
                               .device = generation->state->device,
                               .codegen = generation->codegen,
                               .function = function};
  const char *reason = byoc_opencl_plan_function(&sizes, &job->plan);
  if (reason != NULL) {
    job_deinit(job);
    return generation->state->host->codegen->decline(generation->codegen, function, reason);
  }
  ++generation->job_count;
  job->entries = calloc((size_t)job->plan.kernel_count + 1, sizeof(*job->entries));
  if (job->plan.failed || job->entries == NULL) return out_of_memory(generation);
  for (uint32_t i = 0; i < job->plan.kernel_count; ++i)
    if (!byoc_opencl_module_add(&generation->module, &job->plan.kernels[i], &job->entries[i]))
      return out_of_memory(generation);
  return BYOC_OK;
}

static int32_t plan_jobs(generation_t *generation) {
  const byoc_codegen_api_t *api = generation->state->host->codegen;
  uint64_t count = api->function_count(generation->codegen);
  generation->jobs = calloc((size_t)count + 1, sizeof(*generation->jobs));
  if (generation->jobs == NULL) return out_of_memory(generation);
  for (uint64_t i = 0; i < count; ++i) {
    int32_t status = plan_job(generation, api->function_at(generation->codegen, i));
    if (status != BYOC_OK) return status;
  }
  return BYOC_OK;
}

// ---- binding ----

// Everything that one binding points to.
typedef struct binding_t {
  byoc_kernel_launch_t *launches;
  byoc_kernel_argument_t *arguments; // of all launches
  byoc_opencl_name_t *numbers;       // four of each launch: of its grid and its block
  byoc_tensor_data_t *constants;
  const char **temporaries;
  byoc_opencl_name_t *temporary_numbers;
} binding_t;

static void binding_deinit(binding_t *binding) {
  free(binding->launches);
  free(binding->arguments);
  free(binding->numbers);
  free(binding->constants);
  free(binding->temporaries);
  free(binding->temporary_numbers);
}

// The text of a size; `number` holds that of one that is known.
static const char *extent_of(byoc_opencl_size_t size, byoc_opencl_name_t *number) {
  if (size.is_open) return size.extent;
  *number = byoc_opencl_name("%lld", (long long)size.known);
  return number->text;
}

static byoc_kernel_argument_t argument_of(const job_t *job, const byoc_opencl_argument_t *argument) {
  static const uint32_t kinds[] = {[BYOC_OPENCL_OPERAND] = BYOC_KERNEL_ARGUMENT_OPERAND,
                                   [BYOC_OPENCL_RESULT] = BYOC_KERNEL_ARGUMENT_RESULT,
                                   [BYOC_OPENCL_CONSTANT] = BYOC_KERNEL_ARGUMENT_CONSTANT,
                                   [BYOC_OPENCL_TEMPORARY] = BYOC_KERNEL_ARGUMENT_TEMPORARY};
  byoc_kernel_argument_t result = {.kind = BYOC_KERNEL_ARGUMENT_EXTENT, .type = BYOC_C_I32, .extent = argument->extent};
  if (argument->extent == NULL) {
    result = (byoc_kernel_argument_t){0};
    result.kind = kinds[byoc_opencl_plan_place(&job->plan, argument, &result.index)];
  }
  return result;
}

static void fill_launches(const generation_t *generation, const job_t *job, binding_t *binding) {
  byoc_kernel_argument_t *arguments = binding->arguments;
  byoc_opencl_name_t *numbers = binding->numbers;
  for (uint32_t k = 0; k < job->plan.kernel_count; ++k) {
    const byoc_opencl_kernel_t *kernel = &job->plan.kernels[k];
    byoc_kernel_launch_t *launch = &binding->launches[k];
    *launch = (byoc_kernel_launch_t){.header = BYOC_HEADER(byoc_kernel_launch_t, 1),
                                     .module = BYOC_OPENCL_MODULE,
                                     .entry = byoc_opencl_module_entry_name(&generation->module, job->entries[k]),
                                     .arguments = arguments,
                                     .argument_count = kernel->argument_count,
                                     .argument_stride = sizeof(*arguments)};
    for (int i = 0; i < 3; ++i) launch->grid[i] = extent_of(kernel->grid[i], numbers++);
    launch->block[0] = extent_of(byoc_opencl_size(kernel->block), numbers++);
    for (uint32_t i = 0; i < kernel->argument_count; ++i) *arguments++ = argument_of(job, &kernel->arguments[i]);
  }
}

static void fill_temporaries(const job_t *job, binding_t *binding) {
  for (uint32_t i = 0; i < job->plan.temporary_count; ++i)
    binding->temporaries[i] = extent_of(job->plan.temporaries[i].size_bytes, &binding->temporary_numbers[i]);
}

static void fill_constants(const byoc_graph_api_t *graph, const job_t *job, binding_t *binding) {
  for (uint32_t i = 0; i < job->plan.constants.count; ++i) {
    const byoc_opencl_constant_t *constant = &job->plan.constants.items[i];
    binding->constants[i] = (byoc_tensor_data_t){.header = BYOC_HEADER(byoc_tensor_data_t, 1)};
    if (constant->owned == NULL)
      (void)graph->value_constant(constant->value, &binding->constants[i]);
    else
      binding->constants[i] = (byoc_tensor_data_t){.header = BYOC_HEADER(byoc_tensor_data_t, 1),
                                                   .dtype = BYOC_DTYPE_F32,
                                                   .rank = 1,
                                                   .dims = &constant->count,
                                                   .data = constant->owned,
                                                   .size_bytes = (uint64_t)constant->count * sizeof(float)};
  }
}

static int32_t bind_job(const generation_t *generation, const job_t *job) {
  size_t launch_count = job->plan.kernel_count, argument_count = 0;
  for (size_t k = 0; k < launch_count; ++k) argument_count += job->plan.kernels[k].argument_count;
  size_t constant_count = job->plan.constants.count, temporary_count = job->plan.temporary_count;
  binding_t binding = {.launches = calloc(launch_count + 1, sizeof(*binding.launches)),
                       .arguments = calloc(argument_count + 1, sizeof(*binding.arguments)),
                       .numbers = calloc(4 * launch_count + 1, sizeof(*binding.numbers)),
                       .constants = calloc(constant_count + 1, sizeof(*binding.constants)),
                       .temporaries = calloc(temporary_count + 1, sizeof(*binding.temporaries)),
                       .temporary_numbers = calloc(temporary_count + 1, sizeof(*binding.temporary_numbers))};
  int32_t status = BYOC_OUT_OF_MEMORY;
  if (binding.launches == NULL || binding.arguments == NULL || binding.numbers == NULL || binding.constants == NULL ||
      binding.temporaries == NULL || binding.temporary_numbers == NULL) {
    status = out_of_memory(generation);
    goto cleanup;
  }
  fill_launches(generation, job, &binding);
  fill_constants(generation->state->host->graph, job, &binding);
  fill_temporaries(job, &binding);
  byoc_kernel_binding_t answer = {.header = BYOC_HEADER(byoc_kernel_binding_t, 1),
                                  .launches = binding.launches,
                                  .launch_count = (uint32_t)launch_count,
                                  .launch_stride = sizeof(*binding.launches),
                                  .constants = binding.constants,
                                  .constant_count = (uint32_t)constant_count,
                                  .constant_stride = sizeof(*binding.constants),
                                  .temporaries = {binding.temporaries, temporary_count}};
  status = generation->state->device->bind_kernels(generation->codegen, job->function, &answer);
cleanup:
  binding_deinit(&binding);
  return status;
}

// ---- modules ----

static int32_t add_driver(const generation_t *generation) {
  byoc_file_content_t archive = {.header = BYOC_HEADER(byoc_file_content_t, 1),
                                 .name = "libbyoc_opencl_driver.a",
                                 .data = byoc_embed_opencl_driver,
                                 .size_bytes = byoc_embed_opencl_driver_size};
  byoc_driver_module_t driver = {.header = BYOC_HEADER(byoc_driver_module_t, 1),
                                 .name = "opencl",
                                 .symbol = "byoc_driver_opencl",
                                 .files = &archive,
                                 .file_count = 1,
                                 .file_stride = sizeof(archive),
                                 .in_process = &byoc_driver_opencl};
  return generation->state->device->add_driver(generation->codegen, &driver);
}

static int32_t add_kernels(generation_t *generation) {
  const byoc_host_t *host = generation->state->host;
  byoc_opencl_module_t *module = &generation->module;
  byoc_device_variant_t variants[2];
  uint32_t variant_count = 0;
  if (host->target->option_int(host->codegen->target(generation->codegen), BYOC_OPENCL_OPTION_BINARY) != 0) {
    byoc_opencl_binary_t binary;
    int32_t status = byoc_opencl_compile(generation->state, generation->codegen, module->source.data,
                                         module->source.length, &binary);
    if (status != BYOC_OK) return status;
    variants[variant_count++] = (byoc_device_variant_t){.header = BYOC_HEADER(byoc_device_variant_t, 1),
                                                        .kind = BYOC_DEVICE_CODE_BINARY,
                                                        .format = "opencl-binary",
                                                        .architecture = binary.architecture,
                                                        .data = binary.data,
                                                        .size_bytes = binary.size_bytes,
                                                        .options = BYOC_OPENCL_OPTIONS};
  }
  variants[variant_count++] = (byoc_device_variant_t){.header = BYOC_HEADER(byoc_device_variant_t, 1),
                                                      .kind = BYOC_DEVICE_CODE_SOURCE,
                                                      .format = "opencl-c",
                                                      .data = module->source.data,
                                                      .size_bytes = module->source.length,
                                                      .options = BYOC_OPENCL_OPTIONS};
  const char **entries = calloc((size_t)module->entry_count + 1, sizeof(*entries));
  if (entries == NULL) return out_of_memory(generation);
  for (uint32_t i = 0; i < module->entry_count; ++i) entries[i] = byoc_opencl_module_entry_name(module, i);
  byoc_device_code_module_t code = {.header = BYOC_HEADER(byoc_device_code_module_t, 1),
                                    .name = BYOC_OPENCL_MODULE,
                                    .driver = "opencl",
                                    .variants = variants,
                                    .variant_count = variant_count,
                                    .variant_stride = sizeof(variants[0]),
                                    .entries = {entries, module->entry_count}};
  int32_t status = generation->state->device->add_device_module(generation->codegen, &code);
  free(entries);
  return status;
}

int32_t byoc_opencl_generate(void *self, byoc_codegen_t *codegen) {
  generation_t generation = {.state = self, .codegen = codegen};
  int32_t status = plan_jobs(&generation);
  if (status != BYOC_OK || generation.job_count == 0) goto cleanup;
  status = add_driver(&generation);
  if (status == BYOC_OK) status = add_kernels(&generation);
  for (uint32_t i = 0; status == BYOC_OK && i < generation.job_count; ++i)
    status = bind_job(&generation, &generation.jobs[i]);
cleanup:
  for (uint32_t i = 0; i < generation.job_count; ++i) job_deinit(&generation.jobs[i]);
  free(generation.jobs);
  byoc_opencl_module_deinit(&generation.module);
  return status;
}
