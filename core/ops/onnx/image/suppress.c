// SPDX-License-Identifier: Apache-2.0
// NonMaxSuppression: the best boxes of each class, without those that overlap better ones. Their number depends on the
// data. There are two steps: choosing boxes, and making the rows of the result.
#include <math.h>

#include "core/op/write.h"
#include "core/ops/loops/heap.h"

#define BIN(op, x, y) byoc_loop_binary(b, BYOC_LOOP_OP_##op, (x), (y))

enum { NMS_BOXES, NMS_SCORES, NMS_MOST, NMS_OVERLAP, NMS_SCORE };

static bool is_i64(byoc_dtype_t dtype) {
  return dtype == BYOC_DTYPE_I64;
}

// Boxes [image, box, 4], scores [image, class, box], and the limits.
static byoc_status_t check_nms(const byoc_infer_t *infer) {
  for (uint32_t i = NMS_BOXES; i <= NMS_SCORE; ++i) {
    if (i > NMS_SCORES && !byoc_has_operand(infer->node, i)) continue;
    bool counts = i == NMS_MOST;
    BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, i, counts ? byoc_dtype_is_integer : byoc_dtype_is_float,
                                         counts ? "a count" : "a float tensor"));
    BYOC_RETURN_IF_ERROR(i > NMS_SCORES ? byoc_infer_need_one(infer, i) : byoc_infer_need_rank(infer, i, 3, 3));
  }
  const byoc_type_t *boxes = byoc_operand_type(infer->node, NMS_BOXES);
  BYOC_RETURN_IF_ERROR(byoc_infer_need_same(infer, NMS_SCORES));
  if (!byoc_is_ranked(boxes)) return BYOC_OK;
  BYOC_RETURN_IF_ERROR(byoc_infer_need_dim(infer, NMS_BOXES, 2, byoc_dim_constant(4)));
  BYOC_RETURN_IF_ERROR(byoc_infer_need_dim(infer, NMS_SCORES, 0, boxes->dims[0]));
  return byoc_infer_need_dim(infer, NMS_SCORES, 2, boxes->dims[1]);
}

static byoc_status_t infer_nms(byoc_infer_t *infer) {
  BYOC_RETURN_IF_ERROR(check_nms(infer));
  bool failed = false;
  byoc_dim_t dims[] = {byoc_infer_unknown_dim(infer, &failed), byoc_dim_constant(3)};
  BYOC_RETURN_IF_ERROR(byoc_infer_memory(infer, failed));
  return byoc_infer_set(infer, 0, BYOC_DTYPE_I64, 2, dims);
}

// A box as corners: y1, x1, y2, x2 in any order of the corners, or centre x, y and width, height.
static void load_box(byoc_lower_t *lower, const byoc_node_t *node, const byoc_loop_expr_t *image,
                     const byoc_loop_expr_t *box, const byoc_loop_expr_t *low[2], const byoc_loop_expr_t *high[2]) {
  byoc_loop_builder_t *b = byoc_lower_builder(lower);
  bool centred = byoc_node_flag(node, "center_point_box");
  const byoc_loop_expr_t *c[4];
  for (int32_t i = 0; i < 4; ++i) {
    const byoc_loop_expr_t *at[] = {image, box, byoc_loop_int(b, i)};
    c[i] = byoc_loop_let(b, "corner", byoc_emit_load(lower, node, NMS_BOXES, at));
  }
  for (int32_t d = 0; d < 2; ++d) {
    if (centred) {
      const byoc_loop_expr_t *half = BYOC_LMUL(b, c[2 + d], byoc_emit_number_like(b, c[0], 0.5));
      low[d] = BYOC_LSUB(b, c[d], half);
      high[d] = BYOC_LADD(b, c[d], half);
    } else {
      low[d] = BYOC_LMIN(b, c[d], c[2 + d]);
      high[d] = BYOC_LMAX(b, c[d], c[2 + d]);
    }
    low[d] = byoc_loop_let(b, "low", low[d]);
    high[d] = byoc_loop_let(b, "high", high[d]);
  }
}

// The second result is scratch memory, in which each class stores the corners of its chosen boxes: four rows of as many
// boxes as it may choose, and a block more.
enum { NMS_BLOCK = 64 }; // chosen boxes that are compared together

