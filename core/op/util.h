// SPDX-License-Identifier: Apache-2.0
// Shared by the operator families: reading operands and attributes, making result types with symbolic dimensions, and
// the short forms in which point and loops functions are written.
#ifndef BYOC_CORE_OP_UTIL_H_
#define BYOC_CORE_OP_UTIL_H_

#include "core/op/limit.h"
#include "core/op/op.h"
#include "core/op/relation.h"

// ---- messages ----
#define BYOC_TYPE_TEXT_SIZE 128
// Prints the type to `buffer`, cut if it is longer; returns `buffer`.
const char *byoc_type_text(const byoc_type_t *type, char buffer[BYOC_TYPE_TEXT_SIZE]);
// Records "Conv 'conv1' (ai.onnx 11): " and the message.
byoc_status_t byoc_infer_error(const byoc_infer_t *infer, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
byoc_status_t byoc_infer_unsupported(const byoc_infer_t *infer, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

// ---- operands ----
static inline bool byoc_has_operand(const byoc_node_t *node, uint32_t index) {
  return index < node->operand_count && node->operands[index] != NULL;
}
static inline bool byoc_has_result(const byoc_node_t *node, uint32_t index) {
  return index < node->result_count;
}
// Does every element of the value, a constant of integers, equal this one? NULL means zeros, as a missing zero point
// does.
bool byoc_all_are(const byoc_value_t *value, int64_t expected);
static inline const byoc_type_t *byoc_operand_type(const byoc_node_t *node, uint32_t index) {
  return byoc_has_operand(node, index) ? node->operands[index]->type : NULL;
}
static inline bool byoc_is_ranked(const byoc_type_t *type) {
  return byoc_type_is_tensor(type) && type->rank != BYOC_RANK_UNKNOWN;
}
bool byoc_dtype_is_float(byoc_dtype_t dtype);     // f16, bf16, f32, f64
bool byoc_dtype_is_integer(byoc_dtype_t dtype);   // 8 to 64 bits
bool byoc_dtype_is_number(byoc_dtype_t dtype);    // either
bool byoc_dtype_is_value(byoc_dtype_t dtype);     // all but strings, which loops only move
bool byoc_dtype_is_byte(byoc_dtype_t dtype);      // i8, u8
bool byoc_dtype_is_word(byoc_dtype_t dtype);      // i16, u16
bool byoc_dtype_is_few_bits(byoc_dtype_t dtype);  // i2, u2, i4, u4
bool byoc_dtype_is_quantised(byoc_dtype_t dtype); // the types that QuantizeLinear makes
// Tests the element type of an operand.
typedef bool (*byoc_dtype_predicate_t)(byoc_dtype_t dtype);
// Operand `index` must be a tensor whose element type passes; `what` names the expectation ("a float tensor").
byoc_status_t byoc_infer_need(const byoc_infer_t *infer, uint32_t index, byoc_dtype_predicate_t passes,
                              const char *what);
// Operand `index`, if it is ranked, must have a rank in [least, most].
byoc_status_t byoc_infer_need_rank(const byoc_infer_t *infer, uint32_t index, int32_t least, int32_t most);
// Operands `index` and 0 must have one element type.
byoc_status_t byoc_infer_need_same(const byoc_infer_t *infer, uint32_t index);
// Dimension d of operand `index`, which must exist, must be `expected`; if one of them is open, this is checked at run
// time.
byoc_status_t byoc_infer_need_dim(const byoc_infer_t *infer, uint32_t index, int32_t d, byoc_dim_t expected);
// Operand `index`, if it is given and ranked, must have the rank and the dimensions.
byoc_status_t byoc_infer_need_dims(const byoc_infer_t *infer, uint32_t index, int32_t rank, const byoc_dim_t *dims);
// Operand `index`, if it is given and ranked, must broadcast to the dimensions: its rank is at most `rank`, and each of
// its dimensions is 1 or theirs.
byoc_status_t byoc_infer_need_broadcast(const byoc_infer_t *infer, uint32_t index, int32_t rank,
                                        const byoc_dim_t *dims);
// Operand `index`, if it is ranked, must have this number of elements.
byoc_status_t byoc_infer_need_count(const byoc_infer_t *infer, uint32_t index, byoc_side_t count);
// Operand `index` must not be empty in its dimension d unless `wanted` is 0.
byoc_status_t byoc_infer_need_some(const byoc_infer_t *infer, uint32_t index, int32_t d, byoc_dim_t wanted);
// Dimension d of operand `index` must be a multiple of a number that is at least 1.
byoc_status_t byoc_infer_need_multiple(const byoc_infer_t *infer, uint32_t index, int32_t d, int64_t number);
// Dimension d of a result is `dim`, which must not be negative; an open one is checked at run time.
byoc_status_t byoc_infer_need_size(const byoc_infer_t *infer, int32_t d, byoc_dim_t dim);
// Operand `index`, if it is given, must be a list of `count` integers.
byoc_status_t byoc_infer_need_list(const byoc_infer_t *infer, uint32_t index, int64_t count);
// Operand `index`, if it is given, must hold one number; it may have any rank.
byoc_status_t byoc_infer_need_one(const byoc_infer_t *infer, uint32_t index);
// Operand `index` becomes a parameter of type `type` in a nested block: kinds, element types, ranks and constant
// dimensions must not contradict each other. The first `cut` dimensions of a tensor stay outside; which axes these are
// is not known here, so that only ranks are compared.
byoc_status_t byoc_infer_need_fit(const byoc_infer_t *infer, uint32_t index, const byoc_type_t *type, int32_t cut);

// ---- integers known when compiling: an attribute or a constant operand ----
#define BYOC_MAX_INTS 64
typedef struct byoc_ints_t {
  size_t count;
  int64_t values[BYOC_MAX_INTS];
} byoc_ints_t;
typedef enum byoc_known_t {
  BYOC_KNOWN_ABSENT, // neither given
  BYOC_KNOWN_YES,    // in *out_ints
  BYOC_KNOWN_NO,     // given by an operand that is not constant (or has too many elements)
} byoc_known_t;
// The attribute `name` (an int counts as a list of one), else operand `operand`. Either may be absent: NULL, -1.
byoc_known_t byoc_read_ints(const byoc_node_t *node, const char *name, int32_t operand, byoc_ints_t *out_ints);
// Brings a negative axis into [0, rank); false if it is out of range.
bool byoc_normalize_axis(int64_t axis, int64_t rank, int32_t *out_axis);
// Attribute `name` normalised by `rank`, with an error that names it.
byoc_status_t byoc_infer_axis(const byoc_infer_t *infer, const char *name, int64_t rank, int32_t *out_axis);
// For lowering, after inference has accepted the axis.
int32_t byoc_node_axis(const byoc_node_t *node, const char *name, int64_t rank);
// The elements of an i64 value of rank 0 or 1 as dimensions, if they follow from constants and shapes through
// arithmetic and through operators that pick, join, fill, compare, choose and reorder elements. False if they do not.
bool byoc_shape_value(const byoc_value_t *value, byoc_arena_t *arena, int32_t *out_count,
                      byoc_dim_t out_dims[BYOC_MAX_RANK]);
// The same where elements may be data: each of those is an unknown dimension of its own. False only if the number of
// elements is not known.
bool byoc_infer_shape_value(const byoc_infer_t *infer, const byoc_value_t *value, int32_t *out_count,
                            byoc_dim_t out_dims[BYOC_MAX_RANK], bool out_is_data[BYOC_MAX_RANK]);

// An integer operand of one element as a dimension; false if it is not known at compile time.
bool byoc_infer_scalar_dim(const byoc_infer_t *infer, uint32_t operand, byoc_dim_t *out);

// For `shape` definitions: the rank of a result of the operator.
int32_t byoc_result_rank(const byoc_node_t *node, uint32_t result);

// ---- nodes of byoc's own that inference knows ----
// The row of the operator whose results' dimensions a ResultShape computes; NULL for other nodes.
const byoc_op_t *byoc_result_shape_of(const byoc_node_t *node);

// ---- result types ----
byoc_status_t byoc_infer_set(const byoc_infer_t *infer, uint32_t result, byoc_dtype_t dtype, int32_t rank,
                             const byoc_dim_t *dims);
byoc_status_t byoc_infer_set_unranked(const byoc_infer_t *infer, uint32_t result, byoc_dtype_t dtype);
// The same for result 0 of an operator whose run makes its rank: `other` and the length of operand `list` (sum,
// difference or larger one). If the model declares a rank, it must be that one.
byoc_status_t byoc_infer_set_open_rank(const byoc_infer_t *infer, byoc_dtype_t dtype, int32_t other,
                                       byoc_dim_kind_t kind, uint32_t list);
// A tensor of rank `rank` whose dimensions are known only at run time.
byoc_status_t byoc_infer_set_unknown(const byoc_infer_t *infer, uint32_t result, byoc_dtype_t dtype, int32_t rank);
// The dimensions of `type` (ranked or not) under another element type.
byoc_status_t byoc_infer_set_like(const byoc_infer_t *infer, uint32_t result, byoc_dtype_t dtype,
                                  const byoc_type_t *type);
// The type of operand 0: the infer function of many operators.
byoc_status_t byoc_infer_same(byoc_infer_t *infer);

// Arithmetic on dimensions in the module's arena; sets *failed if out of memory.
byoc_dim_t byoc_infer_dim(const byoc_infer_t *infer, byoc_dim_kind_t kind, byoc_dim_t a, byoc_dim_t b, bool *failed);
byoc_dim_t byoc_infer_unknown_dim(const byoc_infer_t *infer, bool *failed);
// The number of elements of a ranked tensor.
byoc_dim_t byoc_infer_count(const byoc_infer_t *infer, const byoc_type_t *type, bool *failed);
// NumPy broadcasting of two dimensions; false if they clash.
bool byoc_broadcast_dim(const byoc_infer_t *infer, byoc_side_t a, byoc_side_t b, byoc_dim_t *out, bool *failed);
// Broadcasts all operands against each other into a type of `dtype` for result 0.
byoc_status_t byoc_infer_broadcast(const byoc_infer_t *infer, byoc_dtype_t dtype);
// The type of MatMul of operands 0 and `second`, for result 0; sets its element type to `dtype`.
byoc_status_t byoc_infer_product(const byoc_infer_t *infer, uint32_t second, byoc_dtype_t dtype);
static inline byoc_status_t byoc_infer_memory(const byoc_infer_t *infer, bool failed) {
  return failed ? byoc_diag_out_of_memory(infer->diag) : BYOC_OK;
}

// ---- lowering ----
// The type in which elements of `dtype` are computed: f32 for the narrow floats, else the type itself.
byoc_dtype_t byoc_compute_dtype(byoc_dtype_t dtype);
// The value converted to that type; no cast if it has the type already.
const byoc_loop_expr_t *byoc_emit_as(byoc_loop_builder_t *b, byoc_dtype_t dtype, const byoc_loop_expr_t *value);
// The number in the type of `like`. NULL if `like` is NULL, because memory ran out.
const byoc_loop_expr_t *byoc_emit_number_like(byoc_loop_builder_t *b, const byoc_loop_expr_t *like, double number);
// Is a run of that many elements faster than the same elements one by one? Unknown sizes count as long.
bool byoc_is_worth_a_run(byoc_dim_t length);
// The float clamped to [low, high]; `low` for NaN.
const byoc_loop_expr_t *byoc_emit_between(byoc_loop_builder_t *b, const byoc_loop_expr_t *value, double low,
                                          double high);
// byoc_lower_load in the compute type.
const byoc_loop_expr_t *byoc_emit_load(byoc_lower_t *lower, const byoc_node_t *node, uint32_t operand,
                                       const byoc_loop_expr_t *const *indices);
// Element 0 of an operand that is a scalar of any rank, in its compute type.
const byoc_loop_expr_t *byoc_emit_scalar(byoc_lower_t *lower, const byoc_node_t *node, uint32_t operand);
// Element `index` of an integer list operand as i64: a literal if it is constant, else a load.
const byoc_loop_expr_t *byoc_emit_int(byoc_lower_t *lower, const byoc_node_t *node, uint32_t operand, int64_t index);
// Stores a value in the result's element type.
void byoc_emit_store(byoc_lower_t *lower, const byoc_node_t *node, uint32_t result,
                     const byoc_loop_expr_t *const *indices, const byoc_loop_expr_t *value);
// The least or greatest value of an element type (infinities for floats).
const byoc_loop_expr_t *byoc_emit_lowest(byoc_loop_builder_t *b, byoc_dtype_t dtype);
const byoc_loop_expr_t *byoc_emit_highest(byoc_loop_builder_t *b, byoc_dtype_t dtype);
// Dimension d of a type, as i64.
static inline const byoc_loop_expr_t *byoc_emit_dim(byoc_loop_builder_t *b, const byoc_type_t *type, int32_t d) {
  return byoc_loop_dim(b, type->dims[d]);
}
// The product of dimensions [begin, end) of a type.
const byoc_loop_expr_t *byoc_emit_extent(byoc_loop_builder_t *b, const byoc_type_t *type, int32_t begin, int32_t end);
// Splits a linear index over dimensions [begin, end) of a type into out[begin..end).
void byoc_emit_unravel(byoc_loop_builder_t *b, const byoc_type_t *type, int32_t begin, int32_t end,
                       const byoc_loop_expr_t *linear, const byoc_loop_expr_t **out);
// Opens one loop per dimension of a type over [begin, end) of its dimensions, the first one parallel on request;
// out[begin..end) are the indices. Returns the number of loops to close with byoc_emit_close.
int32_t byoc_emit_open(byoc_loop_builder_t *b, const byoc_type_t *type, int32_t begin, int32_t end, bool parallel,
                       const byoc_loop_expr_t **out);
void byoc_emit_close(byoc_loop_builder_t *b, int32_t count);
// An index that is data, as i64: negative ones count from the end, and all are clamped to [0, extent), so that loads
// and stores stay in their buffers. byoc_infer_need_index makes a run refuse indices that would need the clamp.
const byoc_loop_expr_t *byoc_emit_index(byoc_loop_builder_t *b, const byoc_loop_expr_t *index,
                                        const byoc_loop_expr_t *extent);
// Keys' cubic filter at distance x: (a + 2) x³ - (a + 3) x² + 1 where x is at most 1 (`near`), a x³ - 5 a x² + 8 a x -
// 4 a from there to 2.
const byoc_loop_expr_t *byoc_emit_cubic(byoc_loop_builder_t *b, const byoc_loop_expr_t *x, double a, bool near);
// x as a float8. A number that is too large becomes the largest one if the conversion saturates, else infinity, or NaN
// in types without infinity.
bool byoc_dtype_is_float8(byoc_dtype_t dtype);
const byoc_loop_expr_t *byoc_emit_float8(byoc_loop_builder_t *b, byoc_dtype_t dtype, const byoc_loop_expr_t *x,
                                         bool saturate);
// a <= x && x < b
const byoc_loop_expr_t *byoc_emit_within(byoc_loop_builder_t *b, const byoc_loop_expr_t *x, const byoc_loop_expr_t *low,
                                         const byoc_loop_expr_t *high);
#define BYOC_LMIN(b, x, y) byoc_loop_binary((b), BYOC_LOOP_OP_MIN, (x), (y))
#define BYOC_LMAX(b, x, y) byoc_loop_binary((b), BYOC_LOOP_OP_MAX, (x), (y))
#define BYOC_LDIV(b, x, y) byoc_loop_binary((b), BYOC_LOOP_OP_FLOORDIV, (x), (y))
#define BYOC_LMOD(b, x, y) byoc_loop_binary((b), BYOC_LOOP_OP_MOD, (x), (y))

#endif // BYOC_CORE_OP_UTIL_H_
