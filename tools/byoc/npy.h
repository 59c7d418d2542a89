// SPDX-License-Identifier: Apache-2.0
// NumPy's .npy files, format versions 1 to 3 (numpy.lib.format): dense arrays. They are written in
// little-endian, row-major order.
#ifndef BYOC_TOOLS_BYOC_NPY_H_
#define BYOC_TOOLS_BYOC_NPY_H_

#include "byoc/dtype.h"
#include "core/base/allocator.h"
#include "core/base/diag.h"
#include "core/base/map.h"
#include "core/base/string.h"

typedef struct byoc_npy_t {
  byoc_dtype_t dtype;
  int32_t rank;
  int64_t dims[16];
  uint64_t size_bytes;
  void *data; // from the allocator; of texts: `const char *` each, with the characters behind the pointers
} byoc_npy_t;

// Arrays in Fortran order and of big-endian data are read; structured and object types are refused.
byoc_status_t byoc_npy_read(const char *path, byoc_allocator_t allocator, byoc_diag_t *diag, byoc_npy_t *out_array);
// The same for a file's content in memory.
byoc_status_t byoc_npy_parse(const void *data, size_t size_bytes, byoc_allocator_t allocator, byoc_diag_t *diag,
                             byoc_npy_t *out_array);
void byoc_npy_deinit(byoc_npy_t *array, byoc_allocator_t allocator);
// Makes the bytes of an array elements of a type that is packed (i4, f4e2m1, i2): a byte holds one, in its low bits.
byoc_status_t byoc_npy_pack(byoc_npy_t *array, byoc_dtype_t dtype, byoc_diag_t *diag);
// Appears whole or not at all. Types that NumPy lacks (bf16, float8) are written as unsigned integers of their size,
// those of fewer than 8 bits as bytes: numbers for integers, the bits of f4e2m1. Of texts, `data` holds `const char *`,
// in which NULL is an empty one.
byoc_status_t byoc_npy_write(const char *path, byoc_dtype_t dtype, int32_t rank, const int64_t *dims, const void *data,
                             uint64_t size_bytes, byoc_diag_t *diag);

// Appends a tensor's name as the name of its file, without the ending. It is one part of a path, neither empty nor
// hidden nor a way to another folder: '/', ':', dots in front and what is not safe to show become '_', and of a long
// name the beginning is kept, with a hash of all of it.
void byoc_npy_name(const char *tensor, byoc_string_t *out);
// The same for several tensors that are saved in one folder, as files or as folders: names that would be one, also
// where capitals make no difference, are told apart by a number, NAME_2. `taken` is a text map, empty at first.
byoc_status_t byoc_npy_unique_name(const char *tensor, byoc_map_t *taken, byoc_string_t *out, byoc_diag_t *diag);

#endif // BYOC_TOOLS_BYOC_NPY_H_
