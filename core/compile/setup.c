// SPDX-License-Identifier: Apache-2.0
// Prepares a build from options: plugins, targets, the placer, and the model with its dimensions.
#include "core/compile/setup.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/file.h"
#include "core/base/log.h"
#include "core/collage/partition.h"
#include "core/compile/lapses.h"
#include "core/compose/cc/cross.h"
#include "core/compose/cc/native.h"
#include "core/pass/shard_spec.h"
#include "core/plugin/installation.h"
#include "core/targets/precision.h"

byoc_status_t byoc_setup_find_plugins(const byoc_plugin_options_t *plugins, byoc_allocator_t allocator,
                                      byoc_diag_t *diag, byoc_plugin_registry_t **out_registry) {
  *out_registry = NULL;
  byoc_plugin_options_t options = *plugins;
  char *folder = NULL;
  if (options.installation == NULL) BYOC_RETURN_IF_ERROR(byoc_installation_find("plugins", allocator, diag, &folder));
  if (folder != NULL) options.installation = folder;
  byoc_status_t status = byoc_plugin_registry_create(&options, allocator, diag, out_registry);
  byoc_free(allocator, folder);
  return status;
}

// BYOC_INVALID_ARGUMENT, with the nearest match, unless it is a pass or one of the other steps that print.
static byoc_status_t check_print_after(const char *name, byoc_diag_t *diag) {
  static const char *const steps[] = {"all", "place", "generate"};
  for (size_t i = 0; name != NULL && i < sizeof(steps) / sizeof(steps[0]); ++i) {
    if (strcmp(name, steps[i]) == 0) return BYOC_OK;
  }
  const bool is_pass = name == NULL || byoc_passes_find(&byoc_partition_passes, name) != NULL;
  return is_pass ? BYOC_OK : byoc_passes_unknown(&byoc_partition_passes, name, diag);
}

byoc_status_t byoc_setup_open(byoc_setup_t *setup, const byoc_setup_options_t *options,
                              byoc_plugin_registry_t *registry, byoc_allocator_t allocator, byoc_diag_t *diag) {
  *setup = (byoc_setup_t){.allocator = allocator, .registry = registry};
  BYOC_RETURN_IF_ERROR(check_print_after(options->print_after, diag));
  for (size_t i = 0; i < options->disabled_count; ++i) {
    BYOC_RETURN_IF_ERROR(byoc_pass_check_switch(options->disabled[i], diag));
    if (byoc_switches_turn_off(&setup->switches, options->disabled[i])) continue;
    return byoc_diag_error(diag, BYOC_INVALID_ARGUMENT, "%zu passes are left out, which is too many",
                           options->disabled_count);
  }
  return BYOC_OK;
}

void byoc_setup_close(byoc_setup_t *setup) {
  if (setup->allocator.resize == NULL) return; // it was never opened
  byoc_build_deinit(&setup->build);
  byoc_target_list_deinit(&setup->targets);
}

// ---- targets ----

// Appends the default targets that can be used here, each with ';' in front of it. One that is announced and refused is
// reported, since the build goes on without it.
static void list_default_targets(const byoc_target_registry_t *registry, byoc_string_t *out) {
  for (const char *at = BYOC_DEFAULT_TARGETS; *at != '\0'; at += *at == ';') {
    char kind[64];
    const size_t size = strcspn(at, ";");
    snprintf(kind, sizeof(kind), "%.*s", (int)size, at);
    at += size;
    if (registry->lookup(registry->self, kind) != NULL) {
      byoc_string_appendf(out, "%s%s", out->size > 0 ? ";" : "", kind);
      continue;
    }
    const char *refusal = registry->refusal != NULL ? registry->refusal(registry->self, kind) : NULL;
    if (refusal != NULL) byoc_log(BYOC_LOG_WARNING, "the default target '%s' is left out: %s", kind, refusal);
  }
}

static byoc_status_t parse_default_targets(byoc_setup_t *setup, const byoc_target_registry_t *registry,
                                           byoc_diag_t *diag) {
  const char *preset = getenv("BYOC_TARGET");
  if (preset != NULL && preset[0] != '\0') {
    byoc_status_t status = byoc_target_list_parse(&preset, 1, registry, setup->allocator, diag, &setup->targets);
    return status == BYOC_OK ? BYOC_OK : byoc_diag_context(diag, status, "BYOC_TARGET");
  }
  byoc_string_t text;
  byoc_string_init(&text, setup->allocator);
  list_default_targets(registry, &text);
  setup->are_default_targets = true;
  const char *words = text.data;
  byoc_status_t status = text.failed ? byoc_diag_out_of_memory(diag)
                                     : byoc_target_list_parse(&words, text.size > 0 ? 1 : 0, registry, setup->allocator,
                                                              diag, &setup->targets);
  byoc_string_deinit(&text);
  return status;
}

