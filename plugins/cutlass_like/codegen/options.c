// SPDX-License-Identifier: Apache-2.0
// Reads the target's options: instruction set, compiler, tuning and precision.
#include "codegen/options.h"

#include <stdio.h>
#include <string.h>

static int32_t choose_isa(const byoc_host_t *host, byoc_codegen_t *codegen, byoc_cutlass_options_t *options) {
  const byoc_codegen_api_t *api = host->codegen;
  const char *features = api->option_cpu_features(codegen, "mcpu"), *offered = api->cpu_features(codegen);
  options->isa = byoc_cutlass_isa_choose(features);
  const char *needed = byoc_cutlass_isa_features(options->isa);
  for (uint32_t dot = 0; dot < BYOC_CUTLASS_DOT_COUNT; ++dot) {
    const char *feature = byoc_cutlass_dot_feature(options->isa, dot);
    if (!feature || !byoc_cutlass_has_features(features, feature)) continue;
    options->dots |= UINT32_C(1) << dot;
    if (!byoc_cutlass_has_features(offered, feature)) needed = features;
    const char *tiles = byoc_cutlass_tile_features(options->isa, dot);
    if (!tiles || !byoc_cutlass_has_features(features, tiles)) continue;
    options->tiles |= UINT32_C(1) << dot;
    if (!byoc_cutlass_has_features(offered, tiles)) needed = features;
  }
  if (byoc_cutlass_options_have(options, BYOC_CUTLASS_DOT_BF16X2)) {
    const char *vendor = host->abi_minor >= 5 ? api->cpu_vendor(codegen) : "";
    options->bf16_rate = byoc_cutlass_dot_rate(options->isa, BYOC_CUTLASS_DOT_BF16X2, vendor);
    options->fast_bf16 = options->bf16_rate > 1.0;
    if (byoc_cutlass_options_have_tiles(options, BYOC_CUTLASS_DOT_BF16X2))
      options->bf16_rate = byoc_cutlass_tile_rate(options->isa, BYOC_CUTLASS_DOT_BF16X2);
  }
  options->half_feature = byoc_cutlass_half_feature(options->isa);
  if (!byoc_cutlass_has_features(features, options->half_feature)) options->half_feature = "";
  if (!byoc_cutlass_has_features(offered, options->half_feature)) needed = features;
  if (byoc_cutlass_has_features(offered, needed)) return BYOC_OK;
  char message[512];
  snprintf(
      message, sizeof message,
      "cutlass: -mcpu=%s needs %s, which the machine that the artifact is for does not have; give target c the same "
      "-mcpu",
      host->target->option_string(api->target(codegen), "mcpu"), needed);
  return api->error(codegen, BYOC_INVALID_ARGUMENT, message);
}

int32_t byoc_cutlass_options_read(const byoc_host_t *host, byoc_codegen_t *codegen, byoc_cutlass_options_t *out) {
  const byoc_target_api_t *targets = host->target;
  const byoc_target_t *target = host->codegen->target(codegen);
  byoc_cutlass_options_t *options = out;
  *options = (byoc_cutlass_options_t){0};
  const char *precision = targets->option_string(target, "precision");
  options->max_threads = (int32_t)targets->option_int(target, "max_threads");
  options->tune_trials = (int32_t)targets->option_int(target, "tune_trials");
  options->tune_seconds = (int32_t)targets->option_int(target, "tune_seconds");
  if (options->tune_seconds > 0 && options->tune_trials == 0) options->tune_trials = INT32_MAX;
  options->optimisation = (int32_t)targets->option_int(target, "O");
  options->winograd = targets->option_int(target, "winograd") != 0;
  options->compiler = targets->option_string(target, "cc");
  if (options->compiler && !options->compiler[0]) options->compiler = NULL;
  if (options->max_threads < 1) options->max_threads = 1;
  options->precision = strcmp(precision, "f32") == 0    ? BYOC_CUTLASS_PRECISION_F32
                       : strcmp(precision, "bf16") == 0 ? BYOC_CUTLASS_PRECISION_BF16
                                                        : BYOC_CUTLASS_PRECISION_INT8;
  return choose_isa(host, codegen, options);
}

void byoc_cutlass_flags_init(byoc_cutlass_flags_t *flags, const byoc_cutlass_options_t *options,
                             const byoc_cutlass_problem_t *problem) {
  static const char *const levels[] = {"-O0", "-O1", "-O2", "-O3"};
  static const char *const fixed[] = {"-std=gnu11",     "-g0", "-fPIC", "-fvisibility=hidden", "-ffp-contract=fast",
                                      "-fno-math-errno"};
  *flags = (byoc_cutlass_flags_t){0};
  for (size_t i = 0; i < sizeof fixed / sizeof *fixed; ++i) flags->items[flags->count++] = fixed[i];
  flags->items[flags->count++] = levels[options->optimisation & 3];
  const char *more = byoc_cutlass_has_half(problem) ? options->half_feature
                     : problem->words.amx           ? byoc_cutlass_tile_features(options->isa, problem->words.dot)
                                                    : "";
  byoc_cutlass_isa_flags(options->isa, problem->words.dot, more, flags->buffer, sizeof flags->buffer);
  for (char *save = NULL, *flag = strtok_r(flags->buffer, " ", &save); flag; flag = strtok_r(NULL, " ", &save))
    if (flags->count < sizeof flags->items / sizeof *flags->items) flags->items[flags->count++] = flag;
}
