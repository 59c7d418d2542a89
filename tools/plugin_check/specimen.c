// SPDX-License-Identifier: Apache-2.0
// The set of specimens, the modules that are made of them, and the data of their inputs.
#include "tools/plugin_check/specimen.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/hash.h"
#include "core/ir/element.h"
#include "tools/plugin_check/specimen_internal.h"

void specimens_init(specimens_t *set, byoc_allocator_t allocator) {
  *set = (specimens_t){.allocator = allocator};
  byoc_arena_init(&set->arena, allocator);
}

static void release(specimens_t *set, specimen_t *specimen) {
  byoc_vector_deinit(&specimen->values, set->allocator);
  byoc_vector_deinit(&specimen->nodes, set->allocator);
}

void specimens_deinit(specimens_t *set) {
  for (size_t i = 0; i < set->items.count; ++i) release(set, set->items.data[i]);
  byoc_vector_deinit(&set->items, set->allocator);
  byoc_vector_deinit(&set->unmade, set->allocator);
  byoc_arena_deinit(&set->arena);
}

void specimens_move(specimens_t *set, size_t to, size_t from) {
  specimen_t *specimen = set->items.data[from];
  set->items.data[from] = set->items.data[to];
  set->items.data[to] = specimen;
}

void specimens_end(specimens_t *set, size_t count) {
  for (size_t i = count; i < set->items.count; ++i) release(set, set->items.data[i]);
  set->items.count = count;
}

void specimens_thin(specimens_t *set, size_t first, size_t limit) {
  if (set->items.count <= first + limit) return;
  const size_t count = set->items.count - first;
  size_t kept = first;
  for (size_t i = 0; i < count; ++i) {
    if (i * limit / count != (i + 1) * limit / count) specimens_move(set, kept++, first + i);
  }
  specimens_end(set, kept);
}

// ---- data ----

static uint64_t next_random(uint64_t *state) {
  *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
  return *state >> 33;
}

static double number(const specimen_value_t *value, uint64_t *state, size_t index) {
  const bool is_positive = value->fill == SPECIMEN_POSITIVE;
  if (value->fill == SPECIMEN_LISTED) return value->values[index % value->value_count];
  const uint64_t drawn = next_random(state);
  if (byoc_dtype_is_any_float(value->dtype) || byoc_dtype_is_complex(value->dtype)) {
    const double unit = (double)(drawn % 4096) / 2048 - 1; // exact in every float type but those of 8 bits
    return is_positive ? 1 + unit / 4 : unit;
  }
  if (value->dtype == BYOC_DTYPE_BOOL) return (double)(drawn % 2);
  if (is_positive) return (double)(1 + drawn % 4);
  if (value->dtype == BYOC_DTYPE_U8) return (double)(drawn % 256);
  if (value->dtype == BYOC_DTYPE_I8) return (double)(drawn % 256) - 128;
  const bool is_signed = value->dtype == BYOC_DTYPE_I16 || value->dtype == BYOC_DTYPE_I32 ||
                         value->dtype == BYOC_DTYPE_I64 || value->dtype == BYOC_DTYPE_I4;
  return is_signed ? (double)(drawn % 9) - 4 : (double)(drawn % 8);
}

static void fill(const specimen_value_t *value, const char *name, void *data, size_t count, specimen_data_t kind) {
  // Not the largest numbers: whether a sum of them overflows depends on its order.
  static const double special[] = {(double)NAN, (double)INFINITY, -(double)INFINITY, -0.0};
  uint64_t state = byoc_hash_string(name);
  const bool takes_special =
      kind != SPECIMEN_FINITE && byoc_dtype_is_any_float(value->dtype) && value->fill == SPECIMEN_NUMBERS;
  for (size_t i = 0; i < count; ++i) {
    double element = number(value, &state, i);
    if (takes_special && kind == SPECIMEN_WILD && i % 5 == 2) element = special[(i / 5) % 4];
    if (takes_special && kind == SPECIMEN_NAN && i % 11 == 2) element = (double)NAN; // at any lane of a vector
    byoc_element_set_f64(value->dtype, data, i, element);
  }
}

int64_t specimen_of_name(const char *name) {
  if (name == NULL || name[0] != 'k' || !isdigit((unsigned char)name[1])) return -1;
  char *end = NULL;
  const long long index = strtoll(name + 1, &end, 10);
  return *end == '_' ? index : -1;
}

