// SPDX-License-Identifier: Apache-2.0
// Emits loops over lanes that add products of bytes. Compilers do not find the instruction for them, so they are
// written for the processors that have one (byoc/isa.def), and one lane at a time for all others.
#include "core/ir/loop_range.h"
#include "core/kernel/emit.h"
#include "core/runtime/cpu.h"

// Lanes of the widest registers; loops of other lengths are emitted as plain loops.
enum { MOST_LANES = 16 };

static bool is_local_word(const byoc_loop_buffer_t *buffer) {
  return buffer->kind == BYOC_LOOP_BUFFER_LOCAL && buffer->dtype == BYOC_DTYPE_I32;
}

static bool is_variable(const byoc_loop_expr_t *expr, const byoc_loop_variable_t *variable) {
  return expr->kind == BYOC_LOOP_VARIABLE && expr->variable == variable;
}

// buffer[lane] or buffer[anything else + lane].
static bool is_lane_load(const byoc_loop_expr_t *expr, const byoc_loop_variable_t *lane) {
  if (expr->kind != BYOC_LOOP_LOAD || expr->load.buffer->dtype != BYOC_DTYPE_I32) return false;
  const byoc_loop_expr_t *index = expr->load.index;
  if (is_variable(index, lane)) return true;
  if (index->kind != BYOC_LOOP_OP || index->op.op != BYOC_LOOP_OP_ADD) return false;
  const byoc_loop_expr_t *a = index->op.operands[0], *b = index->op.operands[1];
  return (is_variable(a, lane) && !byoc_loop_expr_reads(b, lane)) ||
         (is_variable(b, lane) && !byoc_loop_expr_reads(a, lane));
}

static bool is_word(const byoc_loop_expr_t *expr, const byoc_loop_variable_t *lane) {
  return expr->kind == BYOC_LOOP_VARIABLE && expr->variable != lane && !expr->variable->is_mutable;
}

// sums[lane] = sums[lane] + dot4(word, words[lane]), or with the word on the right: the dot product, or NULL.
static const byoc_loop_expr_t *dot_of(const byoc_loop_stmt_t *stmt, const byoc_loop_variable_t *lane) {
  if (stmt->kind != BYOC_LOOP_STORE || !is_local_word(stmt->store.buffer)) return NULL;
  const byoc_loop_expr_t *value = stmt->store.value;
  if (!is_variable(stmt->store.index, lane) || value->kind != BYOC_LOOP_OP || value->op.op != BYOC_LOOP_OP_ADD) {
    return NULL;
  }
  const byoc_loop_expr_t *sum = value->op.operands[0], *dot = value->op.operands[1];
  if (sum->kind != BYOC_LOOP_LOAD || sum->load.buffer != stmt->store.buffer || !is_variable(sum->load.index, lane)) {
    return NULL;
  }
  if (dot->kind != BYOC_LOOP_OP || dot->op.op != BYOC_LOOP_OP_DOT4) return NULL;
  const byoc_loop_expr_t *a = dot->op.operands[0], *b = dot->op.operands[1];
  bool fits = (is_word(a, lane) && is_lane_load(b, lane)) || (is_word(b, lane) && is_lane_load(a, lane));
  return fits ? dot : NULL;
}

static bool is_dot_loop(const byoc_loop_stmt_t *loop) {
  int64_t begin, end;
  if (loop->loop.kind != BYOC_LOOP_VECTOR || !byoc_loop_is_int(loop->loop.begin, &begin) || begin != 0 ||
      !byoc_loop_is_int(loop->loop.end, &end) || end % MOST_LANES != 0) {
    return false;
  }
  const byoc_loop_stmt_t *body = loop->loop.body;
  for (size_t i = 0; i < body->block.statements.count; ++i) {
    if (!dot_of(body->block.statements.data[i], loop->loop.variable)) return false;
  }
  return body->block.statements.count > 0;
}

