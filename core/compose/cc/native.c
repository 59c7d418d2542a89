// SPDX-License-Identifier: Apache-2.0
// Chooses the compiler's flags for the native target, by processor and level of optimisation.
#include "core/compose/cc/native.h"

#include "core/targets/cpu.h"

static byoc_status_t push(byoc_native_flags_t *flags, byoc_arena_t *arena, const char *flag, byoc_diag_t *diag) {
  if (flag == NULL || !byoc_vector_push(&flags->kernel, byoc_arena_allocator(arena), flag)) {
    return byoc_diag_out_of_memory(diag);
  }
  return BYOC_OK;
}

typedef struct flag_sink_t {
  byoc_native_flags_t *flags;
  byoc_arena_t *arena;
} flag_sink_t;

static byoc_status_t push_feature_flag(void *self, const char *flag, byoc_diag_t *diag) {
  const flag_sink_t *sink = self;
  return push(sink->flags, sink->arena, byoc_arena_copy_string(sink->arena, flag), diag);
}

const char *byoc_native_compiler(const byoc_target_list_t *targets) {
  const byoc_target_t *native = byoc_target_list_native(targets);
  const char *compiler = native != NULL ? byoc_target_option_string(native, "cc") : NULL;
  if (compiler != NULL && compiler[0] != '\0') return compiler;
  return targets != NULL ? targets->compiler : NULL;
}

byoc_status_t byoc_native_flags(const byoc_target_list_t *targets, byoc_arena_t *arena, byoc_diag_t *diag,
                                byoc_native_flags_t *out_flags) {
  const byoc_target_t *native = byoc_target_list_native(targets);
  *out_flags = (byoc_native_flags_t){.machine = native != NULL ? native->machine : byoc_machine_host()};
  out_flags->compiler = byoc_native_compiler(targets);
  int64_t level = 3;
  uint64_t features = 0;
  if (native != NULL) {
    level = byoc_target_option_int(native, "O");
    features = byoc_cpu_of_loops(byoc_target_cpu_features(native, "mcpu"));
  }
  BYOC_RETURN_IF_ERROR(push(out_flags, arena, byoc_arena_format(arena, "-O%d", (int)level), diag));
  // Kernels read no errno and no floating-point flags; with these flags sqrt, floor and the like become instructions.
  BYOC_RETURN_IF_ERROR(push(out_flags, arena, "-fno-math-errno", diag));
  BYOC_RETURN_IF_ERROR(push(out_flags, arena, "-fno-trapping-math", diag));
  // Reductions name the sums that may be taken in any order.
  BYOC_RETURN_IF_ERROR(push(out_flags, arena, "-fopenmp-simd", diag));
  // Single extensions rather than -march: the object depends on the options, not on the machine that builds it.
  return byoc_cpu_flags(features, push_feature_flag, &(flag_sink_t){out_flags, arena}, diag);
}
