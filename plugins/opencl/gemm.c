// SPDX-License-Identifier: Apache-2.0
// Matrix products: a work-item sums up a tile of rows times columns. Constant right sides lie in panels as wide as a
// tile.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "operator.h"

enum { TILE_ROWS = 4, MOST_LANES = 16, OPEN_LANES = 4, WORK_GROUP = 16, PANELS = 1 };

// y[batch][m][n] = alpha * a[batch][m][k] * b[batch][k][n] + beta * c
typedef struct product_t {
  const byoc_value_t *a, *b, *c, *y;
  byoc_opencl_shape_t a_shape, b_shape, batch_shape; // a and b with the dimensions before the last two
  byoc_opencl_size_t m, n, k;
  bool is_a_turned, is_b_turned;
  float alpha, beta;
} product_t;

// One of two sizes that are the same: that which is known, if there is one.
static byoc_opencl_size_t known_of(byoc_opencl_size_t left, byoc_opencl_size_t right) {
  return left.is_open ? right : left;
}

static const char *read_matmul(const byoc_opencl_source_t *source, product_t *out_product) {
  product_t *p = out_product;
  *p = (product_t){.a = byoc_opencl_operand(source, 0),
                   .b = byoc_opencl_operand(source, 1),
                   .y = byoc_opencl_result(source, 0),
                   .alpha = 1.0f};
  byoc_opencl_size_t one = byoc_opencl_size(1);
  byoc_opencl_shape_t a = byoc_opencl_shape_of(source->sizes, p->a), b = byoc_opencl_shape_of(source->sizes, p->b);
  byoc_opencl_shape_t y = byoc_opencl_shape_of(source->sizes, p->y);
  if (a.rank < 1 || b.rank < 1) return "a product of a scalar";
  bool is_row = a.rank == 1, is_column = b.rank == 1;
  if (is_row) a = byoc_opencl_shape(source->sizes, 2, (byoc_opencl_size_t[]){one, a.dims[0]});
  if (is_column) b = byoc_opencl_shape(source->sizes, 2, (byoc_opencl_size_t[]){b.dims[0], one});
  p->m = a.dims[a.rank - 2];
  p->k = known_of(a.dims[a.rank - 1], b.dims[b.rank - 2]);
  p->n = b.dims[b.rank - 1];
  p->a_shape = a;
  p->b_shape = b;
  p->batch_shape = byoc_opencl_shape(source->sizes, y.rank - (is_row ? 0 : 1) - (is_column ? 0 : 1), y.dims);
  return NULL;
}

static void read_gemm(const byoc_opencl_source_t *source, product_t *out_product) {
  const byoc_graph_api_t *graph = source->graph;
  product_t *p = out_product;
  *p = (product_t){.a = byoc_opencl_operand(source, 0),
                   .b = byoc_opencl_operand(source, 1),
                   .c = byoc_opencl_operand(source, 2),
                   .y = byoc_opencl_result(source, 0),
                   .alpha = (float)graph->node_float(source->node, "alpha"),
                   .beta = (float)graph->node_float(source->node, "beta"),
                   .is_a_turned = graph->node_int(source->node, "transA") != 0,
                   .is_b_turned = graph->node_int(source->node, "transB") != 0};
  p->a_shape = byoc_opencl_shape_of(source->sizes, p->a);
  p->b_shape = byoc_opencl_shape_of(source->sizes, p->b);
  p->batch_shape = byoc_opencl_shape(source->sizes, 0, NULL);
  p->m = p->a_shape.dims[p->is_a_turned ? 1 : 0];
  p->k = known_of(p->a_shape.dims[p->is_a_turned ? 0 : 1], p->b_shape.dims[p->is_b_turned ? 1 : 0]);
  p->n = p->b_shape.dims[p->is_b_turned ? 0 : 1];
}

const char *byoc_opencl_check_matmul(const byoc_opencl_source_t *source) {
  product_t product;
  const char *reason = byoc_opencl_check_tensors(source, BYOC_DTYPE_F32);
  return reason != NULL ? reason : read_matmul(source, &product);
}

