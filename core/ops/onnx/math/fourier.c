// SPDX-License-Identifier: Apache-2.0
// Fast Fourier transforms as loops (fourier.h).
#include "core/ops/onnx/math/fourier.h"

#include <math.h>

#define BIN(op, x, y) byoc_loop_binary(b, BYOC_LOOP_OP_##op, (x), (y))
#define UN(op, x)     byoc_loop_unary(b, BYOC_LOOP_OP_##op, (x))
#define ADD(x, y)     BYOC_LADD(b, (x), (y))
#define SUB(x, y)     BYOC_LSUB(b, (x), (y))
#define MUL(x, y)     BYOC_LMUL(b, (x), (y))
#define INT(value)    byoc_loop_int(b, (value))
#define F64(value)    byoc_loop_const(b, BYOC_DTYPE_F64, (value))

// A pass of radix p costs p complex products for each point: for larger primes than this the chirp is faster. Lines are
// divided into so many chunks, each with its own scratch memory. Lengths are limited to one whose scratch memory no
// machine has.
enum { MOST_RADIX = 31, MOST_CHUNKS = 32 };
#define LONGEST ((int64_t)1 << 40)

// ---- sizes ----

static int64_t without_factor(int64_t rest, int64_t p) {
  while (rest > 1 && rest % p == 0) rest /= p;
  return rest;
}

static bool is_smooth(int64_t length) {
  for (int64_t p = 2; p <= MOST_RADIX; ++p) length = without_factor(length, p);
  return length <= 1;
}

// At least 1: half the spectrum of length 0 has one bin.
static int64_t known_points(int64_t length) {
  if (is_smooth(length)) return length > 1 ? length : 1;
  int64_t points = 1;
  while (points < 2 * length - 1) points *= 2;
  return points;
}

int64_t byoc_fourier_known_scratch(int64_t length, int64_t lines) {
  if (length < 0 || length > LONGEST || lines < 0) return -1;
  return known_points(length) * 4 * (lines < 1 ? 1 : lines < MOST_CHUNKS ? lines : MOST_CHUNKS);
}

int64_t byoc_fourier_known_tables(int64_t length) {
  if (length < 0 || length > LONGEST) return -1;
  return is_smooth(length) ? 2 * known_points(length) : 4 * known_points(length) + 2 * length;
}

// Sets *out_points and *out_is_chirped for a length that may be known only when the kernel runs.
static void find_points(byoc_loop_builder_t *b, const byoc_loop_expr_t *length, const byoc_loop_expr_t **out_points,
                        const byoc_loop_expr_t **out_is_chirped) {
  int64_t known = 0;
  if (byoc_loop_is_int(length, &known)) {
    *out_points = INT(known_points(known));
    *out_is_chirped = byoc_loop_const_int(b, BYOC_DTYPE_BOOL, !is_smooth(known));
    return;
  }
  const byoc_loop_expr_t *rest = byoc_loop_mutable(b, "rest", BYOC_LMAX(b, length, INT(1)));
  const byoc_loop_expr_t *p = byoc_loop_for(b, BYOC_LOOP_SERIAL, "p", INT(2), INT(MOST_RADIX + 1));
  byoc_loop_while(b, BIN(EQ, BYOC_LMOD(b, rest, p), INT(0)));
  byoc_loop_assign(b, rest, BYOC_LDIV(b, rest, p));
  byoc_emit_close(b, 2);
  *out_is_chirped = byoc_loop_let(b, "is_chirped", BIN(NE, rest, INT(1)));
  const byoc_loop_expr_t *power = byoc_loop_mutable(b, "power", INT(1));
  byoc_loop_while(b, BIN(LT, power, SUB(MUL(length, INT(2)), INT(1))));
  byoc_loop_assign(b, power, MUL(power, INT(2)));
  byoc_loop_end(b);
  *out_points = byoc_loop_let(b, "points", byoc_loop_select(b, *out_is_chirped, power, BYOC_LMAX(b, length, INT(1))));
}

