// SPDX-License-Identifier: Apache-2.0
// ISA levels: several processors for which one artifact has code, "x86-64-v2,x86-64-v4" as a value of -mcpu. The
// artifact chooses the best one that fits when it is loaded.
#ifndef BYOC_CORE_TARGETS_ISA_LEVEL_H_
#define BYOC_CORE_TARGETS_ISA_LEVEL_H_

#include "core/base/arena.h"
#include "core/targets/cpu.h"

#define BYOC_ISA_LEVELS_MOST 8

typedef struct byoc_isa_level_t {
  const char *name; // as a value of -mcpu
  uint64_t features;
} byoc_isa_level_t;

typedef struct byoc_isa_levels_t {
  byoc_isa_level_t levels[BYOC_ISA_LEVELS_MOST]; // the best first: the one with the most features
  size_t count;
} byoc_isa_levels_t;

// Does a value of -mcpu name several processors?
bool byoc_cpu_is_list(const char *text);
// Reads such a value; names live in `arena`. BYOC_INVALID_ARGUMENT if there are too many, if two are equal, or if one
// is "native", which means another processor on each building machine; BYOC_NOT_FOUND as byoc_cpu_parse.
byoc_status_t byoc_isa_levels_parse(const char *text, byoc_machine_t machine, byoc_arena_t *arena, byoc_diag_t *diag,
                                    byoc_isa_levels_t *out_levels);
// The first level that a processor with these features can run; the last one if it can run none.
size_t byoc_isa_level_find(const byoc_isa_levels_t *levels, uint64_t features);

#endif // BYOC_CORE_TARGETS_ISA_LEVEL_H_
