// SPDX-License-Identifier: Apache-2.0
// Runs an artifact and the evaluator side by side.
#define _GNU_SOURCE
#include "verify.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "artifact.h"
#include "containers.h"
#include "core/base/child.h"
#include "core/base/file.h"
#include "core/base/log.h"
#include "core/measure/compare.h"
#include "core/measure/special_values.h"
#include "core/op/op.h"
#include "tools/common/print.h"
#include "verify_inputs.h"

// The evaluator is slow, and a model may be large; one that hangs ends all the same.
#define TIMEOUT_MS   (60 * 60 * 1000)
#define MEMORY_LIMIT (UINT64_C(32) << 30)
// A Loop whose turns depend on made-up data may never end.
#define MOST_TURNS 1000
// Allowed difference of models that quantise: each layer may round a value between two steps either way.
#define QUANTISED_ERROR 0.05
enum { MOST_SIZES = 3 };

// Shared with the child: what goes on, for when it ends without an answer.
typedef struct stage_t {
  char text[200];
} stage_t;

typedef struct verify_t {
  const byoc_session_options_t *options;
  const char *model, *path, *entry;
  stage_t *stage;
} verify_t;

typedef struct answer_t {
  int32_t status;
  uint32_t runs, sizes;
  bool is_special_left_out;
  char message[900], hint[400];
} answer_t;

// ---- the reference ----

typedef struct reference_t {
  byoc_session_t session;
  byoc_build_evaluation_t evaluation;
  bool takes_special, is_random;
  double relative_error;
} reference_t;

static bool look_at(void *self, byoc_node_t *node) {
  reference_t *reference = self;
  if (node->callee != NULL) return byoc_block_walk(node->callee->body, look_at, self);
  const bool is_quantised = strstr(node->op, "QuantizeLinear") != NULL || strstr(node->op, "QLinear") != NULL ||
                            strstr(node->op, "Integer") != NULL;
  if (is_quantised) reference->relative_error = QUANTISED_ERROR;
  reference->is_random = reference->is_random || byoc_node_has_trait(node, BYOC_OP_RANDOM);
  return true;
}

// The same model for target "c" alone, with nothing that only says how it is compiled.
static byoc_status_t make_reference(const verify_t *verify, byoc_diag_t *diag, reference_t *reference) {
  byoc_session_options_t options = {.targets = {.items = {"c"}, .count = 1},
                                    .plugins = verify->options->plugins,
                                    .preferred = verify->options->preferred,
                                    .plan = "greedy",
                                    .layout = "plain",
                                    .check_budget = "0"};
  for (size_t i = 0; i < verify->options->dims.count; ++i) {
    const char *item = verify->options->dims.items[i];
    if (strchr(item, ',') == NULL) options.dims.items[options.dims.count++] = item; // those with several sizes are open
  }
  BYOC_RETURN_IF_ERROR(byoc_session_open(&options, diag, &reference->session));
  BYOC_RETURN_IF_ERROR(byoc_session_parse_targets(&reference->session, diag));
  BYOC_RETURN_IF_ERROR(byoc_session_read_model(&reference->session, verify->model, diag));
  byoc_build_t *build = &reference->session.setup.build;
  byoc_function_t *main_function = build->module != NULL ? byoc_graph_module_main(build->module) : NULL;
  if (main_function != NULL) {
    reference->takes_special = byoc_measure_takes_special(main_function);
    (void)byoc_block_walk(main_function->body, look_at, reference);
  }
  if (reference->is_random) {
    return byoc_diag_error(diag, BYOC_UNSUPPORTED, "it draws random numbers, so its outputs have no expected values");
  }
  BYOC_RETURN_IF_ERROR(byoc_session_compile(&reference->session, BYOC_BUILD_ALL, diag));
  BYOC_RETURN_IF_ERROR(byoc_build_evaluate(build, 1, diag, &reference->evaluation));
  byoc_evaluator_set_max_iterations(reference->evaluation.evaluator, MOST_TURNS);
  return BYOC_OK;
}

