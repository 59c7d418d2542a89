// SPDX-License-Identifier: Apache-2.0
// The backend's hook: reads every function as a problem, compiles the distinct problems, and binds the functions.
#include "codegen/generate.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cuda/generate_cuda.h"
#include "emit/emit.h"
#include "pack/pack.h"
#include "pack/pack_half.h"
#include "pack/pack_words.h"

// Sources that are compiled at once: enough to keep many processors busy, few enough to see progress.
enum { UNITS_AT_ONCE = 32 };

// One function of the codegen and its match.
typedef struct job_t {
  byoc_function_t *function;
  byoc_cutlass_match_t match;
  size_t unit;       // index, or SIZE_MAX if declined
  const char *lapse; // why it has not the precision that was asked for; NULL: it has
  byoc_cutlass_plain_t plain;
} job_t;

typedef struct generation_t {
  const byoc_host_t *host;
  byoc_codegen_t *codegen;
  byoc_cutlass_options_t options;
  const char *target; // the target as the user wrote it
  job_t *jobs;
  size_t job_count;
  byoc_cutlass_unit_t *units;
  size_t unit_count;
} generation_t;

static int32_t out_of_memory(const generation_t *generation) {
  return generation->host->codegen->error(generation->codegen, BYOC_OUT_OF_MEMORY, "cutlass: out of memory");
}

// The index of a value among the function's inputs: a parameter, or a constant that is appended to them.
static bool input_index(const generation_t *generation, job_t *job, byoc_value_t *value, uint32_t *out_index) {
  const byoc_graph_api_t *graph = generation->host->graph;
  int64_t index = graph->value_parameter_index(value);
  uint64_t parameters = graph->parameter_count(job->function);
  byoc_tensor_data_t data = {.header = BYOC_HEADER(byoc_tensor_data_t, 1)};
  *out_index = (uint32_t)index;
  if (index >= 0) return true;
  if (!graph->value_constant(value, &data) || job->plain.count == BYOC_CUTLASS_MOST_PLAIN) return false;
  *out_index = (uint32_t)parameters + job->plain.count;
  job->plain.items[job->plain.count++] = value;
  return true;
}

// Finds each operand of the job's problem among the function's inputs; false if one is not there.
static bool read_inputs(const generation_t *generation, job_t *job) {
  const byoc_graph_api_t *graph = generation->host->graph;
  byoc_cutlass_match_t *match = &job->match;
  byoc_cutlass_inputs_t *inputs = &match->problem.inputs;
  bool packed = match->problem.kind == BYOC_CUTLASS_CONV || match->problem.gemm.constant_b;
  if (!input_index(generation, job, match->data, &inputs->data)) return false;
  if (!packed && !input_index(generation, job, match->weights, &inputs->weights)) return false;
  if (match->problem.kind == BYOC_CUTLASS_ATTENTION) {
    byoc_value_t *mask = match->residual, *const *past = match->past;
    return input_index(generation, job, match->values, &inputs->bias) &&
           (!mask || input_index(generation, job, mask, &inputs->residual)) &&
           (!past[0] || (input_index(generation, job, past[0], &inputs->past_keys) &&
                         input_index(generation, job, past[1], &inputs->past_values)));
  }
  if (match->scales && !input_index(generation, job, match->scales, &inputs->scales)) return false;
  if (match->zeros && !input_index(generation, job, match->zeros, &inputs->zeros)) return false;
  if (match->residual) {
    int64_t residual = graph->value_parameter_index(match->residual);
    if (residual < 0) return false;
    inputs->residual = (uint32_t)residual;
  }
  if (match->zero && !input_index(generation, job, match->zero, &inputs->zero)) return false;
  if (match->factor && !input_index(generation, job, match->factor, &inputs->factor)) return false;
  uint32_t next = (uint32_t)graph->parameter_count(job->function) + job->plain.count;
  if (packed) inputs->weights = next++;
  if (match->problem.epilogue.has_bias) inputs->bias = next;
  return true;
}