static const byoc_loop_expr_t *within_bounds(byoc_loop_builder_t *b, const byoc_loop_expr_t *length) {
  int64_t known = 0;
  if (byoc_loop_is_int(length, &known)) return INT(known < 0 ? 0 : known > LONGEST ? LONGEST : known);
  return byoc_loop_let(b, "length", BYOC_LMIN(b, BYOC_LMAX(b, length, INT(0)), INT(LONGEST)));
}

const byoc_loop_expr_t *byoc_fourier_chunks(byoc_loop_builder_t *b, const byoc_loop_expr_t *lines) {
  return BYOC_LMAX(b, BYOC_LMIN(b, lines, INT(MOST_CHUNKS)), INT(1));
}

const byoc_loop_expr_t *byoc_fourier_scratch(byoc_loop_builder_t *b, const byoc_loop_expr_t *length,
                                             const byoc_loop_expr_t *lines) {
  const byoc_loop_expr_t *points, *is_chirped;
  find_points(b, within_bounds(b, length), &points, &is_chirped);
  return MUL(MUL(points, INT(4)), byoc_fourier_chunks(b, lines));
}

const byoc_loop_expr_t *byoc_fourier_tables(byoc_loop_builder_t *b, const byoc_loop_expr_t *length) {
  const byoc_loop_expr_t *points, *is_chirped;
  length = within_bounds(b, length);
  find_points(b, length, &points, &is_chirped);
  const byoc_loop_expr_t *chirped = ADD(MUL(length, INT(2)), MUL(points, INT(4)));
  return byoc_loop_select(b, is_chirped, chirped, MUL(points, INT(2)));
}

// ---- places ----

// Tables: the roots of unity exp(-2 pi i k / points), then the chirp's spectrum and the chirp; real parts before
// imaginary ones.
static const byoc_loop_expr_t *load_table(const byoc_fourier_t *f, const byoc_loop_expr_t *begin,
                                          const byoc_loop_expr_t *count, const byoc_loop_expr_t *k, int part) {
  byoc_loop_builder_t *b = f->b;
  return byoc_loop_load(b, f->tables, ADD(ADD(begin, MUL(count, INT(part))), k));
}

const byoc_loop_expr_t *byoc_fourier_base(const byoc_fourier_t *f, const byoc_loop_expr_t *chunk) {
  byoc_loop_builder_t *b = f->b;
  return byoc_loop_let(b, "base", MUL(chunk, MUL(f->points, INT(4))));
}

const byoc_loop_expr_t *byoc_fourier_part(const byoc_fourier_t *f, const byoc_loop_expr_t *base, int part) {
  byoc_loop_builder_t *b = f->b;
  return part == 0 ? base : ADD(base, f->points);
}

typedef struct pair_t {
  const byoc_loop_expr_t *part[2];
} pair_t;

static pair_t load_pair(const byoc_fourier_t *f, const byoc_loop_expr_t *base, const byoc_loop_expr_t *k) {
  byoc_loop_builder_t *b = f->b;
  pair_t x;
  for (int i = 0; i < 2; ++i)
    x.part[i] = byoc_loop_let(b, "x", byoc_loop_load(b, f->room, ADD(byoc_fourier_part(f, base, i), k)));
  return x;
}

static void store_pair(const byoc_fourier_t *f, const byoc_loop_expr_t *base, const byoc_loop_expr_t *k, pair_t x) {
  byoc_loop_builder_t *b = f->b;
  for (int i = 0; i < 2; ++i) byoc_loop_store(b, f->room, ADD(byoc_fourier_part(f, base, i), k), x.part[i]);
}

// ---- arithmetic ----

