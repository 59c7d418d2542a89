// SPDX-License-Identifier: Apache-2.0
// Builds candidates and whole plans the way models are built.
#include "core/compile/candidates.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/file.h"
#include "core/collage/outline_regions.h"
#include "core/compile/build.h"
#include "core/compile/thread_cases.h"
#include "core/compose/c/host_c.h"
#include "core/ir/attribute_names.h"
#include "core/measure/compare.h"
#include "core/measure/data.h"
#include "core/measure/window.h"
#include "core/op/limit.h"

// ---- the module ----

typedef struct module_maker_t {
  byoc_graph_module_t *module;
  byoc_map_t kept; // the kept functions and those that they call
  bool failed;
} module_maker_t;

static bool keep_callee(void *self, byoc_node_t *node) {
  module_maker_t *maker = self;
  if (node->callee == NULL || byoc_pointer_map_find(&maker->kept, node->callee) != NULL) return true;
  if (!byoc_pointer_map_put(&maker->kept, node->callee, node->callee)) maker->failed = true;
  return !maker->failed && byoc_block_walk(node->callee->body, keep_callee, maker);
}

static bool is_kept(void *self, const byoc_function_t *function) {
  return byoc_pointer_map_find(&((const module_maker_t *)self)->kept, function) != NULL;
}

// Erases all functions of the module (this process's own copy) except these and their callees.
static bool drop_others(module_maker_t *maker, const byoc_cost_build_t *build) {
  byoc_graph_module_t *module = maker->module;
  for (size_t i = 0; i < build->count; ++i) {
    byoc_function_t *function = (byoc_function_t *)(uintptr_t)build->functions[i];
    if (!byoc_pointer_map_put(&maker->kept, function, function)) return false;
    (void)byoc_block_walk(function->body, keep_callee, maker);
  }
  if (!maker->failed) byoc_graph_module_keep_functions(module, is_kept, maker);
  byoc_graph_module_drop_runtime_modules(module);
  return !maker->failed;
}

// The native target sees the plain nodes.
static bool make_native(module_maker_t *maker) {
  static const char *const attributes[] = {BYOC_ATTRIBUTE_COMPILER, BYOC_ATTRIBUTE_COMPOSITE,
                                           BYOC_ATTRIBUTE_TARGET,   BYOC_ATTRIBUTE_PRIMITIVE,
                                           BYOC_ATTRIBUTE_INLINE,   BYOC_ATTRIBUTE_GLOBAL_SYMBOL};
  for (size_t f = 0; f < maker->module->functions.count; ++f) {
    byoc_function_t *callee = maker->module->functions.data[f];
    for (size_t i = 0; i < sizeof(attributes) / sizeof(attributes[0]); ++i) {
      byoc_attributes_remove(&callee->attributes, attributes[i]);
    }
    if (!byoc_attributes_set_int(&callee->attributes, BYOC_ATTRIBUTE_INLINE, 1)) return false;
  }
  return true;
}

// Frees virtual devices: they name the target and device of a value in the model, and here one target makes all values.
static bool forget_place(void *self, byoc_node_t *node) {
  (void)self;
  for (uint32_t r = 0; r < node->result_count; ++r) node->results[r]->device = BYOC_VIRTUAL_DEVICE_FREE;
  return true;
}

static void forget_places(const byoc_function_t *function) {
  const byoc_block_t *body = function->body;
  for (size_t i = 0; i < body->parameters.count; ++i) body->parameters.data[i]->device = BYOC_VIRTUAL_DEVICE_FREE;
  (void)byoc_block_walk(function->body, forget_place, NULL);
}