const char *byoc_opencl_check_gemm(const byoc_opencl_source_t *source) {
  if (source->graph->node_since_version(source->node) < 7) return "the products of opset 6";
  return byoc_opencl_check_tensors(source, BYOC_DTYPE_F32);
}

// ---- text ----

// Vectors of one lane are floats.
static byoc_opencl_name_t vector_type(int64_t lanes) {
  return lanes > 1 ? byoc_opencl_name("float%lld", (long long)lanes) : byoc_opencl_name("float");
}

static int64_t lanes_of(const product_t *p, bool is_packed) {
  int64_t lanes = 1;
  if (p->n.is_open) return OPEN_LANES;
  if (is_packed) {
    while (lanes < MOST_LANES && lanes < p->n.known) lanes *= 2;
    return lanes;
  }
  while (lanes * 2 <= MOST_LANES && lanes * 2 <= p->n.known) lanes *= 2;
  return lanes;
}

// [batches][k][n], or turned → [batches][panels][k][lanes], filled up with zeros
static float *pack_panels(const product_t *p, const float *data, int64_t lanes, int64_t panels, int64_t *out_count) {
  int64_t terms = p->k.known, columns = p->n.known, batches = p->b_shape.count.known / (terms * columns);
  *out_count = batches * panels * terms * lanes;
  float *packed = calloc((size_t)*out_count, sizeof(float));
  if (packed == NULL) return NULL;
  for (int64_t i = 0; i < batches; ++i)
    for (int64_t k = 0; k < terms; ++k)
      for (int64_t n = 0; n < columns; ++n)
        packed[((i * panels + n / lanes) * terms + k) * lanes + n % lanes] =
            data[i * terms * columns + (p->is_b_turned ? n * terms + k : k * columns + n)];
  return packed;
}

// The number of the matrix of `shape` that batch z of the result reads.
static byoc_opencl_name_t emit_matrix(byoc_opencl_emit_t *emit, const byoc_opencl_shape_t *shape,
                                      byoc_opencl_index_t *batch) {
  byoc_opencl_shape_t own = byoc_opencl_shape(emit->sizes, shape->rank - 2, shape->dims);
  return byoc_opencl_index_broadcast(emit, &own, batch).linear;
}

// Columns that lie side by side in memory.
static void emit_columns_of_row(byoc_opencl_emit_t *emit, byoc_opencl_size_t step, int64_t lanes) {
  byoc_opencl_name_t type = vector_type(lanes), size = byoc_opencl_emit_size(emit, step);
  if (lanes == 1)
    byoc_opencl_line(emit, "const %s columns = b[k * %s];", type.text, size.text);
  else
    byoc_opencl_line(emit, "const %s columns = vload%lld(0, b + k * %s);", type.text, (long long)lanes, size.text);
}

// `b` of term k as a vector: columns of a panel, of a row, or of as many rows.
static void emit_columns(byoc_opencl_emit_t *emit, const product_t *p, bool is_packed, int64_t lanes) {
  if (is_packed || (!p->is_b_turned && !p->n.is_open)) {
    emit_columns_of_row(emit, is_packed ? byoc_opencl_size(lanes) : p->n, lanes);
    return;
  }
  char text[768];
  byoc_opencl_name_t size = byoc_opencl_emit_size(emit, p->is_b_turned ? p->k : p->n);
  const char *form = p->is_b_turned ? "%sb[k + column%lld * %s]" : "%sb[column%lld + k * %s]";
  size_t length = (size_t)snprintf(text, sizeof(text), "(%s)(", vector_type(lanes).text);
  for (int64_t i = 0; i < lanes; ++i)
    length += (size_t)snprintf(text + length, sizeof(text) - length, form, i > 0 ? ", " : "", (long long)i, size.text);
  byoc_opencl_line(emit, "const %s columns = %s);", vector_type(lanes).text, text);
}

// The columns of a tile, for those that are loaded one by one: beyond the last one, that one again.
static void emit_column_numbers(byoc_opencl_emit_t *emit, const product_t *p, int64_t lanes) {
  for (int64_t i = 0; i < lanes; ++i)
    byoc_opencl_line(emit, "const int column%lld = min(n0 + %lld, %s - 1);", (long long)i, (long long)i,
                     BYOC_OPENCL_SIZE(emit, p->n));
}

