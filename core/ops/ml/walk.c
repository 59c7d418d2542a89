// SPDX-License-Identifier: Apache-2.0
// byoc::Forest: the votes of decision trees. Each row walks each tree without branches: a step goes from a node to one
// of its two next nodes. The next node of a leaf is the leaf itself, so that walks that run together take equally many
// steps.
#include "core/ops/ml/forest.h"

static bool is_i32(byoc_dtype_t dtype) {
  return dtype == BYOC_DTYPE_I32;
}

// The tables are constants that inference has checked: a run does not check them again.
static byoc_status_t need_table(byoc_infer_t *infer, uint32_t index, int64_t count, int64_t most) {
  const byoc_value_t *value = infer->node->operands[index];
  BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, index, is_i32, "a list of i32"));
  BYOC_RETURN_IF_ERROR(byoc_infer_need_rank(infer, index, 1, 1));
  if (!byoc_value_is_constant(value)) return byoc_infer_error(infer, "operand %u is no constant", (unsigned)index);
  if (byoc_type_element_count(value->type) != count) {
    return byoc_infer_error(infer, "operand %u does not have %lld elements", (unsigned)index, (long long)count);
  }
  const int32_t *numbers = value->constant->data;
  for (int64_t i = 0; i < count; ++i) {
    if (numbers[i] >= 0 && numbers[i] <= most) continue;
    return byoc_infer_error(infer, "operand %u has %d, expected 0 to %lld", (unsigned)index, (int)numbers[i],
                            (long long)most);
  }
  return BYOC_OK;
}

static byoc_status_t need_weights(byoc_infer_t *infer, uint32_t index) {
  BYOC_RETURN_IF_ERROR(byoc_infer_need_same(infer, index));
  BYOC_RETURN_IF_ERROR(byoc_infer_need_rank(infer, index, 1, 1));
  if (byoc_value_is_constant(infer->node->operands[index])) return BYOC_OK;
  return byoc_infer_error(infer, "operand %u is no constant", (unsigned)index);
}

static int64_t count_of(const byoc_node_t *node, uint32_t index) {
  return byoc_has_operand(node, index) ? byoc_type_element_count(node->operands[index]->type) : 0;
}

static byoc_status_t check_tables(byoc_infer_t *infer, int64_t features, int64_t targets) {
  const byoc_node_t *node = infer->node;
  const int64_t nodes = count_of(node, BYOC_FOREST_VALUES), trees = count_of(node, BYOC_FOREST_ROOTS),
                votes = count_of(node, BYOC_FOREST_WEIGHTS);
  const bool has_lists = byoc_has_operand(node, BYOC_FOREST_VOTES), has_nans = byoc_has_operand(node, BYOC_FOREST_NANS);
  BYOC_RETURN_IF_ERROR(need_weights(infer, BYOC_FOREST_VALUES));
  BYOC_RETURN_IF_ERROR(need_weights(infer, BYOC_FOREST_WEIGHTS));
  BYOC_RETURN_IF_ERROR(need_table(infer, BYOC_FOREST_NODES, nodes, features - 1));
  BYOC_RETURN_IF_ERROR(need_table(infer, BYOC_FOREST_NEXT, 2 * nodes, nodes - 1));
  BYOC_RETURN_IF_ERROR(need_table(infer, BYOC_FOREST_ROOTS, trees, nodes - 1));
  BYOC_RETURN_IF_ERROR(need_table(infer, BYOC_FOREST_DEPTHS, trees, nodes));
  if (has_nans) BYOC_RETURN_IF_ERROR(need_table(infer, BYOC_FOREST_NANS, nodes, 1));
  if (!has_lists) {
    return votes == nodes && targets == 1 ? BYOC_OK : byoc_infer_error(infer, "a node has more or less than one vote");
  }
  if (!byoc_has_operand(node, BYOC_FOREST_TARGETS)) return byoc_infer_error(infer, "its votes have no targets");
  BYOC_RETURN_IF_ERROR(need_table(infer, BYOC_FOREST_VOTES, nodes + 1, votes));
  return need_table(infer, BYOC_FOREST_TARGETS, votes, targets - 1);
}

