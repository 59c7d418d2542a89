// SPDX-License-Identifier: Apache-2.0
// problem.h - what a generated function computes (problem) and how (plan).
//
// Example:
//   byoc_cutlass_plan_t plan;
//   byoc_cutlass_plan_default(&problem, BYOC_CUTLASS_ISA_AVX512, 16, true, &plan);
//   float *packed = malloc(byoc_cutlass_packed_floats(&problem, &plan) * sizeof(float));
//   byoc_cutlass_pack_weights(&problem, &plan, weights, packed);
//   byoc_cutlass_emit_prelude(&text, plan.isa);
//   byoc_cutlass_emit(&text, &problem, &plan, "conv_0");
//
// Data are f32, or bytes if a problem says how its words are made (words.h). Nothing here depends on the host or on
// global state; any thread may call it.
#ifndef BYOC_CUTLASS_PROBLEM_H_
#define BYOC_CUTLASS_PROBLEM_H_

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "byoc/dtype.h"
#include "isa.h"
#include "text.h"

static inline int64_t byoc_cutlass_ceil_div(int64_t a, int64_t b) {
  return (a + b - 1) / b;
}

// How wide the panel is that starts `left` columns before the end: its remainder is rounded up to `unit`.
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

// What happens to a sum before it is stored: sum * alpha, + bias, + residual * beta, activation; the residual comes
// after the activation where residual_last is set.
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

// How an open axis is padded where that depends on its size: the larger half of the padding behind it, or in front.
enum { BYOC_CUTLASS_SAME_NONE, BYOC_CUTLASS_SAME_UPPER, BYOC_CUTLASS_SAME_LOWER };

// Convolution, NCHW or blocked. in and out count channels of one group; those of a blocked tensor are whole blocks.
typedef struct byoc_cutlass_conv_t {
  int64_t batch, groups, in, out;
  int64_t in_h, in_w, out_h, out_w;
  int64_t kernel_h, kernel_w, stride_h, stride_w, dilation_h, dilation_w;
  int64_t pad_top, pad_left; // bottom and right follow from the output size
  bool in_blocked;
  bool out_blocked;    // the residual too
  bool open_batch;     // the number of images is that of each call; batch is 1, and so is what the code is planned for
  bool open_h, open_w; // heights or widths are those of each call, as the batch is then; here is what is planned for
  uint32_t same;       // BYOC_CUTLASS_SAME_*: how open axes with a stride above 1 are padded
} byoc_cutlass_conv_t;

enum { BYOC_CUTLASS_MAX_BATCH_RANK = 6 };

// Matrix products C[batch...][m][n] = op(A)[m][k] * op(B)[k][n]. A batch dimension of 1 in A or B is repeated.
typedef struct byoc_cutlass_gemm_t {
  int64_t m, n, k;
  bool transpose_a; // A is stored [k][m]
  bool transpose_b; // B is stored [n][k]
  bool constant_b;  // B is known when the model is built
  bool open_rows;   // the number of rows is that of each call; m is what it is planned for
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
  bool open;                // batch and lengths are those of each call; here they are what the code is planned for
  bool causal;              // query i attends to keys 0 to past + i
  bool has_mask;
  bool mask_axes[4]; // the mask has the batches, heads, queries, keys of the scores; where it has not, it is repeated
  float scale;
} byoc_cutlass_attention_t;