static bool mark_for(byoc_function_t *function, const byoc_target_t *target) {
  byoc_attributes_t *attributes = &function->attributes;
  return byoc_attributes_set_string(attributes, BYOC_ATTRIBUTE_COMPILER, target->kind->name) &&
         byoc_attributes_set_int(attributes, BYOC_ATTRIBUTE_TARGET, 0) &&
         byoc_attributes_set_int(attributes, BYOC_ATTRIBUTE_PRIMITIVE, 1) &&
         byoc_attributes_set_string(attributes, BYOC_ATTRIBUTE_GLOBAL_SYMBOL, function->name);
}

// Adds a call on parameters of its own; its results become the main function's.
static bool call_part(byoc_function_t *main_function, byoc_function_t *function) {
  const byoc_block_t *body = function->body;
  byoc_arena_t *arena = &main_function->module->arena;
  byoc_value_t **operands = BYOC_ARENA_ARRAY(arena, byoc_value_t *, body->parameters.count);
  if (operands == NULL) return false;
  for (size_t i = 0; i < body->parameters.count; ++i) {
    operands[i] = byoc_block_add_parameter(main_function->body, NULL, body->parameters.data[i]->type);
    if (operands[i] == NULL) return false;
  }
  byoc_node_t *call =
      byoc_node_create_call(main_function->body, NULL, function, operands, (uint32_t)body->parameters.count);
  if (call == NULL) return false;
  for (uint32_t i = 0; i < call->result_count; ++i) {
    call->results[i]->type = body->results.data[i]->type;
    if (!byoc_block_add_result(main_function->body, NULL, call->results[i])) return false;
  }
  return true;
}

// Gives names to the inputs and outputs, which an artifact's must have.
static bool name_ports(byoc_graph_module_t *module, byoc_function_t *main_function) {
  const byoc_block_t *body = main_function->body;
  for (size_t i = 0; i < body->parameters.count; ++i) {
    const char *name = byoc_arena_format(&module->arena, "input%zu", i);
    if (name == NULL) return false;
    byoc_value_set_name(body->parameters.data[i], name);
  }
  for (size_t i = 0; i < body->results.count; ++i) {
    body->result_names.data[i] = byoc_arena_format(&module->arena, "output%zu", i);
    if (body->result_names.data[i] == NULL) return false;
  }
  return true;
}

static bool make_main(module_maker_t *maker, const byoc_cost_build_t *build) {
  byoc_function_t *main_function =
      byoc_function_create(maker->module, byoc_graph_module_unique_name(maker->module, "main"));
  bool ok = main_function != NULL;
  for (size_t i = 0; i < build->count && ok; ++i) {
    ok = call_part(main_function, (byoc_function_t *)(uintptr_t)build->functions[i]);
  }
  // The first function is the one to run if none is called "main".
  if (ok && strcmp(main_function->name, "main") != 0) ok = byoc_function_rename(main_function, "main");
  return ok && name_ports(maker->module, main_function);
}

static byoc_status_t make_module(const byoc_cost_build_t *build, byoc_diag_t *diag, byoc_graph_module_t **out_module) {
  module_maker_t maker = {.module = build->functions[0]->module};
  byoc_pointer_map_init(&maker.kept, maker.module->allocator);
  bool is_native = build->target->kind->backend == NULL, ok = drop_others(&maker, build);
  for (size_t f = 0; f < maker.module->functions.count; ++f) {
    forget_places(maker.module->functions.data[f]);
  }
  if (is_native) ok = ok && make_native(&maker);
  for (size_t i = 0; i < build->count && ok; ++i) {
    byoc_function_t *function = (byoc_function_t *)(uintptr_t)build->functions[i];
    byoc_function_t *region = is_native ? function : byoc_candidate_region(function);
    ok = byoc_function_rename(region, byoc_graph_module_unique_name(maker.module, "part")) &&
         (is_native || mark_for(region, build->target));
  }
  ok = ok && make_main(&maker, build);
  byoc_map_deinit(&maker.kept);
  *out_module = maker.module;
  return ok ? BYOC_OK : byoc_diag_out_of_memory(diag);
}

// ---- building ----

