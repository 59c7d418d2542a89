// SPDX-License-Identifier: Apache-2.0
// DFT and STFT: written as byoc::DFT and byoc::STFT, which have scratch memory for fast transforms (fourier.h) as
// results.
#include "core/op/write.h"
#include "core/ops/onnx/math/fourier.h"

#define BIN(op, x, y) byoc_loop_binary(b, BYOC_LOOP_OP_##op, (x), (y))
#define UN(op, x)     byoc_loop_unary(b, BYOC_LOOP_OP_##op, (x))

// Results of byoc::DFT and byoc::STFT.
enum { SPECTRUM, ROOM, TABLES, RESULTS };

// The last dimension of a signal distinguishes real (1) from complex (2) numbers.
static byoc_status_t need_numbers(const byoc_infer_t *infer) {
  const byoc_type_t *x = byoc_operand_type(infer->node, 0);
  byoc_dim_t last = x->dims[x->rank - 1];
  if (!byoc_dim_is_constant(last)) {
    byoc_side_t numbers = byoc_side_of(infer, 0, x->rank - 1);
    BYOC_RETURN_IF_ERROR(byoc_infer_relate(infer, BYOC_RELATION_AT_MOST, byoc_side_number(1), numbers));
    return byoc_infer_relate(infer, BYOC_RELATION_AT_MOST, numbers, byoc_side_number(2));
  }
  if (last.constant == 1 || last.constant == 2) return BYOC_OK;
  return byoc_infer_error(infer, "operand 0: expected 1 or 2 in the last dimension, got %lld",
                          (long long)last.constant);
}

// Types of the scratch memory and of the tables, for so many lines of a length.
static byoc_status_t infer_scratch(byoc_infer_t *infer, byoc_dim_t length, byoc_dim_t lines) {
  if (!byoc_has_result(infer->node, TABLES)) return BYOC_OK;
  if (!byoc_dim_is_constant(length) || !byoc_dim_is_constant(lines)) {
    BYOC_RETURN_IF_ERROR(byoc_infer_set_unknown(infer, ROOM, BYOC_DTYPE_F64, 1));
    return byoc_infer_set_unknown(infer, TABLES, BYOC_DTYPE_F64, 1);
  }
  const int64_t room = byoc_fourier_known_scratch(length.constant, lines.constant);
  const int64_t tables = byoc_fourier_known_tables(length.constant);
  if (room < 0 || tables < 0)
    return byoc_infer_error(infer, "a transform of %lld points is too long", (long long)length.constant);
  const byoc_dim_t dims[] = {byoc_dim_constant(room), byoc_dim_constant(tables)};
  BYOC_RETURN_IF_ERROR(byoc_infer_set(infer, ROOM, BYOC_DTYPE_F64, 1, &dims[0]));
  return byoc_infer_set(infer, TABLES, BYOC_DTYPE_F64, 1, &dims[1]);
}

// ---- DFT ----
// The transformed dimension: an attribute before version 20, operand 2 from then on; byoc::DFT has both. *out_axis is
// -1 if it is data.
static byoc_status_t read_dft_axis(const byoc_infer_t *infer, const byoc_type_t *x, int32_t *out_axis) {
  const byoc_node_t *node = infer->node;
  int64_t axis = node->since_version < 20 ? byoc_node_int(node, "axis") : -2;
  byoc_ints_t ints;
  if (byoc_has_operand(node, 2)) {
    *out_axis = -1;
    if (byoc_read_ints(node, NULL, 2, &ints) != BYOC_KNOWN_YES || ints.count != 1) return BYOC_OK;
    axis = ints.values[0];
  }
  if (byoc_normalize_axis(axis, x->rank, out_axis) && *out_axis < x->rank - 1) return BYOC_OK;
  return byoc_infer_error(infer, "the axis: expected a value in [%d, %d], got %lld", -x->rank, x->rank - 2,
                          (long long)axis);
}

// The inverse of a one-sided spectrum is real: the missing half mirrors the other.
static bool is_hermitian(const byoc_node_t *node) {
  return byoc_node_flag(node, "inverse") && byoc_node_flag(node, "onesided");
}

