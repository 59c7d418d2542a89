// SPDX-License-Identifier: Apache-2.0
// Measures what the machine can do, and compares each row with it.
#include <math.h>
#include <pthread.h>
#include <stdlib.h>

#include "core/collage/calibrate.h"
#include "profile.h"

typedef struct measurement_t {
  byoc_calibration_t limits;
  byoc_status_t status;
  byoc_diag_t diag;
} measurement_t;

static void *measure(void *self) {
  measurement_t *measurement = self;
  measurement->status = byoc_calibrate(byoc_allocator_system(), &measurement->diag, &measurement->limits);
  return NULL;
}

// All threads run at once: they share the memory and, with hyper-threads, the arithmetic units.
static byoc_status_t measure_machine(int32_t thread_count, byoc_diag_t *diag, byoc_calibration_t *out_limits) {
  size_t count = thread_count > 1 ? (size_t)thread_count : 1, started = 0;
  measurement_t *measurements = calloc(count, sizeof(*measurements));
  pthread_t *threads = calloc(count, sizeof(*threads));
  if (measurements == NULL || threads == NULL) {
    free(measurements);
    free(threads);
    return byoc_diag_out_of_memory(diag);
  }
  while (started + 1 < count && pthread_create(&threads[started], NULL, measure, &measurements[started + 1]) == 0) {
    started += 1;
  }
  measure(&measurements[0]);
  for (size_t i = 0; i < started; ++i) pthread_join(threads[i], NULL);
  byoc_status_t status = started + 1 < count ? BYOC_OUT_OF_MEMORY : BYOC_OK;
  if (status != BYOC_OK) byoc_diag_error(diag, status, "cannot start %zu threads to measure the machine", count);
  for (size_t i = 0; i < count && status == BYOC_OK; ++i) {
    status = measurements[i].status;
    if (status != BYOC_OK) *diag = measurements[i].diag;
    out_limits->flops_per_ns += measurements[i].limits.flops_per_ns;
    out_limits->bytes_per_ns += measurements[i].limits.bytes_per_ns;
    for (int t = 0; t < BYOC_ARITHMETIC_COUNT; ++t) out_limits->peaks[t] += measurements[i].limits.peaks[t];
  }
  free(measurements);
  free(threads);
  return status;
}

double byoc_profile_peak(const byoc_profile_t *profile, const byoc_profile_row_t *row) {
  return byoc_calibration_peak(&profile->limits, row->arithmetic);
}

const char *byoc_profile_unit(byoc_arithmetic_t arithmetic) {
  return byoc_arithmetic_is_integer(arithmetic) ? "GOP/s" : "GFLOP/s";
}

byoc_status_t byoc_profile_compare(byoc_profile_t *profile, byoc_diag_t *diag) {
  BYOC_RETURN_IF_ERROR(measure_machine(profile->thread_count, diag, &profile->limits));
  for (size_t i = 0; i < profile->rows.count; ++i) {
    byoc_profile_row_t *row = &profile->rows.data[i];
    if (row->median_ns <= 0) continue;
    if (row->flops > 0) row->flops_per_ns = row->flops * row->calls / row->median_ns;
    if (row->bytes > 0) row->bytes_per_ns = row->bytes * row->calls / row->median_ns;
    double computing = row->flops_per_ns / byoc_profile_peak(profile, row);
    double moving = row->bytes_per_ns / profile->limits.bytes_per_ns;
    row->limit_share = fmin(fmax(computing, moving), 1);
  }
  return BYOC_OK;
}
