// SPDX-License-Identifier: Apache-2.0
// Reductions, softmax and normalisations: the tensor is rows of elements that lie a fixed step apart. Long rows are
// shared by a work-group, whose parts are added up in its memory; short ones have one work-item each.
#include <stdio.h>
#include <string.h>

#include "operator.h"

enum { SHORT_ROW = 128, LANES = 32, WORK_GROUP = 64 };

// Row r has the elements base(r) + k * step for k < length, with base(r) = r / step * step * length + r % step.
typedef struct rows_t {
  byoc_opencl_size_t count, length, step;
  int64_t lanes; // work-items that share a row
} rows_t;

// Rows along the dimensions from `first` to before `end`.
static rows_t rows_along(byoc_opencl_sizes_t *sizes, const byoc_opencl_shape_t *shape, int32_t first, int32_t end) {
  byoc_opencl_size_t before = byoc_opencl_size_product(sizes, shape->dims, first);
  rows_t rows = {.length = byoc_opencl_size_product(sizes, shape->dims + first, end - first),
                 .step = byoc_opencl_size_product(sizes, shape->dims + end, shape->rank - end)};
  rows.count = byoc_opencl_size_multiply(sizes, before, rows.step);
  rows.lanes = rows.length.is_open || rows.length.known > SHORT_ROW ? LANES : 1;
  return rows;
}

// ---- code that all have in common ----

static void open_rows(byoc_opencl_emit_t *emit, const char *stem, const rows_t *rows, byoc_opencl_name_t x) {
  byoc_opencl_size_t one = byoc_opencl_size(1);
  byoc_opencl_size_t span = byoc_opencl_size_multiply(emit->sizes, rows->step, rows->length);
  byoc_opencl_name_t step = byoc_opencl_emit_size(emit, rows->step);
  if (rows->lanes > 1) {
    byoc_opencl_emit_launch(emit, stem, rows->count, one, one, rows->lanes);
    byoc_opencl_line(emit, "local float parts[%lld];", (long long)rows->lanes);
    byoc_opencl_line(emit, "const int row = get_group_id(0), lane = get_local_id(0);");
  } else {
    byoc_opencl_emit_launch_items(emit, stem, rows->count, one, one, WORK_GROUP);
    byoc_opencl_line(emit, "const int row = get_global_id(0), lane = 0;");
    byoc_opencl_line(emit, "if (row >= %s) return;", BYOC_OPENCL_SIZE(emit, rows->count));
  }
  byoc_opencl_line(emit, "const int base = row / %s * %s + row %% %s;", step.text, BYOC_OPENCL_SIZE(emit, span),
                   step.text);
  byoc_opencl_line(emit, "global const float *x = %s + base;", x.text);
}

static void open_elements(byoc_opencl_emit_t *emit, const rows_t *rows) {
  byoc_opencl_line(emit, "for (int k = lane; k < %s; k += %lld) {", BYOC_OPENCL_SIZE(emit, rows->length),
                   (long long)rows->lanes);
  byoc_opencl_line(emit, "const float element = x[k * %s];", BYOC_OPENCL_SIZE(emit, rows->step));
}

// Combines the lanes' values of `name`; `join` is an expression of p and q.
static void join_lanes(byoc_opencl_emit_t *emit, const rows_t *rows, const char *name, const char *join) {
  if (rows->lanes == 1) return;
  byoc_opencl_line(emit, "parts[lane] = %s;", name);
  byoc_opencl_line(emit, "barrier(CLK_LOCAL_MEM_FENCE);");
  byoc_opencl_line(emit, "for (int width = %lld; width > 0; width /= 2) {", (long long)(rows->lanes / 2));
  byoc_opencl_line(emit, "if (lane < width) {");
  byoc_opencl_line(emit, "const float p = parts[lane], q = parts[lane + width];");
  byoc_opencl_line(emit, "parts[lane] = %s;", join);
  byoc_opencl_line(emit, "}");
  byoc_opencl_line(emit, "barrier(CLK_LOCAL_MEM_FENCE);");
  byoc_opencl_line(emit, "}");
  byoc_opencl_line(emit, "%s = parts[0];", name);
  byoc_opencl_line(emit, "barrier(CLK_LOCAL_MEM_FENCE);");
}

