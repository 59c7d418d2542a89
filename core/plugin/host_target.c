// SPDX-License-Identifier: Apache-2.0
// The target and region tables, by which hooks read targets and matches.
#include <string.h>

#include "core/plugin/host.h"
#include "core/plugin/region.h"
#include "core/targets/cpu.h"
#include "core/targets/target.h"

static const char *target_kind(const byoc_target_t *target) {
  return target != NULL ? target->kind->name : "";
}

static const char *target_text(const byoc_target_t *target) {
  return target != NULL ? target->text : "";
}

static int32_t target_option_cpu_has(const byoc_target_t *target, const char *name, const char *features,
                                     const char *vendor) {
  byoc_diag_t unused = {0};
  uint64_t wanted = 0;
  char here[13];
  if (target == NULL || name == NULL || features == NULL || vendor == NULL) return 0;
  if (byoc_cpu_parse_list(features, &unused, &wanted) != BYOC_OK) return 0;
  if ((wanted & ~byoc_target_cpu_features(target, name)) != 0) return 0;
  const bool is_native = strcmp(byoc_target_option_cpu(target, name), "native") == 0;
  return vendor[0] == '\0' || (is_native && strcmp(byoc_cpu_vendor(here), vendor) == 0);
}

const byoc_target_api_t *byoc_host_target_api(void) {
  static const byoc_target_api_t api = {
      .header = BYOC_HEADER(byoc_target_api_t, 1),
      .kind = target_kind,
      .text = target_text,
      .option_int = byoc_target_option_int,
      .option_float = byoc_target_option_float,
      .option_string = byoc_target_option_string,
      .option_cpu_has = target_option_cpu_has,
  };
  return &api;
}

static const byoc_target_t *region_target(const byoc_region_t *region) {
  return region != NULL ? region->target : NULL;
}

static uint64_t region_node_count(const byoc_region_t *region) {
  return region != NULL ? region->node_count : 0;
}

static byoc_node_t *region_node_at(const byoc_region_t *region, uint64_t index) {
  return region != NULL && index < region->node_count ? region->nodes[index] : NULL;
}

static const byoc_region_binding_t *find_binding(const byoc_region_t *region, const char *name) {
  if (region == NULL || name == NULL) return NULL;
  for (size_t i = 0; i < region->binding_count; ++i) {
    if (strcmp(region->bindings[i].name, name) == 0) return &region->bindings[i];
  }
  return NULL;
}

static byoc_node_t *region_node(const byoc_region_t *region, const char *name) {
  const byoc_region_binding_t *binding = find_binding(region, name);
  return binding != NULL ? binding->node : NULL;
}

static byoc_value_t *region_value(const byoc_region_t *region, const char *name) {
  const byoc_region_binding_t *binding = find_binding(region, name);
  return binding != NULL ? binding->value : NULL;
}

static int32_t region_decline(byoc_region_t *region, const char *reason) {
  if (region == NULL) return 0;
  snprintf(region->reason, sizeof(region->reason), "%s", reason != NULL ? reason : "");
  return 0;
}

const byoc_region_api_t *byoc_host_region_api(void) {
  static const byoc_region_api_t api = {
      .header = BYOC_HEADER(byoc_region_api_t, 1),
      .target = region_target,
      .node_count = region_node_count,
      .node_at = region_node_at,
      .node = region_node,
      .value = region_value,
      .decline = region_decline,
  };
  return &api;
}
