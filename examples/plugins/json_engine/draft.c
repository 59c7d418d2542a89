// SPDX-License-Identifier: Apache-2.0
// Collects values, constants and nodes, and prints them as JSON.
#include "draft.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// XNNPACK reads up to 16 bytes behind the end of a tensor.
enum { EXTRA_ELEMENTS = 4 };

void xnnpack_draft_init(const byoc_graph_api_t *graph, xnnpack_draft_t *out_draft) {
  *out_draft = (xnnpack_draft_t){.graph = graph};
}

void xnnpack_draft_deinit(xnnpack_draft_t *draft) {
  for (uint64_t i = 0; i < draft->constant_count; ++i) free(draft->constants[i].data);
  free(draft->constants);
  free(draft->sources);
  free(draft->values.data);
  free(draft->nodes.data);
}

// Room for one more item of `size` bytes; returns the items, which may have moved, or NULL if out of memory.
static void *reserve(xnnpack_draft_t *draft, void *items, uint64_t count, uint64_t *capacity, size_t size) {
  if (draft->failed) return NULL;
  if (count < *capacity) return items;
  void *grown = realloc(items, (*capacity * 2 + 16) * size);
  draft->failed = grown == NULL;
  if (grown != NULL) *capacity = *capacity * 2 + 16;
  return grown;
}

// Pieces are short: at most one number, name or bracket.
static void append(xnnpack_draft_t *draft, xnnpack_text_t *text, const char *format, ...) {
  char piece[64];
  va_list arguments;
  va_start(arguments, format);
  const int length = vsnprintf(piece, sizeof(piece), format, arguments);
  va_end(arguments);
  for (int i = 0; i <= length; ++i) { // with the NUL, which the next piece overwrites
    char *data = reserve(draft, text->data, text->size + 1, &text->capacity, 1);
    if (data == NULL) return;
    text->data = data;
    text->data[text->size] = piece[i];
    text->size += i < length;
  }
}

xnnpack_shape_t xnnpack_shape_of(const byoc_graph_api_t *graph, const byoc_value_t *value) {
  xnnpack_shape_t shape = {.rank = graph->value_rank(value)};
  for (int32_t i = 0; i < shape.rank; ++i) shape.dims[i] = graph->value_dim(value, i);
  if (shape.rank == 0) shape = (xnnpack_shape_t){.rank = 1, .dims = {1}};
  return shape;
}

int64_t xnnpack_shape_count(const xnnpack_shape_t *shape) {
  int64_t count = 1;
  for (int32_t i = 0; i < shape->rank; ++i) count *= shape->dims[i];
  return count;
}

static void append_list(xnnpack_draft_t *draft, xnnpack_text_t *text, const char *name, const int64_t *values,
                        int32_t count) {
  append(draft, text, "\"%s\":[", name);
  for (int32_t i = 0; i < count; ++i) append(draft, text, i == 0 ? "%lld" : ",%lld", (long long)values[i]);
  append(draft, text, "]");
}

static int32_t append_value(xnnpack_draft_t *draft, int32_t rank, const int64_t *dims, int64_t constant,
                            const byoc_value_t *source) {
  const byoc_value_t **sources =
      reserve(draft, draft->sources, draft->value_count, &draft->value_capacity, sizeof(*sources));
  if (sources == NULL) return -1;
  append(draft, &draft->values, draft->value_count == 0 ? "{" : ",{");
  append_list(draft, &draft->values, "dims", dims, rank);
  if (constant >= 0) append(draft, &draft->values, ",\"constant\":%lld", (long long)constant);
  append(draft, &draft->values, "}");
  draft->sources = sources;
  draft->sources[draft->value_count++] = source;
  return (int32_t)draft->value_count - 1;
}

// Four dimensions are [N, C, H, W] in the model and [N, H, W, C] here.
static int32_t append_shape(xnnpack_draft_t *draft, const xnnpack_shape_t *shape, const byoc_value_t *source) {
  const int64_t *d = shape->dims;
  const int64_t last[4] = {d[0], d[2], d[3], d[1]};
  return append_value(draft, shape->rank, shape->rank == 4 ? last : d, -1, source);
}

