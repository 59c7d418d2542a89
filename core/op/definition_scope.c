// SPDX-License-Identifier: Apache-2.0
// Fills the scope of a definition from a node: types, dimensions, attributes, operands and results.
#include "core/op/definition_scope.h"

#include <string.h>

#include "core/ir/loop_fold.h"
#include "core/op/lowering_context.h"
#include "core/op/util.h"

typedef byoc_definition_scope_t scope_t;

static bool no_memory(scope_t *s) {
  s->failed = s->b->failed = true;
  return false;
}

// The name is free: core/op/declared.c has checked that.
static bool add_value(scope_t *s, const char *name, const byoc_loop_expr_t *value) {
  if (!value) s->failed = true; // the builder has the reason
  return value && (byoc_string_map_put(&s->names.values, name, (void *)(uintptr_t)value) || no_memory(s));
}

// A value of the node: it has a type, which is kept.
static bool add_typed(scope_t *s, const char *name, const byoc_loop_expr_t *value) {
  if (!add_value(s, name, value)) return false;
  return byoc_pointer_map_put(&s->known, value, (void *)(uintptr_t)value) || no_memory(s);
}

// A number whose type is that of the other operand.
static bool add_plain(scope_t *s, const char *name, byoc_dtype_t dtype, int64_t i, double f) {
  byoc_loop_expr_t *number = BYOC_ARENA_NEW(&s->scratch, byoc_loop_expr_t);
  if (!number) return no_memory(s);
  *number = (byoc_loop_expr_t){.kind = BYOC_LOOP_CONST, .dtype = dtype, .number = {.i = i, .f = f}};
  return add_value(s, name, number);
}

static bool add_has(scope_t *s, const char *name, bool has) {
  const char *full = byoc_arena_format(&s->scratch, "has_%s", name);
  if (!full) return no_memory(s);
  return add_typed(s, full, byoc_loop_const_int(s->b, BYOC_DTYPE_BOOL, has));
}

// ---- types and dimensions ----

static byoc_dtype_t dtype_of(const scope_t *s, const byoc_signature_value_t *value) {
  if (value->dtype != BYOC_DTYPE_NONE) return value->dtype;
  byoc_dtype_t bound = s->binding.dtypes[value->variable];
  // No operand of this type is given: nothing is computed in it.
  return bound != BYOC_DTYPE_NONE ? bound : s->signature->variables[value->variable].dtypes[0];
}

static bool add_types(scope_t *s) {
  for (uint32_t i = 0; i < s->signature->variable_count; ++i) {
    const byoc_signature_variable_t *variable = &s->signature->variables[i];
    byoc_dtype_t dtype = s->binding.dtypes[i] != BYOC_DTYPE_NONE ? s->binding.dtypes[i] : variable->dtypes[0];
    void *stands_for = (void *)(uintptr_t)byoc_compute_dtype(dtype);
    if (!byoc_string_map_put(&s->names.dtypes, variable->name, stands_for)) return no_memory(s);
  }
  return true;
}

// All names of dimensions; dimensions of missing operands are 0.
static bool add_dims(scope_t *s) {
  const byoc_signature_t *signature = s->signature;
  for (uint32_t i = 0; i < signature->operand_count; ++i) {
    const byoc_signature_value_t *value = &signature->operands[i];
    for (int32_t d = 0; d < value->dim_count; ++d) {
      const byoc_signature_dim_t *dim = &value->dims[d];
      const char *name = dim->rest ? dim->rest : dim->dim.expr ? dim->dim.expr->symbol : NULL;
      if (!name || byoc_string_map_find(&s->names.values, name)) continue;
      int32_t place = byoc_signature_find(&s->binding, name);
      const byoc_loop_expr_t *extent = byoc_loop_int(s->b, 0);
      if (place >= 0) {
        int32_t first = s->binding.places[place].first, count = s->binding.places[place].count;
        extent =
            byoc_emit_extent(s->b, byoc_operand_type(s->node, s->binding.places[place].operand), first, first + count);
      }
      if (!add_typed(s, name, extent)) return false;
    }
  }
  return true;
}

// ---- attributes ----

static int64_t place_among(const char *const *allowed, const char *text) {
  for (int64_t i = 0; text && allowed[i]; ++i) {
    if (strcmp(allowed[i], text) == 0) return i;
  }
  return 0;
}

static bool add_list(scope_t *s, const char *name, bool is_int, const byoc_attribute_t *value) {
  enum { FEWEST_ELEMENTS = 16 }; // a definition may name these, even if the list is shorter
  size_t count = value ? value->count : 0;
  const char *full = byoc_arena_format(&s->scratch, "%s.count", name);
  if (!full) return no_memory(s);
  if (!add_plain(s, full, BYOC_DTYPE_I64, (int64_t)count, 0.0)) return false;
  for (size_t i = 0; i < count || i < FEWEST_ELEMENTS; ++i) {
    full = byoc_arena_format(&s->scratch, "%s.%zu", name, i);
    if (!full) return no_memory(s);
    int64_t integer = i < count && is_int ? value->ints[i] : 0;
    double number = i < count && !is_int ? value->floats[i] : 0.0;
    if (!add_plain(s, full, is_int ? BYOC_DTYPE_I64 : BYOC_DTYPE_NONE, integer, number)) return false;
  }
  return true;
}

