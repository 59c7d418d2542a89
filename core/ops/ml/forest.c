// SPDX-License-Identifier: Apache-2.0
// Reads decision trees into one form. Comparisons other than `x <= value` are converted: x < v is x <= the number below
// v, x > v and x >= v swap their sides, x == v needs two nodes, and a set is a tree of its sorted members.
#include "core/ops/ml/forest.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef enum comparison_t { LEQ, LT, GTE, GT, EQ, NEQ, LEAF, MEMBER, NAMED_COUNT = MEMBER } comparison_t;
static const char *const mode_names[NAMED_COUNT] = {"BRANCH_LEQ", "BRANCH_LT",  "BRANCH_GTE", "BRANCH_GT",
                                                    "BRANCH_EQ",  "BRANCH_NEQ", "LEAF"};

// A node as in the file; its sides are indices into the list of all nodes.
typedef struct raw_node_t {
  comparison_t mode;
  int32_t feature, on_true, on_false;
  bool nan_is_true, is_reached;
  double value;
  const double *members; // of MEMBER: sorted
  int32_t member_count;
} raw_node_t;

// The index of a node, by its tree and its number there.
typedef struct place_t {
  int64_t tree, node;
  int32_t index;
} place_t;

typedef struct reader_t {
  const byoc_node_t *node;
  byoc_arena_t *arena;
  byoc_allocator_t allocator; // of the arena
  byoc_diag_t *diag;
  byoc_forest_t *forest;
  raw_node_t *raw;
  place_t *places; // sorted
  int32_t count;
  bool is_wide;
} reader_t;

static byoc_status_t refuse(const reader_t *r, const char *format, ...) __attribute__((format(printf, 2, 3)));
static byoc_status_t refuse(const reader_t *r, const char *format, ...) {
  char what[256], reason[256];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(reason, sizeof(reason), format, arguments);
  va_end(arguments);
  byoc_node_describe(r->node, what, sizeof(what));
  return byoc_diag_error(r->diag, BYOC_INVALID_DATA, "%s: %s", what, reason);
}

// ---- lists ----

static byoc_status_t read_ints(const reader_t *r, const char *name, size_t count, bool may_lack, const int64_t **out) {
  size_t found = 0;
  *out = byoc_node_ints(r->node, name, &found);
  if (found == count || (may_lack && found == 0)) return BYOC_OK;
  return refuse(r, "attribute '%s' has %zu numbers, expected %zu", name, found, count);
}

// Numbers of a list of floats (NULL: there is none), or of a tensor of f32 or f64 that later versions may have instead.
static byoc_status_t read_numbers(const reader_t *r, const char *name, const char *tensor_name, size_t count,
                                  const double **out) {
  size_t found = 0;
  *out = name != NULL ? byoc_node_floats(r->node, name, &found) : NULL;
  const byoc_attribute_t *tensor = byoc_node_given(r->node, tensor_name);
  if (found == 0 && tensor != NULL && tensor->tensor != NULL) {
    const byoc_type_t *type = tensor->tensor->type;
    const bool is_double = type->dtype == BYOC_DTYPE_F64;
    if (!is_double && type->dtype != BYOC_DTYPE_F32) return refuse(r, "attribute '%s' is no f32 or f64", tensor_name);
    found = (size_t)byoc_type_element_count(type);
    double *copy = BYOC_ARENA_ARRAY(r->arena, double, found + 1);
    if (copy == NULL) return byoc_diag_out_of_memory(r->diag);
    for (size_t i = 0; i < found; ++i) {
      copy[i] =
          is_double ? ((const double *)tensor->tensor->data)[i] : (double)((const float *)tensor->tensor->data)[i];
    }
    *out = copy;
  }
  if (found == count) return BYOC_OK;
  return refuse(r, "attribute '%s' has %zu numbers, expected %zu", name != NULL ? name : tensor_name, found, count);
}

// ---- nodes by tree and number ----

static int compare_places(const void *left, const void *right) {
  const place_t *a = left, *b = right;
  if (a->tree != b->tree) return a->tree < b->tree ? -1 : 1;
  return (a->node > b->node) - (a->node < b->node);
}

static int32_t find_place(const reader_t *r, int64_t tree, int64_t node) {
  const place_t key = {.tree = tree, .node = node};
  const place_t *found = bsearch(&key, r->places, (size_t)r->count, sizeof(key), compare_places);
  return found != NULL ? found->index : -1;
}

