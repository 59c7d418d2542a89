// SPDX-License-Identifier: Apache-2.0
// Kernels that the driver `sim` has itself (format "sim"). Work-items go along the first axis, one for each element.
//
//   negate relu exp      (x, y, n)        f32
//   add subtract multiply divide (a, b, y, n)  f32
//   scale                (x, y, f, n)     f32: y = x * f
//   matmul               (a, b, y, m, n, k)    f32: items along the axes n, then m
//   sum_groups           (x, y, scratch, n)    f32: each group's sum, through memory of the group
//   count                (y, n)           i32: y[i] += 1
//   places               (y)              i32: y[p] = p, the place of the item in the grid of all three axes
//   arguments            (y, a, b, c, d)  f64: y[0 .. 4) = a, b, c, d
//   work                 (y, rounds)      i32: counts so many rounds and writes y[0]
//   spin                 (ns)             is busy for so long
//   fail                 ()               fails
#include <math.h>
#include <string.h>

#include "tests/devices/sim_internal.h"

static float *f32(const sim_argument_t *argument, int64_t index) {
  return sim_element(argument, index, sizeof(float));
}

static int is_number(const sim_argument_t *argument) {
  return argument->kind == BYOC_DEVICE_ARGUMENT_I32 || argument->kind == BYOC_DEVICE_ARGUMENT_I64;
}

// `buffers` buffers of at least n elements, then n.
static int takes(const sim_group_t *group, uint32_t buffers) {
  if (group->argument_count != buffers + 1 || !is_number(&group->arguments[buffers])) return 0;
  for (uint32_t i = 0; i < buffers; ++i) {
    const sim_argument_t *argument = &group->arguments[i];
    if (argument->kind != BYOC_DEVICE_ARGUMENT_BUFFER) return 0;
    if ((int64_t)(argument->size_bytes / sizeof(float)) < group->arguments[buffers].integer) return 0;
  }
  return 1;
}

#define UNARY(name, expression)                                                                                        \
  static int32_t name(const sim_group_t *group) {                                                                      \
    if (!takes(group, 2)) return BYOC_INVALID_ARGUMENT;                                                                \
    SIM_FOR_ITEMS(group, i, group->arguments[2].integer) {                                                             \
      float x = *f32(&group->arguments[0], i);                                                                         \
      *f32(&group->arguments[1], i) = (expression);                                                                    \
    }                                                                                                                  \
    return BYOC_OK;                                                                                                    \
  }

#define BINARY(name, expression)                                                                                       \
  static int32_t name(const sim_group_t *group) {                                                                      \
    if (!takes(group, 3)) return BYOC_INVALID_ARGUMENT;                                                                \
    SIM_FOR_ITEMS(group, i, group->arguments[3].integer) {                                                             \
      float a = *f32(&group->arguments[0], i), b = *f32(&group->arguments[1], i);                                      \
      *f32(&group->arguments[2], i) = (expression);                                                                    \
    }                                                                                                                  \
    return BYOC_OK;                                                                                                    \
  }

UNARY(kernel_negate, -x)
UNARY(kernel_relu, x < 0 ? 0 : x)
UNARY(kernel_exp, expf(x))
BINARY(kernel_add, a + b)
BINARY(kernel_subtract, a - b)
BINARY(kernel_multiply, a *b)
BINARY(kernel_divide, a / b)

static int32_t kernel_scale(const sim_group_t *group) {
  const sim_argument_t *arguments = group->arguments;
  if (group->argument_count != 4 || arguments[2].kind != BYOC_DEVICE_ARGUMENT_F32) return BYOC_INVALID_ARGUMENT;
  SIM_FOR_ITEMS(group, i, arguments[3].integer) * f32(&arguments[1], i) =
      *f32(&arguments[0], i) * (float)arguments[2].real;
  return BYOC_OK;
}

static int32_t kernel_matmul(const sim_group_t *group) {
  const sim_argument_t *arguments = group->arguments;
  if (group->argument_count != 6) return BYOC_INVALID_ARGUMENT;
  int64_t m = arguments[3].integer, n = arguments[4].integer, k = arguments[5].integer;
  for (uint32_t y = 0; y < group->block[1]; ++y) {
    int64_t row = (int64_t)group->group[1] * group->block[1] + y;
    if (row >= m) break;
    SIM_FOR_ITEMS(group, column, n) {
      float sum = 0;
      for (int64_t i = 0; i < k; ++i) sum += *f32(&arguments[0], row * k + i) * *f32(&arguments[1], i * n + column);
      *f32(&arguments[2], row * n + column) = sum;
    }
  }
  return BYOC_OK;
}