// Scratch memory for the result of each row in each tree: a weight, or a leaf if leaves have lists of votes.
static byoc_status_t infer_workspace(byoc_infer_t *infer) {
  const byoc_node_t *node = infer->node;
  const byoc_type_t *x = byoc_operand_type(node, BYOC_FOREST_FEATURES);
  bool failed = false;
  const byoc_dim_t most = byoc_dim_constant(BYOC_FOREST_ROOM_ROWS);
  const byoc_dim_t dims[2] = {byoc_dim_constant(count_of(node, BYOC_FOREST_ROOTS)),
                              byoc_infer_dim(infer, BYOC_DIM_MIN, x->dims[0], most, &failed)};
  BYOC_RETURN_IF_ERROR(byoc_infer_memory(infer, failed));
  const bool has_lists = byoc_has_operand(node, BYOC_FOREST_VOTES);
  return byoc_infer_set(infer, 1, has_lists ? BYOC_DTYPE_I32 : x->dtype, 2, dims);
}

// The number of features that nodes read, by the highest one. The table of nodes is a constant.
static int64_t used_features(const byoc_node_t *node) {
  const byoc_value_t *nodes = node->operands[BYOC_FOREST_NODES];
  int64_t used = 0;
  for (int64_t i = 0; byoc_value_is_constant(nodes) && i < byoc_type_element_count(nodes->type); ++i) {
    const int64_t feature = byoc_constant_element_i64(nodes->constant, i);
    if (feature >= used) used = feature + 1;
  }
  return used;
}

static byoc_status_t infer_forest(byoc_infer_t *infer) {
  BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, BYOC_FOREST_FEATURES, byoc_ml_is_f32_or_f64, "features of f32 or f64"));
  BYOC_RETURN_IF_ERROR(byoc_infer_need_rank(infer, BYOC_FOREST_FEATURES, 2, 2));
  for (uint32_t i = BYOC_FOREST_NODES; i < BYOC_FOREST_VOTES; ++i) {
    if (!byoc_has_operand(infer->node, i)) return byoc_infer_error(infer, "operand %u is left out", (unsigned)i);
  }
  int64_t features = 0;
  BYOC_RETURN_IF_ERROR(byoc_ml_need_features_from(infer, used_features(infer->node), &features));
  const int64_t targets = byoc_node_int(infer->node, "targets");
  if (targets < 1) return byoc_infer_error(infer, "it has %lld targets", (long long)targets);
  BYOC_RETURN_IF_ERROR(check_tables(infer, features, targets));
  const byoc_type_t *x = byoc_operand_type(infer->node, BYOC_FOREST_FEATURES);
  const byoc_dim_t dims[2] = {x->dims[0], byoc_dim_constant(targets)};
  BYOC_RETURN_IF_ERROR(byoc_infer_set(infer, 0, x->dtype, 2, dims));
  return byoc_has_result(infer->node, 1) ? infer_workspace(infer) : BYOC_OK;
}

static const byoc_loop_expr_t *load_int(byoc_lower_t *lower, const byoc_node_t *node, uint32_t operand,
                                        const byoc_loop_expr_t *index) {
  return byoc_emit_as(byoc_lower_builder(lower), BYOC_DTYPE_I64, byoc_lower_load_flat(lower, node, operand, index));
}

// 0 or 1 as a number: compilers make branches of `and` and `or`, and the direction of a walk cannot be predicted.
static const byoc_loop_expr_t *emit_number(byoc_loop_builder_t *b, const byoc_loop_expr_t *truth) {
  return byoc_emit_as(b, BYOC_DTYPE_I64, truth);
}