static byoc_status_t infer_nms_order(byoc_infer_t *infer) {
  BYOC_RETURN_IF_ERROR(check_nms(infer));
  const byoc_type_t *boxes = byoc_operand_type(infer->node, NMS_BOXES);
  const byoc_type_t *scores = byoc_operand_type(infer->node, NMS_SCORES);
  BYOC_RETURN_IF_ERROR(byoc_infer_set_like(infer, 0, BYOC_DTYPE_I64, scores));
  byoc_dtype_t dtype = byoc_compute_dtype(boxes->dtype);
  if (!byoc_is_ranked(scores)) return byoc_infer_set_unknown(infer, 1, dtype, 4);
  byoc_ints_t most;
  bool failed = false;
  byoc_dim_t chosen = scores->dims[2];
  if (byoc_read_ints(infer->node, NULL, NMS_MOST, &most) == BYOC_KNOWN_YES && most.count == 1) {
    byoc_dim_t limit = byoc_dim_constant(most.values[0] > 0 ? most.values[0] : 0);
    chosen = byoc_infer_dim(infer, BYOC_DIM_MIN, chosen, limit, &failed);
  }
  chosen = byoc_infer_dim(infer, BYOC_DIM_ADD, chosen, byoc_dim_constant(NMS_BLOCK), &failed);
  BYOC_RETURN_IF_ERROR(byoc_infer_memory(infer, failed));
  return byoc_infer_set(infer, 1, dtype, 4,
                        (byoc_dim_t[]){scores->dims[0], scores->dims[1], byoc_dim_constant(4), chosen});
}

typedef struct {
  byoc_lower_t *lower;
  const byoc_node_t *node;
  byoc_dtype_t dtype;
  const byoc_loop_expr_t *image, *class;
} class_t;

static const byoc_loop_expr_t *score_of(const class_t *class, const byoc_loop_expr_t *box) {
  const byoc_loop_expr_t *at[] = {class->image, class->class, box};
  return byoc_loop_let(byoc_lower_builder(class->lower), "score",
                       byoc_emit_load(class->lower, class->node, NMS_SCORES, at));
}

// Of equal scores the first one wins.
static const byoc_loop_expr_t *is_better(const void *self, byoc_heap_item_t x, byoc_heap_item_t y) {
  const class_t *class = self;
  byoc_loop_builder_t *b = byoc_lower_builder(class->lower);
  const byoc_loop_expr_t *a = score_of(class, x.index), *c = score_of(class, y.index);
  return BIN(OR, BIN(LT, c, a), BIN(AND, BIN(EQ, a, c), BIN(LT, x.index, y.index)));
}

// The corners of the boxes that a class has chosen: a row for each coordinate, in result 1. All boxes of a block are
// compared together.
typedef struct {
  const byoc_loop_buffer_t *room;
  const byoc_loop_expr_t *row[4]; // the begin of each row: low y, low x, high y, high x
} chosen_t;

static bool find_chosen(const class_t *class, const byoc_loop_expr_t *number, chosen_t *out) {
  byoc_loop_builder_t *b = byoc_lower_builder(class->lower);
  const byoc_type_t *type = class->node->results[1]->type;
  if (!byoc_lower_result_buffer(class->lower, class->node, 1, &out->room)) return false;
  const byoc_loop_expr_t *first = BYOC_LMUL(b, number, byoc_loop_int(b, 4));
  for (int32_t i = 0; i < 4; ++i) {
    const byoc_loop_expr_t *begin = BYOC_LMUL(b, BYOC_LADD(b, first, byoc_loop_int(b, i)), byoc_emit_dim(b, type, 3));
    out->row[i] = byoc_loop_let(b, "row", begin);
  }
  return true;
}

static void load_chosen(byoc_loop_builder_t *b, const chosen_t *chosen, const byoc_loop_expr_t *place,
                        const byoc_loop_expr_t *low[2], const byoc_loop_expr_t *high[2]) {
  for (int32_t d = 0; d < 2; ++d) {
    low[d] = byoc_loop_let(b, "low", byoc_loop_load(b, chosen->room, BYOC_LADD(b, chosen->row[d], place)));
    high[d] = byoc_loop_let(b, "high", byoc_loop_load(b, chosen->room, BYOC_LADD(b, chosen->row[2 + d], place)));
  }
}

