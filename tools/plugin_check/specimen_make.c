// SPDX-License-Identifier: Apache-2.0
// Makes the specimens of a rule: walks its pattern, chooses among alternatives, and asks recipes for operands.
#include <stdio.h>
#include <string.h>

#include "core/base/string.h"
#include "core/plugin/pattern_internal.h"
#include "tools/plugin_check/specimen_internal.h"

enum { MAX_CHOICES = 64, MAX_SCRIPTS = 128, MAX_VALUES = 96, MAX_MEMO = 48, MAX_VARIANTS = 12 };

// A decision at one place of a pattern.
typedef struct choice_t {
  const byoc_pattern_t *pattern;
  uint32_t option, option_count;
} choice_t;

// The decisions of one walk, in order. Those behind `given` are made by it: the first option.
typedef struct script_t {
  choice_t choices[MAX_CHOICES];
  uint32_t given, count;
} script_t;

// A value that stands for a part of the pattern, so that equal parts are one value.
typedef struct memo_t {
  const byoc_pattern_t *pattern;
  uint32_t value;
} memo_t;

typedef struct maker_t {
  specimens_t *set;
  const specimen_wish_t *wish;
  uint32_t variant, variant_count; // variant_count: the most rows that an operator of the walk has
  script_t script;
  specimen_t *specimen;
  byoc_graph_module_t *module; // for inference
  byoc_function_t *function;
  byoc_value_t *values[MAX_VALUES];
  memo_t memo[MAX_MEMO];
  size_t memo_count;
  bool has_weight;
  bool failed;       // out of memory
  const char *blame; // the operator that no specimen could be made for
} maker_t;

// ---- equal parts of a pattern ----

static bool same_text(const char *a, const char *b) {
  return a == b || (a != NULL && b != NULL && strcmp(a, b) == 0);
}

static bool same_pattern(const byoc_pattern_t *a, const byoc_pattern_t *b) {
  if (a == b) return true;
  if (a->kind != b->kind || !same_text(a->name, b->name) || a->operator_count != b->operator_count ||
      a->child_count != b->child_count || a->optional != b->optional || a->result != b->result ||
      a->test_count != b->test_count) {
    return false;
  }
  for (size_t i = 0; i < a->operator_count; ++i) {
    if (strcmp(a->operators[i].name, b->operators[i].name) != 0) return false;
  }
  for (size_t i = 0; i < a->child_count; ++i) {
    if (!same_pattern(a->children[i], b->children[i])) return false;
  }
  return true;
}

static uint32_t recall(const maker_t *m, const byoc_pattern_t *pattern) {
  const bool is_leaf = pattern->kind == PATTERN_ANY || pattern->kind == PATTERN_CONSTANT;
  for (size_t i = 0; i < m->memo_count; ++i) {
    const byoc_pattern_t *known = m->memo[i].pattern;
    if (is_leaf ? pattern->name != NULL && same_text(known->name, pattern->name) && known->kind == pattern->kind
                : same_pattern(known, pattern)) {
      return m->memo[i].value;
    }
  }
  return SPECIMEN_NONE;
}

static void remember(maker_t *m, const byoc_pattern_t *pattern, uint32_t value) {
  if (m->memo_count < MAX_MEMO) m->memo[m->memo_count++] = (memo_t){pattern, value};
}

// ---- choices ----

static uint32_t choose(maker_t *m, const byoc_pattern_t *pattern, uint32_t option_count) {
  script_t *s = &m->script;
  if (option_count <= 1) return 0;
  if (s->count < s->given) return s->choices[s->count++].option;
  if (s->count == MAX_CHOICES) return 0;
  s->choices[s->count++] = (choice_t){pattern, 0, option_count};
  return 0;
}

