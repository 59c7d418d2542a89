// SPDX-License-Identifier: Apache-2.0
// plan.h - the plan: how a generated function solves its problem.
//
// Example:
//   byoc_cutlass_plan_t plan;
//   byoc_cutlass_plan_default(&problem, BYOC_CUTLASS_ISA_AVX512, 16, true, &plan);
//   uint64_t bytes = byoc_cutlass_workspace_bytes(&problem, &plan);
#ifndef BYOC_CUTLASS_PLAN_H_
#define BYOC_CUTLASS_PLAN_H_

#include "problem/problem.h"

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
  BYOC_CUTLASS_FORM_WORDS,         // words_conv.h, words_gemm.h, amx_gemm.h
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

// The multiply-add operations of the smallest share that is worth starting: two microseconds of work.
enum {
  BYOC_CUTLASS_SHARE_MACS = 120000,
  BYOC_CUTLASS_SHARE_MACS_OF_WORDS = 300000,
  BYOC_CUTLASS_SHARE_MACS_OF_TILES = 1000000, // by their rates (byoc/isa.def); not measured
};

// The plan that needs no measuring. `winograd`: whether Winograd's algorithm is allowed.
void byoc_cutlass_plan_default(const byoc_cutlass_problem_t *problem, byoc_cutlass_isa_t isa, int32_t slots,
                               bool winograd, byoc_cutlass_plan_t *out_plan);

// Up to `capacity` plans, the default first, without duplicates, most promising first. Returns how many.
size_t byoc_cutlass_plan_candidates(const byoc_cutlass_problem_t *problem, byoc_cutlass_isa_t isa, int32_t slots,
                                    bool winograd, byoc_cutlass_plan_t *plans, size_t capacity);

// The multiply-adds of a share that is worth starting.
int64_t byoc_cutlass_share_macs(const byoc_cutlass_problem_t *problem, const byoc_cutlass_plan_t *plan);

// The largest number of shares that a run is split into, each the work of one thread; the workspace is large enough for
// them.
int32_t byoc_cutlass_shares(const byoc_cutlass_problem_t *problem, const byoc_cutlass_plan_t *plan);
// Threads that are done go on with what is left of the others' shares (templates/shared/item_shares.h).
bool byoc_cutlass_takes_pieces(const byoc_cutlass_problem_t *problem, const byoc_cutlass_plan_t *plan);

// Bytes of scratch memory that the function needs.
uint64_t byoc_cutlass_workspace_bytes(const byoc_cutlass_problem_t *problem, const byoc_cutlass_plan_t *plan);

// --- Shared by the files of this folder
// -------------------------------------------------------------------------------

// A plane, or a band of it, as templates/conv/depthwise.h pads it. Sizes that template and workspace agree on.
typedef struct byoc_cutlass_depthwise_t {
  int64_t band_h, band_w; // of the output
  int64_t phase_w, padded_row, padded_h;
  int64_t tail; // zeros behind the last row
} byoc_cutlass_depthwise_t;
void byoc_cutlass_depthwise_sizes(const byoc_cutlass_conv_t *conv, byoc_cutlass_isa_t isa,
                                  byoc_cutlass_depthwise_t *out_sizes);
// Each vector of the copy is loaded once for all rows that it is a tap of: vectors are long, so that loads cross cache
// lines, and the taps and rows are few enough for straight code.
bool byoc_cutlass_shares_loads(const byoc_cutlass_conv_t *conv, const byoc_cutlass_plan_t *plan);

// Parts of a share's workspace where tensors are f16 or bf16, in floats: the copied panels (of rows of A, of pixels, of
// columns of a computed B), then weights or rows that are widened, then partial sums.
typedef struct byoc_cutlass_scratch_t {
  int64_t panels, widened, partial;
  int64_t partial_panels; // panels of weights whose partial sums fit; 0: partial sums are kept in the result
} byoc_cutlass_scratch_t;
void byoc_cutlass_scratch_sizes(const byoc_cutlass_problem_t *problem, const byoc_cutlass_plan_t *plan,
                                byoc_cutlass_scratch_t *out_sizes);

// Makes blocks fit the problem and of nearly equal length.
void byoc_cutlass_plan_normalise(const byoc_cutlass_problem_t *problem, byoc_cutlass_plan_t *plan);

// Makes blocks smaller where two threads could not share them evenly.
void byoc_cutlass_plan_spread(const byoc_cutlass_problem_t *problem, byoc_cutlass_plan_t *plan);

#endif // BYOC_CUTLASS_PLAN_H_
