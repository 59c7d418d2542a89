// SPDX-License-Identifier: Apache-2.0
// Rounds weights to integers, by channels or by groups.
#include "core/quantise/weights.h"

#include <math.h>
#include <string.h>

// ---- channels ----

byoc_channels_t byoc_channels_of(const int64_t *dims, size_t rank, int32_t axis) {
  byoc_channels_t channels = {1, 1, 1};
  for (size_t i = 0; i < rank; i++) {
    size_t *part = axis < 0 || (int32_t)i > axis ? &channels.inner
                   : (int32_t)i == axis          ? &channels.count
                                                 : &channels.outer;
    *part *= (size_t)dims[i];
  }
  return channels;
}

static const float *run_at(const float *data, byoc_channels_t channels, size_t outer, size_t channel) {
  return data + (outer * channels.count + channel) * channels.inner;
}

void byoc_channel_scales(const float *data, byoc_channels_t channels, const float *least, float *out_scales) {
  for (size_t c = 0; c < channels.count; c++) {
    float most = 0;
    for (size_t o = 0; o < channels.outer; o++) {
      const float *run = run_at(data, channels, o, c);
      for (size_t i = 0; i < channels.inner; i++) most = fmaxf(most, fabsf(run[i]));
    }
    out_scales[c] = most / 127;
    if (least != NULL && out_scales[c] < least[c]) out_scales[c] = least[c];
    if (!(out_scales[c] >= 1e-30f)) out_scales[c] = 1;
  }
}

void byoc_channel_round(const float *data, byoc_channels_t channels, const float *scales, int8_t *out) {
  for (size_t o = 0; o < channels.outer; o++) {
    for (size_t c = 0; c < channels.count; c++) {
      const float *run = run_at(data, channels, o, c);
      int8_t *to = out + (run - data);
      for (size_t i = 0; i < channels.inner; i++) {
        const float rounded = nearbyintf(run[i] / scales[c]);
        to[i] = (int8_t)(rounded < -127 ? -127 : rounded > 127 ? 127 : rounded);
      }
    }
  }
}

// ---- groups ----

static uint8_t round_one(float weight, float scale, int zero, int most) {
  const float rounded = nearbyintf(weight / scale) + (float)zero;
  return (uint8_t)(rounded < 0 ? 0 : rounded > (float)most ? (float)most : rounded);
}

static double error_of(const float *weights, size_t count, const float *importance, float scale, int zero, int most) {
  double sum = 0;
  for (size_t i = 0; i < count; i++) {
    const double error =
        (double)((float)(round_one(weights[i], scale, zero, most) - zero) * scale) - (double)weights[i];
    sum += error * error * (importance != NULL ? (double)importance[i] : 1);
  }
  return sum;
}

// Scale and zero point of one group: that of its range, or of a part of it.
static void choose_scale(const float *weights, size_t count, const float *importance, const byoc_groups_t *groups,
                         float *out_scale, uint8_t *out_zero) {
  enum { PARTS = 12 };
  const int most = (1 << groups->bits) - 1, middle = (most + 1) / 2;
  float low = 0, high = 0;
  for (size_t i = 0; i < count; i++) {
    low = fminf(low, weights[i]);
    high = fmaxf(high, weights[i]);
  }
  double best = INFINITY;
  *out_scale = 1;
  *out_zero = (uint8_t)middle;
  if (low == high) return; // all are zero
  for (int part = 0; part < PARTS; part++) {
    const float share = 1 - 0.04f * (float)part;
    float scale = (high - low) * share / (float)most;
    int zero = (int)nearbyintf(-low * share / scale);
    // The integers reach one further below the middle: a negative scale turns the longer end there.
    if (groups->is_symmetric) {
      scale = (-low > high ? low : high) * share / (float)-middle;
      zero = middle;
    }
    if (zero < 0 || zero > most || !(fabsf(scale) >= 1e-30f)) continue;
    const double error = error_of(weights, count, importance, scale, zero, most);
    if (error >= best) continue;
    best = error;
    *out_scale = scale;
    *out_zero = (uint8_t)zero;
  }
}

void byoc_groups_round(const float *weights, const byoc_groups_t *groups, const float *importance,
                       uint8_t *out_integers, float *out_scales, uint8_t *out_zeros) {
  const size_t per_row = byoc_groups_per_row(groups);
  const int most = (1 << groups->bits) - 1;
  for (size_t r = 0; r < groups->rows; r++) {
    for (size_t g = 0; g < per_row; g++) {
      const size_t first = g * groups->group, at = r * groups->columns + first;
      const size_t count = groups->columns - first < groups->group ? groups->columns - first : groups->group;
      const float *part = importance != NULL ? importance + first : NULL;
      float *scale = &out_scales[r * per_row + g];
      uint8_t *zero = &out_zeros[r * per_row + g];
      choose_scale(weights + at, count, part, groups, scale, zero);
      for (size_t i = 0; i < count; i++) out_integers[at + i] = round_one(weights[at + i], *scale, *zero, most);
    }
  }
}

// ---- error feedback ----

void byoc_gram_add(const float *inputs, size_t rows, size_t columns, double *gram) {
  enum { TILE = 32 }; // rows of inputs that stay in the cache
  for (size_t first = 0; first < rows; first += TILE) {
    const size_t end = first + TILE < rows ? first + TILE : rows;
    for (size_t i = 0; i < columns; i++) {
      double *to = gram + i * columns;
      for (size_t r = first; r < end; r++) {
        const float *row = inputs + r * columns;
        const double factor = (double)row[i];
        if (factor == 0) continue;
        for (size_t j = i; j < columns; j++) to[j] += factor * (double)row[j];
      }
    }
  }
}