// Follows alternatives, and optional operators that are left out, to a leaf or an operator. *out_operator: which.
static const byoc_pattern_t *resolve(maker_t *m, const byoc_pattern_t *pattern, uint32_t *out_operator) {
  *out_operator = 0;
  for (;;) {
    if (pattern->kind == PATTERN_ALTERNATIVES) {
      pattern = pattern->children[choose(m, pattern, (uint32_t)pattern->child_count)];
      continue;
    }
    if (pattern->kind != PATTERN_OPERATOR) return pattern;
    // The host itself puts changes of layout between operators: they are left out wherever they may be.
    const bool is_ours = strcmp(pattern->operators[0].domain, "byoc") == 0;
    if (pattern->optional && is_ours) {
      pattern = pattern->children[0];
      continue;
    }
    *out_operator = choose(m, pattern, (uint32_t)pattern->operator_count + pattern->optional);
    if (*out_operator < pattern->operator_count) return pattern;
    pattern = pattern->children[0];
  }
}

// ---- growing ----

static uint32_t add_value(maker_t *m, const specimen_value_t *value, byoc_value_t *made) {
  specimen_t *specimen = m->specimen;
  if (specimen->values.count == MAX_VALUES) return SPECIMEN_NONE;
  if (made == NULL) {
    char name[32];
    snprintf(name, sizeof(name), "k0_v%zu", specimen->values.count);
    made = specimen_add_value(m->function, value, name);
  }
  if (made == NULL || !byoc_vector_push(&specimen->values, m->set->allocator, *value)) {
    m->failed = true;
    return SPECIMEN_NONE;
  }
  m->values[specimen->values.count - 1] = made;
  return (uint32_t)specimen->values.count - 1;
}

bool specimen_describe(const byoc_value_t *from, specimen_value_t *out) {
  *out = (specimen_value_t){.source = SPECIMEN_RESULT};
  if (!byoc_type_is_static(from->type) || from->type->rank > SPECIMEN_RANK) return false;
  out->dtype = from->type->dtype;
  out->rank = from->type->rank;
  for (int32_t d = 0; d < out->rank; ++d) out->dims[d] = from->type->dims[d].constant;
  return true;
}

// A list that a pattern asks for. Strings and floats are all there, so that any kind of attribute can be made of it.
static bool set_list(byoc_arena_t *arena, const attribute_test_t *test, byoc_attribute_t *out) {
  int64_t *ints = BYOC_ARENA_ARRAY(arena, int64_t, test->item_count);
  double *floats = BYOC_ARENA_ARRAY(arena, double, test->item_count);
  const char **strings = BYOC_ARENA_ARRAY(arena, const char *, test->item_count);
  if (test->item_count > 0 && (ints == NULL || floats == NULL || strings == NULL)) return false;
  for (size_t i = 0; i < test->item_count; ++i) {
    const attribute_test_t *item = &test->items[i];
    ints[i] = item->i;
    floats[i] = item->f;
    strings[i] = item->kind == BYOC_ATTRIBUTE_STRING ? byoc_arena_copy_string(arena, item->s) : "";
    if (strings[i] == NULL) return false;
  }
  out->ints = ints;
  out->floats = floats;
  out->strings = strings;
  out->count = test->item_count;
  return true;
}

// The attributes of the recipe, and over them those that the pattern asks for.
static bool set_attributes(maker_t *m, const byoc_pattern_t *pattern, recipe_t *recipe, specimen_node_t *node) {
  for (size_t t = 0; pattern != NULL && t < pattern->test_count; ++t) {
    const attribute_test_t *test = &pattern->tests[t];
    size_t at = 0;
    while (at < recipe->attribute_count && strcmp(recipe->attributes[at].name, test->name) != 0) ++at;
    if (at == SPECIMEN_ATTRIBUTES) return false;
    if (at == recipe->attribute_count) recipe->attribute_count += 1;
    recipe->attributes[at] = (byoc_attribute_t){
        .name = byoc_arena_copy_string(&m->set->arena, test->name), .kind = test->kind, .i = test->i, .f = test->f};
    if (test->kind == BYOC_ATTRIBUTE_STRING) {
      recipe->attributes[at].s = byoc_arena_copy_string(&m->set->arena, test->s);
      recipe->attributes[at].count = strlen(test->s);
    }
    if (attribute_test_is_list(test) && !set_list(&m->set->arena, test, &recipe->attributes[at])) return false;
  }
  node->attributes =
      byoc_arena_copy(&m->set->arena, recipe->attributes, recipe->attribute_count * sizeof(recipe->attributes[0]));
  node->attribute_count = recipe->attribute_count;
  return node->attributes != NULL;
}

