// SPDX-License-Identifier: Apache-2.0
// RNN, GRU and LSTM against their formulas, written out: in all directions and both layouts, with batches that are and
// are not whole blocks, hidden sizes that fill their panels and that do not, sequences of different lengths, states to
// start from, biases, and clipping.
#include "tests/unit/ops/ops_support.h"

enum { MOST = 16384 };

typedef struct {
  char net; // the first letter
  int steps, batch, size, hidden, directions;
  bool reverse, batchwise, has_bias, has_lengths, has_state, is_linear, is_coupled;
  bool is_open; // the batch comes with the run
  float clip;
} shape_t;

static int gates_of(const shape_t *s) {
  return s->net == 'R' ? 1 : s->net == 'G' ? 3 : 4;
}

static double clipped(const shape_t *s, double x) {
  return s->clip > 0 ? fmax(-(double)s->clip, fmin((double)s->clip, x)) : x;
}

static double sigmoid(double x) {
  return 1 / (1 + exp(-x));
}

typedef struct {
  float x[MOST], w[MOST], r[MOST], b[MOST], h[MOST], c[MOST], y[MOST], last_h[MOST], last_c[MOST];
  int lengths[16];
} data_t;

// [a][b][columns], or [b][a][columns] batch first.
static int place(const shape_t *s, int a, int a_count, int b, int b_count) {
  return s->batchwise ? b * a_count + a : a * b_count + b;
}

// Row `row` of W x and of its bias; the same of R and the state.
static double of_input(const shape_t *s, const data_t *d, int direction, int row, const float *x) {
  int rows = gates_of(s) * s->hidden;
  double sum = s->has_bias ? d->b[direction * 2 * rows + row] : 0;
  for (int i = 0; i < s->size; ++i) sum += (double)d->w[(direction * rows + row) * s->size + i] * x[i];
  return sum;
}

static double of_state(const shape_t *s, const data_t *d, int direction, int row, const double *h) {
  int rows = gates_of(s) * s->hidden;
  double sum = s->has_bias ? d->b[direction * 2 * rows + rows + row] : 0;
  for (int k = 0; k < s->hidden; ++k) sum += (double)d->r[(direction * rows + row) * s->hidden + k] * h[k];
  return sum;
}

static double gate(const shape_t *s, const data_t *d, int direction, int row, const float *x, const double *h) {
  return clipped(s, of_input(s, d, direction, row, x) + of_state(s, d, direction, row, h));
}

// z lies before r, and both before the candidate.
static void step_gru(const shape_t *s, const data_t *d, int direction, const float *x, double *h) {
  double reset[64], next[64];
  for (int j = 0; j < s->hidden; ++j) reset[j] = h[j] * sigmoid(gate(s, d, direction, s->hidden + j, x, h));
  for (int j = 0; j < s->hidden; ++j) {
    int row = 2 * s->hidden + j;
    double state = s->is_linear
                       ? sigmoid(gate(s, d, direction, s->hidden + j, x, h)) * of_state(s, d, direction, row, h)
                       : of_state(s, d, direction, row, reset);
    double candidate = tanh(clipped(s, of_input(s, d, direction, row, x) + state));
    double z = sigmoid(gate(s, d, direction, j, x, h));
    next[j] = (1 - z) * candidate + z * h[j];
  }
  for (int j = 0; j < s->hidden; ++j) h[j] = next[j];
}

// Gates lie in the order input, output, forget, cell.
static void step_lstm(const shape_t *s, const data_t *d, int direction, const float *x, double *h, double *c) {
  double next[64];
  for (int j = 0; j < s->hidden; ++j) {
    double in = sigmoid(gate(s, d, direction, j, x, h));
    double out = sigmoid(gate(s, d, direction, s->hidden + j, x, h));
    double forget = s->is_coupled ? 1 - in : sigmoid(gate(s, d, direction, 2 * s->hidden + j, x, h));
    c[j] = forget * c[j] + in * tanh(gate(s, d, direction, 3 * s->hidden + j, x, h));
    next[j] = out * tanh(c[j]);
  }
  for (int j = 0; j < s->hidden; ++j) h[j] = next[j];
}