// The next node after `at` for row n.
static const byoc_loop_expr_t *emit_step(byoc_lower_t *lower, const byoc_node_t *node, const byoc_loop_expr_t *n,
                                         const byoc_loop_expr_t *at) {
  byoc_loop_builder_t *b = byoc_lower_builder(lower);
  const byoc_loop_expr_t *indices[2] = {n, load_int(lower, node, BYOC_FOREST_NODES, at)};
  const byoc_loop_expr_t *x = byoc_loop_let(b, "x", byoc_lower_load(lower, node, BYOC_FOREST_FEATURES, indices));
  const byoc_loop_expr_t *value = byoc_lower_load_flat(lower, node, BYOC_FOREST_VALUES, at);
  const byoc_loop_expr_t *is_true = emit_number(b, byoc_loop_binary(b, BYOC_LOOP_OP_LE, x, value));
  if (byoc_has_operand(node, BYOC_FOREST_NANS)) {
    const byoc_loop_expr_t *is_nan = emit_number(b, byoc_loop_binary(b, BYOC_LOOP_OP_NE, x, x));
    const byoc_loop_expr_t *counts = byoc_loop_let(b, "nan", load_int(lower, node, BYOC_FOREST_NANS, at));
    is_true = byoc_loop_binary(b, BYOC_LOOP_OP_OR, is_true, byoc_loop_binary(b, BYOC_LOOP_OP_AND, is_nan, counts));
  }
  const byoc_loop_expr_t *behind = BYOC_LADD(b, BYOC_LMUL(b, at, byoc_loop_int(b, 2)), byoc_loop_int(b, 1));
  return load_int(lower, node, BYOC_FOREST_NEXT, BYOC_LSUB(b, behind, is_true));
}

static const byoc_loop_expr_t *emit_joined(byoc_loop_builder_t *b, int aggregate, const byoc_loop_expr_t *sum,
                                           const byoc_loop_expr_t *weight) {
  if (aggregate == BYOC_FOREST_MIN) return BYOC_LMIN(b, sum, weight);
  if (aggregate == BYOC_FOREST_MAX) return BYOC_LMAX(b, sum, weight);
  return BYOC_LADD(b, sum, weight);
}

// Rows are processed in blocks, so that the nodes of some trees stay in the cache for all rows of a block. Several
// trees are walked together for each row, so that the processor is busy while one walk waits for its loads.
//
// Large trees do not stay in the cache. A forest of them has a second result as scratch memory: from FEW_ROWS rows on,
// all rows walk a tree before the next one, some rows together, so that the tree is read from memory once. The results
// of each row in each tree are stored there, and are added up afterwards in the order of the trees. Rows beyond its
// size are processed in blocks.
enum { ROWS_AT_ONCE = 32, TREES_AT_ONCE = 8, STEPS_AT_ONCE = 4, WALKS_AT_ONCE = 16, FEW_ROWS = 16, LARGE_BLOCK = 512 };

typedef struct walk_t {
  byoc_lower_t *lower;
  const byoc_node_t *node;
  const byoc_loop_buffer_t *out, *room; // room NULL: there is none
  const byoc_loop_expr_t *targets, *rows;
  int aggregate;
  bool is_deep; // trees are deep: it pays to test whether all walks have reached leaves
} walk_t;

