// SPDX-License-Identifier: Apache-2.0
// The cases of a sweep: one operator each, over channel counts around the blocks that lowering and backends cut them
// into, and over kernels, strides, dilations, pads, groups.
#ifndef BYOC_TESTS_SWEEP_CASES_H_
#define BYOC_TESTS_SWEEP_CASES_H_

#include "tests/random/graph.h"

typedef struct sweep_operator_t sweep_operator_t;

typedef struct sweep_case_t {
  const sweep_operator_t *op;
  int64_t in, out, group; // channels, or columns of the left and the right operand
  int64_t kernel, stride, dilation, pads[4];
  int64_t n, h, w; // of images; of matrices n batches (0: none) of h rows
  uint64_t seed;   // of the data, and of what is not said here
} sweep_case_t;

struct sweep_operator_t {
  const char *name;
  // Adds the operator to the current graph of the suite, whose open dimensions are `growth` larger than in the case;
  // NULL if the case makes no sense.
  tensor_t *(*add)(suite_t *suite, const sweep_case_t *c, int64_t growth);
  enum { SWEEP_CONV, SWEEP_DEPTHWISE, SWEEP_GROUPED, SWEEP_TRANSPOSED, SWEEP_POOL, SWEEP_PRODUCT } kind;
};
extern const sweep_operator_t sweep_operators[];
extern const size_t sweep_operator_count;

// All cases of an operator, or with `is_quick` a few. Free with free().
sweep_case_t *sweep_cases(const sweep_operator_t *op, bool is_quick, size_t *out_count);
void sweep_describe(const sweep_case_t *c, char *out, size_t size);

#endif // BYOC_TESTS_SWEEP_CASES_H_
