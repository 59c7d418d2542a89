// SPDX-License-Identifier: Apache-2.0
// Which level of an artifact runs: it may have code for several processors. Internal to artifacts.
#ifndef BYOC_CORE_RUNTIME_LEVEL_H_
#define BYOC_CORE_RUNTIME_LEVEL_H_

#include <stdint.h>

#include "byoc/artifact.h"

typedef struct byoc_model_level_t {
  const char *name;             // as in -mcpu, "x86-64-v3"
  const char *cpu_features;     // required, space-separated
  const byoc_artifact_t *first; // the table of its first entry
} byoc_model_level_t;

// The table of the first level, of the best first, that this processor can run; of the last one if it can run none. The
// variable BYOC_LEVEL names another one.
const byoc_artifact_t *byoc_model_choose_level(const byoc_model_level_t *levels, uint32_t count);
// BYOC_OK if one can be run: BYOC_UNSUPPORTED says what is missing, BYOC_INVALID_ARGUMENT that BYOC_LEVEL names none.
// `message` may be NULL; it is cut at `size`.
int32_t byoc_model_check_levels(const char *model_name, const byoc_model_level_t *levels, uint32_t count, char *message,
                                uint64_t size);

#endif // BYOC_CORE_RUNTIME_LEVEL_H_