static byoc_status_t make_targets(const byoc_cost_build_t *build, byoc_diag_t *diag, byoc_target_list_t *list) {
  byoc_allocator_t allocator = byoc_allocator_system();
  const byoc_target_t *const wanted[] = {build->target, build->native};
  byoc_arena_init(&list->arena, allocator);
  for (uint32_t i = build->target->kind->backend != NULL ? 0 : 1; i < 2; ++i) {
    byoc_target_t *copy = byoc_arena_copy(&list->arena, wanted[i], sizeof(**wanted));
    if (copy == NULL || !byoc_vector_push(&list->targets, allocator, copy)) return byoc_diag_out_of_memory(diag);
    copy->index = (uint32_t)list->targets.count - 1;
  }
  return BYOC_OK;
}

// ---- owners of steps ----

enum { NOBODY = UINT8_MAX };

// Parts share neither inputs nor outputs: an instruction that leads to a part's output, or comes from its input,
// belongs to it.
typedef struct owning_t {
  const byoc_host_program_t *program;
  uint8_t *owners; // by buffer
} owning_t;

static void own(const owning_t *owning, byoc_host_buffer_t *const *buffers, size_t count, uint8_t owner) {
  for (size_t i = 0; i < count; ++i) {
    if (buffers[i] == NULL) continue;
    uint8_t *of = &owning->owners[byoc_host_buffer_root(buffers[i])->index];
    if (*of == NOBODY && buffers[i]->kind != BYOC_HOST_BUFFER_CONSTANT) *of = owner;
  }
}

static uint8_t find_owner(const owning_t *owning, const byoc_host_instruction_t *at) {
  for (size_t i = 0; i < at->results.count + at->operands.count; ++i) {
    byoc_host_buffer_t *buffer = i < at->results.count ? at->results.data[i] : at->operands.data[i - at->results.count];
    uint8_t owner = buffer != NULL ? owning->owners[byoc_host_buffer_root(buffer)->index] : (uint8_t)NOBODY;
    if (owner != NOBODY) return owner;
  }
  return NOBODY;
}

static void own_ports(const owning_t *owning, const byoc_cost_build_t *build) {
  size_t input = 0, output = 0;
  for (size_t p = 0; p < build->count; ++p) {
    const byoc_block_t *body = build->functions[p]->body;
    own(owning, owning->program->inputs.data + input, body->parameters.count, (uint8_t)p);
    own(owning, owning->program->outputs.data + output, body->results.count, (uint8_t)p);
    input += body->parameters.count;
    output += body->results.count;
  }
}

// Commands of devices are reported when the run is over, waits are not reported.
static bool is_command(const byoc_host_instruction_t *at) {
  return at->on.queue != NULL && at->on.queue->device != NULL;
}

static void list_steps(const owning_t *owning, bool of_commands, byoc_cost_build_answer_t *out) {
  for (const byoc_host_instruction_t *at = owning->program->body.first; at != NULL; at = at->next) {
    if (!byoc_host_c_is_step(at) || at->op == BYOC_HOST_AWAIT || is_command(at) != of_commands) continue;
    const bool is_copy = of_commands && at->op == BYOC_HOST_COPY;
    if (out->step_count < BYOC_COST_STEPS_MAX) {
      out->owners[out->step_count] = is_copy ? (uint8_t)NOBODY : find_owner(owning, at);
    }
    out->step_count += 1;
  }
}

