// SPDX-License-Identifier: Apache-2.0
// problem.h - the problem that a generated function solves.
//
// Example:
//   problem = (byoc_cutlass_problem_t){.kind = BYOC_CUTLASS_GEMM, .gemm = {.m = 8, .n = 64, .k = 32}};
//   byoc_cutlass_plan_t plan;
//   byoc_cutlass_plan_default(&problem, BYOC_CUTLASS_ISA_AVX512, 16, true, &plan); // plan/plan.h
//   float *packed = malloc(byoc_cutlass_packed_floats(&problem, &plan) * sizeof(float)); // pack/pack.h
//   byoc_cutlass_pack_weights(&problem, &plan, weights, packed);
//   byoc_cutlass_emit_prelude(&text, plan.isa); // emit/emit.h
//   byoc_cutlass_emit(&text, &problem, &plan, "gemm_0");
//
// Data are f32, f16 or bf16, or bytes if a problem says how its words are made (plan/plan_words.h). No function of
// problem, plan, pack and emit depends on the host or on global state; any thread may call it.
#ifndef BYOC_CUTLASS_PROBLEM_H_
#define BYOC_CUTLASS_PROBLEM_H_

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "byoc/dtype.h"
#include "problem/isa.h"

static inline int64_t byoc_cutlass_ceil_div(int64_t a, int64_t b) {
  return (a + b - 1) / b;
}

// The width of the panel that starts `left` columns before the end: the last one is rounded up to a multiple of `unit`.
static inline int64_t byoc_cutlass_panel_width(int64_t left, int64_t panel, int64_t unit) {
  return left >= panel ? panel : byoc_cutlass_ceil_div(left, unit) * unit;
}

// Activations; parameters in the order of the epilogue's p0 and p1.
enum {
  BYOC_CUTLASS_ACT_NONE,
  BYOC_CUTLASS_ACT_RELU,
  BYOC_CUTLASS_ACT_LEAKY_RELU, // slope
  BYOC_CUTLASS_ACT_CLIP,       // low, high
  BYOC_CUTLASS_ACT_SIGMOID,
  BYOC_CUTLASS_ACT_TANH,
  BYOC_CUTLASS_ACT_GELU,         // by erf
  BYOC_CUTLASS_ACT_GELU_TANH,    // by tanh
  BYOC_CUTLASS_ACT_HARD_SIGMOID, // alpha, beta
  BYOC_CUTLASS_ACT_HARD_SWISH,
  BYOC_CUTLASS_ACT_SILU,
  BYOC_CUTLASS_ACT_COUNT
};

// The operations on a sum before it is stored: sum * alpha, + bias, + residual * beta, activation. With residual_last
// the residual comes after the activation.
typedef struct byoc_cutlass_epilogue_t {
  float alpha;
  float beta;
  bool has_bias;     // one float per channel (convolution) or per column (matrix product)
  bool has_residual; // shaped like the result
  bool residual_last;
  uint32_t activation;
  float p0, p1;
} byoc_cutlass_epilogue_t;

// Channels of a block: a blocked tensor is [batch][channels / 16][height][width][16].
enum { BYOC_CUTLASS_BLOCK = 16 };

// Padding of a dynamic axis that depends on its size: the larger half is behind the axis, or in front of it.
enum { BYOC_CUTLASS_SAME_NONE, BYOC_CUTLASS_SAME_UPPER, BYOC_CUTLASS_SAME_LOWER };

// Convolution, NCHW or blocked. in and out count channels of one group; those of a blocked tensor are whole blocks.
typedef struct byoc_cutlass_conv_t {
  int64_t batch, groups, in, out;
  int64_t in_h, in_w, out_h, out_w;
  int64_t kernel_h, kernel_w, stride_h, stride_w, dilation_h, dilation_w;
  int64_t pad_top, pad_left; // bottom and right follow from the output size
  bool in_blocked;
  bool out_blocked;    // the residual too
  bool open_batch;     // each call brings the number of images; batch is 1, for which the code is planned
  bool open_h, open_w; // each call brings heights or widths, and the batch; these are planned for
  uint32_t same;       // BYOC_CUTLASS_SAME_*: how open axes with a stride above 1 are padded
} byoc_cutlass_conv_t;

