// SPDX-License-Identifier: Apache-2.0
// Decides which functions are compared on NaN and infinities too. Internal to core/measure and core/compile.
#ifndef BYOC_CORE_MEASURE_SPECIAL_VALUES_H_
#define BYOC_CORE_MEASURE_SPECIAL_VALUES_H_

#include "core/ir/graph.h"
#include "core/targets/target.h"

// How results of special values are compared.
typedef enum byoc_special_values_t {
  BYOC_WILD_NONE,    // not at all
  BYOC_WILD_EXACT,   // NaN where it is expected and nowhere else
  BYOC_WILD_SPREADS, // where products are summed up, NaN may spread (byoc_cost_check_spread)
} byoc_special_values_t;
// For code of a target. A target that states an error of its own rounds its data, and NaN cannot be rounded.
byoc_special_values_t byoc_measure_special_values(const byoc_function_t *function, const byoc_target_t *target);

// False if an operator of the function computes something from NaN or infinities that the text of ONNX leaves
// undefined: conversions to integers, orders and positions of elements, sampling between elements.
bool byoc_measure_takes_special(const byoc_function_t *function);

#endif // BYOC_CORE_MEASURE_SPECIAL_VALUES_H_
