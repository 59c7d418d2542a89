// SPDX-License-Identifier: Apache-2.0
// Evaluates accepted mutants on inputs and outputs of exactly their sizes.
#include <stdlib.h>
#include <string.h>

#include "core/hostir/pass/pass.h"
#include "tests/random/host/compose.h"
#include "tests/random/host/host.h"
#include "tests/random/host/values.h"

// ---- what backends would have ----

enum { TEXT_CODE = 3, BOOL_CODE = 6 }; // DLPack

static uint64_t size_of(const DLTensor *tensor) {
  uint64_t bits = tensor->dtype.bits;
  for (int32_t d = 0; d < tensor->ndim; ++d) bits *= (uint64_t)tensor->shape[d];
  return (bits + 7) / 8;
}

// Reads all of its operands and writes all of its results, small numbers that depend on every byte read.
static int32_t any_function(const byoc_call_t *call) {
  static const char *const texts[] = {"", "b", "cd", "e f"};
  uint64_t sum = 1;
  for (uint32_t k = 0; k < call->input_count; ++k) {
    const DLTensor *tensor = &call->tensors[k];
    const uint8_t *bytes = tensor->data;
    const bool is_text = tensor->dtype.code == TEXT_CODE;
    for (uint64_t at = 0; at < size_of(tensor) && !is_text; ++at) sum = sum * 31 + bytes[at];
    for (uint64_t at = 0; at < size_of(tensor) / 8 && is_text; ++at) {
      const char *text = ((const char *const *)tensor->data)[at];
      sum = sum * 31 + (text != NULL ? strlen(text) : 0);
    }
  }
  if (call->workspace_size_bytes > 0) memset(call->workspace, (int)(sum & 0xff), (size_t)call->workspace_size_bytes);
  for (uint32_t k = 0; k < call->output_count; ++k) {
    const DLTensor *tensor = &call->tensors[call->input_count + k];
    uint8_t *bytes = tensor->data;
    const uint64_t step = tensor->dtype.bits >= 8 ? tensor->dtype.bits / 8 : 1;
    for (uint64_t at = 0; at < size_of(tensor); at += step) {
      sum = sum * 6364136223846793005u + 1442695040888963407u;
      const uint8_t small = (uint8_t)(sum >> 61 & 3);
      memset(bytes + at, 0, (size_t)step);
      if (tensor->dtype.code == TEXT_CODE) {
        memcpy(bytes + at, &texts[small], sizeof(texts[0]));
      } else {
        bytes[at] = tensor->dtype.code == BOOL_CODE ? small & 1 : small;
      }
    }
  }
  return BYOC_OK;
}

static byoc_status_t resolve(void *self, const char *symbol, byoc_diag_t *diag, void **out_address) {
  (void)self, (void)symbol, (void)diag;
  const byoc_packed_function_t function = any_function;
  memcpy(out_address, &function, sizeof(function)); // ISO C has no cast from function to object pointer
  return BYOC_OK;
}

static int32_t engine_create(const byoc_engine_init_t *init, void **out_instance) {
  (void)init;
  *out_instance = NULL;
  return BYOC_OK;
}

static void engine_destroy(void *instance) {
  (void)instance;
}

static int32_t engine_run(void *instance, uint32_t function_index, const byoc_call_t *call) {
  (void)instance, (void)function_index;
  return any_function(call);
}

static void give_engines(const byoc_host_program_t *program) {
  static const byoc_engine_t engine = {.struct_size = sizeof(engine),
                                       .abi_version = BYOC_ENGINE_ABI_VERSION,
                                       .name = "any",
                                       .create = engine_create,
                                       .destroy = engine_destroy,
                                       .run = engine_run};
  for (size_t k = 0; k < program->engines.count; ++k) {
    ((byoc_runtime_module_t *)(uintptr_t)program->engines.data[k].engine)->in_process = &engine;
  }
}

// ---- one run ----

// The values that came out, of a static program or of a dynamic one.
typedef struct run_t {
  byoc_evaluator_t *evaluator;
  byoc_status_t status;
  byoc_diag_t diag;
  void **outputs;
  byoc_argument_t *arguments;
} run_t;

typedef struct inputs_t {
  void **buffers;
  byoc_argument_t *arguments;
} inputs_t;

static void free_all(void **buffers, size_t count) {
  for (size_t k = 0; buffers != NULL && k < count; ++k) free(buffers[k]);
  free(buffers);
}