static void store_chosen(byoc_loop_builder_t *b, const chosen_t *chosen, const byoc_loop_expr_t *place,
                         const byoc_loop_expr_t *const low[2], const byoc_loop_expr_t *const high[2]) {
  for (int32_t d = 0; d < 2; ++d) {
    byoc_loop_store(b, chosen->room, BYOC_LADD(b, chosen->row[d], place), low[d]);
    byoc_loop_store(b, chosen->room, BYOC_LADD(b, chosen->row[2 + d], place), high[d]);
  }
}

// Fills the rows with boxes that overlap nothing. So a block of boxes can be read as a whole before all of its boxes are
// chosen, and each run leaves the same bytes in memory.
static void clear_chosen(const class_t *class, const chosen_t *chosen) {
  byoc_loop_builder_t *b = byoc_lower_builder(class->lower);
  const byoc_loop_expr_t *most = byoc_loop_const(b, class->dtype, INFINITY);
  const byoc_loop_expr_t *least = byoc_loop_const(b, class->dtype, -INFINITY);
  const byoc_loop_expr_t *size = byoc_emit_dim(b, class->node->results[1]->type, 3);
  const byoc_loop_expr_t *i = byoc_loop_for(b, BYOC_LOOP_VECTOR, "i", byoc_loop_int(b, 0), size);
  store_chosen(b, chosen, i, (const byoc_loop_expr_t *[]){most, most}, (const byoc_loop_expr_t *[]){least, least});
  byoc_loop_end(b);
}

// Can two boxes have an intersection at all?  Four comparisons answer for most pairs.
static const byoc_loop_expr_t *meets(byoc_loop_builder_t *b, const byoc_loop_expr_t *const low[2],
                                     const byoc_loop_expr_t *const high[2], const byoc_loop_expr_t *const other_low[2],
                                     const byoc_loop_expr_t *const other_high[2]) {
  const byoc_loop_expr_t *all = NULL;
  for (int32_t d = 0; d < 2; ++d) {
    const byoc_loop_expr_t *both = BIN(AND, BIN(LT, low[d], other_high[d]), BIN(LT, other_low[d], high[d]));
    all = all ? BIN(AND, all, both) : both;
  }
  return all;
}

// Do two boxes overlap by more than `overlap`?  Boxes without an intersection do not, and neither do empty boxes.
static const byoc_loop_expr_t *covers(byoc_loop_builder_t *b, const byoc_loop_expr_t *const low[2],
                                      const byoc_loop_expr_t *const high[2], const byoc_loop_expr_t *const other_low[2],
                                      const byoc_loop_expr_t *const other_high[2], const byoc_loop_expr_t *overlap) {
  const byoc_loop_expr_t *nothing = byoc_loop_const(b, overlap ? overlap->dtype : BYOC_DTYPE_F32, 0.0);
  const byoc_loop_expr_t *shared = NULL, *area = NULL, *other_area = NULL;
  for (int32_t d = 0; d < 2; ++d) {
    const byoc_loop_expr_t *side =
        BYOC_LSUB(b, BYOC_LMIN(b, high[d], other_high[d]), BYOC_LMAX(b, low[d], other_low[d]));
    side = BYOC_LMAX(b, nothing, side);
    const byoc_loop_expr_t *own = BYOC_LSUB(b, high[d], low[d]), *extent = BYOC_LSUB(b, other_high[d], other_low[d]);
    shared = shared ? BYOC_LMUL(b, shared, side) : side;
    area = area ? BYOC_LMUL(b, area, own) : own;
    other_area = other_area ? BYOC_LMUL(b, other_area, extent) : extent;
  }
  shared = byoc_loop_let(b, "shared", shared);
  const byoc_loop_expr_t *both = BYOC_LSUB(b, BYOC_LADD(b, area, other_area), shared);
  return BIN(AND, BIN(LT, nothing, shared), BIN(LT, overlap, BIN(DIV, shared, both)));
}

// Opens a loop over the chosen boxes from `first` to the end of its block, for a condition; any_of_block closes it. Its
// value: does the condition hold for one of them?
typedef struct {
  const byoc_loop_expr_t *any; // mutable, 0 or 1
  const byoc_loop_expr_t *low[2], *high[2];
} block_t;