static int32_t kernel_sum_groups(const sim_group_t *group) {
  const sim_argument_t *arguments = group->arguments;
  if (group->argument_count != 4 || arguments[2].size_bytes < group->block[0] * sizeof(float)) {
    return BYOC_INVALID_ARGUMENT;
  }
  float *scratch = arguments[2].data, sum = 0;
  int64_t first = (int64_t)group->group[0] * group->block[0];
  SIM_FOR_ITEMS(group, i, arguments[3].integer) scratch[i - first] = *f32(&arguments[0], i);
  SIM_FOR_ITEMS(group, i, arguments[3].integer) sum += scratch[i - first];
  *f32(&arguments[1], group->group[0]) = sum;
  return BYOC_OK;
}

static int32_t kernel_count(const sim_group_t *group) {
  if (!takes(group, 1)) return BYOC_INVALID_ARGUMENT;
  SIM_FOR_ITEMS(group, i, group->arguments[1].integer)++ *(int32_t *)sim_element(&group->arguments[0], i, 4);
  return BYOC_OK;
}

static int32_t kernel_places(const sim_group_t *group) {
  if (group->argument_count != 1) return BYOC_INVALID_ARGUMENT;
  const uint32_t *block = group->block;
  int64_t width = (int64_t)group->grid[0] * block[0], height = (int64_t)group->grid[1] * block[1];
  for (uint32_t item = 0; item < block[0] * block[1] * block[2]; ++item) {
    int64_t x = (int64_t)group->group[0] * block[0] + item % block[0];
    int64_t y = (int64_t)group->group[1] * block[1] + item / block[0] % block[1];
    int64_t z = (int64_t)group->group[2] * block[2] + item / block[0] / block[1];
    int64_t place = (z * height + y) * width + x;
    *(int32_t *)sim_element(&group->arguments[0], place, 4) = (int32_t)place;
  }
  return BYOC_OK;
}

static int32_t kernel_arguments(const sim_group_t *group) {
  const sim_argument_t *arguments = group->arguments;
  if (group->argument_count != 5) return BYOC_INVALID_ARGUMENT;
  double *y = arguments[0].data;
  y[0] = (double)(int32_t)arguments[1].integer;
  y[1] = (double)arguments[2].integer;
  y[2] = (double)(float)arguments[3].real;
  y[3] = arguments[4].real;
  return BYOC_OK;
}

static int32_t kernel_work(const sim_group_t *group) {
  if (group->argument_count != 2) return BYOC_INVALID_ARGUMENT;
  uint32_t value = 1;
  for (int64_t i = 0; i < group->arguments[1].integer; ++i) value = value * 1664525u + 1013904223u + (value >> 7);
  *(uint32_t *)group->arguments[0].data = value;
  return BYOC_OK;
}

static int32_t kernel_spin(const sim_group_t *group) {
  if (group->argument_count != 1) return BYOC_INVALID_ARGUMENT;
  uint64_t end = sim_now_ns() + (uint64_t)group->arguments[0].integer;
  while (sim_now_ns() < end) continue;
  return BYOC_OK;
}

static int32_t kernel_fail(const sim_group_t *group) {
  (void)group;
  return BYOC_INTERNAL;
}

sim_kernel_t sim_own_kernel(const char *name) {
  static const struct {
    const char *name;
    sim_kernel_t kernel;
  } kernels[] = {
      {"negate", kernel_negate},     {"relu", kernel_relu},
      {"exp", kernel_exp},           {"add", kernel_add},
      {"subtract", kernel_subtract}, {"multiply", kernel_multiply},
      {"divide", kernel_divide},     {"scale", kernel_scale},
      {"matmul", kernel_matmul},     {"sum_groups", kernel_sum_groups},
      {"count", kernel_count},       {"spin", kernel_spin},
      {"places", kernel_places},     {"arguments", kernel_arguments},
      {"work", kernel_work},         {"fail", kernel_fail},
  };
  for (size_t i = 0; i < sizeof(kernels) / sizeof(kernels[0]); ++i) {
    if (strcmp(kernels[i].name, name) == 0) return kernels[i].kernel;
  }
  return NULL;
}
