// SPDX-License-Identifier: Apache-2.0
// reserve_probe.h - a library that the test of the reserve lets allocate through it.
#ifndef BYOC_DNNL_RESERVE_PROBE_H_
#define BYOC_DNNL_RESERVE_PROBE_H_

typedef void (*reserve_probe_function_t)(void);

// How many of its own functions it found: none.
int reserve_probe_count(void);

// The functions by which it would allocate and free, as its table of addresses has them: malloc, free and others. NULL
// behind the last one.
reserve_probe_function_t reserve_probe_address(int which);

#endif // BYOC_DNNL_RESERVE_PROBE_H_
