// SPDX-License-Identifier: Apache-2.0
// choose-lengths: an operator whose result depends on the length of a list (Reshape's shape, Slice's starts) gets a
// branch for each length that fits its operands and the readers of its result, if only the run knows the length.
// Squeeze without axes gets one for each rank that it can make. sink-into-branches then moves nodes that depend on the
// rank into the branches.
//
//   y = reshape(x, s)  →  y = if (size(s) == 0) { reshape(x, s as [0]) } else { if (size(s) == 1) { ... } }
#include <string.h>

#include "core/base/log.h"
#include "core/ir/attribute_names.h"
#include "core/op/op.h"
#include "core/op/util.h"
#include "core/op/write.h"
#include "core/ops/byoc/symbolic.h"
#include "core/pass/pass.h"

// Branches that an operator gets at most, and the longest list that is tried: pads of a tensor of the highest rank.
enum { MOST_CHOICES = 7, LONGEST = 2 * BYOC_MAX_RANK, IF_VERSION = 16, RESHAPE_VERSION = 14 };

typedef struct {
  const char *op; // of ai.onnx; a prefix if it ends in '*'
  uint32_t lists; // bit i: operand i is a list; all of them are as long as each other
  bool always;    // the length matters where the rank of the result is known, too
} taker_t;

static const taker_t takers[] = {
    {"Reshape", 1u << 1, false}, {"Expand", 1u << 1, false},    {"ConstantOfShape", 1u << 0, false},
    {"Squeeze", 1u << 1, false}, {"Unsqueeze", 1u << 1, false}, {"Reduce*", 1u << 1, false},
    {"Slice", 0xf << 1, true},   {"Tile", 1u << 1, true},       {"Pad", 1u << 1, true},
};

typedef struct {
  byoc_diag_t *diag;
  byoc_allocator_t allocator;
  BYOC_VECTOR(byoc_node_t *) nodes;
} chooser_t;

// The choice for one node.
typedef struct {
  byoc_node_t *node;
  uint32_t lists;      // operands whose length is chosen; 0: the rank of the result is
  byoc_value_t *given; // the number that the run has, a scalar
  int64_t choices[MOST_CHOICES];
  size_t count;
} choice_t;

// ---- which nodes ----

static bool is_open_list(const byoc_node_t *node, uint32_t operand) {
  const byoc_type_t *type = byoc_has_operand(node, operand) ? byoc_operand_type(node, operand) : NULL;
  return byoc_is_ranked(type) && type->rank == 1 && !byoc_dim_is_constant(type->dims[0]);
}

static const taker_t *find_taker(const byoc_node_t *node) {
  if (node->callee || node->domain[0] != '\0') return NULL;
  for (size_t i = 0; i < sizeof takers / sizeof *takers; ++i) {
    const size_t size = strcspn(takers[i].op, "*");
    const bool is_prefix = takers[i].op[size] == '*';
    if (is_prefix ? strncmp(node->op, takers[i].op, size) == 0 : strcmp(node->op, takers[i].op) == 0) return &takers[i];
  }
  return NULL;
}

static bool has_open_rank(const byoc_type_t *type) {
  return byoc_type_is_tensor(type) && type->rank == BYOC_RANK_UNKNOWN;
}

static bool chooses_length(const byoc_node_t *node, uint32_t *out_lists) {
  const taker_t *taker = find_taker(node);
  *out_lists = 0;
  if (!taker || (!taker->always && !has_open_rank(node->results[0]->type))) return false;
  for (uint32_t i = 0; i < node->operand_count; ++i) {
    if (has_open_rank(byoc_operand_type(node, i))) return false;
    const bool is_list = taker->lists >> i & 1;
    if (is_list && is_open_list(node, i)) *out_lists |= 1u << i;
  }
  return *out_lists != 0;
}

static bool chooses_rank(const byoc_node_t *node) {
  const bool is_squeeze = !node->callee && byoc_node_is_onnx(node, "Squeeze");
  return is_squeeze && !byoc_has_operand(node, 1) && !byoc_attributes_find(&node->attributes, "axes") &&
         byoc_is_ranked(byoc_operand_type(node, 0)) && has_open_rank(node->results[0]->type);
}

static byoc_status_t find_nodes(chooser_t *c, const byoc_block_t *block) {
  BYOC_FOR_EACH_NODE(node, block) {
    uint32_t lists = 0;
    for (uint32_t b = 0; b < node->block_count; ++b) BYOC_RETURN_IF_ERROR(find_nodes(c, node->blocks[b]));
    if (!chooses_length(node, &lists) && !chooses_rank(node)) continue;
    if (!byoc_vector_push(&c->nodes, c->allocator, node)) return byoc_diag_out_of_memory(c->diag);
  }
  return BYOC_OK;
}

