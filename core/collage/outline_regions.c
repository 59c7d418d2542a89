// SPDX-License-Identifier: Apache-2.0
// Makes of a candidate the function that its backend sees.
#include "core/collage/outline_regions.h"

#include "core/collage/composite.h"
#include "core/ir/attribute_names.h"
#include "core/ir/outline.h"
#include "core/plugin/accepted_match.h"

// The nodes of a set, and room for as many more.
static byoc_node_t **list_nodes(byoc_node_t *const *nodes, const byoc_index_set_t *set, byoc_allocator_t allocator) {
  byoc_node_t **list = byoc_allocate(allocator, (size_t)set->count * 2, sizeof(byoc_node_t *));
  for (uint32_t i = 0; list != NULL && i < set->count; ++i) list[i] = nodes[set->items[i]];
  return list;
}

static bool mark_match(byoc_function_t *function, const byoc_candidate_t *candidate) {
  byoc_attributes_t *attributes = &function->attributes;
  return byoc_attributes_set_int(attributes, BYOC_ATTRIBUTE_PRIMITIVE, 1) &&
         (candidate->composite == NULL ||
          byoc_attributes_set_string(attributes, BYOC_ATTRIBUTE_COMPOSITE, candidate->composite)) &&
         (!byoc_rule_is_claim(candidate->definition) ||
          byoc_attributes_set_string(attributes, BYOC_ATTRIBUTE_CLAIM, candidate->definition->name)) &&
         (candidate->match_number == 0 ||
          byoc_attributes_set_int(attributes, BYOC_ATTRIBUTE_MATCH, candidate->match_number));
}

static bool mark_region(byoc_function_t *function, const byoc_candidate_t *candidate, const byoc_target_t *target) {
  byoc_attributes_t *attributes = &function->attributes;
  return mark_match(function, candidate) &&
         byoc_attributes_set_string(attributes, BYOC_ATTRIBUTE_COMPILER, target->kind->name) &&
         byoc_attributes_set_int(attributes, BYOC_ATTRIBUTE_TARGET, target->index) &&
         byoc_attributes_set_string(attributes, BYOC_ATTRIBUTE_GLOBAL_SYMBOL, function->name);
}

static unsigned outline_flags(const byoc_candidate_t *candidate) {
  bool passes = candidate->definition != NULL && (candidate->definition->flags & BYOC_RULE_PASS_CONSTANTS) != 0;
  return passes ? BYOC_OUTLINE_PASS_CONSTANTS : 0;
}

// Outlines one part of a region within the region's function; `inner` are the function's nodes, in the region's order.
static byoc_status_t outline_part(byoc_node_t *const *inner, const byoc_candidate_t *region,
                                  const byoc_candidate_t *part, byoc_node_t **scratch, byoc_diag_t *diag) {
  uint32_t count = 0;
  for (uint32_t i = 0; i < region->nodes.count; ++i) {
    if (byoc_index_set_contains(&part->nodes, region->nodes.items[i])) scratch[count++] = inner[i];
  }
  byoc_function_t *function = NULL;
  byoc_node_t *call = NULL;
  BYOC_RETURN_IF_ERROR(byoc_outline_nodes(scratch, count, part->rule, outline_flags(part), diag, &function, &call));
  if (!mark_match(function, part)) return byoc_diag_out_of_memory(diag);
  BYOC_RETURN_IF_ERROR(byoc_composite_note_passed(function, call, part->definition, diag));
  return byoc_composite_lift_constants(function, call, part->definition, diag);
}

static byoc_status_t outline_parts(byoc_function_t *function, const byoc_candidate_t *region, byoc_node_t **inner,
                                   byoc_diag_t *diag) {
  uint32_t count = 0;
  BYOC_FOR_EACH_NODE(node, function->body) inner[count++] = node;
  for (uint32_t p = 0; p < region->part_count; ++p) {
    if (region->parts[p]->composite == NULL) continue;
    BYOC_RETURN_IF_ERROR(outline_part(inner, region, region->parts[p], inner + region->nodes.count, diag));
  }
  return BYOC_OK;
}

