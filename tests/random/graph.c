// SPDX-License-Identifier: Apache-2.0
// Makes random graphs.
#include "tests/random/graph.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/ops/op.h"

// Larger values would hide the errors of smaller ones.
static const double largest_value = 60;

int64_t below(suite_t *suite, int64_t limit) {
  return (int64_t)byoc_test_below(&suite->random, (uint64_t)limit);
}

bool chance(suite_t *suite, int percent) {
  return below(suite, 100) < percent;
}

void suite_init(suite_t *suite) {
  *suite = (suite_t){.graph = -1};
  suite->model = byoc_onnx_model_create(byoc_allocator_system(), "random", 17);
  assert_non_null(suite->model);
  suite->onnx = byoc_onnx_model_graph(suite->model);
}

static void free_tensor(tensor_t *tensor) {
  if (tensor != NULL) free(tensor->values);
  free(tensor);
}

void suite_deinit(suite_t *suite) {
  for (size_t i = 0; i < suite->tensor_count; ++i) free_tensor(suite->tensors[i]);
  for (size_t i = 0; i < suite->story_count; ++i) free(suite->stories[i]);
  byoc_onnx_model_destroy(suite->model);
}

// ---- indices ----

int64_t product(const int64_t *dims, int32_t rank) {
  int64_t count = 1;
  for (int32_t d = 0; d < rank; ++d) count *= dims[d];
  return count;
}

bool next_index(int32_t rank, const int64_t *dims, int64_t *index) {
  for (int32_t d = rank - 1; d >= 0; --d) {
    if (++index[d] < dims[d]) return true;
    index[d] = 0;
  }
  return false;
}

int64_t offset_of(const tensor_t *tensor, const int64_t *index) {
  int64_t offset = 0;
  for (int32_t d = 0; d < tensor->rank; ++d) offset = offset * tensor->dims[d] + index[d];
  return offset;
}

int64_t broadcast_offset(const tensor_t *tensor, int32_t rank, const int64_t *index) {
  int64_t offset = 0;
  for (int32_t d = 0; d < tensor->rank; ++d) {
    int64_t at = tensor->dims[d] == 1 ? 0 : index[rank - tensor->rank + d];
    offset = offset * tensor->dims[d] + at;
  }
  return offset;
}

bool broadcast_shape(const tensor_t *a, const tensor_t *b, int32_t *out_rank, int64_t *out_dims) {
  int32_t rank = a->rank > b->rank ? a->rank : b->rank;
  for (int32_t d = 0; d < rank; ++d) {
    int64_t left = d < rank - a->rank ? 1 : a->dims[d - (rank - a->rank)];
    int64_t right = d < rank - b->rank ? 1 : b->dims[d - (rank - b->rank)];
    if (left != right && left != 1 && right != 1) return false;
    out_dims[d] = left == 1 ? right : left;
  }
  *out_rank = rank;
  return product(out_dims, rank) <= MAX_ELEMENTS;
}

// ---- tensors ----

static void add_tensor(suite_t *suite, tensor_t *tensor) {
  assert_true(suite->tensor_count < MAX_TENSORS);
  suite->tensors[suite->tensor_count++] = tensor;
}

tensor_t *new_result(suite_t *suite, byoc_dtype_t dtype, int32_t rank, const int64_t *dims) {
  tensor_t *tensor = calloc(1, sizeof(*tensor));
  assert_non_null(tensor);
  tensor->dtype = dtype;
  tensor->rank = rank;
  tensor->graph = suite->graph;
  for (int32_t d = 0; d < rank; ++d) tensor->dims[d] = dims[d];
  tensor->count = product(dims, rank);
  assert_true(tensor->count >= 0);
  tensor->values = calloc((size_t)tensor->count + 1, sizeof(double));
  assert_non_null(tensor->values);
  snprintf(tensor->name, sizeof(tensor->name), "g%d_%zu", suite->graph, suite->tensor_count - suite->graph_begin);
  return tensor;
}

static void print_shape(const tensor_t *tensor, char *buffer, size_t size) {
  size_t used = 0;
  buffer[0] = '\0';
  for (int32_t d = 0; d < tensor->rank && used < size; ++d) {
    used += (size_t)snprintf(buffer + used, size - used, "%s%lld", d ? "," : "", (long long)tensor->dims[d]);
  }
}

static double rounded(byoc_dtype_t dtype, double value) {
  return dtype == BYOC_DTYPE_F32 ? (double)(float)value : value;
}

