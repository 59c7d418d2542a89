// SPDX-License-Identifier: Apache-2.0
// byoc/dtype.h - element types of tensors.
//
// Example:
//   uint64_t bytes = byoc_dtype_bits(BYOC_DTYPE_F16) * count / 8;
//
// A type crosses every boundary as uint32_t. The numbers are this project's own and never change; the ONNX column is
// TensorProto.DataType of onnx.proto, the DLPack columns are DLDataType.code and .bits (a string is an opaque handle: a
// pointer to NUL-terminated UTF-8). Types of 4 and 2 bits are packed two and four to a byte, the first element in the
// lowest bits. f4e2m1 has no infinity and no NaN; f8e8m0 holds powers of two, without zero and sign. The types from
// f4e2m1 on are there since minor 5. Pure functions, callable from any thread.
#ifndef BYOC_DTYPE_H_
#define BYOC_DTYPE_H_

#include <stdint.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

// X(NAME, number, "text", bits, DLPack code, ONNX number)
#define BYOC_DTYPE_LIST(X)                                                                                             \
  X(F32, 1, "f32", 32, 2, 1)                                                                                           \
  X(U8, 2, "u8", 8, 1, 2)                                                                                              \
  X(I8, 3, "i8", 8, 0, 3)                                                                                              \
  X(U16, 4, "u16", 16, 1, 4)                                                                                           \
  X(I16, 5, "i16", 16, 0, 5)                                                                                           \
  X(I32, 6, "i32", 32, 0, 6)                                                                                           \
  X(I64, 7, "i64", 64, 0, 7)                                                                                           \
  X(STRING, 8, "string", 64, 3, 8)                                                                                     \
  X(BOOL, 9, "bool", 8, 6, 9)                                                                                          \
  X(F16, 10, "f16", 16, 2, 10)                                                                                         \
  X(F64, 11, "f64", 64, 2, 11)                                                                                         \
  X(U32, 12, "u32", 32, 1, 12)                                                                                         \
  X(U64, 13, "u64", 64, 1, 13)                                                                                         \
  X(C64, 14, "c64", 64, 5, 14)                                                                                         \
  X(C128, 15, "c128", 128, 5, 15)                                                                                      \
  X(BF16, 16, "bf16", 16, 4, 16)                                                                                       \
  X(F8E4M3FN, 17, "f8e4m3fn", 8, 10, 17)                                                                               \
  X(F8E4M3FNUZ, 18, "f8e4m3fnuz", 8, 11, 18)                                                                           \
  X(F8E5M2, 19, "f8e5m2", 8, 12, 19)                                                                                   \
  X(F8E5M2FNUZ, 20, "f8e5m2fnuz", 8, 13, 20)                                                                           \
  X(U4, 21, "u4", 4, 1, 21)                                                                                            \
  X(I4, 22, "i4", 4, 0, 22)                                                                                            \
  X(F4E2M1, 23, "f4e2m1", 4, 17, 23)                                                                                   \
  X(F8E8M0, 24, "f8e8m0", 8, 14, 24)                                                                                   \
  X(U2, 25, "u2", 2, 1, 25)                                                                                            \
  X(I2, 26, "i2", 2, 0, 26)

#define BYOC_DTYPE_CONSTANT(NAME, number, text, bits, dlpack, onnx) BYOC_DTYPE_##NAME = number,
enum { BYOC_DTYPE_NONE = 0, BYOC_DTYPE_LIST(BYOC_DTYPE_CONSTANT) BYOC_DTYPE_COUNT };
#undef BYOC_DTYPE_CONSTANT

typedef uint32_t byoc_dtype_t;

// "f32" and so on; "none" for a number that is not in the list. Static storage.
static inline const char *byoc_dtype_name(byoc_dtype_t dtype) {
  switch (dtype) {
#define BYOC_DTYPE_CASE(NAME, number, text, bits, dlpack, onnx)                                                        \
  case number:                                                                                                         \
    return text;
    BYOC_DTYPE_LIST(BYOC_DTYPE_CASE)
#undef BYOC_DTYPE_CASE
  default:
    return "none";
  }
}

// Bits of one element; 0 for a number that is not in the list.
static inline uint32_t byoc_dtype_bits(byoc_dtype_t dtype) {
  switch (dtype) {
#define BYOC_DTYPE_CASE(NAME, number, text, bits, dlpack, onnx)                                                        \
  case number:                                                                                                         \
    return bits;
    BYOC_DTYPE_LIST(BYOC_DTYPE_CASE)
#undef BYOC_DTYPE_CASE
  default:
    return 0;
  }
}

// DLDataType.code of an element type; 255 for a number that is not in the list.
static inline uint8_t byoc_dtype_dlpack_code(byoc_dtype_t dtype) {
  switch (dtype) {
#define BYOC_DTYPE_CASE(NAME, number, text, bits, dlpack, onnx)                                                        \
  case number:                                                                                                         \
    return dlpack;
    BYOC_DTYPE_LIST(BYOC_DTYPE_CASE)
#undef BYOC_DTYPE_CASE
  default:
    return 255;
  }
}

// The type of that name; BYOC_DTYPE_NONE if there is none.
static inline byoc_dtype_t byoc_dtype_parse(const char *name) {
#define BYOC_DTYPE_TEST(NAME, number, text, bits, dlpack, onnx)                                                        \
  if (strcmp(name, text) == 0) return number;
  BYOC_DTYPE_LIST(BYOC_DTYPE_TEST)
#undef BYOC_DTYPE_TEST
  return BYOC_DTYPE_NONE;
}

// The type of that ONNX TensorProto.DataType number; BYOC_DTYPE_NONE if there is none.
static inline byoc_dtype_t byoc_dtype_from_onnx(int32_t onnx_number) {
#define BYOC_DTYPE_TEST(NAME, number, text, bits, dlpack, onnx)                                                        \
  if (onnx_number == onnx) return number;
  BYOC_DTYPE_LIST(BYOC_DTYPE_TEST)
#undef BYOC_DTYPE_TEST
  return BYOC_DTYPE_NONE;
}

#ifdef __cplusplus
}
#endif
#endif // BYOC_DTYPE_H_
