// SPDX-License-Identifier: Apache-2.0
// Reads and stores elements of every type as numbers, narrow floats included.
#include "core/ir/element.h"

#include <math.h>
#include <string.h>

// Small binary floats: sign, `exponent_bits`, `mantissa_bits`.
typedef enum float_specials_t {
  SPECIALS_IEEE, // an exponent of all ones is infinity or NaN
  SPECIALS_FN,   // no infinity; NaN has all bits set
  SPECIALS_FNUZ, // no infinity, no negative zero; NaN is a lone sign bit
  SPECIALS_NONE, // numbers alone
} float_specials_t;

typedef struct float_format_t {
  int exponent_bits, mantissa_bits, bias;
  float_specials_t specials;
} float_format_t;

static float_format_t float_format(byoc_dtype_t dtype) {
  switch (dtype) {
  case BYOC_DTYPE_F16:
    return (float_format_t){5, 10, 15, SPECIALS_IEEE};
  case BYOC_DTYPE_BF16:
    return (float_format_t){8, 7, 127, SPECIALS_IEEE};
  case BYOC_DTYPE_F8E4M3FN:
    return (float_format_t){4, 3, 7, SPECIALS_FN};
  case BYOC_DTYPE_F8E4M3FNUZ:
    return (float_format_t){4, 3, 8, SPECIALS_FNUZ};
  case BYOC_DTYPE_F8E5M2:
    return (float_format_t){5, 2, 15, SPECIALS_IEEE};
  case BYOC_DTYPE_F4E2M1:
    return (float_format_t){2, 1, 1, SPECIALS_NONE};
  default:
    return (float_format_t){5, 2, 16, SPECIALS_FNUZ};
  }
}

static double small_float_decode(float_format_t format, uint32_t bits) {
  uint32_t sign = bits >> (format.exponent_bits + format.mantissa_bits) & 1;
  uint32_t ones = (1U << format.exponent_bits) - 1;
  uint32_t exponent = bits >> format.mantissa_bits & ones;
  uint32_t mantissa = bits & ((1U << format.mantissa_bits) - 1);
  double value;
  if (format.specials == SPECIALS_FNUZ && sign && exponent == 0 && mantissa == 0) return NAN;
  if (format.specials == SPECIALS_FN && exponent == ones && mantissa == (1U << format.mantissa_bits) - 1) {
    value = NAN;
  } else if (format.specials == SPECIALS_IEEE && exponent == ones) {
    value = mantissa ? NAN : INFINITY;
  } else if (exponent == 0) {
    value = ldexp(mantissa, 1 - format.bias - format.mantissa_bits);
  } else {
    value = ldexp(mantissa | 1U << format.mantissa_bits, (int)exponent - format.bias - format.mantissa_bits);
  }
  return sign ? -value : value;
}

static uint32_t small_float_encode(float_format_t format, double value) {
  uint32_t sign_bit = 1U << (format.exponent_bits + format.mantissa_bits);
  uint32_t sign = signbit(value) ? sign_bit : 0;
  uint32_t ones = (1U << format.exponent_bits) - 1;
  uint32_t infinity = ones << format.mantissa_bits;
  uint32_t quiet = format.specials == SPECIALS_FNUZ ? sign_bit
                   : format.specials == SPECIALS_FN ? sign | (sign_bit - 1)
                                                    : sign | infinity | 1U << (format.mantissa_bits - 1);
  if (format.specials == SPECIALS_NONE) quiet = sign_bit;
  if (isnan(value)) return quiet;
  uint32_t overflow = format.specials == SPECIALS_IEEE   ? sign | infinity
                      : format.specials == SPECIALS_NONE ? sign | (sign_bit - 1)
                                                         : quiet;
  if (isinf(value)) return overflow;
  int exponent = 0;
  double fraction = fabs(value);
  if (fraction == 0) return format.specials == SPECIALS_FNUZ ? 0 : sign;
  frexp(fraction, &exponent); // fraction = [0.5, 1) * 2^exponent
  int least = 1 - format.bias;
  int scale = (exponent - 1 < least ? least : exponent - 1) - format.mantissa_bits;
  double units = nearbyint(ldexp(fraction, -scale)); // in units of 2^scale; subnormals have no hidden bit
  uint64_t mantissa = (uint64_t)units;
  // Adding the whole mantissa to the exponent field carries over if rounding went up to the next power of two.
  int64_t field = scale + format.mantissa_bits - least;
  uint64_t bits = ((uint64_t)field << format.mantissa_bits) + mantissa;
  uint64_t limit = format.specials == SPECIALS_IEEE ? infinity
                   : format.specials == SPECIALS_FN ? infinity | ((1U << format.mantissa_bits) - 1)
                                                    : sign_bit; // and those without specials
  if (bits >= limit) return overflow;
  if (bits == 0 && format.specials == SPECIALS_FNUZ) return 0;
  return sign | (uint32_t)bits;
}