static void expect(const shape_t *s, data_t *d) {
  for (int i = 0; i < MOST; ++i) d->y[i] = d->last_h[i] = d->last_c[i] = 0;
  for (int n = 0; n < s->batch; ++n) {
    for (int direction = 0; direction < s->directions; ++direction) {
      double h[64] = {0}, c[64] = {0}, next[64];
      int length = s->has_lengths ? d->lengths[n] : s->steps;
      int state = place(s, direction, s->directions, n, s->batch) * s->hidden;
      for (int j = 0; j < s->hidden && s->has_state; ++j) h[j] = d->h[state + j], c[j] = d->c[state + j];
      for (int step = 0; step < length; ++step) {
        int t = s->reverse || direction == 1 ? length - 1 - step : step;
        const float *x = &d->x[place(s, t, s->steps, n, s->batch) * s->size];
        for (int j = 0; j < s->hidden && s->net == 'R'; ++j) next[j] = tanh(gate(s, d, direction, j, x, h));
        for (int j = 0; j < s->hidden && s->net == 'R'; ++j) h[j] = next[j];
        if (s->net == 'G') step_gru(s, d, direction, x, h);
        if (s->net == 'L') step_lstm(s, d, direction, x, h, c);
        int at = s->batchwise ? (n * s->steps + t) * s->directions + direction
                              : (t * s->directions + direction) * s->batch + n;
        for (int j = 0; j < s->hidden; ++j) d->y[at * s->hidden + j] = (float)h[j];
      }
      for (int j = 0; j < s->hidden && length > 0; ++j) {
        d->last_h[state + j] = (float)h[j], d->last_c[state + j] = (float)c[j];
      }
    }
  }
}

static void check(const shape_t *s) {
  static data_t d;
  const char *net = s->net == 'R' ? "RNN" : s->net == 'G' ? "GRU" : "LSTM";
  int rows = gates_of(s) * s->hidden, states = s->directions * s->batch * s->hidden;
  ops_fill(d.x, (size_t)(s->steps * s->batch * s->size), 1);
  ops_fill(d.w, (size_t)(s->directions * rows * s->size), 2);
  ops_fill(d.r, (size_t)(s->directions * rows * s->hidden), 3);
  for (int i = 0; i < s->directions * rows * s->hidden; ++i) d.r[i] *= 0.3f;
  ops_fill(d.b, (size_t)(s->directions * 2 * rows), 4);
  ops_fill(d.h, (size_t)states, 5);
  ops_fill(d.c, (size_t)states, 6);
  char lengths[128] = "";
  for (int n = 0; n < s->batch; ++n) {
    d.lengths[n] = (n * 2 + 1) % (s->steps + 1);
    snprintf(lengths + strlen(lengths), sizeof lengths - strlen(lengths), "%s%d", n > 0 ? ", " : "", d.lengths[n]);
  }
  expect(s, &d);
  char x[64], state[64], text[2048], attributes[256], clip[32] = "", extra[64] = "";
  char batch[16] = "N";
  if (!s->is_open) snprintf(batch, sizeof batch, "%d", s->batch);
  if (s->batchwise) {
    snprintf(x, sizeof x, "f32[%s,%d,%d]", batch, s->steps, s->size);
    snprintf(state, sizeof state, "f32[%s,%d,%d]", batch, s->directions, s->hidden);
  } else {
    snprintf(x, sizeof x, "f32[%d,%s,%d]", s->steps, batch, s->size);
    snprintf(state, sizeof state, "f32[%d,%s,%d]", s->directions, batch, s->hidden);
  }
  if (s->clip > 0) snprintf(clip, sizeof clip, ", clip = %g", (double)s->clip);
  if (s->is_linear) snprintf(extra, sizeof extra, ", linear_before_reset = 1");
  if (s->is_coupled) snprintf(extra, sizeof extra, ", input_forget = 1");
  snprintf(attributes, sizeof attributes, "{direction = \"%s\", hidden_size = %d, layout = %d%s%s}",
           s->directions == 2 ? "bidirectional"
           : s->reverse       ? "reverse"
                              : "forward",
           s->hidden, s->batchwise, clip, extra);
  bool is_lstm = s->net == 'L';
  snprintf(text, sizeof text,
           "module {\n  constant @l : i32[%d] = [%s]\n  func @main(%%x : %s, %%w : f32[%d,%d,%d], %%r : f32[%d,%d,%d], "
           "%%b : f32[%d,%d], "
           "%%h : %s, %%c : %s) -> (%%y : ?, %%yh : ?%s) {\n"
           "    %%y, %%yh%s = %s@14(%%x, %%w, %%r, %s, %s, %s%s) %s : ?, ?%s\n    return %%y, %%yh%s\n  }\n}\n",
           s->batch, lengths, x, s->directions, rows, s->size, s->directions, rows, s->hidden, s->directions, 2 * rows,
           state, state, is_lstm ? ", %yc : ?" : "", is_lstm ? ", %yc" : "", net, s->has_bias ? "%b" : "_",
           s->has_lengths ? "@l" : "_", s->has_state ? "%h" : "_",
           !is_lstm       ? ""
           : s->has_state ? ", %c"
                          : ", _",
           attributes, is_lstm ? ", ?" : "", is_lstm ? ", %yc" : "");
  ops_run_t run;
  ops_run_symbolic(text, s->batch, (const void *const[]){d.x, d.w, d.r, d.b, d.h, d.c}, &run);
  ops_near(ops_result(&run, 0), d.y, (size_t)(s->steps * states), text);
  ops_near(ops_result(&run, 1), d.last_h, (size_t)states, text);
  if (is_lstm) ops_near(ops_result(&run, 2), d.last_c, (size_t)states, text);
  ops_done(&run);
}

