// SPDX-License-Identifier: Apache-2.0
// Files of input values (tools/byoc/input_file.h): each input of the fuzzer is read as a picture, PNG and JPEG, as a
// tensor of ONNX, as an archive of arrays, and as bare elements.
#include <stdlib.h>
#include <string.h>

#include "tests/fuzz/fuzz.h"
#include "tools/byoc/input_file.h"

static const char *const endings[] = {"png", "jpg", "pb", "raw"};

static void check_array(const byoc_npy_t *array) {
  uint64_t bits = byoc_dtype_bits(array->dtype), sum = 0;
  for (int32_t d = 0; d < array->rank; ++d) bits *= (uint64_t)array->dims[d];
  if (array->dtype != BYOC_DTYPE_STRING && (bits + 7) / 8 != array->size_bytes) {
    fuzz_fail("%llu bytes", (unsigned long long)array->size_bytes);
  }
  for (uint64_t i = 0; i < array->size_bytes; ++i) sum += ((const uint8_t *)array->data)[i];
  if (sum > array->size_bytes * UINT8_MAX) fuzz_fail("the sum of the bytes");
}

static void read_as(const char *path, const byoc_port_t *port) {
  static const byoc_image_options_t image = BYOC_IMAGE_DEFAULTS;
  byoc_diag_t diag = {0};
  byoc_npy_t array = {0};
  byoc_status_t status = byoc_input_file_read(path, port, &image, fuzz_allocator(), &diag, &array);
  fuzz_check(status, &diag);
  if (status == BYOC_OK) check_array(&array);
  byoc_npy_deinit(&array, fuzz_allocator());
}

static byoc_status_t visit(void *self, const char *name, byoc_npy_t *array, byoc_diag_t *diag) {
  (void)self;
  (void)diag;
  if (strlen(name) >= 512) fuzz_fail("a name");
  if (array->dtype != BYOC_DTYPE_STRING) check_array(array);
  return BYOC_OK;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static const byoc_port_t ports[] = {
      {.name = "colour", .dtype = BYOC_DTYPE_F32, .rank = 4, .dims = {1, 3, -1, -1}},
      {.name = "grey", .dtype = BYOC_DTYPE_U8, .rank = 2, .dims = {-1, -1}},
      {.name = "fixed", .dtype = BYOC_DTYPE_U8, .rank = 3, .dims = {4, 4, 3}, .size_bytes = 48},
  };
  const char *path = fuzz_file(data, size);
  for (size_t i = 0; i < sizeof(endings) / sizeof(endings[0]); ++i) {
    for (size_t k = 0; k < sizeof(ports) / sizeof(ports[0]); ++k) read_as(fuzz_file_as(endings[i]), &ports[k]);
  }
  byoc_diag_t diag = {0};
  fuzz_check(byoc_npz_visit(path, fuzz_allocator(), visit, NULL, &diag), &diag);
  return 0;
}