static block_t open_block(byoc_loop_builder_t *b, const chosen_t *chosen, const byoc_loop_expr_t *first) {
  block_t block = {.any = byoc_loop_mutable(b, "any", byoc_loop_const_int(b, BYOC_DTYPE_I32, 0))};
  const byoc_loop_expr_t *i = byoc_loop_for(b, BYOC_LOOP_REDUCE, "i", byoc_loop_int(b, 0), byoc_loop_int(b, NMS_BLOCK));
  load_chosen(b, chosen, BYOC_LADD(b, first, i), block.low, block.high);
  return block;
}

static const byoc_loop_expr_t *any_of_block(byoc_loop_builder_t *b, const block_t *block,
                                            const byoc_loop_expr_t *holds) {
  byoc_loop_assign(b, block->any, BYOC_LMAX(b, block->any, byoc_loop_cast(b, BYOC_DTYPE_I32, holds)));
  byoc_loop_end(b);
  return BIN(NE, block->any, byoc_loop_const_int(b, BYOC_DTYPE_I32, 0));
}

// Sets the mutable bool `kept` unless the box overlaps one of the `taken` chosen ones.
static void compare_with_chosen(byoc_loop_builder_t *b, const chosen_t *chosen, const byoc_loop_expr_t *taken,
                                const byoc_loop_expr_t *const low[2], const byoc_loop_expr_t *const high[2],
                                const byoc_loop_expr_t *overlap, const byoc_loop_expr_t *kept) {
  const byoc_loop_expr_t *checked = byoc_loop_mutable(b, "checked", byoc_loop_int(b, 0));
  byoc_loop_while(b, BIN(AND, kept, BIN(LT, checked, taken)));
  block_t near = open_block(b, chosen, checked);
  byoc_loop_if(b, any_of_block(b, &near, meets(b, low, high, near.low, near.high)));
  block_t same = open_block(b, chosen, checked);
  const byoc_loop_expr_t *any = any_of_block(b, &same, covers(b, low, high, same.low, same.high, overlap));
  byoc_loop_assign(b, kept, byoc_loop_unary(b, BYOC_LOOP_OP_NOT, any));
  byoc_loop_end(b);
  byoc_loop_assign(b, checked, BYOC_LADD(b, checked, byoc_loop_int(b, NMS_BLOCK)));
  byoc_loop_end(b);
}

// SuppressionOrder: for each class the chosen boxes, from the end of its row down, and NMS_NONE before them. A heap
// gives boxes by score, best first. A box that overlaps no chosen one is chosen, too, and is stored where the heap has
// ended.
enum { NMS_NONE = -1 };