// Adds a node of the operator; `recipe` holds its operands, `operands` the values of those that are there.
static uint32_t add_node(maker_t *m, const byoc_op_t *op, const byoc_pattern_t *pattern, recipe_t *recipe,
                         const uint32_t *known, uint32_t result) {
  specimen_t *specimen = m->specimen;
  specimen_node_t node = {.domain = byoc_arena_copy_string(&m->set->arena, op->domain),
                          .op = byoc_arena_copy_string(&m->set->arena, op->name),
                          .operand_count = recipe->operand_count,
                          .result_count = recipe->result_count > result ? recipe->result_count : result + 1};
  bool has_input = false;
  for (uint32_t i = 0; i < recipe->operand_count; ++i) {
    const recipe_operand_t *operand = &recipe->operands[i];
    node.operands[i] = known[i];
    if (known[i] == SPECIMEN_NONE && !operand->is_left_out) {
      node.operands[i] = add_value(m, &operand->value, NULL);
      if (node.operands[i] == SPECIMEN_NONE) return SPECIMEN_NONE;
      m->has_weight = m->has_weight || (operand->is_weight && operand->value.source == SPECIMEN_INPUT);
    }
    if (node.operands[i] == SPECIMEN_NONE) continue;
    specimen->values.data[node.operands[i]].is_read = true;
    has_input = has_input || specimen->values.data[node.operands[i]].source != SPECIMEN_CONSTANT;
  }
  // Of constants alone, the host would compute it itself.
  if (!has_input || !set_attributes(m, pattern, recipe, &node)) return SPECIMEN_NONE;
  byoc_diag_t refusal = {0};
  byoc_node_t *made = specimen_add_node(m->function, &node, m->values, "", &refusal);
  if (made == NULL) {
    m->failed = refusal.status == BYOC_OUT_OF_MEMORY;
    return SPECIMEN_NONE;
  }
  node.first_result = (uint32_t)specimen->values.count;
  for (uint32_t r = 0; r < node.result_count; ++r) {
    specimen_value_t value;
    if (!specimen_describe(made->results[r], &value) || add_value(m, &value, made->results[r]) == SPECIMEN_NONE) {
      return SPECIMEN_NONE;
    }
  }
  if (!byoc_vector_push(&specimen->nodes, m->set->allocator, node)) {
    m->failed = true;
    return SPECIMEN_NONE;
  }
  return node.first_result + result;
}

static const byoc_op_t *find_operator(maker_t *m, const char *domain, const char *name) {
  const byoc_op_t *op = byoc_op_find(domain, name, INT32_MAX);
  m->blame = byoc_arena_copy_string(&m->set->arena, name); // until the walk succeeds
  return op;
}

static uint32_t grow(maker_t *m, const byoc_pattern_t *pattern, const specimen_value_t *hint);

