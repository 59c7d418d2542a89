// SPDX-License-Identifier: Apache-2.0
// Artifacts that are C source: a folder that any C11 compiler builds. Internal to core/compose.
#ifndef BYOC_CORE_COMPOSE_ARTIFACT_SOURCE_FOLDER_H_
#define BYOC_CORE_COMPOSE_ARTIFACT_SOURCE_FOLDER_H_

#include "core/compose/artifact/composing.h"

// BYOC_UNSUPPORTED, with the kind and the maker of the module, if the program needs an engine, machine code or a driver
// whose code its backend has not announced.
byoc_status_t byoc_source_folder_check(const byoc_host_program_t *program, byoc_diag_t *diag);
// Writes the folder at the output of the composition, with this header; one that byoc wrote before is replaced.
// BYOC_ALREADY_EXISTS for any other file or folder there.
byoc_status_t byoc_source_folder_write(const byoc_composing_t *composing, const byoc_string_t *header);

#endif // BYOC_CORE_COMPOSE_ARTIFACT_SOURCE_FOLDER_H_