// One backward pass, from the needed buffers to the instructions that make them.
static byoc_status_t find_owners(const byoc_host_program_t *program, const byoc_cost_build_t *build, byoc_diag_t *diag,
                                 byoc_cost_build_answer_t *out) {
  if (program->is_dynamic) return byoc_diag_error(diag, BYOC_UNSUPPORTED, "its shapes are known only when it runs");
  owning_t owning = {.program = program, .owners = malloc(program->buffers.count + 1)};
  if (owning.owners == NULL) return byoc_diag_out_of_memory(diag);
  memset(owning.owners, NOBODY, program->buffers.count + 1);
  own_ports(&owning, build);
  for (const byoc_host_instruction_t *at = program->body.last; at != NULL; at = at->previous) {
    uint8_t owner = find_owner(&owning, at);
    own(&owning, at->operands.data, at->operands.count, owner);
    own(&owning, at->results.data, at->results.count, owner);
  }
  list_steps(&owning, false, out);
  out->host_steps = out->step_count;
  list_steps(&owning, true, out);
  free(owning.owners);
  if (out->step_count <= BYOC_COST_STEPS_MAX) return BYOC_OK;
  return byoc_diag_error(diag, BYOC_UNSUPPORTED, "it takes %u steps, more than %d", (unsigned)out->step_count,
                         BYOC_COST_STEPS_MAX);
}

static void note_refusals(const byoc_cost_build_t *build, const byoc_pipeline_result_t *result,
                          byoc_cost_build_answer_t *out) {
  for (size_t i = 0; i < result->declined.count; ++i) {
    const byoc_declined_function_t *note = &result->declined.data[i];
    for (size_t p = 0; p < build->count; ++p) {
      if (strcmp(byoc_candidate_region(build->functions[p])->name, note->function) != 0) continue;
      out->partitions[p].is_fallback = true;
      snprintf(out->partitions[p].reason, sizeof(out->partitions[p].reason), "%s", note->reason);
    }
  }
}

// ---- evaluating ----

// Memory of a buffer; the arena keeps it.
static void *make_buffer(const byoc_host_buffer_t *buffer, byoc_arena_t *arena) {
  size_t size = buffer->size_bytes > 0 ? (size_t)buffer->size_bytes : 1;
  return byoc_arena_allocate_aligned(arena, size, BYOC_BUFFER_ALIGNMENT);
}

// Fills the inputs of each part, from its beginning: the same data as runners have (core/measure/runner.h).
static void fill_parts(const byoc_host_program_t *program, const byoc_cost_build_t *build, bool is_special,
                       void *const *inputs) {
  size_t input = 0;
  for (size_t p = 0; p < build->count; ++p) {
    uint64_t random = BYOC_MEASURE_SEED;
    for (size_t i = 0; i < build->functions[p]->body->parameters.count; ++i, ++input) {
      const byoc_host_buffer_t *buffer = program->inputs.data[input];
      (is_special ? byoc_measure_fill_special : byoc_measure_fill)(buffer->type->dtype, inputs[input],
                                                                   (size_t)buffer->size_bytes, &random);
    }
  }
}

// Memory for buffers; the arena keeps it.
static byoc_status_t make_buffers(byoc_host_buffer_t *const *buffers, size_t count, byoc_arena_t *arena,
                                  byoc_diag_t *diag, void ***out_data) {
  *out_data = BYOC_ARENA_ARRAY(arena, void *, count);
  if (*out_data == NULL) return byoc_diag_out_of_memory(diag);
  for (size_t i = 0; i < count; ++i) {
    (*out_data)[i] = make_buffer(buffers[i], arena);
    if ((*out_data)[i] == NULL) return byoc_diag_out_of_memory(diag);
  }
  return BYOC_OK;
}

// Writes the results of each part: those of ordinary data, and behind them those of special values if there are such
// and its operators are defined for them.
static byoc_status_t write_parts(const byoc_host_program_t *program, const byoc_cost_build_t *build,
                                 void *const *outputs, void *const *special, byoc_arena_t *arena, byoc_diag_t *diag) {
  size_t output = 0;
  for (size_t p = 0; p < build->count; ++p) {
    const size_t count = build->functions[p]->body->results.count;
    const bool is_special = special != NULL && build->special[p] != BYOC_WILD_NONE;
    byoc_bytes_t *partitions = BYOC_ARENA_ARRAY(arena, byoc_bytes_t, 2 * count);
    if (partitions == NULL) return byoc_diag_out_of_memory(diag);
    for (size_t i = 0; i < count; ++i) {
      const size_t size = (size_t)program->outputs.data[output + i]->size_bytes;
      partitions[i] = (byoc_bytes_t){outputs[output + i], size};
      if (is_special) partitions[count + i] = (byoc_bytes_t){special[output + i], size};
    }
    BYOC_RETURN_IF_ERROR(byoc_file_write_parts(build->results[p], partitions, is_special ? 2 * count : count, diag));
    output += count;
  }
  return BYOC_OK;
}