static void emit_sums(byoc_opencl_emit_t *emit, const product_t *p, bool is_packed, int64_t lanes, int rows) {
  for (int r = 0; r < rows; ++r) {
    byoc_opencl_line(emit, "const int row%d = min(m0 + %d, %s - 1) * %s;", r, r, BYOC_OPENCL_SIZE(emit, p->m),
                     BYOC_OPENCL_SIZE(emit, p->is_a_turned ? byoc_opencl_size(1) : p->k));
    byoc_opencl_line(emit, "%s sum%d = 0.0f;", vector_type(lanes).text, r);
  }
  byoc_opencl_line(emit, "for (int k = 0; k < %s; ++k) {", BYOC_OPENCL_SIZE(emit, p->k));
  emit_columns(emit, p, is_packed, lanes);
  for (int r = 0; r < rows; ++r) {
    if (p->is_a_turned)
      byoc_opencl_line(emit, "sum%d += columns * a[k * %s + row%d];", r, BYOC_OPENCL_SIZE(emit, p->m), r);
    else
      byoc_opencl_line(emit, "sum%d += columns * a[row%d + k];", r, r);
  }
  byoc_opencl_line(emit, "}");
  byoc_opencl_line(emit, "float sums[%lld];", (long long)(rows * lanes));
  for (int r = 0; r < rows; ++r) {
    if (lanes == 1)
      byoc_opencl_line(emit, "sums[%d] = sum%d;", r, r);
    else
      byoc_opencl_line(emit, "vstore%lld(sum%d, %d, sums);", (long long)lanes, r, r);
  }
}

// alpha * sum + beta * c, and what follows
static void emit_result(byoc_opencl_emit_t *emit, const byoc_opencl_source_t *source, const product_t *p) {
  byoc_opencl_shape_t shape = byoc_opencl_shape_of(source->sizes, p->y);
  char text[160];
  size_t length = (size_t)snprintf(text, sizeof(text), "sum");
  byoc_opencl_line(emit, "const int i = (z * %s + m) * %s + n;", BYOC_OPENCL_SIZE(emit, p->m),
                   BYOC_OPENCL_SIZE(emit, p->n));
  byoc_opencl_index_t index = byoc_opencl_index(&shape, byoc_opencl_name("i"));
  if (shape.rank == p->batch_shape.rank + 2) {
    index.axes[shape.rank - 1] = byoc_opencl_name("n");
    index.axes[shape.rank - 2] = byoc_opencl_name("m");
  }
  if (p->alpha != 1.0f) length = (size_t)snprintf(text, sizeof(text), "%s * sum", byoc_opencl_float(p->alpha).text);
  if (p->c != NULL && p->beta != 0.0f) {
    byoc_opencl_shape_t c_shape = byoc_opencl_shape_of(source->sizes, p->c);
    byoc_opencl_index_t at = byoc_opencl_index_broadcast(emit, &c_shape, &index);
    byoc_opencl_name_t c = byoc_opencl_emit_element(emit, p->c, &at);
    if (p->beta != 1.0f)
      (void)snprintf(text + length, sizeof(text) - length, " + %s * %s", byoc_opencl_float(p->beta).text, c.text);
    else
      (void)snprintf(text + length, sizeof(text) - length, " + %s", c.text);
  }
  byoc_opencl_name_t result = byoc_opencl_emit_set(emit, p->y, text);
  byoc_opencl_emit_store(emit, &index, p->y, result);
}

