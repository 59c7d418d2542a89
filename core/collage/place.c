#include "core/collage/place.h"

#include <string.h>

#include "core/base/log.h"
#include "core/collage/claims.h"
#include "core/collage/composite.h"
#include "core/ir/outline.h"
#include "core/plugin/pattern.h"

void byoc_placement_init(byoc_placement_t *placement, byoc_allocator_t allocator) {
  *placement = (byoc_placement_t){0};
  byoc_arena_init(&placement->arena, allocator);
}

void byoc_placement_deinit(byoc_placement_t *placement) {
  byoc_vector_deinit(&placement->regions, placement->arena.allocator);
  byoc_vector_deinit(&placement->declines, placement->arena.allocator);
  byoc_arena_deinit(&placement->arena);
}

typedef struct placer_t {
  byoc_graph_module_t *module;
  byoc_claims_t claims;
  byoc_placement_t *placement;
  const byoc_target_t *target; // whose rules are being tried
  byoc_diag_t *diag;
} placer_t;

// The `index`-th rule of a backend, whatever the size of its struct was when the plugin was built.
static byoc_rule_t rule_at(const byoc_backend_t *backend, uint32_t index) {
  const char *source = (const char *)backend->rules + (size_t)index * backend->rule_stride;
  byoc_rule_t rule = {0};
  memcpy(&rule, source, backend->rule_stride < sizeof(rule) ? backend->rule_stride : sizeof(rule));
  return rule;
}

// ---- claiming ----

// Did this target take the node once and give it back?
static bool was_given_back(const placer_t *p, const byoc_node_t *node) {
  size_t count = 0;
  const int64_t *targets = byoc_attributes_ints(&node->attributes, BYOC_ATTRIBUTE_GIVEN_BACK_BY, &count);
  for (size_t i = 0; i < count; ++i) {
    if (targets[i] == p->target->index) return true;
  }
  return false;
}

static bool is_free(void *self, const byoc_node_t *node) {
  const placer_t *p = self;
  return byoc_claims_owner(&p->claims, node->mark) == NULL && node->callee == NULL && !was_given_back(p, node);
}

static byoc_status_t note_decline(placer_t *p, const byoc_node_t *node, const byoc_rule_t *rule, const char *reason) {
  byoc_arena_t *arena = &p->placement->arena;
  char description[160];
  byoc_node_describe(node, description, sizeof(description));
  byoc_decline_t decline = {.node = node,
                            .node_text = byoc_arena_copy_string(arena, description),
                            .target = p->target,
                            .rule = byoc_arena_copy_string(arena, rule->name ? rule->name : ""),
                            .reason = byoc_arena_copy_string(arena, reason[0] ? reason : "no reason was given")};
  if (decline.node_text == NULL || decline.rule == NULL || decline.reason == NULL ||
      !byoc_vector_push(&p->placement->declines, arena->allocator, decline)) {
    return byoc_diag_out_of_memory(p->diag);
  }
  return BYOC_OK;
}

static byoc_status_t ask(placer_t *p, const byoc_rule_t *rule, byoc_node_t *const *nodes, size_t node_count,
                         const byoc_region_binding_t *bindings, size_t binding_count, bool *out_accepted) {
  *out_accepted = true;
  if (rule->accept == NULL) return BYOC_OK;
  byoc_region_t region = {.target = p->target,
                          .nodes = nodes,
                          .node_count = node_count,
                          .bindings = bindings,
                          .binding_count = binding_count};
  *out_accepted = rule->accept(p->target->kind->backend->self, &region) != 0;
  return *out_accepted ? BYOC_OK : note_decline(p, nodes[node_count - 1], rule, region.reason);
}

static byoc_status_t copy_rule(placer_t *p, const byoc_rule_t *rule, const byoc_rule_t **out_rule) {
  byoc_rule_t *copy = byoc_arena_copy(&p->claims.arena, rule, sizeof(*rule));
  *out_rule = copy;
  return copy ? BYOC_OK : byoc_diag_out_of_memory(p->diag);
}

// A pattern rule claims its matches, the ones nearest to the results first, so that the largest go first.
static byoc_status_t claim_matches(placer_t *p, const byoc_rule_t *rule) {
  const byoc_pattern_t *pattern = NULL;
  BYOC_RETURN_IF_ERROR(byoc_pattern_parse(rule->pattern, rule->name, &p->claims.arena, p->diag, &pattern));
  byoc_match_t match;
  byoc_match_init(&match, p->claims.allocator);
  byoc_status_t status = BYOC_OK;
  for (size_t n = p->claims.node_count; n > 0 && status == BYOC_OK; --n) {
    byoc_node_t *root = p->claims.nodes[n - 1];
    bool failed = false, accepted = false;
    byoc_claim_t *claim = NULL;
    if (!is_free(p, root)) continue;
    bool matched = byoc_pattern_match(pattern, root, is_free, p, &match, &failed);
    if (failed) status = byoc_diag_out_of_memory(p->diag);
    if (!matched || status != BYOC_OK) continue;
    status = ask(p, rule, match.nodes.data, match.nodes.count, match.bindings.data, match.bindings.count, &accepted);
    if (!accepted || status != BYOC_OK) continue;
    status = byoc_claims_add(&p->claims, p->target, rule, match.nodes.data, match.nodes.count, p->diag, &claim);
  }
  byoc_match_deinit(&match);
  return status;
}

