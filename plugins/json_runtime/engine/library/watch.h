// SPDX-License-Identifier: Apache-2.0
// watch.h - whether oneDNN may have lost a NaN.
//
// Its kernels take a maximum by an instruction that drops a NaN, and raise the processor's flag of invalid operations
// as they do (../reserve/invalid.h). A run in which no thread raised it lost none; reading the flag costs almost
// nothing. After any other run the function is computed again, carefully: plain loops (function/plain.h) replace the
// primitives that may lose a NaN.
#ifndef BYOC_DNNL_WATCH_H_
#define BYOC_DNNL_WATCH_H_

#include "engine/library/library.h"

typedef struct byoc_dnnl_watch_t {
  int before;    // the calling thread's flag
  int each_step; // the threads have to be asked after each step, because the reserve does not see them
  int32_t thread_count;
  int is_raised;
} byoc_dnnl_watch_t;

void byoc_dnnl_watch_begin(int32_t thread_count, byoc_dnnl_watch_t *out_watch);
// Asks OpenMP's threads, which may be gone after the next loop.
void byoc_dnnl_watch_step(const byoc_dnnl_api_t *api, byoc_dnnl_watch_t *watch);
// Puts the calling thread's flag back as it was. Returns whether one was raised.
int byoc_dnnl_watch_end(byoc_dnnl_watch_t *watch);

#endif // BYOC_DNNL_WATCH_H_
