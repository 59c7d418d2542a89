// SPDX-License-Identifier: Apache-2.0
// The matcher of patterns: a search with backtracking over goals. Each choice (the order of operands, an optional
// operator, an alternative) is tried until the whole pattern fits.
#include <string.h>

#include "core/ir/attribute_names.h"
#include "core/ir/virtual_device.h"
#include "core/op/op.h"
#include "core/plugin/pattern_internal.h"

// The limits of steps of one match, and of nodes on the paths of a dominator. Real patterns need some dozens; the
// limits bound hostile ones.
enum { MAX_STEPS = 100000, MAX_PATH_NODES = 256 };

void byoc_match_init(byoc_match_t *match, byoc_allocator_t allocator) {
  *match = (byoc_match_t){.allocator = allocator};
}

void byoc_match_deinit(byoc_match_t *match) {
  byoc_vector_deinit(&match->nodes, match->allocator);
  byoc_vector_deinit(&match->bindings, match->allocator);
  byoc_vector_deinit(&match->constants, match->allocator);
}

bool byoc_match_shares_device(const byoc_match_t *match) {
  for (size_t i = 1; i < match->nodes.count; ++i) {
    if (!byoc_nodes_share_device(match->nodes.data[0], match->nodes.data[i])) return false;
  }
  return true;
}

// A goal of the search: match a value. If pattern is NULL: add a node whose operands have been matched. If pattern is a
// DOMINATOR, and node its root: add the nodes on the paths from the root up to the value.
typedef struct goal_t goal_t;
struct goal_t {
  const byoc_pattern_t *pattern;
  byoc_value_t *value;
  byoc_node_t *node;
  const goal_t *next;
};

// A test of type that a value does not pass.
typedef struct mismatch_t {
  const byoc_pattern_t *pattern;
  const byoc_value_t *value;
} mismatch_t;

typedef struct matcher_t {
  byoc_match_t *match;
  byoc_node_t *root;
  byoc_match_filter_t filter;
  void *filter_self;
  byoc_match_visit_t visit; // NULL: the first match is taken
  void *visit_self;
  bool any_type; // tests of type pass, and those that should not are listed
  BYOC_VECTOR(mismatch_t) mismatches;
  int steps;
  bool failed; // out of memory
} matcher_t;

static bool solve(matcher_t *m, const goal_t *goal);

static bool bind(matcher_t *m, const char *name, byoc_node_t *node, byoc_value_t *value) {
  if (name == NULL) return true;
  for (size_t i = 0; i < m->match->bindings.count; ++i) {
    const byoc_region_binding_t *known = &m->match->bindings.data[i];
    if (strcmp(known->name, name) == 0) return known->node == node && known->value == value;
  }
  byoc_region_binding_t binding = {.name = name, .node = node, .value = value};
  if (byoc_vector_push(&m->match->bindings, m->match->allocator, binding)) return true;
  m->failed = true;
  return false;
}

static bool contains(const byoc_match_t *match, const byoc_node_t *node) {
  for (size_t i = 0; i < match->nodes.count; ++i) {
    if (match->nodes.data[i] == node) return true;
  }
  return false;
}

static bool operator_fits(const byoc_pattern_t *pattern, const byoc_node_t *node) {
  for (size_t i = 0; i < pattern->operator_count; ++i) {
    if (byoc_node_is(node, pattern->operators[i].domain, pattern->operators[i].name)) return true;
  }
  return false;
}

// A constant, or a parameter of a match's function for which its calls pass constants.
static bool is_constant(const byoc_value_t *value) {
  if (value->kind != BYOC_VALUE_PARAMETER || value->block != value->function->body)
    return byoc_value_is_constant(value);
  size_t count = 0;
  const int64_t *passed = byoc_attributes_ints(&value->function->attributes, BYOC_ATTRIBUTE_PASSED, &count);
  for (size_t i = 0; i < count; ++i) {
    if (passed[i] == (int64_t)value->index) return true;
  }
  return false;
}

// ---- the search ----

typedef struct mark_t {
  size_t nodes, bindings, constants, mismatches;
} mark_t;

static mark_t mark(const matcher_t *m) {
  return (mark_t){m->match->nodes.count, m->match->bindings.count, m->match->constants.count, m->mismatches.count};
}

