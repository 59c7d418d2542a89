// SPDX-License-Identifier: Apache-2.0
// Compares the results of a candidate with those of the reference. Internal to core/measure.
#ifndef BYOC_CORE_MEASURE_COMPARE_H_
#define BYOC_CORE_MEASURE_COMPARE_H_

#include "core/base/diag.h"

// Returns BYOC_MISMATCH, with the element of the largest error, unless every element agrees. Floats may differ by a
// thousandth (16-bit ones by two hundredths, 8-bit ones by a quarter) of the sum of the element's magnitude and the
// tensor's mean magnitude. 8-bit integers may differ by one and 16-bit ones by 16, because roundings of quantised
// values may differ. Other types must be equal. NaN agrees with NaN.
byoc_status_t byoc_cost_check(uint32_t dtype, const void *expected, const void *actual, size_t count, const char *name,
                              byoc_diag_t *diag);
// The same for a target that states an error of its own (byoc_target_relative_error): floats may be off by that, if it
// is larger.
byoc_status_t byoc_cost_check_within(double relative_error, uint32_t dtype, const void *expected, const void *actual,
                                     size_t count, const char *name, byoc_diag_t *diag);

// For results of special inputs, of code that may spread NaN: NaN is also right where a number is expected. Winograd's
// algorithm adds neighbours before it takes them away again, and products are computed for lanes that are not used. NaN
// never disappears.
byoc_status_t byoc_cost_check_spread(double relative_error, uint32_t dtype, const void *expected, const void *actual,
                                     size_t count, const char *name, byoc_diag_t *diag);

#endif // BYOC_CORE_MEASURE_COMPARE_H_
