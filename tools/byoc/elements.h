// Elements of results: compared with what was expected, and as text.
#ifndef BYOC_TOOLS_BYOC_ELEMENTS_H_
#define BYOC_TOOLS_BYOC_ELEMENTS_H_

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "byoc/dtype.h"

typedef struct byoc_element_difference_t {
  double distance; // |got - expected|; of complex numbers the worse part's
  double excess;   // distance - (atol + rtol * |expected|); NaN where no distance can be measured
  bool agrees;
} byoc_element_difference_t;

// As numpy.testing.assert_allclose: |got - expected| <= atol + rtol * |expected|, NaN equals NaN. The parts of complex
// numbers are compared one by one, integers exactly as far as the tolerances let them, texts as they are.
byoc_element_difference_t byoc_element_compare(byoc_dtype_t dtype, const void *got, const void *expected, size_t index,
                                               double rtol, double atol);

// Numbers with so many digits; integers whole, complex numbers as "1+2i", texts in quotes.
void byoc_element_format(byoc_dtype_t dtype, const void *data, size_t index, int digits, char *buffer, size_t size);
// Where the element is: "[1,0,2]".
void byoc_element_format_index(int32_t rank, const int64_t *dims, uint64_t index, char *buffer, size_t size);

#endif // BYOC_TOOLS_BYOC_ELEMENTS_H_