static byoc_status_t sort_places(reader_t *r, const int64_t *trees, const int64_t *nodes) {
  for (int32_t i = 0; i < r->count; ++i) r->places[i] = (place_t){trees[i], nodes[i], i};
  qsort(r->places, (size_t)r->count, sizeof(*r->places), compare_places);
  for (int32_t i = 1; i < r->count; ++i) {
    if (compare_places(&r->places[i - 1], &r->places[i]) != 0) continue;
    return refuse(r, "tree %lld has two nodes %lld", (long long)r->places[i].tree, (long long)r->places[i].node);
  }
  return BYOC_OK;
}

static byoc_status_t read_nodes(reader_t *r) {
  size_t count = 0, modes = 0;
  const int64_t *nodes = byoc_node_ints(r->node, "nodes_nodeids", &count), *trees, *features, *trues, *falses, *missing;
  const char *const *mode = byoc_node_texts(r->node, "nodes_modes", &modes);
  const double *values;
  if (count == 0 || count > INT32_MAX / 4) return refuse(r, "it has %zu nodes", count);
  if (modes != count) return refuse(r, "attribute 'nodes_modes' has %zu strings, expected %zu", modes, count);
  BYOC_RETURN_IF_ERROR(read_ints(r, "nodes_treeids", count, false, &trees));
  BYOC_RETURN_IF_ERROR(read_ints(r, "nodes_featureids", count, false, &features));
  BYOC_RETURN_IF_ERROR(read_ints(r, "nodes_truenodeids", count, false, &trues));
  BYOC_RETURN_IF_ERROR(read_ints(r, "nodes_falsenodeids", count, false, &falses));
  BYOC_RETURN_IF_ERROR(read_ints(r, "nodes_missing_value_tracks_true", count, true, &missing));
  BYOC_RETURN_IF_ERROR(read_numbers(r, "nodes_values", "nodes_values_as_tensor", count, &values));
  r->count = (int32_t)count;
  r->raw = BYOC_ARENA_ARRAY(r->arena, raw_node_t, count);
  r->places = BYOC_ARENA_ARRAY(r->arena, place_t, count);
  if (r->raw == NULL || r->places == NULL) return byoc_diag_out_of_memory(r->diag);
  BYOC_RETURN_IF_ERROR(sort_places(r, trees, nodes));
  for (int32_t i = 0; i < r->count; ++i) {
    raw_node_t *raw = &r->raw[i];
    while (raw->mode < NAMED_COUNT && strcmp(mode[i], mode_names[raw->mode]) != 0) ++raw->mode;
    if (raw->mode == NAMED_COUNT) return refuse(r, "node %lld has the mode '%.40s'", (long long)nodes[i], mode[i]);
    raw->on_true = raw->on_false = i;
    if (raw->mode == LEAF) continue;
    raw->on_true = find_place(r, trees[i], trues[i]);
    raw->on_false = find_place(r, trees[i], falses[i]);
    raw->feature = features[i] >= 0 && features[i] <= INT32_MAX ? (int32_t)features[i] : -1;
    raw->value = values[i];
    raw->nan_is_true = missing != NULL && missing[i] != 0;
    if (raw->on_true < 0 || raw->on_false < 0 || raw->feature < 0) {
      return refuse(r, "node %lld of tree %lld names a %s that is not there", (long long)nodes[i], (long long)trees[i],
                    raw->feature < 0 ? "feature" : "node");
    }
  }
  return BYOC_OK;
}

// ---- one form ----

static double number_below(const reader_t *r, double value) {
  if (value == (double)-INFINITY) return (double)NAN; // nothing is below
  return r->is_wide ? nextafter(value, (double)-INFINITY) : (double)nextafterf((float)value, -INFINITY);
}

static bool push_node(reader_t *r, byoc_forest_node_t node) {
  return byoc_vector_push(&r->forest->nodes, r->allocator, node);
}