// Grows the operands of an operator that are operators themselves, and names values that are there already.
static bool grow_children(maker_t *m, const byoc_op_t *op, const byoc_pattern_t *pattern, const specimen_value_t *hint,
                          recipe_t *recipe, uint32_t *known, bool *is_constant) {
  for (uint32_t i = 0; i < pattern->child_count; ++i) {
    uint32_t which = 0;
    if (known[i] != SPECIMEN_NONE) continue;
    const uint32_t first_choice = m->script.count;
    const byoc_pattern_t *child = resolve(m, pattern->children[i], &which);
    const bool is_leaf = child->kind == PATTERN_ANY || child->kind == PATTERN_CONSTANT;
    known[i] = recall(m, is_leaf ? child : pattern->children[i]);
    is_constant[i] = child->kind == PATTERN_CONSTANT;
    if (known[i] == SPECIMEN_NONE && !is_leaf) {
      recipe_t wanted = *recipe;
      const bool has_hint = recipe_complete(op, m->wish, m->variant, hint, &m->set->arena, &wanted);
      if (m->script.given < m->script.count) m->script.given = m->script.count;
      m->script.count = first_choice; // `grow` makes the same choices again
      known[i] = grow(m, pattern->children[i], has_hint ? &wanted.operands[i].value : NULL);
      if (known[i] == SPECIMEN_NONE) return false;
    }
    if (known[i] == SPECIMEN_NONE) continue;
    recipe->operands[i].is_known = true;
    recipe->operands[i].value = m->specimen->values.data[known[i]];
  }
  // A name may stand in an operand that was grown after the one that it names: Sub(%x, Tanh(%x)).
  for (uint32_t i = 0; i < pattern->child_count; ++i) {
    const byoc_pattern_t *child = pattern->children[i];
    if (known[i] != SPECIMEN_NONE || (child->kind != PATTERN_ANY && child->kind != PATTERN_CONSTANT)) continue;
    known[i] = recall(m, child);
    if (known[i] == SPECIMEN_NONE) continue;
    recipe->operands[i].is_known = true;
    recipe->operands[i].value = m->specimen->values.data[known[i]];
  }
  return true;
}

// `operand`: a value for the first operand that is a leaf; SPECIMEN_NONE: there is none.
static uint32_t grow_operator(maker_t *m, const byoc_pattern_t *pattern, uint32_t which, const specimen_value_t *hint,
                              uint32_t operand) {
  const byoc_op_t *op = find_operator(m, pattern->operators[which].domain, pattern->operators[which].name);
  if (op == NULL || pattern->child_count > SPECIMEN_OPERANDS) return SPECIMEN_NONE;
  const uint32_t rows = recipe_count(op), least = op->min_inputs > 0 ? (uint32_t)op->min_inputs : 1;
  if (rows > m->variant_count) m->variant_count = rows;
  recipe_t recipe = {.operand_count = (uint32_t)pattern->child_count};
  if (pattern->open_ended && recipe.operand_count < least) recipe.operand_count = least;
  uint32_t known[SPECIMEN_OPERANDS];
  bool is_constant[SPECIMEN_OPERANDS] = {false};
  for (uint32_t i = 0; i < SPECIMEN_OPERANDS; ++i) known[i] = SPECIMEN_NONE;
  if (operand != SPECIMEN_NONE) {
    known[0] = operand;
    recipe.operands[0].is_known = true;
    recipe.operands[0].value = m->specimen->values.data[operand];
  }
  if (!grow_children(m, op, pattern, hint, &recipe, known, is_constant)) return SPECIMEN_NONE;
  m->blame = op->name;
  if (!recipe_complete(op, m->wish, m->variant, hint, &m->set->arena, &recipe)) return SPECIMEN_NONE;
  for (uint32_t i = 0; i < recipe.operand_count; ++i) {
    if (is_constant[i]) recipe.operands[i].value.source = SPECIMEN_CONSTANT;
  }
  const uint32_t result = pattern->result > 0 ? (uint32_t)pattern->result : 0;
  const uint32_t first = (uint32_t)m->specimen->values.count;
  const uint32_t value = add_node(m, op, pattern, &recipe, known, result);
  // Leaves with names, so that the same name later stands for the same value.
  uint32_t next = first;
  for (uint32_t i = 0; value != SPECIMEN_NONE && i < pattern->child_count; ++i) {
    if (known[i] != SPECIMEN_NONE || recipe.operands[i].is_left_out) continue;
    const byoc_pattern_t *child = pattern->children[i];
    if (child->name != NULL && child->kind != PATTERN_OPERATOR) remember(m, child, next);
    next += 1;
  }
  return value;
}