static byoc_status_t infer_dft(byoc_infer_t *infer) {
  const byoc_node_t *node = infer->node;
  BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, 0, byoc_dtype_is_float, "a float tensor"));
  BYOC_RETURN_IF_ERROR(byoc_infer_need_rank(infer, 0, 2, BYOC_MAX_RANK));
  for (uint32_t i = 1; i <= 2; ++i) {
    if (!byoc_has_operand(node, i)) continue;
    BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, i, byoc_dtype_is_integer, i == 1 ? "a length" : "an axis"));
    BYOC_RETURN_IF_ERROR(byoc_infer_need_one(infer, i));
  }
  const byoc_type_t *x = byoc_operand_type(node, 0);
  if (!byoc_is_ranked(x)) return byoc_infer_set_unranked(infer, 0, x->dtype);
  BYOC_RETURN_IF_ERROR(need_numbers(infer));
  int32_t axis = 0;
  BYOC_RETURN_IF_ERROR(read_dft_axis(infer, x, &axis));
  if (axis < 0) BYOC_RETURN_IF_ERROR(byoc_infer_need_axes(infer, 2, x->rank, false));
  if (axis < 0) return byoc_infer_set_unknown(infer, 0, x->dtype, x->rank);
  byoc_dim_t dims[BYOC_MAX_RANK], one = byoc_dim_constant(1), two = byoc_dim_constant(2);
  for (int32_t d = 0; d < x->rank; ++d) dims[d] = x->dims[d];
  bool failed = false, real = is_hermitian(node), onesided = byoc_node_flag(node, "onesided");
  bool given = byoc_has_operand(node, 1);
  if (given && !byoc_infer_scalar_dim(infer, 1, &dims[axis])) {
    dims[axis] = byoc_infer_unknown_dim(infer, &failed);
  } else if (real && !given) { // as many bins as half the signal and one
    dims[axis] = byoc_infer_dim(infer, BYOC_DIM_SUB, dims[axis], one, &failed);
    dims[axis] = byoc_infer_dim(infer, BYOC_DIM_MUL, dims[axis], two, &failed);
  } else if (onesided && !real) {
    byoc_dim_t half = byoc_infer_dim(infer, BYOC_DIM_FLOORDIV, dims[axis], two, &failed);
    dims[axis] = byoc_infer_dim(infer, BYOC_DIM_ADD, half, one, &failed);
  }
  dims[x->rank - 1] = real ? one : two;
  BYOC_RETURN_IF_ERROR(byoc_infer_memory(infer, failed));
  return byoc_infer_set(infer, 0, x->dtype, x->rank, dims);
}

static byoc_status_t infer_dft_scratch(byoc_infer_t *infer) {
  BYOC_RETURN_IF_ERROR(infer_dft(infer));
  const byoc_node_t *node = infer->node;
  const byoc_type_t *x = node->operands[0]->type, *y = node->results[SPECTRUM]->type;
  bool failed = false;
  byoc_dim_t length = byoc_infer_unknown_dim(infer, &failed), lines = byoc_dim_constant(1);
  int32_t axis = -1;
  if (byoc_is_ranked(x)) BYOC_RETURN_IF_ERROR(read_dft_axis(infer, x, &axis));
  for (int32_t d = 0; axis >= 0 && d < x->rank - 1; ++d) {
    if (d != axis) lines = byoc_infer_dim(infer, BYOC_DIM_MUL, lines, x->dims[d], &failed);
  }
  BYOC_RETURN_IF_ERROR(byoc_infer_memory(infer, failed));
  if (axis < 0) return infer_scratch(infer, length, lines);
  if (byoc_has_operand(node, 1))
    byoc_infer_scalar_dim(infer, 1, &length);
  else
    length = is_hermitian(node) ? y->dims[axis] : x->dims[axis];
  return infer_scratch(infer, length, lines);
}

// The lines of a transform: `outer` times `inner` ones, of `extent` points of `numbers` numbers each, of which `bins`
// points are wanted of a spectrum of `length`.
typedef struct lines_t {
  const byoc_loop_expr_t *outer, *extent, *inner, *numbers, *length, *bins;
} lines_t;

