// SPDX-License-Identifier: Apache-2.0
// Which functions are compared on NaN and infinities too. Internal to core/measure and core/build.
#ifndef BYOC_CORE_MEASURE_WILD_H_
#define BYOC_CORE_MEASURE_WILD_H_

#include "core/ir/graph.h"

// False if an operator of the function computes something from NaN or infinities that the text of ONNX leaves
// undefined: conversions to integers, orders and positions of elements, sampling between elements.
bool byoc_measure_takes_wild(const byoc_function_t *function);

#endif // BYOC_CORE_MEASURE_WILD_H_
