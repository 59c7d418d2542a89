// SPDX-License-Identifier: Apache-2.0
// Derives the form of an artifact and the names of its parts from the options of compose.
#include "core/compose/options.h"

#include <stdio.h>
#include <string.h>

byoc_compose_form_t byoc_compose_form(const char *output) {
  if (byoc_ends_with(output, ".o")) return BYOC_COMPOSE_OBJECT;
  if (byoc_ends_with(output, ".c")) return BYOC_COMPOSE_SOURCE;
  return byoc_ends_with(output, ".a") ? BYOC_COMPOSE_ARCHIVE : BYOC_COMPOSE_SHARED;
}

void byoc_compose_part_name(const byoc_compose_place_t *place, char *buffer) {
  char level[24] = "";
  if (place->level_count > 0) snprintf(level, sizeof(level), "level_%zu", place->level);
  const char *entry = place->count > 0 ? place->names[place->index] : "";
  snprintf(buffer, BYOC_COMPOSE_PART_BYTES, "%s%s%s", entry, entry[0] != '\0' && level[0] != '\0' ? "_" : "", level);
}

void byoc_compose_prefix(const byoc_compose_options_t *options, char *buffer) {
  char plain[100];
  byoc_make_identifier(options->header_name ? options->header_name : options->model_name, plain, sizeof(plain));
  // The prefix byoc_ belongs to byoc, and a leading underscore to the compiler.
  bool clash = byoc_starts_with(plain, "byoc") || plain[0] == '_';
  snprintf(buffer, BYOC_COMPOSE_PREFIX_BYTES, "%s%s", clash ? "model_" : "", plain);
}