// The dimensions before, at, and after the axis; `given` is the axis if it is data.
static void split_dims(byoc_loop_builder_t *b, const byoc_type_t *x, int32_t axis, const byoc_loop_expr_t *given,
                       lines_t *out) {
  const byoc_loop_expr_t *one = byoc_loop_int(b, 1);
  out->outer = out->extent = out->inner = one;
  for (int32_t d = 0; d < x->rank - 1; ++d) {
    const byoc_loop_expr_t *dim = byoc_emit_dim(b, x, d), *at = byoc_loop_int(b, d);
    if (given == NULL) {
      const byoc_loop_expr_t **part = d < axis ? &out->outer : d == axis ? &out->extent : &out->inner;
      *part = BYOC_LMUL(b, *part, dim);
      continue;
    }
    out->outer = BYOC_LMUL(b, out->outer, byoc_loop_select(b, BIN(LT, at, given), dim, one));
    out->extent = BYOC_LMUL(b, out->extent, byoc_loop_select(b, BIN(EQ, at, given), dim, one));
    out->inner = BYOC_LMUL(b, out->inner, byoc_loop_select(b, BIN(LT, given, at), dim, one));
  }
  out->numbers = byoc_emit_dim(b, x, x->rank - 1);
}

static bool find_dft_lines(byoc_lower_t *lower, const byoc_node_t *node, lines_t *out) {
  byoc_loop_builder_t *b = byoc_lower_builder(lower);
  const byoc_type_t *x = node->operands[0]->type;
  const byoc_infer_t infer = {.node = (byoc_node_t *)(uintptr_t)node, .opset = node->since_version};
  const byoc_loop_expr_t *given = NULL, *two = byoc_loop_int(b, 2);
  int32_t axis = 0;
  if (read_dft_axis(&infer, x, &axis) != BYOC_OK) return false;
  if (axis < 0) {
    given = byoc_emit_index(b, byoc_emit_int(lower, node, 2, 0), byoc_loop_int(b, x->rank));
    given = byoc_loop_let(b, "axis", given);
  }
  split_dims(b, x, axis, given, out);
  const bool is_real = is_hermitian(node);
  out->length = is_real ? BYOC_LMUL(b, BYOC_LSUB(b, out->extent, byoc_loop_int(b, 1)), two) : out->extent;
  if (byoc_has_operand(node, 1)) out->length = byoc_loop_let(b, "length", byoc_emit_int(lower, node, 1, 0));
  out->bins = byoc_node_flag(node, "onesided") && !is_real ? byoc_fourier_half(b, out->length) : out->length;
  return true;
}

static const byoc_loop_expr_t *shape_dft(byoc_lower_t *lower, const byoc_node_t *node, uint32_t result, int32_t d) {
  byoc_loop_builder_t *b = byoc_lower_builder(lower);
  const byoc_type_t *x = node->operands[0]->type;
  const byoc_infer_t infer = {.node = (byoc_node_t *)(uintptr_t)node, .opset = node->since_version};
  int32_t axis = 0;
  lines_t lines;
  if (result == SPECTRUM && d == x->rank - 1) return byoc_loop_int(b, is_hermitian(node) ? 1 : 2);
  if (read_dft_axis(&infer, x, &axis) != BYOC_OK || !find_dft_lines(lower, node, &lines)) return NULL;
  if (result == ROOM) return byoc_fourier_scratch(b, lines.length, BYOC_LMUL(b, lines.outer, lines.inner));
  if (result == TABLES) return byoc_fourier_tables(b, lines.length);
  if (axis >= 0) return axis == d ? lines.bins : byoc_emit_dim(b, x, d);
  const byoc_loop_expr_t *given = byoc_emit_index(b, byoc_emit_int(lower, node, 2, 0), byoc_loop_int(b, x->rank));
  return byoc_loop_select(b, BIN(EQ, given, byoc_loop_int(b, d)), lines.bins, byoc_emit_dim(b, x, d));
}

// ---- loops of both ----
typedef struct spectrum_t {
  byoc_lower_t *lower;
  const byoc_node_t *node;
  byoc_fourier_t f;
  lines_t lines;
  const byoc_loop_buffer_t *out;
  bool is_real, is_inverse; // of the DFT
} spectrum_t;

static bool find_buffers(spectrum_t *s, byoc_lower_t *lower, const byoc_node_t *node) {
  s->lower = lower, s->node = node, s->f.b = byoc_lower_builder(lower);
  return byoc_lower_result_buffer(lower, node, SPECTRUM, &s->out) &&
         byoc_lower_result_buffer(lower, node, ROOM, &s->f.room) &&
         byoc_lower_result_buffer(lower, node, TABLES, &s->f.tables);
}

