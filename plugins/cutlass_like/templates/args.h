// What the functions of a product work on.
typedef struct FN(args_t) {
  const float *input, *weights, *bias, *residual;
  float *output, *workspace;
  int64_t shares;
#if IS_OPEN
  int64_t items;                        // units of work
  int64_t row_panels, low, high_panels; // gemm_open_rows.h: panels, rows of a low one, how many are one row higher
#endif
} FN(args_t);
