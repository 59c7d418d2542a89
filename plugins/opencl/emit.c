// SPDX-License-Identifier: Apache-2.0
// Writes one kernel in OpenCL C: arguments, variables, and elements that are computed once.
#include "emit.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "operator.h"

// An element that is already a variable.
struct byoc_opencl_element_t {
  const byoc_value_t *value;
  byoc_opencl_name_t linear, name;
};

void byoc_opencl_emit_deinit(byoc_opencl_emit_t *emit) {
  free(emit->elements);
  free(emit->counts);
  emit->elements = NULL;
  emit->counts = NULL;
}

void byoc_opencl_kernel_deinit(byoc_opencl_kernel_t *kernel) {
  byoc_plugin_string_deinit(&kernel->body);
  free(kernel->arguments);
}

void byoc_opencl_constants_deinit(byoc_opencl_constants_t *constants) {
  for (uint32_t i = 0; i < constants->count; ++i) free(constants->items[i].owned);
  free(constants->items);
  *constants = (byoc_opencl_constants_t){NULL, 0, 0};
}

// Memory for one more item.
static bool reserve(void **items, uint32_t count, uint32_t *capacity, size_t size) {
  if (count < *capacity) return true;
  uint32_t larger = *capacity == 0 ? 16 : *capacity * 2;
  void *memory = realloc(*items, larger * size);
  if (memory == NULL) return false;
  *items = memory;
  *capacity = larger;
  return true;
}
#define RESERVE(emit, items, count, capacity)                                                                          \
  ((emit)->failed = (emit)->failed || !reserve((void **)&(items), (count), &(capacity), sizeof(*(items))),             \
   !(emit)->failed)

// ---- code ----

void byoc_opencl_line(byoc_opencl_emit_t *emit, const char *format, ...) {
  char line[1024];
  va_list arguments;
  va_start(arguments, format);
  int length = vsnprintf(line, sizeof(line), format, arguments);
  va_end(arguments);
  if (length < 0 || (size_t)length >= sizeof(line)) {
    emit->failed = true;
    return;
  }
  if (line[0] == '}') --emit->depth;
  byoc_plugin_string_add(&emit->kernel->body, "%*s%s\n", 2 * emit->depth, "", line);
  if (length > 0 && line[length - 1] == '{') ++emit->depth;
}

byoc_opencl_name_t byoc_opencl_name(const char *format, ...) {
  byoc_opencl_name_t name;
  va_list arguments;
  va_start(arguments, format);
  (void)vsnprintf(name.text, sizeof(name.text), format, arguments);
  va_end(arguments);
  return name;
}

byoc_opencl_name_t byoc_opencl_variable(byoc_opencl_emit_t *emit, char letter) {
  return byoc_opencl_name("%c%u", letter, emit->counter++);
}

byoc_opencl_name_t byoc_opencl_float(float value) {
  if (isnan(value)) return byoc_opencl_name("NAN");
  if (isinf(value)) return byoc_opencl_name(value > 0 ? "INFINITY" : "(-INFINITY)");
  return byoc_opencl_name(signbit(value) ? "(%af)" : "%af", (double)value);
}

uint32_t byoc_opencl_block_begin(byoc_opencl_emit_t *emit) {
  return emit->element_count;
}

void byoc_opencl_block_end(byoc_opencl_emit_t *emit, uint32_t mark) {
  emit->element_count = mark;
}

// ---- arguments ----

byoc_opencl_name_t byoc_opencl_argument_name(const byoc_opencl_argument_t *argument, uint32_t index) {
  const bool is_size = argument->extent != NULL;
  return byoc_opencl_name("%c%u",
                          is_size                   ? 's'
                          : argument->is_written    ? 'y'
                          : argument->value != NULL ? 'x'
                                                    : 'w',
                          index);
}

static byoc_opencl_name_t add_argument(byoc_opencl_emit_t *emit, byoc_opencl_argument_t argument) {
  byoc_opencl_kernel_t *kernel = emit->kernel;
  for (uint32_t i = 0; i < kernel->argument_count; ++i) {
    const byoc_opencl_argument_t *other = &kernel->arguments[i];
    if (other->extent == argument.extent && other->value == argument.value && other->constant == argument.constant &&
        other->is_written == argument.is_written)
      return byoc_opencl_argument_name(other, i);
  }
  if (!RESERVE(emit, kernel->arguments, kernel->argument_count, kernel->argument_capacity))
    return byoc_opencl_name("none");
  kernel->arguments[kernel->argument_count] = argument;
  return byoc_opencl_argument_name(&argument, kernel->argument_count++);
}