// Makes nodes that search the members [begin, end) by halving, from the existing node `at` on. NaN goes to the right.
static bool turn_set(reader_t *r, const raw_node_t *raw, int32_t at, int32_t begin, int32_t end) {
  const int32_t first = (int32_t)r->forest->nodes.count, count = end - begin, middle = begin + count / 2;
  byoc_forest_node_t node = {raw->feature, first, raw->on_false, false, (double)NAN, 0, 0};
  if (count <= 1) { // x == the member; no number is <= NaN
    node.nan_is_true = raw->nan_is_true && end == raw->member_count;
    if (count == 1) node.value = raw->members[begin];
    r->forest->nodes.data[at] = node;
    return push_node(r, (byoc_forest_node_t){raw->feature, raw->on_false, raw->on_true, false,
                                             count == 1 ? number_below(r, node.value) : (double)NAN, 0, 0});
  }
  node.on_false = first + 1, node.value = raw->members[middle - 1];
  r->forest->nodes.data[at] = node;
  return push_node(r, node) && push_node(r, node) && turn_set(r, raw, first, begin, middle) &&
         turn_set(r, raw, first + 1, middle, end);
}

// Nodes keep their indices; comparisons that need two nodes get the second one at the end.
static byoc_status_t turn_nodes(reader_t *r) {
  bool ok = true;
  for (int32_t i = 0; i < r->count; ++i) {
    const raw_node_t *raw = &r->raw[i];
    byoc_forest_node_t node = {raw->feature, raw->on_true, raw->on_false, raw->nan_is_true, raw->value, 0, 0};
    if (raw->mode == LEAF) node.feature = -1;
    if (raw->mode == LT || raw->mode == GTE) node.value = number_below(r, raw->value);
    if (raw->mode == GT || raw->mode == GTE || raw->mode == NEQ) {
      node.on_true = raw->on_false;
      node.on_false = raw->on_true;
      node.nan_is_true = raw->mode != NEQ && !raw->nan_is_true; // NaN is unlike any number
    }
    ok = ok && push_node(r, node);
  }
  for (int32_t i = 0; i < r->count && ok; ++i) {
    if (r->raw[i].mode == MEMBER) ok = turn_set(r, &r->raw[i], i, 0, r->raw[i].member_count);
    if (r->raw[i].mode != EQ && r->raw[i].mode != NEQ) continue;
    byoc_forest_node_t *first = &r->forest->nodes.data[i];
    const byoc_forest_node_t second = {
        first->feature, first->on_false, first->on_true, false, number_below(r, first->value), 0, 0};
    first->on_true = (int32_t)r->forest->nodes.count;
    ok = push_node(r, second);
  }
  return ok ? BYOC_OK : byoc_diag_out_of_memory(r->diag);
}

// ---- trees ----

typedef struct step_t {
  int32_t node, depth;
} step_t;

// The number of nodes that one node of the file needs on its longest path.
static int32_t steps_of(const raw_node_t *raw) {
  int32_t steps = raw->mode == EQ || raw->mode == NEQ || raw->mode == MEMBER ? 2 : 1;
  for (int32_t members = 1; raw->mode == MEMBER && members < raw->member_count; members *= 2) ++steps;
  return steps;
}

static byoc_status_t measure_tree(reader_t *r, int32_t root, step_t *stack, int32_t *out_depth) {
  size_t count = 0;
  *out_depth = 0;
  stack[count++] = (step_t){root, 0};
  while (count > 0) {
    const step_t step = stack[--count];
    raw_node_t *raw = &r->raw[step.node];
    if (raw->is_reached) return refuse(r, "a node of its trees is reached in two ways");
    raw->is_reached = true;
    if (step.depth > *out_depth) *out_depth = step.depth;
    if (raw->mode == LEAF) continue;
    const int32_t below = step.depth + steps_of(raw);
    stack[count++] = (step_t){raw->on_false, below};
    if (raw->on_true != raw->on_false) stack[count++] = (step_t){raw->on_true, below};
  }
  return BYOC_OK;
}