// Reads one function. On success job->match holds its problem, inputs included. BYOC_UNSUPPORTED if the function must
// be declined, for *out_reason.
static int32_t read_job(const generation_t *generation, job_t *job, const char **out_reason) {
  const byoc_graph_api_t *graph = generation->host->graph;
  uint64_t count = graph->node_count(job->function);
  byoc_node_t *nodes[BYOC_CUTLASS_MOST_NODES];
  *out_reason = "the function is more than one fused product";
  if (count > BYOC_CUTLASS_MOST_NODES) return BYOC_UNSUPPORTED;
  for (uint64_t i = 0; i < count; ++i) nodes[i] = graph->node_at(job->function, i);
  int32_t status = byoc_cutlass_match(graph, nodes, (size_t)count, &job->match);
  *out_reason = job->match.reason;
  if (status != BYOC_OK) return status;
  // Tensors of f16 and bf16 have chosen a precision themselves.
  const bool is_half = byoc_cutlass_has_half(&job->match.problem);
  if (!is_half) job->lapse = byoc_cutlass_choose_dot(&generation->options, &job->match);
  bool attends = job->match.problem.kind == BYOC_CUTLASS_ATTENTION;
  uint64_t results = attends ? graph->node_result_count(nodes[count - 1]) : 1;
  *out_reason = "some result is not the last operator's";
  if (graph->result_count(job->function) != results) return BYOC_UNSUPPORTED;
  for (uint64_t i = 0; i < results; ++i)
    if (graph->result(job->function, i) != graph->node_result(nodes[count - 1], i)) return BYOC_UNSUPPORTED;
  *out_reason = "an operand is neither a parameter nor a constant";
  return read_inputs(generation, job) ? BYOC_OK : BYOC_UNSUPPORTED;
}

// The unit that computes the job's problem; it is made if there is none yet. Equal problems give equal code.
static int32_t find_unit(generation_t *generation, job_t *job) {
  byoc_cutlass_unit_t unit = {.problem = job->match.problem, .function = job->function, .plain = job->plain};
  byoc_plugin_string_t text = {0};
  byoc_cutlass_plan_default(&unit.problem, generation->options.isa, generation->options.max_threads,
                            generation->options.winograd, &unit.plan);
  byoc_cutlass_emit(&text, &unit.problem, &unit.plan, "f");
  bool ok = byoc_plugin_string_ok(&text);
  // Two targets of one list may have functions of the same code.
  if (ok) unit.identity = byoc_plugin_hash(byoc_plugin_hash_string(generation->target), text.data, text.length);
  byoc_plugin_string_deinit(&text);
  snprintf(unit.symbol, sizeof unit.symbol, "cutlass_kernel_%016llx", (unsigned long long)unit.identity);
  if (!ok) return out_of_memory(generation);
  for (job->unit = 0; job->unit < generation->unit_count; ++job->unit)
    if (generation->units[job->unit].identity == unit.identity) return BYOC_OK;
  generation->units[generation->unit_count++] = unit; // at most one per job
  return BYOC_OK;
}

static int32_t read_jobs(generation_t *generation) {
  const byoc_codegen_api_t *api = generation->host->codegen;
  uint64_t count = api->function_count(generation->codegen);
  generation->jobs = calloc((size_t)count + 1, sizeof *generation->jobs);
  generation->units = calloc((size_t)count + 1, sizeof *generation->units);
  if (!generation->jobs || !generation->units) return out_of_memory(generation);
  for (uint64_t i = 0; i < count; ++i) {
    job_t *job = &generation->jobs[generation->job_count++];
    const char *reason = NULL;
    job->function = api->function_at(generation->codegen, i);
    job->unit = SIZE_MAX;
    int32_t status = read_job(generation, job, &reason);
    if (status == BYOC_OK)
      status = find_unit(generation, job);
    else if (status == BYOC_OUT_OF_MEMORY)
      status = out_of_memory(generation);
    else
      status = api->decline(generation->codegen, job->function, reason);
    if (status != BYOC_OK) return status;
  }
  return BYOC_OK;
}

// Each unit is a source of its own, so that the next build, or the next plan of this one, finds it compiled.
static void write_request(const generation_t *generation, const byoc_cutlass_unit_t *unit, byoc_plugin_string_t *text,
                          byoc_cutlass_flags_t *flags, byoc_compile_request_t *out) {
  const byoc_cutlass_options_t *options = &generation->options;
  byoc_cutlass_flags_init(flags, options, &unit->problem);
  byoc_cutlass_emit_prelude(text, options->isa);
  byoc_cutlass_emit(text, &unit->problem, &unit->plan, unit->symbol);
  *out = (byoc_compile_request_t){.header = BYOC_HEADER(byoc_compile_request_t, 1),
                                  .name = unit->symbol,
                                  .source = text->data,
                                  .preamble = byoc_cutlass_isa_preamble(options->isa),
                                  .compiler = options->compiler,
                                  .flags = {flags->items, flags->count}};
}