// Part `part` of a number of the signal, the first part of which is element `at`; only if `is_inside` (NULL: always).
static const byoc_loop_expr_t *load_part(const spectrum_t *s, const byoc_loop_expr_t *at, int part,
                                         const byoc_loop_expr_t *is_inside) {
  byoc_loop_builder_t *b = s->f.b;
  const byoc_loop_expr_t *zero = byoc_loop_const(b, BYOC_DTYPE_F64, 0);
  const byoc_loop_expr_t *numbers = s->lines.numbers, *two = byoc_loop_int(b, 2);
  if (part == 1 && byoc_loop_is_const(numbers, 1)) return zero;
  const byoc_loop_expr_t *is_pair = part == 1 && !byoc_loop_is_const(numbers, 2) ? BIN(EQ, numbers, two) : NULL;
  if (is_pair) is_inside = is_inside ? BIN(AND, is_inside, is_pair) : is_pair;
  const byoc_loop_expr_t *index = BYOC_LADD(b, at, byoc_loop_int(b, part));
  const byoc_loop_expr_t *x = byoc_emit_as(b, BYOC_DTYPE_F64, byoc_lower_load_flat(s->lower, s->node, 0, index));
  return is_inside ? byoc_loop_select(b, is_inside, x, zero) : x;
}

// Point k of a line. An inverse transform swaps real and imaginary parts before and after a transform.
static void store_point(const spectrum_t *s, const byoc_loop_expr_t *base, const byoc_loop_expr_t *k,
                        const byoc_loop_expr_t *const part[2]) {
  byoc_loop_builder_t *b = s->f.b;
  for (int i = 0; i < 2; ++i) {
    const byoc_loop_expr_t *to = byoc_fourier_part(&s->f, base, s->is_inverse ? 1 - i : i);
    byoc_loop_store(b, s->f.room, BYOC_LADD(b, to, k), part[i]);
  }
}

// Zeros for the points from `begin` on.
static void fill_rest(const spectrum_t *s, const byoc_loop_expr_t *base, const byoc_loop_expr_t *begin) {
  byoc_loop_builder_t *b = s->f.b;
  const byoc_loop_expr_t *zero = byoc_loop_const(b, BYOC_DTYPE_F64, 0);
  const byoc_loop_expr_t *k = byoc_loop_for(b, BYOC_LOOP_VECTOR, "k", begin, s->f.points);
  store_point(s, base, k, (const byoc_loop_expr_t *[]){zero, zero});
  byoc_loop_end(b);
}

// Opens loops over chunks and over the lines of each; close them with byoc_emit_close(b, 2).
static const byoc_loop_expr_t *open_lines(spectrum_t *s, const byoc_loop_expr_t *count,
                                          const byoc_loop_expr_t **out_base) {
  byoc_loop_builder_t *b = s->f.b;
  count = byoc_loop_let(b, "lines", count);
  const byoc_loop_expr_t *chunks = byoc_loop_let(b, "chunks", byoc_fourier_chunks(b, count));
  s->f.length = s->lines.length;
  byoc_fourier_begin(&s->f);
  const byoc_loop_expr_t *c = byoc_loop_for(b, BYOC_LOOP_PARALLEL, "chunk", byoc_loop_int(b, 0), chunks);
  const byoc_loop_expr_t *next = BYOC_LADD(b, c, byoc_loop_int(b, 1));
  *out_base = byoc_fourier_base(&s->f, c);
  return byoc_loop_for(b, BYOC_LOOP_SERIAL, "line", BYOC_LDIV(b, BYOC_LMUL(b, count, c), chunks),
                       BYOC_LDIV(b, BYOC_LMUL(b, count, next), chunks));
}

// An element of the spectrum, from the scratch memory.
static const byoc_loop_expr_t *load_result(const spectrum_t *s, const byoc_loop_expr_t *base, const byoc_loop_expr_t *k,
                                           int part) {
  byoc_loop_builder_t *b = s->f.b;
  const byoc_loop_expr_t *from = byoc_fourier_part(&s->f, base, s->is_inverse ? 1 - part : part);
  const byoc_loop_expr_t *x = byoc_loop_load(b, s->f.room, BYOC_LADD(b, from, k));
  if (s->is_inverse) x = BIN(DIV, x, byoc_emit_as(b, BYOC_DTYPE_F64, s->f.length));
  return byoc_emit_as(b, s->out->dtype, x);
}