// X(NAME, C type): element types with a C type.
#define PLAIN_TYPES(X)                                                                                                 \
  X(F32, float)                                                                                                        \
  X(F64, double)                                                                                                       \
  X(I8, int8_t)                                                                                                        \
  X(I16, int16_t)                                                                                                      \
  X(I32, int32_t)                                                                                                      \
  X(I64, int64_t)                                                                                                      \
  X(U8, uint8_t)                                                                                                       \
  X(U16, uint16_t)                                                                                                     \
  X(U32, uint32_t)                                                                                                     \
  X(U64, uint64_t)                                                                                                     \
  X(BOOL, uint8_t)                                                                                                     \
  X(C64, float)                                                                                                        \
  X(C128, double)

static size_t stride_of(byoc_dtype_t dtype) {
  return byoc_dtype_is_complex(dtype) ? 2 : 1;
}

// f8e8m0: 2^(bits - 127), and NaN for 255.
static double power_decode(uint32_t bits) {
  return bits == 255 ? NAN : ldexp(1, (int)bits - 127);
}

static uint32_t power_encode(double value) {
  int exponent = 0;
  if (isnan(value) || isinf(value)) return 255;
  const double fraction = frexp(fabs(value), &exponent); // [0.5, 1) * 2^exponent
  if (fraction == 0) return 0;
  const int field = (fraction > 0.5 ? exponent : exponent - 1) + 127;
  return field < 0 ? 0 : field > 254 ? 254 : (uint32_t)field;
}

static uint32_t load_small(byoc_dtype_t dtype, const void *data, size_t index) {
  if (byoc_dtype_bits(dtype) == 8) return ((const uint8_t *)data)[index];
  uint16_t bits = 0;
  memcpy(&bits, (const char *)data + index * 2, 2);
  return bits;
}

// Bits of an element of a type that is packed.
static uint32_t load_packed(byoc_dtype_t dtype, const void *data, size_t index) {
  const uint32_t bits = byoc_dtype_bits(dtype), each = 8 / bits;
  return (uint32_t)((const uint8_t *)data)[index / each] >> (index % each * bits) & ((1U << bits) - 1);
}

static void store_packed(byoc_dtype_t dtype, void *data, size_t index, uint32_t value) {
  const uint32_t bits = byoc_dtype_bits(dtype), each = 8 / bits, ones = (1U << bits) - 1;
  const uint32_t shift = (uint32_t)(index % each) * bits;
  uint8_t *byte = &((uint8_t *)data)[index / each];
  *byte = (uint8_t)((*byte & ~(ones << shift)) | (value & ones) << shift);
}

static int64_t load_packed_integer(byoc_dtype_t dtype, const void *data, size_t index) {
  const int64_t value = load_packed(dtype, data, index), half = INT64_C(1) << (byoc_dtype_bits(dtype) - 1);
  return byoc_dtype_is_signed_integer(dtype) && value >= half ? value - 2 * half : value;
}

double byoc_element_f64(byoc_dtype_t dtype, const void *data, size_t index) {
  switch (dtype) {
#define LOAD_F64(NAME, type)                                                                                           \
  case BYOC_DTYPE_##NAME: {                                                                                            \
    type value;                                                                                                        \
    memcpy(&value, (const char *)data + index * stride_of(dtype) * sizeof(type), sizeof(type));                        \
    return (double)value;                                                                                              \
  }
    PLAIN_TYPES(LOAD_F64)
#undef LOAD_F64
  case BYOC_DTYPE_U2:
  case BYOC_DTYPE_I2:
  case BYOC_DTYPE_U4:
  case BYOC_DTYPE_I4:
    return (double)load_packed_integer(dtype, data, index);
  case BYOC_DTYPE_F4E2M1:
    return small_float_decode(float_format(dtype), load_packed(dtype, data, index));
  case BYOC_DTYPE_F8E8M0:
    return power_decode(load_small(dtype, data, index));
  default:
    return byoc_dtype_is_any_float(dtype) ? small_float_decode(float_format(dtype), load_small(dtype, data, index)) : 0;
  }
}

static int64_t clamp_i64(double value) {
  if (isnan(value)) return 0;
  if (value >= 9223372036854775808.0) return INT64_MAX;
  return value < -9223372036854775808.0 ? INT64_MIN : (int64_t)value;
}

int64_t byoc_element_i64(byoc_dtype_t dtype, const void *data, size_t index) {
  if (byoc_dtype_is_any_float(dtype) || byoc_dtype_is_complex(dtype))
    return clamp_i64(byoc_element_f64(dtype, data, index));
  switch (dtype) {
#define LOAD_I64(NAME, type)                                                                                           \
  case BYOC_DTYPE_##NAME: {                                                                                            \
    type value;                                                                                                        \
    memcpy(&value, (const char *)data + index * sizeof(type), sizeof(type));                                           \
    return (int64_t)value;                                                                                             \
  }
    LOAD_I64(I8, int8_t)
    LOAD_I64(I16, int16_t)
    LOAD_I64(I32, int32_t)
    LOAD_I64(I64, int64_t)
    LOAD_I64(U8, uint8_t)
    LOAD_I64(U16, uint16_t)
    LOAD_I64(U32, uint32_t)
    LOAD_I64(U64, uint64_t)
    LOAD_I64(BOOL, uint8_t)
#undef LOAD_I64
  case BYOC_DTYPE_U2:
  case BYOC_DTYPE_I2:
  case BYOC_DTYPE_U4:
  case BYOC_DTYPE_I4:
    return load_packed_integer(dtype, data, index);
  default:
    return 0;
  }
}

