// SPDX-License-Identifier: Apache-2.0
// Reads the location of an artifact's weights.
#include "core/compile/weights.h"

#include <string.h>

byoc_status_t byoc_build_parse_weights(const char *option, const char *text, byoc_compose_options_t *options,
                                       byoc_diag_t *diag) {
  static const struct {
    const char *word;
    byoc_compose_weights_t weights;
  } words[] = {{"internal", BYOC_COMPOSE_WEIGHTS_INTERNAL},
               {"appended", BYOC_COMPOSE_WEIGHTS_APPENDED},
               {"external", BYOC_COMPOSE_WEIGHTS_EXTERNAL}};
  if (text == NULL) return BYOC_OK;
  for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
    if (strcmp(text, words[i].word) != 0) continue;
    options->weights = words[i].weights;
    return BYOC_OK;
  }
  options->weights = BYOC_COMPOSE_WEIGHTS_EXTERNAL;
  options->weights_path = text;
  if (byoc_ends_with(text, ".weights")) return BYOC_OK;
  return byoc_diag_error(diag, BYOC_INVALID_ARGUMENT,
                         "%s takes internal, appended, external or a file whose name ends in .weights, not '%s'",
                         option, text);
}

byoc_status_t byoc_build_weights_path(const byoc_compose_options_t *options, byoc_allocator_t allocator,
                                      byoc_diag_t *diag, char **out_path) {
  *out_path = NULL;
  const bool may_have =
      options->weights == BYOC_COMPOSE_WEIGHTS_AUTO || options->weights == BYOC_COMPOSE_WEIGHTS_EXTERNAL;
  if (!may_have || byoc_compose_form(options->output) == BYOC_COMPOSE_SOURCE) return BYOC_OK;
  if (options->weights_path == NULL && byoc_file_is_special(options->output)) return BYOC_OK;
  *out_path = options->weights_path != NULL ? byoc_copy_string(allocator, options->weights_path)
                                            : byoc_compose_weights_path(options->output, allocator);
  return *out_path != NULL ? BYOC_OK : byoc_diag_out_of_memory(diag);
}