static void test_nets(void **state) {
  (void)state;
  static const shape_t shapes[] = {
      {.steps = 4, .batch = 1, .size = 3, .hidden = 5, .directions = 1},
      {.steps = 3, .batch = 1, .size = 2, .hidden = 33, .directions = 2, .has_bias = true, .has_state = true},
      {.steps = 3, .batch = 6, .size = 2, .hidden = 32, .directions = 1, .reverse = true, .has_bias = true},
      {.steps = 2, .batch = 8, .size = 2, .hidden = 3, .directions = 1, .has_state = true},
      {.steps = 3, .batch = 9, .size = 2, .hidden = 4, .directions = 2, .has_bias = true, .has_state = true},
      {.steps = 3, .batch = 3, .size = 2, .hidden = 7, .directions = 2, .batchwise = true, .has_state = true},
      {.steps = 3, .batch = 5, .size = 2, .hidden = 6, .directions = 1, .has_bias = true, .clip = 0.25f},
  };
  for (size_t i = 0; i < sizeof shapes / sizeof *shapes; ++i) {
    shape_t shape = shapes[i];
    for (int net = 0; net < 3; ++net) {
      shape.net = "RGL"[net];
      check(&shape);
      if (shape.net == 'R') continue;
      shape.is_linear = shape.net == 'G', shape.is_coupled = shape.net == 'L';
      check(&shape);
      shape.is_linear = shape.is_coupled = false;
    }
  }
}

// Only the run tells how many sequences there are: one, less than a tile, whole blocks, and a last one that stands
// alone.
static void test_open_batch(void **state) {
  (void)state;
  static const int batches[] = {1, 3, 5, 8, 9};
  for (size_t i = 0; i < sizeof batches / sizeof *batches; ++i) {
    check(&(shape_t){.net = "RGL"[i % 3],
                     .steps = 3,
                     .batch = batches[i],
                     .size = 2,
                     .hidden = 5,
                     .directions = 2,
                     .batchwise = i == 1,
                     .has_bias = true,
                     .has_state = true,
                     .is_open = true});
  }
}

// Behind the end of a sequence the result is 0; the state of an empty one is 0 at its end, too.
static void test_lengths(void **state) {
  (void)state;
  for (int net = 0; net < 3; ++net) {
    for (int kind = 0; kind < 3; ++kind) {
      check(&(shape_t){.net = "RGL"[net],
                       .steps = 5,
                       .batch = 6,
                       .size = 2,
                       .hidden = 5,
                       .directions = kind == 2 ? 2 : 1,
                       .reverse = kind == 1,
                       .batchwise = kind == 1,
                       .has_lengths = true,
                       .has_bias = true,
                       .has_state = true});
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_nets),
      cmocka_unit_test(test_open_batch),
      cmocka_unit_test(test_lengths),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
