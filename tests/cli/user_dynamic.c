// SPDX-License-Identifier: Apache-2.0
// A user's program for a model whose batch is known when it runs: the generated header and -ldl.
#include <stdio.h>

#include "open.h"

int main(void) {
  static const float x[12] = {1, 2, 3, 4, -1, 0.5f, 2, -3, 0, 0, 0, 0};
  int64_t dims[2] = {0, 4};
  symbolic_model_t model;
  symbolic_context_t context;
  byoc_argument_t y;
  if (symbolic_load("./open.so", &model) != 0 || symbolic_create(&model, NULL, &context) != 0) {
    fprintf(stderr, "%s\n", symbolic_error(NULL, &model));
    return 1;
  }
  for (dims[0] = 1; dims[0] <= 3; ++dims[0]) {
    if (symbolic_run(&context, x, dims, &y) != 0) {
      fprintf(stderr, "%s\n", symbolic_error(&context, &model));
      return 1;
    }
    printf("%d %d: %g\n", (int)y.rank, (int)y.dims[0], (double)((const float *)y.data)[y.dims[0] * y.dims[1] - 1]);
  }
  dims[1] = 5;
  if (symbolic_run(&context, x, dims, &y) == 0) return 1;
  printf("%s\n", symbolic_error(&context, &model));
  symbolic_destroy(&context);
  symbolic_unload(&model);
  return 0;
}