bool byoc_emit_dot_loop(byoc_emitter_t *emitter, const byoc_loop_stmt_t *loop, int indent) {
  if (!is_dot_loop(loop)) return false;
  const byoc_loop_variable_t *lane = loop->loop.variable;
  byoc_string_t *out = emitter->out;
  int64_t end = 0;
  byoc_loop_is_int(loop->loop.end, &end);
  emitter->uses_dot = emitter->uses_vector = true;
  byoc_string_indent(out, indent);
  byoc_string_append(out, "BYOC_VECTOR\n");
  byoc_string_indent(out, indent);
  byoc_string_appendf(out, "for (int64_t %s = 0; %s < %lld; %s += BYOC_DOT4_LANES) {\n", lane->name, lane->name,
                      (long long)end, lane->name);
  const byoc_loop_stmt_t *body = loop->loop.body;
  for (size_t i = 0; i < body->block.statements.count; ++i) {
    const byoc_loop_stmt_t *stmt = body->block.statements.data[i];
    const byoc_loop_expr_t *dot = dot_of(stmt, lane);
    bool word_first = dot->op.operands[0]->kind == BYOC_LOOP_VARIABLE;
    const byoc_loop_expr_t *word = dot->op.operands[word_first ? 0 : 1], *words = dot->op.operands[word_first ? 1 : 0];
    byoc_string_indent(out, indent + 2);
    byoc_string_appendf(out, "byoc_dot4_%s(&%s[%s], %s, &", word_first ? "unsigned" : "signed",
                        stmt->store.buffer->name, lane->name, word->variable->name);
    byoc_emit_expr(emitter, words, BYOC_C_CONDITIONAL);
    byoc_string_append(out, ");\n");
  }
  byoc_string_indent(out, indent);
  byoc_string_append(out, "}\n");
  return true;
}

// ---- words ----

// The load of a byte that is shifted up by `place` bytes in a word.
static const byoc_loop_expr_t *byte_of(const byoc_loop_expr_t *expr, int64_t place) {
  int64_t shift;
  if (place > 0) {
    if (expr->kind != BYOC_LOOP_OP || expr->op.op != BYOC_LOOP_OP_SHL ||
        !byoc_loop_is_int(expr->op.operands[1], &shift) || shift != 8 * place) {
      return NULL;
    }
    expr = expr->op.operands[0];
  }
  if (expr->kind != BYOC_LOOP_CAST || expr->dtype != BYOC_DTYPE_I32) return NULL;
  expr = expr->cast;
  if (expr->kind == BYOC_LOOP_CAST && expr->dtype == BYOC_DTYPE_U8)
    expr = expr->cast;
  else if (expr->dtype != BYOC_DTYPE_U8)
    return NULL;
  bool is_byte = expr->dtype == BYOC_DTYPE_U8 || expr->dtype == BYOC_DTYPE_I8;
  return expr->kind == BYOC_LOOP_LOAD && is_byte ? expr : NULL;
}

// The number that is added to the rest of an index.
static int64_t offset_of(const byoc_loop_expr_t *index, const byoc_loop_expr_t **out_rest) {
  int64_t number = 0;
  *out_rest = index;
  if (index->kind != BYOC_LOOP_OP || index->op.op != BYOC_LOOP_OP_ADD) return 0;
  if (!byoc_loop_is_int(index->op.operands[1], &number)) return 0;
  *out_rest = index->op.operands[0];
  return number;
}

static bool is_behind(const byoc_loop_expr_t *index, const byoc_loop_expr_t *first, int64_t distance) {
  const byoc_loop_expr_t *rest, *rest_of_first;
  const int64_t offset = offset_of(index, &rest), offset_of_first = offset_of(first, &rest_of_first);
  return offset - offset_of_first == distance && byoc_loop_expr_equal(rest, rest_of_first);
}

