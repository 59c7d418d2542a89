// SPDX-License-Identifier: Apache-2.0
// Prints loop kernels in the text form that loop_parse.c reads.
#include <math.h>
#include <string.h>

#include "core/base/map.h"
#include "core/ir/loop_fold.h"
#include "core/ir/loop_text.h"
#include "core/ir/text_names.h"

typedef struct printer_t {
  byoc_string_t *out;
  byoc_map_t seen; // pointer map: expression of the statement → a state, or its number + SHARED
  uintptr_t shared_count;
} printer_t;

// Index arithmetic is PLAIN: it is written out everywhere, because the C compiler shares it.
enum { PLAIN = 1, ONCE, SHARED };

static void print_expr(printer_t *printer, const byoc_loop_expr_t *expr, int least);

// Floats always show a point or an exponent, so that they read back as floats.
static void print_float(byoc_dtype_t dtype, double value, byoc_string_t *out) {
  size_t start = out->size;
  if (dtype == BYOC_DTYPE_F64)
    byoc_string_append_f64(out, value);
  else
    byoc_string_append_f32(out, (float)value);
  if (isfinite(value) && !strpbrk(out->data + (out->failed ? 0 : start), ".e")) byoc_string_append(out, ".0");
}

static void print_number(const byoc_loop_expr_t *expr, byoc_string_t *out) {
  byoc_dtype_t dtype = expr->dtype;
  bool named = dtype != BYOC_DTYPE_F32 && dtype != BYOC_DTYPE_I64 && dtype != BYOC_DTYPE_BOOL;
  if (named) byoc_string_appendf(out, "%s(", byoc_dtype_name(dtype));
  if (dtype == BYOC_DTYPE_BOOL)
    byoc_string_append(out, expr->number.i ? "true" : "false");
  else if (dtype == BYOC_DTYPE_U64)
    byoc_string_appendf(out, "%llu", (unsigned long long)expr->number.i);
  else if (!byoc_loop_is_float(dtype))
    byoc_string_appendf(out, "%lld", (long long)expr->number.i);
  else
    print_float(dtype, expr->number.f, out);
  if (named) byoc_string_append(out, ")");
}

static void print_op(printer_t *printer, const byoc_loop_expr_t *expr, int least) {
  byoc_string_t *out = printer->out;
  byoc_loop_op_t op = expr->op.op;
  const char *symbol = op == BYOC_LOOP_OP_ADD   ? " + "
                       : op == BYOC_LOOP_OP_SUB ? " - "
                       : op == BYOC_LOOP_OP_MUL ? " * "
                                                : NULL;
  if (symbol) {
    int level = op == BYOC_LOOP_OP_MUL ? 2 : 1;
    if (level < least) byoc_string_append(out, "(");
    print_expr(printer, expr->op.operands[0], level);
    byoc_string_append(out, symbol);
    print_expr(printer, expr->op.operands[1], level + 1);
    if (level < least) byoc_string_append(out, ")");
    return;
  }
  byoc_string_appendf(out, "%s(", byoc_loop_op_name(op));
  print_expr(printer, expr->op.operands[0], 0);
  if (byoc_loop_op_operand_count(op) == 2) {
    byoc_string_append(out, ", ");
    print_expr(printer, expr->op.operands[1], 0);
  }
  byoc_string_append(out, ")");
}

// `least` is the weakest binding that needs no brackets: 1 inside sums, 2 inside products, 3 to the right of a product.
static void print_kind(printer_t *printer, const byoc_loop_expr_t *expr, int least) {
  byoc_string_t *out = printer->out;
  switch (expr->kind) {
  case BYOC_LOOP_CONST:
    print_number(expr, out);
    return;
  case BYOC_LOOP_VARIABLE:
    byoc_string_append(out, expr->variable->name);
    return;
  case BYOC_LOOP_DIM:
    byoc_string_append(out, "dim(");
    byoc_text_print_quoted(expr->symbol, strlen(expr->symbol), out);
    byoc_string_append(out, ")");
    return;
  case BYOC_LOOP_LOAD:
    byoc_string_appendf(out, "%s[", expr->load.buffer->name);
    print_expr(printer, expr->load.index, 0);
    byoc_string_append(out, "]");
    return;
  case BYOC_LOOP_OP:
    print_op(printer, expr, least);
    return;
  case BYOC_LOOP_SELECT:
    byoc_string_append(out, "select(");
    print_expr(printer, expr->select.condition, 0);
    byoc_string_append(out, ", ");
    print_expr(printer, expr->select.yes, 0);
    byoc_string_append(out, ", ");
    print_expr(printer, expr->select.no, 0);
    byoc_string_append(out, ")");
    return;
  case BYOC_LOOP_CAST:
    byoc_string_appendf(out, "cast(%s, ", byoc_dtype_name(expr->dtype));
    print_expr(printer, expr->cast, 0);
    byoc_string_append(out, ")");
    return;
  }
}