static void run_once(const byoc_host_program_t *program, const inputs_t *inputs, uint8_t undefined, run_t *run) {
  run->diag = (byoc_diag_t){0};
  byoc_evaluator_set_undefined(run->evaluator, undefined);
  if (program->is_dynamic) {
    run->status = byoc_evaluator_run_arguments(run->evaluator, inputs->arguments, run->arguments, &run->diag);
    return;
  }
  for (size_t k = 0; k < program->outputs.count; ++k) {
    memset(run->outputs[k], undefined, (size_t)program->outputs.data[k]->size_bytes);
  }
  run->status = byoc_evaluator_run(run->evaluator, (const void *const *)inputs->buffers, run->outputs, &run->diag);
}

static bool start(const byoc_host_program_t *program, const byoc_symbol_resolver_t *resolver, run_t *run) {
  *run = (run_t){0};
  run->arguments = calloc(program->outputs.count + 1, sizeof(*run->arguments));
  run->outputs = calloc(program->outputs.count + 1, sizeof(void *));
  for (size_t k = 0; k < program->outputs.count; ++k) {
    const uint64_t size = program->outputs.data[k]->size_bytes;
    run->outputs[k] = malloc(size > 0 ? (size_t)size : 1);
    if (run->outputs[k] == NULL) exit(2);
  }
  return byoc_evaluator_create(program, resolver, 1, byoc_allocator_system(), &run->diag, &run->evaluator) == BYOC_OK;
}

static void end(const byoc_host_program_t *program, run_t *run) {
  byoc_evaluator_destroy(run->evaluator);
  free_all(run->outputs, program->outputs.count);
  free(run->arguments);
}

static const char *first_difference(const byoc_host_program_t *program, const run_t *a, const run_t *b) {
  for (size_t k = 0; k < program->outputs.count; ++k) {
    const byoc_host_buffer_t *output = program->outputs.data[k];
    const bool same = program->is_dynamic
                          ? same_arguments(&a->arguments[k], &b->arguments[k])
                          : same_elements(output->type->dtype, output->size_bytes, a->outputs[k], b->outputs[k]);
    if (!same) return output->name;
  }
  return NULL;
}

// ---- judging ----

// "kernel 'k': index 7 of ..." is fine only if the kernel's indices depend on data.
static bool is_by_data(const byoc_host_program_t *program, const char *message) {
  const char *name = strstr(message, "kernel '");
  if (name == NULL || strstr(message, ": index ") == NULL) return false;
  char text[128];
  snprintf(text, sizeof(text), "%.*s", (int)strcspn(name + 8, "'"), name + 8);
  const byoc_loop_kernel_t *kernel = byoc_host_find_kernel(program, text);
  return kernel != NULL && !kernel_is_closed(kernel);
}

// A kernel whose indices depend on data, as those of NonZero, may leave parts of its results as they were.
static bool has_open_kernel(const byoc_host_program_t *program) {
  BYOC_HOST_FOR_EACH(i, program) {
    if (i->op == BYOC_HOST_KERNEL && !kernel_is_closed(i->kernel)) return true;
  }
  return false;
}

static outcome_t judge(const byoc_host_program_t *program, const run_t *a, const run_t *b, char *reason, size_t size) {
  const char *output = a->status == BYOC_OK && b->status == BYOC_OK ? first_difference(program, a, b) : NULL;
  if ((a->status != b->status || output != NULL) && has_open_kernel(program)) return OUTCOME_OPEN;
  if (a->status != b->status) {
    snprintf(reason, size, "the status depends on undefined memory: %s and %s", a->diag.message, b->diag.message);
    return OUTCOME_WRONG;
  }
  if (a->status == BYOC_OK) {
    if (output == NULL) return OUTCOME_RAN;
    snprintf(reason, size, "output '%s' depends on undefined memory", output);
    return OUTCOME_WRONG;
  }
  if (a->status == BYOC_INTERNAL && is_by_data(program, a->diag.message)) return OUTCOME_OPEN;
  if (a->status != BYOC_INTERNAL && strstr(a->diag.message, "without a reason") == NULL) return OUTCOME_STOPPED;
  snprintf(reason, size, "it runs into %s", a->diag.message);
  return OUTCOME_WRONG;
}

static void make_inputs(const byoc_host_program_t *program, uint64_t seed, inputs_t *inputs) {
  byoc_test_random_t random = {seed};
  *inputs = (inputs_t){.buffers = calloc(program->inputs.count + 1, sizeof(void *))};
  if (inputs->buffers == NULL) exit(2);
  if (program->is_dynamic) inputs->arguments = make_arguments(program, &random);
  for (size_t k = 0; k < program->inputs.count && !program->is_dynamic; ++k) {
    const byoc_host_buffer_t *input = program->inputs.data[k];
    inputs->buffers[k] = make_elements(input->type->dtype, input->size_bytes, &random);
  }
}

