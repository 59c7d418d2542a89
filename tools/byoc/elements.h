// SPDX-License-Identifier: Apache-2.0
// Elements of results: compared with what was expected, and as text.
#ifndef BYOC_TOOLS_BYOC_ELEMENTS_H_
#define BYOC_TOOLS_BYOC_ELEMENTS_H_

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "byoc/dtype.h"

typedef struct byoc_element_difference_t {
  double distance; // |got - expected|; for complex numbers the larger one of both parts
  double excess;   // distance - (atol + rtol * |expected|); NaN if there is no distance
  bool agrees;
} byoc_element_difference_t;

// Compares as numpy.testing.assert_allclose does: |got - expected| <= atol + rtol * |expected|, NaN equals NaN. The
// parts of complex numbers are compared one by one; integers exactly, unless the tolerances allow more; texts exactly.
byoc_element_difference_t byoc_element_compare(byoc_dtype_t dtype, const void *got, const void *expected, size_t index,
                                               double rtol, double atol);

// Prints numbers with so many digits; integers whole, complex numbers as "1+2i", texts in quotes.
void byoc_element_format(byoc_dtype_t dtype, const void *data, size_t index, int digits, char *buffer, size_t size);
// The position of the element: "[1,0,2]".
void byoc_element_format_index(int32_t rank, const int64_t *dims, uint64_t index, char *buffer, size_t size);

#endif // BYOC_TOOLS_BYOC_ELEMENTS_H_