// ---- comparing ----

typedef struct place_t {
  double relative_error;
  bool is_special;
  char name[200]; // "y", "y[1]"
} place_t;

static byoc_status_t compare_texts(const place_t *place, const byoc_argument_t *got, const byoc_argument_t *wanted,
                                   size_t count, byoc_diag_t *diag) {
  const char *const *texts = got->data, *const *expected = wanted->data;
  for (size_t i = 0; i < count; ++i) {
    const char *text = texts[i] != NULL ? texts[i] : "", *other = expected[i] != NULL ? expected[i] : "";
    if (strcmp(text, other) == 0) continue;
    return byoc_diag_error(diag, BYOC_MISMATCH, "wrong result: element %zu of '%s' is \"%s\", not \"%s\"", i,
                           place->name, text, other);
  }
  return BYOC_OK;
}

static byoc_status_t compare_tensors(const place_t *place, const byoc_argument_t *got, const byoc_argument_t *wanted,
                                     byoc_diag_t *diag) {
  size_t count = 1;
  bool is_same = got->dtype == wanted->dtype && got->rank == wanted->rank;
  for (uint32_t d = 0; d < wanted->rank && is_same; ++d) {
    is_same = got->dims[d] == wanted->dims[d];
    count *= (size_t)wanted->dims[d];
  }
  if (!is_same) {
    return byoc_diag_error(diag, BYOC_MISMATCH, "wrong result: '%s' has another type or shape than the evaluator's",
                           place->name);
  }
  if (got->dtype == BYOC_DTYPE_STRING) return compare_texts(place, got, wanted, count, diag);
  return (place->is_special ? byoc_cost_check_spread : byoc_cost_check_within)(
      place->relative_error, got->dtype, wanted->data, got->data, count, place->name, diag);
}

static byoc_status_t compare(const place_t *place, const byoc_argument_t *got, const byoc_argument_t *wanted,
                             byoc_diag_t *diag) {
  if (got->kind == BYOC_ARGUMENT_TENSOR && wanted->kind == BYOC_ARGUMENT_TENSOR) {
    return compare_tensors(place, got, wanted, diag);
  }
  if (got->kind != wanted->kind || got->count != wanted->count) {
    return byoc_diag_error(diag, BYOC_MISMATCH, "wrong result: '%s' has %" PRIu64 " items, not %" PRIu64, place->name,
                           got->count, wanted->count);
  }
  for (uint64_t i = 0; i < got->count; ++i) {
    place_t item = *place;
    snprintf(item.name, sizeof(item.name), "%.150s[%" PRIu64 "]", place->name, i);
    BYOC_RETURN_IF_ERROR(compare(&item, &got->items[i], &wanted->items[i], diag));
  }
  return BYOC_OK;
}

// ---- one run of both ----

typedef enum outcome_t { AGREES, LEFT_OUT, FAILED } outcome_t;

static byoc_status_t compare_outputs(const place_t *place, const byoc_artifact_run_t *run,
                                     const byoc_argument_t *expected, byoc_diag_t *diag) {
  for (size_t i = 0; i < run->outputs.count; ++i) {
    const byoc_port_t *port = &run->outputs.items[i];
    place_t output = *place;
    const byoc_argument_t tensor = {
        .dtype = port->dtype, .rank = (uint32_t)port->rank, .dims = port->dims, .data = port->data};
    snprintf(output.name, sizeof(output.name), "%s", port->name);
    BYOC_RETURN_IF_ERROR(
        compare(&output, byoc_port_is_container(port) ? &port->argument : &tensor, &expected[i], diag));
  }
  return BYOC_OK;
}