tensor_t *new_input(suite_t *suite, int32_t rank, const int64_t *dims) {
  tensor_t *tensor = new_result(suite, BYOC_DTYPE_F32, rank, dims);
  char shape[128];
  print_shape(tensor, shape, sizeof(shape));
  byoc_onnx_graph_input(suite->onnx, tensor->name, tensor->dtype, shape);
  tensor->is_input = true;
  tensor->is_exact = true;
  for (int64_t i = 0; i < tensor->count; ++i) tensor->values[i] = (double)(below(suite, 65) - 32) / 16; // [-2, 2]
  add_tensor(suite, tensor);
  return tensor;
}

tensor_t *new_constant(suite_t *suite, byoc_dtype_t dtype, int32_t rank, const int64_t *dims, const double *values) {
  tensor_t *tensor = new_result(suite, dtype, rank, dims);
  void *data = byoc_onnx_graph_initialiser(suite->onnx, tensor->name, dtype, (size_t)rank, dims);
  assert_non_null(data);
  for (int64_t i = 0; i < tensor->count; ++i) {
    tensor->values[i] = rounded(dtype, values[i]);
    if (dtype == BYOC_DTYPE_F32) ((float *)data)[i] = (float)values[i];
    if (dtype == BYOC_DTYPE_I64) ((int64_t *)data)[i] = (int64_t)values[i];
    if (dtype == BYOC_DTYPE_BOOL) ((uint8_t *)data)[i] = values[i] != 0;
  }
  tensor->is_constant = true;
  add_tensor(suite, tensor);
  return tensor;
}

tensor_t *new_random_constant(suite_t *suite, int32_t rank, const int64_t *dims, double scale, double offset) {
  double values[MAX_ELEMENTS];
  int64_t count = product(dims, rank);
  assert_true(count <= MAX_ELEMENTS);
  for (int64_t i = 0; i < count; ++i) values[i] = offset + scale * (double)byoc_test_float(&suite->random);
  return new_constant(suite, BYOC_DTYPE_F32, rank, dims, values);
}

tensor_t *new_ints(suite_t *suite, int64_t count, const int64_t *values) {
  tensor_t *tensor = new_result(suite, BYOC_DTYPE_I64, 1, &count);
  for (int64_t i = 0; i < count; ++i) tensor->values[i] = (double)values[i];
  byoc_onnx_graph_initialiser_data(suite->onnx, tensor->name, BYOC_DTYPE_I64, 1, &count, values);
  tensor->is_constant = true;
  add_tensor(suite, tensor);
  return tensor;
}

tensor_t *new_scalar(suite_t *suite, double value) {
  return new_constant(suite, BYOC_DTYPE_F32, 0, NULL, &value);
}

// ---- picking ----

int32_t random_shape(suite_t *suite, int32_t rank, int64_t limit, int64_t *out_dims) {
  static const int64_t sizes[] = {1, 2, 3, 4, 5, 6, 7, 8, 12, 16, 17, 24, 33};
  int64_t count = 1;
  for (int32_t d = 0; d < rank; ++d) {
    out_dims[d] = sizes[below(suite, sizeof(sizes) / sizeof(sizes[0]))];
    if (count * out_dims[d] > limit) out_dims[d] = 1 + below(suite, 2);
    if (count * out_dims[d] > limit) out_dims[d] = 1;
    count *= out_dims[d];
  }
  return rank;
}

static tensor_t *pick_where(suite_t *suite, byoc_dtype_t dtype, int32_t rank, bool exact) {
  size_t count = suite->tensor_count - suite->graph_begin;
  size_t start = count > 0 ? (size_t)below(suite, (int64_t)count) : 0;
  for (size_t i = 0; i < count; ++i) {
    // Mostly picks values that nobody reads yet: fusion works on chains.
    tensor_t *tensor = suite->tensors[suite->graph_begin + (start + i) % count];
    bool fits = tensor->dtype == dtype && !tensor->is_constant && (rank < 0 || tensor->rank == rank) &&
                (!exact || tensor->is_exact);
    if (fits && (tensor->reader_count == 0 || chance(suite, 40))) return tensor;
  }
  return NULL;
}

tensor_t *pick(suite_t *suite, int32_t rank) {
  tensor_t *tensor = chance(suite, 92) ? pick_where(suite, BYOC_DTYPE_F32, rank, false) : NULL;
  if (tensor != NULL) return tensor;
  int64_t dims[MAX_RANK];
  if (rank < 0) rank = (int32_t)below(suite, 5);
  random_shape(suite, rank, 1500, dims);
  return new_input(suite, rank, dims);
}

tensor_t *pick_exact(suite_t *suite) {
  tensor_t *tensor = chance(suite, 92) ? pick_where(suite, BYOC_DTYPE_F32, -1, true) : NULL;
  if (tensor != NULL) return tensor;
  int64_t dims[MAX_RANK];
  int32_t rank = random_shape(suite, (int32_t)below(suite, 5), 1500, dims);
  return new_input(suite, rank, dims);
}

