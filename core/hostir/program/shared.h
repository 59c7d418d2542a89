// SPDX-License-Identifier: Apache-2.0
// Which buffers may have one memory, because values share it, or because an output may be written over an input.
#ifndef BYOC_CORE_HOSTIR_PROGRAM_SHARED_H_
#define BYOC_CORE_HOSTIR_PROGRAM_SHARED_H_

#include "core/hostir/program/program.h"

// For each buffer the index of one that stands for all that it may share its memory with; a view has that of its base.
// NULL if out of memory.
uint32_t *byoc_host_find_shared(const byoc_host_program_t *program, byoc_arena_t *arena);

#endif // BYOC_CORE_HOSTIR_PROGRAM_SHARED_H_
