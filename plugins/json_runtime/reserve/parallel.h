// SPDX-License-Identifier: Apache-2.0
// parallel.h - GOMP_parallel, by which gcc's code starts a loop of several threads, with an eye on each of them.
#ifndef BYOC_DNNL_RESERVE_PARALLEL_H_
#define BYOC_DNNL_RESERVE_PARALLEL_H_

typedef void byoc_dnnl_parallel_t(void (*body)(void *), void *argument, unsigned threads, unsigned flags);

// The one that is called; set before anything comes here.
void byoc_dnnl_parallel_watch(byoc_dnnl_parallel_t *function);
int byoc_dnnl_parallel_is_watched(void);
// Stands in its place.
byoc_dnnl_parallel_t byoc_dnnl_parallel_watched;
// Whether a loop that this thread began raised the flag since this was asked last.
int byoc_dnnl_parallel_take_raised(void);

#endif // BYOC_DNNL_RESERVE_PARALLEL_H_
