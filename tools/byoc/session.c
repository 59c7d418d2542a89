// SPDX-License-Identifier: Apache-2.0
// Turns what subcommands share on their command lines into the setup of a build.
#include "session.h"

#include <string.h>

#include "core/base/log.h"
#include "core/base/visible.h"
#include "dim_option.h"

// ---- from words to options ----

// NAME=VALUE or NAME=VALUE,VALUE, once for each dimension.
static byoc_status_t read_dims(byoc_session_t *session, const byoc_string_items_t *items, byoc_diag_t *diag) {
  byoc_onnx_dim_binding_t *dims = BYOC_ARENA_ARRAY(&session->texts, byoc_onnx_dim_binding_t, items->count);
  byoc_variant_dim_t *variants = BYOC_ARENA_ARRAY(&session->texts, byoc_variant_dim_t, items->count);
  if (dims == NULL || variants == NULL) return byoc_diag_out_of_memory(diag);
  byoc_setup_options_t *settings = &session->settings;
  for (size_t i = 0; i < items->count; ++i) {
    byoc_dim_option_t dim;
    BYOC_RETURN_IF_ERROR(byoc_dim_option_read(items, i, diag, &dim));
    const char *name = byoc_arena_format(&session->texts, "%.*s", (int)dim.name_size, dim.name);
    const int64_t *sizes = byoc_arena_copy(&session->texts, dim.values, dim.count * sizeof(*sizes));
    if (name == NULL || sizes == NULL) return byoc_diag_out_of_memory(diag);
    if (dim.is_list) {
      variants[settings->variant_count++] = (byoc_variant_dim_t){.name = name, .sizes = sizes, .size_count = dim.count};
    } else {
      dims[settings->dim_count++] = (byoc_onnx_dim_binding_t){.name = name, .value = dim.values[0]};
    }
  }
  settings->dims = dims;
  settings->variants = variants;
  return BYOC_OK;
}

// OUT=IN, once for each pair.
static byoc_status_t read_aliases(byoc_session_t *session, const byoc_string_items_t *aliases, byoc_diag_t *diag) {
  byoc_host_pair_t *pairs = BYOC_ARENA_ARRAY(&session->texts, byoc_host_pair_t, aliases->count);
  if (pairs == NULL) return byoc_diag_out_of_memory(diag);
  for (size_t i = 0; i < aliases->count; ++i) {
    const char *item = aliases->items[i], *equals = strchr(item, '=');
    if (equals == NULL || equals == item || equals[1] == '\0') {
      return byoc_diag_error(diag, BYOC_INVALID_ARGUMENT, "--alias takes OUT=IN, an output and an input, not '%s'",
                             item);
    }
    const char *output = byoc_arena_format(&session->texts, "%.*s", (int)(equals - item), item);
    if (output == NULL) return byoc_diag_out_of_memory(diag);
    pairs[i] = (byoc_host_pair_t){.output = output, .input = equals + 1};
  }
  session->settings.pairs = pairs;
  session->settings.pair_count = aliases->count;
  return BYOC_OK;
}

// The names, in the session's memory.
static byoc_status_t read_names(byoc_session_t *session, const byoc_string_items_t *items, byoc_diag_t *diag,
                                const char *const **out_names, size_t *out_count) {
  const char **names = BYOC_ARENA_ARRAY(&session->texts, const char *, items->count + 1);
  for (size_t i = 0; names != NULL && i < items->count; ++i) {
    names[i] = byoc_arena_copy_string(&session->texts, items->items[i]);
    if (names[i] == NULL) names = NULL;
  }
  *out_names = names;
  *out_count = items->count;
  return names != NULL ? BYOC_OK : byoc_diag_out_of_memory(diag);
}

static byoc_status_t read_inputs(byoc_session_t *session, const byoc_session_options_t *options, byoc_diag_t *diag) {
  byoc_setup_options_t *to = &session->settings;
  BYOC_RETURN_IF_ERROR(
      read_names(session, &options->optional_inputs, diag, &to->optional_inputs, &to->optional_input_count));
  return read_names(session, &options->given_inputs, diag, &to->given_inputs, &to->given_input_count);
}

static bool show_step(void *self, const char *step) {
  (void)self;
  static const struct {
    const char *step, *line;
  } lines[] = {{"read", "reading the model"},
               {"simplify", "simplifying the model"},
               {"place", "placing operators among targets"},
               {"generate", "generating the targets' code"},
               {"lower", "lowering the other operators to loops"},
               {"compose", "compiling and linking"}};
  for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); ++i) {
    if (strcmp(lines[i].step, step) == 0) byoc_progress_show(lines[i].line);
  }
  return true;
}

