// SPDX-License-Identifier: Apache-2.0
// The last steps of writing an artifact: its build ID and its seal. Internal to core/compose.
#ifndef BYOC_CORE_COMPOSE_ARTIFACT_SEAL_H_
#define BYOC_CORE_COMPOSE_ARTIFACT_SEAL_H_

#include "core/base/diag.h"

// Changes a linked file in place: a build ID that is all zeros becomes the hash of the file's bytes, and the seal of
// byoc/verify.h is appended.
byoc_status_t byoc_compose_seal(const char *path, byoc_diag_t *diag);

#endif // BYOC_CORE_COMPOSE_ARTIFACT_SEAL_H_