static byoc_status_t loops_nms_order(byoc_lower_t *lower, const byoc_node_t *node) {
  byoc_loop_builder_t *b = byoc_lower_builder(lower);
  const byoc_type_t *scores = node->operands[NMS_SCORES]->type;
  byoc_dtype_t dtype = byoc_compute_dtype(scores->dtype);
  const byoc_loop_buffer_t *order = NULL;
  if (!byoc_lower_result_buffer(lower, node, 0, &order)) return BYOC_UNSUPPORTED;
  const byoc_loop_expr_t *size = byoc_emit_dim(b, scores, 2), *zero = byoc_loop_int(b, 0), *one = byoc_loop_int(b, 1);
  const byoc_loop_expr_t *most = zero, *overlap = byoc_loop_const(b, dtype, 0.0), *at[3];
  const byoc_loop_expr_t *least = byoc_loop_const(b, dtype, -INFINITY);
  if (byoc_has_operand(node, NMS_MOST)) most = byoc_loop_let(b, "most", byoc_emit_int(lower, node, NMS_MOST, 0));
  if (byoc_has_operand(node, NMS_OVERLAP)) {
    overlap = byoc_loop_let(b, "overlap", byoc_emit_as(b, dtype, byoc_emit_scalar(lower, node, NMS_OVERLAP)));
  }
  if (byoc_has_operand(node, NMS_SCORE)) {
    least = byoc_loop_let(b, "least", byoc_emit_as(b, dtype, byoc_emit_scalar(lower, node, NMS_SCORE)));
  }
  int32_t opened = byoc_emit_open(b, scores, 0, 2, true, at);
  const class_t class = {lower, node, dtype, at[0], at[1]};
  const byoc_loop_expr_t *number = BYOC_LADD(b, BYOC_LMUL(b, at[0], byoc_emit_dim(b, scores, 1)), at[1]);
  byoc_heap_t heap = {.b = b, .list = order, .step = one, .above = is_better, .self = &class};
  heap.base = byoc_loop_let(b, "base", BYOC_LMUL(b, number, size));
  chosen_t chosen;
  if (!find_chosen(&class, number, &chosen)) return BYOC_UNSUPPORTED;
  clear_chosen(&class, &chosen);

  const byoc_loop_expr_t *count = byoc_loop_mutable(b, "count", zero), *taken = byoc_loop_mutable(b, "taken", zero);
  const byoc_loop_expr_t *i = byoc_loop_for(b, BYOC_LOOP_SERIAL, "i", zero, size);
  byoc_loop_if(b, BIN(LT, least, score_of(&class, i)));
  byoc_heap_store(&heap, count, (byoc_heap_item_t){i, NULL});
  byoc_loop_assign(b, count, BYOC_LADD(b, count, one));
  byoc_emit_close(b, 2);
  byoc_heap_build(&heap, byoc_loop_let(b, "all", count));

  byoc_loop_while(b, BIN(AND, BIN(LT, zero, count), BIN(LT, taken, most)));
  const byoc_loop_expr_t *best = byoc_heap_load(&heap, zero).index, *low[2], *high[2];
  byoc_loop_assign(b, count, BYOC_LSUB(b, count, one));
  byoc_heap_store(&heap, zero, byoc_heap_load(&heap, count));
  byoc_loop_if(b, BIN(LT, zero, count));
  byoc_heap_sift(&heap, zero, count);
  byoc_loop_end(b);
  load_box(lower, node, at[0], best, low, high);
  const byoc_loop_expr_t *kept = byoc_loop_mutable(b, "kept", byoc_loop_const_int(b, BYOC_DTYPE_BOOL, true));
  compare_with_chosen(b, &chosen, taken, low, high, overlap, kept);
  byoc_loop_if(b, kept);
  byoc_heap_store(&heap, BYOC_LSUB(b, BYOC_LSUB(b, size, one), taken), (byoc_heap_item_t){best, NULL});
  store_chosen(b, &chosen, taken, low, high);
  byoc_loop_assign(b, taken, BYOC_LADD(b, taken, one));
  byoc_emit_close(b, 2);
  i = byoc_loop_for(b, BYOC_LOOP_SERIAL, "i", zero, BYOC_LSUB(b, size, taken));
  byoc_heap_store(&heap, i, (byoc_heap_item_t){byoc_loop_int(b, NMS_NONE), NULL});
  byoc_loop_end(b);
  byoc_emit_close(b, opened);
  return BYOC_OK;
}

// Makes rows {image, class, box} from the order of each class.
static byoc_status_t infer_nms_rows(byoc_infer_t *infer) {
  BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, 0, is_i64, "boxes as i64"));
  BYOC_RETURN_IF_ERROR(byoc_infer_need_rank(infer, 0, 3, 3));
  bool failed = false;
  byoc_dim_t dims[] = {byoc_infer_unknown_dim(infer, &failed), byoc_dim_constant(3)};
  BYOC_RETURN_IF_ERROR(byoc_infer_memory(infer, failed));
  return byoc_infer_set(infer, 0, BYOC_DTYPE_I64, 2, dims);
}

// Opens loops over the boxes of all classes in the order of choice, and a block for the chosen ones.
static const byoc_loop_expr_t *open_chosen(byoc_lower_t *lower, const byoc_node_t *node, const byoc_loop_expr_t **at) {
  byoc_loop_builder_t *b = byoc_lower_builder(lower);
  const byoc_type_t *order = node->operands[0]->type;
  const byoc_loop_expr_t *zero = byoc_loop_int(b, 0), *size = byoc_emit_dim(b, order, 2);
  byoc_emit_open(b, order, 0, 2, false, at);
  const byoc_loop_expr_t *i = byoc_loop_for(b, BYOC_LOOP_SERIAL, "i", zero, size);
  at[2] = BYOC_LSUB(b, BYOC_LSUB(b, size, byoc_loop_int(b, 1)), i);
  const byoc_loop_expr_t *box = byoc_loop_let(b, "box", byoc_lower_load(lower, node, 0, at));
  byoc_loop_if(b, BIN(LE, zero, box));
  return box;
}

