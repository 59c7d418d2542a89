// SPDX-License-Identifier: Apache-2.0
// Emits loops over the elements of small local arrays, such as the sums of a register tile, in vectors of the
// processor's width. Compilers then keep each array in a few registers; if they vectorise plain loops, they load and
// store it in each iteration of the outer loop.
#include "core/ir/loop_range.h"
#include "core/kernel/emit.h"

// The elements of the widest registers, and of the largest arrays that may be kept in a few of them.
enum { MOST_LANES = 16, MOST_ELEMENTS = 64 };

static bool is_lane_type(byoc_dtype_t dtype) {
  return dtype == BYOC_DTYPE_F32 || dtype == BYOC_DTYPE_F64 || dtype == BYOC_DTYPE_I32;
}

// Does the value differ from lane to lane?
static bool varies(const byoc_loop_stmt_t *loop, const byoc_loop_expr_t *expr) {
  if (byoc_loop_expr_reads(expr, loop->loop.variable)) return true;
  const byoc_loop_stmt_t *body = loop->loop.body;
  for (size_t i = 0; i < body->block.statements.count; ++i) {
    const byoc_loop_stmt_t *stmt = body->block.statements.data[i];
    if (stmt->kind == BYOC_LOOP_LET && byoc_loop_expr_reads(expr, stmt->assign.variable) &&
        varies(loop, stmt->assign.value)) {
      return true;
    }
  }
  return false;
}

// A field of the bits of words, which becomes a number: words[lane] >> shift & mask.
static bool is_field(const byoc_loop_stmt_t *loop, const byoc_loop_expr_t *expr) {
  if (expr->dtype != BYOC_DTYPE_I32) return false;
  if (expr->kind == BYOC_LOOP_LOAD) {
    return expr->load.buffer->dtype == BYOC_DTYPE_I32 && byoc_loop_steps_by_one(expr->load.index, loop->loop.variable);
  }
  const bool is_bits =
      expr->kind == BYOC_LOOP_OP && (expr->op.op == BYOC_LOOP_OP_SHR || expr->op.op == BYOC_LOOP_OP_AND);
  return is_bits && is_field(loop, expr->op.operands[0]) && !varies(loop, expr->op.operands[1]);
}

static bool fits_value(const byoc_loop_stmt_t *loop, const byoc_loop_expr_t *expr, byoc_dtype_t dtype) {
  if (expr->dtype != dtype) return false;
  if (!varies(loop, expr)) return true;
  switch (expr->kind) {
  case BYOC_LOOP_VARIABLE:
    return true;
  case BYOC_LOOP_LOAD:
    return expr->load.buffer->dtype == dtype && byoc_loop_steps_by_one(expr->load.index, loop->loop.variable);
  case BYOC_LOOP_CAST:
    return dtype == BYOC_DTYPE_F32 && is_field(loop, expr->cast);
  case BYOC_LOOP_OP:
    if (expr->op.op == BYOC_LOOP_OP_DIV && dtype == BYOC_DTYPE_I32) return false;
    switch (expr->op.op) {
    case BYOC_LOOP_OP_ADD:
    case BYOC_LOOP_OP_SUB:
    case BYOC_LOOP_OP_MUL:
    case BYOC_LOOP_OP_DIV:
      return fits_value(loop, expr->op.operands[0], dtype) && fits_value(loop, expr->op.operands[1], dtype);
    default:
      return false;
    }
  default:
    return false;
  }
}

// The element type of a loop of whole vectors that all have one type and are stored to a local array; otherwise
// BYOC_DTYPE_NONE.
static byoc_dtype_t lane_type(const byoc_loop_stmt_t *loop) {
  int64_t begin, end;
  if (loop->loop.kind != BYOC_LOOP_VECTOR || !byoc_loop_is_int(loop->loop.begin, &begin) || begin != 0 ||
      !byoc_loop_is_int(loop->loop.end, &end) || end % MOST_LANES != 0 || end > MOST_ELEMENTS) {
    return BYOC_DTYPE_NONE;
  }
  const byoc_loop_stmt_t *body = loop->loop.body;
  byoc_dtype_t dtype = BYOC_DTYPE_NONE;
  bool is_local = false;
  for (size_t i = 0; i < body->block.statements.count; ++i) {
    const byoc_loop_stmt_t *stmt = body->block.statements.data[i];
    const byoc_loop_expr_t *value = NULL;
    if (stmt->kind == BYOC_LOOP_STORE) {
      value = stmt->store.value;
      if (stmt->store.buffer->dtype != value->dtype) return BYOC_DTYPE_NONE;
      if (!byoc_loop_steps_by_one(stmt->store.index, loop->loop.variable)) return BYOC_DTYPE_NONE;
      is_local |= stmt->store.buffer->kind == BYOC_LOOP_BUFFER_LOCAL;
    } else if (stmt->kind == BYOC_LOOP_LET && !stmt->assign.variable->is_mutable) {
      value = stmt->assign.value;
      if (!varies(loop, value)) continue;
    } else {
      return BYOC_DTYPE_NONE;
    }
    if (dtype == BYOC_DTYPE_NONE) dtype = value->dtype;
    if (!is_lane_type(dtype) || !fits_value(loop, value, dtype)) return BYOC_DTYPE_NONE;
  }
  return is_local ? dtype : BYOC_DTYPE_NONE;
}

