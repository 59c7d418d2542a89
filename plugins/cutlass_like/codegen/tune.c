// SPDX-License-Identifier: Apache-2.0
// Measures candidates on this machine and keeps the winner in the plugin's cache.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include "codegen/generate.h"
#include "emit/emit.h"
#include "pack/pack.h"

enum { CANDIDATES_PER_SOURCE = 4, MAX_TENSORS = 12, MAX_DIMS = 64, PLAN_TEXT = 160, KEY_TEXT = 256 };

// A candidate replaces the default only when it is faster by more than the noise of a measurement.
static const double worthwhile = 0.98;

int64_t byoc_cutlass_clock_us(void) {
  struct timespec t;
  if (clock_gettime(CLOCK_MONOTONIC, &t) != 0) return 0;
  return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

// The processor's name: measured times are valid only for this model.
static void machine_name(char name[64]) {
  struct utsname system;
  snprintf(name, 64, "%.32s", uname(&system) == 0 ? system.machine : "unknown");
#if defined(__x86_64__)
  unsigned int registers[12], *r = registers;
  if ((unsigned int)__get_cpuid_max(0x80000000u, NULL) < 0x80000004u) return;
  for (unsigned int leaf = 0x80000002u; leaf <= 0x80000004u; ++leaf, r += 4) __cpuid(leaf, r[0], r[1], r[2], r[3]);
  memcpy(name, registers, sizeof registers);
  name[sizeof registers] = '\0';
  unsigned int eax = 0, ebx = 0, ecx = 0, edx = 0; // family, model and stepping: names are shared
  if (__get_cpuid(1, &eax, &ebx, &ecx, &edx)) {
    size_t length = strlen(name);
    snprintf(name + length, 64 - length, " %x", eax);
  }
#endif
}

// Everything that the choice depends on; false if it is too long. The identity covers element type, shape, epilogue and
// the templates.
static bool cache_key(char key[KEY_TEXT], const byoc_cutlass_options_t *options, const byoc_cutlass_unit_t *unit) {
  char machine[64];
  machine_name(machine);
  uint64_t compiler = byoc_plugin_hash_string(options->compiler ? options->compiler : "");
  int length = snprintf(
      key, KEY_TEXT, "plan-4 %s isa=%u O=%d cc=%016llx trials=%d seconds=%d threads=%d winograd=%d problem=%016llx",
      machine, options->isa, options->optimisation, (unsigned long long)compiler, options->tune_trials,
      options->tune_seconds, options->max_threads, options->winograd, (unsigned long long)unit->identity);
  return length > 0 && length < KEY_TEXT;
}

// A plan as the cache keeps it.
static int print_plan(char text[PLAN_TEXT], const byoc_cutlass_plan_t *plan) {
  return snprintf(
      text, PLAN_TEXT,
      "form=%u transposed=%d direct=%d rows=%d lines=%d vectors=%d depth=%d panels=%d edge=%d pass=%d streams=%d",
      plan->form, plan->transposed, plan->direct, plan->rows, plan->lines, plan->vectors, plan->block_depth,
      plan->block_panels, plan->edge, plan->pass_panels, plan->streams);
}

// Finds the cached plan among the candidates, so that a damaged entry cannot choose anything else.
static bool plan_from_cache(const byoc_host_t *host, byoc_codegen_t *codegen, const char *key,
                            const byoc_cutlass_plan_t *plans, size_t count, byoc_cutlass_plan_t *out_plan) {
  const void *data = NULL;
  uint64_t size = 0;
  if (host->codegen->cache_get(codegen, key, &data, &size) != BYOC_OK) return false;
  for (size_t i = 0; i < count; ++i) {
    char text[PLAN_TEXT];
    int length = print_plan(text, &plans[i]);
    if ((uint64_t)length != size || memcmp(text, data, (size_t)size) != 0) continue;
    *out_plan = plans[i];
    return true;
  }
  return false;
}

// The tensors of a call, without data: the host fills them at random.
typedef struct tensors_t {
  byoc_tensor_data_t items[MAX_TENSORS];
  int64_t dims[MAX_DIMS];
  size_t dim_count;
  uint32_t count, output_count; // outputs come last
  int32_t packed;               // index of the packed weights, whose size depends on the plan; -1: none
} tensors_t;

static bool add_tensor(tensors_t *tensors, uint32_t dtype, uint32_t rank, const int64_t *dims) {
  if (tensors->count == MAX_TENSORS || tensors->dim_count + rank > MAX_DIMS) return false;
  int64_t *own = tensors->dims + tensors->dim_count;
  uint64_t elements = 1;
  for (uint32_t i = 0; i < rank; ++i) own[i] = dims[i], elements *= (uint64_t)dims[i];
  tensors->dim_count += rank;
  tensors->items[tensors->count++] = (byoc_tensor_data_t){.header = BYOC_HEADER(byoc_tensor_data_t, 1),
                                                          .dtype = dtype,
                                                          .rank = rank,
                                                          .dims = own,
                                                          .size_bytes = elements * byoc_dtype_bits(dtype) / 8};
  return true;
}

static bool add_value(tensors_t *tensors, const byoc_graph_api_t *graph, const byoc_value_t *value) {
  int64_t dims[16];
  int32_t rank = graph->value_rank(value);
  if (rank < 0 || rank > 16) return false;
  for (int32_t i = 0; i < rank; ++i) dims[i] = graph->value_dim(value, i);
  return add_tensor(tensors, graph->value_dtype(value), (uint32_t)rank, dims);
}

// Inputs, constants and outputs of a unit's function.
static bool describe(tensors_t *tensors, const byoc_graph_api_t *graph, const byoc_cutlass_unit_t *unit) {
  *tensors = (tensors_t){.packed = -1};
  const byoc_cutlass_problem_t *problem = &unit->problem;
  int64_t packed = (int64_t)byoc_cutlass_packed_floats(problem, &unit->plan);
  int64_t channels = problem->kind == BYOC_CUTLASS_CONV ? problem->conv.groups * problem->conv.out : problem->gemm.n;
  for (uint64_t i = 0; i < graph->parameter_count(unit->function); ++i)
    if (!add_value(tensors, graph, graph->parameter(unit->function, i))) return false;
  for (uint32_t i = 0; i < unit->plain.count; ++i)
    if (!add_value(tensors, graph, unit->plain.items[i])) return false;
  if (packed > 0) {
    tensors->packed = (int32_t)tensors->count;
    const uint32_t type = problem->types.weights;
    if (!add_tensor(tensors, type ? type : BYOC_DTYPE_F32, 1, &packed)) return false;
  }
  if (problem->epilogue.has_bias && !add_tensor(tensors, BYOC_DTYPE_F32, 1, &channels)) return false;
  tensors->output_count = (uint32_t)graph->result_count(unit->function);
  for (uint64_t i = 0; i < tensors->output_count; ++i)
    if (!add_value(tensors, graph, graph->result(unit->function, i))) return false;
  return true;
}

// Compiles plans [0, count) into one object, as functions tune_0, tune_1, ...; false if the compiler fails.
static bool compile_candidates(const byoc_host_t *host, byoc_codegen_t *codegen, const byoc_cutlass_options_t *options,
                               const byoc_cutlass_unit_t *unit, const byoc_cutlass_plan_t *plans, size_t count,
                               const void **out_object, uint64_t *out_size) {
  byoc_plugin_string_t text = {0};
  byoc_cutlass_flags_t flags;
  byoc_cutlass_flags_init(&flags, options, &unit->problem);
  byoc_cutlass_emit_prelude(&text, options->isa);
  for (size_t i = 0; i < count; ++i) {
    char symbol[32];
    snprintf(symbol, sizeof symbol, "tune_%zu", i);
    byoc_cutlass_emit(&text, &unit->problem, &plans[i], symbol);
  }
  byoc_compile_request_t request = {.header = BYOC_HEADER(byoc_compile_request_t, 1),
                                    .name = "cutlass_tune",
                                    .source = text.data,
                                    .preamble = byoc_cutlass_isa_preamble(options->isa),
                                    .compiler = options->compiler,
                                    .flags = {flags.items, flags.count}};
  bool ok = byoc_plugin_string_ok(&text) && host->codegen->compile(codegen, &request, out_object, out_size) == BYOC_OK;
  byoc_plugin_string_deinit(&text);
  return ok;
}

// The state of tuning one unit.
typedef struct tuning_t {
  const byoc_host_t *host;
  byoc_codegen_t *codegen;
  const byoc_cutlass_options_t *options;
  const byoc_cutlass_unit_t *unit;
  const byoc_cutlass_plan_t *plans; // the default first
  size_t trials;                    // plans that may be measured
  tensors_t tensors;
  // Results.
  double best, first; // nanoseconds, of the fastest and of the default; 0: not measured
  size_t winner, tried;
} tuning_t;

static bool measure(tuning_t *tuning, const byoc_cutlass_plan_t *plan, const void *object, uint64_t size,
                    const char *symbol, double *out_ns) {
  tensors_t *tensors = &tuning->tensors;
  const byoc_cutlass_problem_t *problem = &tuning->unit->problem;
  if (tensors->packed >= 0) {
    byoc_tensor_data_t *packed = &tensors->items[tensors->packed];
    int64_t *dim = &tensors->dims[packed->dims - tensors->dims];
    *dim = (int64_t)byoc_cutlass_packed_floats(problem, plan);
    packed->size_bytes = (uint64_t)(*dim * byoc_cutlass_type_bytes(problem->types.weights));
  }
  byoc_measure_request_t request = {.header = BYOC_HEADER(byoc_measure_request_t, 1),
                                    .object = object,
                                    .object_size_bytes = size,
                                    .symbol = symbol,
                                    .tensors = tensors->items,
                                    .input_count = tensors->count - tensors->output_count,
                                    .output_count = tensors->output_count,
                                    .tensor_stride = sizeof tensors->items[0],
                                    .workspace_size_bytes = byoc_cutlass_workspace_bytes(problem, plan)};
  return tuning->host->codegen->measure(tuning->codegen, &request, out_ns) == BYOC_OK;
}

// Compiles `count` plans from `start` on, together if possible, and measures each.
static void try_plans(tuning_t *tuning, size_t start, size_t count) {
  const byoc_cutlass_plan_t *plans = tuning->plans + start;
  const void *object = NULL;
  uint64_t size = 0;
  bool together =
      compile_candidates(tuning->host, tuning->codegen, tuning->options, tuning->unit, plans, count, &object, &size);
  for (size_t i = 0; i < count; ++i) {
    char symbol[32];
    double ns = 0;
    snprintf(symbol, sizeof symbol, "tune_%zu", together ? i : 0);
    if (!together &&
        !compile_candidates(tuning->host, tuning->codegen, tuning->options, tuning->unit, plans + i, 1, &object, &size))
      continue;
    ++tuning->tried;
    if (!measure(tuning, &plans[i], object, size, symbol, &ns)) continue;
    if (start + i == 0) tuning->first = ns;
    if (tuning->best == 0 || ns < tuning->best) tuning->best = ns, tuning->winner = start + i;
  }
}

// Measures until trials or seconds are used up.
static void find_fastest(tuning_t *tuning, double seconds) {
  int64_t begin = byoc_cutlass_clock_us();
  for (size_t start = 0; start < tuning->trials; start += CANDIDATES_PER_SOURCE) {
    if (start > 0 && tuning->best == 0) break; // no plan of the first group could be measured, so no other will be
    if (start > 0 && (double)(byoc_cutlass_clock_us() - begin) * 1e-6 >= seconds) break;
    size_t left = tuning->trials - start;
    try_plans(tuning, start, left < CANDIDATES_PER_SOURCE ? left : CANDIDATES_PER_SOURCE);
  }
  if (tuning->first > 0 && tuning->best > tuning->first * worthwhile) tuning->winner = 0;
}

static void log_choice(const tuning_t *tuning, const char *text) {
  char line[256];
  const char *symbol = tuning->host->graph->function_symbol(tuning->unit->function);
  if (tuning->best > 0)
    snprintf(line, sizeof line, "tuned %s: %zu candidates, %.3f ms instead of %.3f ms, %s", symbol, tuning->tried,
             tuning->best * 1e-6, tuning->first * 1e-6, text);
  else
    snprintf(line, sizeof line, "tuning %s: no candidate could be measured, the default stays: %s", symbol, text);
  tuning->host->codegen->log(tuning->codegen, line);
}

int32_t byoc_cutlass_tune(const byoc_host_t *host, byoc_codegen_t *codegen, const byoc_cutlass_options_t *options,
                          double seconds, byoc_cutlass_unit_t *unit) {
  enum { MOST = 1024 };
  char key[KEY_TEXT], text[PLAN_TEXT];
  byoc_cutlass_plan_t *plans = calloc(MOST, sizeof *plans);
  if (!plans) return host->codegen->error(codegen, BYOC_OUT_OF_MEMORY, "cutlass: out of memory");
  size_t count =
      byoc_cutlass_plan_candidates(&unit->problem, options->isa, options->max_threads, options->winograd, plans, MOST);
  bool keeps = cache_key(key, options, unit);
  if (keeps && plan_from_cache(host, codegen, key, plans, count, &unit->plan)) goto cleanup;
  if (seconds <= 0) goto cleanup; // the plan by rule stays
  // The default counts as the first trial.
  tuning_t tuning = {.host = host,
                     .codegen = codegen,
                     .options = options,
                     .unit = unit,
                     .plans = plans,
                     .trials = count < (size_t)options->tune_trials ? count : (size_t)options->tune_trials};
  if (describe(&tuning.tensors, host->graph, unit)) find_fastest(&tuning, seconds);
  unit->plan = plans[tuning.winner];
  int length = print_plan(text, &unit->plan);
  log_choice(&tuning, text);
  // A cache that cannot be written only costs time.
  if (keeps && tuning.best > 0) (void)host->codegen->cache_put(codegen, key, text, (uint64_t)length);
cleanup:
  free(plans);
  return BYOC_OK;
}
