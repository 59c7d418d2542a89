// SPDX-License-Identifier: Apache-2.0
// byoc/dlpack.h - DLPack's tensor, as byoc/call.h uses it.
//
// Example:
//   const DLTensor *x = &call->tensors[0];
//   const float *first = (const float *)x->data;
//   int64_t rows = x->ndim > 0 ? x->shape[0] : 1;
//
// These are the structs of DLPack 0.6 (https://dmlc.github.io/dlpack), which later versions have kept: nothing else has
// to be installed. If you use DLPack's own header, too, include it first: then it is the one that counts. Included
// later, it adds nothing.
#ifndef DLPACK_DLPACK_H_ // the guard of its own header
#define DLPACK_DLPACK_H_

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

// Kinds of devices. Later versions of DLPack have more.
typedef enum {
  kDLCPU = 1,
  kDLCUDA = 2,
  kDLCUDAHost = 3,
  kDLOpenCL = 4,
  kDLVulkan = 7,
  kDLMetal = 8,
  kDLVPI = 9,
  kDLROCM = 10,
  kDLROCMHost = 11,
  kDLExtDev = 12,
  kDLCUDAManaged = 13,
} DLDeviceType;

typedef struct {
  DLDeviceType device_type;
  int device_id;
} DLDevice;

// Values of DLDataType.code; byoc_dtype_dlpack_code (byoc/dtype.h) has those of newer types, too.
typedef enum {
  kDLInt = 0U,
  kDLUInt = 1U,
  kDLFloat = 2U,
  kDLOpaqueHandle = 3U,
  kDLBfloat = 4U,
  kDLComplex = 5U,
} DLDataTypeCode;

typedef struct {
  uint8_t code; // DLDataTypeCode
  uint8_t bits; // of one element
  uint16_t lanes;
} DLDataType;

// A tensor that somebody else owns.
typedef struct {
  void *data;
  DLDevice device;
  int ndim; // rank
  DLDataType dtype;
  int64_t *shape;       // elements along each dimension
  int64_t *strides;     // in elements; NULL: dense and row-major
  uint64_t byte_offset; // of the first element behind `data`
} DLTensor;

// A tensor that is handed on together with its memory. byoc does not use it.
typedef struct DLManagedTensor {
  DLTensor dl_tensor;
  void *manager_ctx;
  void (*deleter)(struct DLManagedTensor *self);
} DLManagedTensor;

#ifdef __cplusplus
}
#endif
#endif // DLPACK_DLPACK_H_