// For another machine, unless -cc names one.
static byoc_status_t find_compiler(byoc_target_list_t *targets, byoc_diag_t *diag) {
  if (targets->triple == NULL || byoc_native_compiler(targets) != NULL) return BYOC_OK;
  return byoc_cross_compiler(targets->triple, &targets->arena, diag, &targets->compiler);
}

// Without an inexact target, a budget of errors is of no use.
static byoc_status_t offer_precisions(byoc_setup_t *setup, const byoc_setup_options_t *options, byoc_diag_t *diag) {
  size_t added = 0;
  if (options->error == NULL) return BYOC_OK;
  BYOC_RETURN_IF_ERROR(byoc_precisions_offer(&setup->targets, diag, &added));
  for (size_t t = 0; t < setup->targets.targets.count; ++t) {
    if (byoc_target_relative_error(setup->targets.targets.data[t]) > 0) return BYOC_OK;
  }
  const byoc_status_t status = byoc_diag_error(diag, BYOC_INVALID_ARGUMENT,
                                               "%serror needs a target that offers precisions, and none of these does",
                                               options->prefix != NULL ? options->prefix : "");
  byoc_diag_hint(diag, "name one with --target; byoc targets shows their options: cutlass has -precision");
  return status;
}

byoc_status_t byoc_setup_parse_targets(byoc_setup_t *setup, const byoc_setup_options_t *options, byoc_diag_t *diag) {
  byoc_target_registry_t registry = byoc_plugin_registry_targets(setup->registry);
  registry.triple = options->triple;
  registry.level = options->level;
  if (options->as_source) registry.cpu = "portable";
  byoc_status_t status = options->target_count == 0 && options->installed_by_default && !options->as_source
                             ? parse_default_targets(setup, &registry, diag)
                             : byoc_target_list_parse(options->targets, options->target_count, &registry,
                                                      setup->allocator, diag, &setup->targets);
  // Makes any error of the parser one of the options, except for a target whose plugin cannot be used.
  const bool is_misuse = status != BYOC_OK && status != BYOC_OUT_OF_MEMORY && status != BYOC_INVALID_DATA;
  if (status != BYOC_OK) return is_misuse ? BYOC_INVALID_ARGUMENT : status;
  if (options->as_source && setup->targets.levels.count > 0) {
    byoc_status_t refusal = byoc_diag_error(diag, BYOC_INVALID_ARGUMENT,
                                            "C source cannot pick among several processors: its compiler gets one");
    byoc_diag_hint(diag, "name one processor with -mcpu, or build a shared object or a static library");
    return refusal;
  }
  BYOC_RETURN_IF_ERROR(offer_precisions(setup, options, diag));
  return find_compiler(&setup->targets, diag);
}

// ---- placing ----

static byoc_status_t refuse_value(const byoc_setup_options_t *options, const char *option, const char *choices,
                                  const char *value, byoc_diag_t *diag) {
  return byoc_diag_error(diag, BYOC_INVALID_ARGUMENT, "%s%s takes %s, not '%s'",
                         options->prefix != NULL ? options->prefix : "", option, choices, value);
}

// A library of 40 MiB must make a model at least two hundredths faster.
#define SIZE_PRICE_PERCENT 0.05
#define SIZE_PRICE_MOST    100.0

static byoc_status_t read_size_price(const byoc_setup_options_t *options, byoc_diag_t *diag, double *out_share) {
  const char *text = options->size_price;
  *out_share = SIZE_PRICE_PERCENT / 100;
  if (text == NULL) return BYOC_OK;
  char *end = NULL;
  const double percent = strtod(text, &end);
  if (end == text || *end != '\0' || !(percent >= 0 && percent <= SIZE_PRICE_MOST)) {
    return refuse_value(options, "size-price", "a percentage from 0 to 100", text, diag);
  }
  *out_share = percent / 100;
  return BYOC_OK;
}

