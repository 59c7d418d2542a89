// SPDX-License-Identifier: Apache-2.0
// Transposes at the boundary of a function.
#include "layout.h"

#include <string.h>

// Square tiles: each cache line of either side is used whole while it is there.
enum { TILE = 16 };

typedef struct transpose_t {
  const float *from;
  float *to;
  int64_t rows, columns, row_tiles;
} transpose_t;

// One iteration is a strip of TILE rows of one image.
static void transpose_strips(void *argument, int64_t begin, int64_t end, int32_t worker) {
  (void)worker;
  const transpose_t *t = argument;
  for (int64_t strip = begin; strip < end; ++strip) {
    const int64_t image = strip / t->row_tiles * t->rows * t->columns;
    const int64_t row_begin = strip % t->row_tiles * TILE;
    const int64_t row_end = row_begin + TILE < t->rows ? row_begin + TILE : t->rows;
    for (int64_t column_begin = 0; column_begin < t->columns; column_begin += TILE) {
      const int64_t column_end = column_begin + TILE < t->columns ? column_begin + TILE : t->columns;
      for (int64_t column = column_begin; column < column_end; ++column)
        for (int64_t row = row_begin; row < row_end; ++row)
          t->to[image + column * t->rows + row] = t->from[image + row * t->columns + column];
    }
  }
}

void xnnpack_transpose(const byoc_runtime_t *runtime, const float *from, float *to, int64_t batch, int64_t rows,
                       int64_t columns) {
  if (rows == 1 || columns == 1) {
    memcpy(to, from, (size_t)(batch * rows * columns) * sizeof(*to));
    return;
  }
  transpose_t t = {from, to, rows, columns, (rows + TILE - 1) / TILE};
  const int64_t grain = 1 + 16384 / (TILE * columns); // shares of at least 64 KB
  runtime->parallel_for(runtime->self, transpose_strips, &t, batch * t.row_tiles, grain);
}