static uint32_t add_constant(byoc_opencl_emit_t *emit, byoc_opencl_constant_t constant) {
  byoc_opencl_constants_t *constants = emit->constants;
  for (uint32_t i = 0; i < constants->count; ++i) {
    const byoc_opencl_constant_t *other = &constants->items[i];
    if (other->value != constant.value || other->which != constant.which) continue;
    free(constant.owned);
    return i;
  }
  if (!RESERVE(emit, constants->items, constants->count, constants->capacity)) {
    free(constant.owned);
    return 0;
  }
  constants->items[constants->count] = constant;
  return constants->count++;
}

byoc_opencl_name_t byoc_opencl_emit_argument(byoc_opencl_emit_t *emit, const byoc_value_t *value) {
  byoc_tensor_data_t data = {.header = BYOC_HEADER(byoc_tensor_data_t, 1)};
  uint32_t dtype = emit->graph->value_dtype(value);
  value = emit->stored_as(emit->self, value);
  if (!emit->graph->value_constant(value, &data))
    return add_argument(emit, (byoc_opencl_argument_t){.value = value, .dtype = dtype});
  uint32_t constant = add_constant(emit, (byoc_opencl_constant_t){.value = value});
  return add_argument(emit, (byoc_opencl_argument_t){.constant = constant, .dtype = dtype});
}

byoc_opencl_name_t byoc_opencl_emit_constant(byoc_opencl_emit_t *emit, const byoc_value_t *value, uint32_t which,
                                             float *data, int64_t count) {
  if (data == NULL) {
    emit->failed = true;
    return byoc_opencl_name("none");
  }
  uint32_t constant =
      add_constant(emit, (byoc_opencl_constant_t){.value = value, .which = which, .owned = data, .count = count});
  return add_argument(emit, (byoc_opencl_argument_t){.constant = constant, .dtype = BYOC_DTYPE_F32});
}

byoc_opencl_name_t byoc_opencl_emit_size(byoc_opencl_emit_t *emit, byoc_opencl_size_t size) {
  if (!size.is_open) return byoc_opencl_name("%lld", (long long)size.known);
  if (size.extent == NULL) return byoc_opencl_name("none"); // the plan is declined
  return add_argument(emit, (byoc_opencl_argument_t){.extent = size.extent});
}

void byoc_opencl_emit_count(byoc_opencl_emit_t *emit, const byoc_value_t *value) {
  int32_t rank = emit->graph->value_rank(value);
  if (rank < 0 || rank > BYOC_OPENCL_MOST_DIMS || emit->graph->value_element_count(value) >= 0) return;
  byoc_opencl_size_t count = byoc_opencl_shape_of(emit->sizes, value).count;
  for (uint32_t i = 0; i < emit->count_count; ++i)
    if (byoc_opencl_size_same(emit->counts[i], count)) return;
  if (RESERVE(emit, emit->counts, emit->count_count, emit->count_capacity)) emit->counts[emit->count_count++] = count;
}

void byoc_opencl_emit_limit(byoc_opencl_emit_t *emit) {
  byoc_opencl_pile_t pile = {0};
  for (uint32_t i = 0; i < emit->count_count; ++i)
    byoc_opencl_pile_add(emit->sizes, byoc_opencl_size_larger, &pile, emit->counts[i]);
  byoc_opencl_size_t largest = byoc_opencl_pile_total(emit->sizes, byoc_opencl_size_larger, &pile);
  // The limit of byoc_opencl_check_tensor for known sizes.
  byoc_opencl_size_t limit = byoc_opencl_size_multiply(emit->sizes, largest, byoc_opencl_size(4));
  if (limit.is_open) (void)byoc_opencl_emit_size(emit, limit);
}

// ---- indices ----

byoc_opencl_index_t byoc_opencl_index(const byoc_opencl_shape_t *shape, byoc_opencl_name_t linear) {
  byoc_opencl_index_t index = {.shape = *shape, .linear = linear};
  return index;
}

static bool is_zero(const byoc_opencl_name_t *name) {
  return strcmp(name->text, "0") == 0;
}

