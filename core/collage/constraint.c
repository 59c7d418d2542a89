// Which targets may take a node, and whether every node that is bound to a target was taken by it.
#include "core/collage/constraint.h"

#include <string.h>

#include "core/ir/attribute_names.h"

bool byoc_target_may_take(const byoc_target_t *target, const byoc_node_t *node) {
  if (node->callee != NULL) return false;
  size_t count = 0;
  const int64_t *gave_back = byoc_attributes_ints(&node->attributes, BYOC_ATTRIBUTE_GIVEN_BACK_BY, &count);
  for (size_t i = 0; i < count; ++i) {
    if (gave_back[i] == target->index) return false;
  }
  for (uint32_t r = 0; r < node->result_count; ++r) {
    const char *wanted = node->results[r]->device.target;
    if (wanted != NULL && strcmp(wanted, target->kind->name) != 0) return false;
  }
  return true;
}

const char *byoc_node_bound_to(const byoc_node_t *node) {
  for (uint32_t r = 0; r < node->result_count; ++r) {
    if (node->results[r]->device.target != NULL) return node->results[r]->device.target;
  }
  return NULL;
}

// ---- checks ----

typedef struct check_t {
  const byoc_target_list_t *targets;
  const byoc_placement_t *placement; // NULL: check only that the targets are known
  bool is_first_round;
  byoc_diag_t *diag;
  byoc_status_t status;
} check_t;

static const byoc_target_t *find_target(const check_t *c, const char *kind) {
  for (size_t t = 0; t < c->targets->targets.count; ++t) {
    if (strcmp(c->targets->targets.data[t]->kind->name, kind) == 0) return c->targets->targets.data[t];
  }
  return NULL;
}

static bool check_known(void *self, byoc_node_t *node) {
  check_t *c = self;
  for (uint32_t r = 0; r < node->result_count; ++r) {
    const char *bound = node->results[r]->device.target;
    if (bound == NULL || find_target(c, bound) != NULL) continue;
    char text[160];
    byoc_node_describe(node, text, sizeof(text));
    c->status =
        byoc_diag_error(c->diag, BYOC_INVALID_ARGUMENT,
                        "%s is bound to target '%s', which is not among the targets of this build", text, bound);
    byoc_diag_hint(c->diag, "add --target %s, or take the target out of the value's \"on {...}\"", bound);
    return false;
  }
  return true;
}

static bool was_given_back(const byoc_node_t *node) {
  return byoc_attributes_find(&node->attributes, BYOC_ATTRIBUTE_GIVEN_BACK_BY) != NULL;
}

static const char *find_reason(const check_t *c, const byoc_node_t *node, const char *bound) {
  for (size_t d = 0; d < c->placement->declines.count; ++d) {
    const byoc_decline_t *decline = &c->placement->declines.data[d];
    if (decline->node == node && strcmp(decline->target->kind->name, bound) == 0) return decline->reason;
  }
  return was_given_back(node) ? "it gave the node back" : "none of its rules takes it";
}

static bool check_met(void *self, byoc_node_t *node) {
  check_t *c = self;
  const char *bound = node->callee == NULL ? byoc_node_bound_to(node) : NULL;
  const byoc_target_t *target = bound != NULL ? find_target(c, bound) : NULL;
  if (target == NULL || target->kind->backend == NULL) return true;
  if (!c->is_first_round && !was_given_back(node)) return true;
  char text[160];
  byoc_node_describe(node, text, sizeof(text));
  c->status = byoc_diag_error(c->diag, BYOC_UNSUPPORTED, "%s is bound to target '%s', which does not take it: %s", text,
                              bound, find_reason(c, node, bound));
  return false;
}

static byoc_status_t check_all(const byoc_graph_module_t *module, check_t *c, bool (*check)(void *, byoc_node_t *)) {
  for (size_t f = 0; f < module->functions.count && c->status == BYOC_OK; ++f) {
    const byoc_function_t *function = module->functions.data[f];
    if (byoc_function_is_open(function)) (void)byoc_block_walk(function->body, check, c);
  }
  return c->status;
}

byoc_status_t byoc_targets_check_bound(const byoc_graph_module_t *module, const byoc_target_list_t *targets,
                                       byoc_diag_t *diag) {
  check_t check = {.targets = targets, .diag = diag};
  return check_all(module, &check, check_known);
}

byoc_status_t byoc_placement_check_bound(const byoc_graph_module_t *module, const byoc_target_list_t *targets,
                                         const byoc_placement_t *placement, bool is_first_round, byoc_diag_t *diag) {
  check_t check = {.targets = targets, .placement = placement, .is_first_round = is_first_round, .diag = diag};
  return check_all(module, &check, check_met);
}