// ---- one branch ----

static byoc_value_t *as_long_as(byoc_node_t *place, byoc_value_t *list, int64_t length, byoc_diag_t *diag) {
  byoc_writer_t w = {.node = place, .diag = diag};
  byoc_value_t *operands[] = {list, byoc_write_vector(&w, "length", BYOC_DTYPE_I64, 1, &length)};
  byoc_node_t *node =
      w.failed ? NULL : byoc_node_create(place->block, place, "", "Reshape", RESHAPE_VERSION, operands, 2, 1);
  // A length of 0 is valid, and copies nothing.
  if (!node || !byoc_attributes_set_int(&node->attributes, "allowzero", 1)) return NULL;
  return byoc_infer_node(node, diag) == BYOC_OK ? node->results[0] : NULL;
}

static void erase_unused(byoc_value_t *value) {
  byoc_node_t *producer = byoc_value_producer(value);
  if (producer && value->uses.count == 0) byoc_node_erase(producer);
}

// Copies the node to the end of a block, or in front of another node, for one of the choices. The copy is not typed.
static byoc_node_t *copy_for(const choice_t *choice, int64_t chosen, byoc_block_t *block, byoc_node_t *before,
                             byoc_diag_t *diag) {
  byoc_map_t none;
  byoc_pointer_map_init(&none, choice->node->function->module->allocator);
  byoc_node_t *copy = byoc_node_clone(choice->node, block, before, &none);
  byoc_map_deinit(&none);
  if (!copy) return NULL;
  copy->results[0]->type = byoc_type_unknown();
  if (choice->lists == 0 && !byoc_attributes_set_int(&copy->attributes, BYOC_ATTRIBUTE_RESULT_RANK, chosen))
    return NULL;
  for (uint32_t i = 0; i < copy->operand_count; ++i) {
    if (!(choice->lists >> i & 1)) continue;
    byoc_value_t *list = as_long_as(copy, copy->operands[i], chosen, diag);
    if (!list || !byoc_node_set_operand(copy, i, list)) return NULL;
  }
  return copy;
}

static void erase_copy(const choice_t *choice, byoc_node_t *copy) {
  byoc_value_t *lists[32] = {NULL};
  for (uint32_t i = 0; i < copy->operand_count && i < 32; ++i) {
    if (choice->lists >> i & 1) lists[i] = copy->operands[i];
  }
  byoc_node_erase(copy);
  for (uint32_t i = 0; i < 32; ++i) {
    if (lists[i]) erase_unused(lists[i]);
  }
}

// The first node that was made for a copy: where a list gets its length.
static byoc_node_t *first_of(const choice_t *choice, byoc_node_t *copy) {
  for (uint32_t i = 0; i < copy->operand_count; ++i) {
    if (choice->lists >> i & 1) return byoc_value_producer(copy->operands[i]);
  }
  return copy;
}

// ---- which choices ----

// Does this type of the value fit the reader? The reader's own types stay as they are.
static bool fits_reader(byoc_value_t *value, const byoc_type_t *type, byoc_node_t *reader) {
  const byoc_type_t *before = value->type, *kept[8] = {NULL};
  if (reader->result_count > sizeof(kept) / sizeof(kept[0]) || reader->block_count > 0 || reader->callee) return true;
  for (uint32_t i = 0; i < reader->result_count; ++i) {
    kept[i] = reader->results[i]->type;
    reader->results[i]->type = byoc_type_unknown();
  }
  byoc_diag_t fault = {0};
  value->type = type;
  const bool is_fine = byoc_infer_node(reader, &fault) != BYOC_INVALID_DATA;
  value->type = before;
  for (uint32_t i = 0; i < reader->result_count; ++i) reader->results[i]->type = kept[i];
  return is_fine;
}

static byoc_status_t try_choice(choice_t *choice, int64_t chosen, byoc_diag_t *diag) {
  byoc_node_t *node = choice->node;
  byoc_value_t *result = node->results[0];
  byoc_diag_t fault = {0};
  byoc_node_t *copy = copy_for(choice, chosen, node->block, node, &fault);
  if (!copy) return byoc_diag_out_of_memory(diag);
  const byoc_status_t status = byoc_infer_node(copy, &fault);
  const byoc_type_t *type = copy->results[0]->type;
  erase_copy(choice, copy);
  if (status == BYOC_OUT_OF_MEMORY) return byoc_diag_out_of_memory(diag);
  bool is_fine = status == BYOC_OK;
  for (size_t u = 0; u < result->uses.count && is_fine; ++u) {
    byoc_node_t *reader = result->uses.data[u].node;
    is_fine = !reader || fits_reader(result, type, reader);
  }
  if (is_fine) choice->choices[choice->count++] = chosen;
  return BYOC_OK;
}