static pair_t named(byoc_loop_builder_t *b, const byoc_loop_expr_t *re, const byoc_loop_expr_t *im) {
  return (pair_t){{byoc_loop_let(b, "re", re), byoc_loop_let(b, "im", im)}};
}
static pair_t plus(byoc_loop_builder_t *b, pair_t x, pair_t y) {
  return named(b, ADD(x.part[0], y.part[0]), ADD(x.part[1], y.part[1]));
}
static pair_t minus(byoc_loop_builder_t *b, pair_t x, pair_t y) {
  return named(b, SUB(x.part[0], y.part[0]), SUB(x.part[1], y.part[1]));
}
static pair_t times(byoc_loop_builder_t *b, pair_t x, pair_t y) {
  return named(b, SUB(MUL(x.part[0], y.part[0]), MUL(x.part[1], y.part[1])),
               ADD(MUL(x.part[0], y.part[1]), MUL(x.part[1], y.part[0])));
}
static pair_t scaled(byoc_loop_builder_t *b, pair_t x, double factor) {
  return named(b, MUL(x.part[0], F64(factor)), MUL(x.part[1], F64(factor)));
}
static pair_t swapped(pair_t x) {
  return (pair_t){{x.part[1], x.part[0]}};
}
// x - i y and x + i y
static pair_t minus_i(byoc_loop_builder_t *b, pair_t x, pair_t y) {
  return named(b, ADD(x.part[0], y.part[1]), SUB(x.part[1], y.part[0]));
}
static pair_t plus_i(byoc_loop_builder_t *b, pair_t x, pair_t y) {
  return named(b, SUB(x.part[0], y.part[1]), ADD(x.part[1], y.part[0]));
}

// The transforms of 2 to 5 points, in place.
static void butterfly_2(byoc_loop_builder_t *b, pair_t *x) {
  const pair_t sum = plus(b, x[0], x[1]);
  x[1] = minus(b, x[0], x[1]), x[0] = sum;
}

static void butterfly_3(byoc_loop_builder_t *b, pair_t *x) {
  const pair_t sum = plus(b, x[1], x[2]), across = scaled(b, minus(b, x[1], x[2]), sqrt(0.75));
  const pair_t middle = minus(b, x[0], scaled(b, sum, 0.5));
  x[0] = plus(b, x[0], sum), x[1] = minus_i(b, middle, across), x[2] = plus_i(b, middle, across);
}

static void butterfly_4(byoc_loop_builder_t *b, pair_t *x) {
  const pair_t even = plus(b, x[0], x[2]), odd = plus(b, x[1], x[3]);
  const pair_t even_across = minus(b, x[0], x[2]), odd_across = minus(b, x[1], x[3]);
  x[0] = plus(b, even, odd), x[2] = minus(b, even, odd);
  x[1] = minus_i(b, even_across, odd_across), x[3] = plus_i(b, even_across, odd_across);
}

static void butterfly_5(byoc_loop_builder_t *b, pair_t *x) {
  const double c1 = cos(0.4 * M_PI), c2 = cos(0.8 * M_PI), s1 = sin(0.4 * M_PI), s2 = sin(0.8 * M_PI);
  const pair_t near = plus(b, x[1], x[4]), far = plus(b, x[2], x[3]);
  const pair_t near_across = minus(b, x[1], x[4]), far_across = minus(b, x[2], x[3]);
  const pair_t first = plus(b, x[0], plus(b, scaled(b, near, c1), scaled(b, far, c2)));
  const pair_t second = plus(b, x[0], plus(b, scaled(b, near, c2), scaled(b, far, c1)));
  const pair_t first_across = plus(b, scaled(b, near_across, s1), scaled(b, far_across, s2));
  const pair_t second_across = minus(b, scaled(b, near_across, s2), scaled(b, far_across, s1));
  x[0] = plus(b, x[0], plus(b, near, far));
  x[1] = minus_i(b, first, first_across), x[4] = plus_i(b, first, first_across);
  x[2] = minus_i(b, second, second_across), x[3] = plus_i(b, second, second_across);
}

static void butterfly(byoc_loop_builder_t *b, int radix, pair_t *x) {
  if (radix == 2) butterfly_2(b, x);
  if (radix == 3) butterfly_3(b, x);
  if (radix == 4) butterfly_4(b, x);
  if (radix == 5) butterfly_5(b, x);
}

// ---- passes ----

// A pass combines `radix` times `turns` spectra, whose points are `stride` apart, into `turns` spectra.
typedef struct pass_t {
  const byoc_fourier_t *f;
  const byoc_loop_expr_t *from, *to;      // bases
  const byoc_loop_expr_t *stride, *turns; // stride * radix * turns = points
} pass_t;

static pair_t root_of_unity(const byoc_fourier_t *f, const byoc_loop_expr_t *k) {
  byoc_loop_builder_t *b = f->b;
  return named(b, load_table(f, INT(0), f->points, k, 0), load_table(f, INT(0), f->points, k, 1));
}