typedef struct {
  byoc_emitter_t *emitter;
  const byoc_loop_stmt_t *loop;
  byoc_dtype_t dtype;
  const char *type; // of a vector: integers wrap around, as unsigned ones
} lanes_t;

static void emit_place(const lanes_t *lanes, const char *prefix, const byoc_loop_buffer_t *buffer,
                       const byoc_loop_expr_t *index) {
  const char *type = buffer->dtype == lanes->dtype ? lanes->type : "byoc_lanes_i32_t";
  byoc_string_appendf(lanes->emitter->out, "*(%s%s *)&%s[", prefix, type, buffer->name);
  byoc_emit_expr(lanes->emitter, index, BYOC_C_CONDITIONAL);
  byoc_string_append(lanes->emitter->out, "]");
}

// Scalars stay scalars: the compiler broadcasts them when they meet a vector.
static void emit_value(const lanes_t *lanes, const byoc_loop_expr_t *expr) {
  static const char *const symbols[] = {
      [BYOC_LOOP_OP_ADD] = " + ", [BYOC_LOOP_OP_SUB] = " - ",  [BYOC_LOOP_OP_MUL] = " * ",
      [BYOC_LOOP_OP_DIV] = " / ", [BYOC_LOOP_OP_SHR] = " >> ", [BYOC_LOOP_OP_AND] = " & "};
  byoc_string_t *out = lanes->emitter->out;
  const bool is_scalar = !varies(lanes->loop, expr);
  if (is_scalar && expr->dtype == BYOC_DTYPE_I32 && lanes->dtype == BYOC_DTYPE_I32)
    byoc_string_append(out, "(uint32_t)");
  if (expr->kind == BYOC_LOOP_VARIABLE || is_scalar) {
    byoc_emit_expr(lanes->emitter, expr, BYOC_C_PRIMARY);
  } else if (expr->kind == BYOC_LOOP_LOAD) {
    emit_place(lanes, "const ", expr->load.buffer, expr->load.index);
  } else if (expr->kind == BYOC_LOOP_CAST) {
    byoc_string_append(out, "BYOC_LANES_OF_I32(");
    emit_value(lanes, expr->cast);
    byoc_string_append(out, ")");
  } else {
    byoc_string_append(out, "(");
    emit_value(lanes, expr->op.operands[0]);
    byoc_string_append(out, symbols[expr->op.op]);
    emit_value(lanes, expr->op.operands[1]);
    byoc_string_append(out, ")");
  }
}

static void emit_statement(const lanes_t *lanes, const byoc_loop_stmt_t *stmt, int indent) {
  byoc_emitter_t *emitter = lanes->emitter;
  bool is_store = stmt->kind == BYOC_LOOP_STORE;
  const byoc_loop_expr_t *value = is_store ? stmt->store.value : stmt->assign.value;
  if (byoc_emit_is_unread(emitter, stmt)) return;
  if (!is_store && !varies(lanes->loop, value)) {
    byoc_emit_stmt(emitter, stmt, indent);
    return;
  }
  // A vector that is read several times is loaded once.
  const bool is_kept = !is_store && value->kind == BYOC_LOOP_LOAD;
  byoc_string_indent(emitter->out, indent);
  if (is_store)
    emit_place(lanes, "", stmt->store.buffer, stmt->store.index);
  else
    byoc_string_appendf(emitter->out, "%s%s %s", is_kept ? "" : "const ", lanes->type, stmt->assign.variable->name);
  byoc_string_append(emitter->out, " = ");
  emit_value(lanes, value);
  if (!varies(lanes->loop, value)) byoc_string_appendf(emitter->out, " - (%s){0}", lanes->type);
  byoc_string_append(emitter->out, ";\n");
  if (!is_kept) return;
  byoc_string_indent(emitter->out, indent);
  byoc_string_appendf(emitter->out, "BYOC_IN_REGISTER(%s);\n", stmt->assign.variable->name);
}

