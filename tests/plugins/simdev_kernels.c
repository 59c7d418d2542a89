// SPDX-License-Identifier: Apache-2.0
// Kernels of the plugin simdev, in the format "elf" of the driver sim: each does the work of one work-group. Elements
// are f32 and lie along the first axis of the grid.
#include <math.h>

#include "byoc/device.h"
#include "tests/devices/sim_kernel.h"

#define KERNEL __attribute__((visibility("default"))) int32_t

static float *at(const sim_argument_t *argument, int64_t index) {
  return sim_element(argument, index, sizeof(float));
}

// (x, y, count)
#define UNARY(name, expression)                                                                                        \
  KERNEL name(const sim_group_t *group);                                                                               \
  KERNEL name(const sim_group_t *group) {                                                                              \
    const sim_argument_t *arguments = group->arguments;                                                                \
    if (group->argument_count != 3) return BYOC_INVALID_ARGUMENT;                                                      \
    SIM_FOR_ITEMS(group, i, arguments[2].integer) {                                                                    \
      const float x = *at(&arguments[0], i);                                                                           \
      *at(&arguments[1], i) = (expression);                                                                            \
    }                                                                                                                  \
    return BYOC_OK;                                                                                                    \
  }

UNARY(simdev_relu, x < 0 ? 0 : x)
UNARY(simdev_neg, -x)
UNARY(simdev_exp, expf(x))
UNARY(simdev_sqrt, sqrtf(x))
UNARY(simdev_tanh, tanhf(x))
UNARY(simdev_sigmoid, 1 / (1 + expf(-x)))

// (a, b, y, count, count of a, count of b): the smaller operand is repeated.
#define BINARY(name, expression)                                                                                       \
  KERNEL name(const sim_group_t *group);                                                                               \
  KERNEL name(const sim_group_t *group) {                                                                              \
    const sim_argument_t *arguments = group->arguments;                                                                \
    if (group->argument_count != 6) return BYOC_INVALID_ARGUMENT;                                                      \
    SIM_FOR_ITEMS(group, i, arguments[3].integer) {                                                                    \
      const float a = *at(&arguments[0], i % arguments[4].integer);                                                    \
      const float b = *at(&arguments[1], i % arguments[5].integer);                                                    \
      *at(&arguments[2], i) = (expression);                                                                            \
    }                                                                                                                  \
    return BYOC_OK;                                                                                                    \
  }

BINARY(simdev_add, a + b)
BINARY(simdev_sub, a - b)
BINARY(simdev_mul, a *b)
BINARY(simdev_div, a / b)

// (a, b, y, rows, columns, depth): [rows, depth] times [depth, columns]
KERNEL simdev_matmul(const sim_group_t *group);
KERNEL simdev_matmul(const sim_group_t *group) {
  const sim_argument_t *arguments = group->arguments;
  if (group->argument_count != 6) return BYOC_INVALID_ARGUMENT;
  const int64_t columns = arguments[4].integer, depth = arguments[5].integer;
  SIM_FOR_ITEMS(group, i, arguments[3].integer * columns) {
    const int64_t row = i / columns, column = i % columns;
    float sum = 0;
    for (int64_t k = 0; k < depth; ++k)
      sum += *at(&arguments[0], row * depth + k) * *at(&arguments[1], k * columns + column);
    *at(&arguments[2], i) = sum;
  }
  return BYOC_OK;
}

// (x, y, rows, columns, factor): the sum of each row, times a factor
KERNEL simdev_sum_rows(const sim_group_t *group);
KERNEL simdev_sum_rows(const sim_group_t *group) {
  const sim_argument_t *arguments = group->arguments;
  if (group->argument_count != 5) return BYOC_INVALID_ARGUMENT;
  const int64_t columns = arguments[3].integer;
  SIM_FOR_ITEMS(group, row, arguments[2].integer) {
    float sum = 0;
    for (int64_t k = 0; k < columns; ++k) sum += *at(&arguments[0], row * columns + k);
    *at(&arguments[1], row) = sum * (float)arguments[4].real;
  }
  return BYOC_OK;
}
