// SPDX-License-Identifier: Apache-2.0
// The number of processors that this process may use: the default number of threads of artifacts and of byoc.
#ifndef BYOC_CORE_RUNTIME_PROCESSORS_H_
#define BYOC_CORE_RUNTIME_PROCESSORS_H_

#include <stdint.h>

// The number of processors in this thread's affinity mask, or the quota of this process's control groups, rounded up,
// if that is smaller. From 1 to BYOC_MODEL_MAX_THREADS (pool.h). Reads some small files, and allocates nothing.
int32_t byoc_model_processor_count(void);
// The quota alone, the least one of this process's control group and of the groups above it; 0 if there is none.
// `mounted` is where control groups are mounted (version 1 or 2), `membership` the file that names the groups of a
// process.
int32_t byoc_model_quota_processors(const char *mounted, const char *membership);

#endif // BYOC_CORE_RUNTIME_PROCESSORS_H_
