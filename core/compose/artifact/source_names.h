// SPDX-License-Identifier: Apache-2.0
// Names in artifacts that are C source. Internal to core/compose.
#ifndef BYOC_CORE_COMPOSE_ARTIFACT_SOURCE_NAMES_H_
#define BYOC_CORE_COMPOSE_ARTIFACT_SOURCE_NAMES_H_

#include "core/compose/artifact/composing.h"
#include "core/compose/cc/tool.h"

// The first line of names.h: by it, byoc knows a folder that it wrote.
#define BYOC_SOURCE_MARK "// Written by byoc."

// Appends names.h: a definition for each function of `files` (the runtime's) and for all other names that entries
// share.
void byoc_source_emit_names(const byoc_composing_t *composing, const char *prefix, const byoc_embedded_header_t *files,
                            size_t file_count, byoc_string_t *out);
// Appends the names of one entry, for its own files: its kernels, and symbols of backends. The runtime does not see
// them, so that they may be words of the system's headers.
byoc_status_t byoc_source_emit_entry_names(const byoc_composing_entry_t *entry, const char *prefix, byoc_string_t *out,
                                           byoc_diag_t *diag);
// The file of an entry's names: "names_decode.h", or "names_model.h" of the only one.
#define BYOC_SOURCE_NAMES_BYTES (BYOC_COMPOSE_ENTRY_BYTES + 16)
void byoc_source_names_file(const byoc_compose_place_t *place, char *buffer);

#endif // BYOC_CORE_COMPOSE_ARTIFACT_SOURCE_NAMES_H_
