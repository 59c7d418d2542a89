// SPDX-License-Identifier: Apache-2.0
// Makes loops of definitions: reads the text for the types, dimensions and attributes of one node, and builds it again
// in the lowering's context, which folds constants.
#include "core/op/definition.h"

#include <string.h>

#include "core/ir/loop_fold.h"
#include "core/ir/loop_range.h"
#include "core/ir/loop_text.h"
#include "core/op/definition_scope.h"
#include "core/op/lowering_context.h"
#include "core/op/util.h"

typedef byoc_definition_scope_t scope_t;

static const byoc_loop_expr_t *refuse(scope_t *s, const char *format, ...) __attribute__((format(printf, 2, 3)));
static const byoc_loop_expr_t *refuse(scope_t *s, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  byoc_diag_errorv(s->diag, BYOC_INVALID_DATA, format, arguments);
  va_end(arguments);
  s->failed = true;
  return NULL;
}

static const char *type_name(const byoc_loop_expr_t *expr) {
  return byoc_dtype_name(expr->dtype);
}

// ---- expressions ----

// The deepest expression: a sum nests as deep as it has terms, and every walk must be bounded.
enum { MAX_DEPTH = 256 };

static const byoc_loop_expr_t *build(scope_t *s, const byoc_loop_expr_t *raw, byoc_dtype_t want);
static const byoc_loop_expr_t *build_node(scope_t *s, const byoc_loop_expr_t *raw, byoc_dtype_t want);

// Does the expression get its type from the other operand?
static bool is_plain(const scope_t *s, const byoc_loop_expr_t *raw) {
  if (byoc_pointer_map_find(&s->known, raw)) return false;
  switch (raw->kind) {
  case BYOC_LOOP_CONST:
    return raw->dtype == BYOC_DTYPE_NONE || raw->dtype == BYOC_DTYPE_I64;
  case BYOC_LOOP_OP:
    return byoc_loop_op_category(raw->op.op) != BYOC_LOOP_COMPARISON &&
           byoc_loop_op_category(raw->op.op) != BYOC_LOOP_TEST && is_plain(s, raw->op.operands[0]) &&
           (!raw->op.operands[1] || is_plain(s, raw->op.operands[1]));
  case BYOC_LOOP_SELECT:
    return is_plain(s, raw->select.yes) && is_plain(s, raw->select.no);
  default:
    return false;
  }
}

static bool has_point(const byoc_loop_expr_t *raw) {
  if (raw->kind == BYOC_LOOP_CONST) return raw->dtype == BYOC_DTYPE_NONE;
  if (raw->kind == BYOC_LOOP_SELECT) return has_point(raw->select.yes) || has_point(raw->select.no);
  if (raw->kind != BYOC_LOOP_OP) return false;
  return has_point(raw->op.operands[0]) || (raw->op.operands[1] && has_point(raw->op.operands[1]));
}

// Builds two expressions that must have one type.
static bool build_pair(scope_t *s, const byoc_loop_expr_t *const raw[2], byoc_dtype_t want, const char *what,
                       const byoc_loop_expr_t *out[2]) {
  bool plain[2] = {is_plain(s, raw[0]), is_plain(s, raw[1])};
  if (plain[0] && plain[1] && want == BYOC_DTYPE_NONE && (has_point(raw[0]) || has_point(raw[1]))) {
    want = BYOC_DTYPE_F32;
  }
  int first = plain[0] && !plain[1] ? 1 : 0;
  out[first] = build(s, raw[first], want);
  if (!out[first]) return false;
  out[!first] = build(s, raw[!first], out[first]->dtype);
  if (!out[!first]) return false;
  if (out[0]->dtype == out[1]->dtype) return true;
  refuse(s, "%s combines %s and %s", what, type_name(out[0]), type_name(out[1]));
  return false;
}