static void free_inputs(const byoc_host_program_t *program, inputs_t *inputs) {
  if (program->is_dynamic) free_arguments(inputs->arguments, program->inputs.count);
  free_all(inputs->buffers, program->inputs.count);
}

outcome_t run_program(const byoc_host_program_t *program, uint64_t seed, bool *composes, char *reason,
                      size_t reason_size) {
  *composes = *composes && can_be_composed(program);
  BYOC_HOST_FOR_EACH(i, program) {
    if (i->op == BYOC_HOST_C_CALL) return OUTCOME_UNPREPARED;
  }
  const byoc_symbol_resolver_t resolver = {.resolve = resolve};
  inputs_t inputs;
  run_t a, b;
  give_engines(program);
  const bool has_a = start(program, &resolver, &a), has_b = start(program, &resolver, &b), ready = has_a && has_b;
  outcome_t outcome = OUTCOME_UNPREPARED;
  if (ready) {
    make_inputs(program, seed, &inputs);
    run_once(program, &inputs, 0xa5, &a);
    run_once(program, &inputs, 0xff, &a); // what the run before left behind does not matter, unless it is cached
    run_once(program, &inputs, 0x00, &b);
    run_once(program, &inputs, 0x01, &b);
    outcome = judge(program, &a, &b, reason, reason_size);
    *composes = *composes && (outcome == OUTCOME_RAN || outcome == OUTCOME_STOPPED) && a.status != BYOC_OUT_OF_MEMORY;
    if (*composes) {
      const composed_t wanted = {inputs.buffers, a.outputs, inputs.arguments, a.arguments, a.status};
      const char *different = compose_and_run(program, &wanted);
      if (different != NULL) {
        snprintf(reason, reason_size, "%s", different);
        outcome = OUTCOME_WRONG;
      }
    }
    free_inputs(program, &inputs);
  }
  end(program, &a);
  end(program, &b);
  return outcome;
}

static outcome_t compare(const byoc_host_program_t *program, const byoc_host_program_t *changed, uint64_t seed,
                         char *reason, size_t reason_size) {
  const byoc_symbol_resolver_t resolver = {.resolve = resolve};
  inputs_t inputs;
  run_t a, b;
  outcome_t outcome = OUTCOME_RAN;
  give_engines(changed);
  const bool has_a = start(program, &resolver, &a), has_b = start(changed, &resolver, &b), ready = has_a && has_b;
  make_inputs(program, seed, &inputs);
  if (ready) {
    run_once(program, &inputs, 0xa5, &a);
    run_once(changed, &inputs, 0xa5, &b);
  }
  const char *output = a.status == BYOC_OK && b.status == BYOC_OK && ready ? first_difference(program, &a, &b) : NULL;
  if (!ready || a.status != b.status || output != NULL) {
    outcome = OUTCOME_WRONG;
    snprintf(reason, reason_size, "after host passes, output '%s' differs, or the status: %s",
             output != NULL ? output : "", b.diag.message);
  }
  free_inputs(program, &inputs);
  end(program, &a);
  end(changed, &b);
  return outcome;
}

outcome_t run_passes(const byoc_host_program_t *program, const char *text, const char *passes, uint64_t seed,
                     char *reason, size_t reason_size) {
  byoc_diag_t diag = {0};
  byoc_graph_module_t *module = NULL;
  byoc_host_program_t *changed = NULL;
  outcome_t outcome = OUTCOME_WRONG;
  byoc_status_t status =
      byoc_host_program_parse(text, "mutant", NULL, byoc_allocator_system(), &diag, &module, &changed);
  if (status == BYOC_OK) status = byoc_host_pass_run_list(passes, changed, NULL, &diag);
  if (status == BYOC_OK) status = byoc_host_program_verify(changed, &diag);
  if (status != BYOC_OK) snprintf(reason, reason_size, "%s", diag.message);
  if (status == BYOC_OK && has_open_kernel(program)) outcome = OUTCOME_OPEN;
  if (status == BYOC_OK && outcome != OUTCOME_OPEN) outcome = compare(program, changed, seed, reason, reason_size);
  byoc_host_program_destroy(changed);
  byoc_graph_module_destroy(module);
  return outcome;
}