int32_t xnnpack_draft_value(xnnpack_draft_t *draft, const byoc_value_t *value) {
  for (uint64_t i = draft->value_count; i-- > 0;)
    if (draft->sources[i] == value) return (int32_t)i;
  const xnnpack_shape_t shape = xnnpack_shape_of(draft->graph, value);
  return append_shape(draft, &shape, value);
}

int32_t xnnpack_draft_temporary(xnnpack_draft_t *draft, const xnnpack_shape_t *shape) {
  return append_shape(draft, shape, NULL);
}

int32_t xnnpack_draft_constant(xnnpack_draft_t *draft, int32_t rank, const int64_t *dims, const int64_t *strides,
                               const float *data, float factor) {
  xnnpack_constant_t *constants =
      reserve(draft, draft->constants, draft->constant_count, &draft->constant_capacity, sizeof(*constants));
  if (constants == NULL) return -1;
  draft->constants = constants;
  int64_t count = 1, index[XNNPACK_RANK_LIMIT] = {0}, at = 0;
  for (int32_t i = 0; i < rank; ++i) count *= dims[i];
  float *copy = calloc((size_t)count + EXTRA_ELEMENTS, sizeof(*copy));
  draft->failed |= copy == NULL;
  if (copy == NULL) return -1;
  for (int64_t i = 0; i < count; ++i) {
    copy[i] = data[at] * factor;
    for (int32_t k = rank - 1; k >= 0; --k) { // to the next element
      at += strides[k];
      if (++index[k] < dims[k]) break;
      at -= index[k] * strides[k];
      index[k] = 0;
    }
  }
  draft->constants[draft->constant_count++] = (xnnpack_constant_t){copy, count + EXTRA_ELEMENTS};
  return append_value(draft, rank, dims, (int64_t)draft->constant_count - 1, NULL);
}

void xnnpack_draft_node(xnnpack_draft_t *draft, const char *op, const int32_t *inputs, uint32_t input_count,
                        int32_t output) {
  append(draft, &draft->nodes, draft->nodes.size == 0 ? "{" : "},{");
  append(draft, &draft->nodes, "\"op\":\"%s\",\"inputs\":[", op);
  for (uint32_t i = 0; i < input_count; ++i) {
    if (i > 0) append(draft, &draft->nodes, ",");
    append(draft, &draft->nodes, inputs[i] < 0 ? "null" : "%d", inputs[i]);
  }
  append(draft, &draft->nodes, "],\"output\":%d", output);
}

void xnnpack_draft_integer(xnnpack_draft_t *draft, const char *name, int64_t value) {
  append(draft, &draft->nodes, ",\"%s\":%lld", name, (long long)value);
}

void xnnpack_draft_list(xnnpack_draft_t *draft, const char *name, const int64_t *values, int32_t count) {
  append(draft, &draft->nodes, ",");
  append_list(draft, &draft->nodes, name, values, count);
}

// [m, e] for m * 2^e: exact for f32, and the same in all locales.
void xnnpack_draft_real(xnnpack_draft_t *draft, const char *name, double value) {
  int exponent = 0;
  const double mantissa = ldexp(frexp(value, &exponent), 53);
  const int64_t pair[2] = {(int64_t)mantissa, exponent - 53};
  xnnpack_draft_list(draft, name, pair, 2);
}

static void append_ports(xnnpack_draft_t *draft, xnnpack_text_t *text, const char *name, const int32_t *values,
                         uint32_t count) {
  append(draft, text, "\"%s\":[", name);
  for (uint32_t i = 0; i < count; ++i) append(draft, text, i == 0 ? "%d" : ",%d", values[i]);
  append(draft, text, "],");
}

char *xnnpack_draft_emit(xnnpack_draft_t *draft, const int32_t *inputs, uint32_t input_count, const int32_t *outputs,
                         uint32_t output_count) {
  xnnpack_text_t head = {NULL, 0, 0};
  append(draft, &head, "{\"schema\":\"xnnpack-1\",");
  append_ports(draft, &head, "inputs", inputs, input_count);
  append_ports(draft, &head, "outputs", outputs, output_count);
  char *text = draft->failed ? NULL : malloc(head.size + draft->values.size + draft->nodes.size + 64);
  if (text != NULL)
    (void)sprintf(text, "%s\"values\":[%s],\"nodes\":[%s}]}", head.data, draft->values.data, draft->nodes.data);
  free(head.data);
  return text;
}
