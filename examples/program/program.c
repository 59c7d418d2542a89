// SPDX-License-Identifier: Apache-2.0
// A program with a model linked into it: no file to find, no dlopen.
#include <stdio.h>

#include "relu.h"

int main(void) {
  const float x[RELU_X_COUNT] = {-1, 2, -3, 4, -5, 6};
  float y[RELU_Y_COUNT];
  relu_model_t model;
  relu_context_t context;
  if (relu_load(NULL, &model) != BYOC_OK || relu_create(&model, NULL, &context) != BYOC_OK) {
    fprintf(stderr, "%s\n", relu_error(NULL, &model));
    return 1;
  }
  int32_t status = relu_run(&context, x, y);
  if (status != BYOC_OK) fprintf(stderr, "%s\n", relu_error(&context, &model));
  for (int i = 0; status == BYOC_OK && i < RELU_Y_COUNT; ++i) printf("%g ", (double)y[i]);
  printf("\n");
  relu_destroy(&context);
  relu_unload(&model);
  return status != BYOC_OK;
}