// Undoes the matches since a mark.
static bool rewind_match(matcher_t *m, mark_t since) {
  m->match->nodes.count = since.nodes;
  m->match->bindings.count = since.bindings;
  m->match->constants.count = since.constants;
  m->mismatches.count = since.mismatches;
  return false;
}

// True if every value made inside is used inside, except the root's.
static bool escapes(const byoc_match_t *match, const byoc_node_t *root) {
  for (size_t i = 0; i < match->nodes.count; ++i) {
    const byoc_node_t *node = match->nodes.data[i];
    for (uint32_t r = 0; node != root && r < node->result_count; ++r) {
      const byoc_value_t *value = node->results[r];
      for (size_t u = 0; u < value->uses.count; ++u) {
        const byoc_node_t *user = value->uses.data[u].node;
        if (user == NULL || !contains(match, user)) return true;
      }
    }
  }
  return false;
}

// True if a node reads the result of another one, among those from `first` on.
static bool waits(const byoc_match_t *match, size_t first, const byoc_node_t *node) {
  for (uint32_t k = 0; k < node->operand_count; ++k) {
    const byoc_node_t *producer = byoc_value_producer(node->operands[k]);
    for (size_t i = first; producer != NULL && i < match->nodes.count; ++i) {
      if (match->nodes.data[i] == producer) return true;
    }
  }
  return false;
}

// Nodes are added in the order of the pattern, but a named value may be made inside the match.
static void sort_nodes(byoc_match_t *match) {
  byoc_node_t **nodes = match->nodes.data;
  for (size_t i = 0; i < match->nodes.count; ++i) {
    size_t ready = i;
    while (waits(match, i, nodes[ready])) ++ready;
    byoc_node_t *node = nodes[ready];
    memmove(&nodes[i + 1], &nodes[i], (ready - i) * sizeof(node));
    nodes[i] = node;
  }
}

static bool accept_whole(matcher_t *m) {
  byoc_match_t *match = m->match;
  if (!contains(match, m->root) || escapes(match, m->root)) return false;
  size_t size = match->nodes.count * sizeof(*match->nodes.data);
  byoc_node_t **taken = byoc_allocate(match->allocator, match->nodes.count, sizeof(*taken));
  if (taken == NULL) return !(m->failed = true);
  memcpy(taken, match->nodes.data, size);
  sort_nodes(match);
  const bool accepted = m->visit == NULL || m->visit(m->visit_self, match);
  if (!accepted) memcpy(match->nodes.data, taken, size); // undoing relies on the order of adding
  byoc_free(match->allocator, taken);
  return accepted;
}

static bool take_node(matcher_t *m, const goal_t *goal) {
  const mark_t before = mark(m);
  if (!contains(m->match, goal->node) && !byoc_vector_push(&m->match->nodes, m->match->allocator, goal->node)) {
    m->failed = true;
    return false;
  }
  return solve(m, goal->next) || rewind_match(m, before);
}

// Makes the first `left` operands goals before `next`, from the last one on, so that they are solved in order.
static bool solve_operands(matcher_t *m, const byoc_pattern_t *pattern, const byoc_node_t *node, size_t left,
                           bool swapped, const goal_t *next) {
  if (left == 0) return solve(m, next);
  const size_t child = left - 1;
  const size_t operand = swapped && child < 2 ? 1 - child : child;
  const goal_t goal = {.pattern = pattern->children[child], .value = node->operands[operand], .next = next};
  return solve_operands(m, pattern, node, child, swapped, &goal);
}

static bool has_type(const byoc_pattern_t *pattern, const byoc_type_t *type) {
  if (pattern->dtypes == 0 && !pattern->has_rank) return true;
  if (type->kind != BYOC_TYPE_TENSOR) return false;
  return (pattern->dtypes == 0 || (pattern->dtypes >> type->dtype & 1) != 0) &&
         (!pattern->has_rank || type->rank == pattern->rank);
}

static bool type_fits(matcher_t *m, const byoc_pattern_t *pattern, const byoc_value_t *value) {
  if (has_type(pattern, value->type)) return true;
  const mismatch_t mismatch = {.pattern = pattern, .value = value};
  if (m->any_type && !byoc_vector_push(&m->mismatches, m->match->allocator, mismatch)) m->failed = true;
  return m->any_type && !m->failed;
}