static byoc_status_t read_error(const byoc_setup_options_t *options, byoc_diag_t *diag, double *out_error) {
  const char *text = options->error;
  char *end = NULL;
  *out_error = text != NULL ? strtod(text, &end) : 0;
  if (text == NULL) return BYOC_OK;
  const bool is_number = end != text && *end == '\0' && *out_error > 0 && *out_error <= 1; // no NaN is
  if (!is_number) return refuse_value(options, "error", "a relative error above 0 and at most 1", text, diag);
  const char *prefix = options->prefix != NULL ? options->prefix : "";
  if (options->plan != NULL && strcmp(options->plan, "greedy") == 0) {
    return byoc_diag_error(diag, BYOC_INVALID_ARGUMENT, "%serror needs a plan by cost: %splan=greedy makes none",
                           prefix, prefix);
  }
  if (options->cost == NULL || strcmp(options->cost, "estimate") != 0) return BYOC_OK;
  return byoc_diag_error(diag, BYOC_INVALID_ARGUMENT, "%serror needs measured costs: %scost=estimate measures nothing",
                         prefix, prefix);
}

// The default plan within an error budget. The environment's is followed if it can be: a saved plan, but not a greedy
// one, which says nothing of this build.
static void choose_budget_plan(const byoc_setup_options_t *options, byoc_placing_t *placing) {
  if (options->plan != NULL) return;
  if (placing->plan != NULL && strcmp(placing->plan, "greedy") != 0) return;
  if (placing->plan != NULL) {
    byoc_log(BYOC_LOG_WARNING, "BYOC_PLAN=greedy is not followed: %serror needs a plan by cost",
             options->prefix != NULL ? options->prefix : "");
  }
  placing->plan = "collage";
}

static byoc_status_t choose_placing(const byoc_setup_options_t *options, bool greedy_by_default, byoc_diag_t *diag,
                                    byoc_placing_t *out_placing) {
  bool has_budget = options->cost_budget_s > 0;
  *out_placing = (byoc_placing_t){.plan = options->plan,
                                  .budget_s = has_budget ? options->cost_budget_s : BYOC_COST_BUDGET_S,
                                  .spend_budget = has_budget,
                                  .threads = options->threads};
  const char *preset = getenv("BYOC_PLAN");
  if (options->plan == NULL && preset != NULL && preset[0] != '\0') out_placing->plan = preset;
  BYOC_RETURN_IF_ERROR(read_error(options, diag, &out_placing->error));
  if (out_placing->error > 0) choose_budget_plan(options, out_placing);
  if (out_placing->error > 0 && !has_budget) out_placing->budget_s = BYOC_ERROR_COST_BUDGET_S;
  if (out_placing->plan == NULL) out_placing->plan = greedy_by_default ? "greedy" : "collage";
  bool is_name = strcmp(out_placing->plan, "greedy") == 0 || strcmp(out_placing->plan, "collage") == 0;
  if (!is_name && !byoc_ends_with(out_placing->plan, ".json")) {
    return refuse_value(options, "plan", "collage, greedy or a FILE.json", out_placing->plan, diag);
  }
  out_placing->collage_nodes = (uint32_t)options->collage_nodes;
  out_placing->collage_depth = (uint32_t)options->collage_depth;
  out_placing->plain_layouts = options->layout != NULL && strcmp(options->layout, "plain") == 0;
  if (options->layout != NULL && !out_placing->plain_layouts && strcmp(options->layout, "blocked") != 0) {
    return refuse_value(options, "layout", "blocked or plain", options->layout, diag);
  }
  BYOC_RETURN_IF_ERROR(read_size_price(options, diag, &out_placing->size_price));
  if (options->cost == NULL || strcmp(options->cost, "measure") == 0) return BYOC_OK;
  out_placing->cost = BYOC_COST_ESTIMATE;
  if (strcmp(options->cost, "estimate") == 0) return BYOC_OK;
  return refuse_value(options, "cost", "measure or estimate", options->cost, diag);
}

#define CHECK_BUDGET_MOST_S 86400.0
#define RUN_TIMEOUT_MOST_S  86400

byoc_status_t byoc_setup_read_check_budget(const char *option, const char *text, byoc_diag_t *diag,
                                           double *out_check_budget_s) {
  char *end = NULL;
  const double seconds = strtod(text, &end);
  *out_check_budget_s = seconds > 0 ? seconds : -1;
  if (end != text && *end == '\0' && seconds >= 0 && seconds <= CHECK_BUDGET_MOST_S) return BYOC_OK;
  return byoc_diag_error(diag, BYOC_INVALID_ARGUMENT, "%s takes a number of seconds from 0 to %.0f, not '%s'", option,
                         CHECK_BUDGET_MOST_S, text);
}