// One pass over the row: name = join of `term` over its elements, from `start`.
static void reduce_row(byoc_opencl_emit_t *emit, const rows_t *rows, const char *name, const char *start,
                       const char *term, const char *join) {
  byoc_opencl_line(emit, "float %s = %s;", name, start);
  open_elements(emit, rows);
  byoc_opencl_line(emit, "const float p = %s, q = %s;", name, term);
  byoc_opencl_line(emit, "%s = %s;", name, join);
  byoc_opencl_line(emit, "}");
  join_lanes(emit, rows, name, join);
}

// Stores `value` as the element k of the row.
static void store_element(byoc_opencl_emit_t *emit, const byoc_value_t *y, const rows_t *rows, const char *value) {
  byoc_opencl_shape_t shape = byoc_opencl_shape_of(emit->sizes, y);
  byoc_opencl_line(emit, "const int i = base + k * %s;", BYOC_OPENCL_SIZE(emit, rows->step));
  byoc_opencl_line(emit, "const float value = %s;", value);
  byoc_opencl_index_t index = byoc_opencl_index(&shape, byoc_opencl_name("i"));
  byoc_opencl_emit_store(emit, &index, y, byoc_opencl_name("value"));
  byoc_opencl_line(emit, "}");
}

#define JOIN_SUM "p + q"
#define JOIN_MAX "p > q || isnan(p) ? p : q"
#define JOIN_MIN "p < q || isnan(p) ? p : q"

// ---- reductions ----

typedef struct reduction_t {
  const char *name, *start, *join;
  bool is_mean, is_global; // over all but the first two dimensions
} reduction_t;

static const reduction_t reductions[] = {
    {"ReduceSum", "0.0f", JOIN_SUM, false, false},       {"ReduceMean", "0.0f", JOIN_SUM, true, false},
    {"ReduceMax", "-INFINITY", JOIN_MAX, false, false},  {"ReduceMin", "INFINITY", JOIN_MIN, false, false},
    {"GlobalAveragePool", "0.0f", JOIN_SUM, true, true}, {"GlobalMaxPool", "-INFINITY", JOIN_MAX, false, true},
};

static const reduction_t *reduction_of(const byoc_opencl_source_t *source) {
  const reduction_t *reduction = reductions;
  while (strcmp(reduction->name, source->graph->node_operator(source->node)) != 0) ++reduction;
  return reduction;
}

// Finds the reduced dimensions. False if they are not constant, or if there are none.
static bool read_axes(const byoc_opencl_source_t *source, int32_t rank, bool *is_reduced) {
  const byoc_graph_api_t *graph = source->graph;
  int64_t axes[BYOC_OPENCL_MOST_DIMS];
  int32_t count = 0;
  uint64_t length = 0;
  const int64_t *list = graph->attribute_ints(source->node, "axes", &length);
  if (list != NULL && length <= BYOC_OPENCL_MOST_DIMS) {
    memcpy(axes, list, length * sizeof(*list));
    count = (int32_t)length;
  } else if (byoc_opencl_operand(source, 1) != NULL &&
             !byoc_opencl_integers(graph, byoc_opencl_operand(source, 1), axes, &count)) {
    return false;
  }
  if (count == 0 && graph->attribute_int(source->node, "noop_with_empty_axes", 0) != 0) return false;
  for (int32_t i = 0; i < rank; ++i) is_reduced[i] = count == 0;
  for (int32_t i = 0; i < count; ++i) {
    int64_t axis = axes[i] < 0 ? axes[i] + rank : axes[i];
    if (axis < 0 || axis >= rank) return false;
    is_reduced[axis] = true;
  }
  return true;
}