// May the producer of a value match an operator pattern, without a look at its operands and at types? The value must be
// the result that the pattern names.
static bool producer_fits(const matcher_t *m, const byoc_pattern_t *pattern, const byoc_value_t *value) {
  const byoc_node_t *node = byoc_value_producer(value);
  if (node == NULL || (pattern->result != PATTERN_ANY_RESULT && value->index != (uint32_t)pattern->result) ||
      node->block != m->root->block || node->callee != NULL || !operator_fits(pattern, node)) {
    return false;
  }
  if (m->filter != NULL && !m->filter(m->filter_self, node)) return false;
  for (size_t i = 0; i < pattern->test_count; ++i) {
    if (!attribute_test_fits(&pattern->tests[i], node)) return false;
  }
  uint32_t count = node->operand_count;
  while (count > 0 && node->operands[count - 1] == NULL) --count;
  return count == pattern->child_count || (count > pattern->child_count && pattern->open_ended);
}

static bool solve_node(matcher_t *m, const byoc_pattern_t *pattern, byoc_value_t *value, const goal_t *next) {
  if (!producer_fits(m, pattern, value)) return false;
  byoc_node_t *node = byoc_value_producer(value);
  const mark_t before = mark(m);
  if (!type_fits(m, pattern, value) || !bind(m, pattern->name, node, NULL)) return rewind_match(m, before);
  const goal_t take = {.node = node, .next = next};
  const int orders = byoc_node_has_trait(node, BYOC_OP_COMMUTES) && pattern->child_count == 2 ? 2 : 1;
  for (int order = 0; order < orders && !m->failed; ++order) {
    if (solve_operands(m, pattern, node, pattern->child_count, order == 1, &take)) return true;
  }
  return rewind_match(m, before);
}

// ---- dominators ----

// Does a node match the pattern of a path? Its operands are checked one by one, in either order if they commute.
static bool path_fits(const matcher_t *m, const byoc_pattern_t *path, const byoc_node_t *node) {
  if (path->kind == PATTERN_ALTERNATIVES) {
    for (size_t i = 0; i < path->child_count; ++i) {
      if (path_fits(m, path->children[i], node)) return true;
    }
    return false;
  }
  if (path->kind == PATTERN_ANY) {
    return node->block == m->root->block && node->callee == NULL && node->block_count == 0 && node->result_count > 0 &&
           has_type(path, node->results[0]->type) && (m->filter == NULL || m->filter(m->filter_self, node));
  }
  if (node->result_count == 0 || !producer_fits(m, path, node->results[0])) return false;
  if (!has_type(path, node->results[0]->type)) return false;
  const int orders = byoc_node_has_trait(node, BYOC_OP_COMMUTES) && path->child_count == 2 ? 2 : 1;
  for (int order = 0; order < orders; ++order) {
    bool fits = true;
    for (size_t i = 0; i < path->child_count && fits; ++i) {
      const byoc_value_t *value = node->operands[order == 1 ? 1 - i : i];
      fits = value != NULL && has_type(path->children[i], value->type) &&
             (path->children[i]->kind == PATTERN_ANY || is_constant(value));
    }
    if (fits) return true;
  }
  return false;
}

// Collects the root of a dominator and the nodes above it on paths, breadth first.
typedef struct cone_t {
  byoc_node_t *nodes[MAX_PATH_NODES];
  size_t count;
} cone_t;

static bool cone_contains(const cone_t *cone, const byoc_node_t *node) {
  for (size_t i = 0; i < cone->count; ++i) {
    if (cone->nodes[i] == node) return true;
  }
  return false;
}

// False if it is too large.
static bool find_cone(matcher_t *m, const byoc_pattern_t *path, byoc_node_t *root, const byoc_value_t *leaf,
                      cone_t *cone) {
  cone->nodes[0] = root;
  cone->count = 1;
  for (size_t i = 0; i < cone->count; ++i) {
    for (uint32_t k = 0; k < cone->nodes[i]->operand_count; ++k) {
      byoc_node_t *producer = byoc_value_producer(cone->nodes[i]->operands[k]);
      if (producer == NULL || cone->nodes[i]->operands[k] == leaf || cone_contains(cone, producer)) continue;
      m->steps += 1;
      if (!path_fits(m, path, producer)) continue;
      if (cone->count == MAX_PATH_NODES) return false;
      cone->nodes[cone->count++] = producer;
    }
  }
  return true;
}