// $BYOC_RUN_TIMEOUT: the seconds that a run may take while code is measured or checked; 0 if it is not set.
static byoc_status_t read_run_timeout(byoc_diag_t *diag, uint32_t *out_seconds) {
  const char *preset = getenv("BYOC_RUN_TIMEOUT");
  *out_seconds = 0;
  if (preset == NULL || preset[0] == '\0') return BYOC_OK;
  char *end = NULL;
  const long seconds = strtol(preset, &end, 10);
  *out_seconds = (uint32_t)seconds;
  if (end != preset && *end == '\0' && seconds >= 1 && seconds <= RUN_TIMEOUT_MOST_S) return BYOC_OK;
  return byoc_diag_error(diag, BYOC_INVALID_ARGUMENT,
                         "BYOC_RUN_TIMEOUT takes a whole number of seconds from 1 to %d, not '%s'", RUN_TIMEOUT_MOST_S,
                         preset);
}

static byoc_status_t choose_checking(const byoc_setup_options_t *options, byoc_diag_t *diag,
                                     byoc_checking_t *out_checking) {
  double seconds = options->check_budget_s;
  const char *preset = getenv("BYOC_CHECK_BUDGET");
  if (seconds == 0 && preset != NULL && preset[0] != '\0') {
    BYOC_RETURN_IF_ERROR(byoc_setup_read_check_budget("BYOC_CHECK_BUDGET", preset, diag, &seconds));
  }
  if (seconds == 0) seconds = BYOC_CHECK_BUDGET_S;
  if (seconds > CHECK_BUDGET_MOST_S) seconds = CHECK_BUDGET_MOST_S;
  *out_checking = (byoc_checking_t){.budget_s = seconds > 0 ? seconds : 0};
  return BYOC_OK;
}

// This machine cannot measure code that it cannot run.
static byoc_status_t estimate_costs(byoc_setup_t *setup, const byoc_setup_options_t *options, byoc_diag_t *diag) {
  const char *foreign = byoc_target_list_foreign(&setup->targets);
  byoc_placing_t *placing = &setup->placing;
  if (foreign != NULL && placing->error > 0) {
    return byoc_diag_error(diag, BYOC_INVALID_ARGUMENT,
                           "%serror needs a machine that runs the code: for %s errors cannot be measured",
                           options->prefix != NULL ? options->prefix : "", foreign);
  }
  if (foreign == NULL || placing->cost == BYOC_COST_ESTIMATE) return BYOC_OK;
  if (options->cost != NULL) {
    return byoc_diag_error(diag, BYOC_INVALID_ARGUMENT,
                           "%scost=measure needs a machine that runs the code: for %s costs "
                           "can only be estimated",
                           options->prefix != NULL ? options->prefix : "", foreign);
  }
  placing->cost = BYOC_COST_ESTIMATE;
  if (strcmp(placing->plan, "collage") == 0) {
    byoc_log(BYOC_LOG_WARNING, "costs are estimated: this machine cannot measure code for %s", foreign);
  }
  return BYOC_OK;
}

byoc_status_t byoc_setup_begin(byoc_setup_t *setup, const byoc_setup_options_t *options, byoc_diag_t *diag) {
  const bool is_elsewhere = setup->targets.triple != NULL;
  BYOC_RETURN_IF_ERROR(choose_placing(options, options->greedy_by_default || setup->are_default_targets || is_elsewhere,
                                      diag, &setup->placing));
  BYOC_RETURN_IF_ERROR(estimate_costs(setup, options, diag));
  BYOC_RETURN_IF_ERROR(choose_checking(options, diag, &setup->checking));
  BYOC_RETURN_IF_ERROR(read_run_timeout(diag, &setup->placing.run_timeout_s));
  setup->checking.run_timeout_s = setup->placing.run_timeout_s;
  const byoc_build_options_t build = {.targets = &setup->targets,
                                      .placer = byoc_placing_placer(&setup->placing),
                                      .checker = byoc_checking_checker(&setup->checking),
                                      .thread_count = (int32_t)options->thread_count,
                                      .print_after = options->print_after,
                                      .switches = &setup->switches,
                                      .watcher = options->watcher,
                                      .trace = options->trace,
                                      .as_source = options->as_source,
                                      .operators = byoc_plugin_registry_operators(setup->registry),
                                      .stream_axis = options->stream_axis,
                                      .queue_count = (int32_t)options->queue_count,
                                      .fallback = options->fallback,
                                      .runtime_values = options->runtime_values,
                                      .variants = options->variants,
                                      .variant_count = options->variant_count,
                                      .pairs = options->pairs,
                                      .pair_count = options->pair_count};
  byoc_build_init(&setup->build, &build, setup->allocator);
  return BYOC_OK;
}

