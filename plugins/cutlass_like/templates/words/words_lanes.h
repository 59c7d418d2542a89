// SPDX-License-Identifier: Apache-2.0
// The parts of words.h that an instruction set has no instructions for, lane by lane.
#if !defined(HAS_PACK_ROWS)
static inline vi w_pack_rows(const uint8_t *p, int64_t step, uint8_t flip) {
  vi x = {0};
  for (int r = 0; r < 4; ++r) x |= (w_bytes(p + r * step, LANES, 1) ^ flip) << (8 * r);
  return x;
}
#endif
#if !defined(HAS_SPREAD)
static inline vi w_spread(const void *p, int64_t stride, int unit) {
  if (unit == 2) return w_spread_pairs(p, stride);
  vi x = {0};
  for (int64_t l = 0; l < LANES; ++l) x[l] = w_word((const char *)p + l * stride);
  return x;
}
#endif
#if defined(LANE_BY_LANE)
static inline int w_any_above(vf x, float limit) {
  vi above = (vi)(x > v_set1(limit));
  int any = 0;
  for (int l = 0; l < LANES; ++l) any |= above[l];
  return any;
}
static inline vi w_bytes(const uint8_t *p, int64_t n, int64_t stride) {
  if (stride == 1 && n == LANES) {
    uint8_t __attribute__((vector_size(LANES))) bytes;
    memcpy(&bytes, p, sizeof bytes);
    return __builtin_convertvector(bytes, vi);
  }
  vi x = {0};
  for (int64_t l = 0; l < n; ++l) x[l] = p[l * stride];
  return x;
}
static inline vf w_floats(const float *p, int64_t n, int64_t stride) {
  if (stride == 1) return n == LANES ? v_load(p) : v_load_n(p, n);
  vf x = v_zero();
  for (int64_t l = 0; l < n; ++l) x[l] = p[l * stride];
  return x;
}
static inline void w_store_low(void *p, vi x, int64_t n, int bits) {
  for (int64_t l = 0; l < n; ++l)
    if (bits == 8)
      ((uint8_t *)p)[l] = (uint8_t)x[l];
    else
      ((int16_t *)p)[l] = (int16_t)x[l];
}
static inline void w_store_words(void *p, vi x, uint32_t valid) {
  char *to = p;
  if (valid == W_ALL) {
    memcpy(p, &x, sizeof x);
    return;
  }
  for (int l = 0; l < LANES; ++l)
    if (valid >> l & 1) memcpy(to, &(int32_t){x[l]}, 4), to += 4;
}
static inline void w_store_bytes(uint8_t *p, vi x, uint32_t valid) {
  for (int l = 0; l < LANES; ++l)
    if (valid >> l & 1) *p++ = (uint8_t)x[l];
}
static inline vf w_load_valid(const float *p, uint32_t valid) {
  vf x = v_zero();
  for (int l = 0; l < LANES; ++l)
    if (valid >> l & 1) x[l] = *p++;
  return x;
}
static inline vi w_load_valid_bytes(const uint8_t *p, uint32_t valid) {
  vi x = {0};
  for (int l = 0; l < LANES; ++l)
    if (valid >> l & 1) x[l] = *p++;
  return x;
}
#endif
