// SPDX-License-Identifier: Apache-2.0
// Compiling for another machine: the compiler for a triple, and the runtime that artifacts of it carry.
#ifndef BYOC_CORE_COMPOSE_CC_CROSS_H_
#define BYOC_CORE_COMPOSE_CC_CROSS_H_

#include "core/base/arena.h"
#include "core/compose/cc/compiler.h"

// The compiler for a triple, as a command line in `arena`: TRIPLE-gcc if that is installed, else clang. BYOC_NOT_FOUND,
// with a hint how to get one.
byoc_status_t byoc_cross_compiler(const char *triple, byoc_arena_t *arena, byoc_diag_t *diag,
                                  const char **out_compiler);

// An archive of the runtime that artifacts carry, made from its sources, which travel inside this program; `compiler`
// as in byoc_compile_job_t. Its objects come from the compile cache.
byoc_status_t byoc_cross_runtime(const char *compiler, byoc_allocator_t allocator, byoc_diag_t *diag,
                                 byoc_string_t *out_archive);

#endif // BYOC_CORE_COMPOSE_CC_CROSS_H_