// ---- the model ----

// A word, or a file.
static byoc_status_t specify_shards(byoc_setup_t *setup, const byoc_setup_options_t *options, byoc_diag_t *diag) {
  if (options->shard == NULL) return BYOC_OK;
  const char *prefix = options->prefix != NULL ? options->prefix : "";
  if (setup->build.result.program != NULL) {
    return byoc_diag_error(diag, BYOC_INVALID_ARGUMENT, "%sshard is for models; this is a host program", prefix);
  }
  if (options->rank_count == 0) {
    return byoc_diag_error(diag, BYOC_INVALID_ARGUMENT, "%sshard needs to know how many ranks there are: %sranks N",
                           prefix, prefix);
  }
  char *text = NULL;
  size_t size = 0;
  const bool is_file = strcmp(options->shard, "megatron") != 0;
  if (is_file) BYOC_RETURN_IF_ERROR(byoc_file_read(options->shard, setup->allocator, diag, &text, &size));
  byoc_status_t status = byoc_shard_specify(setup->build.module, is_file ? text : options->shard, options->shard,
                                            (int32_t)options->rank, (int32_t)options->rank_count, diag);
  byoc_free(setup->allocator, text);
  return status;
}

static byoc_onnx_read_options_t read_options(const byoc_setup_options_t *options) {
  return (byoc_onnx_read_options_t){.bindings = options->dims,
                                    .binding_count = options->dim_count,
                                    .strictness = options->strictness,
                                    .optional_inputs = options->optional_inputs,
                                    .optional_count = options->optional_input_count,
                                    .given_inputs = options->given_inputs,
                                    .given_count = options->given_input_count};
}

byoc_status_t byoc_setup_read_file(byoc_setup_t *setup, const byoc_setup_options_t *options, const char *path,
                                   byoc_diag_t *diag) {
  const byoc_onnx_read_options_t read = read_options(options);
  BYOC_RETURN_IF_ERROR(byoc_setup_begin(setup, options, diag));
  BYOC_RETURN_IF_ERROR(byoc_build_read(&setup->build, path, &read, diag));
  return specify_shards(setup, options, diag);
}

byoc_status_t byoc_setup_read_memory(byoc_setup_t *setup, const byoc_setup_options_t *options, const void *data,
                                     size_t size_bytes, byoc_diag_t *diag) {
  byoc_onnx_read_options_t read = read_options(options);
  read.folder = options->data_folder;
  BYOC_RETURN_IF_ERROR(byoc_setup_begin(setup, options, diag));
  BYOC_RETURN_IF_ERROR(byoc_build_read_memory(&setup->build, data, size_bytes, "the model", &read, diag));
  return specify_shards(setup, options, diag);
}

// ---- the report ----

// Regions and operators of one target, without declined ones.
static void count_placed(const byoc_placement_t *placement, const byoc_target_t *target, size_t *out_regions,
                         size_t *out_nodes) {
  *out_regions = *out_nodes = 0;
  for (size_t r = 0; r < placement->regions.count; ++r) {
    const byoc_placement_region_t *region = &placement->regions.data[r];
    if (region->target != target || region->falls_back) continue;
    *out_regions += 1;
    *out_nodes += region->node_count;
  }
}

void byoc_setup_format_placement(const byoc_setup_t *setup, byoc_string_t *out) {
  const byoc_placement_t *placement = &setup->build.result.placement;
  byoc_arena_t arena;
  const char *separator = "";
  byoc_arena_init(&arena, setup->allocator);
  for (size_t t = 0; t < setup->targets.targets.count; ++t) {
    const byoc_target_t *target = setup->targets.targets.data[t];
    const char *name = byoc_target_short_name(&setup->targets, target, &arena);
    size_t regions = 0, nodes = 0;
    count_placed(placement, target, &regions, &nodes);
    // Precisions that were tried and not taken are not worth a word.
    if (setup->placing.error > 0 && regions == 0 && byoc_target_relative_error(target) > 0) continue;
    byoc_string_append(out, separator);
    separator = ", ";
    if (target->kind->backend == NULL) {
      const size_t count = placement->left_over_count;
      byoc_string_appendf(out, "%s %zu operator%s", target->kind->name, count, byoc_plural(count));
    } else {
      byoc_string_appendf(out, "%s %zu operator%s in %zu region%s", name != NULL ? name : target->kind->name, nodes,
                          byoc_plural(nodes), regions, byoc_plural(regions));
    }
  }
  byoc_arena_deinit(&arena);
}