static byoc_status_t evaluate_into(const byoc_host_program_t *program, const byoc_cost_build_t *build,
                                   byoc_evaluator_t *evaluator, byoc_arena_t *arena, byoc_diag_t *diag) {
  void **inputs = NULL, **outputs = NULL, **special = NULL;
  BYOC_RETURN_IF_ERROR(make_buffers(program->inputs.data, program->inputs.count, arena, diag, &inputs));
  BYOC_RETURN_IF_ERROR(make_buffers(program->outputs.data, program->outputs.count, arena, diag, &outputs));
  BYOC_RETURN_IF_ERROR(make_buffers(program->outputs.data, program->outputs.count, arena, diag, &special));
  fill_parts(program, build, false, inputs);
  BYOC_RETURN_IF_ERROR(byoc_evaluator_run(evaluator, (const void *const *)inputs, outputs, diag));
  fill_parts(program, build, true, inputs);
  byoc_diag_t refusal = {0}; // a refusal of special values is no failure of the reference
  if (byoc_evaluator_run(evaluator, (const void *const *)inputs, special, &refusal) != BYOC_OK) special = NULL;
  return write_parts(program, build, outputs, special, arena, diag);
}

// Long kernels run some of their iterations; the other elements stay those of the other target, and nothing else reads
// them.
static void take_windows(const byoc_host_program_t *program, byoc_arena_t *arena) {
  BYOC_HOST_FOR_EACH(i, program) {
    bool is_last = i->op == BYOC_HOST_KERNEL;
    for (size_t r = 0; r < i->results.count && is_last; ++r) {
      const byoc_host_buffer_t *result = i->results.data[r];
      is_last = result->kind == BYOC_HOST_BUFFER_OUTPUT;
      for (size_t u = 0; u < result->uses.count && is_last; ++u) {
        is_last = result->uses.data[u].kind != BYOC_HOST_USE_OPERAND || result->uses.data[u].instruction == i;
      }
    }
    const byoc_loop_kernel_t *partition = is_last ? byoc_kernel_take_windows(i->kernel, i->function, arena) : NULL;
    if (partition != NULL) i->kernel = partition;
  }
}

// Computes the part over the results of another target, from the file's `offset` on, and compares.
static byoc_status_t compare_results(const byoc_host_program_t *program, const byoc_cost_build_t *build,
                                     byoc_evaluator_t *evaluator, const byoc_file_view_t *made, size_t offset,
                                     byoc_special_values_t special, byoc_arena_t *arena, byoc_diag_t *diag) {
  const bool is_special = special != BYOC_WILD_NONE;
  void **inputs = NULL, **outputs = NULL;
  BYOC_RETURN_IF_ERROR(make_buffers(program->inputs.data, program->inputs.count, arena, diag, &inputs));
  BYOC_RETURN_IF_ERROR(make_buffers(program->outputs.data, program->outputs.count, arena, diag, &outputs));
  fill_parts(program, build, is_special, inputs);
  size_t at = offset;
  for (size_t i = 0; i < program->outputs.count; ++i) {
    const size_t size = (size_t)program->outputs.data[i]->size_bytes;
    if (at + size > made->size_bytes) return byoc_diag_error(diag, BYOC_INTERNAL, "there are fewer results");
    memcpy(outputs[i], (const char *)made->data + at, size);
    at += size;
  }
  byoc_diag_t refusal = {0};
  const byoc_status_t ran = byoc_evaluator_run(evaluator, (const void *const *)inputs, outputs, &refusal);
  if (ran != BYOC_OK) return is_special ? BYOC_OK : byoc_diag_adopt(diag, &refusal);
  at = offset;
  for (size_t i = 0; i < program->outputs.count; ++i) {
    const byoc_host_buffer_t *output = program->outputs.data[i];
    char name[64];
    snprintf(name, sizeof(name), "output%zu%s", i, is_special ? " on NaN and infinities" : "");
    BYOC_RETURN_IF_ERROR((special == BYOC_WILD_SPREADS ? byoc_cost_check_spread : byoc_cost_check_within)(
        build->relative_error, output->type->dtype, outputs[i], (const char *)made->data + at,
        (size_t)byoc_type_element_count(output->type), name, diag));
    at += (size_t)output->size_bytes;
  }
  return BYOC_OK;
}