static bool is_leaf(const byoc_loop_expr_t *expr) {
  return expr->kind == BYOC_LOOP_CONST || expr->kind == BYOC_LOOP_VARIABLE || expr->kind == BYOC_LOOP_DIM;
}

// An expression that occurs several times in a statement is written once, as #1(...), and then as #1.
static void print_expr(printer_t *printer, const byoc_loop_expr_t *expr, int least) {
  uintptr_t state = is_leaf(expr) ? PLAIN : (uintptr_t)byoc_pointer_map_get(&printer->seen, expr);
  if (state > SHARED) {
    byoc_string_appendf(printer->out, "#%llu", (unsigned long long)(state - SHARED));
  } else if (state == SHARED) {
    state += ++printer->shared_count;
    if (!byoc_pointer_map_put(&printer->seen, expr, (void *)state)) printer->out->failed = true;
    byoc_string_appendf(printer->out, "#%llu(", (unsigned long long)(state - SHARED));
    print_kind(printer, expr, 0);
    byoc_string_append(printer->out, ")");
  } else {
    print_kind(printer, expr, least);
  }
}

// The part of an expression at an index; NULL: there is none.
static const byoc_loop_expr_t *inner_expr(const byoc_loop_expr_t *expr, size_t index) {
  if (expr->kind == BYOC_LOOP_LOAD) return index == 0 ? expr->load.index : NULL;
  if (expr->kind == BYOC_LOOP_CAST) return index == 0 ? expr->cast : NULL;
  if (expr->kind == BYOC_LOOP_OP) return index < 2 ? expr->op.operands[index] : NULL;
  const byoc_loop_expr_t *const parts[] = {expr->select.condition, expr->select.yes, expr->select.no};
  return index < 3 ? parts[index] : NULL;
}

// Counts the occurrences of an expression and of those inside of it; false if there is only index arithmetic.
static bool find_shared(printer_t *printer, const byoc_loop_expr_t *expr) {
  if (is_leaf(expr) || printer->out->failed) return false;
  const uintptr_t state = (uintptr_t)byoc_pointer_map_get(&printer->seen, expr);
  if (state == PLAIN) return false;
  bool counts = state != 0 || (expr->kind != BYOC_LOOP_LOAD && expr->dtype != BYOC_DTYPE_I64);
  for (size_t i = 0; i < 3 && state == 0; ++i) {
    const byoc_loop_expr_t *inner = inner_expr(expr, i);
    if (inner != NULL && find_shared(printer, inner)) counts = true;
  }
  if (state == 0 && expr->kind == BYOC_LOOP_CAST) counts = true;
  const uintptr_t next = !counts ? PLAIN : state == 0 ? ONCE : SHARED;
  if (next != state && !byoc_pointer_map_put(&printer->seen, expr, (void *)next)) printer->out->failed = true;
  return counts;
}

// Begins a statement with these expressions; the second one may be NULL.
static void begin_statement(printer_t *printer, const byoc_loop_expr_t *first, const byoc_loop_expr_t *second) {
  byoc_map_clear(&printer->seen);
  printer->shared_count = 0;
  find_shared(printer, first);
  if (second != NULL) find_shared(printer, second);
}

static void print_stmt(printer_t *printer, const byoc_loop_stmt_t *stmt, int indent);

static void print_body(printer_t *printer, const byoc_loop_stmt_t *body, int indent) {
  byoc_string_t *out = printer->out;
  byoc_string_append(out, "{\n");
  for (size_t i = 0; i < body->block.statements.count; ++i)
    print_stmt(printer, body->block.statements.data[i], indent + 2);
  byoc_string_indent(out, indent);
  byoc_string_append(out, "}");
}

static void print_for(printer_t *printer, const byoc_loop_stmt_t *stmt, int indent) {
  byoc_string_t *out = printer->out;
  static const char *const kinds[] = {"serial", "parallel", "vector", "unroll", "reduce"};
  begin_statement(printer, stmt->loop.begin, stmt->loop.end);
  byoc_string_appendf(out, "%s %s in ", kinds[stmt->loop.kind], stmt->loop.variable->name);
  print_expr(printer, stmt->loop.begin, 0);
  byoc_string_append(out, " .. ");
  print_expr(printer, stmt->loop.end, 0);
  byoc_string_append(out, " ");
  print_body(printer, stmt->loop.body, indent);
}

