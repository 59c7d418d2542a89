// SPDX-License-Identifier: Apache-2.0
// The object that holds constants, strings, blobs and metadata. Internal to core/compose.
#ifndef BYOC_CORE_COMPOSE_ARTIFACT_DATA_OBJECT_H_
#define BYOC_CORE_COMPOSE_ARTIFACT_DATA_OBJECT_H_

#include "core/compose/c/data_layout.h"

// The section of an artifact that byoc_data is, alone.
#define BYOC_DATA_SECTION ".byoc.data"

// Writes an object that defines byoc_data and byoc_metadata (strings, each with its NUL), for the machine that the
// object `machine` is for.
byoc_status_t byoc_data_object_write(const byoc_data_layout_t *layout, const byoc_bytes_t *metadata,
                                     const byoc_bytes_t *machine, const char *path, byoc_diag_t *diag);

#endif // BYOC_CORE_COMPOSE_ARTIFACT_DATA_OBJECT_H_
