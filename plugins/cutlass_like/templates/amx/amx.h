// SPDX-License-Identifier: Apache-2.0
// Tiles of AMX: their shapes, and one step of a block of 2 x 2 tiles of sums.
//   AMX_DEPTH     words of a step, at most 16: of a row of the first operand, and rows of the second
//   AMX_PRODUCT   the intrinsic: whether bytes are signed, or bf16
typedef struct FN(shapes_t) { // of ldtilecfg
  uint8_t palette, start_row, reserved[14];
  uint16_t row_bytes[16];
  uint8_t rows[16];
} FN(shapes_t);

// Tiles 0 to 5 get `height` rows.
static inline void FN(configure)(int64_t height) {
  FN(shapes_t) shapes = {.palette = 1};
  for (int i = 0; i < 8; ++i) {
    shapes.row_bytes[i] = i == 4 || i == 5 ? AMX_DEPTH * 4 : 64;
    shapes.rows[i] = i < 6 ? (uint8_t)height : AMX_DEPTH;
  }
  __asm__ volatile("" : : "r"(&shapes) : "memory");
  _tile_loadconfig(&shapes);
}

static inline __attribute__((always_inline)) void FN(clear_sums)(int two_rows, int two_columns) {
  _tile_zero(0);
  if (two_columns) _tile_zero(1);
  if (two_rows) _tile_zero(2);
  if (two_rows && two_columns) _tile_zero(3);
}

// Adds the products of tiles at a0 and a1 by those at b0 and b1; strides are in bytes. The second tile of an operand is
// used if there are two.
static inline __attribute__((always_inline)) void FN(add_step)(const void *a0, const void *a1, int64_t a_stride,
                                                               const void *b0, const void *b1, int64_t b_stride,
                                                               int two_rows, int two_columns) {
  _tile_loadd(6, b0, b_stride);
  _tile_loadd(4, a0, a_stride);
  AMX_PRODUCT(0, 4, 6);
  if (two_columns) {
    _tile_loadd(7, b1, b_stride);
    AMX_PRODUCT(1, 4, 7);
  }
  if (two_rows) {
    _tile_loadd(5, a1, a_stride);
    AMX_PRODUCT(2, 5, 6);
    if (two_columns) AMX_PRODUCT(3, 5, 7);
  }
}

// The sums of a block, row by row: 16 words of the first tile, then 16 of the second.
typedef struct FN(sums_t) {
  _Alignas(64) int32_t at[32][32];
} FN(sums_t);

static inline __attribute__((always_inline)) void FN(store_sums)(FN(sums_t) * sums, int two_rows, int two_columns) {
  _tile_stored(0, &sums->at[0][0], 128);
  if (two_columns) _tile_stored(1, &sums->at[0][16], 128);
  if (two_rows) _tile_stored(2, &sums->at[16][0], 128);
  if (two_rows && two_columns) _tile_stored(3, &sums->at[16][16], 128);
  __asm__ volatile("" : : "r"(sums) : "memory");
}