// Point k of line (o, i), in numbers.
static const byoc_loop_expr_t *place_of(byoc_loop_builder_t *b, const byoc_loop_expr_t *const line[2],
                                        const byoc_loop_expr_t *extent, const byoc_loop_expr_t *inner,
                                        const byoc_loop_expr_t *k) {
  return BYOC_LADD(b, BYOC_LMUL(b, BYOC_LADD(b, BYOC_LMUL(b, line[0], extent), k), inner), line[1]);
}

// The spectrum of a real signal, of which only half is given: the other half mirrors it, and missing points are 0.
static void load_mirrored(const spectrum_t *s, const byoc_loop_expr_t *base, const byoc_loop_expr_t *const line[2]) {
  byoc_loop_builder_t *b = s->f.b;
  const byoc_loop_expr_t *k = byoc_loop_for(b, BYOC_LOOP_SERIAL, "k", byoc_loop_int(b, 0), s->f.length);
  const byoc_loop_expr_t *behind = BYOC_LSUB(b, s->f.length, k), *is_behind = BIN(LT, behind, k), *part[2];
  const byoc_loop_expr_t *bin = byoc_loop_let(b, "bin", BYOC_LMIN(b, k, behind));
  const byoc_loop_expr_t *inside = byoc_loop_let(b, "inside", BIN(LT, bin, s->lines.extent));
  const byoc_loop_expr_t *at = BYOC_LMUL(b, place_of(b, line, s->lines.extent, s->lines.inner, bin), s->lines.numbers);
  for (int i = 0; i < 2; ++i) part[i] = byoc_loop_let(b, "x", load_part(s, at, i, inside));
  part[1] = byoc_loop_select(b, is_behind, UN(NEG, part[1]), part[1]);
  store_point(s, base, k, part);
  byoc_loop_end(b);
  fill_rest(s, base, s->f.length);
}

static void load_line(const spectrum_t *s, const byoc_loop_expr_t *base, const byoc_loop_expr_t *const line[2]) {
  byoc_loop_builder_t *b = s->f.b;
  const byoc_loop_expr_t *used = byoc_loop_let(b, "used", BYOC_LMIN(b, s->lines.extent, s->f.length)), *part[2];
  const byoc_loop_expr_t *k = byoc_loop_for(b, BYOC_LOOP_VECTOR, "k", byoc_loop_int(b, 0), used);
  const byoc_loop_expr_t *at = BYOC_LMUL(b, place_of(b, line, s->lines.extent, s->lines.inner, k), s->lines.numbers);
  for (int i = 0; i < 2; ++i) part[i] = load_part(s, at, i, NULL);
  store_point(s, base, k, part);
  byoc_loop_end(b);
  fill_rest(s, base, used);
}

static void store_line(const spectrum_t *s, const byoc_loop_expr_t *result, const byoc_loop_expr_t *const line[2]) {
  byoc_loop_builder_t *b = s->f.b;
  const int parts = s->is_real ? 1 : 2;
  const byoc_loop_expr_t *k = byoc_loop_for(b, BYOC_LOOP_VECTOR, "k", byoc_loop_int(b, 0), s->lines.bins);
  const byoc_loop_expr_t *at = place_of(b, line, s->lines.bins, s->lines.inner, k);
  at = BYOC_LMUL(b, at, byoc_loop_int(b, parts));
  for (int i = 0; i < parts; ++i)
    byoc_loop_store(b, s->out, BYOC_LADD(b, at, byoc_loop_int(b, i)), load_result(s, result, k, i));
  byoc_loop_end(b);
}

static byoc_status_t loops_dft(byoc_lower_t *lower, const byoc_node_t *node) {
  byoc_loop_builder_t *b = byoc_lower_builder(lower);
  spectrum_t s = {.is_real = is_hermitian(node), .is_inverse = byoc_node_flag(node, "inverse")};
  if (!find_buffers(&s, lower, node) || !find_dft_lines(lower, node, &s.lines)) return BYOC_UNSUPPORTED;
  const byoc_loop_expr_t *base, *at = open_lines(&s, BYOC_LMUL(b, s.lines.outer, s.lines.inner), &base);
  const byoc_loop_expr_t *const line[2] = {byoc_loop_let(b, "outer", BYOC_LDIV(b, at, s.lines.inner)),
                                           byoc_loop_let(b, "inner", BYOC_LMOD(b, at, s.lines.inner))};
  if (s.is_real)
    load_mirrored(&s, base, line);
  else
    load_line(&s, base, line);
  store_line(&s, byoc_fourier_transform(&s.f, base), line);
  byoc_emit_close(b, 2);
  return BYOC_OK;
}

