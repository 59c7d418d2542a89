// SPDX-License-Identifier: Apache-2.0
// json_load.h - JSON by Jansson, with a lack of memory told from a mistake.
//
// Example:
//   bool out_of_memory;
//   json_error_t error;
//   json_t *root = byoc_plugin_load_json(json, size, 0, &error, &out_of_memory);
#ifndef BYOC_PLUGIN_JSON_LOAD_H_
#define BYOC_PLUGIN_JSON_LOAD_H_

#include <jansson.h>
#include <stdbool.h>
#include <stdlib.h>

// Returns a new reference. Returns NULL if the JSON has a mistake, which *out_error describes, or if memory ran out.
// Where an allocation fails, Jansson reports a mistake of the JSON. So a failed JSON is parsed again, and counts as
// wrong only if as much memory as it has bytes can be allocated then.
static inline json_t *byoc_plugin_load_json(const char *json, size_t size_bytes, size_t flags, json_error_t *out_error,
                                            bool *out_of_memory) {
  *out_of_memory = false;
  json_t *root = json_loadb(json, size_bytes, flags, out_error);
  if (root == NULL) root = json_loadb(json, size_bytes, flags, out_error);
  if (root != NULL) return root;
  void *probe = malloc(size_bytes);
  *out_of_memory = probe == NULL || out_error->text[0] == '\0';
  free(probe);
  return NULL;
}

#endif // BYOC_PLUGIN_JSON_LOAD_H_