// byoc::PackedMatMul: C[rows][columns] = A[rows][depth] * B, whose numbers have `bits` bits and a scale for each
// `block` of a column. templates/bits.h says how they lie.
enum { BYOC_CUTLASS_ZEROS_NONE, BYOC_CUTLASS_ZEROS_OF_WORDS, BYOC_CUTLASS_ZEROS_OF_FLOATS };
typedef struct byoc_cutlass_bits_t {
  int64_t rows, columns, depth;
  int64_t block, bits;
  uint32_t zeros; // BYOC_CUTLASS_ZEROS_*
  int64_t zero;   // the zero point of all numbers if they have none of their own
  bool rounds;    // A is rounded to bytes, a scale for each block of a row
  bool open_rows; // the number of rows is that of each call; `rows` is what it is planned for
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

// What a product of words is besides its shape.
typedef struct byoc_cutlass_words_t {
  uint32_t dot;
  uint32_t data, result; // BYOC_DTYPE_*; f32 data become bytes at run time, with a scale for each image or row
  bool reads_zero;       // the data's zero point is an input
  bool reads_factor;     // a factor of every sum is an input
  int32_t zero;          // the data's zero point where it is known, as the model writes it
  // Bytes as results: round(sum / scale) + zero, between low and high.
  float result_scale, result_zero, low, high;
  // Bytes added to such bytes: (own - own_zero) * own_scale + (residual - other_zero) * other_scale, made bytes again.
  bool joins;
  bool joins_relu;   // of the sum
  uint32_t residual; // BYOC_DTYPE_*
  float own_zero, own_scale, other_zero, other_scale;
  float joined_scale, joined_zero, joined_low, joined_high;
} byoc_cutlass_words_t;

typedef struct byoc_cutlass_problem_t {
  uint32_t kind;
  byoc_cutlass_conv_t conv;
  byoc_cutlass_gemm_t gemm;
  byoc_cutlass_attention_t attention;
  byoc_cutlass_bits_t bits;
  byoc_cutlass_epilogue_t epilogue;
  byoc_cutlass_inputs_t inputs;
  byoc_cutlass_words_t words;
} byoc_cutlass_problem_t;

// Templates.
enum {
  BYOC_CUTLASS_FORM_IMPLICIT_GEMM, // conv.h
  BYOC_CUTLASS_FORM_DEPTHWISE,     // depthwise.h
  BYOC_CUTLASS_FORM_WEIGHTS,       // gemm_weights.h
  BYOC_CUTLASS_FORM_GEMM,          // gemm.h
  BYOC_CUTLASS_FORM_DOT,           // dot.h
  BYOC_CUTLASS_FORM_WINOGRAD,      // winograd.h
  BYOC_CUTLASS_FORM_FEW_ROWS,      // gemm_few_rows.h
  BYOC_CUTLASS_FORM_DIRECT,        // direct.h
  BYOC_CUTLASS_FORM_ATTENTION,     // attention.h
  BYOC_CUTLASS_FORM_WORDS,         // words_conv.h, words_gemm.h
  BYOC_CUTLASS_FORM_BITS,          // bits.h
};

// One way to compute a problem.
typedef struct byoc_cutlass_plan_t {
  byoc_cutlass_isa_t isa;
  uint32_t form;        // which template
  bool transposed;      // implicit_gemm: lanes are channels instead of pixels
  bool direct;          // the moving operand is read in place instead of being copied to panels
  int32_t rows;         // of a register tile; direct: pixels of a tile along a row of the output
  int32_t lines;        // direct: rows of the output in a tile
  int32_t vectors;      // columns of a register tile, in vectors
  int32_t block_depth;  // terms summed between two visits of the result; attention: keys
  int32_t block_panels; // panels of the moving operand in the cache at once; winograd: rows of squares, or squares
                        // where sizes are open; direct:
                        // rows of tiles, or tiles where pixels are counted through
  int32_t pass_panels;  // winograd: panels of weights multiplied in one pass over the patches
  int32_t streams;      // few_rows: parts of a panel's depth read side by side
  int32_t edge;         // winograd: outputs along a side of a square, 2 or 4
  int32_t slots;        // shares at most
} byoc_cutlass_plan_t;

// What a share has to do at least to be worth starting, two microseconds of work: multiply-add operations.
enum { BYOC_CUTLASS_SHARE_MACS = 120000, BYOC_CUTLASS_SHARE_MACS_OF_WORDS = 300000 };

// The rows that a product is planned for whose number of rows is open.
enum { BYOC_CUTLASS_OPEN_ROWS = 128 };

// The keys that attention is planned for whose length is open.
enum { BYOC_CUTLASS_OPEN_KEYS = 512 };

// True if the amount of work is known at run time only.
bool byoc_cutlass_is_open(const byoc_cutlass_problem_t *problem);

// True if a convolution's heights or widths are known at run time only.
static inline bool byoc_cutlass_open_sizes(const byoc_cutlass_problem_t *problem) {
  return problem->kind == BYOC_CUTLASS_CONV && (problem->conv.open_h || problem->conv.open_w);
}

// The rows and columns of a result that a convolution is planned for whose pictures have an open size: networks make
// them smaller where there are more channels.
int64_t byoc_cutlass_open_size(int64_t in, int64_t out);

// Multiply-add operations of one run; of what is planned for where sizes are open.
int64_t byoc_cutlass_macs(const byoc_cutlass_problem_t *problem);

// The number of matrices of a matrix product.
int64_t byoc_cutlass_batch(const byoc_cutlass_gemm_t *gemm);

// Matrices of B: repeated ones count once.
int64_t byoc_cutlass_weight_matrices(const byoc_cutlass_gemm_t *gemm);

// True if an operand that is otherwise copied lies in memory as the templates can read it: pixels of a 1x1 convolution,
// B's rows, rows of A if B is constant.
bool byoc_cutlass_may_read_in_place(const byoc_cutlass_problem_t *problem);

// True if a template exists for the layouts of a convolution's tensors.
bool byoc_cutlass_takes_layouts(const byoc_cutlass_conv_t *conv);

// The plan that needs no measuring. `winograd`: whether Winograd's algorithm is allowed.
void byoc_cutlass_plan_default(const byoc_cutlass_problem_t *problem, byoc_cutlass_isa_t isa, int32_t slots,
                               bool winograd, byoc_cutlass_plan_t *out_plan);

// Up to `capacity` plans, the default first, without duplicates, most promising first. Returns how many.
size_t byoc_cutlass_plan_candidates(const byoc_cutlass_problem_t *problem, byoc_cutlass_isa_t isa, int32_t slots,
                                    bool winograd, byoc_cutlass_plan_t *plans, size_t capacity);

// The rows of a tile, at most `most`, chosen so that the last panel is nearly as full as the others.
int32_t byoc_cutlass_even_rows(int64_t total, int32_t most);

// The same, but a divisor of the total if one is near `most` and not below `least`, so that no lower tile is left over.
int32_t byoc_cutlass_tile_rows(int64_t total, int32_t most, int32_t least);

// The multiply-adds of a share that is worth starting.
int64_t byoc_cutlass_share_macs(const byoc_cutlass_problem_t *problem, const byoc_cutlass_plan_t *plan);

// The largest number of shares that a run is split into; the workspace has room for as many.
int32_t byoc_cutlass_shares(const byoc_cutlass_problem_t *problem, const byoc_cutlass_plan_t *plan);
// Threads that are done go on with what is left of the others' shares (templates/item_shares.h).
bool byoc_cutlass_takes_pieces(const byoc_cutlass_problem_t *problem, const byoc_cutlass_plan_t *plan);

// Bytes of scratch memory that the function needs.
uint64_t byoc_cutlass_workspace_bytes(const byoc_cutlass_problem_t *problem, const byoc_cutlass_plan_t *plan);

// Floats (or words) of the packed weights; 0 if the model computes the weights.
size_t byoc_cutlass_packed_floats(const byoc_cutlass_problem_t *problem, const byoc_cutlass_plan_t *plan);

// Packs weights as the plan's template reads them. `weights` as ONNX stores them: [groups *
// out][in][kernel_h][kernel_w] or [batch...][k][n] ([n][k] with transpose_b).
void byoc_cutlass_pack_weights(const byoc_cutlass_problem_t *problem, const byoc_cutlass_plan_t *plan,
                               const float *weights, float *packed);

// The head of a translation unit: includes, vectors, activations.
void byoc_cutlass_emit_prelude(byoc_cutlass_text_t *text, byoc_cutlass_isa_t isa);

// One packed function named `symbol`, with everything that it needs.
void byoc_cutlass_emit(byoc_cutlass_text_t *text, const byoc_cutlass_problem_t *problem,
                       const byoc_cutlass_plan_t *plan, const char *symbol);

#endif // BYOC_CUTLASS_PROBLEM_H_