static byoc_status_t loops_nms_rows(byoc_lower_t *lower, const byoc_node_t *node) {
  byoc_loop_builder_t *b = byoc_lower_builder(lower);
  const byoc_loop_expr_t *row = byoc_loop_mutable(b, "row", byoc_loop_int(b, 0)), *at[3];
  at[2] = open_chosen(lower, node, at);
  byoc_loop_if(b, BIN(LT, row, byoc_emit_dim(b, node->results[0]->type, 0)));
  for (int32_t i = 0; i < 3; ++i) {
    const byoc_loop_expr_t *to[] = {row, byoc_loop_int(b, i)};
    byoc_emit_store(lower, node, 0, to, at[i]);
  }
  byoc_loop_assign(b, row, BYOC_LADD(b, row, byoc_loop_int(b, 1)));
  byoc_emit_close(b, 5);
  return BYOC_OK;
}

static const byoc_loop_expr_t *shape_nms_rows(byoc_lower_t *lower, const byoc_node_t *node, uint32_t result,
                                              int32_t d) {
  (void)result, (void)d;
  byoc_loop_builder_t *b = byoc_lower_builder(lower);
  const byoc_loop_expr_t *count = byoc_loop_mutable(b, "count", byoc_loop_int(b, 0)), *at[3];
  open_chosen(lower, node, at);
  byoc_loop_assign(b, count, BYOC_LADD(b, count, byoc_loop_int(b, 1)));
  byoc_emit_close(b, 4);
  return count;
}

// NonMaxSuppression(...) → byoc::SuppressedRows(byoc::SuppressionOrder(...))
static byoc_status_t expand_nms(byoc_node_t *node, byoc_diag_t *diag, bool *out_changed) {
  *out_changed = false;
  byoc_writer_t w = {.node = node, .diag = diag};
  byoc_node_t *order = byoc_write_many(&w, "byoc", "SuppressionOrder", node->operands, node->operand_count, 2,
                                       node->attributes.items, node->attributes.count);
  byoc_value_t *rows =
      byoc_write_node(&w, "byoc", "SuppressedRows", order ? order->results[0] : NULL, NULL, NULL, NULL, 0);
  return byoc_write_end(&w, rows, out_changed);
}

static const byoc_op_attribute_t nms_attributes[] = {
    {BYOC_ATTR_INT("center_point_box", 0)},
    BYOC_ATTR_END,
};

#define HEAD(op_domain, op_name, version, least, most, results)                                                        \
  .domain = op_domain, .name = #op_name, .since_version = version, .min_inputs = least, .max_inputs = most,            \
  .min_outputs = results, .max_outputs = results
#define NMS(version)                                                                                                   \
  {                                                                                                                    \
    HEAD("", NonMaxSuppression, version, 2, 5, 1), .attributes = nms_attributes, .infer = infer_nms,                   \
                                                   .expand = expand_nms                                                \
  }

const byoc_op_t byoc_ops_suppress[] = {
    NMS(10),
    NMS(11),
    {HEAD("byoc", SuppressionOrder, 1, 2, 5, 2), .traits = BYOC_OP_HEAVY | BYOC_OP_OPAQUE, .attributes = nms_attributes,
     .infer = infer_nms_order, .loops = loops_nms_order, .shape_operands = 1u << 2 | 1u << 3 | 1u << 4,
     .scratch_results = 1u << 1},
    {HEAD("byoc", SuppressedRows, 1, 1, 1, 1), .traits = BYOC_OP_HEAVY | BYOC_OP_OPAQUE, .infer = infer_nms_rows,
     .loops = loops_nms_rows, .shape = shape_nms_rows, .shape_elements = 1},
};
const size_t byoc_ops_suppress_count = sizeof byoc_ops_suppress / sizeof *byoc_ops_suppress;
