// Prints loop kernels as text.
#include <math.h>
#include <string.h>

#include "core/ir/loop_fold.h"
#include "core/ir/loop_text.h"
#include "core/ir/text_names.h"

static void print_expr(const byoc_loop_expr_t *expr, int least, byoc_string_t *out);

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

static void print_op(const byoc_loop_expr_t *expr, int least, byoc_string_t *out) {
  byoc_loop_op_t op = expr->op.op;
  const char *symbol = op == BYOC_LOOP_OP_ADD   ? " + "
                       : op == BYOC_LOOP_OP_SUB ? " - "
                       : op == BYOC_LOOP_OP_MUL ? " * "
                                                : NULL;
  if (symbol) {
    int level = op == BYOC_LOOP_OP_MUL ? 2 : 1;
    if (level < least) byoc_string_append(out, "(");
    print_expr(expr->op.operands[0], level, out);
    byoc_string_append(out, symbol);
    print_expr(expr->op.operands[1], level + 1, out);
    if (level < least) byoc_string_append(out, ")");
    return;
  }
  byoc_string_appendf(out, "%s(", byoc_loop_op_name(op));
  print_expr(expr->op.operands[0], 0, out);
  if (byoc_loop_op_operand_count(op) == 2) {
    byoc_string_append(out, ", ");
    print_expr(expr->op.operands[1], 0, out);
  }
  byoc_string_append(out, ")");
}

// `least` is the binding that needs no brackets: 1 inside sums, 2 inside products, 3 to the right of a product.
static void print_expr(const byoc_loop_expr_t *expr, int least, byoc_string_t *out) {
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
    print_expr(expr->load.index, 0, out);
    byoc_string_append(out, "]");
    return;
  case BYOC_LOOP_OP:
    print_op(expr, least, out);
    return;
  case BYOC_LOOP_SELECT:
    byoc_string_append(out, "select(");
    print_expr(expr->select.condition, 0, out);
    byoc_string_append(out, ", ");
    print_expr(expr->select.yes, 0, out);
    byoc_string_append(out, ", ");
    print_expr(expr->select.no, 0, out);
    byoc_string_append(out, ")");
    return;
  case BYOC_LOOP_CAST:
    byoc_string_appendf(out, "cast(%s, ", byoc_dtype_name(expr->dtype));
    print_expr(expr->cast, 0, out);
    byoc_string_append(out, ")");
    return;
  }
}

static void print_stmt(const byoc_loop_stmt_t *stmt, int indent, byoc_string_t *out);

static void print_body(const byoc_loop_stmt_t *body, int indent, byoc_string_t *out) {
  byoc_string_append(out, "{\n");
  for (size_t i = 0; i < body->block.statements.count; ++i) print_stmt(body->block.statements.data[i], indent + 2, out);
  byoc_string_indent(out, indent);
  byoc_string_append(out, "}");
}

static void print_for(const byoc_loop_stmt_t *stmt, int indent, byoc_string_t *out) {
  static const char *const kinds[] = {"serial", "parallel", "vector", "unroll", "reduce"};
  byoc_string_appendf(out, "%s %s in ", kinds[stmt->loop.kind], stmt->loop.variable->name);
  print_expr(stmt->loop.begin, 0, out);
  byoc_string_append(out, " .. ");
  print_expr(stmt->loop.end, 0, out);
  byoc_string_append(out, " ");
  print_body(stmt->loop.body, indent, out);
}

static void print_stmt(const byoc_loop_stmt_t *stmt, int indent, byoc_string_t *out) {
  byoc_string_indent(out, indent);
  switch (stmt->kind) {
  case BYOC_LOOP_BLOCK:
    print_body(stmt, indent, out);
    break;
  case BYOC_LOOP_FOR:
    print_for(stmt, indent, out);
    break;
  case BYOC_LOOP_WHILE:
    byoc_string_append(out, "while ");
    print_expr(stmt->loop_while.condition, 0, out);
    byoc_string_append(out, " ");
    print_body(stmt->loop_while.body, indent, out);
    break;
  case BYOC_LOOP_IF:
    byoc_string_append(out, "if ");
    print_expr(stmt->branch.condition, 0, out);
    byoc_string_append(out, " ");
    print_body(stmt->branch.yes, indent, out);
    if (stmt->branch.no) {
      byoc_string_append(out, " else ");
      print_body(stmt->branch.no, indent, out);
    }
    break;
  case BYOC_LOOP_LET:
  case BYOC_LOOP_ASSIGN: {
    const byoc_loop_variable_t *variable = stmt->assign.variable;
    if (stmt->kind == BYOC_LOOP_LET)
      byoc_string_appendf(out, "%s %s : %s = ", variable->is_mutable ? "var" : "let", variable->name,
                          byoc_dtype_name(variable->dtype));
    else
      byoc_string_appendf(out, "%s = ", variable->name);
    print_expr(stmt->assign.value, 0, out);
    break;
  }
  case BYOC_LOOP_STORE:
    byoc_string_appendf(out, "%s[", stmt->store.buffer->name);
    print_expr(stmt->store.index, 0, out);
    byoc_string_append(out, "] = ");
    print_expr(stmt->store.value, 0, out);
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
  for (size_t i = 0; i < kernel->body->block.statements.count; ++i)
    print_stmt(kernel->body->block.statements.data[i], indent + 2, out);
  byoc_string_indent(out, indent);
  byoc_string_append(out, "}");
}

void byoc_loop_kernel_print(const byoc_loop_kernel_t *kernel, byoc_string_t *out) {
  byoc_loop_kernel_print_at(kernel, 2, out);
}
