// SPDX-License-Identifier: Apache-2.0
// Writes the key of a cost as text and as hash.
#include "core/collage/cost_key.h"

#include <stdio.h>
#include <string.h>

#include "core/base/hash.h"
#include "core/collage/composite.h"
#include "core/collage/outline_regions.h"
#include "core/ir/attribute_names.h"
#include "core/ir/structural.h"
#include "core/op/extension.h"
#include "core/plugin/accepted_match.h"
#include "core/targets/cpu.h"

// The data of constants up to these sizes counts: lists such as shapes and axes, scalars such as clip bounds.
enum { SMALL_INTEGERS_BYTES = 1024, SMALL_FLOAT_COUNT = 4 };
// At most this many operators are listed by name; the rest is counted.
enum { MAX_LISTED_OPERATORS = 8 };

// ---- the function ----

typedef struct hasher_t {
  uint64_t hash;
  int depth;
} hasher_t;

static bool is_small(const byoc_constant_t *constant) {
  switch (constant->type->dtype) {
  case BYOC_DTYPE_STRING:
    return false;
  case BYOC_DTYPE_F16:
  case BYOC_DTYPE_BF16:
  case BYOC_DTYPE_F32:
  case BYOC_DTYPE_F64:
    return byoc_type_element_count(constant->type) <= SMALL_FLOAT_COUNT;
  default:
    return constant->size_bytes <= SMALL_INTEGERS_BYTES;
  }
}

static void hash_content(hasher_t *hasher, const byoc_function_t *function);

// The plugin's file defines its operators; the function does not show their definitions.
static bool hash_node(void *self, byoc_node_t *node) {
  hasher_t *hasher = self;
  const byoc_op_t *op = byoc_op_of(node);
  if (op != NULL && op->extension != NULL) {
    hasher->hash = byoc_hash_combine(hasher->hash, byoc_hash_string(op->extension->content));
  }
  if (node->callee != NULL && hasher->depth < BYOC_COMPOSITE_MAX_DEPTH) {
    hasher->depth += 1;
    hash_content(hasher, node->callee);
    hasher->depth -= 1;
  }
  return true;
}

static void hash_content(hasher_t *hasher, const byoc_function_t *function) {
  for (size_t i = 0; i < function->constants.count; ++i) {
    const byoc_value_t *value = function->constants.entries[i].value;
    const byoc_constant_t *constant = value->constant;
    if (value->uses.count == 0 || !is_small(constant)) continue;
    uint64_t content = byoc_hash_bytes(constant->data, constant->size_bytes, byoc_type_hash(constant->type, 1));
    hasher->hash = byoc_hash_combine(hasher->hash, content);
  }
  (void)byoc_block_walk(function->body, hash_node, hasher);
}

uint64_t byoc_cost_function_hash(const byoc_function_t *function) {
  const unsigned flags = BYOC_STRUCTURAL_IGNORE_CONSTANT_DATA | BYOC_STRUCTURAL_IGNORE_FUNCTION_ATTRIBUTES;
  hasher_t hasher = {.hash = byoc_function_structural_hash(function, flags)};
  // Of the region's own attributes only three count: the rule or the claim that made it, and which of several ways to
  // match was taken.
  const byoc_attributes_t *attributes = &byoc_candidate_region(function)->attributes;
  hasher.hash = byoc_hash_combine(hasher.hash,
                                  byoc_hash_string(byoc_attributes_string(attributes, BYOC_ATTRIBUTE_COMPOSITE, "")));
  const char *claim = byoc_attributes_string(attributes, BYOC_ATTRIBUTE_CLAIM, NULL);
  if (claim != NULL) hasher.hash = byoc_hash_combine(hasher.hash, byoc_hash_string(claim));
  int64_t match = byoc_attributes_int(attributes, BYOC_ATTRIBUTE_MATCH, 0);
  if (match != 0) hasher.hash = byoc_hash_combine(hasher.hash, (uint64_t)match);
  hash_content(&hasher, function);
  return hasher.hash;
}

// ---- its description ----

typedef struct operators_t {
  byoc_string_t *out;
  size_t count;
  int depth;
} operators_t;

static bool list_operator(void *self, byoc_node_t *node) {
  operators_t *operators = self;
  if (node->callee != NULL) {
    if (operators->depth >= BYOC_COMPOSITE_MAX_DEPTH) return true;
    operators->depth += 1;
    (void)byoc_block_walk(node->callee->body, list_operator, operators);
    operators->depth -= 1;
    return true;
  }
  if (operators->count < MAX_LISTED_OPERATORS) {
    byoc_string_appendf(operators->out, "%s%s", operators->count > 0 ? "+" : "", node->op);
  }
  operators->count += 1;
  return true;
}

