// SPDX-License-Identifier: Apache-2.0
// The arguments of the functions of a product.
typedef struct FN(args_t) {
  const float *input, *weights, *bias, *residual;
  float *output, *workspace;
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