// A mismatch is an answer, not a failure.
static byoc_status_t compare_part(const byoc_host_program_t *program, const byoc_cost_build_t *build,
                                  byoc_evaluator_t *evaluator, byoc_arena_t *arena, byoc_diag_t *diag,
                                  byoc_cost_build_answer_t *out) {
  size_t size = 0;
  byoc_file_view_t made;
  byoc_diag_t why = {0};
  for (size_t i = 0; i < program->outputs.count; ++i) size += (size_t)program->outputs.data[i]->size_bytes;
  BYOC_RETURN_IF_ERROR(byoc_file_view_open(build->results[0], diag, &made));
  byoc_status_t status = compare_results(program, build, evaluator, &made, 0, BYOC_WILD_NONE, arena, &why);
  if (status == BYOC_OK && build->special[0] != BYOC_WILD_NONE && made.size_bytes > size) {
    status = compare_results(program, build, evaluator, &made, size, build->special[0], arena, &why);
  }
  byoc_file_view_close(&made);
  out->partitions[0].is_wrong = status == BYOC_MISMATCH;
  snprintf(out->partitions[0].reason, sizeof(out->partitions[0].reason), "%s", why.message);
  return status == BYOC_OK || status == BYOC_MISMATCH ? BYOC_OK : byoc_diag_adopt(diag, &why);
}

static byoc_status_t evaluate(const byoc_cost_build_t *request, const byoc_build_t *build, byoc_diag_t *diag,
                              byoc_cost_build_answer_t *out) {
  byoc_arena_t arena;
  byoc_arena_init(&arena, build->allocator);
  byoc_build_evaluation_t evaluation;
  if (request->compares) take_windows(build->result.program, &arena);
  byoc_status_t status = byoc_build_evaluate(build, 1, diag, &evaluation);
  out->was_built = status == BYOC_OK;
  if (request->run_limit_s > 0) (void)alarm(request->run_limit_s);
  if (status == BYOC_OK && request->compares) {
    status = compare_part(build->result.program, request, evaluation.evaluator, &arena, diag, out);
  } else if (status == BYOC_OK) {
    status = evaluate_into(build->result.program, request, evaluation.evaluator, &arena, diag);
  }
  (void)alarm(0);
  byoc_build_evaluation_end(&evaluation);
  byoc_arena_deinit(&arena);
  return status;
}

// ---- measuring a device ----

static byoc_status_t measure_device(const byoc_graph_module_t *module, byoc_diag_t *diag,
                                    byoc_cost_build_answer_t *out) {
  for (size_t i = 0; i < module->runtime_modules.count; ++i) {
    const byoc_driver_t *driver = module->runtime_modules.data[i]->driver;
    if (driver != NULL) return byoc_device_calibrate(driver, diag, &out->device, out->device_identity);
  }
  return byoc_diag_error(diag, BYOC_NOT_FOUND, "its code brings no driver that runs in this process");
}