static const char *read_reduction(const byoc_opencl_source_t *source, rows_t *out_rows) {
  byoc_opencl_shape_t shape = byoc_opencl_shape_of(source->sizes, byoc_opencl_operand(source, 0));
  bool is_reduced[BYOC_OPENCL_MOST_DIMS];
  int32_t first = shape.rank, end = 0;
  if (reduction_of(source)->is_global) {
    *out_rows = rows_along(source->sizes, &shape, 2, shape.rank);
    return NULL;
  }
  if (!read_axes(source, shape.rank, is_reduced)) return "axes that are not constant, or no axes";
  for (int32_t i = 0; i < shape.rank; ++i) {
    if (!is_reduced[i]) continue;
    if (i < first) first = i;
    end = i + 1;
  }
  for (int32_t i = first; i < end; ++i)
    if (!is_reduced[i] && !byoc_opencl_size_is(shape.dims[i], 1)) return "axes that are not adjacent";
  *out_rows = rows_along(source->sizes, &shape, first < end ? first : 0, end);
  return NULL;
}

const char *byoc_opencl_check_reduce(const byoc_opencl_source_t *source) {
  rows_t rows;
  const char *reason = byoc_opencl_check_tensor(source->graph, byoc_opencl_operand(source, 0), BYOC_DTYPE_F32);
  if (reason == NULL) reason = byoc_opencl_check_tensor(source->graph, byoc_opencl_result(source, 0), BYOC_DTYPE_F32);
  return reason != NULL ? reason : read_reduction(source, &rows);
}

void byoc_opencl_anchor_reduce(byoc_opencl_emit_t *emit, const byoc_opencl_source_t *source) {
  const reduction_t *reduction = reduction_of(source);
  const byoc_value_t *y = byoc_opencl_result(source, 0);
  byoc_opencl_shape_t shape = byoc_opencl_shape_of(source->sizes, y);
  byoc_opencl_index_t index = byoc_opencl_index(&shape, byoc_opencl_name("row"));
  rows_t rows;
  (void)read_reduction(source, &rows); // as check_reduce did
  open_rows(emit, "reduce", &rows, byoc_opencl_emit_argument(emit, byoc_opencl_operand(source, 0)));
  reduce_row(emit, &rows, "value", reduction->start, "element", reduction->join);
  if (reduction->is_mean) byoc_opencl_line(emit, "value /= (float)%s;", BYOC_OPENCL_SIZE(emit, rows.length));
  byoc_opencl_line(emit, "if (lane == 0) {");
  byoc_opencl_emit_store(emit, &index, y, byoc_opencl_name("value"));
  byoc_opencl_line(emit, "}");
}

// ---- softmax ----

// Before opset 13 the dimensions from the axis on are one.
static const char *read_softmax(const byoc_opencl_source_t *source, rows_t *out_rows) {
  byoc_opencl_shape_t shape = byoc_opencl_shape_of(source->sizes, byoc_opencl_operand(source, 0));
  bool is_old = source->graph->node_since_version(source->node) < 13;
  int32_t axis = 0;
  if (!byoc_opencl_axis(source, "axis", shape.rank, &axis)) return "an axis out of range";
  *out_rows = rows_along(source->sizes, &shape, axis, is_old ? shape.rank : axis + 1);
  return NULL;
}

const char *byoc_opencl_check_softmax(const byoc_opencl_source_t *source) {
  rows_t rows;
  const char *reason = byoc_opencl_check_tensors(source, BYOC_DTYPE_F32);
  return reason != NULL ? reason : read_softmax(source, &rows);
}

void byoc_opencl_anchor_softmax(byoc_opencl_emit_t *emit, const byoc_opencl_source_t *source) {
  bool is_log = strcmp(source->graph->node_operator(source->node), "LogSoftmax") == 0;
  rows_t rows;
  (void)read_softmax(source, &rows); // as check_softmax did
  open_rows(emit, "softmax", &rows, byoc_opencl_emit_argument(emit, byoc_opencl_operand(source, 0)));
  reduce_row(emit, &rows, "largest", "-INFINITY", "element", JOIN_MAX);
  reduce_row(emit, &rows, "sum", "0.0f", "exp(element - largest)", JOIN_SUM);
  byoc_opencl_line(emit, is_log ? "const float shift = largest + log(sum);" : "const float factor = 1.0f / sum;");
  open_elements(emit, &rows);
  store_element(emit, byoc_opencl_result(source, 0), &rows,
                is_log ? "element - shift" : "exp(element - largest) * factor");
}