// Takes the nodes between the leaf and the root: those of the cone from which the leaf can be reached. Each is taken
// after all of its operands, so that the match stays in topological order.
static bool take_paths(matcher_t *m, const goal_t *goal) {
  const mark_t before = mark(m);
  cone_t cone;
  bool on_path[MAX_PATH_NODES] = {false}, taken[MAX_PATH_NODES] = {false};
  if (!find_cone(m, goal->pattern->children[DOMINATOR_PATH], goal->node, goal->value, &cone)) return false;
  for (bool changed = true; changed;) { // from the leaf downwards
    changed = false;
    for (size_t i = cone.count; i-- > 0;) {
      if (taken[i]) continue;
      bool waits = false;
      for (uint32_t k = 0; k < cone.nodes[i]->operand_count; ++k) {
        const byoc_value_t *operand = cone.nodes[i]->operands[k];
        on_path[i] = on_path[i] || operand == goal->value;
        for (size_t j = 0; j < cone.count; ++j) {
          if (byoc_value_producer(operand) != cone.nodes[j]) continue;
          waits = waits || !taken[j];
          on_path[i] = on_path[i] || on_path[j];
        }
      }
      m->steps += 1;
      if (waits) continue;
      taken[i] = changed = true;
      if (!on_path[i] || i == 0 || contains(m->match, cone.nodes[i])) continue;
      m->failed = m->failed || !byoc_vector_push(&m->match->nodes, m->match->allocator, cone.nodes[i]);
    }
  }
  if (!m->failed && on_path[0] && solve(m, goal->next)) return true;
  return rewind_match(m, before);
}

// root <~ path <~ leaf: each value at the end of a path may be the leaf; the nearest one is tried first. The rule on
// escaping values ensures that all of its uses lead to the root.
static bool solve_dominator(matcher_t *m, const goal_t *goal) {
  const byoc_pattern_t *pattern = goal->pattern;
  if (!producer_fits(m, pattern->children[DOMINATOR_ROOT], goal->value)) return false;
  byoc_node_t *root = byoc_value_producer(goal->value);
  cone_t cone;
  if (!find_cone(m, pattern->children[DOMINATOR_PATH], root, NULL, &cone)) return false;
  const goal_t child = {.pattern = pattern->children[DOMINATOR_ROOT], .value = goal->value, .next = goal->next};
  for (size_t i = 0; i < cone.count; ++i) {
    for (uint32_t k = 0; k < cone.nodes[i]->operand_count; ++k) {
      byoc_value_t *leaf = cone.nodes[i]->operands[k];
      if (leaf == NULL) continue;
      const goal_t paths = {.pattern = pattern, .value = leaf, .node = root, .next = &child};
      const goal_t whole = {.pattern = pattern->children[DOMINATOR_LEAF], .value = leaf, .next = &paths};
      if (solve(m, &whole)) return true;
      if (m->failed) return false;
    }
  }
  return false;
}

static bool solve(matcher_t *m, const goal_t *goal) {
  if (m->failed || ++m->steps > MAX_STEPS) return false;
  if (goal == NULL) return accept_whole(m);
  if (goal->pattern == NULL) return take_node(m, goal);
  const byoc_pattern_t *pattern = goal->pattern;
  byoc_value_t *value = goal->value;
  if (value == NULL) return false;
  const mark_t before = mark(m);
  switch (pattern->kind) {
  case PATTERN_DOMINATOR:
    return goal->node != NULL ? take_paths(m, goal) : solve_dominator(m, goal);
  case PATTERN_CONSTANT:
    if (!is_constant(value)) return false;
    if (!byoc_vector_push(&m->match->constants, m->match->allocator, value)) return !(m->failed = true);
    __attribute__((fallthrough));
  case PATTERN_ANY:
    if (!type_fits(m, pattern, value)) return rewind_match(m, before);
    return (bind(m, pattern->name, NULL, value) && solve(m, goal->next)) || rewind_match(m, before);
  case PATTERN_ALTERNATIVES:
    for (size_t i = 0; i < pattern->child_count; ++i) {
      const goal_t alternative = {.pattern = pattern->children[i], .value = value, .next = goal->next};
      if (solve(m, &alternative)) return true;
    }
    return false;
  case PATTERN_OPERATOR:
    break;
  }
  if (solve_node(m, pattern, value, goal->next)) return true;
  if (!pattern->optional) return false;
  const goal_t without = {.pattern = pattern->children[0], .value = value, .next = goal->next};
  return solve(m, &without);
}