static const byoc_loop_expr_t *build_number(scope_t *s, const byoc_loop_expr_t *raw, byoc_dtype_t want) {
  bool takes_type = raw->dtype == BYOC_DTYPE_NONE || (raw->dtype == BYOC_DTYPE_I64 && want != BYOC_DTYPE_BOOL);
  byoc_dtype_t dtype = takes_type && want != BYOC_DTYPE_NONE ? want : raw->dtype;
  if (dtype == BYOC_DTYPE_NONE) dtype = BYOC_DTYPE_F32;
  if (raw->dtype != BYOC_DTYPE_NONE && !byoc_loop_is_float(raw->dtype)) {
    if (!byoc_loop_is_float(dtype)) return byoc_loop_const_int(s->b, dtype, raw->number.i);
    return byoc_loop_const(s->b, dtype, (double)raw->number.i);
  }
  if (byoc_loop_is_float(dtype)) return byoc_loop_const(s->b, dtype, raw->number.f);
  return refuse(s, "the number %g is used where %s is expected", raw->number.f, byoc_dtype_name(dtype));
}

static const byoc_loop_expr_t *build_index(scope_t *s, const byoc_loop_expr_t *raw, const char *of) {
  const byoc_loop_expr_t *index = build(s, raw, BYOC_DTYPE_I64);
  if (!index || index->dtype == BYOC_DTYPE_I64) return index;
  return refuse(s, "an index of '%s' is %s instead of i64", of, type_name(index));
}

// An element of an operand, of a result or of a local buffer, in the type in which it is computed.
static const byoc_loop_expr_t *build_load(scope_t *s, const byoc_loop_expr_t *raw) {
  const byoc_loop_buffer_t *buffer = raw->load.buffer;
  const byoc_loop_expr_t *index = build_index(s, raw->load.index, buffer->name), *value;
  if (!index) return NULL;
  byoc_dtype_t compute = byoc_compute_dtype(buffer->dtype);
  if (buffer->kind == BYOC_LOOP_BUFFER_LOCAL) {
    return byoc_loop_load(s->b, byoc_pointer_map_get(&s->known, buffer), index);
  }
  if (buffer->kind == BYOC_LOOP_BUFFER_INPUT) {
    if (!byoc_has_operand(s->node, buffer->index)) return byoc_loop_const(s->b, compute, 0.0);
    value = byoc_lower_load_flat(s->lower, s->node, buffer->index, index);
  } else {
    const byoc_loop_buffer_t *own = byoc_pointer_map_get(&s->known, buffer);
    if (!own) return refuse(s, "result '%s' is read, but nothing uses it", buffer->name);
    value = byoc_loop_load(s->b, own, index);
  }
  return value ? byoc_emit_as(s->b, compute, value) : NULL;
}

static const byoc_loop_expr_t *build_op(scope_t *s, const byoc_loop_expr_t *raw, byoc_dtype_t want) {
  byoc_loop_op_t op = raw->op.op;
  byoc_loop_category_t category = byoc_loop_op_category(op);
  if (category == BYOC_LOOP_COMPARISON || category == BYOC_LOOP_TEST) want = BYOC_DTYPE_NONE;
  if (!raw->op.operands[1]) {
    bool is_float = category == BYOC_LOOP_TRANSCENDENTAL || category == BYOC_LOOP_ROUNDING;
    if (want == BYOC_DTYPE_NONE && is_float && is_plain(s, raw)) want = BYOC_DTYPE_F32;
    const byoc_loop_expr_t *a = build(s, raw->op.operands[0], want);
    if (a && is_float && !byoc_loop_is_float(a->dtype)) {
      return refuse(s, "'%s' takes floats, not %s", byoc_loop_op_name(op), type_name(a));
    }
    return a ? byoc_loop_unary(s->b, op, a) : NULL;
  }
  char what[48];
  snprintf(what, sizeof what, "'%s'", byoc_loop_op_name(op));
  const byoc_loop_expr_t *operands[2];
  if (!build_pair(s, raw->op.operands, want, what, operands)) return NULL;
  return byoc_loop_binary(s->b, op, operands[0], operands[1]);
}

