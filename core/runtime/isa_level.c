// SPDX-License-Identifier: Apache-2.0
// Chooses the ISA level of an artifact that fits this processor.
#include "core/runtime/isa_level.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "byoc/status.h"
#include "core/runtime/cpu_check.h"

// The level that $BYOC_LEVEL names; NULL: none.
static const char *named_level(void) {
  const char *name = getenv("BYOC_LEVEL");
  return name != NULL && name[0] != '\0' ? name : NULL;
}

// The position of the level `name`; `count` if there is none.
static uint32_t find_named(const byoc_model_isa_level_t *levels, uint32_t count, const char *name) {
  uint32_t i = 0;
  while (i < count && strcmp(levels[i].name, name) != 0) i++;
  return i;
}

// Checks the level `name`, which named_level returned.
static uint32_t choose(const byoc_model_isa_level_t *levels, uint32_t count, const char *name) {
  uint32_t i = name != NULL ? find_named(levels, count, name) : count;
  if (i < count) return i;
  for (i = 0; i + 1 < count; i++) {
    if (byoc_model_check_cpu("", levels[i].cpu_features, NULL, 0) == BYOC_OK) break;
  }
  return i;
}

const byoc_artifact_t *byoc_model_choose_isa_level(const byoc_model_isa_level_t *levels, uint32_t count) {
  return levels[choose(levels, count, named_level())].first;
}

static void list_names(const byoc_model_isa_level_t *levels, uint32_t count, char *buffer, size_t size) {
  size_t used = 0;
  buffer[0] = '\0';
  for (uint32_t i = 0; i < count && used < size; i++) {
    used += (size_t)snprintf(buffer + used, size - used, "%s%s", i > 0 ? ", " : "", levels[i].name);
  }
}

int32_t byoc_model_check_isa_levels(const char *model_name, const byoc_model_isa_level_t *levels, uint32_t count,
                                    char *message, uint64_t size) {
  const char *name = named_level();
  const bool is_unknown = name != NULL && find_named(levels, count, name) == count;
  char names[256], missing[256];
  const byoc_model_isa_level_t *level = &levels[choose(levels, count, name)];
  byoc_cpu_list_missing(level->cpu_features, missing, sizeof(missing));
  if (message != NULL && size > 0) message[0] = '\0';
  if (!is_unknown && missing[0] == '\0') {
    byoc_cpu_list_refused(level->cpu_features, missing, sizeof(missing));
    if (missing[0] != '\0') byoc_cpu_describe_refusal(model_name, missing, message, size);
    return missing[0] != '\0' ? BYOC_UNSUPPORTED : BYOC_OK;
  }
  list_names(levels, count, names, sizeof(names));
  if (message != NULL && size > 0 && is_unknown) {
    (void)snprintf(message, size, "BYOC_LEVEL is '%s'; the model '%s' has code for %s", name, model_name, names);
  } else if (message != NULL && size > 0) {
    (void)snprintf(message, size,
                   "the model '%s' has code for %s, and this processor lacks %s of %s; build it with one more level, "
                   "-mcpu=...,%s",
                   model_name, names, missing, level->name, byoc_cpu_base());
  }
  return is_unknown ? BYOC_INVALID_ARGUMENT : BYOC_UNSUPPORTED;
}