// root <~ path <~ leaf, once directly and once with a step of the path between them.
static uint32_t grow_dominator(maker_t *m, const byoc_pattern_t *pattern, const specimen_value_t *hint) {
  uint32_t which = 0;
  const byoc_pattern_t *path = pattern->children[DOMINATOR_PATH], *root = pattern->children[DOMINATOR_ROOT];
  uint32_t value = grow(m, pattern->children[DOMINATOR_LEAF], hint);
  if (value == SPECIMEN_NONE) return value;
  if (choose(m, pattern, 2) == 1) {
    path = resolve(m, path, &which);
    if (path->kind == PATTERN_OPERATOR) value = grow_operator(m, path, which, NULL, value);
    if (value == SPECIMEN_NONE) return value;
  }
  root = resolve(m, root, &which);
  return grow_operator(m, root, which, hint, value);
}

static uint32_t grow(maker_t *m, const byoc_pattern_t *pattern, const specimen_value_t *hint) {
  const uint32_t there = recall(m, pattern);
  if (there != SPECIMEN_NONE) return there;
  uint32_t which = 0;
  const byoc_pattern_t *part = resolve(m, pattern, &which);
  uint32_t value = SPECIMEN_NONE;
  if (part->kind == PATTERN_OPERATOR) value = grow_operator(m, part, which, hint, SPECIMEN_NONE);
  if (part->kind == PATTERN_DOMINATOR) value = grow_dominator(m, part, hint);
  if (value != SPECIMEN_NONE) remember(m, pattern, value);
  return value;
}

// ---- one specimen ----

static void print_value(const specimen_t *specimen, uint32_t index, byoc_string_t *out);

static void print_node(const specimen_t *specimen, const specimen_node_t *node, byoc_string_t *out) {
  byoc_string_appendf(out, "%s%s%s(", node->domain, node->domain[0] != '\0' ? "::" : "", node->op);
  for (uint32_t i = 0; i < node->operand_count; ++i) {
    if (i > 0) byoc_string_append(out, ", ");
    if (node->operands[i] == SPECIMEN_NONE) byoc_string_append(out, "_");
    if (node->operands[i] != SPECIMEN_NONE) print_value(specimen, node->operands[i], out);
  }
  byoc_string_append(out, ")");
  if (node->attribute_count == 0) return;
  byoc_attributes_t attributes = {.items = (byoc_attribute_t *)(uintptr_t)node->attributes,
                                  .count = node->attribute_count};
  byoc_string_append(out, " ");
  byoc_attributes_print(&attributes, out);
}

static void print_value(const specimen_t *specimen, uint32_t index, byoc_string_t *out) {
  const specimen_value_t *value = &specimen->values.data[index];
  for (size_t n = 0; n < specimen->nodes.count; ++n) {
    const specimen_node_t *node = &specimen->nodes.data[n];
    if (index >= node->first_result && index < node->first_result + node->result_count) {
      print_node(specimen, node, out);
      return;
    }
  }
  if (value->source == SPECIMEN_CONSTANT) byoc_string_append(out, "constant ");
  byoc_string_appendf(out, "%s[", byoc_dtype_name(value->dtype));
  for (int32_t d = 0; d < value->rank; ++d) byoc_string_appendf(out, "%s%lld", d ? "," : "", (long long)value->dims[d]);
  byoc_string_append(out, "]");
}

static void discard(maker_t *m) {
  byoc_vector_deinit(&m->specimen->values, m->set->allocator);
  byoc_vector_deinit(&m->specimen->nodes, m->set->allocator);
}

// Adds the specimen to the set, unless an equal one is there.
static byoc_status_t keep(maker_t *m, byoc_diag_t *diag) {
  specimens_t *set = m->set;
  byoc_string_t label;
  byoc_string_init(&label, set->allocator);
  print_node(m->specimen, &m->specimen->nodes.data[m->specimen->nodes.count - 1], &label);
  bool is_new = true;
  for (size_t i = 0; i < set->items.count && is_new && label.data != NULL; ++i) {
    is_new = strcmp(set->items.data[i]->label, label.data) != 0;
  }
  if (is_new) m->specimen->label = byoc_arena_copy_string(&set->arena, label.data);
  byoc_string_deinit(&label);
  if (!is_new) {
    discard(m);
    return BYOC_OK;
  }
  if (m->specimen->label != NULL && byoc_vector_push(&set->items, set->allocator, m->specimen)) return BYOC_OK;
  discard(m);
  return byoc_diag_out_of_memory(diag);
}

