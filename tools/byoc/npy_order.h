// SPDX-License-Identifier: Apache-2.0
// The orders of elements and bytes in .npy files: byoc computes on rows, the last dimension innermost, and on numbers
// with the lowest byte first. Internal to npy.c.
#ifndef BYOC_TOOLS_BYOC_NPY_ORDER_H_
#define BYOC_TOOLS_BYOC_NPY_ORDER_H_

#include <stddef.h>
#include <stdint.h>

// Reverses the bytes of each unit of `unit` bytes.
void byoc_npy_swap_bytes(uint8_t *data, size_t size_bytes, size_t unit);
// Copies elements whose first dimension is innermost into rows. `size_bytes` is that of all of them, more than 0; there
// are 16 dimensions at most.
void byoc_npy_to_rows(const uint8_t *from, const int64_t *dims, int32_t rank, size_t element_bytes, size_t size_bytes,
                      uint8_t *to);

#endif // BYOC_TOOLS_BYOC_NPY_ORDER_H_
