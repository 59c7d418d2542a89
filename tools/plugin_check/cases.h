// SPDX-License-Identifier: Apache-2.0
// The case tables: small graphs written down in cases/*.cases, one per line:
//
//   name | who must take it | operands | nodes
//   conv_pads | cutlass dnnl cblas:some | x[1,3,8,9] w[4,3,3,3]= b[4]= | y = Conv(x,w,b) pads=1,1,1,1; z = Relu(y)
//
// Who: target kinds; the kind takes every node of the case, or with ":some" at least one. Others may take it or not;
// what they take must be right. "-": nobody has to.
//
// Operands: x[dims] is an input, w[dims]= a constant; "[]" is a scalar. "x[2,3]:u8" and "w[2,3]:i8=" name an element
// type, as byoc does (f32 without one). Numbers are in [-1, 1), bytes of the whole range, other integers in [-8, 8).
// Inputs whose names start with "positive" are from 0.25 up, with "nan" have NaN among them, with "wild" infinities,
// too. Constants: w[dims]=+ has positive numbers, w[dims]=1,2 these values, repeated.
//
// Nodes: y = Conv(x,w,b) key=value; names in front of an operator, "com.microsoft::QLinearAdd(...)", are its domain.
// "a,b = Op(x,,z)" has two results and leaves an operand out. Attributes: key=1 is an integer, key=1.0 a float, key=1,1
// (or "1,") a list of integers, all else a text. What no node of the case reads is an output. A line that starts with
// '#' is a comment.
//
// The tables of this folder are part of the program; --cases gives others. What is read lives until the rule ends.
#ifndef BYOC_TOOLS_PLUGIN_CHECK_CASES_H_
#define BYOC_TOOLS_PLUGIN_CHECK_CASES_H_

#include "core/frontend/onnx_write.h"
#include "tools/plugin_check/check.h"

typedef struct check_case_t {
  char *name, *demands, *operands, *nodes;
  int line_number;
} check_case_t;

typedef struct check_case_file_t check_case_file_t;
struct check_case_file_t {
  const char *name; // "conv.cases"
  check_case_t *cases;
  size_t count;
};

typedef struct check_cases_t {
  check_case_file_t *files; // sorted by name; each has cases
  size_t file_count;
} check_cases_t;

// The cases that --cases and --case leave.
void check_cases_read(check_t *check, check_cases_t *out_cases);

typedef enum check_demand_t { CHECK_DEMAND_NONE, CHECK_DEMAND_SOME, CHECK_DEMAND_ALL } check_demand_t;
check_demand_t check_case_demand(const check_case_t *entry, const char *kind);

// One model of all cases of the file. The values and nodes of the n-th case are named "k<n>_...".
typedef struct check_model_t {
  uint8_t *data;
  size_t size_bytes;
} check_model_t;
check_model_t check_case_file_model(check_t *check, const check_case_file_t *file);
// The index of the case that a node or value belongs to; -1 if its name is of another form.
int check_case_of_name(const char *name);
// The name of a file's case, from the name of one of its values or nodes; never NULL.
const char *check_case_name(const check_case_file_t *file, const char *name);

// A seeded sequence of numbers.
typedef struct check_random_t {
  uint64_t state;
} check_random_t;
double check_random_value(check_random_t *random); // in [-1, 1)
// An element of a type, made of a number in [-1, 1): bytes of the whole range, other integers from -8 to 7.
double check_random_element(byoc_dtype_t dtype, double value);

#endif // BYOC_TOOLS_PLUGIN_CHECK_CASES_H_
