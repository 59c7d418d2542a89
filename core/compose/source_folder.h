// SPDX-License-Identifier: Apache-2.0
// Artifacts that are C source: a folder that any C11 compiler builds. Internal to core/compose.
#ifndef BYOC_CORE_COMPOSE_SOURCE_FOLDER_H_
#define BYOC_CORE_COMPOSE_SOURCE_FOLDER_H_

#include "core/compose/compiler.h"
#include "core/compose/compose.h"
#include "core/compose/layout.h"

typedef struct byoc_source_folder_t {
  const byoc_host_program_t *program;
  const byoc_compose_options_t *options;
  const byoc_compile_job_t *jobs; // the host's, the kernels', then the backends' C sources
  size_t job_count;
  const char *const *kernel_flags; // the level first
  size_t kernel_flag_count;
  const byoc_data_layout_t *layout;
  const char *metadata;
  const byoc_string_t *header;
} byoc_source_folder_t;

// BYOC_UNSUPPORTED, with what it is and who made it, if the program needs something that is not C: an engine, machine
// code, a device.
byoc_status_t byoc_source_folder_check(const byoc_host_program_t *program, byoc_diag_t *diag);
// Writes the folder at options->output, with its header; one that byoc wrote before is replaced. BYOC_ALREADY_EXISTS
// for any other file or folder there.
byoc_status_t byoc_source_folder_write(const byoc_source_folder_t *source, byoc_allocator_t allocator,
                                       byoc_diag_t *diag);

#endif // BYOC_CORE_COMPOSE_SOURCE_FOLDER_H_
