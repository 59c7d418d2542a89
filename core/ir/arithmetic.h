// SPDX-License-Identifier: Apache-2.0
// The types of arithmetic that a machine's peak is known for: of the factors of products. Sums may be wider.
#ifndef BYOC_CORE_IR_ARITHMETIC_H_
#define BYOC_CORE_IR_ARITHMETIC_H_

#include <stdbool.h>
#include <stddef.h>

// X(NAME, "its name in profiles and host programs")
#define BYOC_ARITHMETIC_LIST(X)                                                                                        \
  X(F32, "f32")                                                                                                        \
  X(F64, "f64")                                                                                                        \
  X(F16, "f16")                                                                                                        \
  X(BF16, "bf16")                                                                                                      \
  X(INT8, "int8")                                                                                                      \
  X(INT16, "int16") /* and wider integers */
typedef enum byoc_arithmetic_t {
#define BYOC_ARITHMETIC_ENUM(NAME, text) BYOC_ARITHMETIC_##NAME,
  BYOC_ARITHMETIC_LIST(BYOC_ARITHMETIC_ENUM)
#undef BYOC_ARITHMETIC_ENUM
      BYOC_ARITHMETIC_COUNT
} byoc_arithmetic_t;

const char *byoc_arithmetic_name(byoc_arithmetic_t type);
// BYOC_ARITHMETIC_COUNT: there is none with this name, of `size` bytes.
byoc_arithmetic_t byoc_arithmetic_find(const char *name, size_t size);
// Is its rate in GOP/s instead of GFLOP/s?
static inline bool byoc_arithmetic_is_integer(byoc_arithmetic_t type) {
  return type == BYOC_ARITHMETIC_INT8 || type == BYOC_ARITHMETIC_INT16;
}

#endif // BYOC_CORE_IR_ARITHMETIC_H_