tensor_t *pick_bool(suite_t *suite) {
  return pick_where(suite, BYOC_DTYPE_BOOL, -1, false);
}

// ---- committing ----

byoc_onnx_node_t *commit(suite_t *suite, const char *op, tensor_t *const *operands, size_t operand_count,
                         tensor_t *result) {
  // An operator that is not known yet is skipped until it is.
  bool fits = result->count <= MAX_ELEMENTS && byoc_op_find("", op, 17) != NULL;
  for (int64_t i = 0; i < result->count; ++i) {
    result->values[i] = rounded(result->dtype, result->values[i]);
    fits = fits && fabs(result->values[i]) <= largest_value; // false for NaN
  }
  if (!fits) {
    free_tensor(result);
    return NULL;
  }
  char inputs[MAX_INPUTS * 40] = "", line[1000], shape[128];
  size_t used = 0, story = 0;
  // Inputs and constants made for this operator carry the names before it.
  snprintf(result->name, sizeof(result->name), "g%d_%zu", suite->graph, suite->tensor_count - suite->graph_begin);
  story = (size_t)snprintf(line, sizeof(line), "  %s = %s(", result->name, op);
  for (size_t i = 0; i < operand_count; ++i) {
    const char *name = operands[i] ? operands[i]->name : "";
    used += (size_t)snprintf(inputs + used, sizeof(inputs) - used, "%s%s", i ? "," : "", name);
    if (operands[i] != NULL) {
      operands[i]->reader_count += 1;
      print_shape(operands[i], shape, sizeof(shape));
      story += (size_t)snprintf(line + story, sizeof(line) - story, "%s%s%s[%s]", i ? ", " : "",
                                operands[i]->is_constant ? "constant " : "", name, shape);
    }
  }
  print_shape(result, shape, sizeof(shape));
  snprintf(line + story, sizeof(line) - story, ") : %s[%s]", byoc_dtype_name(result->dtype), shape);
  if (suite->story_count < sizeof(suite->stories) / sizeof(suite->stories[0])) {
    suite->story_graph[suite->story_count] = suite->graph;
    suite->stories[suite->story_count++] = strdup(line);
  }
  add_tensor(suite, result);
  return byoc_onnx_graph_node(suite->onnx, op, result->name, inputs, result->name);
}

byoc_onnx_node_t *commit1(suite_t *suite, const char *op, tensor_t *a, tensor_t *result) {
  return commit(suite, op, &a, 1, result);
}

byoc_onnx_node_t *commit2(suite_t *suite, const char *op, tensor_t *a, tensor_t *b, tensor_t *result) {
  return commit(suite, op, (tensor_t *[]){a, b}, 2, result);
}

// ---- whole graphs ----

static make_operator_t choose_operator(suite_t *suite) {
  static const operator_row_t *const families[] = {elementwise_operators, layout_operators, linear_operators,
                                                   window_operators,      reduce_operators, join_operators};
  int64_t total = 0;
  for (size_t f = 0; f < sizeof(families) / sizeof(families[0]); ++f) {
    for (const operator_row_t *row = families[f]; row->make != NULL; ++row) total += row->weight;
  }
  int64_t at = below(suite, total);
  for (size_t f = 0; f < sizeof(families) / sizeof(families[0]); ++f) {
    for (const operator_row_t *row = families[f]; row->make != NULL; ++row) {
      if ((at -= row->weight) < 0) return row->make;
    }
  }
  return elementwise_operators[0].make;
}

void suite_add_graph(suite_t *suite, uint64_t seed, int operator_count) {
  suite->graph += 1;
  suite->graph_begin = suite->tensor_count;
  suite->random = (byoc_test_random_t){.state = seed};
  for (int made = 0, tries = 0; made < operator_count && tries < 200; ++tries) {
    if (choose_operator(suite)(suite)) made += 1;
  }
  // Values that nobody reads become outputs, and sometimes also values that are read.
  for (size_t i = suite->graph_begin; i < suite->tensor_count; ++i) {
    tensor_t *tensor = suite->tensors[i];
    if (tensor->is_input || tensor->is_constant || (tensor->reader_count > 0 && !chance(suite, 10))) continue;
    char shape[128];
    print_shape(tensor, shape, sizeof(shape));
    byoc_onnx_graph_output(suite->onnx, tensor->name, tensor->dtype, shape);
    tensor->reader_count = -1; // an output
  }
}

void suite_print_graph(const suite_t *suite, int graph) {
  for (size_t i = 0; i < suite->story_count; ++i) {
    if (suite->story_graph[i] == graph) print_error("%s\n", suite->stories[i]);
  }
}