// DFT(...) → byoc::DFT(...) with the axis as an attribute, if it is no operand
static byoc_status_t expand_dft(byoc_node_t *node, byoc_diag_t *diag, bool *out_changed) {
  *out_changed = false;
  byoc_writer_t w = {.node = node, .diag = diag};
  const byoc_attribute_t attributes[] = {
      byoc_write_int("axis", node->since_version < 20 ? byoc_node_int(node, "axis") : -2),
      byoc_write_int("inverse", byoc_node_flag(node, "inverse")),
      byoc_write_int("onesided", byoc_node_flag(node, "onesided"))};
  byoc_node_t *made = byoc_write_many(&w, "byoc", "DFT", node->operands, node->operand_count, RESULTS, attributes, 3);
  return byoc_write_end(&w, made ? made->results[SPECTRUM] : NULL, out_changed);
}

// ---- STFT: operands signal, frame step, window, frame length ----
static byoc_status_t infer_stft(byoc_infer_t *infer) {
  const byoc_node_t *node = infer->node;
  BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, 0, byoc_dtype_is_float, "a float signal"));
  BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, 1, byoc_dtype_is_integer, "a frame step"));
  BYOC_RETURN_IF_ERROR(byoc_infer_need_one(infer, 1));
  BYOC_RETURN_IF_ERROR(byoc_infer_need_positive(infer, 1, "the frame step"));
  if (byoc_has_operand(node, 3)) {
    BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, 3, byoc_dtype_is_integer, "a frame length"));
    BYOC_RETURN_IF_ERROR(byoc_infer_need_one(infer, 3));
  }
  BYOC_RETURN_IF_ERROR(byoc_infer_need_rank(infer, 0, 3, 3));
  BYOC_RETURN_IF_ERROR(byoc_infer_need_same(infer, 2));
  BYOC_RETURN_IF_ERROR(byoc_infer_need_rank(infer, 2, 1, 1));
  const byoc_type_t *x = byoc_operand_type(node, 0), *window = byoc_operand_type(node, 2);
  if (!byoc_is_ranked(x)) return byoc_infer_set_unknown(infer, 0, x->dtype, 4);
  BYOC_RETURN_IF_ERROR(need_numbers(infer));
  byoc_dim_t step, length, one = byoc_dim_constant(1);
  bool failed = false, known = byoc_infer_scalar_dim(infer, 1, &step);
  if (byoc_has_operand(node, 3)) {
    known = byoc_infer_scalar_dim(infer, 3, &length) && known;
  } else if (byoc_is_ranked(window) && window->rank == 1) {
    length = window->dims[0];
  } else {
    return byoc_infer_error(infer, "neither a window nor a frame length is given");
  }
  byoc_dim_t dims[] = {x->dims[0], one, one, byoc_dim_constant(2)};
  if (!known) {
    for (int32_t d = 1; d < 3; ++d) dims[d] = byoc_infer_unknown_dim(infer, &failed);
  } else {
    if (byoc_dim_is_constant(step) && step.constant < 1)
      return byoc_infer_error(infer, "the frame step must be at least 1");
    byoc_dim_t room = byoc_infer_dim(infer, BYOC_DIM_SUB, x->dims[1], length, &failed);
    dims[1] = byoc_infer_dim(infer, BYOC_DIM_ADD, byoc_infer_dim(infer, BYOC_DIM_FLOORDIV, room, step, &failed), one,
                             &failed);
    dims[2] = length;
    if (byoc_node_flag(node, "onesided")) {
      dims[2] = byoc_infer_dim(infer, BYOC_DIM_FLOORDIV, length, byoc_dim_constant(2), &failed);
      dims[2] = byoc_infer_dim(infer, BYOC_DIM_ADD, dims[2], one, &failed);
    }
  }
  BYOC_RETURN_IF_ERROR(byoc_infer_memory(infer, failed));
  return byoc_infer_set(infer, 0, x->dtype, 4, dims);
}