static void print_stmt(printer_t *printer, const byoc_loop_stmt_t *stmt, int indent) {
  byoc_string_t *out = printer->out;
  byoc_string_indent(out, indent);
  switch (stmt->kind) {
  case BYOC_LOOP_BLOCK:
    print_body(printer, stmt, indent);
    break;
  case BYOC_LOOP_FOR:
    print_for(printer, stmt, indent);
    break;
  case BYOC_LOOP_WHILE:
    begin_statement(printer, stmt->loop_while.condition, NULL);
    byoc_string_append(out, "while ");
    print_expr(printer, stmt->loop_while.condition, 0);
    byoc_string_append(out, " ");
    print_body(printer, stmt->loop_while.body, indent);
    break;
  case BYOC_LOOP_IF:
    begin_statement(printer, stmt->branch.condition, NULL);
    byoc_string_append(out, "if ");
    print_expr(printer, stmt->branch.condition, 0);
    byoc_string_append(out, " ");
    print_body(printer, stmt->branch.yes, indent);
    if (stmt->branch.no) {
      byoc_string_append(out, " else ");
      print_body(printer, stmt->branch.no, indent);
    }
    break;
  case BYOC_LOOP_LET:
  case BYOC_LOOP_ASSIGN: {
    const byoc_loop_variable_t *variable = stmt->assign.variable;
    begin_statement(printer, stmt->assign.value, NULL);
    if (stmt->kind == BYOC_LOOP_LET)
      byoc_string_appendf(out, "%s %s : %s = ", variable->is_mutable ? "var" : "let", variable->name,
                          byoc_dtype_name(variable->dtype));
    else
      byoc_string_appendf(out, "%s = ", variable->name);
    print_expr(printer, stmt->assign.value, 0);
    break;
  }
  case BYOC_LOOP_STORE:
    begin_statement(printer, stmt->store.index, stmt->store.value);
    byoc_string_appendf(out, "%s[", stmt->store.buffer->name);
    print_expr(printer, stmt->store.index, 0);
    byoc_string_append(out, "] = ");
    print_expr(printer, stmt->store.value, 0);
    break;
  case BYOC_LOOP_ALLOCATE:
    byoc_string_appendf(out, "local %s : %s[%lld]", stmt->allocate->name, byoc_dtype_name(stmt->allocate->dtype),
                        (long long)stmt->allocate->dims[0].constant);
    break;
  case BYOC_LOOP_COMMENT:
    byoc_string_append(out, "comment ");
    byoc_text_print_quoted(stmt->comment, strlen(stmt->comment), out);
    break;
  }
  byoc_string_append(out, "\n");
}

void byoc_loop_kernel_print_at(const byoc_loop_kernel_t *kernel, int indent, byoc_string_t *out) {
  byoc_string_append(out, "{\n");
  byoc_string_indent(out, indent + 2);
  byoc_string_append(out, "name ");
  byoc_text_print_quoted(kernel->name, strlen(kernel->name), out);
  byoc_string_append(out, "\n");
  if (kernel->description && *kernel->description) {
    byoc_string_indent(out, indent + 2);
    byoc_string_append(out, "description ");
    byoc_text_print_quoted(kernel->description, strlen(kernel->description), out);
    byoc_string_append(out, "\n");
  }
  for (size_t i = 0; i < kernel->symbols.count; ++i) {
    if (i == 0) byoc_string_indent(out, indent + 2);
    byoc_string_append(out, i == 0 ? "symbols " : ", ");
    byoc_text_print_quoted(kernel->symbols.data[i], strlen(kernel->symbols.data[i]), out);
  }
  if (kernel->symbols.count > 0) byoc_string_append(out, "\n");
  for (size_t i = 0; i < kernel->parameters.count; ++i) {
    const byoc_loop_buffer_t *buffer = kernel->parameters.data[i];
    byoc_type_t type = {.kind = BYOC_TYPE_TENSOR, .dtype = buffer->dtype, .rank = buffer->rank, .dims = buffer->dims};
    byoc_string_indent(out, indent + 2);
    byoc_string_appendf(out, "%s %s : ", buffer->kind == BYOC_LOOP_BUFFER_INPUT ? "input" : "output", buffer->name);
    byoc_type_print(&type, out);
    uint32_t bits = byoc_dtype_bits(buffer->dtype);
    if (buffer->alignment != (bits < 8 ? 1 : bits / 8))
      byoc_string_appendf(out, " align %llu", (unsigned long long)buffer->alignment);
    if (buffer->scope) {
      byoc_string_append(out, " scope ");
      byoc_text_print_quoted(buffer->scope, strlen(buffer->scope), out);
    }
    byoc_string_append(out, "\n");
  }
  printer_t printer = {.out = out};
  byoc_pointer_map_init(&printer.seen, out->allocator);
  for (size_t i = 0; i < kernel->body->block.statements.count; ++i)
    print_stmt(&printer, kernel->body->block.statements.data[i], indent + 2);
  byoc_map_deinit(&printer.seen);
  byoc_string_indent(out, indent);
  byoc_string_append(out, "}");
}

void byoc_loop_kernel_print(const byoc_loop_kernel_t *kernel, byoc_string_t *out) {
  byoc_loop_kernel_print_at(kernel, 2, out);
}