// A root is a node without a parent; each tree has one.
static byoc_status_t find_trees(reader_t *r) {
  bool *is_named = BYOC_ARENA_ARRAY(r->arena, bool, (size_t)r->count);
  step_t *stack = BYOC_ARENA_ARRAY(r->arena, step_t, (size_t)r->count + 2);
  if (is_named == NULL || stack == NULL) return byoc_diag_out_of_memory(r->diag);
  for (int32_t i = 0; i < r->count; ++i) {
    if (r->raw[i].mode == LEAF) continue;
    is_named[r->raw[i].on_true] = is_named[r->raw[i].on_false] = true;
  }
  for (int32_t i = 0; i < r->count; ++i) {
    const place_t *place = &r->places[i];
    if (i > 0 && place->tree == place[-1].tree) continue;
    int32_t root = -1;
    for (int32_t k = i; k < r->count && r->places[k].tree == place->tree; ++k) {
      if (is_named[r->places[k].index]) continue;
      if (root >= 0) return refuse(r, "tree %lld has two roots", (long long)place->tree);
      root = r->places[k].index;
    }
    int32_t depth = 0;
    if (root < 0) return refuse(r, "tree %lld has no root", (long long)place->tree);
    BYOC_RETURN_IF_ERROR(measure_tree(r, root, stack, &depth));
    if (!byoc_vector_push(&r->forest->roots, r->allocator, root) ||
        !byoc_vector_push(&r->forest->depths, r->allocator, depth)) {
      return byoc_diag_out_of_memory(r->diag);
    }
  }
  for (int32_t i = 0; i < r->count; ++i) {
    const place_t *place = &r->places[i];
    if (r->raw[place->index].is_reached) continue;
    return refuse(r, "node %lld of tree %lld is not reached from its root", (long long)place->node,
                  (long long)place->tree);
  }
  return BYOC_OK;
}

// ---- votes ----

static byoc_status_t read_votes(reader_t *r, const byoc_forest_names_t *names) {
  size_t count = 0;
  const int64_t *nodes = byoc_node_ints(r->node, names->nodes, &count), *trees, *targets;
  const double *weights;
  BYOC_RETURN_IF_ERROR(read_ints(r, names->trees, count, false, &trees));
  BYOC_RETURN_IF_ERROR(read_ints(r, names->targets, count, false, &targets));
  BYOC_RETURN_IF_ERROR(read_numbers(r, names->weights, names->weights_tensor, count, &weights));
  byoc_forest_node_t *all = r->forest->nodes.data;
  int32_t *at = BYOC_ARENA_ARRAY(r->arena, int32_t, count + 1);
  byoc_forest_vote_t *votes = BYOC_ARENA_ARRAY(r->arena, byoc_forest_vote_t, count + 1);
  if (at == NULL || votes == NULL) return byoc_diag_out_of_memory(r->diag);
  for (size_t i = 0; i < count; ++i) {
    at[i] = find_place(r, trees[i], nodes[i]);
    if (at[i] < 0) {
      return refuse(r, "a vote is for node %lld of tree %lld, which is not there", (long long)nodes[i],
                    (long long)trees[i]);
    }
    if (targets[i] < 0 || targets[i] > INT32_MAX) return refuse(r, "a vote is for result %lld", (long long)targets[i]);
    if (all[at[i]].feature < 0) all[at[i]].vote_count++; // only leaves have votes
  }
  uint32_t next = 0;
  for (size_t i = 0; i < r->forest->nodes.count; ++i) {
    all[i].first_vote = next;
    next += all[i].vote_count;
    all[i].vote_count = 0;
  }
  for (size_t i = 0; i < count; ++i) {
    byoc_forest_node_t *leaf = &all[at[i]];
    if (leaf->feature < 0) {
      votes[leaf->first_vote + leaf->vote_count++] = (byoc_forest_vote_t){(int32_t)targets[i], weights[i]};
    }
  }
  r->forest->votes.data = votes;
  r->forest->votes.count = r->forest->votes.capacity = next;
  return BYOC_OK;
}

byoc_status_t byoc_forest_read(const byoc_node_t *node, const byoc_forest_names_t *names, bool is_wide,
                               byoc_arena_t *arena, byoc_diag_t *diag, byoc_forest_t *out_forest) {
  *out_forest = (byoc_forest_t){0};
  reader_t r = {.node = node,
                .arena = arena,
                .allocator = byoc_arena_allocator(arena),
                .diag = diag,
                .forest = out_forest,
                .is_wide = is_wide};
  BYOC_RETURN_IF_ERROR(read_nodes(&r));
  BYOC_RETURN_IF_ERROR(find_trees(&r));
  BYOC_RETURN_IF_ERROR(turn_nodes(&r));
  return read_votes(&r, names);
}

// ---- TreeEnsemble ----

