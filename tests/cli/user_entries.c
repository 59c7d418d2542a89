// SPDX-License-Identifier: Apache-2.0
// A user's program with two models of one artifact, m.so, m.a or m.c: both have contexts at the same time.
#include <stdio.h>

#include "m.h"

int main(void) {
  static float x[M_PREFILL_X_COUNT], y[M_PREFILL_Y_COUNT];
  const int64_t dims[] = {8, 64};
  byoc_argument_t negative;
  m_prefill_model_t prefill;
  m_prefill_context_t prefill_context;
  m_open_model_t open;
  m_open_context_t open_context;
  int i;
  for (i = 0; i < M_PREFILL_X_COUNT; ++i) x[i] = (float)(i % 7) / 64;
  if (m_prefill_load("./m.so", &prefill) != 0 || m_prefill_create(&prefill, NULL, &prefill_context) != 0) {
    fprintf(stderr, "%s\n", m_prefill_error(NULL, &prefill));
    return 1;
  }
  if (m_open_load("./m.so", &open) != 0 || m_open_create(&open, NULL, &open_context) != 0) {
    fprintf(stderr, "%s\n", m_open_error(NULL, &open));
    return 1;
  }
  if (m_prefill_run(&prefill_context, x, y) != 0) return 2;
  if (m_open_run(&open_context, x, dims, &negative) != 0) return 2;
  printf("%.6g %.6g\n", (double)y[0], (double)((const float *)negative.data)[511]);
  m_open_destroy(&open_context);
  m_prefill_destroy(&prefill_context);
  m_open_unload(&open);
  m_prefill_unload(&prefill);
  return 0;
}
