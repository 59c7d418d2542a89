// SPDX-License-Identifier: Apache-2.0
// Reads lists of processors that -mcpu takes, and the features of each.
#include "core/targets/isa_level.h"

#include <string.h>

bool byoc_cpu_is_list(const char *text) {
  return strchr(text, ',') != NULL;
}

static int count_features(uint64_t features) {
  int count = 0;
  for (; features != 0; features &= features - 1) ++count;
  return count;
}

// Inserts a level after those that have as many features or more.
static byoc_status_t insert(byoc_isa_levels_t *levels, const byoc_isa_level_t *level, byoc_diag_t *diag) {
  if (levels->count == BYOC_ISA_LEVELS_MOST) {
    return byoc_diag_error(diag, BYOC_INVALID_ARGUMENT, "more than %d processors are named", BYOC_ISA_LEVELS_MOST);
  }
  size_t at = 0;
  for (size_t i = 0; i < levels->count; ++i) {
    const byoc_isa_level_t *other = &levels->levels[i];
    if (other->features == level->features) {
      return byoc_diag_error(diag, BYOC_INVALID_ARGUMENT, "'%s' and '%s' have the same features: one of them is enough",
                             other->name, level->name);
    }
    if (count_features(other->features) >= count_features(level->features)) at = i + 1;
  }
  memmove(&levels->levels[at + 1], &levels->levels[at], (levels->count - at) * sizeof(*level));
  levels->levels[at] = *level;
  ++levels->count;
  return BYOC_OK;
}

byoc_status_t byoc_isa_levels_parse(const char *text, byoc_machine_t machine, byoc_arena_t *arena, byoc_diag_t *diag,
                                    byoc_isa_levels_t *out_levels) {
  *out_levels = (byoc_isa_levels_t){0};
  for (const char *at = text;; ++at) {
    const size_t size = strcspn(at, ",");
    byoc_isa_level_t level = {.name = byoc_arena_format(arena, "%.*s", (int)size, at)};
    if (level.name == NULL) return byoc_diag_out_of_memory(diag);
    if (strcmp(level.name, "native") == 0) {
      byoc_status_t status =
          byoc_diag_error(diag, BYOC_INVALID_ARGUMENT, "'native' does not say which of several processors it is");
      byoc_diag_hint(diag, "name its ISA level, such as x86-64-v3");
      return status;
    }
    BYOC_RETURN_IF_ERROR(byoc_cpu_parse(level.name, machine, diag, &level.features));
    BYOC_RETURN_IF_ERROR(insert(out_levels, &level, diag));
    at += size;
    if (*at == '\0') return BYOC_OK;
  }
}

size_t byoc_isa_level_find(const byoc_isa_levels_t *levels, uint64_t features) {
  size_t i = 0;
  while (i + 1 < levels->count && (levels->levels[i].features & ~features) != 0) ++i;
  return i;
}