static bool is_listed(const byoc_rule_t *rule, const byoc_node_t *node) {
  for (uint64_t i = 0; i < rule->operators.count; ++i) {
    const char *listed = rule->operators.items[i], *separator = strstr(listed, "::");
    size_t domain_size = separator ? (size_t)(separator - listed) : 0;
    const char *name = separator ? separator + 2 : listed;
    if (strcmp(node->op, name) == 0 && strlen(node->domain) == domain_size &&
        strncmp(node->domain, listed, domain_size) == 0) {
      return true;
    }
  }
  return false;
}

// A group rule claims each node that it accepts; joining makes groups of them.
static byoc_status_t claim_nodes(placer_t *p, const byoc_rule_t *rule) {
  for (size_t n = 0; n < p->claims.node_count; ++n) {
    byoc_node_t *node = p->claims.nodes[n];
    bool accepted = false;
    byoc_claim_t *claim = NULL;
    if (!is_free(p, node) || !is_listed(rule, node)) continue;
    BYOC_RETURN_IF_ERROR(ask(p, rule, &node, 1, NULL, 0, &accepted));
    if (!accepted) continue;
    BYOC_RETURN_IF_ERROR(byoc_claims_add(&p->claims, p->target, rule, &node, 1, p->diag, &claim));
  }
  return BYOC_OK;
}

// ---- outlining ----

static byoc_status_t mark_function(placer_t *p, byoc_function_t *function, const byoc_claim_t *claim, bool is_region) {
  byoc_attributes_t *attributes = &function->attributes;
  bool is_match = claim->rule->pattern != NULL && (!is_region || claim->part_count == 1);
  bool ok = byoc_attributes_set_int(attributes, "Primitive", 1);
  if (is_match) ok = ok && byoc_attributes_set_string(attributes, "Composite", claim->rule->name);
  if (is_region) {
    ok = ok && byoc_attributes_set_string(attributes, "Compiler", claim->target->kind->name) &&
         byoc_attributes_set_int(attributes, "Target", claim->target->index) &&
         byoc_attributes_set_string(attributes, "global_symbol", function->name);
  }
  return ok ? BYOC_OK : byoc_diag_out_of_memory(p->diag);
}

static unsigned outline_flags(const byoc_rule_t *rule) {
  return rule->flags & BYOC_RULE_PASS_CONSTANTS ? BYOC_OUTLINE_PASS_CONSTANTS : 0;
}

// The nodes that one claim was made with, in topological order.
static size_t nodes_of_part(const placer_t *p, const byoc_claim_t *part, byoc_node_t **out_nodes) {
  size_t count = 0;
  for (size_t n = 0; n < p->claims.node_count; ++n) {
    if (p->claims.owners[n] == part) out_nodes[count++] = p->claims.nodes[n];
  }
  return count;
}

// Each match of a merged region becomes a composite function; afterwards `nodes` holds the calls, in block order.
static byoc_status_t outline_parts(placer_t *p, const byoc_claim_t *region, byoc_node_t **nodes, size_t *out_count) {
  byoc_map_t calls;
  byoc_pointer_map_init(&calls, p->claims.allocator);
  byoc_status_t status = BYOC_OK;
  for (size_t c = 0; c < p->claims.claims.count && status == BYOC_OK; ++c) {
    byoc_claim_t *part = p->claims.claims.data[c];
    if (byoc_claim_representative(part) != region) continue;
    size_t count = nodes_of_part(p, part, nodes);
    byoc_function_t *function = NULL;
    byoc_node_t *call = NULL;
    status = byoc_outline_nodes(nodes, count, part->rule->name, outline_flags(part->rule), p->diag, &function, &call);
    byoc_claim_t alone = {.target = part->target, .rule = part->rule, .part_count = 1};
    if (status == BYOC_OK) status = byoc_composite_lift_constants(function, call, part->rule, p->diag);
    if (status == BYOC_OK) status = mark_function(p, function, &alone, false);
    if (status == BYOC_OK && !byoc_pointer_map_put(&calls, call, call)) status = byoc_diag_out_of_memory(p->diag);
  }
  *out_count = 0;
  BYOC_FOR_EACH_NODE(node, p->claims.block) {
    if (byoc_pointer_map_get(&calls, node) != NULL) nodes[(*out_count)++] = node;
  }
  byoc_map_deinit(&calls);
  return status;
}