// Grows one specimen by `body` in a module of its own; *out_made says whether there is one.
static byoc_status_t make_one(maker_t *m, const char *rule, uint32_t (*body)(maker_t *m, const void *self),
                              const void *self, bool *out_made, byoc_diag_t *diag) {
  *out_made = false;
  m->memo_count = 0;
  m->has_weight = false;
  m->script.count = 0;
  m->specimen = BYOC_ARENA_NEW(&m->set->arena, specimen_t);
  if (m->specimen == NULL) return byoc_diag_out_of_memory(diag);
  m->specimen->rule = rule;
  BYOC_RETURN_IF_ERROR(byoc_graph_module_create(m->set->allocator, diag, &m->module));
  m->function = byoc_function_create(m->module, "main");
  m->failed = m->function == NULL;
  const bool grown = !m->failed && body(m, self) != SPECIMEN_NONE;
  byoc_graph_module_destroy(m->module);
  if (m->failed) {
    discard(m);
    return byoc_diag_out_of_memory(diag);
  }
  const bool is_wanted = grown && (!m->wish->as_inputs || m->has_weight);
  if (!is_wanted) discard(m);
  *out_made = grown;
  return is_wanted ? keep(m, diag) : BYOC_OK;
}

// ---- rules ----

static uint32_t grow_pattern(maker_t *m, const void *self) {
  return grow(m, self, NULL);
}

// Every choice of the pattern is taken once, each with the first option everywhere else: `covered` are those that were.
static byoc_status_t make_pattern(maker_t *m, const byoc_rule_t *rule, const byoc_pattern_t *pattern, bool *out_made,
                                  byoc_diag_t *diag) {
  script_t *scripts = byoc_allocate(m->set->allocator, MAX_SCRIPTS, sizeof(*scripts));
  if (scripts == NULL) return byoc_diag_out_of_memory(diag);
  choice_t covered[MAX_SCRIPTS];
  size_t script_count = 1, covered_count = 0;
  byoc_status_t status = BYOC_OK;
  for (size_t s = 0; s < script_count && status == BYOC_OK; ++s) {
    m->variant_count = 1;
    for (m->variant = 0; m->variant < m->variant_count && m->variant < MAX_VARIANTS && status == BYOC_OK;
         ++m->variant) {
      bool made = false;
      m->script = scripts[s];
      status = make_one(m, rule->name, grow_pattern, pattern, &made, diag);
      *out_made = *out_made || made;
      // Every choice gets one variant, the first script all of them.
      if (m->wish->only_first || (s > 0 && made)) break;
    }
    for (uint32_t c = scripts[s].given; c < m->script.count; ++c) {
      const choice_t *met = &m->script.choices[c];
      bool is_known = false;
      for (size_t k = 0; k < covered_count && !is_known; ++k) is_known = covered[k].pattern == met->pattern;
      if (is_known || covered_count == MAX_SCRIPTS) continue;
      covered[covered_count++] = *met;
      for (uint32_t option = 1; option < met->option_count && script_count < MAX_SCRIPTS; ++option) {
        script_t *next = &scripts[script_count++];
        *next = m->script;
        next->given = c + 1;
        next->choices[c].option = option;
      }
    }
  }
  byoc_free(m->set->allocator, scripts);
  return status;
}

typedef struct group_t {
  const byoc_op_t *op, *then; // then NULL: the operator alone
  uint32_t operand_count;     // 0: as many as its row has
} group_t;

