// SPDX-License-Identifier: Apache-2.0
// Makes random graphs.
#include "tests/random/graph.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/op/op.h"

const operator_row_t *const float_families[] = {elementwise_operators,
                                                layout_operators,
                                                linear_operators,
                                                window_operators,
                                                reduce_operators,
                                                join_operators,
                                                NULL};

int64_t below(suite_t *suite, int64_t limit) {
  return (int64_t)byoc_test_below(&suite->random, (uint64_t)limit);
}

bool chance(suite_t *suite, int percent) {
  return below(suite, 100) < percent;
}

void suite_init(suite_t *suite) {
  // Larger values would hide the errors of smaller ones.
  *suite = (suite_t){.graph = -1, .families = float_families, .max_elements = MAX_ELEMENTS, .largest_value = 60};
  suite->model = byoc_onnx_model_create(byoc_allocator_system(), "random", 17);
  assert_non_null(suite->model);
  suite->onnx = byoc_onnx_model_graph(suite->model);
}

static void free_tensor(tensor_t *tensor) {
  if (tensor == NULL) return;
  free(tensor->values);
  free(tensor->errors);
  free(tensor->scales);
  free(tensor->zeros);
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
  tensor->errors = calloc((size_t)tensor->count + 1, sizeof(double));
  assert_non_null(tensor->values);
  assert_non_null(tensor->errors);
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

void store_values(const tensor_t *tensor, void *data) {
  for (int64_t i = 0; i < tensor->count; ++i) {
    const double value = tensor->values[i];
    if (tensor->dtype == BYOC_DTYPE_F32) ((float *)data)[i] = (float)value;
    if (tensor->dtype == BYOC_DTYPE_I64) ((int64_t *)data)[i] = (int64_t)value;
    if (tensor->dtype == BYOC_DTYPE_I32) ((int32_t *)data)[i] = (int32_t)value;
    if (tensor->dtype == BYOC_DTYPE_I8) ((int8_t *)data)[i] = (int8_t)value;
    if (tensor->dtype == BYOC_DTYPE_U8) ((uint8_t *)data)[i] = (uint8_t)value;
    if (tensor->dtype == BYOC_DTYPE_BOOL) ((uint8_t *)data)[i] = value != 0;
  }
}

byoc_argument_t new_argument(tensor_t *tensor) {
  void *data = calloc((size_t)tensor->count + 1, sizeof(int64_t));
  assert_non_null(data);
  store_values(tensor, data);
  return (byoc_argument_t){.kind = BYOC_ARGUMENT_TENSOR,
                           .dtype = tensor->dtype,
                           .rank = (uint32_t)tensor->rank,
                           .dims = tensor->dims,
                           .data = data};
}

double element_at(byoc_dtype_t dtype, const void *data, int64_t index) {
  if (dtype == BYOC_DTYPE_F32) return (double)((const float *)data)[index];
  if (dtype == BYOC_DTYPE_I64) return (double)((const int64_t *)data)[index];
  if (dtype == BYOC_DTYPE_I32) return (double)((const int32_t *)data)[index];
  if (dtype == BYOC_DTYPE_I8) return (double)((const int8_t *)data)[index];
  return (double)((const uint8_t *)data)[index];
}

// Rounding errors grow with the magnitude of the values on the way.
bool is_close(const tensor_t *tensor, int64_t index, double value) {
  const double expected = tensor->values[index], distance = fabs(value - expected);
  if (tensor->dtype != BYOC_DTYPE_F32) return distance <= tensor->errors[index];
  return distance <=
         (tensor->is_bounded ? tensor->errors[index] + 1e-6 + 1e-6 * fabs(expected) : 1e-3 + 2e-3 * fabs(expected));
}

tensor_t *new_constant(suite_t *suite, byoc_dtype_t dtype, int32_t rank, const int64_t *dims, const double *values) {
  tensor_t *tensor = new_result(suite, dtype, rank, dims);
  void *data = byoc_onnx_graph_initialiser(suite->onnx, tensor->name, dtype, (size_t)rank, dims);
  assert_non_null(data);
  for (int64_t i = 0; i < tensor->count; ++i) tensor->values[i] = rounded(dtype, values[i]);
  store_values(tensor, data);
  tensor->is_constant = true;
  add_tensor(suite, tensor);
  return tensor;
}

// Fills it with values that do not depend on how many numbers were drawn before.
static void draw_values(const suite_t *suite, tensor_t *tensor, double low, double high) {
  byoc_test_random_t random = {suite->seed * 1000003 + (suite->tensor_count - suite->graph_begin)};
  for (int64_t i = 0; i < tensor->count; ++i) {
    const double unit = (double)(byoc_test_next(&random) >> 11) / 9007199254740992.0; // [0, 1)
    tensor->values[i] = tensor->dtype == BYOC_DTYPE_F32 ? low + floor(unit * 257) / 256 * (high - low)
                                                        : low + floor(unit * (high - low + 1));
    tensor->values[i] = rounded(tensor->dtype, tensor->values[i]);
  }
  tensor->is_bounded = tensor->is_exact = tensor->dtype == BYOC_DTYPE_F32;
  tensor->spread = 0.29 * (high - low); // the standard deviation
}

tensor_t *draw_input(suite_t *suite, byoc_dtype_t dtype, int32_t rank, const int64_t *dims, unsigned kept, double low,
                     double high) {
  tensor_t *tensor = new_result(suite, dtype, rank, dims);
  char shape[128] = "";
  size_t used = 0;
  for (int32_t d = 0; d < rank; ++d) {
    const char *comma = d > 0 ? "," : "";
    const bool is_open = suite->is_open && (kept >> d & 1) == 0;
    // Dimensions of one graph that are equal have one name: operands that must fit together do.
    used += (size_t)(is_open ? snprintf(shape + used, sizeof(shape) - used, "%sg%d_s%lld", comma, suite->graph,
                                        (long long)dims[d])
                             : snprintf(shape + used, sizeof(shape) - used, "%s%lld", comma, (long long)dims[d]));
  }
  byoc_onnx_graph_input(suite->onnx, tensor->name, dtype, shape);
  tensor->is_input = true;
  draw_values(suite, tensor, low, high);
  add_tensor(suite, tensor);
  return tensor;
}

tensor_t *draw_constant(suite_t *suite, byoc_dtype_t dtype, int32_t rank, const int64_t *dims, double low,
                        double high) {
  tensor_t *tensor = new_result(suite, dtype, rank, dims);
  draw_values(suite, tensor, low, high);
  void *data = byoc_onnx_graph_initialiser(suite->onnx, tensor->name, dtype, (size_t)rank, dims);
  assert_non_null(data);
  store_values(tensor, data);
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

// Rounds the values to the element type; false if they are too large or not finite.
static bool settle(const suite_t *suite, tensor_t *result) {
  bool fits = result->count <= suite->max_elements;
  const double largest = result->dtype == BYOC_DTYPE_I32 ? INT32_MAX : suite->largest_value;
  for (int64_t i = 0; i < result->count; ++i) {
    result->values[i] = rounded(result->dtype, result->values[i]);
    fits = fits && fabs(result->values[i]) <= largest; // false for NaN
  }
  return fits;
}

static void name_tensors(tensor_t *const *tensors, size_t count, char *out, size_t size) {
  size_t used = 0;
  out[0] = '\0';
  for (size_t i = 0; i < count; ++i) {
    used += (size_t)snprintf(out + used, size - used, "%s%s", i ? "," : "", tensors[i] ? tensors[i]->name : "");
  }
}

static void tell(suite_t *suite, const char *op, tensor_t *const *operands, size_t operand_count,
                 const tensor_t *result) {
  char line[1000], shape[128];
  size_t used = (size_t)snprintf(line, sizeof(line), "  %s = %s(", result->name, op);
  for (size_t i = 0; i < operand_count; ++i) {
    if (operands[i] == NULL) continue;
    print_shape(operands[i], shape, sizeof(shape));
    used += (size_t)snprintf(line + used, sizeof(line) - used, "%s%s%s[%s]", i ? ", " : "",
                             operands[i]->is_constant ? "constant " : "", operands[i]->name, shape);
  }
  print_shape(result, shape, sizeof(shape));
  snprintf(line + used, sizeof(line) - used, ") : %s[%s]", byoc_dtype_name(result->dtype), shape);
  if (suite->story_count == sizeof(suite->stories) / sizeof(suite->stories[0])) return;
  suite->story_graph[suite->story_count] = suite->graph;
  suite->stories[suite->story_count++] = strdup(line);
}

byoc_onnx_node_t *commit_all(suite_t *suite, const char *domain, const char *op, tensor_t *const *operands,
                             size_t operand_count, tensor_t *const *results, size_t result_count) {
  // An operator that is not known yet is skipped until it is.
  bool fits = byoc_op_find(domain, op, domain[0] != '\0' ? 1 : 17) != NULL;
  for (size_t r = 0; r < result_count; ++r) fits = settle(suite, results[r]) && fits;
  for (size_t r = 0; r < result_count && !fits; ++r) free_tensor(results[r]);
  if (!fits) return NULL;
  for (size_t r = 0; r < result_count; ++r) {
    // Inputs and constants made for this operator carry the names before it.
    snprintf(results[r]->name, sizeof(results[r]->name), "g%d_%zu", suite->graph,
             suite->tensor_count - suite->graph_begin);
    add_tensor(suite, results[r]);
    tell(suite, op, operands, operand_count, results[r]);
  }
  for (size_t i = 0; i < operand_count; ++i) {
    if (operands[i] != NULL) operands[i]->reader_count += 1;
  }
  char inputs[MAX_INPUTS * 40], outputs[MAX_INPUTS * 40];
  name_tensors(operands, operand_count, inputs, sizeof(inputs));
  name_tensors(results, result_count, outputs, sizeof(outputs));
  byoc_onnx_node_t *node = byoc_onnx_graph_node(suite->onnx, op, results[0]->name, inputs, outputs);
  if (domain[0] != '\0') byoc_onnx_node_set_domain(node, domain);
  return node;
}

byoc_onnx_node_t *commit(suite_t *suite, const char *op, tensor_t *const *operands, size_t operand_count,
                         tensor_t *result) {
  return commit_all(suite, "", op, operands, operand_count, &result, 1);
}

byoc_onnx_node_t *commit1(suite_t *suite, const char *op, tensor_t *a, tensor_t *result) {
  return commit(suite, op, &a, 1, result);
}

byoc_onnx_node_t *commit2(suite_t *suite, const char *op, tensor_t *a, tensor_t *b, tensor_t *result) {
  return commit(suite, op, (tensor_t *[]){a, b}, 2, result);
}

// ---- whole graphs ----

static make_operator_t choose_operator(suite_t *suite) {
  int64_t total = 0;
  for (size_t f = 0; suite->families[f] != NULL; ++f) {
    for (const operator_row_t *row = suite->families[f]; row->make != NULL; ++row) total += row->weight;
  }
  int64_t at = below(suite, total);
  for (size_t f = 0; suite->families[f] != NULL; ++f) {
    for (const operator_row_t *row = suite->families[f]; row->make != NULL; ++row) {
      if ((at -= row->weight) < 0) return row->make;
    }
  }
  return suite->families[0][0].make;
}

void suite_begin_graph(suite_t *suite, uint64_t seed) {
  suite->graph += 1;
  suite->graph_begin = suite->tensor_count;
  suite->seed = seed;
  suite->has_even_scales = seed % 2 == 0;
  suite->random = (byoc_test_random_t){.state = seed};
}

void suite_end_graph(suite_t *suite) {
  for (size_t i = suite->graph_begin; i < suite->tensor_count; ++i) {
    tensor_t *tensor = suite->tensors[i];
    if (tensor->is_input || tensor->is_constant || (tensor->reader_count > 0 && !chance(suite, 10))) continue;
    char shape[128];
    print_shape(tensor, shape, sizeof(shape));
    byoc_onnx_graph_output(suite->onnx, tensor->name, tensor->dtype, suite->is_open ? NULL : shape);
    tensor->reader_count = -1; // an output
  }
}

void suite_add_graph(suite_t *suite, uint64_t seed, int operator_count) {
  suite_begin_graph(suite, seed);
  for (int made = 0, tries = 0; made < operator_count && tries < 200; ++tries) {
    if (choose_operator(suite)(suite)) made += 1;
  }
  suite_end_graph(suite);
}

tensor_t *suite_find(const suite_t *suite, const char *name) {
  for (size_t i = 0; i < suite->tensor_count; ++i) {
    if (strcmp(suite->tensors[i]->name, name) == 0) return suite->tensors[i];
  }
  return NULL;
}

void suite_print_graph(const suite_t *suite, int graph) {
  for (size_t i = 0; i < suite->story_count; ++i) {
    if (suite->story_graph[i] == graph) print_error("%s\n", suite->stories[i]);
  }
}