bool byoc_emit_lane_loop(byoc_emitter_t *emitter, const byoc_loop_stmt_t *loop, int indent) {
  byoc_dtype_t dtype = lane_type(loop);
  if (dtype == BYOC_DTYPE_NONE) return false;
  int64_t end = 0;
  byoc_loop_is_int(loop->loop.end, &end);
  const lanes_t lanes = {emitter, loop, dtype,
                         dtype == BYOC_DTYPE_F64   ? "byoc_lanes_f64_t"
                         : dtype == BYOC_DTYPE_I32 ? "byoc_lanes_u32_t"
                                                   : "byoc_lanes_f32_t"};
  const char *name = loop->loop.variable->name;
  emitter->uses_lanes = emitter->uses_unroll = true;
  byoc_string_indent(emitter->out, indent);
  byoc_string_appendf(emitter->out, "BYOC_UNROLL(%d)\n", MOST_ELEMENTS);
  byoc_string_indent(emitter->out, indent);
  byoc_string_appendf(emitter->out, "for (int64_t %s = 0; %s < %lld; %s += BYOC_LANES(%s)) {\n", name, name,
                      (long long)end, name, byoc_c_value_type(dtype));
  const byoc_loop_stmt_t *body = loop->loop.body;
  for (size_t i = 0; i < body->block.statements.count; ++i) {
    emit_statement(&lanes, body->block.statements.data[i], indent + 2);
  }
  byoc_string_indent(emitter->out, indent);
  byoc_string_append(emitter->out, "}\n");
  return true;
}

void byoc_emit_lanes_prelude(byoc_string_t *out) {
  static const struct {
    const char *macro;
    int bytes;
  } registers[] = {
#define BYOC_ISA_FEATURE(NAME, name, flag, macro, WORD, bit, STATE, vector_bytes, ...) {macro, vector_bytes},
#include "byoc/isa.def"
  };
  byoc_string_append(out, "// As many elements as a register holds, at any address.\n");
  const char *keyword = "#if";
  for (size_t i = sizeof(registers) / sizeof(registers[0]); i-- > 0;) { // the widest first
    if (registers[i].bytes == 0) continue;
    byoc_string_appendf(out, "%s defined(%s)\n#define BYOC_REGISTER_BYTES %d\n", keyword, registers[i].macro,
                        registers[i].bytes);
    keyword = "#elif";
  }
  byoc_string_append(out, "#else\n"
                          "#define BYOC_REGISTER_BYTES 16\n"
                          "#endif\n"
                          "#if defined(__GNUC__)\n"
                          "typedef float byoc_lanes_f32_t\n"
                          "    __attribute__((vector_size(BYOC_REGISTER_BYTES), aligned(sizeof(float)), may_alias));\n"
                          "typedef double byoc_lanes_f64_t\n"
                          "    __attribute__((vector_size(BYOC_REGISTER_BYTES), aligned(sizeof(double)), may_alias));\n"
                          "typedef int32_t byoc_lanes_i32_t\n"
                          "    __attribute__((vector_size(BYOC_REGISTER_BYTES), aligned(sizeof(float)), may_alias));\n"
                          "typedef uint32_t byoc_lanes_u32_t\n"
                          "    __attribute__((vector_size(BYOC_REGISTER_BYTES), aligned(sizeof(float)), may_alias));\n"
                          "#define BYOC_LANES(type) (int64_t)(BYOC_REGISTER_BYTES / sizeof(type))\n"
                          "#define BYOC_LANES_OF_I32(words) __builtin_convertvector(words, byoc_lanes_f32_t)\n"
                          "#else\n"
                          "typedef float byoc_lanes_f32_t;\n"
                          "typedef double byoc_lanes_f64_t;\n"
                          "typedef int32_t byoc_lanes_i32_t;\n"
                          "typedef uint32_t byoc_lanes_u32_t;\n"
                          "#define BYOC_LANES(type) 1\n"
                          "#define BYOC_LANES_OF_I32(words) (float)(words)\n"
                          "#endif\n"
                          "#if defined(__GNUC__) && defined(__AVX512F__)\n"
                          "#define BYOC_IN_REGISTER(x) __asm__(\"\" : \"+v\"(x))\n"
                          "#elif defined(__GNUC__) && defined(__SSE2__)\n"
                          "#define BYOC_IN_REGISTER(x) __asm__(\"\" : \"+x\"(x))\n"
                          "#else\n"
                          "#define BYOC_IN_REGISTER(x) (void)(x)\n"
                          "#endif\n\n");
}
