// Describes each step of a host program in the metadata: what it is and how much it does.
#include "core/compose/metadata_steps.h"

#include <string.h>

#include "core/base/json.h"
#include "core/compose/host_c.h"

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

// The kind of the target that made the step's code: the first word of its text.
static json_t *target_json(const byoc_host_program_t *program, const byoc_host_instruction_t *step) {
  if (step->op == BYOC_HOST_KERNEL) return json_string("c");
  const byoc_runtime_module_t *module = step->json;
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

static json_t *step_json(const byoc_host_program_t *program, const byoc_host_instruction_t *step) {
  json_t *object = json_object();
  const double flops = step->op == BYOC_HOST_COPY ? 0 : step->flops; // negative: not known
  bool ok = object != NULL && set(object, "name", byoc_json_text(byoc_host_instruction_name(step))) &&
            set(object, "kind", json_string(byoc_host_op_name(step->op))) &&
            set(object, "target", target_json(program, step)) &&
            (flops < 0 || set(object, "flops", json_integer((json_int_t)flops))) &&
            set(object, "bytes", json_integer((json_int_t)bytes_of(step)));
  if (ok) return object;
  json_decref(object);
  return NULL;
}

json_t *byoc_compose_steps_json(const byoc_host_program_t *program) {
  json_t *array = json_array();
  BYOC_HOST_FOR_EACH(at, program) {
    if (!byoc_host_c_is_step(at)) continue;
    if (json_array_append_new(array, step_json(program, at)) != 0) {
      json_decref(array);
      return NULL;
    }
  }
  return array;
}