// nodes_modes of version 5 are numbers in the order of comparison_t; 6 is membership in a set.
static byoc_status_t read_mode(const reader_t *r, const byoc_constant_t *modes, int32_t i, comparison_t *out_mode) {
  const uint8_t mode = ((const uint8_t *)modes->data)[i];
  if (mode > LEAF) return refuse(r, "node %d has the mode %d", (int)i, (int)mode);
  *out_mode = mode == LEAF ? MEMBER : (comparison_t)mode;
  return BYOC_OK;
}

static int compare_numbers(const void *left, const void *right) {
  const double a = *(const double *)left, b = *(const double *)right;
  return (a > b) - (a < b);
}

// The sets are in the order of their nodes, each with a NaN after it.
static byoc_status_t read_sets(reader_t *r, int32_t nodes) {
  const byoc_attribute_t *tensor = byoc_node_given(r->node, "membership_values");
  const int64_t most = tensor && tensor->tensor ? byoc_type_element_count(tensor->tensor->type) : 0;
  const double *given = NULL;
  if (most > INT32_MAX / 8) return refuse(r, "it has %lld members of sets", (long long)most);
  if (most > 0) BYOC_RETURN_IF_ERROR(read_numbers(r, NULL, "membership_values", (size_t)most, &given));
  double *members = BYOC_ARENA_ARRAY(r->arena, double, (size_t)most + 1);
  if (members == NULL) return byoc_diag_out_of_memory(r->diag);
  for (int64_t i = 0; i < most; ++i) members[i] = given[i];
  int64_t at = 0;
  for (int32_t i = 0; i < nodes; ++i) {
    raw_node_t *raw = &r->raw[i];
    if (raw->mode != MEMBER) continue;
    if (at >= most) return refuse(r, "attribute 'membership_values' has no set for node %d", (int)i);
    raw->members = members + at;
    while (at < most && !isnan(members[at])) ++at;
    raw->member_count = (int32_t)(members + at - raw->members);
    qsort(members + at - raw->member_count, (size_t)raw->member_count, sizeof(*members), compare_numbers);
    ++at; // the NaN
  }
  return BYOC_OK;
}

// The index of node `id` or, after the nodes, of leaf `id`; -1 if there is none.
static int32_t place_behind(const reader_t *r, int32_t nodes, int64_t id, bool is_leaf) {
  const int32_t most = is_leaf ? r->count - nodes : nodes;
  if (id < 0 || id >= most) return -1;
  return (int32_t)id + (is_leaf ? nodes : 0);
}

// The nodes, then the leaves.
static byoc_status_t read_ensemble_nodes(reader_t *r, int32_t nodes) {
  const size_t count = (size_t)nodes;
  const int64_t *features, *trues, *falses, *true_leaves, *false_leaves, *missing;
  const double *values;
  BYOC_RETURN_IF_ERROR(read_ints(r, "nodes_featureids", count, false, &features));
  BYOC_RETURN_IF_ERROR(read_ints(r, "nodes_truenodeids", count, false, &trues));
  BYOC_RETURN_IF_ERROR(read_ints(r, "nodes_falsenodeids", count, false, &falses));
  BYOC_RETURN_IF_ERROR(read_ints(r, "nodes_trueleafs", count, false, &true_leaves));
  BYOC_RETURN_IF_ERROR(read_ints(r, "nodes_falseleafs", count, false, &false_leaves));
  BYOC_RETURN_IF_ERROR(read_ints(r, "nodes_missing_value_tracks_true", count, true, &missing));
  BYOC_RETURN_IF_ERROR(read_numbers(r, NULL, "nodes_splits", count, &values));
  const byoc_attribute_t *modes = byoc_node_given(r->node, "nodes_modes");
  const bool has_modes = modes != NULL && modes->tensor != NULL && modes->tensor->type->dtype == BYOC_DTYPE_U8 &&
                         byoc_type_element_count(modes->tensor->type) == nodes;
  if (!has_modes) return refuse(r, "attribute 'nodes_modes' is not u8[%d]", (int)nodes);
  for (int32_t i = 0; i < r->count; ++i) r->raw[i] = (raw_node_t){.mode = LEAF, .on_true = i, .on_false = i};
  for (int32_t i = 0; i < nodes; ++i) {
    raw_node_t *raw = &r->raw[i];
    BYOC_RETURN_IF_ERROR(read_mode(r, modes->tensor, i, &raw->mode));
    raw->on_true = place_behind(r, nodes, trues[i], true_leaves[i] != 0);
    raw->on_false = place_behind(r, nodes, falses[i], false_leaves[i] != 0);
    raw->feature = features[i] >= 0 && features[i] <= INT32_MAX ? (int32_t)features[i] : -1;
    raw->value = values[i];
    raw->nan_is_true = missing != NULL && missing[i] != 0;
    if (raw->on_true < 0 || raw->on_false < 0 || raw->feature < 0) {
      return refuse(r, "node %d names a %s that is not there", (int)i, raw->feature < 0 ? "feature" : "node");
    }
  }
  return BYOC_OK;
}