// Points j, j + turns, ... of the spectra at place q of the stride.
static void emit_points(const pass_t *p, int radix, const byoc_loop_expr_t *j, const byoc_loop_expr_t *q,
                        const pair_t *roots) {
  byoc_loop_builder_t *b = p->f->b;
  pair_t x[5];
  for (int u = 0; u < radix; ++u)
    x[u] = load_pair(p->f, p->from, ADD(q, MUL(p->stride, ADD(j, MUL(p->turns, INT(u))))));
  butterfly(b, radix, x);
  for (int t = 0; t < radix; ++t) {
    if (t > 0 && roots != NULL) x[t] = times(b, x[t], roots[t]);
    store_pair(p->f, p->to, ADD(q, MUL(p->stride, ADD(MUL(j, INT(radix)), INT(t)))), x[t]);
  }
}

static void emit_pass(const pass_t *p, int radix) {
  byoc_loop_builder_t *b = p->f->b;
  pair_t roots[5];
  const bool is_first = byoc_loop_is_const(p->stride, 1), is_last = byoc_loop_is_const(p->turns, 1);
  const byoc_loop_for_kind_t kind = is_first ? BYOC_LOOP_VECTOR : BYOC_LOOP_SERIAL;
  const byoc_loop_expr_t *j = is_last ? INT(0) : byoc_loop_for(b, kind, "j", INT(0), p->turns);
  for (int t = 1; t < radix && !is_last; ++t) roots[t] = root_of_unity(p->f, MUL(j, MUL(p->stride, INT(t))));
  const byoc_loop_expr_t *q = is_first ? INT(0) : byoc_loop_for(b, BYOC_LOOP_VECTOR, "q", INT(0), p->stride);
  emit_points(p, radix, j, q, is_last ? NULL : roots);
  byoc_emit_close(b, !is_first + !is_last);
}

// A pass of any radix: a sum over the points with roots of unity from the table.
static void emit_sums(const pass_t *p, const byoc_loop_expr_t *radix) {
  byoc_loop_builder_t *b = p->f->b;
  const byoc_loop_expr_t *j = byoc_loop_for(b, BYOC_LOOP_SERIAL, "j", INT(0), p->turns);
  const byoc_loop_expr_t *t = byoc_loop_for(b, BYOC_LOOP_SERIAL, "t", INT(0), radix);
  const byoc_loop_expr_t *to = byoc_loop_let(b, "to", MUL(p->stride, ADD(MUL(j, radix), t)));
  const byoc_loop_expr_t *q = byoc_loop_for(b, BYOC_LOOP_VECTOR, "q", INT(0), p->stride);
  store_pair(p->f, p->to, ADD(q, to), (pair_t){{F64(0), F64(0)}});
  byoc_loop_end(b);
  const byoc_loop_expr_t *u = byoc_loop_for(b, BYOC_LOOP_SERIAL, "u", INT(0), radix);
  const byoc_loop_expr_t *share = BYOC_LDIV(b, p->f->points, radix);
  const byoc_loop_expr_t *turn = ADD(MUL(BYOC_LMOD(b, MUL(u, t), radix), share), MUL(MUL(j, t), p->stride));
  const pair_t root = root_of_unity(p->f, byoc_loop_let(b, "turn", BYOC_LMOD(b, turn, p->f->points)));
  const byoc_loop_expr_t *at = byoc_loop_let(b, "at", MUL(p->stride, ADD(j, MUL(p->turns, u))));
  q = byoc_loop_for(b, BYOC_LOOP_VECTOR, "q", INT(0), p->stride);
  const pair_t term = times(b, load_pair(p->f, p->from, ADD(q, at)), root);
  store_pair(p->f, p->to, ADD(q, to), plus(b, load_pair(p->f, p->to, ADD(q, to)), term));
  byoc_emit_close(b, 4);
}

static int64_t next_radix(int64_t rest) {
  static const int64_t fast[] = {4, 2, 3, 5};
  for (int i = 0; i < 4; ++i) {
    if (rest % fast[i] == 0) return fast[i];
  }
  int64_t p = 7;
  while (rest % p != 0) p += 2;
  return p;
}

