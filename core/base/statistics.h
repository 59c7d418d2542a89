// Numbers about measurements.
#ifndef BYOC_CORE_BASE_STATISTICS_H_
#define BYOC_CORE_BASE_STATISTICS_H_

#include <stddef.h>

// The middle of the samples, which are sorted on the way; of an even number the mean of the two in the middle. 0 of
// none.
double byoc_median(double *samples, size_t count);

#endif // BYOC_CORE_BASE_STATISTICS_H_