static const byoc_loop_expr_t *build_select(scope_t *s, const byoc_loop_expr_t *raw, byoc_dtype_t want) {
  const byoc_loop_expr_t *const choices[2] = {raw->select.yes, raw->select.no};
  const byoc_loop_expr_t *built[2], *condition = build(s, raw->select.condition, BYOC_DTYPE_BOOL);
  if (!condition) return NULL;
  if (condition->dtype != BYOC_DTYPE_BOOL) {
    return refuse(s, "the condition of 'select' is %s instead of bool", type_name(condition));
  }
  // The branch that a known condition does not choose must have the right type, but computes nothing.
  const bool is_known = condition->kind == BYOC_LOOP_CONST, may_emit = s->may_emit;
  if (is_known) s->may_emit = false;
  const bool fine = build_pair(s, choices, want, "'select'", built);
  s->may_emit = may_emit;
  if (!fine) return NULL;
  // Builds the expression again only if a `let` may be emitted now: to build it twice at each level of a chain would be
  // too slow.
  if (is_known && !may_emit) return built[condition->number.i ? 0 : 1];
  if (is_known) return build(s, condition->number.i ? choices[0] : choices[1], built[0]->dtype);
  return byoc_loop_select(s->b, condition, built[0], built[1]);
}

static bool know(scope_t *s, const void *raw, const void *built);

// In an element definition, a `let` becomes a statement when it is first used: attributes may make it unused.
static const byoc_loop_expr_t *read_variable(scope_t *s, const byoc_loop_variable_t *variable) {
  const byoc_loop_expr_t *value = byoc_pointer_map_get(&s->known, variable);
  byoc_map_entry_t *unnamed = s->is_element ? byoc_pointer_map_find(&s->unnamed, variable) : NULL;
  if (!unnamed || !unnamed->value || !s->may_emit) return value;
  unnamed->value = NULL;
  value = byoc_loop_let(s->b, variable->name, value);
  return know(s, variable, value) ? value : NULL;
}

// `want`: the type of a plain number; BYOC_DTYPE_NONE if it is not known.
static const byoc_loop_expr_t *build(scope_t *s, const byoc_loop_expr_t *raw, byoc_dtype_t want) {
  const byoc_loop_expr_t *known = byoc_pointer_map_get(&s->known, raw);
  if (known) return known;
  if (s->depth == MAX_DEPTH) return refuse(s, "an expression has more than %d levels; name a part by `let`", MAX_DEPTH);
  ++s->depth;
  const byoc_loop_expr_t *value = build_node(s, raw, want);
  --s->depth;
  return value;
}

static const byoc_loop_expr_t *build_node(scope_t *s, const byoc_loop_expr_t *raw, byoc_dtype_t want) {
  const byoc_loop_expr_t *value = NULL;
  switch (raw->kind) {
  case BYOC_LOOP_CONST:
    return build_number(s, raw, want);
  case BYOC_LOOP_VARIABLE:
    return read_variable(s, raw->variable);
  case BYOC_LOOP_LOAD:
    return build_load(s, raw);
  case BYOC_LOOP_OP:
    return build_op(s, raw, want);
  case BYOC_LOOP_SELECT:
    return build_select(s, raw, want);
  case BYOC_LOOP_CAST:
    value = build(s, raw->cast, is_plain(s, raw->cast) && !has_point(raw->cast) ? raw->dtype : BYOC_DTYPE_NONE);
    return value ? byoc_emit_as(s->b, raw->dtype, value) : NULL;
  case BYOC_LOOP_DIM:
    break;
  }
  return refuse(s, "a dimension is written by its name");
}

// The value of a variable or an element, which has a type.
static const byoc_loop_expr_t *build_as(scope_t *s, const byoc_loop_expr_t *raw, byoc_dtype_t dtype, const char *name) {
  const byoc_loop_expr_t *value = build(s, raw, dtype);
  if (!value || dtype == BYOC_DTYPE_NONE || value->dtype == dtype) return value;
  return refuse(s, "'%s' is %s and gets %s", name, byoc_dtype_name(dtype), type_name(value));
}

static bool know(scope_t *s, const void *raw, const void *built) {
  if (!built) s->failed = true; // the builder or `refuse` has the reason
  if (!built || byoc_pointer_map_put(&s->known, raw, (void *)(uintptr_t)built)) return built != NULL;
  s->failed = s->b->failed = true;
  return false;
}

// ---- statements ----

static bool build_stmt(scope_t *s, const byoc_loop_stmt_t *stmt);

static bool build_body(scope_t *s, const byoc_loop_stmt_t *body) {
  for (size_t i = 0; i < body->block.statements.count; ++i) {
    if (!build_stmt(s, body->block.statements.data[i])) return false;
  }
  return true;
}