void specimens_fill(const specimens_t *set, const char *name, byoc_dtype_t dtype, void *data, size_t element_count,
                    specimen_data_t kind) {
  const int64_t index = specimen_of_name(name);
  const char *at = strstr(name, "_v");
  if (index < 0 || at == NULL || (size_t)index >= set->items.count) return;
  const specimen_t *specimen = set->items.data[index];
  const size_t value = (size_t)strtoull(at + 2, NULL, 10);
  if (value >= specimen->values.count || specimen->values.data[value].dtype != dtype) return;
  fill(&specimen->values.data[value], name, data, element_count, kind);
}

// ---- modules ----

byoc_value_t *specimen_add_value(byoc_function_t *function, const specimen_value_t *value, const char *name) {
  byoc_graph_module_t *module = function->module;
  const byoc_type_t *type = byoc_type_tensor_static(&module->arena, value->dtype, value->rank, value->dims);
  if (type == NULL) return NULL;
  if (value->source == SPECIMEN_INPUT) return byoc_block_add_parameter(function->body, name, type);
  void *data = NULL;
  byoc_constant_t *constant = byoc_constant_allocate(module, name, type, &data);
  if (constant == NULL) return NULL;
  if (value->data != NULL) {
    memcpy(data, value->data, constant->size_bytes);
  } else {
    fill(value, name, data, (size_t)byoc_type_element_count(type), SPECIMEN_FINITE);
  }
  return byoc_function_constant(function, constant);
}

byoc_node_t *specimen_add_node(byoc_function_t *function, const specimen_node_t *node, byoc_value_t *const *values,
                               const char *name, byoc_diag_t *diag) {
  byoc_value_t *operands[SPECIMEN_OPERANDS];
  for (uint32_t i = 0; i < node->operand_count; ++i) {
    operands[i] = node->operands[i] == SPECIMEN_NONE ? NULL : values[node->operands[i]];
  }
  byoc_node_t *made = byoc_op_create_with(function->body, NULL, node->domain, node->op, operands, node->operand_count,
                                          node->result_count, node->attributes, node->attribute_count, diag);
  if (made == NULL || !byoc_node_set_name(made, name)) return NULL;
  return made;
}

static byoc_status_t add_specimen(byoc_function_t *function, const specimen_t *specimen, size_t index,
                                  byoc_value_t **values, byoc_diag_t *diag) {
  char name[64];
  for (size_t v = 0; v < specimen->values.count; ++v) {
    if (specimen->values.data[v].source == SPECIMEN_RESULT) continue;
    snprintf(name, sizeof(name), "k%zu_v%zu", index, v);
    values[v] = specimen_add_value(function, &specimen->values.data[v], name);
    if (values[v] == NULL) return byoc_diag_out_of_memory(diag);
  }
  for (size_t n = 0; n < specimen->nodes.count; ++n) {
    const specimen_node_t *node = &specimen->nodes.data[n];
    snprintf(name, sizeof(name), "k%zu_n%zu", index, n);
    byoc_node_t *made = specimen_add_node(function, node, values, name, diag);
    if (made == NULL) return byoc_diag_context(diag, byoc_diag_failure(diag), "making %s", specimen->label);
    for (uint32_t r = 0; r < node->result_count; ++r) {
      const size_t v = node->first_result + r;
      values[v] = made->results[r];
      if (specimen->values.data[v].is_read) continue;
      snprintf(name, sizeof(name), "k%zu_r%zu", index, v);
      if (!byoc_block_add_result(function->body, name, made->results[r])) return byoc_diag_out_of_memory(diag);
    }
  }
  return BYOC_OK;
}

byoc_status_t specimens_module(const specimens_t *set, size_t first, size_t count, byoc_allocator_t allocator,
                               byoc_diag_t *diag, byoc_graph_module_t **out_module) {
  *out_module = NULL;
  byoc_graph_module_t *module = NULL;
  BYOC_RETURN_IF_ERROR(byoc_graph_module_create(allocator, diag, &module));
  byoc_function_t *function = byoc_function_create(module, "main");
  byoc_status_t status = function != NULL ? BYOC_OK : byoc_diag_out_of_memory(diag);
  for (size_t i = first; i < first + count && i < set->items.count && status == BYOC_OK; ++i) {
    const specimen_t *specimen = set->items.data[i];
    byoc_value_t **values = byoc_allocate(allocator, specimen->values.count, sizeof(byoc_value_t *));
    status = values != NULL ? add_specimen(function, specimen, i, values, diag) : byoc_diag_out_of_memory(diag);
    byoc_free(allocator, values);
  }
  if (status != BYOC_OK) {
    byoc_graph_module_destroy(module);
    return status;
  }
  *out_module = module;
  return BYOC_OK;
}
