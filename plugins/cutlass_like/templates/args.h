// What the functions of a product work on.
typedef struct FN(args_t) {
  const float *input, *weights, *bias, *residual;
  float *output, *workspace;
  int64_t shares;
} FN(args_t);