// Compiles units [first, first + count).
static int32_t compile_units(generation_t *generation, size_t first, size_t count, byoc_file_content_t *out_files) {
  byoc_plugin_string_t texts[UNITS_AT_ONCE] = {0};
  byoc_cutlass_flags_t flags[UNITS_AT_ONCE];
  byoc_compile_request_t requests[UNITS_AT_ONCE];
  const void *objects[UNITS_AT_ONCE];
  uint64_t sizes[UNITS_AT_ONCE];
  bool ok = true;
  for (size_t i = 0; i < count; ++i) {
    write_request(generation, &generation->units[first + i], &texts[i], &flags[i], &requests[i]);
    ok = ok && byoc_plugin_string_ok(&texts[i]);
  }
  int32_t status = ok ? generation->host->codegen->compile_all(generation->codegen, requests, (uint32_t)count,
                                                               sizeof requests[0], objects, sizes)
                      : out_of_memory(generation);
  for (size_t i = 0; i < count; ++i) {
    byoc_plugin_string_deinit(&texts[i]);
    if (status != BYOC_OK) continue;
    out_files[i] = (byoc_file_content_t){.header = BYOC_HEADER(byoc_file_content_t, 1),
                                         .name = generation->units[first + i].symbol,
                                         .data = objects[i],
                                         .size_bytes = sizes[i]};
  }
  return status;
}

// Compiles every unit and hands the objects over as one static library.
static int32_t add_library(generation_t *generation) {
  const byoc_host_t *host = generation->host;
  size_t count = generation->unit_count;
  byoc_file_content_t *files = calloc(count, sizeof *files);
  const char **symbols = calloc(count, sizeof *symbols);
  int32_t status = files && symbols ? BYOC_OK : out_of_memory(generation);
  for (size_t i = 0; status == BYOC_OK && i < count; i += UNITS_AT_ONCE) {
    host->codegen->progress(generation->codegen, "compiling", i, count);
    status = compile_units(generation, i, count - i < UNITS_AT_ONCE ? count - i : UNITS_AT_ONCE, &files[i]);
  }
  if (status == BYOC_OK) {
    for (size_t i = 0; i < count; ++i) symbols[i] = generation->units[i].symbol;
    byoc_static_library_t library = {.header = BYOC_HEADER(byoc_static_library_t, 1),
                                     .name = "cutlass",
                                     .files = files,
                                     .file_count = (uint32_t)count,
                                     .file_stride = sizeof *files,
                                     .symbols = {symbols, count}};
    status = host->codegen->add_static_library(generation->codegen, &library);
  }
  free(symbols);
  free(files);
  return status;
}

// Hands one unit over as C source, for an artifact that is C source.
static int32_t add_source(generation_t *generation, const byoc_cutlass_unit_t *unit) {
  byoc_plugin_string_t text = {0};
  byoc_cutlass_flags_t flags;
  byoc_compile_request_t request;
  const char *preamble = byoc_cutlass_isa_preamble(generation->options.isa), *symbol = unit->symbol;
  if (preamble) byoc_plugin_string_add(&text, "%s", preamble);
  write_request(generation, unit, &text, &flags, &request);
  int32_t status = byoc_plugin_string_ok(&text) ? BYOC_OK : out_of_memory(generation);
  const byoc_c_source_t source = {.header = BYOC_HEADER(byoc_c_source_t, 1),
                                  .name = unit->symbol,
                                  .source = text.data,
                                  .compiler = request.compiler,
                                  .flags = request.flags,
                                  .symbols = {&symbol, 1}};
  if (status == BYOC_OK) status = generation->host->codegen->add_c_source(generation->codegen, &source);
  byoc_plugin_string_deinit(&text);
  return status;
}

// A host before minor 5 always wants a library.
static bool wants_source(const generation_t *generation) {
  return generation->host->abi_minor >= 5 && generation->host->codegen->wants_source(generation->codegen);
}

static int32_t add_code(generation_t *generation) {
  if (!wants_source(generation)) return add_library(generation);
  int32_t status = BYOC_OK;
  for (size_t i = 0; status == BYOC_OK && i < generation->unit_count; ++i)
    status = add_source(generation, &generation->units[i]);
  return status;
}

// The model's weights where they lie, if they are f32 and no channel is scaled: such weights may be most of a model.
// Otherwise a copy, *out_owned, which the caller frees. NULL if out of memory.
static const float *find_weights(const byoc_graph_api_t *graph, const byoc_cutlass_match_t *match, float **out_owned) {
  byoc_tensor_data_t data = {.header = BYOC_HEADER(byoc_tensor_data_t, 1)};
  bool is_scaled = false;
  for (int64_t i = 0; i < match->channels; ++i) is_scaled |= match->scale[i] != 1;
  if (!is_scaled && graph->value_constant(match->weights, &data) && data.dtype == BYOC_DTYPE_F32) return data.data;
  return *out_owned = byoc_cutlass_scaled_weights(graph, match);
}

