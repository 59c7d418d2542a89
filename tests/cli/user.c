// SPDX-License-Identifier: Apache-2.0
// A user's program: the generated header, no other file of byoc's, -ldl.
// usage: user [ARTIFACT [FOLDER [NEW OLD]]]: works in FOLDER once ARTIFACT is loaded, and moves NEW over OLD there.
#include <stdio.h>
#include <unistd.h>

#include "tiny.h"

int main(int argc, char **argv) {
  static const float x[TINY_IN_X_0_COUNT] = {1, 2, 3, 4, -1, 0.5f, 2, -3};
  float y[TINY_OUT_Y_0_COUNT];
  tiny_model_t model;
  tiny_context_t context;
  int i;
  if (tiny_load(argc > 1 ? argv[1] : "./tiny.so", &model) != 0) {
    fprintf(stderr, "%s\n", tiny_error(NULL, &model));
    return 1;
  }
  if ((argc > 2 && chdir(argv[2]) != 0) || (argc > 4 && rename(argv[3], argv[4]) != 0)) {
    perror(argv[2]);
    return 2;
  }
  if (tiny_create(&model, NULL, &context) != 0 || tiny_run(&context, x, y) != 0) {
    fprintf(stderr, "%s\n", tiny_error(NULL, &model));
    return 1;
  }
  for (i = 0; i < TINY_OUT_Y_0_COUNT; ++i) printf("%g ", (double)y[i]);
  tiny_destroy(&context);
  tiny_unload(&model);
  return 0;
}
