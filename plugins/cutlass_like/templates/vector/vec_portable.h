// SPDX-License-Identifier: Apache-2.0
// 4 lanes of f32 as a GNU C vector: any processor (SSE2 on x86-64, NEON on AArch64, scalars elsewhere).
enum { LANES = 4 };
typedef float vf __attribute__((vector_size(16)));
typedef int32_t vi __attribute__((vector_size(16)));

static inline vf v_zero(void) {
  return (vf){0.0f, 0.0f, 0.0f, 0.0f};
}
static inline vf v_set1(float x) {
  return (vf){x, x, x, x};
}
static inline vf v_load(const float *p) {
  vf x;
  memcpy(&x, p, sizeof x);
  return x;
}
static inline void v_store(float *p, vf x) {
  memcpy(p, &x, sizeof x);
}
// Stores past the caches if the instruction set has such stores. Other threads see them after v_stream_end.
static inline __attribute__((unused)) void v_stream(float *p, vf x) {
  v_store(p, x);
}
static inline __attribute__((unused)) void v_stream_end(void) {}
static inline vf v_fma(vf a, vf b, vf c) {
  return a * b + c;
}
static inline __attribute__((unused)) vf v_load_once(const float *p) {
  return v_load(p);
}
static inline vf v_max(vf a, vf b) { // as in SSE: b if either is NaN
  vi m = a > b;
  return (vf)(((vi)a & m) | ((vi)b & ~m));
}
static inline vf v_min(vf a, vf b) {
  vi m = a < b;
  return (vf)(((vi)a & m) | ((vi)b & ~m));
}

// The nearest whole number, and x * 2^n for whole n from -126 to 127.
static inline __attribute__((unused)) vf v_round(vf x) { // if |x| < 2^22: the sum has no room for a fraction
  return (x + 12582912.0f) - 12582912.0f;
}
static inline __attribute__((unused)) vf v_scale2(vf x, vf n) {
  return x * (vf)((__builtin_convertvector(n, vi) + 127) << 23);
}

// All lanes added up, and the largest of them.
static inline __attribute__((unused)) float v_sum(vf x) {
  return (x[0] + x[1]) + (x[2] + x[3]);
}
static inline __attribute__((unused)) float v_most(vf x) {
  const float a = x[0] > x[1] ? x[0] : x[1], b = x[2] > x[3] ? x[2] : x[3];
  return a > b ? a : b;
}

static inline vf v_load_n(const float *p, int64_t n) {
  vf x = v_zero();
  for (int64_t i = 0; i < n; ++i) x[i] = p[i];
  return x;
}
static inline void v_store_n(float *p, vf x, int64_t n) {
  for (int64_t i = 0; i < n; ++i) p[i] = x[i];
}

// Transposes 4 vectors in place: lane i of x[j] and lane j of x[i] change places.
static inline void v_transpose(vf x[LANES]) {
  vf a = x[0], b = x[1], c = x[2], d = x[3];
  x[0] = (vf){a[0], b[0], c[0], d[0]};
  x[1] = (vf){a[1], b[1], c[1], d[1]};
  x[2] = (vf){a[2], b[2], c[2], d[2]};
  x[3] = (vf){a[3], b[3], c[3], d[3]};
}

// Copies `count` runs of `length` floats, one lane every `stride` floats of the source; lanes outside [low, high)
// become zero and are not read. Consecutive runs lie `to_step` and `from_step` floats apart.
static inline __attribute__((always_inline)) void copy_runs(float *to, int64_t to_step, const float *from,
                                                            int64_t from_step, int64_t count, int64_t length,
                                                            int64_t low, int64_t high, int64_t stride) {
  if (high < low) high = low;
  for (int64_t i = 0; i < count; ++i, to += to_step, from += from_step) {
    for (int64_t l = 0; l < low && l < length; ++l) to[l] = 0.0f;
    for (int64_t l = low; l < high; ++l) to[l] = from[l * stride];
    for (int64_t l = high; l < length; ++l) to[l] = 0.0f;
  }
}
