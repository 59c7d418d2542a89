// SPDX-License-Identifier: Apache-2.0
// write-out: operators that stand for several of ai.onnx (the trait FUSED) are replaced by those before any backend
// sees them, so that rules for those match. An operator that a rule of the build names stays whole; other spellings
// (SPELLING) never do. write-out-units does the same for quantised units, and write-around-constants for operators that
// no backend claimed and that have constant operands, so that nodes that depend on constants alone can be folded.
#include "core/pass/write_out.h"

#include <stdio.h>
#include <string.h>

#include "core/ir/attribute_names.h"
#include "core/op/expand.h"
#include "core/op/util.h"
#include "core/ops/byoc/symbolic.h"
#include "core/pass/pass.h"
#include "core/pass/rewrite.h"

// ---- which operators ----

static bool has_integer_results(const byoc_node_t *node) {
  for (uint32_t r = 0; r < node->result_count; ++r) {
    const byoc_type_t *type = node->results[r]->type;
    if (!byoc_type_is_tensor(type) || !byoc_dtype_is_integer(type->dtype)) return false;
  }
  return true;
}

bool byoc_node_is_fused(const byoc_node_t *node) {
  const byoc_op_t *op = byoc_op_of(node);
  if (op == NULL || op->expand == NULL) return false;
  return (op->traits & BYOC_OP_FUSED) != 0 || ((op->traits & BYOC_OP_UNIT) != 0 && !has_integer_results(node));
}

bool byoc_node_is_named(const byoc_node_t *node, const byoc_target_list_t *targets) {
  char name[160];
  const int size = snprintf(name, sizeof(name), "%s%s%s", node->domain, node->domain[0] ? "::" : "", node->op);
  return targets != NULL && size < (int)sizeof(name) && byoc_target_list_has_rule(targets, name, 0);
}

static bool has_rule(const byoc_target_list_t *targets, const char *op) {
  return targets != NULL && byoc_target_list_has_rule(targets, op, 0);
}

static bool is_wide_product(const byoc_node_t *node) {
  return byoc_node_is(node, "byoc", "QLinearConv") || byoc_node_is(node, "byoc", "QLinearMatMul") ||
         byoc_node_is(node, "byoc", "QLinearConvTranspose");
}

bool byoc_node_is_open_unit(const byoc_node_t *node, const byoc_target_list_t *targets) {
  enum { WEIGHTS = 3, PREFIX = sizeof("QLinear") - 1 };
  if (!is_wide_product(node)) return false;
  bool is_bytes = true, has_words = false;
  const byoc_type_t *types[] = {byoc_operand_type(node, 0), byoc_operand_type(node, WEIGHTS), node->results[0]->type};
  for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); ++i) {
    is_bytes = is_bytes && byoc_type_is_tensor(types[i]) && byoc_dtype_is_byte(types[i]->dtype);
    has_words |= byoc_type_is_tensor(types[i]) && byoc_dtype_is_word(types[i]->dtype);
  }
  if (is_bytes) return false;
  return has_rule(targets, node->op + PREFIX) || (!has_words && has_rule(targets, node->op));
}

// ---- replacing ----

// The new operators may ask less of the operands than the node does: relations that only the run can check stay as a
// Require in front of them.
static byoc_status_t keep_relations(byoc_node_t *node, byoc_node_t *first, byoc_diag_t *diag) {
  byoc_relations_t relations = {.allocator = node->function->module->allocator};
  byoc_status_t status = byoc_infer_relations(node, diag, &relations);
  if (status == BYOC_OK) status = byoc_require_kept(first, node, &relations, diag);
  byoc_relations_deinit(&relations);
  return status;
}

// The targets that declined the node are not asked about its parts, nor is any if a backend handed it back.
static byoc_status_t keep_declines(const byoc_node_t *node, byoc_node_t *first, byoc_diag_t *diag) {
  size_t count = 0;
  const bool is_answered = byoc_attributes_int(&node->attributes, BYOC_ATTRIBUTE_ANSWERED, 0) != 0;
  for (byoc_node_t *made = first; is_answered && made != node; made = made->next) {
    if (!byoc_attributes_set_int(&made->attributes, BYOC_ATTRIBUTE_ANSWERED, 1)) return byoc_diag_out_of_memory(diag);
  }
  const int64_t *targets = byoc_attributes_ints(&node->attributes, BYOC_ATTRIBUTE_DECLINED_BY, &count);
  for (byoc_node_t *made = first; count > 0 && made != node; made = made->next) {
    if (!byoc_attributes_set_ints(&made->attributes, BYOC_ATTRIBUTE_DECLINED_BY, targets, count)) {
      return byoc_diag_out_of_memory(diag);
    }
  }
  return BYOC_OK;
}

// Is it what most of the work is?
static bool is_main(const byoc_node_t *node) {
  const byoc_op_t *op = byoc_op_of(node);
  return op != NULL && op->work != BYOC_WORK_USUAL && op->work != BYOC_WORK_TRANSCENDENTAL;
}