static void log_placement(const byoc_setup_t *setup) {
  const byoc_placement_t *placement = &setup->build.result.placement;
  for (size_t d = 0; d < placement->declines.count; ++d) {
    const byoc_decline_t *decline = &placement->declines.data[d];
    byoc_log(BYOC_LOG_INFO, "%s declined %s (%s): %s", decline->target->kind->name, decline->node_text, decline->rule,
             decline->reason);
  }
  byoc_string_t text;
  byoc_string_init(&text, setup->allocator);
  byoc_setup_format_placement(setup, &text);
  byoc_log(BYOC_LOG_INFO, "placed %s", text.data);
  byoc_string_deinit(&text);
}

byoc_status_t byoc_setup_compile(byoc_setup_t *setup, byoc_build_extent_t extent, byoc_diag_t *diag) {
  BYOC_RETURN_IF_ERROR(byoc_build_compile(&setup->build, extent, diag));
  if (extent == BYOC_BUILD_ALL) log_placement(setup);
  if (extent != BYOC_BUILD_ALL && extent != BYOC_BUILD_GENERATED) return BYOC_OK;
  if (setup->placing.error > 0) return BYOC_OK; // the user asked for none of these precisions
  return byoc_lapses_warn(&setup->build.result.plan, &setup->targets, diag);
}

byoc_status_t byoc_setup_check_name(const char *option, const char *name, size_t limit_bytes, byoc_diag_t *diag) {
  if (name == NULL) return BYOC_OK;
  char identifier[128];
  byoc_make_identifier(name, identifier, sizeof(identifier));
  if (name[0] != '\0' && strlen(name) < limit_bytes && strcmp(name, identifier) == 0) return BYOC_OK;
  return byoc_diag_error(diag, BYOC_INVALID_ARGUMENT, "%s takes a C identifier of up to %zu letters, not '%s'", option,
                         limit_bytes - 1, name);
}

byoc_status_t byoc_setup_check_entries(const char *option, const char *const *names, size_t count, byoc_diag_t *diag) {
  if (count > BYOC_COMPOSE_MOST_ENTRIES) {
    return byoc_diag_error(diag, BYOC_INVALID_ARGUMENT, "%zu entries are given, and an artifact has at most %d", count,
                           BYOC_COMPOSE_MOST_ENTRIES);
  }
  for (size_t k = 0; k < count; ++k) {
    BYOC_RETURN_IF_ERROR(byoc_setup_check_name(option, names[k], BYOC_COMPOSE_ENTRY_BYTES, diag));
    for (size_t i = 0; i < k; ++i) {
      if (strcasecmp(names[i], names[k]) != 0) continue;
      return byoc_diag_error(diag, BYOC_INVALID_ARGUMENT,
                             "there are two entries '%s': their names must differ, and not in capitals alone",
                             names[k]);
    }
  }
  return BYOC_OK;
}

byoc_status_t byoc_setup_check_programs(size_t entry_count, size_t level_count, byoc_diag_t *diag) {
  const size_t entries = entry_count > 0 ? entry_count : 1, levels = level_count > 0 ? level_count : 1;
  if (entries * levels <= BYOC_COMPOSE_MOST_ENTRIES) return BYOC_OK;
  return byoc_diag_error(diag, BYOC_INVALID_ARGUMENT,
                         "%zu entries for %zu processors each are more than the %d programs of an artifact", entries,
                         levels, BYOC_COMPOSE_MOST_ENTRIES);
}

void byoc_model_name(const char *path, char *buffer, size_t size) {
  const char *base = byoc_path_base(path);
  const char *dot = strrchr(base, '.');
  size_t length = dot != NULL && dot != base ? (size_t)(dot - base) : strlen(base);
  if (length >= size) length = size - 1;
  memcpy(buffer, base, length);
  buffer[length] = '\0';
}
