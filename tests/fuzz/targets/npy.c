// SPDX-License-Identifier: Apache-2.0
// NumPy's .npy files (tools/byoc/npy.h): an array has as many bytes as its shape and type say.
#include "tools/byoc/npy.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  byoc_diag_t diag = {0};
  byoc_npy_t array = {0};
  byoc_status_t status = byoc_npy_read(fuzz_file(data, size), fuzz_allocator(), &diag, &array);
  fuzz_check(status, &diag);
  if (status != BYOC_OK) return 0;
  uint64_t bits = byoc_dtype_bits(array.dtype), sum = 0;
  for (int32_t d = 0; d < array.rank; ++d) bits *= (uint64_t)array.dims[d];
  if ((bits + 7) / 8 != array.size_bytes) fuzz_fail("%llu bytes", (unsigned long long)array.size_bytes);
  for (uint64_t i = 0; i < array.size_bytes; ++i) sum += ((const uint8_t *)array.data)[i];
  if (sum > array.size_bytes * UINT8_MAX) fuzz_fail("the sum of the bytes");
  byoc_npy_deinit(&array, fuzz_allocator());
  return 0;
}
