// SPDX-License-Identifier: Apache-2.0
// Keys of cached answers: all that a hook can read of a function, and all that its answers depend on beside it.
#include <string.h>

#include "core/base/hash.h"
#include "core/ir/attribute_names.h"
#include "core/ir/text_parts.h"
#include "core/plugin/kept_answer.h"
#include "core/targets/cpu.h"

typedef struct keyer_t {
  byoc_hasher_t hasher;
  byoc_string_t text; // scratch
  byoc_map_t numbers; // value → its number in order of definition, from 1
  uintptr_t defined;
  bool has_names, failed;
} keyer_t;

static void put_number(keyer_t *k, uint64_t number) {
  byoc_hasher_update(&k->hasher, &number, sizeof(number));
}

static void put_bytes(keyer_t *k, const void *data, size_t size_bytes) {
  put_number(k, size_bytes);
  if (size_bytes > 0) byoc_hasher_update(&k->hasher, data, size_bytes);
}

static void put_text(keyer_t *k, const char *text) {
  put_number(k, text != NULL);
  if (text != NULL) put_bytes(k, text, strlen(text));
}

static void put_name(keyer_t *k, const char *name) {
  if (k->has_names) put_text(k, name);
}

static void put_scratch(keyer_t *k) {
  k->failed = k->failed || k->text.failed;
  put_bytes(k, k->text.data, k->text.size);
  byoc_string_clear(&k->text);
}

static void put_type(keyer_t *k, const byoc_type_t *type) {
  byoc_type_print(type, &k->text);
  put_scratch(k);
}

static void put_device(keyer_t *k, const byoc_virtual_device_t *device) {
  byoc_virtual_device_print(device, &k->text);
  put_scratch(k);
}

static void put_constant(keyer_t *k, const byoc_constant_t *constant) {
  put_type(k, constant->type);
  if (constant->type->dtype != BYOC_DTYPE_STRING) {
    put_bytes(k, constant->data, constant->size_bytes);
    return;
  }
  const char *const *strings = constant->data;
  const int64_t count = byoc_type_element_count(constant->type);
  for (int64_t i = 0; i < count; ++i) put_text(k, strings[i]);
}

static void put_attribute(keyer_t *k, const byoc_attribute_t *a) {
  put_text(k, a->name);
  put_number(k, (uint64_t)a->kind);
  switch (a->kind) {
  case BYOC_ATTRIBUTE_INT:
    put_number(k, (uint64_t)a->i);
    return;
  case BYOC_ATTRIBUTE_FLOAT:
    put_bytes(k, &a->f, sizeof(a->f));
    return;
  case BYOC_ATTRIBUTE_STRING:
    put_bytes(k, a->s, a->count);
    return;
  case BYOC_ATTRIBUTE_INTS:
    put_bytes(k, a->ints, a->count * sizeof(*a->ints));
    return;
  case BYOC_ATTRIBUTE_FLOATS:
    put_bytes(k, a->floats, a->count * sizeof(*a->floats));
    return;
  case BYOC_ATTRIBUTE_STRINGS:
    put_number(k, a->count);
    for (size_t i = 0; i < a->count; ++i) put_text(k, a->strings[i]);
    return;
  case BYOC_ATTRIBUTE_TENSOR:
    put_constant(k, a->tensor);
    return;
  case BYOC_ATTRIBUTE_TYPE:
    put_type(k, a->type);
    return;
  }
}

// Without byoc's own notes, which say where the build had the node or function before. A node may have attributes with
// the names of a function's notes: these are the model's.
static void put_attributes(keyer_t *k, const byoc_attributes_t *attributes, bool are_of_function) {
  for (size_t i = 0; i < attributes->count; ++i) {
    const char *name = attributes->items[i].name;
    const bool is_note = strncmp(name, BYOC_ATTRIBUTE_RESERVED, strlen(BYOC_ATTRIBUTE_RESERVED)) == 0 ||
                         (are_of_function && strcmp(name, BYOC_ATTRIBUTE_TARGET) == 0);
    const bool is_name = are_of_function && strcmp(name, BYOC_ATTRIBUTE_GLOBAL_SYMBOL) == 0;
    if (!is_note && (!is_name || k->has_names)) put_attribute(k, &attributes->items[i]);
  }
  put_number(k, UINT64_MAX); // the end
}

static void define(keyer_t *k, const byoc_value_t *value) {
  if (!byoc_pointer_map_put(&k->numbers, value, (void *)++k->defined)) k->failed = true;
  put_name(k, value->name);
  put_type(k, value->type);
  put_device(k, &value->device);
}

static void put_use(keyer_t *k, const byoc_value_t *value) {
  if (value == NULL) {
    put_number(k, UINT64_MAX);
    return;
  }
  if (value->kind != BYOC_VALUE_CONSTANT) {
    put_number(k, (uint64_t)(uintptr_t)byoc_pointer_map_get(&k->numbers, value));
    return;
  }
  put_number(k, UINT64_MAX - 1);
  put_name(k, value->constant->name);
  put_name(k, value->name);
  put_device(k, &value->device);
  put_constant(k, value->constant);
}

