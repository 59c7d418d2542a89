// SPDX-License-Identifier: Apache-2.0
// Operator graphs with their results. A graph grows operator by operator, at random (random_graphs) or by a plan
// (sweep_operators); the file of each operator computes its result by plain loops over doubles, and adds the node to an
// ONNX model. Nothing here shares code with what lowers operators.
#ifndef BYOC_TESTS_RANDOM_GRAPH_H_
#define BYOC_TESTS_RANDOM_GRAPH_H_

#include "byoc/artifact.h"
#include "core/frontend/onnx_write.h"
#include "tests/support/support.h"

enum { MAX_RANK = 5, MAX_ELEMENTS = 6000, MAX_TENSORS = 4096, MAX_INPUTS = 9 };

typedef struct tensor_t tensor_t;
struct tensor_t {
  char name[32];
  byoc_dtype_t dtype; // F32, I64 or BOOL; in quantised graphs U8, I8 and I32, too
  int32_t rank;
  int64_t dims[MAX_RANK], count;
  double *values;  // each value of an f32 is a float
  double *errors;  // how far each may be off: 0 in general
  bool is_bounded; // an f32 of which `errors` says all; other f32 have one tolerance for every element
  bool is_input, is_constant;
  bool is_exact; // free of rounding: may be an operand of operators with jumps
  int reader_count;
  int graph; // index of the graph it belongs to
  // What stands for a number x as x / scale + zero; one pair for the tensor, or one for each channel. NULL: nothing.
  double *scales, *zeros;
  int64_t channel_count;
  int32_t axis;                         // of the channels
  tensor_t *scale_tensor, *zero_tensor; // that hold them; NULL: not made yet
  double spread;                        // about how far values are from the middle, for choosing scales
  unsigned kept;                        // bits of the dimensions that are known, for choosing operators
};

typedef struct suite_t suite_t;
// Tries to add one operator; false if the operands that it picked do not suit it (another operator is tried then).
typedef bool (*make_operator_t)(suite_t *suite);
typedef struct operator_row_t {
  make_operator_t make;
  int weight;
} operator_row_t;

// Several separate graphs in one model.
struct suite_t {
  byoc_onnx_model_t *model;
  byoc_onnx_graph_t *onnx;
  tensor_t *tensors[MAX_TENSORS];
  size_t tensor_count;
  size_t graph_begin; // index of the current graph's first tensor
  int graph;
  const operator_row_t *const *families; // what graphs are made of; ends with a NULL
  int64_t max_elements;                  // of a tensor
  double largest_value;                  // of an f32
  bool is_open;                          // inputs of drawn values have open dimensions
  bool has_even_scales;                  // scales are powers of two, so that quantising does not round twice
  uint64_t seed;                         // of the current graph
  byoc_test_random_t random;
  char *stories[1024]; // one line per operator, of all graphs
  int story_graph[1024];
  size_t story_count;
};

void suite_init(suite_t *suite); // graphs of floats
// Graphs are those of quantised models from now on; half of them have even scales.
void suite_quantise(suite_t *suite, bool is_open);
void suite_deinit(suite_t *suite);
// Adds one graph of about `operator_count` operators, made from `seed` alone, and its outputs.
void suite_add_graph(suite_t *suite, uint64_t seed, int operator_count);
// The same in parts, with operators added in between. Values that nobody reads become outputs, and some of the others.
void suite_begin_graph(suite_t *suite, uint64_t seed);
void suite_end_graph(suite_t *suite);
// Prints how a graph was made.
void suite_print_graph(const suite_t *suite, int graph);
// NULL if there is none.
tensor_t *suite_find(const suite_t *suite, const char *name);
// Between the values here and those of a run.
void store_values(const tensor_t *tensor, void *data);
byoc_argument_t new_argument(tensor_t *tensor); // free its data
double element_at(byoc_dtype_t dtype, const void *data, int64_t index);
bool is_close(const tensor_t *tensor, int64_t index, double value);

// ---- for the files of operators ----

extern const operator_row_t elementwise_operators[], layout_operators[], linear_operators[], window_operators[],
    reduce_operators[], join_operators[], quantised_operators[]; // end with a NULL
extern const operator_row_t *const float_families[], *const quantised_families[];

int64_t below(suite_t *suite, int64_t limit); // 0 <= x < limit
bool chance(suite_t *suite, int percent);

// An f32 tensor of the current graph, or a fresh input; NULL if there is none of `rank` (-1: any rank).
tensor_t *pick(suite_t *suite, int32_t rank);
// The same, for values that are free of rounding.
tensor_t *pick_exact(suite_t *suite);
tensor_t *pick_bool(suite_t *suite); // may be NULL
// A shape of at most `limit` elements.
int32_t random_shape(suite_t *suite, int32_t rank, int64_t limit, int64_t *out_dims);
tensor_t *new_input(suite_t *suite, int32_t rank, const int64_t *dims);
// Constants; random ones are f32 from -1 to 1.
tensor_t *new_random_constant(suite_t *suite, int32_t rank, const int64_t *dims, double scale, double offset);
tensor_t *new_constant(suite_t *suite, byoc_dtype_t dtype, int32_t rank, const int64_t *dims, const double *values);
tensor_t *new_ints(suite_t *suite, int64_t count, const int64_t *values); // i64[count]
tensor_t *new_scalar(suite_t *suite, double value);
// Inputs and constants of f32, u8, i8 or i32 whose values, low to high, depend on the seed and on how many tensors
// there were before; not on how many elements those had. `kept`: bits of the dimensions of an input that are never
// open. Those of f32 are exact and bounded.
tensor_t *draw_input(suite_t *suite, byoc_dtype_t dtype, int32_t rank, const int64_t *dims, unsigned kept, double low,
                     double high);
tensor_t *draw_constant(suite_t *suite, byoc_dtype_t dtype, int32_t rank, const int64_t *dims, double low, double high);

// A tensor for an operator to fill; it belongs to the graph only once it is committed.
tensor_t *new_result(suite_t *suite, byoc_dtype_t dtype, int32_t rank, const int64_t *dims);
// Rounds the result to its element type and adds the node. NULL if its values are too large or not finite, which would
// not compare well; the result is freed then. `operands` may hold NULL for an omitted input.
byoc_onnx_node_t *commit(suite_t *suite, const char *op, tensor_t *const *operands, size_t operand_count,
                         tensor_t *result);
// The same for a domain ("": ai.onnx) and several results: none or all of them stay.
byoc_onnx_node_t *commit_all(suite_t *suite, const char *domain, const char *op, tensor_t *const *operands,
                             size_t operand_count, tensor_t *const *results, size_t result_count);
byoc_onnx_node_t *commit1(suite_t *suite, const char *op, tensor_t *a, tensor_t *result);
byoc_onnx_node_t *commit2(suite_t *suite, const char *op, tensor_t *a, tensor_t *b, tensor_t *result);

// ---- indices ----

int64_t product(const int64_t *dims, int32_t rank);
// Steps through all indices of a shape in row-major order; start with zeros. False after the last one.
bool next_index(int32_t rank, const int64_t *dims, int64_t *index);
int64_t offset_of(const tensor_t *tensor, const int64_t *index);
// Of a tensor that is broadcast (NumPy's rules) to a shape of `rank` dimensions.
int64_t broadcast_offset(const tensor_t *tensor, int32_t rank, const int64_t *index);
// The broadcast shape of two shapes; false if they do not fit.
bool broadcast_shape(const tensor_t *a, const tensor_t *b, int32_t *out_rank, int64_t *out_dims);

#endif // BYOC_TESTS_RANDOM_GRAPH_H_
