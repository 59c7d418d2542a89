// SPDX-License-Identifier: Apache-2.0
// Counts the operators of a module for byoc ops --after-simplify.
#include "model_ops.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/string.h"

typedef struct counting_t {
  model_ops_t *ops;
  byoc_allocator_t allocator;
} counting_t;

// "Conv(_, @, @)". An operand that is left out in front of others has no pattern: it is shown as "-".
static const char *pattern_of(const byoc_node_t *node, byoc_arena_t *arena) {
  uint32_t count = node->operand_count;
  while (count > 0 && node->operands[count - 1] == NULL) --count;
  const char *text = byoc_arena_format(arena, "%s%s%s(", node->domain, node->domain[0] != '\0' ? "::" : "", node->op);
  for (uint32_t i = 0; i < count && text != NULL; ++i) {
    const byoc_value_t *operand = node->operands[i];
    const char *one = operand == NULL ? "-" : operand->constant != NULL ? "@" : "_";
    text = byoc_arena_format(arena, "%s%s%s", text, i > 0 ? ", " : "", one);
  }
  return text == NULL ? NULL : byoc_arena_format(arena, "%s)", text);
}

static const char *type_of(const byoc_node_t *node) {
  const byoc_type_t *type = node->result_count > 0 ? node->results[0]->type : NULL;
  return type == NULL || type->kind != BYOC_TYPE_TENSOR ? "none" : byoc_dtype_name(type->dtype);
}

static bool has_word(const char *words, const char *word) {
  const size_t size = strlen(word);
  for (const char *at = words; (at = strstr(at, word)) != NULL; at += size) {
    if ((at == words || at[-1] == ' ') && (at[size] == '\0' || at[size] == ',')) return true;
  }
  return false;
}

static bool count_node(void *self, byoc_node_t *node) {
  counting_t *counting = self;
  model_ops_t *ops = counting->ops;
  if (node->callee != NULL) return true;
  const char *pattern = pattern_of(node, &ops->arena), *type = type_of(node);
  model_op_t *row = NULL;
  for (size_t i = 0; pattern != NULL && i < ops->rows.count && row == NULL; ++i) {
    model_op_t *other = &ops->rows.data[i];
    if (other->version == node->since_version && strcmp(other->pattern, pattern) == 0) row = other;
  }
  if (pattern != NULL && row == NULL) {
    const model_op_t fresh = {.domain = byoc_arena_format(&ops->arena, "%s", node->domain),
                              .name = byoc_arena_format(&ops->arena, "%s", node->op),
                              .version = node->since_version,
                              .pattern = pattern,
                              .types = type};
    const bool is_whole = fresh.domain != NULL && fresh.name != NULL;
    if (is_whole && byoc_vector_push(&ops->rows, counting->allocator, fresh)) {
      row = &ops->rows.data[ops->rows.count - 1];
    }
  }
  if (row != NULL && !has_word(row->types, type))
    row->types = byoc_arena_format(&ops->arena, "%s, %s", row->types, type);
  if (row == NULL || row->types == NULL) {
    ops->failed = true;
    return false;
  }
  row->count += 1;
  return true;
}

static int compare(const void *a, const void *b) {
  const model_op_t *left = a, *right = b;
  const int order = strcmp(left->pattern, right->pattern);
  return order != 0 ? order : (left->version > right->version) - (left->version < right->version);
}

void model_ops_count(const byoc_graph_module_t *module, byoc_allocator_t allocator, model_ops_t *out) {
  *out = (model_ops_t){0};
  byoc_arena_init(&out->arena, allocator);
  counting_t counting = {out, allocator};
  for (size_t i = 0; i < module->functions.count && !out->failed; ++i) {
    const byoc_function_t *function = module->functions.data[i];
    if (function->kind == BYOC_FUNCTION_GRAPH) (void)byoc_block_walk(function->body, count_node, &counting);
  }
  if (out->rows.count > 0) qsort(out->rows.data, out->rows.count, sizeof(out->rows.data[0]), compare);
}

void model_ops_deinit(model_ops_t *ops, byoc_allocator_t allocator) {
  byoc_vector_deinit(&ops->rows, allocator);
  byoc_arena_deinit(&ops->arena);
}