static void put_function(keyer_t *k, const byoc_function_t *function);

static void put_block(keyer_t *k, const byoc_block_t *block) {
  put_number(k, block->parameters.count);
  for (size_t i = 0; i < block->parameters.count; ++i) define(k, block->parameters.data[i]);
  put_number(k, block->node_count);
  BYOC_FOR_EACH_NODE(node, block) {
    put_text(k, node->domain);
    put_text(k, node->op);
    put_number(k, (uint64_t)(uint32_t)node->since_version);
    put_name(k, node->name);
    if (k->has_names) put_number(k, node->id);
    put_attributes(k, &node->attributes, false);
    put_number(k, node->operand_count);
    for (uint32_t i = 0; i < node->operand_count; ++i) put_use(k, node->operands[i]);
    put_number(k, node->callee != NULL);
    if (node->callee != NULL) put_function(k, node->callee);
    put_number(k, node->block_count);
    for (uint32_t i = 0; i < node->block_count; ++i) {
      put_text(k, node->block_names[i]);
      put_block(k, node->blocks[i]);
    }
    put_number(k, node->result_count);
    for (uint32_t i = 0; i < node->result_count; ++i) define(k, node->results[i]);
  }
  put_number(k, block->results.count);
  for (size_t i = 0; i < block->results.count; ++i) put_use(k, block->results.data[i]);
}

// Calls nest BYOC_MAX_CALL_DEPTH deep at most.
static void put_function(keyer_t *k, const byoc_function_t *function) {
  put_name(k, function->name);
  put_number(k, (uint64_t)function->kind);
  put_attributes(k, &function->attributes, true);
  put_block(k, function->body);
}

static void start(keyer_t *k, byoc_allocator_t allocator) {
  byoc_hasher_init(&k->hasher);
  byoc_string_init(&k->text, allocator);
  byoc_pointer_map_init(&k->numbers, allocator);
}

static byoc_status_t finish(keyer_t *k, byoc_diag_t *diag, byoc_content_hash_t *out_hash) {
  *out_hash = byoc_hasher_finish(&k->hasher);
  byoc_string_deinit(&k->text);
  byoc_map_deinit(&k->numbers);
  const bool failed = k->failed || (out_hash->low == 0 && out_hash->high == 0);
  return failed ? byoc_diag_out_of_memory(diag) : BYOC_OK;
}

static byoc_status_t make(const byoc_kept_answers_t *kept, const byoc_function_t *function, bool has_names,
                          byoc_diag_t *diag, char *out_key, size_t size) {
  keyer_t k = {.has_names = has_names};
  start(&k, function->module->allocator);
  put_bytes(&k, &kept->build, sizeof(kept->build));
  put_number(&k, has_names);
  put_function(&k, function);
  byoc_content_hash_t hash;
  BYOC_RETURN_IF_ERROR(finish(&k, diag, &hash));
  char digits[33];
  byoc_content_hash_format(hash, digits);
  snprintf(out_key, size, "answer/%s", digits);
  return BYOC_OK;
}

byoc_status_t byoc_kept_key_make(const byoc_kept_answers_t *kept, const byoc_function_t *function, byoc_diag_t *diag,
                                 byoc_kept_key_t *out_key) {
  BYOC_RETURN_IF_ERROR(make(kept, function, false, diag, out_key->content, sizeof(out_key->content)));
  return make(kept, function, true, diag, out_key->named, sizeof(out_key->named));
}

// "native" in an option stands for this machine's processor; hooks can ask for its features and its maker.
static void put_native_processor(keyer_t *k, const byoc_target_t *target) {
  bool is_native = false;
  for (size_t i = 0; i < target->kind->option_count; ++i) {
    const byoc_option_schema_t *option = &target->kind->options[i];
    if (option->type != BYOC_OPTION_CPU) continue;
    is_native = is_native || strcmp(byoc_target_option_cpu(target, option->name), "native") == 0;
  }
  put_number(k, is_native);
  if (!is_native) return;
  char vendor[13];
  put_number(k, byoc_cpu_detect());
  put_text(k, byoc_cpu_vendor(vendor));
}

byoc_status_t byoc_kept_build_hash(const byoc_codegen_t *session, const char *depends_on, byoc_diag_t *diag,
                                   byoc_content_hash_t *out_hash) {
  const byoc_codegen_services_t *services = session->services;
  keyer_t k = {0};
  start(&k, session->allocator);
  put_text(&k, "byoc answer 3");
  put_text(&k, BYOC_VERSION_TEXT);
  put_number(&k, BYOC_ABI_MINOR);
  put_text(&k, session->target->text);
  put_number(&k, (uint64_t)session->target->machine);
  put_native_processor(&k, session->target);
  put_text(&k, services->cpu_features);
  put_text(&k, services->cpu_vendor);
  put_number(&k, services->as_source);
  put_text(&k, depends_on);
  byoc_status_t status = BYOC_OK;
  if (services->describe_compiler != NULL) status = services->describe_compiler(services->self, diag, &k.text);
  put_scratch(&k);
  const byoc_status_t finished = finish(&k, diag, out_hash);
  return status == BYOC_OK ? finished : status;
}
