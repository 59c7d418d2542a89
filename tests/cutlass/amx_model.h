// SPDX-License-Identifier: Apache-2.0
// A scalar model of the tile instructions of AMX, in place of their intrinsics: kernels that are compiled behind this
// file run on any processor. Intel 64 and IA-32 Architectures Software Developer's Manual, vol. 2: LDTILECFG,
// TILELOADD, TILESTORED, TILEZERO, TILERELEASE, TDPBSSD and its kin, TDPBF16PS. What would raise #UD ends the program.
#ifndef BYOC_TESTS_CUTLASS_AMX_MODEL_H_
#define BYOC_TESTS_CUTLASS_AMX_MODEL_H_

#include <immintrin.h>
#include <stdint.h>
#include <string.h>

typedef struct amx_tile_t {
  int row_bytes, rows; // 0: the tile has no shape
  union {
    uint8_t bytes[16][64];
    uint16_t halves[16][32];
    int32_t words[16][16];
    float floats[16][16];
  } at;
} amx_tile_t;
static _Thread_local amx_tile_t amx_tiles[8];

// How often shapes were set, and tiles released: every kernel does both as often.
__attribute__((visibility("default"))) int amx_configured, amx_released;

static amx_tile_t *amx_shaped(int tile) {
  if (amx_tiles[tile].rows == 0) __builtin_trap();
  return &amx_tiles[tile];
}

static void amx_loadconfig(const void *config) {
  const uint8_t *bytes = config;
  if (bytes[0] != 1 || bytes[1] != 0) __builtin_trap();
  for (int i = 2; i < 16; ++i)
    if (bytes[i] != 0 || bytes[32 + i - 2] != 0) __builtin_trap();
  memset(amx_tiles, 0, sizeof(amx_tiles));
  for (int i = 0; i < 8; ++i) {
    uint16_t row_bytes;
    memcpy(&row_bytes, bytes + 16 + 2 * i, sizeof(row_bytes));
    const uint8_t rows = bytes[48 + i];
    if (row_bytes > 64 || rows > 16 || (row_bytes == 0) != (rows == 0)) __builtin_trap();
    amx_tiles[i].row_bytes = row_bytes;
    amx_tiles[i].rows = rows;
  }
  ++amx_configured;
}

static void amx_release(void) {
  memset(amx_tiles, 0, sizeof(amx_tiles));
  ++amx_released;
}

static void amx_zero(int tile) {
  memset(&amx_shaped(tile)->at, 0, sizeof(amx_tiles[tile].at));
}

static void amx_load(int tile, const void *from, int64_t stride) {
  amx_tile_t *t = amx_shaped(tile);
  memset(&t->at, 0, sizeof(t->at));
  for (int i = 0; i < t->rows; ++i) memcpy(t->at.bytes[i], (const char *)from + i * stride, (size_t)t->row_bytes);
}

static void amx_store(int tile, void *to, int64_t stride) {
  const amx_tile_t *t = amx_shaped(tile);
  for (int i = 0; i < t->rows; ++i) memcpy((char *)to + i * stride, t->at.bytes[i], (size_t)t->row_bytes);
}

static void amx_check_shapes(const amx_tile_t *c, const amx_tile_t *a, const amx_tile_t *b) {
  if (c == a || c == b || a == b) __builtin_trap();
  if (c->rows != a->rows || c->row_bytes != b->row_bytes || a->row_bytes != b->rows * 4) __builtin_trap();
  if (c->row_bytes % 4 != 0 || a->row_bytes % 4 != 0) __builtin_trap();
}

static int32_t amx_byte(uint8_t byte, int is_signed) {
  return is_signed ? (int8_t)byte : byte;
}

static void amx_bytes(int to, int first, int second, int first_signed, int second_signed) {
  amx_tile_t *c = amx_shaped(to), *a = amx_shaped(first), *b = amx_shaped(second);
  amx_check_shapes(c, a, b);
  for (int m = 0; m < c->rows; ++m)
    for (int k = 0; k < a->row_bytes; ++k)
      for (int n = 0; n < c->row_bytes / 4; ++n) {
        const int32_t x = amx_byte(a->at.bytes[m][k], first_signed);
        const int32_t y = amx_byte(b->at.bytes[k / 4][n * 4 + k % 4], second_signed);
        c->at.words[m][n] = (int32_t)((uint32_t)c->at.words[m][n] + (uint32_t)(x * y));
      }
}

// Denormals are zero, with their sign.
static float amx_flush(float x) {
  return __builtin_fabsf(x) < 0x1p-126f ? __builtin_copysignf(0.0f, x) : x;
}

static float amx_half(uint16_t half) {
  const uint32_t bits = (uint32_t)half << 16;
  float x;
  memcpy(&x, &bits, sizeof(x));
  return amx_flush(x);
}

// Even and odd terms have sums of their own, by FMA, which are added to each other, and then to what the tile has.
static void amx_bf16(int to, int first, int second) {
  amx_tile_t *c = amx_shaped(to), *a = amx_shaped(first), *b = amx_shaped(second);
  amx_check_shapes(c, a, b);
  for (int m = 0; m < c->rows; ++m) {
    float sums[32] = {0};
    for (int k = 0; k < a->row_bytes / 2; ++k)
      for (int n = 0; n < c->row_bytes / 4; ++n) {
        float *sum = &sums[2 * n + k % 2];
        *sum =
            amx_flush(__builtin_fmaf(amx_half(a->at.halves[m][k]), amx_half(b->at.halves[k / 2][2 * n + k % 2]), *sum));
      }
    for (int n = 0; n < c->row_bytes / 4; ++n) {
      // Not one expression: compilers may contract those.
      const float both = amx_flush(sums[2 * n] + sums[2 * n + 1]);
      c->at.floats[m][n] = amx_flush(amx_flush(c->at.floats[m][n]) + both);
    }
  }
}

#undef _tile_loadd
#undef _tile_stored
#undef _tile_zero
#undef _tile_dpbssd
#undef _tile_dpbsud
#undef _tile_dpbusd
#undef _tile_dpbuud
#undef _tile_dpbf16ps
#define _tile_loadconfig(config)          amx_loadconfig(config)
#define _tile_release()                   amx_release()
#define _tile_loadd(tile, from, stride)   amx_load(tile, from, stride)
#define _tile_stored(tile, to, stride)    amx_store(tile, to, stride)
#define _tile_zero(tile)                  amx_zero(tile)
#define _tile_dpbssd(to, first, second)   amx_bytes(to, first, second, 1, 1)
#define _tile_dpbsud(to, first, second)   amx_bytes(to, first, second, 1, 0)
#define _tile_dpbusd(to, first, second)   amx_bytes(to, first, second, 0, 1)
#define _tile_dpbuud(to, first, second)   amx_bytes(to, first, second, 0, 0)
#define _tile_dpbf16ps(to, first, second) amx_bf16(to, first, second)

#endif // BYOC_TESTS_CUTLASS_AMX_MODEL_H_