// Where the columns of a tile begin in the matrix `b`.
static void emit_tile_of_b(byoc_opencl_emit_t *emit, const product_t *p, const char *b, const char *matrix,
                           bool is_packed, int64_t lanes) {
  byoc_opencl_size_t size = byoc_opencl_size_multiply(emit->sizes, p->k, p->n);
  if (is_packed) {
    byoc_opencl_line(emit, "const int n0 = panel * %lld;", (long long)lanes);
    byoc_opencl_line(emit, "global const float *b = %s + (%s * %lld + panel) * %lld;", b, matrix,
                     (long long)((p->n.known + lanes - 1) / lanes), (long long)(p->k.known * lanes));
  } else if (p->n.is_open || p->is_b_turned) {
    byoc_opencl_line(emit, "const int n0 = panel * %lld;", (long long)lanes);
    byoc_opencl_line(emit, "global const float *b = %s + %s * %s;", b, matrix, BYOC_OPENCL_SIZE(emit, size));
    emit_column_numbers(emit, p, lanes);
  } else {
    // The last tile begins early enough to end with the row.
    byoc_opencl_line(emit, "const int n0 = min(panel * %lld, %lld);", (long long)lanes,
                     (long long)(p->n.known - lanes));
    byoc_opencl_line(emit, "global const float *b = %s + %s * %s + n0;", b, matrix, BYOC_OPENCL_SIZE(emit, size));
  }
}

static void emit_product(byoc_opencl_emit_t *emit, const byoc_opencl_source_t *source, const product_t *p) {
  int64_t count = 0, packed_count = 0;
  const float *constant = byoc_opencl_floats(source->graph, p->b, &count);
  bool is_packed = constant != NULL;
  int64_t lanes = lanes_of(p, is_packed);
  byoc_opencl_size_t panels = byoc_opencl_size_divide_up(emit->sizes, p->n, lanes);
  int rows = !p->m.is_open && p->m.known < TILE_ROWS ? (int)p->m.known : TILE_ROWS;
  byoc_opencl_name_t a = byoc_opencl_emit_argument(emit, p->a);
  byoc_opencl_name_t b;
  if (is_packed) {
    float *packed = pack_panels(p, constant, lanes, panels.known, &packed_count);
    b = byoc_opencl_emit_constant(emit, p->b, PANELS + (p->is_b_turned ? 1 : 0), packed, packed_count);
  } else {
    b = byoc_opencl_emit_argument(emit, p->b);
  }
  byoc_opencl_emit_launch_items(emit, "gemm", panels, byoc_opencl_size_divide_up(emit->sizes, p->m, rows),
                                p->batch_shape.count, WORK_GROUP);
  byoc_opencl_line(emit, "const int panel = get_global_id(0), m0 = get_global_id(1) * %d, z = get_global_id(2);", rows);
  byoc_opencl_line(emit, "if (panel >= %s) return;", BYOC_OPENCL_SIZE(emit, panels));
  byoc_opencl_index_t batch = byoc_opencl_index(&p->batch_shape, byoc_opencl_name("z"));
  byoc_opencl_name_t a_matrix = emit_matrix(emit, &p->a_shape, &batch);
  byoc_opencl_name_t b_matrix = emit_matrix(emit, &p->b_shape, &batch);
  byoc_opencl_line(emit, "global const float *a = %s + %s * %s;", a.text, a_matrix.text,
                   BYOC_OPENCL_SIZE(emit, byoc_opencl_size_multiply(emit->sizes, p->m, p->k)));
  emit_tile_of_b(emit, p, b.text, b_matrix.text, is_packed, lanes);
  emit_sums(emit, p, is_packed, lanes, rows);
  byoc_opencl_line(emit, "for (int r = 0; r < min(%d, %s - m0); ++r) {", rows, BYOC_OPENCL_SIZE(emit, p->m));
  byoc_opencl_line(emit, "for (int n = panel * %lld; n < min(n0 + %lld, %s); ++n) {", (long long)lanes,
                   (long long)lanes, BYOC_OPENCL_SIZE(emit, p->n));
  byoc_opencl_line(emit, "const int m = m0 + r;");
  byoc_opencl_line(emit, "const float sum = sums[r * %lld + n - n0];", (long long)lanes);
  emit_result(emit, source, p);
  byoc_opencl_line(emit, "}");
  byoc_opencl_line(emit, "}");
}

void byoc_opencl_anchor_matmul(byoc_opencl_emit_t *emit, const byoc_opencl_source_t *source) {
  product_t product;
  (void)read_matmul(source, &product); // as check_matmul did
  emit_product(emit, source, &product);
}

void byoc_opencl_anchor_gemm(byoc_opencl_emit_t *emit, const byoc_opencl_source_t *source) {
  product_t product;
  read_gemm(source, &product);
  emit_product(emit, source, &product);
}