// ---- its size ----

static double weight_bytes(const byoc_graph_module_t *module) {
  double bytes = 0;
  for (size_t f = 0; f < module->functions.count; ++f) {
    const byoc_map_t *constants = &module->functions.data[f]->constants;
    for (size_t i = 0; i < constants->count; ++i) {
      const byoc_value_t *value = constants->entries[i].value;
      if (value->uses.count > 0) bytes += (double)value->constant->size_bytes;
    }
  }
  return bytes;
}

// The bytes of the file beside weights.
static double code_mib(const char *path, double weights) {
  struct stat info;
  const double bytes = stat(path, &info) == 0 ? (double)info.st_size - weights : 0;
  return bytes > 0 ? bytes / (1 << 20) : 0;
}

// ---- the whole ----

static byoc_status_t run(const byoc_cost_build_t *request, byoc_diag_t *diag, byoc_cost_build_answer_t *out) {
  byoc_graph_module_t *module = NULL;
  byoc_target_list_t targets = {0};
  if (setenv("TMPDIR", request->folder, 1) != 0) return byoc_diag_out_of_memory(diag);
  BYOC_RETURN_IF_ERROR(make_targets(request, diag, &targets));
  BYOC_RETURN_IF_ERROR(make_module(request, diag, &module));
  if (!byoc_indices_set_clamped(module)) return byoc_diag_out_of_memory(diag); // generated data has any indices
  const double weights = weight_bytes(module);
  const byoc_build_options_t options = {.targets = &targets, .thread_count = request->thread_count};
  byoc_build_t build; // not released: the process is short-lived
  byoc_build_init(&build, &options, byoc_allocator_system());
  byoc_build_lend(&build, module, false);
  BYOC_RETURN_IF_ERROR(
      byoc_build_compile(&build, request->is_for_device ? BYOC_BUILD_GENERATED : BYOC_BUILD_ALL, diag));
  if (request->is_for_device) return measure_device(module, diag, out);
  note_refusals(request, &build.result, out);
  if (request->count == 1 && out->partitions[0].is_fallback) return BYOC_OK; // there is nothing to time
  if (request->output == NULL) return evaluate(request, &build, diag, out);
  BYOC_RETURN_IF_ERROR(find_owners(build.result.program, request, diag, out));
  const byoc_compose_options_t output = {.output = request->output,
                                         .model_name = "candidate",
                                         .profile = true,
                                         .in_haste = request->in_haste,
                                         .steps_only = true};
  BYOC_RETURN_IF_ERROR(byoc_build_compose(&build, &output, diag));
  out->code_mib = code_mib(request->output, weights);
  return BYOC_OK;
}

void byoc_build_candidates(void *self, void *answer) {
  byoc_cost_build_answer_t *out = answer;
  byoc_diag_t diag = {0};
  out->status = run(self, &diag, out);
  if (out->status == BYOC_OK) return;
  // The message of a failure, without temporary paths: it is kept and compared.
  snprintf(out->message, sizeof(out->message), "%s", diag.message);
}

byoc_status_t byoc_build_plan(const byoc_plan_build_t *request, byoc_diag_t *diag) {
  const byoc_build_options_t options = {
      .targets = request->targets, .placer = request->placer, .thread_count = request->thread_count};
  const byoc_compose_options_t output = {.output = request->output, .model_name = "rival"};
  byoc_build_t build;
  BYOC_RETURN_IF_ERROR(byoc_thread_cases_keep_open(request->module, diag));
  byoc_build_init(&build, &options, request->allocator);
  byoc_build_lend(&build, request->module, true);
  byoc_status_t status = byoc_build_compile(&build, BYOC_BUILD_ALL, diag);
  if (status == BYOC_OK) status = byoc_build_compose(&build, &output, diag);
  byoc_build_deinit(&build);
  return status;
}