// The two halves of a chunk's scratch memory.
static const byoc_loop_expr_t *half_of(const byoc_fourier_t *f, const byoc_loop_expr_t *base,
                                       const byoc_loop_expr_t *which) {
  byoc_loop_builder_t *b = f->b;
  return ADD(base, MUL(which, MUL(f->points, INT(2))));
}

// Transforms from half `which` of the scratch memory at `base`; returns the half with the spectrum.
static const byoc_loop_expr_t *emit_known_passes(const byoc_fourier_t *f, const byoc_loop_expr_t *base,
                                                 const byoc_loop_expr_t *which, int64_t points) {
  byoc_loop_builder_t *b = f->b;
  for (int64_t stride = 1; stride < points;) {
    const int64_t radix = next_radix(points / stride);
    const byoc_loop_expr_t *other = SUB(INT(1), which);
    const pass_t pass = {f, half_of(f, base, which), half_of(f, base, other), INT(stride),
                         INT(points / stride / radix)};
    if (radix <= 5)
      emit_pass(&pass, (int)radix);
    else
      emit_sums(&pass, INT(radix));
    stride *= radix;
    which = other;
  }
  return which;
}

// One of the passes for a radix that is found when the kernel runs: `fast` lists those that are tried, ended by 0.
static void emit_found_pass(pass_t p, const int *fast, const byoc_loop_expr_t *rest, const byoc_loop_expr_t *radix) {
  byoc_loop_builder_t *b = p.f->b;
  if (*fast == 0) {
    byoc_loop_assign(b, radix, INT(7));
    byoc_loop_while(b, BIN(NE, BYOC_LMOD(b, rest, radix), INT(0)));
    byoc_loop_assign(b, radix, ADD(radix, INT(2)));
    byoc_loop_end(b);
    p.turns = byoc_loop_let(b, "turns", BYOC_LDIV(b, rest, radix));
    emit_sums(&p, radix);
    return;
  }
  byoc_loop_if(b, BIN(EQ, BYOC_LMOD(b, rest, INT(*fast)), INT(0)));
  byoc_loop_assign(b, radix, INT(*fast));
  pass_t own = p;
  own.turns = byoc_loop_let(b, "turns", BYOC_LDIV(b, rest, INT(*fast)));
  emit_pass(&own, *fast);
  byoc_loop_else(b);
  emit_found_pass(p, fast + 1, rest, radix);
  byoc_loop_end(b);
}

static const byoc_loop_expr_t *emit_open_passes(const byoc_fourier_t *f, const byoc_loop_expr_t *base,
                                                const byoc_loop_expr_t *first) {
  static const int fast[] = {4, 2, 3, 5, 0};
  byoc_loop_builder_t *b = f->b;
  const byoc_loop_expr_t *which = byoc_loop_mutable(b, "which", first);
  const byoc_loop_expr_t *stride = byoc_loop_mutable(b, "stride", INT(1));
  const byoc_loop_expr_t *rest = byoc_loop_mutable(b, "rest", f->points);
  const byoc_loop_expr_t *radix = byoc_loop_mutable(b, "radix", INT(1));
  byoc_loop_while(b, BIN(LT, INT(1), rest));
  const byoc_loop_expr_t *now = byoc_loop_let(b, "now", stride);
  const pass_t pass = {.f = f,
                       .from = byoc_loop_let(b, "from", half_of(f, base, which)),
                       .to = byoc_loop_let(b, "to", half_of(f, base, SUB(INT(1), which))),
                       .stride = now};
  emit_found_pass(pass, fast, rest, radix);
  byoc_loop_assign(b, stride, MUL(stride, radix));
  byoc_loop_assign(b, rest, BYOC_LDIV(b, rest, radix));
  byoc_loop_assign(b, which, SUB(INT(1), which));
  byoc_loop_end(b);
  return which;
}

static const byoc_loop_expr_t *emit_passes(const byoc_fourier_t *f, const byoc_loop_expr_t *base,
                                           const byoc_loop_expr_t *which) {
  int64_t points = 0;
  if (byoc_loop_is_int(f->points, &points)) return emit_known_passes(f, base, which, points);
  return emit_open_passes(f, base, which);
}

