// SPDX-License-Identifier: Apache-2.0
// pages.h - blocks of memory from pages that were mapped beforehand. Callable from any thread.
#ifndef BYOC_DNNL_RESERVE_PAGES_H_
#define BYOC_DNNL_RESERVE_PAGES_H_

#include <stddef.h>
#include <stdint.h>

int byoc_dnnl_pages_map(void);
// NULL if no gap is as large. An alignment is a power of two.
void *byoc_dnnl_pages_take(size_t size_bytes, size_t alignment);
void byoc_dnnl_pages_release(void *memory);
int byoc_dnnl_pages_hold(const void *memory);
// The capacity of the block.
size_t byoc_dnnl_pages_size(const void *memory);
uint64_t byoc_dnnl_pages_count_taken(void);

#endif // BYOC_DNNL_RESERVE_PAGES_H_
