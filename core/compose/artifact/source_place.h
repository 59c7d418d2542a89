// SPDX-License-Identifier: Apache-2.0
// Decides whether a folder of C source may replace an existing file or folder. Internal to core/compose.
#ifndef BYOC_CORE_COMPOSE_ARTIFACT_SOURCE_PLACE_H_
#define BYOC_CORE_COMPOSE_ARTIFACT_SOURCE_PLACE_H_

#include "core/base/allocator.h"
#include "core/base/diag.h"

// The file of such a folder that lists the others, a line for each.
#define BYOC_SOURCE_FILES "files.txt"

// BYOC_ALREADY_EXISTS if byoc did not write the file or folder at `path`, or if a folder that it wrote holds a file
// that neither byoc nor the Makefile made: that file would be lost.
byoc_status_t byoc_source_check_place(const char *path, byoc_allocator_t allocator, byoc_diag_t *diag);

#endif // BYOC_CORE_COMPOSE_ARTIFACT_SOURCE_PLACE_H_
