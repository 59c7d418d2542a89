// SPDX-License-Identifier: Apache-2.0
// Winograd's minimal filtering F(m, 3): m outputs of a filter with 3 taps from m + 2 inputs by m + 2 products instead
// of 3 * m. Points 0, 1, -1, infinity for m = 2; 2 and -2 in addition for m = 4. Along columns first, then along rows,
// the same transforms give the two-dimensional form.

// d (m + 2 inputs) → t, the inputs at each point.
static inline __attribute__((always_inline, unused)) void winograd_input_2(const vf *d, vf *t) {
  t[0] = d[0] - d[2];
  t[1] = d[1] + d[2];
  t[2] = d[2] - d[1];
  t[3] = d[1] - d[3];
}
static inline __attribute__((always_inline, unused)) void winograd_input_4(const vf *d, vf *t) {
  const vf four = v_set1(4.0f), two = v_set1(2.0f), minus_four = v_set1(-4.0f), minus_five = v_set1(-5.0f);
  const vf a = v_fma(minus_four, d[2], d[4]), b = v_fma(minus_four, d[1], d[3]);
  const vf c = d[4] - d[2], e = d[3] - d[1];
  t[0] = v_fma(four, d[0], v_fma(minus_five, d[2], d[4]));
  t[1] = a + b;
  t[2] = a - b;
  t[3] = v_fma(two, e, c);
  t[4] = c - two * e;
  t[5] = v_fma(four, d[1], v_fma(minus_five, d[3], d[5]));
}

// p (m + 2 products) → y (m outputs).
static inline __attribute__((always_inline, unused)) void winograd_output_2(const vf *p, vf *y) {
  y[0] = p[0] + p[1] + p[2];
  y[1] = p[1] - p[2] - p[3];
}
static inline __attribute__((always_inline, unused)) void winograd_output_4(const vf *p, vf *y) {
  const vf a = p[1] + p[2], b = p[1] - p[2], c = p[3] + p[4], e = p[3] - p[4];
  y[0] = p[0] + a + c;
  y[1] = v_fma(v_set1(2.0f), e, b);
  y[2] = v_fma(v_set1(4.0f), c, a);
  y[3] = v_fma(v_set1(8.0f), e, b) + p[5];
}

// f (3 taps) → t, the filter at each point, as pack/pack_winograd.c has it.
static inline __attribute__((always_inline, unused)) void winograd_filter_2(const vf *f, vf *t) {
  const vf ends = f[0] + f[2];
  t[0] = f[0];
  t[1] = 0.5f * (ends + f[1]);
  t[2] = 0.5f * (ends - f[1]);
  t[3] = f[2];
}
static inline __attribute__((always_inline, unused)) void winograd_filter_4(const vf *f, vf *t) {
  const vf ends = f[0] + f[2], far = v_fma(v_set1(4.0f), f[2], f[0]), middle = f[1] + f[1];
  t[0] = 0.25f * f[0];
  t[1] = (-1.0f / 6.0f) * (ends + f[1]);
  t[2] = (-1.0f / 6.0f) * (ends - f[1]);
  t[3] = (1.0f / 24.0f) * (far + middle);
  t[4] = (1.0f / 24.0f) * (far - middle);
  t[5] = f[2];
}