static bool build_for(scope_t *s, const byoc_loop_stmt_t *stmt) {
  const char *name = stmt->loop.variable->name;
  const byoc_loop_expr_t *begin = build_as(s, stmt->loop.begin, BYOC_DTYPE_I64, name);
  const byoc_loop_expr_t *end = begin ? build_as(s, stmt->loop.end, BYOC_DTYPE_I64, name) : NULL;
  if (!end) return false;
  // Only loops of known length can be unrolled; the node decides whether it is known.
  int64_t low, high;
  byoc_loop_for_kind_t kind = stmt->loop.kind;
  if (kind == BYOC_LOOP_UNROLL && (!byoc_loop_is_int(begin, &low) || !byoc_loop_is_int(end, &high))) {
    kind = BYOC_LOOP_SERIAL;
  }
  const byoc_loop_expr_t *index = byoc_loop_for(s->b, kind, name, begin, end);
  if (!know(s, stmt->loop.variable, index) || !build_body(s, stmt->loop.body)) return false;
  byoc_loop_end(s->b);
  return true;
}

static bool build_condition(scope_t *s, const byoc_loop_expr_t *raw, const byoc_loop_expr_t **out) {
  *out = build(s, raw, BYOC_DTYPE_BOOL);
  if (!*out || (*out)->dtype == BYOC_DTYPE_BOOL) return *out != NULL;
  refuse(s, "a condition is %s instead of bool", type_name(*out));
  return false;
}

static bool build_if(scope_t *s, const byoc_loop_stmt_t *stmt) {
  const byoc_loop_expr_t *condition;
  if (!build_condition(s, stmt->branch.condition, &condition)) return false;
  if (condition->kind == BYOC_LOOP_CONST) { // decided by an attribute or an operand that is left out
    const byoc_loop_stmt_t *taken = condition->number.i ? stmt->branch.yes : stmt->branch.no;
    return !taken || build_body(s, taken);
  }
  byoc_loop_if(s->b, condition);
  if (!build_body(s, stmt->branch.yes)) return false;
  if (stmt->branch.no) {
    byoc_loop_else(s->b);
    if (!build_body(s, stmt->branch.no)) return false;
  }
  byoc_loop_end(s->b);
  return true;
}

static bool build_let(scope_t *s, const byoc_loop_stmt_t *stmt) {
  const byoc_loop_variable_t *variable = stmt->assign.variable;
  const byoc_loop_expr_t *value = build_as(s, stmt->assign.value, variable->dtype, variable->name);
  if (!value) return false;
  if (variable->is_mutable) {
    value = byoc_loop_mutable(s->b, variable->name, value);
  } else if (!s->is_element) {
    value = byoc_loop_let(s->b, variable->name, value);
  } else if (!byoc_pointer_map_put(&s->unnamed, variable, s)) {
    s->failed = s->b->failed = true;
    return false;
  }
  return know(s, variable, value);
}

static bool build_assign(scope_t *s, const byoc_loop_stmt_t *stmt) {
  const byoc_loop_variable_t *variable = stmt->assign.variable;
  const byoc_loop_expr_t *to = byoc_pointer_map_get(&s->known, variable);
  if (!variable->is_mutable) refuse(s, "'%s' is made by `let` and never changes", variable->name);
  if (s->failed) return false;
  const byoc_loop_expr_t *value = build_as(s, stmt->assign.value, to->dtype, variable->name);
  if (value) byoc_loop_assign(s->b, to, value);
  return value != NULL;
}

static bool build_store(scope_t *s, const byoc_loop_stmt_t *stmt) {
  const byoc_loop_buffer_t *buffer = stmt->store.buffer, *to = byoc_pointer_map_get(&s->known, buffer);
  if (buffer->kind == BYOC_LOOP_BUFFER_INPUT) {
    refuse(s, "operand '%s' is written", buffer->name);
    return false;
  }
  bool is_local = buffer->kind == BYOC_LOOP_BUFFER_LOCAL;
  const byoc_loop_expr_t *index = build_index(s, stmt->store.index, buffer->name);
  byoc_dtype_t dtype = is_local ? buffer->dtype : byoc_compute_dtype(buffer->dtype);
  const byoc_loop_expr_t *value = index ? build_as(s, stmt->store.value, dtype, buffer->name) : NULL;
  if (!value) return false;
  // A result that nothing uses has no buffer.
  if (to) byoc_loop_store(s->b, to, index, byoc_emit_as(s->b, buffer->dtype, value));
  return true;
}