static byoc_status_t read_roots(reader_t *r, int32_t nodes) {
  size_t count = 0;
  const int64_t *roots = byoc_node_ints(r->node, "tree_roots", &count);
  step_t *stack = BYOC_ARENA_ARRAY(r->arena, step_t, (size_t)r->count + 2);
  if (stack == NULL) return byoc_diag_out_of_memory(r->diag);
  for (size_t i = 0; i < count; ++i) {
    int32_t depth = 0;
    if (roots[i] < 0 || roots[i] >= nodes) return refuse(r, "tree %zu has no root", i);
    BYOC_RETURN_IF_ERROR(measure_tree(r, (int32_t)roots[i], stack, &depth));
    if (!byoc_vector_push(&r->forest->roots, r->allocator, (int32_t)roots[i]) ||
        !byoc_vector_push(&r->forest->depths, r->allocator, depth)) {
      return byoc_diag_out_of_memory(r->diag);
    }
  }
  return BYOC_OK;
}

byoc_status_t byoc_forest_read_ensemble(const byoc_node_t *node, bool is_wide, byoc_arena_t *arena, byoc_diag_t *diag,
                                        byoc_forest_t *out_forest) {
  *out_forest = (byoc_forest_t){0};
  size_t nodes = 0, leaves = 0;
  const double *weights;
  byoc_node_ints(node, "nodes_featureids", &nodes);
  const int64_t *targets = byoc_node_ints(node, "leaf_targetids", &leaves);
  reader_t r = {.node = node,
                .arena = arena,
                .allocator = byoc_arena_allocator(arena),
                .diag = diag,
                .forest = out_forest,
                .is_wide = is_wide};
  if (nodes == 0 || leaves == 0 || nodes + leaves > INT32_MAX / 4) {
    return refuse(&r, "it has %zu nodes and %zu leaves", nodes, leaves);
  }
  r.count = (int32_t)(nodes + leaves);
  r.raw = BYOC_ARENA_ARRAY(arena, raw_node_t, (size_t)r.count);
  byoc_forest_vote_t *votes = BYOC_ARENA_ARRAY(arena, byoc_forest_vote_t, leaves);
  if (r.raw == NULL || votes == NULL) return byoc_diag_out_of_memory(diag);
  BYOC_RETURN_IF_ERROR(read_ensemble_nodes(&r, (int32_t)nodes));
  BYOC_RETURN_IF_ERROR(read_sets(&r, (int32_t)nodes));
  BYOC_RETURN_IF_ERROR(read_roots(&r, (int32_t)nodes));
  BYOC_RETURN_IF_ERROR(turn_nodes(&r));
  BYOC_RETURN_IF_ERROR(read_numbers(&r, NULL, "leaf_weights", leaves, &weights));
  for (size_t i = 0; i < leaves; ++i) {
    if (targets[i] < 0 || targets[i] > INT32_MAX) return refuse(&r, "a vote is for result %lld", (long long)targets[i]);
    votes[i] = (byoc_forest_vote_t){(int32_t)targets[i], weights[i]};
  }
  // Second nodes come after the leaves; lists of votes are in the order of the indices.
  for (size_t i = 0; i < out_forest->nodes.count; ++i) {
    byoc_forest_node_t *place = &out_forest->nodes.data[i];
    const bool is_leaf = i >= nodes && i < (size_t)r.count;
    place->first_vote = (uint32_t)(i < nodes ? 0 : is_leaf ? i - nodes : leaves);
    place->vote_count = is_leaf;
  }
  out_forest->votes.data = votes;
  out_forest->votes.count = out_forest->votes.capacity = leaves;
  return BYOC_OK;
}