static byoc_status_t infer_stft_scratch(byoc_infer_t *infer) {
  BYOC_RETURN_IF_ERROR(infer_stft(infer));
  const byoc_node_t *node = infer->node;
  const byoc_type_t *y = node->results[SPECTRUM]->type;
  bool failed = false;
  byoc_dim_t length = byoc_infer_unknown_dim(infer, &failed);
  byoc_dim_t lines = byoc_infer_dim(infer, BYOC_DIM_MUL, y->dims[0], y->dims[1], &failed);
  BYOC_RETURN_IF_ERROR(byoc_infer_memory(infer, failed));
  if (byoc_has_operand(node, 3))
    byoc_infer_scalar_dim(infer, 3, &length);
  else
    length = node->operands[2]->type->dims[0];
  return infer_scratch(infer, length, lines);
}

static void find_stft_lines(byoc_lower_t *lower, const byoc_node_t *node, lines_t *out,
                            const byoc_loop_expr_t **out_step) {
  byoc_loop_builder_t *b = byoc_lower_builder(lower);
  const byoc_type_t *x = node->operands[0]->type;
  const byoc_loop_expr_t *one = byoc_loop_int(b, 1);
  *out_step = byoc_loop_let(b, "step", BYOC_LMAX(b, one, byoc_emit_int(lower, node, 1, 0)));
  out->length = byoc_has_operand(node, 3) ? byoc_loop_let(b, "length", byoc_emit_int(lower, node, 3, 0))
                                          : byoc_emit_dim(b, node->operands[2]->type, 0);
  out->outer = byoc_emit_dim(b, x, 0), out->extent = byoc_emit_dim(b, x, 1), out->numbers = byoc_emit_dim(b, x, 2);
  out->inner = BYOC_LADD(b, BYOC_LDIV(b, BYOC_LSUB(b, out->extent, out->length), *out_step), one); // frames
  out->bins = byoc_node_flag(node, "onesided") ? byoc_fourier_half(b, out->length) : out->length;
}

static const byoc_loop_expr_t *shape_stft(byoc_lower_t *lower, const byoc_node_t *node, uint32_t result, int32_t d) {
  byoc_loop_builder_t *b = byoc_lower_builder(lower);
  const byoc_loop_expr_t *step;
  lines_t lines;
  find_stft_lines(lower, node, &lines, &step);
  if (result == ROOM) return byoc_fourier_scratch(b, lines.length, BYOC_LMUL(b, lines.outer, lines.inner));
  if (result == TABLES) return byoc_fourier_tables(b, lines.length);
  return d == 2 ? lines.bins : lines.inner;
}

// The points of a frame, times the window. Points outside of the window or the signal are 0.
static void load_frame(const spectrum_t *s, const byoc_loop_expr_t *base, const byoc_loop_expr_t *batch,
                       const byoc_loop_expr_t *begin) {
  byoc_loop_builder_t *b = s->f.b;
  const bool has_window = byoc_has_operand(s->node, 2);
  const byoc_loop_expr_t *used = BYOC_LMIN(b, s->f.length, BYOC_LSUB(b, s->lines.extent, begin)), *part[2];
  if (has_window) used = BYOC_LMIN(b, used, byoc_emit_dim(b, s->node->operands[2]->type, 0));
  used = byoc_loop_let(b, "used", used);
  const byoc_loop_expr_t *first = byoc_loop_let(b, "first", BYOC_LADD(b, BYOC_LMUL(b, batch, s->lines.extent), begin));
  const byoc_loop_expr_t *k = byoc_loop_for(b, BYOC_LOOP_VECTOR, "k", byoc_loop_int(b, 0), used);
  for (int i = 0; i < 2; ++i) {
    part[i] = load_part(s, BYOC_LMUL(b, BYOC_LADD(b, first, k), s->lines.numbers), i, NULL);
    if (!has_window) continue;
    part[i] = BYOC_LMUL(b, part[i], byoc_emit_as(b, BYOC_DTYPE_F64, byoc_emit_load(s->lower, s->node, 2, &k)));
  }
  store_point(s, base, k, part);
  byoc_loop_end(b);
  fill_rest(s, base, used);
}