// Walk i takes row rows[i] through tree trees[i]; out_at are the leaves.
static void emit_walks(const walk_t *k, int walks, const byoc_loop_expr_t *const *rows,
                       const byoc_loop_expr_t *const *trees, const byoc_loop_expr_t **out_at) {
  byoc_loop_builder_t *b = byoc_lower_builder(k->lower);
  const byoc_loop_expr_t *depth = NULL;
  for (int i = 0; i < walks; ++i) {
    if (i == 0 || trees[i] != trees[0]) {
      const byoc_loop_expr_t *own = load_int(k->lower, k->node, BYOC_FOREST_DEPTHS, trees[i]);
      depth = depth != NULL ? BYOC_LMAX(b, depth, own) : own;
    }
    out_at[i] = byoc_loop_mutable(b, "at", load_int(k->lower, k->node, BYOC_FOREST_ROOTS, trees[i]));
  }
  const byoc_loop_expr_t *zero = byoc_loop_int(b, 0), *some = byoc_loop_int(b, STEPS_AT_ONCE), *left = NULL;
  if (k->is_deep) {
    left = byoc_loop_mutable(b, "left", depth);
    byoc_loop_while(b, byoc_loop_binary(b, BYOC_LOOP_OP_LT, zero, left));
  }
  byoc_loop_for(b, BYOC_LOOP_SERIAL, "step", zero, k->is_deep ? some : byoc_loop_let(b, "depth", depth));
  for (int i = 0; i < walks; ++i) byoc_loop_assign(b, out_at[i], emit_step(k->lower, k->node, rows[i], out_at[i]));
  byoc_loop_end(b);
  if (!k->is_deep) return;
  const byoc_loop_expr_t *are_leaves = NULL; // the next node of a leaf is the leaf
  for (int i = 0; i < walks; ++i) {
    const byoc_loop_expr_t *behind =
        load_int(k->lower, k->node, BYOC_FOREST_NEXT, BYOC_LMUL(b, out_at[i], byoc_loop_int(b, 2)));
    const byoc_loop_expr_t *is_leaf = byoc_loop_binary(b, BYOC_LOOP_OP_EQ, behind, out_at[i]);
    are_leaves = are_leaves != NULL ? byoc_loop_binary(b, BYOC_LOOP_OP_AND, are_leaves, is_leaf) : is_leaf;
  }
  byoc_loop_assign(b, left, byoc_loop_select(b, are_leaves, zero, BYOC_LSUB(b, left, some)));
  byoc_loop_end(b);
}

// Adds the votes of the leaves, in the order of the trees, to the results of a row, which begin at `base`.
static void emit_votes(const walk_t *k, const byoc_loop_expr_t *base, int trees, const byoc_loop_expr_t *const *at) {
  byoc_loop_builder_t *b = byoc_lower_builder(k->lower);
  if (!byoc_has_operand(k->node, BYOC_FOREST_VOTES)) {
    const byoc_loop_expr_t *sum = byoc_loop_load(b, k->out, base);
    for (int i = 0; i < trees; ++i) {
      const byoc_loop_expr_t *weight = byoc_lower_load_flat(k->lower, k->node, BYOC_FOREST_WEIGHTS, at[i]);
      sum = emit_joined(b, k->aggregate, sum, weight);
    }
    byoc_loop_store(b, k->out, base, sum);
    return;
  }
  for (int i = 0; i < trees; ++i) {
    const byoc_loop_expr_t *begin = byoc_loop_let(b, "begin", load_int(k->lower, k->node, BYOC_FOREST_VOTES, at[i]));
    const byoc_loop_expr_t *behind = BYOC_LADD(b, at[i], byoc_loop_int(b, 1));
    const byoc_loop_expr_t *end = byoc_loop_let(b, "end", load_int(k->lower, k->node, BYOC_FOREST_VOTES, behind));
    const byoc_loop_expr_t *v = byoc_loop_for(b, BYOC_LOOP_SERIAL, "v", begin, end);
    const byoc_loop_expr_t *to =
        byoc_loop_let(b, "to", BYOC_LADD(b, base, load_int(k->lower, k->node, BYOC_FOREST_TARGETS, v)));
    const byoc_loop_expr_t *weight = byoc_lower_load_flat(k->lower, k->node, BYOC_FOREST_WEIGHTS, v);
    byoc_loop_store(b, k->out, to, emit_joined(b, k->aggregate, byoc_loop_load(b, k->out, to), weight));
    byoc_loop_end(b);
  }
}

