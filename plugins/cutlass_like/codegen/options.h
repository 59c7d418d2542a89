// SPDX-License-Identifier: Apache-2.0
// options.h - the options of a target, and the flags of the compiler that follow from them.
//
// Example:
//   byoc_cutlass_options_t options;
//   int32_t status = byoc_cutlass_options_read(host, codegen, &options);
#ifndef BYOC_CUTLASS_OPTIONS_H_
#define BYOC_CUTLASS_OPTIONS_H_

#include "byoc/plugin.h"
#include "problem/problem.h"

enum { BYOC_CUTLASS_PRECISION_F32, BYOC_CUTLASS_PRECISION_BF16, BYOC_CUTLASS_PRECISION_INT8 };

// The values of the target's options.
typedef struct byoc_cutlass_options_t {
  byoc_cutlass_isa_t isa;
  int32_t max_threads;
  int32_t tune_trials;  // for each shape; INT32_MAX if only the budget ends them
  int32_t tune_seconds; // for all shapes of this process; 0: no limit
  int32_t optimisation; // -O
  bool winograd;
  uint32_t dots;            // one bit per BYOC_CUTLASS_DOT_* that the instruction set and -mcpu have
  uint32_t tiles;           // those dots that it has products of tiles for
  bool fast_bf16;           // DOT_BF16X2 is faster than f32 on every processor that the artifact is for
  double bf16_rate;         // products of bf16 in the time of one of f32
  const char *half_feature; // converts f16, if -mcpu has it; else ""
  uint32_t precision;       // of products of f32 with constant weights
  const char *compiler;     // NULL: the host's
} byoc_cutlass_options_t;

// Reads the options of the codegen's target; reports the reason of a failure to the host.
int32_t byoc_cutlass_options_read(const byoc_host_t *host, byoc_codegen_t *codegen, byoc_cutlass_options_t *out);

static inline bool byoc_cutlass_options_have(const byoc_cutlass_options_t *options, uint32_t dot) {
  return options->dots >> dot & 1;
}

static inline bool byoc_cutlass_options_have_tiles(const byoc_cutlass_options_t *options, uint32_t dot) {
  return options->tiles >> dot & 1;
}

// Flags for the compiler, in a buffer of their own.
typedef struct byoc_cutlass_flags_t {
  const char *items[32];
  uint64_t count;
  char buffer[256];
} byoc_cutlass_flags_t;

// Features that the problem does not use are not turned on.
void byoc_cutlass_flags_init(byoc_cutlass_flags_t *flags, const byoc_cutlass_options_t *options,
                             const byoc_cutlass_problem_t *problem);

#endif // BYOC_CUTLASS_OPTIONS_H_
