// SPDX-License-Identifier: Apache-2.0
// The number that an artifact and its header must agree about.
#ifndef BYOC_CORE_COMPOSE_C_SIGNATURE_H_
#define BYOC_CORE_COMPOSE_C_SIGNATURE_H_

#include "core/hostir/program/program.h"

// The signature_hash of byoc/artifact.h; 0 when out of memory.
uint64_t byoc_compose_signature(const byoc_host_program_t *program, byoc_allocator_t allocator);

#endif // BYOC_CORE_COMPOSE_C_SIGNATURE_H_