// The rows [begin, end) through `count` groups of as many trees, the first of which is `first`.
static void emit_groups(const walk_t *k, const byoc_loop_expr_t *begin, const byoc_loop_expr_t *end, int64_t first,
                        int64_t count, int trees) {
  byoc_loop_builder_t *b = byoc_lower_builder(k->lower);
  const byoc_loop_expr_t *at[TREES_AT_ONCE], *rows[TREES_AT_ONCE], *group[TREES_AT_ONCE];
  if (count == 0) return;
  const byoc_loop_expr_t *g = byoc_loop_for(b, BYOC_LOOP_SERIAL, "g", byoc_loop_int(b, 0), byoc_loop_int(b, count));
  const byoc_loop_expr_t *offset = BYOC_LMUL(b, g, byoc_loop_int(b, trees));
  const byoc_loop_expr_t *t = byoc_loop_let(b, "t", BYOC_LADD(b, offset, byoc_loop_int(b, first)));
  const byoc_loop_expr_t *n = byoc_loop_for(b, BYOC_LOOP_SERIAL, "n", begin, end);
  for (int i = 0; i < trees; ++i) rows[i] = n, group[i] = BYOC_LADD(b, t, byoc_loop_int(b, i));
  emit_walks(k, trees, rows, group, at);
  emit_votes(k, byoc_loop_let(b, "base", BYOC_LMUL(b, n, k->targets)), trees, at);
  byoc_loop_end(b);
  byoc_loop_end(b);
}

// Walks `walks` rows from `first` on through tree t. Their leaves go to the scratch memory, or their votes to the
// results.
static void emit_rows_of_tree(const walk_t *k, const byoc_loop_expr_t *t, const byoc_loop_expr_t *first, int walks,
                              bool to_room) {
  byoc_loop_builder_t *b = byoc_lower_builder(k->lower);
  const byoc_loop_expr_t *at[WALKS_AT_ONCE], *rows[WALKS_AT_ONCE], *trees[WALKS_AT_ONCE];
  for (int i = 0; i < walks; ++i) rows[i] = BYOC_LADD(b, first, byoc_loop_int(b, i)), trees[i] = t;
  emit_walks(k, walks, rows, trees, at);
  for (int i = 0; i < walks; ++i) {
    if (!to_room) {
      emit_votes(k, byoc_loop_let(b, "base", BYOC_LMUL(b, rows[i], k->targets)), 1, &at[i]);
      continue;
    }
    const byoc_loop_expr_t *place = BYOC_LADD(b, BYOC_LMUL(b, t, k->rows), rows[i]);
    const byoc_loop_expr_t *found = byoc_has_operand(k->node, BYOC_FOREST_VOTES)
                                        ? byoc_emit_as(b, BYOC_DTYPE_I32, at[i])
                                        : byoc_lower_load_flat(k->lower, k->node, BYOC_FOREST_WEIGHTS, at[i]);
    byoc_loop_store(b, k->room, place, found);
  }
}

static void emit_tree(const walk_t *k, const byoc_loop_expr_t *t, const byoc_loop_expr_t *begin,
                      const byoc_loop_expr_t *end, bool to_room) {
  byoc_loop_builder_t *b = byoc_lower_builder(k->lower);
  const byoc_loop_expr_t *size = byoc_loop_int(b, WALKS_AT_ONCE), *zero = byoc_loop_int(b, 0);
  const byoc_loop_expr_t *groups = byoc_loop_let(b, "groups", BYOC_LDIV(b, BYOC_LSUB(b, end, begin), size));
  const byoc_loop_expr_t *g = byoc_loop_for(b, BYOC_LOOP_SERIAL, "g", zero, groups);
  const byoc_loop_expr_t *first = byoc_loop_let(b, "first", BYOC_LADD(b, begin, BYOC_LMUL(b, g, size)));
  emit_rows_of_tree(k, t, first, WALKS_AT_ONCE, to_room);
  byoc_loop_end(b);
  const byoc_loop_expr_t *rest = BYOC_LADD(b, begin, BYOC_LMUL(b, groups, size));
  emit_rows_of_tree(k, t, byoc_loop_for(b, BYOC_LOOP_SERIAL, "n", rest, end), 1, to_room);
  byoc_loop_end(b);
}