double byoc_element_imaginary(byoc_dtype_t dtype, const void *data, size_t index) {
  if (dtype == BYOC_DTYPE_C64) return byoc_element_f64(BYOC_DTYPE_F32, data, index * 2 + 1);
  return dtype == BYOC_DTYPE_C128 ? byoc_element_f64(BYOC_DTYPE_F64, data, index * 2 + 1) : 0;
}

// ---- storing ----

static double clamp_f64(double value, double least, double most) {
  if (isnan(value)) return 0;
  return value < least ? least : value > most ? most : value;
}

static void store_f64(byoc_dtype_t dtype, void *data, size_t index, double value) {
  float narrow = (float)value;
  if (dtype == BYOC_DTYPE_F64) {
    memcpy((char *)data + index * sizeof(value), &value, sizeof(value));
  } else {
    memcpy((char *)data + index * sizeof(float), &narrow, sizeof(narrow));
  }
}

void byoc_element_set_complex(byoc_dtype_t dtype, void *data, size_t index, double real, double imaginary) {
  byoc_dtype_t part = dtype == BYOC_DTYPE_C64 ? BYOC_DTYPE_F32 : BYOC_DTYPE_F64;
  store_f64(part, data, index * 2, real);
  store_f64(part, data, index * 2 + 1, imaginary);
}

void byoc_element_set_f64(byoc_dtype_t dtype, void *data, size_t index, double value) {
  if (byoc_dtype_is_complex(dtype)) {
    byoc_element_set_complex(dtype, data, index, value, 0);
  } else if (dtype == BYOC_DTYPE_F32 || dtype == BYOC_DTYPE_F64) {
    store_f64(dtype, data, index, value);
  } else if (byoc_dtype_is_any_float(dtype)) {
    uint16_t bits =
        (uint16_t)(dtype == BYOC_DTYPE_F8E8M0 ? power_encode(value) : small_float_encode(float_format(dtype), value));
    if (byoc_dtype_bits(dtype) < 8) {
      store_packed(dtype, data, index, bits);
    } else if (byoc_dtype_bits(dtype) == 8) {
      ((uint8_t *)data)[index] = (uint8_t)bits;
    } else {
      memcpy((char *)data + index * 2, &bits, 2);
    }
  } else if (dtype == BYOC_DTYPE_BOOL) {
    ((uint8_t *)data)[index] = value != 0;
  } else if (dtype == BYOC_DTYPE_U64) {
    double rounded = nearbyint(clamp_f64(value, 0, 18446744073709551616.0));
    byoc_element_set_i64(dtype, data, index, rounded >= 18446744073709551616.0 ? -1 : (int64_t)(uint64_t)rounded);
  } else if (byoc_dtype_is_any_integer(dtype)) {
    uint32_t bits = byoc_dtype_bits(dtype);
    bool is_signed = byoc_dtype_is_signed_integer(dtype);
    double least = is_signed ? -ldexp(1, (int)bits - 1) : 0;
    double most = ldexp(1, is_signed ? (int)bits - 1 : (int)bits) - (bits < 64 ? 1 : 0);
    byoc_element_set_i64(dtype, data, index, clamp_i64(nearbyint(clamp_f64(value, least, most))));
  }
}

// The integer as f64 with sticky last bits, where f64 has too few bits: a later rounding is then the only one.
static double odd_f64(int64_t value) {
  const uint64_t size = value < 0 ? 0 - (uint64_t)value : (uint64_t)value, last = 2047;
  const double kept = (double)(size >> 53 ? (size & ~last) | (size & last ? last + 1 : 0) : size);
  return value < 0 ? -kept : kept;
}

void byoc_element_set_i64(byoc_dtype_t dtype, void *data, size_t index, int64_t value) {
  if (dtype == BYOC_DTYPE_STRING) return;
  if (byoc_dtype_is_any_float(dtype) || byoc_dtype_is_complex(dtype)) {
    byoc_element_set_f64(dtype, data, index, dtype == BYOC_DTYPE_F64 ? (double)value : odd_f64(value));
  } else if (dtype == BYOC_DTYPE_BOOL) {
    ((uint8_t *)data)[index] = value != 0;
  } else if (byoc_dtype_bits(dtype) < 8) {
    store_packed(dtype, data, index, (uint32_t)value);
  } else {
    size_t size = byoc_dtype_bits(dtype) / 8;
    const char *bytes = (const char *)&value;
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    bytes += sizeof(value) - size;
#endif
    if (size > 0) memcpy((char *)data + index * size, bytes, size);
  }
}