// The constants behind a function's parameters: its own ones, then weights and tables made for the plan.
typedef struct constants_t {
  byoc_tensor_data_t items[BYOC_CUTLASS_MOST_PLAIN + 2];
  int64_t dims[2]; // shapes of weights and tables
  uint32_t count;
  float *packed, *bias;
} constants_t;

static void constants_deinit(constants_t *constants) {
  free(constants->bias);
  free(constants->packed);
}

// Appends a vector that was made for the plan; `index`: 0 or 1; `type`: as a problem names it.
static void add_vector(constants_t *constants, int index, uint32_t type, const float *data, int64_t count) {
  constants->dims[index] = count;
  constants->items[constants->count++] =
      (byoc_tensor_data_t){.header = BYOC_HEADER(byoc_tensor_data_t, 1),
                           .dtype = type ? type : BYOC_DTYPE_F32,
                           .rank = 1,
                           .dims = &constants->dims[index],
                           .data = data,
                           .size_bytes = (uint64_t)(count * byoc_cutlass_type_bytes(type))};
}

// False if out of memory.
static bool make_constants(const byoc_graph_api_t *graph, const job_t *job, const byoc_cutlass_plan_t *plan,
                           constants_t *out) {
  const byoc_cutlass_match_t *match = &job->match;
  bool words = plan->form == BYOC_CUTLASS_FORM_WORDS, ok = true;
  size_t floats = byoc_cutlass_packed_floats(&match->problem, plan);
  int64_t channels = words ? byoc_cutlass_words_parameter_count(&match->problem) : match->channels;
  const float *weights = NULL;
  float *owned = NULL;
  for (; out->count < job->plain.count; ++out->count) {
    out->items[out->count] = (byoc_tensor_data_t){.header = BYOC_HEADER(byoc_tensor_data_t, 1)};
    graph->value_constant(job->plain.items[out->count], &out->items[out->count]);
  }
  if (floats > 0) {
    if (!match->bytes) weights = find_weights(graph, match, &owned);
    out->packed = malloc(floats * sizeof(float));
    ok = (weights || match->bytes) && out->packed;
    // Functions share the code whatever the order of their weights in the model; the order here is the code's.
    if (ok && !words) byoc_cutlass_pack_weights(&match->problem, plan, weights, out->packed);
    const uint32_t type = match->problem.types.weights;
    if (ok && byoc_cutlass_is_half(type))
      byoc_cutlass_narrow(type, out->packed, (int64_t)floats, (uint16_t *)(void *)out->packed);
    if (ok) add_vector(out, 0, type, out->packed, (int64_t)floats);
  }
  if (ok && match->problem.epilogue.has_bias) {
    out->bias = malloc((size_t)channels * sizeof(float));
    ok = out->bias && (!words || byoc_cutlass_words_constants(match, plan, weights, (int32_t *)(void *)out->packed,
                                                              (int32_t *)(void *)out->bias));
    for (int64_t i = 0; ok && !words && i < channels; ++i) out->bias[i] = (float)match->shift[i];
    if (ok) add_vector(out, 1, 0, out->bias, channels);
  }
  free(owned);
  return ok;
}

// Says in which precision the job is computed.
static int32_t report_job(const generation_t *generation, const job_t *job) {
  const byoc_codegen_api_t *api = generation->host->codegen;
  char text[BYOC_CUTLASS_PRECISION_TEXT];
  if (generation->host->abi_minor < 5) return BYOC_OK;
  byoc_cutlass_describe_precision(&job->match.problem, text);
  return api->report_precision(generation->codegen, job->function, text, job->lapse);
}

static int32_t bind_job(generation_t *generation, const job_t *job) {
  const byoc_host_t *host = generation->host;
  const byoc_cutlass_unit_t *unit = &generation->units[job->unit];
  constants_t constants = {0};
  int32_t status;
  if (make_constants(host->graph, job, &unit->plan, &constants)) {
    byoc_packed_binding_t binding = {.header = BYOC_HEADER(byoc_packed_binding_t, 1),
                                     .symbol = unit->symbol,
                                     .workspace_size_bytes = byoc_cutlass_workspace_bytes(&unit->problem, &unit->plan),
                                     .constants = constants.items,
                                     .constant_count = constants.count,
                                     .constant_stride = sizeof constants.items[0]};
    status = host->codegen->bind_packed(generation->codegen, job->function, &binding);
    if (status == BYOC_OK) status = report_job(generation, job);
  } else {
    status = out_of_memory(generation);
  }
  constants_deinit(&constants);
  return status;
}