static byoc_status_t run_both(const verify_t *verify, reference_t *reference, byoc_artifact_run_t *run,
                              byoc_verify_data_t data, byoc_arena_t *arena, byoc_diag_t *diag, outcome_t *out_outcome) {
  const byoc_host_program_t *program = reference->session.setup.build.result.program;
  byoc_ports_t outputs = {0};
  byoc_argument_t *in = NULL, *out = NULL;
  byoc_diag_t refusal = {0};
  *out_outcome = FAILED;
  byoc_status_t status = byoc_ports_for_buffers(&outputs, program->outputs.data, program->outputs.count, diag);
  if (status == BYOC_OK && program->inputs.count != run->inputs.count) {
    status = byoc_diag_error(diag, BYOC_INTERNAL, "the artifact has other inputs than the model");
  }
  if (status == BYOC_OK) status = byoc_verify_fill(&run->inputs, data, arena, diag);
  if (status == BYOC_OK) status = byoc_ports_arguments(&run->inputs, diag, &in);
  if (status == BYOC_OK) status = byoc_ports_arguments(&outputs, diag, &out);
  if (status == BYOC_OK) {
    // Inputs that the evaluator refuses are not compared: wrong sizes, an index out of range, a loop without end.
    if (byoc_evaluator_run_arguments(reference->evaluation.evaluator, in, out, &refusal) != BYOC_OK) {
      byoc_log(BYOC_LOG_INFO, "verifying: the evaluator refuses %s: %s", verify->stage->text, refusal.message);
      *out_outcome = LEFT_OUT;
    } else {
      status = byoc_artifact_run_once(run, diag);
      place_t place = {.relative_error = reference->relative_error, .is_special = data == BYOC_VERIFY_WILD};
      if (status == BYOC_OK) status = compare_outputs(&place, run, out, diag);
      if (status == BYOC_OK) *out_outcome = AGREES;
    }
  }
  byoc_free(byoc_allocator_system(), in);
  byoc_free(byoc_allocator_system(), out);
  byoc_ports_deinit(&outputs);
  // The arena owns the items of sequences.
  for (size_t i = 0; i < run->inputs.count; ++i) run->inputs.items[i].read = (byoc_argument_t){0};
  return status;
}

// ---- all of them, in the child ----

static byoc_status_t run_data(const verify_t *verify, reference_t *reference, byoc_verify_data_t data, size_t attempt,
                              byoc_diag_t *diag, bool *out_is_over, bool *out_is_open, outcome_t *out_outcome) {
  byoc_artifact_run_t run;
  byoc_arena_t arena;
  byoc_string_t sizes;
  const byoc_context_options_t context = {.struct_size = sizeof(context),
                                          .thread_count = (int32_t)verify->options->thread_count,
                                          .max_iterations = MOST_TURNS};
  BYOC_RETURN_IF_ERROR(byoc_artifact_run_open_with(verify->path, verify->entry, verify->model, &context, diag, &run));
  byoc_arena_init(&arena, byoc_allocator_system());
  byoc_string_init(&sizes, byoc_allocator_system());
  byoc_status_t status = BYOC_OK;
  *out_is_open = byoc_verify_is_open(&run.inputs);
  *out_is_over = *out_is_open ? !byoc_verify_size(&run.inputs, &verify->options->dims, attempt, &sizes) : attempt > 0;
  if (!*out_is_over) {
    snprintf(verify->stage->text, sizeof(verify->stage->text), "%s%s%s", byoc_verify_data_name(data),
             sizes.size > 0 ? ", " : "", sizes.size > 0 ? sizes.data : "");
    status = run_both(verify, reference, &run, data, &arena, diag, out_outcome);
  }
  byoc_artifact_run_close(&run);
  byoc_string_deinit(&sizes);
  byoc_arena_deinit(&arena);
  return status;
}