byoc_opencl_index_t byoc_opencl_index_of_axes(byoc_opencl_emit_t *emit, const byoc_opencl_shape_t *shape,
                                              const byoc_opencl_name_t *axes) {
  byoc_opencl_index_t index = {.shape = *shape};
  char expression[512] = "";
  size_t length = 0;
  for (int32_t i = 0; i < shape->rank; ++i) {
    index.axes[i] = axes[i];
    if (is_zero(&axes[i])) continue;
    byoc_opencl_size_t stride = byoc_opencl_size_product(emit->sizes, shape->dims + i + 1, shape->rank - i - 1);
    char factor[32] = "";
    if (!byoc_opencl_size_is(stride, 1))
      (void)snprintf(factor, sizeof(factor), " * %s", BYOC_OPENCL_SIZE(emit, stride));
    length += (size_t)snprintf(expression + length, sizeof(expression) - length, "%s%s%s", length > 0 ? " + " : "",
                               axes[i].text, factor);
  }
  if (length == 0) {
    index.linear = byoc_opencl_name("0");
    return index;
  }
  index.linear = byoc_opencl_variable(emit, 'i');
  byoc_opencl_line(emit, "const int %s = %s;", index.linear.text, expression);
  return index;
}

byoc_opencl_name_t byoc_opencl_emit_axis(byoc_opencl_emit_t *emit, byoc_opencl_index_t *index, int32_t axis) {
  byoc_opencl_name_t *name = &index->axes[axis];
  const byoc_opencl_shape_t *shape = &index->shape;
  if (name->text[0] != '\0') return *name;
  if (byoc_opencl_size_is(shape->dims[axis], 1)) return *name = byoc_opencl_name("0");
  if (byoc_opencl_size_same(shape->dims[axis], shape->count)) return *name = index->linear;
  byoc_opencl_size_t stride = byoc_opencl_size_product(emit->sizes, shape->dims + axis + 1, shape->rank - axis - 1);
  byoc_opencl_size_t before = byoc_opencl_size_product(emit->sizes, shape->dims, axis);
  *name = byoc_opencl_variable(emit, 'i');
  char divided[64], rest[32] = "";
  (void)snprintf(divided, sizeof(divided), "%s", index->linear.text);
  if (!byoc_opencl_size_is(stride, 1))
    (void)snprintf(divided, sizeof(divided), "%s / %s", index->linear.text, BYOC_OPENCL_SIZE(emit, stride));
  if (!byoc_opencl_size_is(before, 1))
    (void)snprintf(rest, sizeof(rest), " %% %s", BYOC_OPENCL_SIZE(emit, shape->dims[axis]));
  byoc_opencl_line(emit, "const int %s = %s%s;", name->text, divided, rest);
  return *name;
}

// The coordinate of an operand along an axis of `size`, where the result has `at` of `whole`.
static byoc_opencl_name_t broadcast_axis(byoc_opencl_emit_t *emit, byoc_opencl_name_t at, byoc_opencl_size_t size,
                                         byoc_opencl_size_t whole) {
  if (is_zero(&at) || byoc_opencl_size_same(size, whole) || !size.is_open) return at;
  // A run decides whether it is 1: then the last one is the only one.
  byoc_opencl_size_t last = byoc_opencl_size_subtract(emit->sizes, size, byoc_opencl_size(1));
  byoc_opencl_name_t name = byoc_opencl_variable(emit, 'i');
  byoc_opencl_line(emit, "const int %s = min(%s, %s);", name.text, at.text, BYOC_OPENCL_SIZE(emit, last));
  return name;
}

byoc_opencl_index_t byoc_opencl_index_broadcast(byoc_opencl_emit_t *emit, const byoc_opencl_shape_t *shape,
                                                byoc_opencl_index_t *index) {
  int32_t shift = index->shape.rank - shape->rank;
  if (byoc_opencl_same_shape(shape, &index->shape)) return *index;
  // Dimensions of 1 more or fewer move nothing.
  if (byoc_opencl_size_same(shape->count, index->shape.count)) return byoc_opencl_index(shape, index->linear);
  byoc_opencl_name_t axes[BYOC_OPENCL_MOST_DIMS];
  for (int32_t i = 0; i < shape->rank; ++i) {
    axes[i] = byoc_opencl_name("0");
    if (byoc_opencl_size_is(shape->dims[i], 1) || i + shift < 0) continue;
    byoc_opencl_name_t at = byoc_opencl_emit_axis(emit, index, i + shift);
    axes[i] = broadcast_axis(emit, at, shape->dims[i], index->shape.dims[i + shift]);
  }
  return byoc_opencl_index_of_axes(emit, shape, axes);
}

