// SPDX-License-Identifier: Apache-2.0
// Sums up measurements that scatter: the median of samples.
#ifndef BYOC_CORE_BASE_STATISTICS_H_
#define BYOC_CORE_BASE_STATISTICS_H_

#include <stddef.h>

// The median of the samples, which are sorted in place; the mean of the two middle ones if their number is even. 0 if
// there are none.
double byoc_median(double *samples, size_t count);

#endif // BYOC_CORE_BASE_STATISTICS_H_