byoc_status_t byoc_session_open(const byoc_session_options_t *options, byoc_diag_t *diag, byoc_session_t *session) {
  *session = (byoc_session_t){.allocator = byoc_allocator_system()};
  byoc_arena_init(&session->texts, session->allocator);
  session->settings = (byoc_setup_options_t){.prefix = "--",
                                             .targets = options->targets.items,
                                             .target_count = options->targets.count,
                                             .triple = options->triple,
                                             .level = options->level,
                                             .disabled = options->disabled.items,
                                             .disabled_count = options->disabled.count,
                                             .print_after = options->print_after,
                                             .plan = options->plan,
                                             .installed_by_default = options->installed_by_default,
                                             .greedy_by_default = options->greedy_by_default,
                                             .cost = options->cost,
                                             .cost_budget_s = options->cost_budget_s,
                                             .error = options->error,
                                             .size_price = options->size_price,
                                             .collage_nodes = options->collage_nodes,
                                             .collage_depth = options->collage_depth,
                                             .thread_count = options->thread_count,
                                             .threads = options->threads,
                                             .layout = options->layout,
                                             .queue_count = options->queue_count,
                                             .stream_axis = options->stream_axis,
                                             .fallback = options->fallback,
                                             .runtime_values = options->runtime_values,
                                             .trace = options->trace,
                                             .as_source = options->as_source,
                                             .shard = options->shard,
                                             .rank = options->rank,
                                             .rank_count = options->rank_count};
  session->calibrate = options->calibrate;
  if (options->calibrate != NULL && options->error == NULL) {
    return byoc_diag_error(diag, BYOC_INVALID_ARGUMENT, "--calibrate gives the inputs of --error");
  }
  if (options->strict && options->lenient) {
    return byoc_diag_error(diag, BYOC_INVALID_ARGUMENT, "--strict and --lenient exclude each other");
  }
  session->settings.strictness = options->strict    ? BYOC_ONNX_STRICT
                                 : options->lenient ? BYOC_ONNX_LENIENT
                                                    : BYOC_ONNX_USUAL;
  if (options->shows_steps) session->settings.watcher.begin = show_step;
  if (options->check_budget != NULL) {
    BYOC_RETURN_IF_ERROR(
        byoc_setup_read_check_budget("--check-budget", options->check_budget, diag, &session->settings.check_budget_s));
  }
  BYOC_RETURN_IF_ERROR(read_aliases(session, &options->aliases, diag));
  BYOC_RETURN_IF_ERROR(read_dims(session, &options->dims, diag));
  BYOC_RETURN_IF_ERROR(read_inputs(session, options, diag));
  if (options->verbose) byoc_log_set_level(BYOC_LOG_INFO);
  const byoc_plugin_options_t plugins = {.paths = options->plugins.items,
                                         .path_count = options->plugins.count,
                                         .preferred = options->preferred.items,
                                         .preferred_count = options->preferred.count};
  BYOC_RETURN_IF_ERROR(byoc_setup_find_plugins(&plugins, session->allocator, diag, &session->registry));
  return byoc_setup_open(&session->setup, &session->settings, session->registry, session->allocator, diag);
}

void byoc_session_close(byoc_session_t *session) {
  if (session->allocator.resize == NULL) return; // it was never opened
  byoc_setup_close(&session->setup);
  byoc_calibration_deinit(&session->samples);
  byoc_arena_deinit(&session->texts);
  byoc_plugin_registry_destroy(session->registry); // last: everything above may hold what plugins made
}

byoc_status_t byoc_session_refuse_options(const byoc_session_options_t *options, const char *what, byoc_diag_t *diag) {
  const struct {
    const char *name;
    bool given;
  } given[] = {
      {"target", options->targets.count > 0},
      {"plugin", options->plugins.count > 0},
      {"prefer", options->preferred.count > 0},
      {"plan", options->plan != NULL},
      {"cost", options->cost != NULL},
      {"cost-budget", options->cost_budget_s > 0},
      {"check-budget", options->check_budget != NULL},
      {"size-price", options->size_price != NULL},
      {"error", options->error != NULL},
      {"layout", options->layout != NULL},
      {"print-after", options->print_after != NULL},
      {"disable-pass", options->disabled.count > 0},
      {"alias", options->aliases.count > 0},
      {"stream-axis", options->stream_axis != NULL},
      {"queues", options->queue_count > 0},
      {"fallback", options->fallback},
      {"shard", options->shard != NULL},
      {"strict", options->strict},
      {"optional-input", options->optional_inputs.count > 0},
      {"lenient", options->lenient},
  };
  for (size_t i = 0; i < sizeof(given) / sizeof(given[0]); ++i) {
    if (!given[i].given) continue;
    return byoc_diag_error(diag, BYOC_INVALID_ARGUMENT, "--%s is for models; this is %s", given[i].name, what);
  }
  return BYOC_OK;
}

// ---- the model ----

byoc_status_t byoc_session_parse_targets(byoc_session_t *session, byoc_diag_t *diag) {
  return byoc_setup_parse_targets(&session->setup, &session->settings, diag);
}

byoc_status_t byoc_session_begin(byoc_session_t *session, byoc_diag_t *diag) {
  return byoc_setup_begin(&session->setup, &session->settings, diag);
}

// Samples that are made up; with more of them, the promise is nearer to the budget, and the build takes longer.
enum { GENERATED_SAMPLES = 8 };

