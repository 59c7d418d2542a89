// SPDX-License-Identifier: Apache-2.0
// Finds a model's names of its outputs' dimensions.
#include "core/ir/dim_names.h"

#include <stdlib.h>
#include <string.h>

#include "core/ir/attribute_names.h"
#include "core/ir/text_names.h"

static const char *const *noted_names(const byoc_graph_module_t *module, size_t *out_count) {
  *out_count = 0;
  if (module == NULL) return NULL;
  return byoc_attributes_strings(&module->attributes, BYOC_ATTRIBUTE_RESULT_DIMENSIONS, out_count);
}

bool byoc_dim_names_init(byoc_dim_names_t *names, const byoc_graph_module_t *module, byoc_arena_t *arena) {
  *names = (byoc_dim_names_t){0};
  (void)noted_names(module, &names->capacity);
  if (names->capacity == 0) return true;
  names->items = BYOC_ARENA_ARRAY(arena, byoc_dim_name_t, names->capacity);
  return names->items != NULL;
}

// Each name is used for one dimension, and each dimension gets one name.
static void add(byoc_dim_names_t *names, const char *name, byoc_dim_t dim) {
  for (size_t i = 0; i < names->count; ++i) {
    const byoc_dim_name_t *known = &names->items[i];
    if (strcmp(known->name, name) == 0 || byoc_dim_equal(known->dim, dim)) return;
  }
  if (names->count < names->capacity) names->items[names->count++] = (byoc_dim_name_t){name, dim};
}

// The name in "OUTPUT.2=NAME" if it is of that output and axis; otherwise NULL.
static const char *name_in(const char *note, const char *output, int32_t axis) {
  const size_t size = strlen(output);
  if (strncmp(note, output, size) != 0 || note[size] != '.') return NULL;
  char *end = NULL;
  const long noted = strtol(note + size + 1, &end, 10);
  return end != note + size + 1 && *end == '=' && noted == axis ? end + 1 : NULL;
}

void byoc_dim_names_add(byoc_dim_names_t *names, const byoc_graph_module_t *module, const char *output,
                        const byoc_type_t *type) {
  size_t count = 0;
  const char *const *notes = noted_names(module, &count);
  if (output == NULL || !byoc_type_is_tensor(type)) return;
  for (int32_t d = 0; d < type->rank; ++d) {
    const byoc_dim_t dim = type->dims[d];
    if (byoc_dim_is_constant(dim) || dim.expr->kind == BYOC_DIM_SYMBOL) continue;
    for (size_t i = 0; i < count; ++i) {
      const char *name = name_in(notes[i], output, d);
      if (name != NULL) add(names, name, dim);
    }
  }
}

void byoc_type_print_formulas(const byoc_type_t *type, const byoc_dim_names_t *names, byoc_string_t *out) {
  for (size_t i = 0; byoc_type_is_tensor(type) && i < names->count; ++i) {
    const byoc_dim_name_t *name = &names->items[i];
    bool is_there = false;
    for (int32_t d = 0; d < type->rank; ++d) is_there = is_there || byoc_dim_equal(type->dims[d], name->dim);
    if (!is_there || byoc_dim_is_unknown(name->dim)) continue;
    byoc_string_append(out, ", ");
    byoc_text_print_word(name->name, out);
    byoc_string_append(out, " = ");
    byoc_dim_print(name->dim, out);
  }
}

bool byoc_function_dim_names(const byoc_function_t *main, byoc_arena_t *arena, byoc_dim_names_t *out_names) {
  const byoc_block_t *body = main->body;
  if (!byoc_dim_names_init(out_names, main->module, arena)) return false;
  for (size_t i = 0; i < body->results.count; ++i) {
    byoc_dim_names_add(out_names, main->module, body->result_names.data[i], body->results.data[i]->type);
  }
  return true;
}
