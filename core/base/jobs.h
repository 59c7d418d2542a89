// SPDX-License-Identifier: Apache-2.0
// How much of a build runs at once: compilers, and hooks that are ready for it.
#ifndef BYOC_CORE_BASE_JOBS_H_
#define BYOC_CORE_BASE_JOBS_H_

#include "core/base/diag.h"

// BYOC_JOBS, or as many as this process may use processors. Results do not depend on it. BYOC_INVALID_ARGUMENT, and the
// number of processors, if the variable is not a number from 1 to 1024.
byoc_status_t byoc_jobs_read(byoc_diag_t *diag, int32_t *out_count);
int32_t byoc_job_count(void);

#endif // BYOC_CORE_BASE_JOBS_H_
