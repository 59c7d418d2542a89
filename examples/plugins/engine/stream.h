// SPDX-License-Identifier: Apache-2.0
// stream.h - the command stream: what abacus.c writes when it compiles, and engine.c runs inside an artifact. One
// stream per function. Values have numbers: the function's inputs, then the constants, then the results of the steps.
#ifndef ABACUS_STREAM_H_
#define ABACUS_STREAM_H_

#include <stdint.h>

// Change the version when the meaning of a stream changes: an old engine then refuses a new stream.
#define ABACUS_STREAM "stream 1"
enum { ABACUS_MOST_VALUES = 48 };
enum { ABACUS_ADD, ABACUS_SUB, ABACUS_MUL, ABACUS_MAX, ABACUS_RELU, ABACUS_OPERATION_COUNT };

typedef struct abacus_step_t {
  int32_t operation, left, right; // `right` equals `left` if the operation has one operand
} abacus_step_t;

typedef struct abacus_stream_t {
  int64_t element_count; // of each value; a constant may have one element instead
  int32_t input_count, constant_count, step_count, output_count;
  int32_t outputs[ABACUS_MOST_VALUES]; // numbers of the values that are the function's results
  abacus_step_t steps[ABACUS_MOST_VALUES];
} abacus_stream_t;

#endif // ABACUS_STREAM_H_