static byoc_status_t run_all(const verify_t *verify, reference_t *reference, byoc_diag_t *diag, answer_t *out) {
  for (size_t attempt = 0; out->sizes < MOST_SIZES; ++attempt) {
    bool is_taken = false, is_over = false, is_open = false;
    for (int data = 0; data < BYOC_VERIFY_DATA_COUNT && !is_over; ++data) {
      outcome_t outcome = LEFT_OUT;
      if (data == BYOC_VERIFY_WILD && !reference->takes_special) continue;
      BYOC_RETURN_IF_ERROR(
          run_data(verify, reference, (byoc_verify_data_t)data, attempt, diag, &is_over, &is_open, &outcome));
      is_taken = is_taken || outcome == AGREES;
      out->runs += outcome == AGREES;
    }
    if (is_over) break;
    out->sizes += is_taken;
    if (!is_open) break;
  }
  if (out->runs > 0) return BYOC_OK;
  const byoc_status_t status =
      byoc_diag_error(diag, BYOC_UNSUPPORTED, "the evaluator accepted none of the inputs, so nothing was compared");
  byoc_diag_hint(diag, "give open dimensions sizes that fit, as in --dim NAME=8,64, or compare with byoc run --expect");
  return status;
}

static void verify_body(void *self, void *answer) {
  const verify_t *verify = self;
  answer_t *out = answer;
  byoc_diag_t diag = {0};
  reference_t reference = {0};
  out->status = make_reference(verify, &diag, &reference);
  if (out->status == BYOC_OK) out->status = run_all(verify, &reference, &diag, out);
  out->is_special_left_out = !reference.takes_special;
  if (out->status == BYOC_OK) return;
  const bool is_run = out->status == BYOC_MISMATCH || verify->stage->text[0] != '\0';
  snprintf(out->message, sizeof(out->message), "%s%s%s%s", is_run ? "on " : "", is_run ? verify->stage->text : "",
           is_run ? ": " : "", diag.message);
  snprintf(out->hint, sizeof(out->hint), "%s", diag.hint);
}

// ---- the parent ----

byoc_status_t byoc_verify_check(const byoc_session_options_t *options, const char *output, const char *emit,
                                byoc_diag_t *diag) {
  if (emit != NULL) return byoc_diag_error(diag, BYOC_INVALID_ARGUMENT, "--verify is for artifacts; --emit makes none");
  if (options->triple != NULL) {
    return byoc_diag_error(diag, BYOC_INVALID_ARGUMENT,
                           "--verify runs the artifact, and this machine cannot run code "
                           "for %s: run it there with byoc run --expect",
                           options->triple);
  }
  if (options->shard != NULL) {
    return byoc_diag_error(diag, BYOC_INVALID_ARGUMENT,
                           "--verify runs the artifact, and one rank does not run alone: byoc run --ranks --expect");
  }
  if (byoc_compose_is_source(output)) {
    return byoc_diag_error(diag, BYOC_INVALID_ARGUMENT,
                           "--verify runs the artifact, and C source is not compiled here: verify a shared object of "
                           "the same model");
  }
  return BYOC_OK;
}

static byoc_status_t hint(const verify_t *verify, byoc_status_t status, byoc_diag_t *diag) {
  byoc_string_t text;
  byoc_string_init(&text, byoc_allocator_system());
  byoc_string_appendf(&text, "byoc debug bisect %s --evaluate", verify->model);
  for (size_t i = 0; i < verify->options->targets.count; ++i) {
    byoc_string_appendf(&text, " --target '%s'", verify->options->targets.items[i]);
  }
  for (size_t i = 0; i < verify->options->plugins.count; ++i) {
    byoc_string_appendf(&text, " --plugin '%s'", verify->options->plugins.items[i]);
  }
  if (!text.failed) byoc_diag_hint(diag, "%s finds the region or the kernel that is wrong", text.data);
  byoc_string_deinit(&text);
  return status;
}