// ---- elements ----

// Records that the element is the variable `name`.
static void set_known(byoc_opencl_emit_t *emit, const byoc_value_t *value, const byoc_opencl_index_t *index,
                      byoc_opencl_name_t name) {
  if (!RESERVE(emit, emit->elements, emit->element_count, emit->element_capacity)) return;
  emit->elements[emit->element_count++] = (byoc_opencl_element_t){value, index->linear, name};
}

byoc_opencl_name_t byoc_opencl_emit_set(byoc_opencl_emit_t *emit, const byoc_value_t *value, const char *expression) {
  byoc_opencl_name_t name = byoc_opencl_variable(emit, 'v');
  byoc_opencl_line(emit, "const %s %s = %s;", byoc_opencl_type_name(emit->graph->value_dtype(value)), name.text,
                   expression);
  return name;
}

static byoc_opencl_name_t compute(byoc_opencl_emit_t *emit, const byoc_value_t *value, byoc_opencl_index_t *index) {
  const byoc_graph_api_t *graph = emit->graph;
  byoc_node_t *producer = graph->value_producer(value);
  int64_t count = 0;
  const byoc_opencl_operator_t *op = producer != NULL ? emit->operator_inside(emit->self, producer) : NULL;
  if (op != NULL) {
    byoc_opencl_source_t source = {graph, producer, emit->sizes};
    uint32_t result = 0;
    while (byoc_opencl_result(&source, result) != value) ++result;
    return op->point(emit, &source, result, index);
  }
  const float *one = byoc_opencl_size_is(index->shape.count, 1) ? byoc_opencl_floats(graph, value, &count) : NULL;
  if (one != NULL) return byoc_opencl_float(one[0]);
  char expression[64];
  byoc_opencl_name_t argument = byoc_opencl_emit_argument(emit, value);
  (void)snprintf(expression, sizeof(expression), "%s[%s]", argument.text, index->linear.text);
  return byoc_opencl_emit_set(emit, value, expression);
}

byoc_opencl_name_t byoc_opencl_emit_element(byoc_opencl_emit_t *emit, const byoc_value_t *value,
                                            byoc_opencl_index_t *index) {
  for (uint32_t i = emit->element_count; i-- > 0;) {
    const byoc_opencl_element_t *element = &emit->elements[i];
    if (element->value == value && strcmp(element->linear.text, index->linear.text) == 0) return element->name;
  }
  if (emit->failed) return byoc_opencl_name("none");
  byoc_opencl_name_t name = compute(emit, value, index);
  set_known(emit, value, index, name);
  return name;
}

void byoc_opencl_emit_store(byoc_opencl_emit_t *emit, byoc_opencl_index_t *index, const byoc_value_t *known,
                            byoc_opencl_name_t name) {
  const byoc_value_t *root = emit->kernel->root;
  byoc_opencl_shape_t shape = byoc_opencl_shape_of(emit->sizes, root);
  byoc_opencl_index_t at = *index;
  if (!byoc_opencl_same_shape(&shape, &at.shape)) at = byoc_opencl_index(&shape, index->linear);
  if (known != NULL) set_known(emit, known, index, name);
  byoc_opencl_name_t element = byoc_opencl_emit_element(emit, root, &at);
  byoc_opencl_name_t to = add_argument(
      emit, (byoc_opencl_argument_t){.value = root, .dtype = emit->graph->value_dtype(root), .is_written = true});
  byoc_opencl_line(emit, "%s[%s] = %s;", to.text, index->linear.text, element.text);
}

void byoc_opencl_emit_launch(byoc_opencl_emit_t *emit, const char *stem, byoc_opencl_size_t groups,
                             byoc_opencl_size_t rows, byoc_opencl_size_t layers, int64_t block) {
  byoc_opencl_kernel_t *kernel = emit->kernel;
  kernel->stem = stem;
  kernel->grid[0] = groups, kernel->grid[1] = rows, kernel->grid[2] = layers;
  kernel->block = (uint32_t)block;
}

void byoc_opencl_emit_launch_items(byoc_opencl_emit_t *emit, const char *stem, byoc_opencl_size_t items,
                                   byoc_opencl_size_t rows, byoc_opencl_size_t layers, int64_t most) {
  int64_t block = !items.is_open && items.known < most ? items.known : most;
  byoc_opencl_emit_launch(emit, stem, byoc_opencl_size_divide_up(emit->sizes, items, block), rows, layers, block);
}