// Opens a loop over the blocks of `size` rows, of `rows` in all; one loop to close.
static void open_blocks(const walk_t *k, int64_t size, const byoc_loop_expr_t *rows, const byoc_loop_expr_t **out_begin,
                        const byoc_loop_expr_t **out_end) {
  byoc_loop_builder_t *b = byoc_lower_builder(k->lower);
  const byoc_loop_expr_t *all = byoc_loop_int(b, size);
  const byoc_loop_expr_t *blocks = BYOC_LDIV(b, BYOC_LADD(b, rows, byoc_loop_int(b, size - 1)), all);
  const byoc_loop_expr_t *block = byoc_loop_for(b, BYOC_LOOP_PARALLEL, "block", byoc_loop_int(b, 0), blocks);
  *out_begin = byoc_loop_let(b, "begin", BYOC_LMUL(b, block, all));
  *out_end = byoc_loop_let(b, "end", BYOC_LMIN(b, BYOC_LADD(b, *out_begin, all), rows));
}

static void emit_nothing(const walk_t *k, const byoc_loop_expr_t *begin, const byoc_loop_expr_t *end) {
  byoc_loop_builder_t *b = byoc_lower_builder(k->lower);
  const byoc_dtype_t dtype = k->node->operands[BYOC_FOREST_FEATURES]->type->dtype;
  const byoc_loop_expr_t *nothing = k->aggregate == BYOC_FOREST_MIN   ? byoc_emit_highest(b, dtype)
                                    : k->aggregate == BYOC_FOREST_MAX ? byoc_emit_lowest(b, dtype)
                                                                      : byoc_loop_const(b, dtype, 0);
  const byoc_loop_expr_t *i =
      byoc_loop_for(b, BYOC_LOOP_SERIAL, "i", BYOC_LMUL(b, begin, k->targets), BYOC_LMUL(b, end, k->targets));
  byoc_loop_store(b, k->out, i, nothing);
  byoc_loop_end(b);
}

// Few rows, or small trees: groups of trees for each row.
static void emit_by_groups(const walk_t *k, const byoc_loop_expr_t *rows) {
  byoc_loop_builder_t *b = byoc_lower_builder(k->lower);
  const int64_t trees = count_of(k->node, BYOC_FOREST_ROOTS), groups = trees / TREES_AT_ONCE;
  const byoc_loop_expr_t *begin, *end;
  open_blocks(k, ROWS_AT_ONCE, rows, &begin, &end);
  emit_nothing(k, begin, end);
  emit_groups(k, begin, end, 0, groups, TREES_AT_ONCE);
  emit_groups(k, begin, end, groups * TREES_AT_ONCE, trees % TREES_AT_ONCE, 1);
  byoc_loop_end(b);
}

// Adds up the scratch memory for the rows.
static void emit_sums(const walk_t *k, const byoc_loop_expr_t *rows) {
  byoc_loop_builder_t *b = byoc_lower_builder(k->lower);
  const byoc_loop_expr_t *begin, *end, *zero = byoc_loop_int(b, 0);
  const byoc_loop_expr_t *trees = byoc_loop_int(b, count_of(k->node, BYOC_FOREST_ROOTS));
  open_blocks(k, ROWS_AT_ONCE, rows, &begin, &end);
  emit_nothing(k, begin, end);
  const byoc_loop_expr_t *t = byoc_loop_for(b, BYOC_LOOP_SERIAL, "t", zero, trees);
  const byoc_loop_expr_t *n = byoc_loop_for(b, BYOC_LOOP_SERIAL, "n", begin, end);
  const byoc_loop_expr_t *found = byoc_loop_load(b, k->room, BYOC_LADD(b, BYOC_LMUL(b, t, k->rows), n));
  if (byoc_has_operand(k->node, BYOC_FOREST_VOTES)) {
    found = byoc_loop_let(b, "at", byoc_emit_as(b, BYOC_DTYPE_I64, found));
    emit_votes(k, byoc_loop_let(b, "base", BYOC_LMUL(b, n, k->targets)), 1, &found);
  } else {
    byoc_loop_store(b, k->out, n, emit_joined(b, k->aggregate, byoc_loop_load(b, k->out, n), found));
  }
  byoc_emit_close(b, 3);
}

