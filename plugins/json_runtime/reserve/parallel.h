// SPDX-License-Identifier: Apache-2.0
// parallel.h - GOMP_parallel, by which gcc's code starts a loop of several threads, with a check of each thread's flag.
#ifndef BYOC_DNNL_RESERVE_PARALLEL_H_
#define BYOC_DNNL_RESERVE_PARALLEL_H_

typedef void byoc_dnnl_parallel_t(void (*body)(void *), void *argument, unsigned threads, unsigned flags);

// The original function, which is called; set before any call of the replacement.
void byoc_dnnl_parallel_watch(byoc_dnnl_parallel_t *function);
int byoc_dnnl_parallel_is_watched(void);
// The replacement.
byoc_dnnl_parallel_t byoc_dnnl_parallel_watched;
// Whether a loop that this thread began has raised the flag since the last call.
int byoc_dnnl_parallel_take_raised(void);

#endif // BYOC_DNNL_RESERVE_PARALLEL_H_