// Makes `u`, upper triangular, of a symmetric matrix H, of which the part above the diagonal is given: the inverse of H
// is u^T u. H = R R^T with R upper triangular, found from the last row to the first; u is the inverse of R.
static bool factor(double *r, double *u, size_t n) {
  for (size_t j = n; j-- > 0;) {
    for (size_t i = j + 1; i-- > 0;) {
      const double *a = r + i * n, *b = r + j * n;
      double sum = a[j];
      for (size_t k = j + 1; k < n; k++) sum -= a[k] * b[k];
      if (i == j) {
        if (!(sum > 0)) return false;
        r[j * n + j] = sqrt(sum);
      } else {
        r[i * n + j] = sum / r[j * n + j];
      }
    }
  }
  // Row i of u: u[i][i] = 1 / r[i][i], u[i][j] = -sum over k of r[i][k] u[k][j] / r[i][i].
  for (size_t i = n; i-- > 0;) {
    const double inverse = 1 / r[i * n + i];
    double *to = u + i * n;
    memset(to, 0, n * sizeof(*to));
    for (size_t k = i + 1; k < n; k++) {
      const double part = -r[i * n + k] * inverse;
      const double *from = u + k * n;
      for (size_t j = k; j < n; j++) to[j] += part * from[j];
    }
    to[i] = inverse;
  }
  return true;
}

// The factor for `gram` with one percent of its mean added to the diagonal. Only ratios of its elements count later, so
// `gram` is divided by that mean: the factor fits f32 however large the inputs are.
static byoc_status_t feedback_factor(const double *gram, size_t n, float **out_factor) {
  const byoc_allocator_t allocator = byoc_allocator_system();
  double *r = byoc_allocate(allocator, n * n, sizeof(*r)), *u = byoc_allocate(allocator, n * n, sizeof(*u));
  float *result = byoc_allocate(allocator, n * n, sizeof(*result));
  byoc_status_t status = r != NULL && u != NULL && result != NULL ? BYOC_OK : BYOC_OUT_OF_MEMORY;
  double mean = 0;
  for (size_t i = 0; i < n; i++) mean += gram[i * n + i] / (double)n;
  for (size_t i = 0; status == BYOC_OK && i < n; i++) {
    for (size_t j = i; j < n; j++) r[i * n + j] = mean > 0 ? gram[i * n + j] / mean : gram[i * n + j];
    r[i * n + i] += mean > 0 ? 0.01 : 1;
  }
  if (status == BYOC_OK && !factor(r, u, n)) status = BYOC_INVALID_DATA;
  for (size_t i = 0; status == BYOC_OK && i < n * n; i++) result[i] = (float)u[i];
  byoc_free(allocator, r);
  byoc_free(allocator, u);
  if (status != BYOC_OK) byoc_free(allocator, result);
  *out_factor = status == BYOC_OK ? result : NULL;
  return status;
}

typedef struct feedback_t {
  const byoc_groups_t *groups;
  const float *u;
  float *row;    // of weights; changed on the way
  float *errors; // of the columns of one stretch
  uint8_t *integers;
  float *scales;
  uint8_t *zeros;
} feedback_t;
enum { STRETCH = 128 };

// Rounds the columns [first, end) of a row. Their errors are spread within the stretch.
static void round_stretch(const feedback_t *f, size_t first, size_t end) {
  const byoc_groups_t *groups = f->groups;
  const int most = (1 << groups->bits) - 1;
  for (size_t i = first; i < end; i++) {
    const size_t g = i / groups->group;
    if (i % groups->group == 0) {
      const size_t count = groups->columns - i < groups->group ? groups->columns - i : groups->group;
      choose_scale(f->row + i, count, NULL, groups, &f->scales[g], &f->zeros[g]);
    }
    const uint8_t integer = round_one(f->row[i], f->scales[g], f->zeros[g], most);
    const float rounded = (float)(integer - f->zeros[g]) * f->scales[g];
    const float *u = f->u + i * groups->columns, error = (f->row[i] - rounded) / u[i];
    f->integers[i] = integer;
    f->errors[i - first] = error;
    for (size_t j = i + 1; j < end; j++) f->row[j] -= error * u[j];
  }
}

byoc_status_t byoc_groups_round_with_feedback(const float *weights, const byoc_groups_t *groups, const double *gram,
                                              uint8_t *out_integers, float *out_scales, uint8_t *out_zeros) {
  const byoc_allocator_t allocator = byoc_allocator_system();
  const size_t n = groups->columns, per_row = byoc_groups_per_row(groups);
  float *u, *work = byoc_allocate(allocator, groups->rows * n, sizeof(*work));
  byoc_status_t status = feedback_factor(gram, n, &u);
  if (status == BYOC_OK && work == NULL) status = BYOC_OUT_OF_MEMORY;
  const bool done = status == BYOC_OK;
  if (done) memcpy(work, weights, groups->rows * n * sizeof(*work));
  // A stretch ends where a group does, so that the scale of a group sees all errors in front of it.
  const size_t stretch = groups->group >= STRETCH ? groups->group : STRETCH / groups->group * groups->group;
  for (size_t first = 0; done && first < n; first += stretch) {
    const size_t end = first + stretch < n ? first + stretch : n;
    float errors[4096];
    for (size_t r = 0; r < groups->rows; r++) {
      const feedback_t f = {
          groups, u, work + r * n, errors, out_integers + r * n, out_scales + r * per_row, out_zeros + r * per_row};
      round_stretch(&f, first, end);
      for (size_t i = first; i < end; i++) {
        const float *from = u + i * n, error = errors[i - first];
        for (size_t j = end; j < n; j++) f.row[j] -= error * from[j];
      }
    }
  }
  byoc_free(allocator, u);
  byoc_free(allocator, work);
  return status;
}
