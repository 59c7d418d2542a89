// SPDX-License-Identifier: Apache-2.0
// May a folder of C source go where something is already? Internal to core/compose.
#ifndef BYOC_CORE_COMPOSE_ARTIFACT_SOURCE_PLACE_H_
#define BYOC_CORE_COMPOSE_ARTIFACT_SOURCE_PLACE_H_

#include "core/base/allocator.h"
#include "core/base/diag.h"

// The file of such a folder that lists the others, a line for each.
#define BYOC_SOURCE_FILES "files.txt"

// BYOC_ALREADY_EXISTS if something is at `path` that byoc did not write, or a folder that it wrote holds a file that
// neither it nor its Makefile made: that would be lost.
byoc_status_t byoc_source_check_place(const char *path, byoc_allocator_t allocator, byoc_diag_t *diag);

#endif // BYOC_CORE_COMPOSE_ARTIFACT_SOURCE_PLACE_H_
