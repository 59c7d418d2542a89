// SPDX-License-Identifier: Apache-2.0
// Activations on vectors, written with the vector arithmetic of GNU C on vf and vi, so that one source serves every
// instruction set. v_max and v_min return their second operand if either is NaN. The data are the second operand here,
// so that NaN passes through. tests/cutlass/test_activations.c checks the errors that the comments give.

static inline vf v_select(vi mask, vf a, vf b) {
  return (vf)(((vi)a & mask) | ((vi)b & ~mask));
}
static inline vf v_abs(vf x) {
  return (vf)((vi)x & 0x7fffffff);
}

// e^x as 2^n * e^r with |r| <= ln(2) / 2. ln(2) is written as a sum of two numbers, and n times the first one is exact
// (Cody and Waite). e^r is Taylor's series of degree 7, whose remainder is below 5.2e-9. The relative error is below
// 2e-7. Saturates instead of overflowing.
static inline __attribute__((unused)) vf v_exp(vf x) {
  x = v_min(v_set1(88.0f), v_max(v_set1(-87.0f), x));
  const vf n = v_round(x * 1.44269504f);
  vf r = v_fma(n, v_set1(-0.693359375f), x);
  r = v_fma(n, v_set1(2.12194440e-4f), r);
  vf p = v_set1(1.0f / 5040.0f);
  p = v_fma(p, r, v_set1(1.0f / 720.0f));
  p = v_fma(p, r, v_set1(1.0f / 120.0f));
  p = v_fma(p, r, v_set1(1.0f / 24.0f));
  p = v_fma(p, r, v_set1(1.0f / 6.0f));
  p = v_fma(p, r, v_set1(0.5f));
  p = v_fma(p, r, v_set1(1.0f));
  p = v_fma(p, r, v_set1(1.0f));
  return v_scale2(p, n);
}

static inline __attribute__((unused)) vf v_relu(vf x) {
  return v_max(v_zero(), x);
}
static inline __attribute__((unused)) vf v_leaky_relu(vf x, float slope) {
  return v_select(x < v_zero(), x * slope, x);
}
static inline __attribute__((unused)) vf v_clip(vf x, float low, float high) {
  return v_min(v_set1(high), v_max(v_set1(low), x));
}
static inline __attribute__((unused)) vf v_sigmoid(vf x) {
  return 1.0f / (1.0f + v_exp(-x));
}
static inline __attribute__((unused)) vf v_hard_sigmoid(vf x, float alpha, float beta) {
  return v_clip(x * alpha + beta, 0.0f, 1.0f);
}
static inline __attribute__((unused)) vf v_hard_swish(vf x) {
  return x * v_hard_sigmoid(x, 1.0f / 6.0f, 0.5f);
}
static inline __attribute__((unused)) vf v_silu(vf x) {
  return x * v_sigmoid(x);
}

// tanh by a polynomial near zero, where the quotient would cancel, and by e^2x elsewhere; relative error below 2e-7.
// The polynomial and its bound are those of tanhf in the Cephes library.
static inline __attribute__((unused)) vf v_tanh(vf x) {
  vf a = v_abs(x), s = x * x;
  vf p = v_set1(-5.70498873e-3f);
  p = v_fma(p, s, v_set1(2.06390888e-2f));
  p = v_fma(p, s, v_set1(-5.37397156e-2f));
  p = v_fma(p, s, v_set1(1.33314422e-1f));
  p = v_fma(p, s, v_set1(-3.33332819e-1f));
  vf near = v_fma(p * s, x, x);
  vf far = 1.0f - 2.0f / (v_exp(a + a) + 1.0f);
  far = (vf)((vi)far | ((vi)x & INT32_MIN));
  return v_select(a < v_set1(0.625f), near, far);
}

// erf by Abramowitz and Stegun 7.1.26, which is off by 1.5e-7. In f32 the absolute error is below 6e-7.
static inline __attribute__((unused)) vf v_erf(vf x) {
  vf a = v_abs(x), t = 1.0f / (1.0f + a * 0.3275911f);
  vf p = v_set1(1.061405429f);
  p = v_fma(p, t, v_set1(-1.453152027f));
  p = v_fma(p, t, v_set1(1.421413741f));
  p = v_fma(p, t, v_set1(-0.284496736f));
  p = v_fma(p, t, v_set1(0.254829592f));
  vf y = 1.0f - p * t * v_exp(-(a * a));
  return (vf)((vi)y | ((vi)x & INT32_MIN));
}
static inline __attribute__((unused)) vf v_gelu(vf x) {
  return 0.5f * x * (1.0f + v_erf(x * 0.707106781f));
}
static inline __attribute__((unused)) vf v_gelu_tanh(vf x) {
  return 0.5f * x * (1.0f + v_tanh(0.797884561f * (x + 0.044715f * x * x * x)));
}
