// SPDX-License-Identifier: Apache-2.0
// The metadata of an artifact: JSON about its model, targets, constants and steps. Internal to core/compose.
#ifndef BYOC_CORE_COMPOSE_ARTIFACT_METADATA_H_
#define BYOC_CORE_COMPOSE_ARTIFACT_METADATA_H_

#include <jansson.h>

#include "core/base/hash.h"
#include "core/compose/c/data_layout.h"
#include "core/compose/options.h"

// Writes the JSON to *out_text, which the caller frees by `allocator`. `compiler_version` may be NULL.
byoc_status_t byoc_compose_metadata(const byoc_host_program_t *program, const byoc_compose_options_t *options,
                                    const byoc_data_layout_t *layout, const char *compiler_version,
                                    byoc_allocator_t allocator, byoc_diag_t *diag, char **out_text);
// The metadata hold this many digits of BYOC_CODE_UNKNOWN until the hash of the code is known
// (core/compose/artifact/code.c).
#define BYOC_CODE_KEY     "\"code\":\""
#define BYOC_CODE_UNKNOWN "00000000000000000000000000000000"
// May the code depend on the elements of this constant of the model? Strings are in the code.
static inline bool byoc_compose_is_read(const byoc_constant_t *constant) {
  return constant->is_read || constant->type->dtype == BYOC_DTYPE_STRING;
}
// The hash of its content in the metadata.
json_t *byoc_compose_read_json(byoc_constant_t *constant);
// A hash of all properties of a module that go into the artifact, its constants aside.
void byoc_compose_hash_module(const byoc_runtime_module_t *module, byoc_hasher_t *hasher);

#endif // BYOC_CORE_COMPOSE_ARTIFACT_METADATA_H_