static bool match_at(matcher_t *m, const byoc_pattern_t *pattern) {
  m->match->nodes.count = m->match->bindings.count = m->match->constants.count = 0;
  bool matched = false;
  for (uint32_t r = 0; r < m->root->result_count && !matched && !m->failed; ++r) {
    const goal_t whole = {.pattern = pattern, .value = m->root->results[r]};
    matched = solve(m, &whole);
  }
  if (!matched) rewind_match(m, (mark_t){0});
  return matched;
}

bool byoc_pattern_match_each(const byoc_pattern_t *pattern, byoc_node_t *root, byoc_match_filter_t filter,
                             void *filter_self, byoc_match_t *match, byoc_match_visit_t visit, void *visit_self,
                             bool *out_failed) {
  matcher_t m = {.match = match,
                 .root = root,
                 .filter = filter,
                 .filter_self = filter_self,
                 .visit = visit,
                 .visit_self = visit_self};
  const bool matched = match_at(&m, pattern);
  *out_failed = m.failed;
  return matched;
}

bool byoc_pattern_match(const byoc_pattern_t *pattern, byoc_node_t *root, byoc_match_filter_t filter, void *filter_self,
                        byoc_match_t *match, bool *out_failed) {
  return byoc_pattern_match_each(pattern, root, filter, filter_self, match, NULL, NULL, out_failed);
}

// ---- why types do not fit ----

// The match that breaks the fewest tests of type. Other matches that break as many at the same value take other types.
typedef struct nearest_t {
  matcher_t *matcher;
  byoc_type_clash_t *out;
  bool failed;
} nearest_t;

static bool keep_nearest(void *self, const byoc_match_t *match) {
  nearest_t *nearest = self;
  byoc_type_clash_t *out = nearest->out;
  const size_t count = nearest->matcher->mismatches.count;
  if (count == 0) { // it matches as it is
    out->count = 0;
    return true;
  }
  const mismatch_t *first = &nearest->matcher->mismatches.data[0];
  const byoc_pattern_t *test = first->pattern;
  if (count == out->count && first->value == out->value && test->has_rank == out->has_rank) {
    out->dtypes = out->dtypes == 0 || test->dtypes == 0 ? 0 : out->dtypes | test->dtypes;
  }
  if (count >= out->count) return false;
  out->count = count;
  out->value = first->value;
  out->is_result = test->kind == PATTERN_OPERATOR;
  out->dtypes = test->dtypes;
  out->has_rank = test->has_rank;
  out->rank = test->rank;
  out->nodes.count = 0;
  for (size_t i = 0; i < match->nodes.count && !nearest->failed; ++i) {
    nearest->failed = !byoc_vector_push(&out->nodes, match->allocator, match->nodes.data[i]);
  }
  return nearest->failed;
}

bool byoc_pattern_type_clash(const byoc_pattern_t *pattern, byoc_node_t *root, byoc_match_filter_t filter,
                             void *filter_self, byoc_match_t *match, byoc_type_clash_t *out_clash, bool *out_failed) {
  *out_clash = (byoc_type_clash_t){.count = SIZE_MAX, .nodes = out_clash->nodes};
  out_clash->nodes.count = 0;
  nearest_t nearest = {.out = out_clash};
  matcher_t m = {.match = match,
                 .root = root,
                 .filter = filter,
                 .filter_self = filter_self,
                 .visit = keep_nearest,
                 .visit_self = &nearest,
                 .any_type = true};
  nearest.matcher = &m;
  (void)match_at(&m, pattern);
  byoc_vector_deinit(&m.mismatches, match->allocator);
  *out_failed = m.failed || nearest.failed;
  return !*out_failed && out_clash->count > 0 && out_clash->count < SIZE_MAX;
}
