// SPDX-License-Identifier: Apache-2.0
// The arguments of the functions of a product. DATA_T, WEIGHT_T, RESIDUAL_T and RESULT_T are the types of the tensors:
// float, or f16_t or bf16_t (half/half.h), where HALF_DATA, HALF_WEIGHTS and HALF_RESULT are 1. The bias is always
// float.
typedef struct FN(args_t) {
  const DATA_T *input;
  const WEIGHT_T *weights;
  const float *bias;
  const RESIDUAL_T *residual;
  RESULT_T *output;
  float *workspace;
  int64_t shares;
#if TAKES_PIECES // item_shares.h
  byoc_cutlass_part_t parts[SHARES];
#endif
#if IS_OPEN
  int64_t items;                        // units of work
  int64_t row_panels, low, high_panels; // gemm_open_rows.h: panels, rows of a low one, how many are one row higher
#endif
#if OPEN_SIZES // open_images.h: sizes of the images
  int64_t in_h, in_w, out_h, out_w, pad_top, pad_left;
#endif
} FN(args_t);