static void generation_deinit(generation_t *generation) {
  for (size_t i = 0; i < generation->job_count; ++i) byoc_cutlass_match_deinit(&generation->jobs[i].match);
  free(generation->jobs);
  free(generation->units);
}

// Tunes the units one after the other. Each may take its share of the remaining budget: the shapes that follow are not
// known, because a build asks for its parts one by one before it asks for the whole.
static int32_t tune_units(generation_t *generation, byoc_cutlass_state_t *state) {
  enum { LEAST_SHAPES = 16 };
  const byoc_host_t *host = generation->host;
  const byoc_cutlass_options_t *options = &generation->options;
  int32_t status = BYOC_OK;
  for (size_t i = 0; status == BYOC_OK && options->tune_trials > 0 && i < generation->unit_count; ++i) {
    const byoc_cutlass_unit_t *unit = &generation->units[i];
    // These have only one plan, or no size that could be measured.
    if (unit->plan.form == BYOC_CUTLASS_FORM_WORDS || unit->plan.form == BYOC_CUTLASS_FORM_BITS ||
        byoc_cutlass_is_open(&unit->problem))
      continue;
    int64_t start = byoc_cutlass_clock_us();
    double left = options->tune_seconds - (double)atomic_load(&state->tuned_us) * 1e-6, seconds = INFINITY;
    size_t units = generation->unit_count - i < LEAST_SHAPES ? LEAST_SHAPES : generation->unit_count - i;
    if (options->tune_seconds > 0) seconds = left / (double)units;
    host->codegen->progress(generation->codegen, "tuning", i, generation->unit_count);
    status = byoc_cutlass_tune(host, generation->codegen, options, seconds, &generation->units[i]);
    atomic_fetch_add(&state->tuned_us, byoc_cutlass_clock_us() - start);
  }
  return status;
}

static int32_t require_features(generation_t *generation, const char *features) {
  if (features[0] == '\0') return BYOC_OK;
  return generation->host->codegen->require_cpu_features(generation->codegen, features);
}

int32_t byoc_cutlass_generate(void *self, byoc_codegen_t *codegen) {
  byoc_cutlass_state_t *state = self;
  const byoc_host_t *host = state->host;
  if (byoc_cutlass_is_cuda(host, host->codegen->target(codegen))) return byoc_cutlass_cuda_generate(host, codegen);
  generation_t generation = {.host = host, .codegen = codegen};
  generation.target = host->target->text(host->codegen->target(codegen));
  int32_t status = byoc_cutlass_options_read(host, codegen, &generation.options);
  if (status == BYOC_OK) status = read_jobs(&generation);
  // A feature beyond the instruction set is required only if some product uses it.
  bool uses[BYOC_CUTLASS_DOT_COUNT] = {false}, tiles[BYOC_CUTLASS_DOT_COUNT] = {false};
  bool converts = false;
  for (size_t i = 0; i < generation.unit_count; ++i) {
    const byoc_cutlass_words_t *words = &generation.units[i].problem.words;
    uses[words->dot] = true;
    tiles[words->dot] |= words->amx;
    converts = converts || byoc_cutlass_has_half(&generation.units[i].problem);
  }
  if (status == BYOC_OK) status = tune_units(&generation, state);
  if (status == BYOC_OK && generation.unit_count > 0) {
    status = add_code(&generation);
    if (status == BYOC_OK) status = require_features(&generation, byoc_cutlass_isa_features(generation.options.isa));
    if (status == BYOC_OK && converts) status = require_features(&generation, generation.options.half_feature);
    for (uint32_t dot = 0; status == BYOC_OK && dot < BYOC_CUTLASS_DOT_COUNT; ++dot) {
      if (uses[dot]) status = require_features(&generation, byoc_cutlass_dot_feature(generation.options.isa, dot));
      if (status == BYOC_OK && tiles[dot])
        status = require_features(&generation, byoc_cutlass_tile_features(generation.options.isa, dot));
    }
  }
  for (size_t i = 0; status == BYOC_OK && i < generation.job_count; ++i)
    if (generation.jobs[i].unit != SIZE_MAX) status = bind_job(&generation, &generation.jobs[i]);
  generation_deinit(&generation);
  return status;
}