static void describe_operators(const byoc_function_t *function, byoc_string_t *out) {
  operators_t operators = {.out = out};
  (void)byoc_block_walk(function->body, list_operator, &operators);
  if (operators.count > MAX_LISTED_OPERATORS) {
    byoc_string_appendf(out, "+%zu more", operators.count - MAX_LISTED_OPERATORS);
  }
}

static void describe_signature(const byoc_function_t *function, byoc_string_t *out) {
  const byoc_block_t *body = function->body;
  byoc_string_append(out, "(");
  for (size_t i = 0; i < body->parameters.count; ++i) {
    if (i > 0) byoc_string_append(out, ", ");
    byoc_type_print(body->parameters.data[i]->type, out);
  }
  byoc_string_append(out, ") -> (");
  for (size_t i = 0; i < body->results.count; ++i) {
    if (i > 0) byoc_string_append(out, ", ");
    byoc_type_print(body->results.data[i]->type, out);
  }
  byoc_string_append(out, ")");
}

// ---- the machine ----

void byoc_machine_identity(byoc_string_t *out) {
  char line[512], model[256] = "unknown processor";
  FILE *file = fopen("/proc/cpuinfo", "re");
  while (file != NULL && fgets(line, sizeof(line), file) != NULL) {
    const char *colon = strchr(line, ':');
    if (!byoc_starts_with(line, "model name") || colon == NULL) continue;
    snprintf(model, sizeof(model), "%.*s", (int)strcspn(colon + 1, "\n"), colon + 1);
    break;
  }
  if (file != NULL) fclose(file); // only read: a failure loses nothing
  byoc_string_appendf(out, "%s; ", model + strspn(model, " \t"));
  byoc_cpu_print(byoc_cpu_detect(), out);
}

// ---- the key ----

static const char *keep(byoc_string_t *text, byoc_arena_t *arena) {
  const char *copy = text->failed ? NULL : byoc_arena_copy_string(arena, text->data);
  byoc_string_clear(text);
  return copy;
}

static const char *hash_key(const byoc_cost_key_t *key, const byoc_cost_key_inputs_t *inputs, byoc_arena_t *arena) {
  uint64_t function = byoc_cost_function_hash(inputs->function);
  byoc_hasher_t hasher;
  byoc_hasher_init(&hasher);
  byoc_hasher_update_string(&hasher, "byoc cost 3");
  byoc_hasher_update(&hasher, &function, sizeof(function));
  const char *const texts[] = {key->operators,       key->signature, key->target,  key->plugin,
                               inputs->native->text, key->compiler,  key->machine, BYOC_VERSION_TEXT};
  for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); ++i) byoc_hasher_update_string(&hasher, texts[i]);
  byoc_hasher_update(&hasher, &key->thread_count, sizeof(key->thread_count));
  byoc_hasher_update(&hasher, &inputs->cold_bytes, sizeof(inputs->cold_bytes));
  byoc_content_hash_t hash = byoc_hasher_finish(&hasher);
  if (hash.low == 0 && hash.high == 0) return NULL; // out of memory
  char text[33];
  byoc_content_hash_format(hash, text);
  return byoc_arena_copy_string(arena, text);
}

byoc_status_t byoc_cost_key_make(const byoc_cost_key_inputs_t *inputs, byoc_arena_t *arena, byoc_diag_t *diag,
                                 byoc_cost_key_t *out_key) {
  *out_key = (byoc_cost_key_t){0};
  const byoc_target_kind_t *kind = inputs->target->kind;
  byoc_cost_key_t key = {.thread_count = inputs->thread_count};
  byoc_string_t text;
  byoc_string_init(&text, arena->allocator);
  describe_operators(inputs->function, &text);
  key.operators = keep(&text, arena);
  describe_signature(inputs->function, &text);
  key.signature = keep(&text, arena);
  if (inputs->machine != NULL) {
    byoc_string_append(&text, inputs->machine);
  } else {
    byoc_machine_identity(&text);
  }
  key.machine = keep(&text, arena);
  byoc_target_kind_print_maker(kind, &text);
  key.plugin = keep(&text, arena);
  byoc_string_deinit(&text);
  key.target = byoc_arena_copy_string(arena, inputs->target->text);
  key.compiler = byoc_arena_copy_string(arena, inputs->compiler_version);
  if (key.operators && key.signature && key.machine && key.target && key.plugin && key.compiler) {
    key.id = hash_key(&key, inputs, arena);
  }
  if (key.id == NULL) return byoc_diag_out_of_memory(diag);
  *out_key = key;
  return BYOC_OK;
}