// ---- layer and instance normalisation: (x - mean) / sqrt(variance + epsilon) * scale + shift ----

static const char *read_normalization(const byoc_opencl_source_t *source, rows_t *out_rows, bool *out_is_instance) {
  byoc_opencl_shape_t shape = byoc_opencl_shape_of(source->sizes, byoc_opencl_operand(source, 0));
  int32_t first = 2;
  *out_is_instance = strcmp(source->graph->node_operator(source->node), "InstanceNormalization") == 0;
  if (*out_is_instance && shape.rank < 3) return "an instance normalisation without positions";
  if (!*out_is_instance && !byoc_opencl_axis(source, "axis", shape.rank, &first)) return "an axis out of range";
  *out_rows = rows_along(source->sizes, &shape, first, shape.rank);
  for (uint64_t i = 1; !*out_is_instance && i < 3 && byoc_opencl_operand(source, i) != NULL; ++i) {
    byoc_opencl_shape_t factors = byoc_opencl_shape_of(source->sizes, byoc_opencl_operand(source, i));
    if (!byoc_opencl_size_same(factors.count, out_rows->length)) return "factors that are broadcast within a row";
  }
  return NULL;
}

const char *byoc_opencl_check_normalization(const byoc_opencl_source_t *source) {
  rows_t rows;
  bool is_instance;
  const char *reason = byoc_opencl_check_tensors(source, BYOC_DTYPE_F32);
  if (byoc_opencl_is_used(source, 1) || byoc_opencl_is_used(source, 2)) return "the statistics of a normalisation";
  return reason != NULL ? reason : read_normalization(source, &rows, &is_instance);
}

void byoc_opencl_anchor_normalization(byoc_opencl_emit_t *emit, const byoc_opencl_source_t *source) {
  const byoc_value_t *shift = byoc_opencl_operand(source, 2), *y = byoc_opencl_result(source, 0);
  char value[160], at[48] = "k";
  bool is_instance;
  rows_t rows;
  (void)read_normalization(source, &rows, &is_instance); // as check_normalization did
  if (is_instance) {
    byoc_opencl_size_t channels = byoc_opencl_size_of(emit->sizes, y, 1);
    (void)snprintf(at, sizeof(at), "row %% %s", BYOC_OPENCL_SIZE(emit, channels));
  }
  byoc_opencl_name_t x = byoc_opencl_emit_argument(emit, byoc_opencl_operand(source, 0));
  byoc_opencl_name_t factors = byoc_opencl_emit_argument(emit, byoc_opencl_operand(source, 1));
  byoc_opencl_name_t epsilon = byoc_opencl_float((float)source->graph->node_float(source->node, "epsilon"));
  int length = snprintf(value, sizeof(value), "(element - mean) * factor * %s[%s]", factors.text, at);
  if (shift != NULL)
    (void)snprintf(value + length, sizeof(value) - (size_t)length, " + %s[%s]",
                   byoc_opencl_emit_argument(emit, shift).text, at);
  open_rows(emit, "normalize", &rows, x);
  reduce_row(emit, &rows, "mean", "0.0f", "element", JOIN_SUM);
  byoc_opencl_line(emit, "mean /= (float)%s;", BYOC_OPENCL_SIZE(emit, rows.length));
  reduce_row(emit, &rows, "variance", "0.0f", "(element - mean) * (element - mean)", JOIN_SUM);
  byoc_opencl_line(emit, "const float factor = 1.0f / sqrt(variance / (float)%s + %s);",
                   BYOC_OPENCL_SIZE(emit, rows.length), epsilon.text);
  open_elements(emit, &rows);
  store_element(emit, y, &rows, value);
}