static uint32_t grow_group(maker_t *m, const void *self) {
  const group_t *group = self;
  uint32_t known[SPECIMEN_OPERANDS];
  for (uint32_t i = 0; i < SPECIMEN_OPERANDS; ++i) known[i] = SPECIMEN_NONE;
  recipe_t recipe = {.operand_count = group->operand_count};
  if (!recipe_complete(group->op, m->wish, m->variant, NULL, &m->set->arena, &recipe)) return SPECIMEN_NONE;
  const uint32_t value = add_node(m, group->op, NULL, &recipe, known, 0);
  if (value == SPECIMEN_NONE || group->then == NULL) return value;
  known[0] = value;
  recipe_t next = {.operand_count = 1};
  next.operands[0].is_known = true;
  next.operands[0].value = m->specimen->values.data[value];
  if (!recipe_complete(group->then, m->wish, 0, NULL, &m->set->arena, &next)) return SPECIMEN_NONE;
  return add_node(m, group->then, NULL, &next, known, 0);
}

static const byoc_op_t *operator_of(maker_t *m, const char *text) {
  const char *colons = strstr(text, "::");
  if (colons == NULL) return find_operator(m, "", text);
  char domain[64];
  snprintf(domain, sizeof(domain), "%.*s", (int)(colons - text), text);
  return find_operator(m, domain, colons + 2);
}

// An elementwise operator of the group with one operand, to stand behind the others; the n-th, so that they take turns.
static const byoc_op_t *follower(maker_t *m, const byoc_rule_t *rule, uint64_t n) {
  for (uint64_t i = 0; i < rule->operators.count; ++i) {
    const byoc_op_t *op = operator_of(m, rule->operators.items[(n + i) % rule->operators.count]);
    if (op != NULL && (op->traits & BYOC_OP_ELEMENTWISE) != 0 && op->max_inputs == 1) return op;
  }
  return NULL;
}

static byoc_status_t make_group(maker_t *m, const byoc_rule_t *rule, bool *out_made, byoc_diag_t *diag) {
  for (uint64_t i = 0; i < rule->operators.count; ++i) {
    bool made = false;
    group_t group = {.op = operator_of(m, rule->operators.items[i])};
    if (group.op == NULL || strcmp(group.op->domain, "byoc") == 0) continue;
    const uint32_t rows = recipe_count(group.op), least = group.op->min_inputs > 0 ? (uint32_t)group.op->min_inputs : 1;
    for (m->variant = 0; m->variant < rows && m->variant < MAX_VARIANTS; ++m->variant) {
      BYOC_RETURN_IF_ERROR(make_one(m, rule->name, grow_group, &group, &made, diag));
      *out_made = *out_made || made;
      if (m->wish->only_first && made) break;
    }
    m->variant = 0;
    if (m->wish->only_first) continue;
    BYOC_RETURN_IF_ERROR(make_one(m, rule->name, grow_group, &(group_t){group.op, NULL, least}, &made, diag));
    group.then = follower(m, rule, i + 1);
    if (group.then != NULL) BYOC_RETURN_IF_ERROR(make_one(m, rule->name, grow_group, &group, &made, diag));
  }
  return BYOC_OK;
}

byoc_status_t specimens_add(specimens_t *set, const byoc_backend_t *backend, const specimen_wish_t *wish,
                            byoc_diag_t *diag) {
  maker_t m = {.set = set, .wish = wish};
  byoc_arena_t arena;
  byoc_arena_init(&arena, set->allocator);
  byoc_status_t status = BYOC_OK;
  for (uint32_t r = 0; r < backend->rule_count && status == BYOC_OK; ++r) {
    const byoc_rule_t *rule = &backend->rules[r];
    const byoc_pattern_t *pattern = NULL;
    bool made = false;
    m.blame = "";
    if (rule->pattern == NULL) {
      status = make_group(&m, rule, &made, diag);
    } else {
      status = byoc_pattern_parse(rule->pattern, rule->name, &arena, diag, &pattern);
      if (status == BYOC_OK) status = make_pattern(&m, rule, pattern, &made, diag);
    }
    if (status != BYOC_OK || made) continue;
    const char *text = byoc_arena_format(&set->arena, "%s (%s)", rule->name, m.blame);
    if (text == NULL || !byoc_vector_push(&set->unmade, set->allocator, text)) status = byoc_diag_out_of_memory(diag);
  }
  byoc_arena_deinit(&arena);
  return status;
}
