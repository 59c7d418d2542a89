// SPDX-License-Identifier: Apache-2.0
// Brings the elements and the bytes of arrays into the order that byoc computes on.
#include "npy_order.h"

#include <string.h>

void byoc_npy_swap_bytes(uint8_t *data, size_t size_bytes, size_t unit) {
  for (size_t at = 0; unit > 1 && at + unit <= size_bytes; at += unit) {
    for (size_t low = at, high = at + unit - 1; low < high; ++low, --high) {
      const uint8_t byte = data[low];
      data[low] = data[high];
      data[high] = byte;
    }
  }
}

void byoc_npy_to_rows(const uint8_t *from, const int64_t *dims, int32_t rank, size_t element_bytes, size_t size_bytes,
                      uint8_t *to) {
  size_t strides[16], stride = element_bytes;
  int64_t at[16] = {0};
  for (int32_t d = 0; d < rank; ++d) {
    strides[d] = stride;
    stride *= (size_t)dims[d];
  }
  size_t place = 0;
  for (size_t done = 0; done < size_bytes; done += element_bytes) {
    memcpy(to + done, from + place, element_bytes);
    for (int32_t d = rank - 1; d >= 0; --d) { // the next element of the row, or of the next row
      place += strides[d];
      if (++at[d] < dims[d]) break;
      place -= strides[d] * (size_t)dims[d];
      at[d] = 0;
    }
  }
}
