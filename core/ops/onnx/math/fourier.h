// SPDX-License-Identifier: Apache-2.0
// Fast Fourier transforms of lines of complex numbers, as loops, in f64. Lengths whose prime factors are all small take
// one pass for each factor (Stockham's order: no bit reversal). Other lengths become a convolution with a chirp, over a
// power of two (Bluestein). The length may be dynamic: the kernel then finds the factors.
//
// Example:
//   byoc_fourier_t f = {.b = b, .length = length, .room = room, .tables = tables};
//   byoc_fourier_begin(&f); // before the parallel loop: roots of unity and the chirp
//   const byoc_loop_expr_t *base = byoc_fourier_base(&f, chunk); // for each chunk of lines; for each line of it:
//   store_points(byoc_fourier_part(&f, base, 0), byoc_fourier_part(&f, base, 1)); // real and imaginary, k < points
//   const byoc_loop_expr_t *spectrum = byoc_fourier_transform(&f, base); // has parts in the same way
#ifndef BYOC_CORE_OPS_ONNX_MATH_FOURIER_H_
#define BYOC_CORE_OPS_ONNX_MATH_FOURIER_H_

#include "core/op/util.h"

typedef struct byoc_fourier_t {
  byoc_loop_builder_t *b;
  const byoc_loop_expr_t *length;          // at least 0
  const byoc_loop_buffer_t *room, *tables; // f64, of the sizes below
  const byoc_loop_expr_t *points;          // of the passes: the length, or the power of two; set by _begin, as are all
  const byoc_loop_expr_t *is_chirped;      // bool
} byoc_fourier_t;

// length / 2 + 1: the bins of a one-sided spectrum.
static inline const byoc_loop_expr_t *byoc_fourier_half(byoc_loop_builder_t *b, const byoc_loop_expr_t *length) {
  return BYOC_LADD(b, BYOC_LDIV(b, length, byoc_loop_int(b, 2)), byoc_loop_int(b, 1));
}

// Lines of a chunk share scratch memory; there is at least one chunk. Chunk i has the lines from lines * i / chunks on.
const byoc_loop_expr_t *byoc_fourier_chunks(byoc_loop_builder_t *b, const byoc_loop_expr_t *lines);
// The numbers of elements of the scratch memory for so many lines, and of the tables. The constant forms return -1 if
// numbers are too large.
const byoc_loop_expr_t *byoc_fourier_scratch(byoc_loop_builder_t *b, const byoc_loop_expr_t *length,
                                             const byoc_loop_expr_t *lines);
const byoc_loop_expr_t *byoc_fourier_tables(byoc_loop_builder_t *b, const byoc_loop_expr_t *length);
int64_t byoc_fourier_known_scratch(int64_t length, int64_t lines);
int64_t byoc_fourier_known_tables(int64_t length);

void byoc_fourier_begin(byoc_fourier_t *f);
const byoc_loop_expr_t *byoc_fourier_base(const byoc_fourier_t *f, const byoc_loop_expr_t *chunk);
const byoc_loop_expr_t *byoc_fourier_part(const byoc_fourier_t *f, const byoc_loop_expr_t *base, int part);
const byoc_loop_expr_t *byoc_fourier_transform(const byoc_fourier_t *f, const byoc_loop_expr_t *base);

#endif // BYOC_CORE_OPS_ONNX_MATH_FOURIER_H_