// Each of the three ways has loops, which have no iterations if the number of rows does not fit the way.
static void emit_by_trees(const walk_t *k) {
  byoc_loop_builder_t *b = byoc_lower_builder(k->lower);
  const byoc_loop_expr_t *zero = byoc_loop_int(b, 0), *begin, *end;
  const byoc_loop_expr_t *few = byoc_loop_int(b, FEW_ROWS), *most = byoc_loop_int(b, BYOC_FOREST_ROOM_ROWS);
  const byoc_loop_expr_t *are_few = byoc_loop_binary(b, BYOC_LOOP_OP_LT, k->rows, few);
  const byoc_loop_expr_t *are_many = byoc_loop_binary(b, BYOC_LOOP_OP_LT, most, k->rows);
  emit_by_groups(k, byoc_loop_let(b, "few", byoc_loop_select(b, are_few, k->rows, zero)));
  const byoc_loop_expr_t *others = byoc_loop_select(b, are_few, zero, byoc_loop_select(b, are_many, zero, k->rows));
  others = byoc_loop_let(b, "others", others);
  const byoc_loop_expr_t *trees = byoc_loop_int(b, count_of(k->node, BYOC_FOREST_ROOTS));
  const byoc_loop_expr_t *has_others = byoc_loop_binary(b, BYOC_LOOP_OP_LT, zero, others);
  const byoc_loop_expr_t *t = byoc_loop_for(b, BYOC_LOOP_PARALLEL, "t", zero,
                                            byoc_loop_let(b, "trees", byoc_loop_select(b, has_others, trees, zero)));
  emit_tree(k, t, zero, others, true);
  byoc_loop_end(b);
  emit_sums(k, others);
  open_blocks(k, LARGE_BLOCK, byoc_loop_let(b, "many", byoc_loop_select(b, are_many, k->rows, zero)), &begin, &end);
  emit_nothing(k, begin, end);
  emit_tree(k, byoc_loop_for(b, BYOC_LOOP_SERIAL, "t", zero, trees), begin, end, false);
  byoc_emit_close(b, 2);
}

static byoc_status_t loops_forest(byoc_lower_t *lower, const byoc_node_t *node) {
  byoc_loop_builder_t *b = byoc_lower_builder(lower);
  walk_t k = {.lower = lower, .node = node, .is_deep = byoc_node_flag(node, "is_deep")};
  if (!byoc_lower_result_buffer(lower, node, 0, &k.out)) return BYOC_UNSUPPORTED;
  k.aggregate = byoc_node_choice(node, "aggregate_function");
  k.targets = byoc_loop_int(b, byoc_node_int(node, "targets"));
  k.rows = byoc_emit_dim(b, node->operands[BYOC_FOREST_FEATURES]->type, 0);
  if (!byoc_has_result(node, 1)) {
    emit_by_groups(&k, k.rows);
    return BYOC_OK;
  }
  if (!byoc_lower_result_buffer(lower, node, 1, &k.room)) return BYOC_UNSUPPORTED;
  emit_by_trees(&k);
  return BYOC_OK;
}

static const byoc_op_attribute_t forest_attributes[] = {
    {BYOC_ATTR_REQUIRED(INT, "targets")}, {BYOC_ATTR_INT("is_deep", 0)}, {BYOC_FOREST_AGGREGATE}, BYOC_ATTR_END};

const byoc_op_t byoc_ops_ml_walk[] = {
    {.domain = "byoc",
     .name = "Forest",
     .since_version = 1,
     .min_inputs = BYOC_FOREST_VOTES,
     .max_inputs = BYOC_FOREST_OPERAND_COUNT,
     .min_outputs = 1,
     .max_outputs = 2,
     .traits = BYOC_OP_OPAQUE | BYOC_OP_HEAVY,
     .scratch_results = 1u << 1,
     .attributes = forest_attributes,
     .infer = infer_forest,
     .loops = loops_forest},
};
const size_t byoc_ops_ml_walk_count = sizeof byoc_ops_ml_walk / sizeof *byoc_ops_ml_walk;
