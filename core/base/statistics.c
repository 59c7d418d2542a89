// SPDX-License-Identifier: Apache-2.0
// Computes the median of samples, which outliers do not move.
#include "core/base/statistics.h"

#include <stdlib.h>

static int compare(const void *left, const void *right) {
  const double *a = left, *b = right;
  return (*a > *b) - (*a < *b);
}

double byoc_median(double *samples, size_t count) {
  if (count == 0) return 0;
  qsort(samples, count, sizeof(*samples), compare);
  return count % 2 == 1 ? samples[count / 2] : (samples[count / 2 - 1] + samples[count / 2]) / 2;
}
