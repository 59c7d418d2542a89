// SPDX-License-Identifier: Apache-2.0
// Code for the evaluator: C sources are compiled and, with static libraries and drivers, linked into a temporary shared
// object that is loaded; libraries that open in process need no compiler.
#ifndef BYOC_CORE_COMPOSE_ARTIFACT_RESOLVE_H_
#define BYOC_CORE_COMPOSE_ARTIFACT_RESOLVE_H_

#include "core/hostir/evaluate/evaluate.h"
#include "core/targets/target.h"

typedef struct byoc_resolver_t byoc_resolver_t;
// Compiles, links, loads, and runs every library's setup function once with `runtime`. Target "c" among `targets` (may
// be NULL) gives the compiler for sources that name none. `program` and `runtime` must outlive the resolver, and the
// resolver must outlive every call of a function that it found. BYOC_NOT_FOUND if a compiler is needed and missing.
byoc_status_t byoc_resolver_create(const byoc_host_program_t *program, const byoc_target_list_t *targets,
                                   const byoc_runtime_t *runtime, byoc_allocator_t allocator, byoc_diag_t *diag,
                                   byoc_resolver_t **out_resolver);
void byoc_resolver_destroy(byoc_resolver_t *resolver); // accepts NULL
byoc_symbol_resolver_t byoc_resolver_interface(byoc_resolver_t *resolver);

#endif // BYOC_CORE_COMPOSE_ARTIFACT_RESOLVE_H_