enum { BYOC_CUTLASS_MAX_BATCH_RANK = 6 };

// Matrix products C[batch...][m][n] = op(A)[m][k] * op(B)[k][n]. A batch dimension of 1 in A or B is repeated.
typedef struct byoc_cutlass_gemm_t {
  int64_t m, n, k;
  bool transpose_a; // A is stored [k][m]
  bool transpose_b; // B is stored [n][k]
  bool constant_b;  // B is known when the model is built
  bool open_rows;   // each call brings the number of rows; m is planned for
  uint32_t batch_rank;
  int64_t batch[BYOC_CUTLASS_MAX_BATCH_RANK]; // of the result
  bool repeat_a[BYOC_CUTLASS_MAX_BATCH_RANK]; // A has 1 there
  bool repeat_b[BYOC_CUTLASS_MAX_BATCH_RANK];
} byoc_cutlass_gemm_t;

// softmax(Q * K transposed * scale + mask) * V, head by head. kv_heads divides heads: several heads of queries share
// one of keys and values. The first `past` keys and values are inputs of their own, [batch][kv_heads][past][size]; all
// of them are results then, [batch][kv_heads][keys][size].
typedef struct byoc_cutlass_attention_t {
  int64_t batch, heads, kv_heads, queries, keys, past;
  int64_t size, value_size; // of one head of queries and keys, of values
  bool flat;                // operands and result lie [batch][length][heads * size], else [batch][heads][length][size]
  bool open;                // each call brings batch and lengths; these are planned for
  bool causal;              // query i attends to keys 0 to past + i
  bool has_mask;
  bool mask_axes[4]; // the mask has batches, heads, queries, keys of its own; along the others it is broadcast
  float scale;
} byoc_cutlass_attention_t;

// byoc::PackedMatMul: C[rows][columns] = A[rows][depth] * B, whose numbers have `bits` bits and a scale for each
// `block` of a column. templates/matmul/bits.h says how they lie.
enum { BYOC_CUTLASS_ZEROS_NONE, BYOC_CUTLASS_ZEROS_OF_WORDS, BYOC_CUTLASS_ZEROS_OF_FLOATS };
typedef struct byoc_cutlass_bits_t {
  int64_t rows, columns, depth;
  int64_t block, bits;
  uint32_t zeros; // BYOC_CUTLASS_ZEROS_*
  int64_t zero;   // the zero point of all numbers if they have none of their own
  bool rounds;    // A is rounded to bytes, a scale for each block of a row
  bool open_rows; // each call brings the number of rows; `rows` is planned for
} byoc_cutlass_bits_t;

enum { BYOC_CUTLASS_CONV, BYOC_CUTLASS_GEMM, BYOC_CUTLASS_ATTENTION, BYOC_CUTLASS_BITS };

// Inputs of the packed function, as indices into call->tensors; outputs follow at call->input_count. Attention has
// queries, keys, values and mask instead of data, weights, bias and residual.
typedef struct byoc_cutlass_inputs_t {
  uint32_t data, weights, bias, residual;
  uint32_t zero, factor;           // words only: the data's zero point, a factor of every sum
  uint32_t past_keys, past_values; // of attention
  uint32_t scales, zeros;          // of weights of few bits
} byoc_cutlass_inputs_t;

// The properties of a product of words, besides its shape.
typedef struct byoc_cutlass_words_t {
  uint32_t dot;
  bool amx;              // by tiles (templates/amx): the dot is I8X4 or BF16X2
  bool unsigned_weights; // of tiles: they are 0 to 255 less their zero points, and not -128 to 127
  uint32_t data, result; // BYOC_DTYPE_*; f32 data become bytes at run time, with a scale for each image or row
  bool reads_zero;       // the data's zero point is an input
  bool reads_factor;     // a factor of every sum is an input
  int32_t zero;          // the data's zero point where it is known, as the model writes it
  // Bytes as results: round(sum / scale) + zero, between low and high.
  float result_scale, result_zero, low, high;
  // Bytes added to such bytes: (own - own_zero) * own_scale + (residual - other_zero) * other_scale + joined_shift,
  // made bytes again.
  bool joins;
  bool joins_relu;   // of the sum
  uint32_t residual; // BYOC_DTYPE_*
  float own_zero, own_scale, other_zero, other_scale, joined_shift;
  float joined_scale, joined_zero, joined_low, joined_high;
} byoc_cutlass_words_t;