static byoc_status_t loops_stft(byoc_lower_t *lower, const byoc_node_t *node) {
  byoc_loop_builder_t *b = byoc_lower_builder(lower);
  const byoc_loop_expr_t *step, *base, *one = byoc_loop_int(b, 1);
  spectrum_t s = {.node = node};
  if (!find_buffers(&s, lower, node)) return BYOC_UNSUPPORTED;
  find_stft_lines(lower, node, &s.lines, &step);
  const byoc_loop_expr_t *frames = byoc_emit_dim(b, node->results[SPECTRUM]->type, 1);
  const byoc_loop_expr_t *at = open_lines(&s, BYOC_LMUL(b, s.lines.outer, frames), &base);
  const byoc_loop_expr_t *batch = BYOC_LDIV(b, at, frames), *frame = BYOC_LMOD(b, at, frames);
  load_frame(&s, base, batch, byoc_loop_let(b, "begin", BYOC_LMUL(b, frame, step)));
  s.lines.inner = one; // the frames follow each other
  store_line(&s, byoc_fourier_transform(&s.f, base), (const byoc_loop_expr_t *[]){at, byoc_loop_int(b, 0)});
  byoc_emit_close(b, 2);
  return BYOC_OK;
}

static byoc_status_t expand_stft(byoc_node_t *node, byoc_diag_t *diag, bool *out_changed) {
  *out_changed = false;
  byoc_writer_t w = {.node = node, .diag = diag};
  const byoc_attribute_t attribute = byoc_write_int("onesided", byoc_node_flag(node, "onesided"));
  byoc_node_t *made = byoc_write_many(&w, "byoc", "STFT", node->operands, node->operand_count, RESULTS, &attribute, 1);
  return byoc_write_end(&w, made ? made->results[SPECTRUM] : NULL, out_changed);
}

static const byoc_op_attribute_t dft_attributes[] = {
    {BYOC_ATTR_INT("axis", 1), .until = 20},
    {BYOC_ATTR_INT("inverse", 0)},
    {BYOC_ATTR_INT("onesided", 0)},
    BYOC_ATTR_END,
};
static const byoc_op_attribute_t stft_attributes[] = {
    {BYOC_ATTR_INT("onesided", 1)},
    BYOC_ATTR_END,
};

#define HEAD(op_domain, op_name, version, least, most, results, mask, function)                                        \
  .domain = op_domain, .name = #op_name, .since_version = version, .min_inputs = least, .max_inputs = most,            \
  .min_outputs = results, .max_outputs = results, .attributes = function##_attributes, .shape_operands = mask,         \
  .shape_elements = mask, .shape = shape_##function
#define DFT_OPERANDS  (1u << 1 | 1u << 2)
#define STFT_OPERANDS (1u << 1 | 1u << 3)

const byoc_op_t byoc_ops_spectrum[] = {
    {HEAD("", DFT, 17, 1, 2, 1, 1u << 1, dft), .traits = BYOC_OP_LIMITS, .infer = infer_dft, .expand = expand_dft},
    {HEAD("", DFT, 20, 1, 3, 1, DFT_OPERANDS, dft), .traits = BYOC_OP_LIMITS, .infer = infer_dft, .expand = expand_dft},
    {HEAD("", STFT, 17, 2, 4, 1, STFT_OPERANDS, stft), .traits = BYOC_OP_LIMITS, .infer = infer_stft,
     .expand = expand_stft},
    {HEAD("byoc", DFT, 1, 1, 3, RESULTS, DFT_OPERANDS, dft), .traits = BYOC_OP_HEAVY | BYOC_OP_OPAQUE | BYOC_OP_LIMITS,
     .infer = infer_dft_scratch, .loops = loops_dft, .scratch_results = 1u << ROOM | 1u << TABLES},
    {HEAD("byoc", STFT, 1, 2, 4, RESULTS, STFT_OPERANDS, stft),
     .traits = BYOC_OP_HEAVY | BYOC_OP_OPAQUE | BYOC_OP_LIMITS, .infer = infer_stft_scratch, .loops = loops_stft,
     .scratch_results = 1u << ROOM | 1u << TABLES},
};
const size_t byoc_ops_spectrum_count = sizeof byoc_ops_spectrum / sizeof *byoc_ops_spectrum;
