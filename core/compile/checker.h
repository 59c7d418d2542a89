// SPDX-License-Identifier: Apache-2.0
// The interface of a checker, which looks at the code of a build before it is used. A build gets a checker as it gets a
// placer: checking builds candidates through the facade of builds (core/compile/checking.h makes one).
#ifndef BYOC_CORE_COMPILE_CHECKER_H_
#define BYOC_CORE_COMPILE_CHECKER_H_

#include "core/compose/artifact/compose.h"
#include "core/targets/target.h"

typedef struct byoc_checker_t {
  void *self;
  // Checks regions of one target, before its hook makes their code: out_reasons[i] is the fault of the code of
  // functions[i], and lives in `arena`; NULL: none was found. NULL: there is no checker.
  byoc_status_t (*check_regions)(void *self, const byoc_target_list_t *targets, const byoc_target_t *target,
                                 byoc_function_t *const *functions, size_t count, byoc_arena_t *arena,
                                 byoc_diag_t *diag, const char **out_reasons);
  // Checks the native target's kernels. BYOC_MISMATCH if one computes something else.
  byoc_compose_checker_t kernels;
} byoc_checker_t;

#endif // BYOC_CORE_COMPILE_CHECKER_H_