byoc_status_t byoc_outline_candidate(byoc_node_t *const *nodes, const byoc_candidate_t *candidate,
                                     const byoc_target_t *target, const char *name, byoc_diag_t *diag,
                                     byoc_function_t **out_function, byoc_node_t **out_call) {
  *out_function = NULL;
  *out_call = NULL;
  byoc_allocator_t allocator = nodes[candidate->nodes.items[0]]->function->module->allocator;
  byoc_node_t **list = list_nodes(nodes, &candidate->nodes, allocator);
  if (list == NULL) return byoc_diag_out_of_memory(diag);
  byoc_status_t status =
      byoc_outline_nodes(list, candidate->nodes.count, name, outline_flags(candidate), diag, out_function, out_call);
  if (status == BYOC_OK && candidate->composite != NULL) {
    status = byoc_composite_note_passed(*out_function, *out_call, candidate->definition, diag);
  }
  if (status == BYOC_OK) status = outline_parts(*out_function, candidate, list, diag);
  if (status == BYOC_OK && !mark_region(*out_function, candidate, target)) status = byoc_diag_out_of_memory(diag);
  byoc_free(allocator, list);
  return status;
}

// f(%x) { g(%x, @c) } → f(%x) { h(%x, @c) }, h(%x, %c) { g(%x, %c) }: the region gets its constants as arguments.
static byoc_status_t pass_constants(byoc_function_t *copy, const byoc_candidate_t *candidate, byoc_node_t **scratch,
                                    byoc_diag_t *diag, byoc_function_t **out_region) {
  uint32_t count = 0;
  byoc_node_t *call = NULL;
  BYOC_FOR_EACH_NODE(node, copy->body) scratch[count++] = node;
  BYOC_RETURN_IF_ERROR(
      byoc_outline_nodes(scratch, count, candidate->rule, BYOC_OUTLINE_PASS_CONSTANTS, diag, out_region, &call));
  if (candidate->composite != NULL) {
    BYOC_RETURN_IF_ERROR(byoc_composite_note_passed(*out_region, call, candidate->definition, diag));
  }
  return byoc_attributes_set_int(&copy->attributes, BYOC_ATTRIBUTE_INLINE, 1) ? BYOC_OK : byoc_diag_out_of_memory(diag);
}

// Sets the attributes that a backend's region has and the native target's nodes do not have.
static byoc_status_t make_region(byoc_function_t *copy, const byoc_candidate_t *candidate, byoc_node_t **scratch,
                                 byoc_diag_t *diag) {
  byoc_function_t *region = copy;
  if ((outline_flags(candidate) & BYOC_OUTLINE_PASS_CONSTANTS) && copy->constants.count > 0) {
    BYOC_RETURN_IF_ERROR(pass_constants(copy, candidate, scratch, diag, &region));
  }
  BYOC_RETURN_IF_ERROR(outline_parts(region, candidate, scratch, diag));
  return mark_match(region, candidate) ? BYOC_OK : byoc_diag_out_of_memory(diag);
}

byoc_status_t byoc_outline_candidate_copy(byoc_node_t *const *nodes, const byoc_candidate_t *candidate,
                                          const byoc_target_t *target, byoc_diag_t *diag,
                                          byoc_function_t **out_function) {
  *out_function = NULL;
  byoc_allocator_t allocator = nodes[candidate->nodes.items[0]]->function->module->allocator;
  byoc_node_t **list = list_nodes(nodes, &candidate->nodes, allocator);
  if (list == NULL) return byoc_diag_out_of_memory(diag);
  byoc_status_t status = byoc_outline_copy(list, candidate->nodes.count, candidate->rule, 0, diag, out_function);
  bool is_native = target->kind->backend == NULL;
  if (status == BYOC_OK && !is_native) status = make_region(*out_function, candidate, list, diag);
  byoc_free(allocator, list);
  return status;
}

byoc_function_t *byoc_candidate_region(const byoc_function_t *function) {
  const byoc_node_t *first = function->body->first;
  bool is_passed = byoc_attributes_int(&function->attributes, BYOC_ATTRIBUTE_INLINE, 0) != 0 && first != NULL;
  return is_passed && first->callee != NULL ? first->callee : (byoc_function_t *)(uintptr_t)function;
}

void byoc_erase_candidate(byoc_function_t *function) {
  byoc_graph_module_t *module = function->module;
  byoc_function_t *last = NULL;
  do { // its composites were added after it
    last = module->functions.data[module->functions.count - 1];
    byoc_function_erase(last);
  } while (last != function);
}
