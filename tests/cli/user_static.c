// SPDX-License-Identifier: Apache-2.0
// A user's program with two models linked into it: tiny (static shapes) and twice (an open dimension).
#include <stdio.h>

#include "tiny.h"
#include "twice.h"

int main(void) {
  static const float x[TINY_IN_X_0_COUNT] = {1, 2, 3, 4, 5, 6, 7, 8};
  static float y[TINY_OUT_Y_0_COUNT];
  const int64_t dims[] = {2, 4};
  byoc_argument_t doubled;
  tiny_model_t tiny;
  tiny_context_t tiny_context;
  twice_model_t twice;
  twice_context_t twice_context;
  if (tiny_load(NULL, &tiny) != 0 || tiny_create(&tiny, NULL, &tiny_context) != 0) {
    fprintf(stderr, "%s\n", tiny_error(NULL, &tiny));
    return 1;
  }
  if (twice_load(NULL, &twice) != 0 || twice_create(&twice, NULL, &twice_context) != 0) {
    fprintf(stderr, "%s\n", twice_error(NULL, &twice));
    return 1;
  }
  if (tiny_run(&tiny_context, x, y) != 0 || twice_run(&twice_context, x, dims, &doubled) != 0) return 2;
  printf("%g %g\n", (double)y[0], (double)((const float *)doubled.data)[7]);
  tiny_destroy(&tiny_context);
  twice_destroy(&twice_context);
  tiny_unload(&tiny);
  twice_unload(&twice);
  return 0;
}
