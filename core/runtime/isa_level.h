// SPDX-License-Identifier: Apache-2.0
// Chooses the ISA level that runs, in an artifact with code for several processors. Internal to artifacts.
#ifndef BYOC_CORE_RUNTIME_ISA_LEVEL_H_
#define BYOC_CORE_RUNTIME_ISA_LEVEL_H_

#include <stdint.h>

#include "byoc/artifact.h"

typedef struct byoc_model_isa_level_t {
  const char *name;             // as in -mcpu, "x86-64-v3"
  const char *cpu_features;     // required, space-separated
  const byoc_artifact_t *first; // the table of its first entry
} byoc_model_isa_level_t;

// The table of the best level that this processor can run and whose registers the system gives this process; of the
// last level if it can run none. $BYOC_LEVEL names another level. `levels` has the best one first.
const byoc_artifact_t *byoc_model_choose_isa_level(const byoc_model_isa_level_t *levels, uint32_t count);
// BYOC_OK if a level can run; BYOC_UNSUPPORTED with the missing features; BYOC_INVALID_ARGUMENT if $BYOC_LEVEL names no
// level. `message` may be NULL; it is cut at `size`.
int32_t byoc_model_check_isa_levels(const char *model_name, const byoc_model_isa_level_t *levels, uint32_t count,
                                    char *message, uint64_t size);

#endif // BYOC_CORE_RUNTIME_ISA_LEVEL_H_
