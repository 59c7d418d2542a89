// SPDX-License-Identifier: Apache-2.0
// C types of values and of buffers' elements.
#include "core/kernel/emit.h"

const char *byoc_c_value_type(byoc_dtype_t dtype) {
  switch (dtype) {
  case BYOC_DTYPE_F64:
    return "double";
  case BYOC_DTYPE_BOOL:
    return "bool";
  case BYOC_DTYPE_I8:
  case BYOC_DTYPE_I4:
  case BYOC_DTYPE_I2:
    return "int8_t";
  case BYOC_DTYPE_U8:
  case BYOC_DTYPE_U4:
  case BYOC_DTYPE_U2:
    return "uint8_t";
  case BYOC_DTYPE_I16:
    return "int16_t";
  case BYOC_DTYPE_U16:
    return "uint16_t";
  case BYOC_DTYPE_I32:
    return "int32_t";
  case BYOC_DTYPE_U32:
    return "uint32_t";
  case BYOC_DTYPE_I64:
    return "int64_t";
  case BYOC_DTYPE_U64:
    return "uint64_t";
  default:
    return "float";
  }
}

const char *byoc_c_storage_type(byoc_dtype_t dtype) {
  switch (dtype) {
  case BYOC_DTYPE_F16:
  case BYOC_DTYPE_BF16:
    return "uint16_t";
  case BYOC_DTYPE_BOOL:
  case BYOC_DTYPE_I4:
  case BYOC_DTYPE_F8E4M3FN:
  case BYOC_DTYPE_F8E4M3FNUZ:
  case BYOC_DTYPE_F8E5M2:
  case BYOC_DTYPE_F8E5M2FNUZ:
  case BYOC_DTYPE_F8E8M0:
  case BYOC_DTYPE_F4E2M1:
  case BYOC_DTYPE_I2:
    return "uint8_t";
  default:
    return byoc_c_value_type(dtype);
  }
}