// ---- the branches ----

// The number of dimensions that are not 1.
static byoc_value_t *count_large(byoc_writer_t *w, byoc_value_t *x) {
  const int64_t one = 1;
  const byoc_attribute_t plain = byoc_write_int("keepdims", 0), to = byoc_write_int("to", BYOC_DTYPE_I64);
  byoc_value_t *is_one = byoc_write_plain(w, "Equal", byoc_write_plain(w, "Shape", x, NULL),
                                          byoc_write_vector(w, "one", BYOC_DTYPE_I64, 1, &one));
  byoc_value_t *stays = byoc_write_plain(w, "Not", is_one, NULL);
  return byoc_write_node(w, "", "ReduceSum", byoc_write_node(w, "", "Cast", stays, NULL, NULL, &to, 1), NULL, NULL,
                         &plain, 1);
}

static byoc_value_t *find_given(const choice_t *choice, byoc_diag_t *diag) {
  byoc_writer_t w = {.node = choice->node, .diag = diag};
  uint32_t first = 0;
  while (choice->lists != 0 && !(choice->lists >> first & 1)) ++first;
  byoc_value_t *given = choice->lists != 0 ? byoc_write_plain(&w, "Size", choice->node->operands[first], NULL)
                                           : count_large(&w, choice->node->operands[0]);
  return w.failed ? NULL : given;
}

// given == number, at the end of a block or in front of a node
static byoc_value_t *test_for(const choice_t *choice, int64_t number, byoc_block_t *block, byoc_node_t *before,
                              byoc_diag_t *diag) {
  byoc_graph_module_t *module = choice->node->function->module;
  const byoc_type_t *type = byoc_type_tensor_static(&module->arena, BYOC_DTYPE_I64, 0, NULL);
  byoc_constant_t *constant = type ? byoc_constant_create(module, "number", type, &number) : NULL;
  byoc_value_t *operands[] = {choice->given,
                              constant ? byoc_function_constant(choice->node->function, constant) : NULL};
  byoc_node_t *test = operands[1] ? byoc_op_create(block, before, "", "Equal", operands, 2, 1, diag) : NULL;
  return test ? test->results[0] : NULL;
}

// The last choice has no condition, and lists may differ in length: the error then names the operator.
static byoc_status_t require_length(const choice_t *choice, int64_t length, byoc_node_t *place, byoc_diag_t *diag) {
  const byoc_node_t *node = choice->node;
  byoc_arena_t *arena = &node->function->module->arena;
  byoc_relations_t relations = {.allocator = node->function->module->allocator};
  bool ok = true;
  for (uint32_t i = 0; i < node->operand_count && ok; ++i) {
    if (!(choice->lists >> i & 1)) continue;
    const char *name = node->operands[i]->name;
    const byoc_relation_t relation = {.kind = BYOC_RELATION_EQUAL,
                                      .left = byoc_operand_type(node, i)->dims[0],
                                      .right = byoc_dim_constant(length),
                                      .left_name =
                                          byoc_arena_format(arena, "the length of operand %u%s%s%s", (unsigned)i,
                                                            name ? " '" : "", name ? name : "", name ? "'" : "")};
    ok = relation.left_name && byoc_vector_push(&relations.items, relations.allocator, relation);
  }
  const byoc_status_t status = ok ? byoc_require_kept(place, node, &relations, diag) : byoc_diag_out_of_memory(diag);
  byoc_relations_deinit(&relations);
  return status;
}

// A copy that is typed; NULL after a failure.
static byoc_node_t *make_copy(const choice_t *choice, int64_t chosen, byoc_block_t *block, byoc_node_t *before,
                              byoc_diag_t *diag) {
  byoc_node_t *copy = copy_for(choice, chosen, block, before, diag);
  if (!copy || require_length(choice, chosen, first_of(choice, copy), diag) != BYOC_OK) return NULL;
  return byoc_infer_node(copy, diag) == BYOC_OK ? copy : NULL;
}