static byoc_status_t outline_region(placer_t *p, const byoc_claim_t *claim, byoc_node_t **nodes) {
  size_t count = claim->nodes.count;
  if (claim->rule->pattern != NULL && claim->part_count > 1) {
    BYOC_RETURN_IF_ERROR(outline_parts(p, claim, nodes, &count));
  } else {
    for (size_t i = 0; i < count; ++i) nodes[i] = p->claims.nodes[claim->nodes.data[i]];
  }
  byoc_placement_region_t region = {.target = claim->target, .node_count = claim->nodes.count};
  char *name =
      byoc_arena_format(&p->placement->arena, "%s_%zu", claim->target->kind->name, p->placement->regions.count);
  if (name == NULL) return byoc_diag_out_of_memory(p->diag);
  byoc_node_t *call = NULL;
  BYOC_RETURN_IF_ERROR(
      byoc_outline_nodes(nodes, count, name, outline_flags(claim->rule), p->diag, &region.function, &call));
  BYOC_RETURN_IF_ERROR(mark_function(p, region.function, claim, true));
  return byoc_vector_push(&p->placement->regions, p->placement->arena.allocator, region)
             ? BYOC_OK
             : byoc_diag_out_of_memory(p->diag);
}

// Regions in the order of their first nodes.
static byoc_status_t outline_all(placer_t *p) {
  byoc_node_t **nodes = BYOC_ARENA_ARRAY(&p->claims.arena, byoc_node_t *, p->claims.node_count);
  if (nodes == NULL) return byoc_diag_out_of_memory(p->diag);
  for (size_t n = 0; n < p->claims.node_count; ++n) {
    const byoc_claim_t *claim = byoc_claims_owner(&p->claims, n);
    if (claim == NULL && p->claims.nodes[n]->callee == NULL) p->placement->left_over_count += 1;
    if (claim == NULL || claim->nodes.data[0] != n) continue;
    BYOC_RETURN_IF_ERROR(outline_region(p, claim, nodes));
  }
  return BYOC_OK;
}

// ---- walking ----

static byoc_status_t apply_rules(placer_t *p, const byoc_target_t *target) {
  const byoc_backend_t *backend = target->kind->backend;
  if (backend == NULL) return BYOC_OK; // the native target takes what is left over
  p->target = target;
  for (uint32_t r = 0; r < backend->rule_count; ++r) {
    byoc_rule_t rule = rule_at(backend, r);
    const byoc_rule_t *kept = NULL;
    BYOC_RETURN_IF_ERROR(copy_rule(p, &rule, &kept));
    BYOC_RETURN_IF_ERROR_IN(p->diag, kept->pattern ? claim_matches(p, kept) : claim_nodes(p, kept),
                            "target '%s', rule '%s'", target->kind->name, kept->name ? kept->name : "");
  }
  return BYOC_OK;
}

static byoc_status_t place_block(placer_t *p, byoc_block_t *block, const byoc_target_list_t *targets) {
  BYOC_FOR_EACH_NODE(node, block) {
    for (uint32_t b = 0; b < node->block_count; ++b) BYOC_RETURN_IF_ERROR(place_block(p, node->blocks[b], targets));
  }
  byoc_status_t status = byoc_claims_init(&p->claims, block, p->module->allocator, p->diag);
  for (size_t t = 0; t < targets->targets.count && status == BYOC_OK; ++t) {
    status = apply_rules(p, targets->targets.data[t]);
  }
  if (status == BYOC_OK) status = byoc_claims_join_neighbours(&p->claims, p->diag);
  if (status == BYOC_OK) status = outline_all(p);
  byoc_claims_deinit(&p->claims);
  return status;
}

static bool is_region(void *self, const byoc_function_t *function) {
  (void)self;
  return byoc_attributes_find(&function->attributes, "Compiler") != NULL;
}

static void follow_merge(void *self, byoc_function_t *kept, byoc_function_t *erased) {
  byoc_placement_t *placement = self;
  for (size_t r = 0; r < placement->regions.count; ++r) {
    if (placement->regions.data[r].function == erased) placement->regions.data[r].function = kept;
  }
}

byoc_status_t byoc_place_greedy(byoc_graph_module_t *module, const byoc_target_list_t *targets, byoc_diag_t *diag,
                                byoc_placement_t *placement) {
  placer_t p = {.module = module, .placement = placement, .diag = diag};
  size_t function_count = module->functions.count; // outlined ones are added behind
  placement->left_over_count = 0;
  for (size_t f = 0; f < function_count; ++f) {
    byoc_function_t *function = module->functions.data[f];
    bool is_open = function->kind == BYOC_FUNCTION_GRAPH &&
                   byoc_attributes_find(&function->attributes, "Compiler") == NULL &&
                   byoc_attributes_find(&function->attributes, "Composite") == NULL;
    if (!is_open) continue;
    BYOC_RETURN_IF_ERROR_IN(diag, place_block(&p, function->body, targets), "placing '%s'", function->name);
  }
  size_t merged = 0; // equal regions are compiled once
  return byoc_merge_equal_functions(module, is_region, follow_merge, placement, diag, &merged);
}