// ---- tables and the chirp ----

// exp(-i pi k / half): the angle is taken from a remainder, so that it is exact for any k.
static void store_root(const byoc_fourier_t *f, const byoc_loop_expr_t *begin, const byoc_loop_expr_t *count,
                       const byoc_loop_expr_t *at, const byoc_loop_expr_t *k, const byoc_loop_expr_t *half) {
  byoc_loop_builder_t *b = f->b;
  const byoc_loop_expr_t *turn = BIN(DIV, byoc_emit_as(b, BYOC_DTYPE_F64, k), byoc_emit_as(b, BYOC_DTYPE_F64, half));
  const byoc_loop_expr_t *angle = byoc_loop_let(b, "angle", MUL(turn, F64(-M_PI)));
  byoc_loop_store(b, f->tables, ADD(begin, at), UN(COS, angle));
  byoc_loop_store(b, f->tables, ADD(ADD(begin, count), at), UN(SIN, angle));
}

static const byoc_loop_expr_t *spectrum_begin(const byoc_fourier_t *f) {
  byoc_loop_builder_t *b = f->b;
  return MUL(f->points, INT(2));
}

static const byoc_loop_expr_t *chirp_begin(const byoc_fourier_t *f) {
  byoc_loop_builder_t *b = f->b;
  return MUL(f->points, INT(4));
}

static pair_t chirp_at(const byoc_fourier_t *f, const byoc_loop_expr_t *k) {
  byoc_loop_builder_t *b = f->b;
  return named(b, load_table(f, chirp_begin(f), f->length, k, 0), load_table(f, chirp_begin(f), f->length, k, 1));
}

// False if the length is known to need no chirp; otherwise opens a block that runs if it needs one.
static bool open_chirped(const byoc_fourier_t *f) {
  if (byoc_loop_is_const(f->is_chirped, 0)) return false;
  byoc_loop_if(f->b, f->is_chirped);
  return true;
}

// The chirp exp(-i pi k² / length), and the spectrum of its conjugate, mirrored about 0.
static void fill_chirp(const byoc_fourier_t *f) {
  byoc_loop_builder_t *b = f->b;
  const byoc_loop_expr_t *zero = INT(0), *k = byoc_loop_for(b, BYOC_LOOP_SERIAL, "k", zero, f->length);
  store_root(f, chirp_begin(f), f->length, k, BYOC_LMOD(b, MUL(k, k), MUL(f->length, INT(2))), f->length);
  byoc_loop_end(b);
  k = byoc_loop_for(b, BYOC_LOOP_SERIAL, "k", zero, f->points);
  const byoc_loop_expr_t *near = byoc_loop_let(b, "near", BYOC_LMIN(b, k, SUB(f->points, k)));
  const byoc_loop_expr_t *inside = byoc_loop_let(b, "inside", BIN(LT, near, f->length));
  pair_t x;
  for (int i = 0; i < 2; ++i) {
    const byoc_loop_expr_t *value = load_table(f, chirp_begin(f), f->length, near, i);
    x.part[i] = byoc_loop_select(b, inside, i == 0 ? value : UN(NEG, value), F64(0));
  }
  store_pair(f, zero, k, x);
  byoc_loop_end(b);
  const byoc_loop_expr_t *half = emit_passes(f, zero, zero);
  k = byoc_loop_for(b, BYOC_LOOP_VECTOR, "k", zero, MUL(f->points, INT(2)));
  byoc_loop_store(b, f->tables, ADD(spectrum_begin(f), k), byoc_loop_load(b, f->room, ADD(half_of(f, zero, half), k)));
  byoc_loop_end(b);
}

void byoc_fourier_begin(byoc_fourier_t *f) {
  byoc_loop_builder_t *b = f->b;
  f->length = within_bounds(b, f->length);
  find_points(b, f->length, &f->points, &f->is_chirped);
  const byoc_loop_expr_t *k = byoc_loop_for(b, BYOC_LOOP_SERIAL, "k", INT(0), f->points);
  store_root(f, INT(0), f->points, k, MUL(k, INT(2)), f->points);
  byoc_loop_end(b);
  if (!open_chirped(f)) return;
  fill_chirp(f);
  byoc_loop_end(b);
}

