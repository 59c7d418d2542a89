// SPDX-License-Identifier: Apache-2.0
// Names in artifacts that are C source. Internal to core/compose.
#ifndef BYOC_CORE_COMPOSE_SOURCE_NAMES_H_
#define BYOC_CORE_COMPOSE_SOURCE_NAMES_H_

#include "core/compose/tool.h"
#include "core/hostir/program.h"

// What names.h begins with: by it, byoc knows a folder that it wrote.
#define BYOC_SOURCE_MARK "// Written by byoc."

// Appends names.h: a definition for each function of `files` (the runtime's), each kernel and each symbol of a backend.
void byoc_source_emit_names(const byoc_host_program_t *program, const char *prefix, const byoc_embedded_header_t *files,
                            size_t file_count, byoc_string_t *out);

#endif // BYOC_CORE_COMPOSE_SOURCE_NAMES_H_