// Element types of a problem's tensors: BYOC_DTYPE_*, where 0 means f32. Biases are f32, and sums too. `weights` is the
// other matrix if both are computed. Tensors of attention all have the type of its data, except for the mask
// (`residual`).
typedef struct byoc_cutlass_types_t {
  uint32_t data, weights, residual, result;
} byoc_cutlass_types_t;

typedef struct byoc_cutlass_problem_t {
  uint32_t kind;
  byoc_cutlass_types_t types;
  byoc_cutlass_conv_t conv;
  byoc_cutlass_gemm_t gemm;
  byoc_cutlass_attention_t attention;
  byoc_cutlass_bits_t bits;
  byoc_cutlass_epilogue_t epilogue;
  byoc_cutlass_inputs_t inputs;
  byoc_cutlass_words_t words;
} byoc_cutlass_problem_t;

// The planned number of rows of a product whose number of rows is dynamic.
enum { BYOC_CUTLASS_OPEN_ROWS = 128 };

// The planned number of keys of attention whose length is dynamic.
enum { BYOC_CUTLASS_OPEN_KEYS = 512 };

// True for f16 and bf16.
static inline bool byoc_cutlass_is_half(uint32_t type) {
  return type == BYOC_DTYPE_F16 || type == BYOC_DTYPE_BF16;
}

// Bytes of an element.
static inline int64_t byoc_cutlass_type_bytes(uint32_t type) {
  return byoc_cutlass_is_half(type) ? 2 : 4;
}

// True if some tensor is not f32.
bool byoc_cutlass_has_half(const byoc_cutlass_problem_t *problem);

// True if the amount of work is known at run time only.
bool byoc_cutlass_is_open(const byoc_cutlass_problem_t *problem);

// True if a convolution's heights or widths are known at run time only.
static inline bool byoc_cutlass_open_sizes(const byoc_cutlass_problem_t *problem) {
  return problem->kind == BYOC_CUTLASS_CONV && (problem->conv.open_h || problem->conv.open_w);
}

// True for a depthwise convolution on words, which hold taps instead of channels.
static inline bool byoc_cutlass_words_depthwise(const byoc_cutlass_problem_t *problem) {
  return problem->kind == BYOC_CUTLASS_CONV && problem->words.dot && problem->conv.groups > 1 && problem->conv.in == 1;
}

// The planned height or width of the result of a convolution whose images have a dynamic size: networks use smaller
// images where there are more channels.
int64_t byoc_cutlass_open_size(int64_t in, int64_t out);

// Multiply-add operations of one run, for the planned sizes.
int64_t byoc_cutlass_macs(const byoc_cutlass_problem_t *problem);

// The number of matrices of a matrix product.
int64_t byoc_cutlass_batch(const byoc_cutlass_gemm_t *gemm);

// Matrices of A, and of B: repeated ones count once.
int64_t byoc_cutlass_data_matrices(const byoc_cutlass_gemm_t *gemm);
int64_t byoc_cutlass_weight_matrices(const byoc_cutlass_gemm_t *gemm);

// True if an operand that is otherwise copied lies in memory as the templates can read it: pixels of a 1x1 convolution,
// B's rows, rows of A if B is constant.
bool byoc_cutlass_may_read_in_place(const byoc_cutlass_problem_t *problem);

// True if a template exists for the layouts of a convolution's tensors.
bool byoc_cutlass_takes_layouts(const byoc_cutlass_conv_t *conv);

// The rows of a tile, at most `most`, chosen so that the last panel is nearly as full as the others.
int32_t byoc_cutlass_even_rows(int64_t total, int32_t most);

// The same, but a divisor of the total if one is near `most` and not below `least`, so that no lower tile is left over.
int32_t byoc_cutlass_tile_rows(int64_t total, int32_t most, int32_t least);

#endif // BYOC_CUTLASS_PROBLEM_H_
