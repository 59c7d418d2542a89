// SPDX-License-Identifier: Apache-2.0
// Artifacts that are linked into a program instead of being loaded. Internal to core/compose.
#ifndef BYOC_CORE_COMPOSE_ARTIFACT_STATIC_H_
#define BYOC_CORE_COMPOSE_ARTIFACT_STATIC_H_

#include "core/compose/artifact/compose.h"
#include "core/compose/cc/compiler.h"

// Links the job's files into one object at job->output, in which all names begin with the prefix of the header; an
// archive of it if the options' output is one. BYOC_UNSUPPORTED if it needs shared libraries or opens some. Undefined
// symbols are not refused here: link the shared object first.
byoc_status_t byoc_compose_make_static(const byoc_link_job_t *job, const byoc_compose_options_t *options,
                                       byoc_allocator_t allocator, byoc_diag_t *diag);

#endif // BYOC_CORE_COMPOSE_ARTIFACT_STATIC_H_