// One of the new nodes gets the node's name, so that people find it again: the first product or convolution, otherwise
// the last one.
static byoc_status_t keep_name(const byoc_node_t *node, byoc_node_t *first, byoc_diag_t *diag) {
  byoc_node_t *heir = NULL;
  for (byoc_node_t *made = first; made != node; made = made->next) {
    if (made->name[0] != '\0') return BYOC_OK;
    if (heir == NULL || !is_main(heir)) heir = made;
  }
  const bool is_named = heir == NULL || node->name[0] == '\0' || byoc_node_set_name(heir, node->name);
  return is_named ? BYOC_OK : byoc_diag_out_of_memory(diag);
}

// Replaces a node by simpler ones if its row has a function for that; counts that as a change.
static byoc_status_t replace(byoc_node_t *node, byoc_diag_t *diag, size_t *changes) {
  byoc_node_t *before = node->previous;
  bool expanded = false;
  BYOC_RETURN_IF_ERROR(byoc_op_expand(node, diag, &expanded));
  if (!expanded) return BYOC_OK;
  byoc_node_t *first = before ? before->next : node->block->first;
  BYOC_RETURN_IF_ERROR(keep_declines(node, first, diag));
  BYOC_RETURN_IF_ERROR(keep_name(node, first, diag));
  BYOC_RETURN_IF_ERROR(byoc_pass_keep_limits(node, first, diag));
  BYOC_RETURN_IF_ERROR(keep_relations(node, first, diag));
  byoc_node_erase(node);
  *changes += 1;
  return BYOC_OK;
}

// No pass shall make the unit again.
static byoc_status_t remember_unit(byoc_node_t *node, byoc_diag_t *diag) {
  byoc_attributes_t *attributes = &node->function->module->attributes;
  if (!is_wide_product(node) || byoc_attributes_set_int(attributes, BYOC_ATTRIBUTE_UNITS_WRITTEN, 1)) return BYOC_OK;
  return byoc_diag_out_of_memory(diag);
}

typedef struct wanted_t {
  bool (*wants)(void *self, const byoc_node_t *node);
  void *self;
} wanted_t;

static byoc_status_t visit(byoc_node_t *node, void *self, byoc_diag_t *diag, size_t *changes) {
  const wanted_t *wanted = self;
  if (!wanted->wants(wanted->self, node)) return BYOC_OK;
  BYOC_RETURN_IF_ERROR(remember_unit(node, diag));
  return replace(node, diag, changes);
}

byoc_status_t byoc_write_out_where(byoc_function_t *function, bool (*wants)(void *self, const byoc_node_t *node),
                                   void *self, byoc_diag_t *diag, size_t *changes) {
  wanted_t wanted = {wants, self};
  size_t before = 0;
  do {
    before = *changes;
    BYOC_RETURN_IF_ERROR_IN(diag, byoc_pass_visit_block(function->body, visit, &wanted, diag, changes), "in '%s'",
                            function->name);
  } while (*changes != before);
  return BYOC_OK;
}

// ---- the passes ----

static bool is_not_for_rules(void *self, const byoc_node_t *node) {
  if (byoc_node_has_trait(node, BYOC_OP_SPELLING)) return true;
  return byoc_node_is_fused(node) && !byoc_node_is_named(node, self);
}

byoc_status_t byoc_pass_write_out(byoc_graph_module_t *module, const byoc_pass_arguments_t *arguments,
                                  byoc_diag_t *diag, size_t *changes) {
  BYOC_FOR_EACH_FUNCTION(function, module) {
    if (function->kind != BYOC_FUNCTION_GRAPH) continue;
    BYOC_RETURN_IF_ERROR(
        byoc_write_out_where(function, is_not_for_rules, (void *)(uintptr_t)arguments->targets, diag, changes));
  }
  return BYOC_OK;
}

// Functions that no backend has taken.
static byoc_status_t write_out_left(byoc_graph_module_t *module, bool (*wants)(void *self, const byoc_node_t *node),
                                    byoc_diag_t *diag, size_t *changes) {
  BYOC_FOR_EACH_FUNCTION(function, module) {
    const bool is_claimed =
        byoc_function_is_region(function) || byoc_function_has_flag(function, BYOC_ATTRIBUTE_EXTERN);
    if (function->kind != BYOC_FUNCTION_GRAPH || is_claimed) continue;
    BYOC_RETURN_IF_ERROR(byoc_write_out_where(function, wants, NULL, diag, changes));
  }
  return BYOC_OK;
}

static bool is_unit(void *self, const byoc_node_t *node) {
  (void)self;
  return byoc_node_has_trait(node, BYOC_OP_UNIT | BYOC_OP_FUSED | BYOC_OP_SPELLING);
}

byoc_status_t byoc_pass_write_out_units(byoc_graph_module_t *module, byoc_diag_t *diag, size_t *changes) {
  return write_out_left(module, is_unit, diag, changes);
}

static bool has_constants(void *self, const byoc_node_t *node) {
  (void)self;
  for (uint32_t i = 0; i < node->operand_count; ++i) {
    if (node->operands[i] && byoc_value_is_constant(node->operands[i])) return true;
  }
  return false;
}

byoc_status_t byoc_pass_write_around_constants(byoc_graph_module_t *module, byoc_diag_t *diag, size_t *changes) {
  return write_out_left(module, has_constants, diag, changes);
}