// The result for one of the choices from `first` on. The last one has no condition, and fails for any other length.
// NULL after a failure.
static byoc_value_t *make_branches(const choice_t *choice, size_t first, byoc_block_t *block, byoc_node_t *before,
                                   byoc_diag_t *diag) {
  if (first + 1 == choice->count) {
    byoc_node_t *only = make_copy(choice, choice->choices[first], block, before, diag);
    return only ? only->results[0] : NULL;
  }
  byoc_value_t *test = test_for(choice, choice->choices[first], block, before, diag);
  byoc_node_t *made = test ? byoc_node_create(block, before, "", "If", IF_VERSION, &test, 1, 1) : NULL;
  byoc_block_t *is = made ? byoc_node_add_block(made, "then_branch") : NULL;
  byoc_block_t *is_not = is ? byoc_node_add_block(made, "else_branch") : NULL;
  byoc_node_t *copy = is_not ? make_copy(choice, choice->choices[first], is, NULL, diag) : NULL;
  byoc_value_t *rest = copy ? make_branches(choice, first + 1, is_not, NULL, diag) : NULL;
  const bool ok = rest && byoc_block_add_result(is, NULL, copy->results[0]) &&
                  byoc_block_add_result(is_not, NULL, rest) && byoc_infer_node(made, diag) == BYOC_OK;
  return ok ? made->results[0] : NULL;
}

// Each Squeeze behind another one doubles the nodes that follow both. So deep in branches all dynamic dimensions are
// assumed to stay, and the run checks that.
static void settle_deep(choice_t *choice) {
  enum { DEEP = 4 };
  int depth = 0;
  for (const byoc_block_t *at = choice->node->block; at->owner; at = at->owner->block) {
    depth += byoc_node_is_onnx(at->owner, "If");
  }
  if (choice->lists != 0 || choice->count < 2 || depth < DEEP) return;
  char where[256];
  byoc_node_describe(choice->node, where, sizeof where);
  byoc_log(BYOC_LOG_WARNING,
           "%s: its dynamic dimensions are assumed to differ from 1, because too many ranks depend on each other",
           where);
  choice->choices[0] = choice->choices[choice->count - 1];
  choice->count = 1;
}

// Does the body of a loop give the value as its condition? A condition is a scalar.
static bool is_condition(const byoc_value_t *value, const byoc_block_t *block) {
  return block->owner && byoc_node_is_onnx(block->owner, "Loop") && block->results.count > 0 &&
         block->results.data[0] == value;
}

// The condition of a loop has rank 0, which the run checks.
static void settle_condition(choice_t *choice) {
  if (choice->lists != 0 || !is_condition(choice->node->results[0], choice->node->block)) return;
  for (size_t i = 0; i < choice->count; ++i) {
    if (choice->choices[i] != 0) continue;
    choice->choices[0] = 0;
    choice->count = 1;
  }
}

static byoc_status_t choose(byoc_node_t *node, byoc_diag_t *diag, size_t *changes) {
  choice_t choice = {.node = node};
  byoc_value_t *result = node->results[0];
  chooses_length(node, &choice.lists);
  for (int64_t chosen = 0; chosen <= LONGEST && choice.count < MOST_CHOICES; ++chosen) {
    BYOC_RETURN_IF_ERROR(try_choice(&choice, chosen, diag));
  }
  if (choice.count == 0) return BYOC_OK; // lowering reports the contradiction
  settle_condition(&choice);
  settle_deep(&choice);
  if (choice.count > 1) {
    choice.given = find_given(&choice, diag);
    if (!choice.given) return byoc_diag_failure(diag);
  }
  byoc_value_t *made = make_branches(&choice, 0, node->block, node, diag);
  if (!made) return byoc_diag_failure(diag);
  if (result->name) byoc_value_set_name(made, result->name);
  if (!byoc_value_replace_uses(result, made)) return byoc_diag_out_of_memory(diag);
  byoc_node_erase(node);
  *changes += 1;
  return BYOC_OK;
}

byoc_status_t byoc_pass_choose_lengths(byoc_graph_module_t *module, byoc_diag_t *diag, size_t *changes) {
  chooser_t c = {.diag = diag, .allocator = module->allocator};
  byoc_status_t status = BYOC_OK;
  BYOC_FOR_EACH_FUNCTION(function, module) {
    if (function->kind != BYOC_FUNCTION_GRAPH || !byoc_function_is_open(function)) continue;
    c.nodes.count = 0;
    const size_t before = *changes;
    status = find_nodes(&c, function->body);
    for (size_t i = 0; i < c.nodes.count && status == BYOC_OK; ++i) status = choose(c.nodes.data[i], diag, changes);
    if (status == BYOC_OK && *changes > before) status = byoc_infer_function(function, diag);
    if (status == BYOC_OK && *changes > before) status = byoc_infer_afresh(function, diag);
    if (status != BYOC_OK) break;
  }
  byoc_vector_deinit(&c.nodes, c.allocator);
  return status;
}
