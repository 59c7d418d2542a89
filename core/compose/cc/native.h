// SPDX-License-Identifier: Apache-2.0
// How the native target "c" wants host and kernels compiled. Internal to core/compose.
#ifndef BYOC_CORE_COMPOSE_CC_NATIVE_H_
#define BYOC_CORE_COMPOSE_CC_NATIVE_H_

#include "core/base/arena.h"
#include "core/base/vector.h"
#include "core/targets/target.h"

typedef struct byoc_native_flags_t {
  byoc_machine_t machine;           // that the code is for
  const char *compiler;             // NULL: the default
  BYOC_VECTOR(const char *) kernel; // flags of loop kernels
} byoc_native_flags_t;

// The compiler that -cc of target "c" among `targets` (may be NULL) names, else the one for their machine; NULL: the
// default. It compiles and links all modules that name no compiler of their own.
const char *byoc_native_compiler(const byoc_target_list_t *targets);
// Reads the options of target "c" among `targets` (may be NULL: -O3 and only the base instruction set). Everything
// lives in `arena`.
byoc_status_t byoc_native_flags(const byoc_target_list_t *targets, byoc_arena_t *arena, byoc_diag_t *diag,
                                byoc_native_flags_t *out_flags);

#endif // BYOC_CORE_COMPOSE_CC_NATIVE_H_