static byoc_status_t verify_artifact(const byoc_session_options_t *options, const char *model, const char *path,
                                     const char *entry, byoc_diag_t *diag) {
  void *shared = mmap(NULL, sizeof(stage_t), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared == MAP_FAILED) return byoc_diag_out_of_memory(diag);
  verify_t verify = {.options = options, .model = model, .path = path, .entry = entry, .stage = shared};
  const byoc_child_limits_t limits = {.timeout_ms = TIMEOUT_MS, .memory_bytes = MEMORY_LIMIT};
  answer_t answer;
  byoc_diag_t why = {0};
  byoc_progress_show("verifying the artifact");
  byoc_status_t status = byoc_child_run(&limits, verify_body, &verify, &answer, sizeof(answer), &why);
  byoc_progress_wipe();
  answer.message[sizeof(answer.message) - 1] = '\0';
  if (status != BYOC_OK) {
    verify.stage->text[sizeof(verify.stage->text) - 1] = '\0';
    const bool is_run = verify.stage->text[0] != '\0';
    status = byoc_diag_error(diag, status, "verifying%s%s: %s", is_run ? " on " : "", verify.stage->text, why.message);
    if (is_run) status = hint(&verify, status, diag);
  } else if (answer.status != BYOC_OK) {
    status = byoc_diag_error(diag, answer.status, "verifying %s", answer.message);
    answer.hint[sizeof(answer.hint) - 1] = '\0';
    if (answer.hint[0] != '\0') byoc_diag_hint(diag, "%s", answer.hint);
    if (answer.hint[0] == '\0' && answer.status != BYOC_UNSUPPORTED) status = hint(&verify, status, diag);
  } else {
    byoc_print("verified: %u run%s as the evaluator has %s%s\n", answer.runs, byoc_plural(answer.runs),
               answer.runs == 1 ? "it" : "them",
               answer.is_special_left_out ? ", NaN and infinities left out, for which an operator is undefined" : "");
  }
  (void)munmap(shared, sizeof(stage_t));
  return status;
}

// ---- the artifact under another name ----

// Code and data are those of the one to come; its weights lie where they can be found.
static byoc_compose_options_t make_trial(const byoc_compose_options_t *compose, const char *path) {
  byoc_compose_options_t trial = *compose;
  trial.output = path;
  trial.keep_header = false;
  trial.files = NULL;
  trial.weights = BYOC_COMPOSE_WEIGHTS_AUTO;
  trial.weights_path = NULL;
  return trial;
}

static byoc_status_t verify_at(const byoc_session_options_t *options, const byoc_build_t *const *builds,
                               const char *const *names, const char *const *models, size_t entry_count,
                               const byoc_compose_options_t *compose, const char *path, byoc_diag_t *diag) {
  const byoc_compose_options_t trial = make_trial(compose, path);
  const bool is_alone = entry_count == 0 && builds[0]->options.targets->levels.count == 0;
  BYOC_RETURN_IF_ERROR(is_alone ? byoc_build_compose(builds[0], &trial, diag)
                                : byoc_build_compose_entries(builds, names, entry_count, &trial, diag));
  if (entry_count == 0) return verify_artifact(options, models[0], path, NULL, diag);
  for (size_t k = 0; k < entry_count; ++k) {
    BYOC_RETURN_IF_ERROR_IN(diag, verify_artifact(options, models[k], path, names[k], diag), "the entry '%s'",
                            names[k]);
  }
  return BYOC_OK;
}

byoc_status_t byoc_verify_builds(const byoc_session_options_t *options, const byoc_build_t *const *builds,
                                 const char *const *names, const char *const *models, size_t entry_count,
                                 const byoc_compose_options_t *compose, byoc_diag_t *diag) {
  const byoc_allocator_t allocator = byoc_allocator_system();
  char *folder = NULL;
  BYOC_RETURN_IF_ERROR(byoc_make_temporary_directory("byoc-verify", allocator, diag, &folder));
  char *path = byoc_path_join(allocator, folder, "model.so");
  const byoc_status_t status = path != NULL
                                   ? verify_at(options, builds, names, models, entry_count, compose, path, diag)
                                   : byoc_diag_out_of_memory(diag);
  (void)byoc_remove_tree(folder, NULL);
  byoc_free(allocator, path);
  byoc_free(allocator, folder);
  return status;
}
