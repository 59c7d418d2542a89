// SPDX-License-Identifier: Apache-2.0
// Describes each step of a host program in the metadata: its name, kind, target and work.
#include "core/compose/artifact/metadata_steps.h"

#include <string.h>

#include "core/base/json.h"
#include "core/compose/c/host_c.h"

static bool set(json_t *object, const char *key, json_t *value) {
  return json_object_set_new(object, key, value) == 0;
}

static bool defines(const byoc_runtime_module_t *module, const char *symbol) {
  if (module->packed_symbol != NULL && strcmp(module->packed_symbol, symbol) == 0) return true;
  for (size_t i = 0; i < module->symbols.count; ++i) {
    if (strcmp(module->symbols.data[i], symbol) == 0) return true;
  }
  return false;
}

static const byoc_runtime_module_t *find_module(const byoc_host_program_t *program, const char *symbol) {
  for (size_t i = 0; program->module != NULL && i < program->module->runtime_modules.count; ++i) {
    const byoc_runtime_module_t *module = program->module->runtime_modules.data[i];
    if (defines(module, symbol)) return module;
  }
  for (size_t i = 0; i < program->libraries.count; ++i) {
    if (defines(program->libraries.data[i], symbol)) return program->libraries.data[i];
  }
  return NULL;
}

// The kind of the target that made the step's code: the first word of its string.
static json_t *target_json(const byoc_host_program_t *program, const byoc_host_instruction_t *step) {
  if (step->op == BYOC_HOST_KERNEL) return json_string("c");
  const byoc_runtime_module_t *module = step->json;
  if (step->op == BYOC_HOST_LAUNCH)
    module = byoc_graph_module_find_runtime_module(program->module, step->launch->module);
  if (module == NULL && step->symbol != NULL) module = find_module(program, step->symbol);
  return module == NULL ? json_string("") : json_stringn(module->target, strcspn(module->target, " "));
}

static bool is_repeated(const byoc_host_instruction_t *step, size_t index) {
  for (size_t i = 0; i < index; ++i) {
    if (step->operands.data[i] == step->operands.data[index]) return true;
  }
  return false;
}

static uint64_t bytes_of(const byoc_host_instruction_t *step) {
  uint64_t bytes = 0;
  for (size_t i = 0; i < step->operands.count; ++i) {
    if (step->operands.data[i] != NULL && !is_repeated(step, i)) bytes += step->operands.data[i]->size_bytes;
  }
  for (size_t i = 0; i < step->results.count; ++i) bytes += step->results.data[i]->size_bytes;
  for (size_t i = 0; step->json != NULL && i < step->json->constants.count; ++i) {
    bytes += step->json->constants.data[i].size_bytes;
  }
  return bytes;
}

// Otherwise its work is known only when the program runs.
static bool has_known_shapes(const byoc_host_instruction_t *step) {
  bool known = true;
  for (size_t i = 0; i < step->operands.count; ++i) {
    const byoc_host_buffer_t *buffer = step->operands.data[i];
    known = known && (buffer == NULL || byoc_type_is_static(buffer->type));
  }
  for (size_t i = 0; i < step->results.count; ++i) known = known && byoc_type_is_static(step->results.data[i]->type);
  return known;
}

static json_t *results_json(const byoc_host_instruction_t *step) {
  json_t *array = json_array();
  bool ok = array != NULL;
  for (size_t i = 0; i < step->results.count && ok; ++i) {
    ok = json_array_append_new(array, byoc_json_string(step->results.data[i]->name)) == 0;
  }
  if (ok) return array;
  json_decref(array);
  return NULL;
}

// Does a device run it, whose time is not the host's?
static bool is_command(const byoc_host_instruction_t *step) {
  return step->on.queue != NULL && !byoc_host_device_is_host(step->on.queue->device);
}

static json_t *step_json(const byoc_host_program_t *program, const byoc_host_instruction_t *step, bool trace) {
  json_t *object = json_object();
  const bool is_known = has_known_shapes(step);
  const double flops = !is_known ? -1 : step->op == BYOC_HOST_COPY ? 0 : step->flops; // negative: not known
  bool ok = object != NULL && set(object, "name", byoc_json_string(byoc_host_instruction_name(step))) &&
            set(object, "kind", json_string(byoc_host_op_name(step->op))) &&
            set(object, "target", target_json(program, step)) &&
            (!is_command(step) || set(object, "device", byoc_json_string(step->on.queue->device->driver))) &&
            (flops < 0 || set(object, "flops", json_integer((json_int_t)flops))) &&
            (flops < 0 || step->arithmetic == BYOC_ARITHMETIC_F32 ||
             set(object, "arithmetic", json_string(byoc_arithmetic_name(step->arithmetic)))) &&
            (!is_known || set(object, "bytes", json_integer((json_int_t)bytes_of(step)))) &&
            (!trace || set(object, "results", results_json(step)));
  if (ok) return object;
  json_decref(object);
  return NULL;
}

json_t *byoc_compose_steps_json(const byoc_host_program_t *program, bool trace) {
  json_t *array = json_array();
  BYOC_HOST_FOR_EACH(at, program) {
    if (!byoc_host_c_is_step(at)) continue;
    if (json_array_append_new(array, step_json(program, at, trace)) != 0) {
      json_decref(array);
      return NULL;
    }
  }
  return array;
}

json_t *byoc_compose_fused_json(const byoc_compose_options_t *options, byoc_fused_kind_t kind) {
  json_t *object = json_object();
  bool ok = object != NULL;
  for (size_t i = 0; i < options->fused_count && ok; ++i) {
    const byoc_fused_t *fused = &options->fused[i];
    if (fused->kind != kind) continue;
    json_t *name = byoc_json_string(fused->name); // JSON takes no bytes that are not UTF-8
    ok = name != NULL &&
         set(object, json_string_value(name), fused->into != NULL ? byoc_json_string(fused->into) : json_null());
    json_decref(name);
  }
  if (ok) return object;
  json_decref(object);
  return NULL;
}
