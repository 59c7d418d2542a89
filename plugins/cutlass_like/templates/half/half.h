// SPDX-License-Identifier: Apache-2.0
// Tensors of f16 and bf16: loads widen to f32, stores round to the nearest, ties to even. The types are structs, so
// that v_load, v_store and the others choose by the type of a pointer; a template that names its types serves all of
// them. Loads and stores of vectors are in half_ID.h of the instruction set, as f16_load, f16_store, bf16_load and so
// on. f16_part loads lanes [skip, stop) and makes the others zero, f16_even loads every other element so; neither
// reads what becomes no lane.
#ifndef BYOC_CUTLASS_HALF
#define BYOC_CUTLASS_HALF
typedef struct f16_t {
  uint16_t bits;
} f16_t;
typedef struct bf16_t {
  uint16_t bits;
} bf16_t;

// The functions of one type.
#define HALF_FUNCTIONS(type)                                                                                           \
  static inline __attribute__((unused)) vf v_load_##type(const type##_t *p) {                                          \
    return type##_load(&p->bits);                                                                                      \
  }                                                                                                                    \
  static inline __attribute__((unused)) vf v_load_n_##type(const type##_t *p, int64_t n) {                             \
    return type##_load_n(&p->bits, n);                                                                                 \
  }                                                                                                                    \
  static inline __attribute__((unused)) void v_store_##type(type##_t *p, vf x) {                                       \
    type##_store(&p->bits, x);                                                                                         \
  }                                                                                                                    \
  static inline __attribute__((unused)) void v_store_n_##type(type##_t *p, vf x, int64_t n) {                          \
    type##_store_n(&p->bits, x, n);                                                                                    \
  }                                                                                                                    \
  static inline __attribute__((unused)) vf v_set1_##type(type##_t x) {                                                 \
    return type##_set1(x.bits);                                                                                        \
  }                                                                                                                    \
  static inline __attribute__((unused)) void widen_##type(float *to, const type##_t *from, int64_t count) {            \
    int64_t i = 0;                                                                                                     \
    for (; i + LANES <= count; i += LANES) v_store(to + i, v_load_##type(from + i));                                   \
    if (i < count) v_store_n(to + i, v_load_n_##type(from + i, count - i), count - i);                                 \
  }                                                                                                                    \
  /* As copy_runs of floats. Lanes of other distances are collected first. */                                          \
  static inline __attribute__((always_inline, unused)) void copy_runs_##type(                                          \
      float *to, int64_t to_step, const type##_t *from, int64_t from_step, int64_t count, int64_t length, int64_t low, \
      int64_t high, int64_t stride) {                                                                                  \
    for (int64_t x = 0; x < length; x += LANES) {                                                                      \
      const int64_t left = length - x < LANES ? length - x : LANES;                                                    \
      const int64_t skip = low > x ? (low - x < LANES ? low - x : LANES) : 0;                                          \
      const int64_t stop = high > x ? (high - x < LANES ? high - x : LANES) : 0;                                       \
      float *t = to + x;                                                                                               \
      const type##_t *f = from + x * stride;                                                                           \
      for (int64_t i = 0; i < count; ++i, t += to_step, f += from_step) {                                              \
        if (stride == 1) {                                                                                             \
          v_store_n(t, type##_part(&f->bits, skip, stop), left);                                                       \
        } else if (stride == 2) {                                                                                      \
          v_store_n(t, type##_even(&f->bits, skip, stop), left);                                                       \
        } else {                                                                                                       \
          uint16_t lanes[LANES] = {0};                                                                                 \
          for (int64_t l = skip; l < stop; ++l) lanes[l] = f[l * stride].bits;                                         \
          v_store_n(t, type##_load(lanes), left);                                                                      \
        }                                                                                                              \
      }                                                                                                                \
    }                                                                                                                  \
  }
HALF_FUNCTIONS(f16)
HALF_FUNCTIONS(bf16)
#undef HALF_FUNCTIONS

static inline __attribute__((unused)) void widen(float *to, const float *from, int64_t count) {
  memcpy(to, from, (size_t)count * sizeof *to);
}

#define HALF_BY_POINTER(p, name)                                                                                       \
  _Generic((p),                                                                                                        \
      f16_t *: name##_f16,                                                                                             \
      const f16_t *: name##_f16,                                                                                       \
      bf16_t *: name##_bf16,                                                                                           \
      const bf16_t *: name##_bf16,                                                                                     \
      default: name)
#define v_load(p)                         HALF_BY_POINTER(p, v_load)(p)
#define v_load_n(p, n)                    HALF_BY_POINTER(p, v_load_n)(p, n)
#define v_store(p, x)                     HALF_BY_POINTER(p, v_store)(p, x)
#define v_store_n(p, x, n)                HALF_BY_POINTER(p, v_store_n)(p, x, n)
#define v_set1(x)                         _Generic((x), f16_t : v_set1_f16, bf16_t : v_set1_bf16, default : v_set1)(x)
#define copy_runs(to, to_step, from, ...) HALF_BY_POINTER(from, copy_runs)(to, to_step, from, __VA_ARGS__)
#define widen(to, from, count)            HALF_BY_POINTER(from, widen)(to, from, count)
#endif