// x * chirp before the passes
static void emit_before(const byoc_fourier_t *f, const byoc_loop_expr_t *base) {
  byoc_loop_builder_t *b = f->b;
  const byoc_loop_expr_t *k = byoc_loop_for(b, BYOC_LOOP_VECTOR, "k", INT(0), f->length);
  store_pair(f, base, k, times(b, load_pair(f, base, k), chirp_at(f, k)));
  byoc_loop_end(b);
}

// The product with the chirp's spectrum; its parts are swapped, so that the next passes transform it back.
static void emit_between(const byoc_fourier_t *f, const byoc_loop_expr_t *base, const byoc_loop_expr_t *which) {
  byoc_loop_builder_t *b = f->b;
  const byoc_loop_expr_t *at = half_of(f, base, which);
  const byoc_loop_expr_t *k = byoc_loop_for(b, BYOC_LOOP_VECTOR, "k", INT(0), f->points);
  const pair_t chirp =
      named(b, load_table(f, spectrum_begin(f), f->points, k, 0), load_table(f, spectrum_begin(f), f->points, k, 1));
  store_pair(f, at, k, swapped(times(b, load_pair(f, at, k), chirp)));
  byoc_loop_end(b);
}

// Swaps the parts back, and takes the chirp out again.
static void emit_behind(const byoc_fourier_t *f, const byoc_loop_expr_t *base, const byoc_loop_expr_t *which) {
  byoc_loop_builder_t *b = f->b;
  const byoc_loop_expr_t *at = half_of(f, base, which), *count = byoc_emit_as(b, BYOC_DTYPE_F64, f->points);
  const byoc_loop_expr_t *scale = byoc_loop_let(b, "scale", BIN(DIV, F64(1), count));
  const byoc_loop_expr_t *k = byoc_loop_for(b, BYOC_LOOP_VECTOR, "k", INT(0), f->length);
  pair_t x = swapped(load_pair(f, at, k));
  for (int i = 0; i < 2; ++i) x.part[i] = MUL(x.part[i], scale);
  store_pair(f, at, k, times(b, x, chirp_at(f, k)));
  byoc_loop_end(b);
}

// For a dynamic length: one or two rounds of passes.
static const byoc_loop_expr_t *transform_open(const byoc_fourier_t *f, const byoc_loop_expr_t *base) {
  byoc_loop_builder_t *b = f->b;
  const byoc_loop_expr_t *which = byoc_loop_mutable(b, "half", INT(0));
  byoc_loop_if(b, f->is_chirped);
  emit_before(f, base);
  byoc_loop_end(b);
  const byoc_loop_expr_t *rounds = byoc_loop_select(b, f->is_chirped, INT(2), INT(1));
  const byoc_loop_expr_t *round = byoc_loop_for(b, BYOC_LOOP_SERIAL, "round", INT(0), rounds);
  byoc_loop_if(b, BIN(EQ, round, INT(1)));
  emit_between(f, base, which);
  byoc_loop_end(b);
  byoc_loop_assign(b, which, emit_open_passes(f, base, which));
  byoc_loop_end(b);
  byoc_loop_if(b, f->is_chirped);
  emit_behind(f, base, which);
  byoc_loop_end(b);
  return byoc_loop_let(b, "result", half_of(f, base, which));
}

const byoc_loop_expr_t *byoc_fourier_transform(const byoc_fourier_t *f, const byoc_loop_expr_t *base) {
  byoc_loop_builder_t *b = f->b;
  int64_t points = 0;
  if (!byoc_loop_is_int(f->points, &points)) return transform_open(f, base);
  const bool is_chirped = !byoc_loop_is_const(f->is_chirped, 0);
  if (is_chirped) emit_before(f, base);
  const byoc_loop_expr_t *which = emit_passes(f, base, INT(0));
  if (is_chirped) {
    emit_between(f, base, which);
    which = emit_passes(f, base, which);
    emit_behind(f, base, which);
  }
  return half_of(f, base, which);
}