static bool build_stmt(scope_t *s, const byoc_loop_stmt_t *stmt) {
  const byoc_loop_expr_t *condition;
  if (s->b->failed) return false;
  switch (stmt->kind) {
  case BYOC_LOOP_BLOCK:
    return build_body(s, stmt);
  case BYOC_LOOP_FOR:
    return build_for(s, stmt);
  case BYOC_LOOP_WHILE:
    if (!build_condition(s, stmt->loop_while.condition, &condition)) return false;
    byoc_loop_while(s->b, condition);
    if (!build_body(s, stmt->loop_while.body)) return false;
    byoc_loop_end(s->b);
    return true;
  case BYOC_LOOP_IF:
    return build_if(s, stmt);
  case BYOC_LOOP_LET:
    return build_let(s, stmt);
  case BYOC_LOOP_ASSIGN:
    return build_assign(s, stmt);
  case BYOC_LOOP_STORE:
    return build_store(s, stmt);
  case BYOC_LOOP_ALLOCATE:
    return know(
        s, stmt->allocate,
        byoc_loop_allocate(s->b, stmt->allocate->name, stmt->allocate->dtype, stmt->allocate->dims[0].constant));
  case BYOC_LOOP_COMMENT:
    byoc_loop_comment(s->b, "%s", stmt->comment);
    return true;
  }
  return false;
}

void byoc_definition_loops(const byoc_signature_t *signature, const char *loops, byoc_lower_t *lower,
                           const byoc_node_t *node) {
  scope_t s;
  byoc_loop_stmt_t *block = NULL;
  bool fine = byoc_definition_scope_open(&s, signature, lower, node) && byoc_definition_scope_add_buffers(&s) &&
              byoc_definition_scope_parse(&s, "loops", loops, &block);
  if (fine && !build_body(&s, block)) s.failed = true;
  byoc_definition_scope_close(&s);
}

// ---- elements ----

// Lets, then assignments of results.
static bool build_element(scope_t *s, const byoc_loop_stmt_t *block, const byoc_loop_expr_t **out_values) {
  for (size_t i = 0; i < block->block.statements.count; ++i) {
    const byoc_loop_stmt_t *stmt = block->block.statements.data[i];
    const byoc_loop_variable_t *variable = stmt->assign.variable;
    if (stmt->kind == BYOC_LOOP_COMMENT) continue;
    if (stmt->kind == BYOC_LOOP_LET && !variable->is_mutable) {
      if (!build_let(s, stmt)) return false;
      continue;
    }
    uint32_t r = 0;
    while (r < s->signature->result_count && (stmt->kind != BYOC_LOOP_ASSIGN || &s->results[r].variable != variable)) {
      ++r;
    }
    if (r == s->signature->result_count) {
      refuse(s, "an element is made by `let` and by assignments of results; anything else is for `loops`");
      return false;
    }
    out_values[r] = build_as(s, stmt->assign.value, s->results[r].variable.dtype, s->results[r].variable.name);
    if (!out_values[r] || !know(s, variable, out_values[r])) return false;
  }
  return true;
}

const byoc_loop_expr_t *byoc_definition_point(const byoc_signature_t *signature, const char *element,
                                              byoc_lower_t *lower, const byoc_node_t *node, uint32_t result,
                                              const byoc_loop_expr_t *const *indices) {
  scope_t s;
  byoc_loop_stmt_t *block = NULL;
  const byoc_loop_expr_t *values[BYOC_SIGNATURE_VALUES] = {NULL}, *value = NULL;
  bool fine = byoc_definition_scope_open(&s, signature, lower, node) &&
              byoc_definition_scope_add_elements(&s, node->results[result]->type->rank, indices) &&
              byoc_definition_scope_parse(&s, "element", element, &block);
  s.is_element = true;
  s.may_emit = lower->guarded == 0 && lower->frames > 0;
  if (fine) fine = build_element(&s, block, values);
  if (fine && !values[result]) refuse(&s, "result '%s' gets no element", signature->results[result].name);
  if (fine && values[result]) value = byoc_emit_as(s.b, node->results[result]->type->dtype, values[result]);
  if (!value) s.failed = true;
  byoc_definition_scope_close(&s);
  return value;
}