static byoc_status_t share_samples(byoc_session_t *session, byoc_diag_t *diag) {
  const byoc_calibration_t *samples = &session->samples;
  const void *const **inputs = BYOC_ARENA_ARRAY(&session->texts, const void *const *, samples->count + 1);
  for (size_t s = 0; inputs != NULL && s < samples->count; ++s) {
    const byoc_ports_t *ports = &samples->samples[s];
    const void **data = BYOC_ARENA_ARRAY(&session->texts, const void *, ports->count + 1);
    if (data == NULL) return byoc_diag_out_of_memory(diag);
    for (size_t i = 0; i < ports->count; ++i) data[i] = ports->items[i].data;
    inputs[s] = data;
  }
  session->setup.placing.samples =
      (byoc_error_samples_t){.inputs = inputs, .count = samples->count, .is_generated = samples->is_generated};
  return inputs != NULL ? BYOC_OK : byoc_diag_out_of_memory(diag);
}

// The samples that errors are measured on.
static byoc_status_t read_samples(byoc_session_t *session, byoc_diag_t *diag) {
  const byoc_graph_module_t *module = session->setup.build.module;
  if (session->settings.error == NULL || module == NULL || session->setup.build.result.program != NULL) return BYOC_OK;
  byoc_ports_t inputs;
  BYOC_RETURN_IF_ERROR(byoc_ports_for_function(&inputs, byoc_graph_module_main(module), diag));
  byoc_status_t status = session->calibrate != NULL
                             ? byoc_calibration_read(&inputs, session->calibrate, NULL, 0, diag, &session->samples)
                             : byoc_calibration_generate(&inputs, GENERATED_SAMPLES, diag, &session->samples);
  byoc_ports_deinit(&inputs);
  return status == BYOC_OK ? share_samples(session, diag) : status;
}

byoc_status_t byoc_session_read_model(byoc_session_t *session, const char *path, byoc_diag_t *diag) {
  byoc_status_t status = byoc_setup_read_file(&session->setup, &session->settings, path, diag);
  if (status == BYOC_OK) status = read_samples(session, diag);
  byoc_progress_wipe();
  return status;
}

byoc_status_t byoc_session_compile(byoc_session_t *session, byoc_build_extent_t extent, byoc_diag_t *diag) {
  const byoc_status_t status = byoc_setup_compile(&session->setup, extent, diag);
  byoc_progress_wipe();
  return status;
}

byoc_status_t byoc_session_compose(byoc_session_t *session, const byoc_compose_options_t *output, byoc_diag_t *diag) {
  const byoc_status_t status = byoc_build_compose(&session->setup.build, output, diag);
  byoc_progress_wipe();
  return status;
}

byoc_status_t byoc_session_compose_temporary(byoc_session_t *session, byoc_diag_t *diag,
                                             byoc_build_temporary_t *out_temporary) {
  const byoc_status_t status = byoc_build_compose_temporary(&session->setup.build, diag, out_temporary);
  byoc_progress_wipe();
  return status;
}

// ---- what was left out ----

// A backend may give something back at will; a candidate that fails is worth telling.
static bool is_failure(const byoc_plan_candidate_t *candidate) {
  return isinf(candidate->cost_ns) && candidate->reason != NULL && !candidate->is_fallback;
}

// True if an earlier candidate had the same reason. Equal ones share a price, and so a reason.
static bool is_repeated(const byoc_plan_block_t *block, size_t index) {
  const byoc_plan_candidate_t *candidate = &block->candidates.data[index];
  for (size_t i = 0; i < index; ++i) {
    const byoc_plan_candidate_t *earlier = &block->candidates.data[i];
    if (is_failure(earlier) && earlier->target == candidate->target &&
        strcmp(earlier->reason, candidate->reason) == 0) {
      return true;
    }
  }
  return false;
}

void byoc_session_format_unusable(const byoc_session_t *session, byoc_string_t *out) {
  enum { SHOWN = 3 };
  const byoc_plan_t *plan = &session->setup.build.result.plan;
  size_t count = 0;
  for (size_t b = 0; b < plan->blocks.count; ++b) {
    const byoc_plan_block_t *block = &plan->blocks.data[b];
    for (size_t i = 0; i < block->candidates.count; ++i) {
      const byoc_plan_candidate_t *candidate = &block->candidates.data[i];
      if (!is_failure(candidate) || is_repeated(block, i) || count++ >= SHOWN) continue;
      const byoc_plan_node_t *node = &block->nodes.data[candidate->nodes[0]];
      byoc_string_appendf(out, "left out: %s at ", candidate->rule);
      byoc_string_append_shown(out, node->op);
      byoc_string_append(out, node->name[0] ? " " : "");
      byoc_string_append_shown(out, node->name);
      byoc_string_appendf(out, ": %.*s\n", (int)strcspn(candidate->reason, "\n"), candidate->reason);
    }
  }
  if (count > SHOWN) byoc_string_appendf(out, "left out: %zu more kinds; byoc explain lists them\n", count - SHOWN);
}