bool byoc_emit_word(byoc_emitter_t *emitter, const byoc_loop_expr_t *expr) {
  const byoc_loop_expr_t *loads[4];
  for (int64_t place = 3; place >= 0; --place) {
    const byoc_loop_expr_t *part = expr;
    if (place > 0) {
      if (expr->kind != BYOC_LOOP_OP || expr->op.op != BYOC_LOOP_OP_OR) return false;
      part = expr->op.operands[1];
      expr = expr->op.operands[0];
    }
    loads[place] = byte_of(part, place);
    if (!loads[place]) return false;
  }
  for (int64_t place = 1; place < 4; ++place) {
    if (loads[place]->load.buffer != loads[0]->load.buffer ||
        !is_behind(loads[place]->load.index, loads[0]->load.index, place)) {
      return false;
    }
  }
  byoc_emit_helper(emitter, "byoc_load_word");
  byoc_string_append(emitter->out, "((const uint8_t *)&");
  byoc_emit_expr(emitter, loads[0], BYOC_C_PRIMARY);
  byoc_string_append(emitter->out, ")");
  return true;
}

void byoc_emit_dot_prelude(byoc_string_t *out) {
  static const struct {
    const char *macro;
  } features[] = {
#define BYOC_ISA_FEATURE(NAME, name, flag, macro, ...) [BYOC_CPU_##NAME] = {macro},
#include "byoc/isa.def"
  };
  static const struct {
    int feature, lanes;
    const char *header, *load, *store, *splat, *dot;
  } rows[] = {
#define BYOC_ISA_DOT4(FEATURE, header, lanes, load, store, splat, dot)                                                 \
  {BYOC_CPU_##FEATURE, lanes, header, load, store, splat, dot},
#include "byoc/isa.def"
  };
  byoc_string_append(
      out,
      "// sums[i] += the products of the four bytes of word and of words[i], of which word's are unsigned (signed)\n"
      "// and the others signed (unsigned): as many lanes at a time as there is an instruction for.\n");
  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); ++i) {
    byoc_string_appendf(out,
                        "%s defined(%s)\n"
                        "#include <%s>\n"
                        "#define BYOC_DOT4_LANES %d\n"
                        "#define BYOC_DOT4_LOAD(at) %s((const void *)(at))\n"
                        "#define BYOC_DOT4_STORE(at, value) %s((void *)(at), value)\n"
                        "#define BYOC_DOT4_ALL(word) %s(word)\n"
                        "#define BYOC_DOT4_ADD(sums, a, b) %s(sums, a, b)\n",
                        i > 0 ? "#elif" : "#if", features[rows[i].feature].macro, rows[i].header, rows[i].lanes,
                        rows[i].load, rows[i].store, rows[i].splat, rows[i].dot);
  }
  byoc_string_append(
      out,
      "#else\n"
      "#define BYOC_DOT4_LANES 1\n"
      "#define BYOC_DOT4_LOAD(at) (*(at))\n"
      "#define BYOC_DOT4_STORE(at, value) (*(at) = (value))\n"
      "#define BYOC_DOT4_ALL(word) (word)\n"
      "#define BYOC_DOT4_ADD(sums, a, b) byoc_dot4_add(sums, a, b)\n"
      "static inline int32_t byoc_dot4_add(int32_t sum, int32_t a, int32_t b) {\n"
      "  uint32_t x = (uint32_t)a, y = (uint32_t)b;\n"
      "  int32_t low = (int32_t)(x & 255) * (int8_t)(y & 255) + (int32_t)(x >> 8 & 255) * (int8_t)(y >> 8 & 255);\n"
      "  int32_t high = (int32_t)(x >> 16 & 255) * (int8_t)(y >> 16 & 255) + (int32_t)(x >> 24) * (int8_t)(y >> 24);\n"
      "  return (int32_t)((uint32_t)sum + (uint32_t)(low + high));\n"
      "}\n"
      "#endif\n"
      "static inline void byoc_dot4_unsigned(int32_t *sums, int32_t word, const int32_t *words) {\n"
      "  BYOC_DOT4_STORE(sums, BYOC_DOT4_ADD(BYOC_DOT4_LOAD(sums), BYOC_DOT4_ALL(word), BYOC_DOT4_LOAD(words)));\n"
      "}\n"
      "static inline void byoc_dot4_signed(int32_t *sums, int32_t word, const int32_t *words) {\n"
      "  BYOC_DOT4_STORE(sums, BYOC_DOT4_ADD(BYOC_DOT4_LOAD(sums), BYOC_DOT4_LOAD(words), BYOC_DOT4_ALL(word)));\n"
      "}\n\n");
}