static bool add_attribute(scope_t *s, const byoc_op_attribute_t *entry) {
  const char *name = entry->value.name;
  const byoc_attribute_t *value = byoc_node_value(s->node, name);
  if (!entry->required && !entry->has_default && !add_has(s, name, value != NULL)) return false;
  switch (entry->value.kind) {
  case BYOC_ATTRIBUTE_INT:
    return add_plain(s, name, BYOC_DTYPE_I64, value ? value->i : 0, 0.0);
  case BYOC_ATTRIBUTE_FLOAT:
    return add_plain(s, name, BYOC_DTYPE_NONE, 0, value ? value->f : 0.0);
  case BYOC_ATTRIBUTE_INTS:
  case BYOC_ATTRIBUTE_FLOATS:
    return add_list(s, name, entry->value.kind == BYOC_ATTRIBUTE_INTS, value);
  case BYOC_ATTRIBUTE_STRING:
    if (!entry->allowed) return true; // a string without a choice, which loops cannot read
    return add_plain(s, name, BYOC_DTYPE_I64, place_among(entry->allowed, value ? value->s : NULL), 0.0);
  default:
    return true;
  }
}

// ---- the scope ----

bool byoc_definition_scope_open(scope_t *scope, const byoc_signature_t *signature, byoc_lower_t *lower,
                                const byoc_node_t *node) {
  *scope = (scope_t){
      .signature = signature, .lower = lower, .b = byoc_lower_builder(lower), .node = node, .diag = lower->diag};
  byoc_allocator_t allocator = scope->b->arena->allocator;
  byoc_arena_init(&scope->scratch, allocator);
  byoc_loop_scope_init(&scope->names, allocator);
  byoc_pointer_map_init(&scope->known, allocator);
  byoc_pointer_map_init(&scope->unnamed, allocator);
  byoc_signature_bind(signature, node, &scope->binding);
  if (!add_types(scope) || !add_dims(scope)) return false;
  const byoc_op_t *op = byoc_op_of(node);
  for (const byoc_op_attribute_t *entry = op ? op->attributes : NULL; entry && entry->value.name; ++entry) {
    if (!add_attribute(scope, entry)) return false;
  }
  for (uint32_t i = signature->required_count; i < signature->operand_count; ++i) {
    if (!add_has(scope, signature->operands[i].name, byoc_has_operand(node, i))) return false;
  }
  return true;
}

void byoc_definition_scope_close(scope_t *scope) {
  if (scope->failed && !scope->b->failed) scope->lower->refused = scope->b->failed = true;
  byoc_map_deinit(&scope->known);
  byoc_map_deinit(&scope->unnamed);
  byoc_loop_scope_deinit(&scope->names);
  byoc_arena_deinit(&scope->scratch);
}

bool byoc_definition_scope_add_elements(scope_t *s, int32_t rank, const byoc_loop_expr_t *const *indices) {
  const byoc_signature_t *signature = s->signature;
  for (uint32_t i = 0; i < signature->operand_count; ++i) {
    const byoc_signature_value_t *value = &signature->operands[i];
    byoc_dtype_t compute = byoc_compute_dtype(dtype_of(s, value));
    const byoc_loop_expr_t *element = byoc_loop_const(s->b, compute, 0.0);
    if (byoc_has_operand(s->node, i)) {
      element = signature->broadcasts ? byoc_lower_load_broadcast(s->lower, s->node, i, rank, indices)
                                      : byoc_lower_load(s->lower, s->node, i, indices);
      element = element ? byoc_emit_as(s->b, compute, element) : NULL;
    }
    if (!add_typed(s, value->name, element)) return false;
  }
  for (uint32_t i = 0; i < signature->result_count; ++i) {
    const byoc_signature_value_t *value = &signature->results[i];
    byoc_dtype_t dtype = byoc_compute_dtype(dtype_of(s, value));
    s->results[i].variable = (byoc_loop_variable_t){.name = value->name, .dtype = dtype, .is_mutable = true};
    if (!byoc_string_map_put(&s->names.variables, value->name, &s->results[i])) return no_memory(s);
  }
  return true;
}

static bool add_buffer(scope_t *s, const byoc_signature_value_t *value, byoc_loop_buffer_kind_t kind, uint32_t index) {
  byoc_loop_buffer_t *buffer = BYOC_ARENA_NEW(&s->scratch, byoc_loop_buffer_t);
  if (!buffer || !byoc_string_map_put(&s->names.buffers, value->name, buffer)) return no_memory(s);
  *buffer = (byoc_loop_buffer_t){.name = value->name, .kind = kind, .dtype = dtype_of(s, value), .index = index};
  const byoc_loop_buffer_t *own = NULL;
  if (kind != BYOC_LOOP_BUFFER_OUTPUT || !byoc_lower_result_buffer(s->lower, s->node, index, &own)) return true;
  return byoc_pointer_map_put(&s->known, buffer, (void *)(uintptr_t)own) || no_memory(s);
}

bool byoc_definition_scope_add_buffers(scope_t *s) {
  for (uint32_t i = 0; i < s->signature->operand_count; ++i) {
    if (!add_buffer(s, &s->signature->operands[i], BYOC_LOOP_BUFFER_INPUT, i)) return false;
  }
  for (uint32_t i = 0; i < s->signature->result_count; ++i) {
    if (!add_buffer(s, &s->signature->results[i], BYOC_LOOP_BUFFER_OUTPUT, i)) return false;
  }
  return true;
}

bool byoc_definition_scope_parse(scope_t *s, const char *what, const char *text, byoc_loop_stmt_t **out_block) {
  byoc_lexer_t lexer;
  byoc_lexer_init(&lexer, text, what, &s->scratch, s->diag);
  byoc_status_t status = byoc_loop_statements_parse(&lexer, &s->scratch, &s->names, out_block);
  if (status == BYOC_OUT_OF_MEMORY) return no_memory(s);
  s->failed = status != BYOC_OK;
  return !s->failed;
}
