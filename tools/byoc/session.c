// Sets up plugins, targets and a model for a subcommand, and reports how it was placed.
#include "session.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/file.h"
#include "core/base/log.h"
#include "core/base/visible.h"
#include "core/pass/shard_spec.h"
#include "core/plugin/installation.h"
#include "dim_option.h"

byoc_status_t byoc_session_open(const byoc_session_options_t *options, byoc_diag_t *diag, byoc_session_t *session) {
  *session = (byoc_session_t){.allocator = byoc_allocator_system()};
  BYOC_RETURN_IF_ERROR(byoc_pass_check_print_after(options->print_after, diag));
  for (size_t i = 0; i < options->disabled.count; ++i) {
    BYOC_RETURN_IF_ERROR(byoc_pass_check_switch(options->disabled.items[i], diag));
    (void)byoc_switches_set(&session->switches, options->disabled.items[i], false); // a list is not longer
  }
  if (options->verbose) byoc_log_set_level(BYOC_LOG_INFO);
  char *folder = NULL;
  BYOC_RETURN_IF_ERROR(byoc_installation_find("plugins", session->allocator, diag, &folder));
  const byoc_plugin_options_t plugins = {.paths = options->plugins.items,
                                         .path_count = options->plugins.count,
                                         .preferred = options->preferred.items,
                                         .preferred_count = options->preferred.count,
                                         .installation = folder};
  byoc_status_t status = byoc_plugin_registry_create(&plugins, session->allocator, diag, &session->registry);
  byoc_free(session->allocator, folder);
  return status;
}

void byoc_session_close(byoc_session_t *session) {
  if (session->allocator.resize == NULL) return; // it was never opened
  byoc_build_deinit(&session->build);
  for (size_t i = 0; i < BYOC_MAX_LIST; ++i) byoc_free(session->allocator, session->pair_names[i]);
  byoc_target_list_deinit(&session->targets);
  byoc_plugin_registry_destroy(session->registry); // last: everything above may hold what plugins made
}

byoc_status_t byoc_session_parse_targets(byoc_session_t *session, const byoc_session_options_t *options,
                                         byoc_diag_t *diag) {
  byoc_target_registry_t registry = byoc_plugin_registry_targets(session->registry);
  byoc_status_t status = byoc_target_list_parse(options->targets.items, options->targets.count, &registry,
                                                session->allocator, diag, &session->targets);
  // Makes any error of the parser one of the command line, except for a target whose plugin cannot be used.
  const bool is_misuse = status != BYOC_OK && status != BYOC_OUT_OF_MEMORY && status != BYOC_INVALID_DATA;
  return is_misuse ? BYOC_INVALID_ARGUMENT : status;
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
      {"layout", options->layout != NULL},
      {"print-after", options->print_after != NULL},
      {"disable-pass", options->disabled.count > 0},
      {"alias", options->aliases.count > 0},
      {"stream-axis", options->stream_axis != NULL},
      {"queues", options->queue_count > 0},
      {"fallback", options->fallback},
      {"shard", options->shard != NULL},
  };
  for (size_t i = 0; i < sizeof(given) / sizeof(given[0]); ++i) {
    if (!given[i].given) continue;
    return byoc_diag_error(diag, BYOC_INVALID_ARGUMENT, "--%s is for models; this is %s", given[i].name, what);
  }
  return BYOC_OK;
}

// ---- the model ----

// Regions and operators of one target, without those that were given back.
static void count_placed(const byoc_placement_t *placement, const byoc_target_t *target, size_t *out_regions,
                         size_t *out_nodes) {
  *out_regions = *out_nodes = 0;
  for (size_t r = 0; r < placement->regions.count; ++r) {
    const byoc_placement_region_t *region = &placement->regions.data[r];
    if (region->target != target || region->given_back) continue;
    *out_regions += 1;
    *out_nodes += region->node_count;
  }
}

void byoc_session_format_placement(const byoc_session_t *session, byoc_string_t *out) {
  const byoc_placement_t *placement = &session->build.result.placement;
  for (size_t t = 0; t < session->targets.targets.count; ++t) {
    const byoc_target_t *target = session->targets.targets.data[t];
    size_t regions = 0, nodes = 0;
    count_placed(placement, target, &regions, &nodes);
    byoc_string_append(out, t > 0 ? ", " : "");
    if (target->kind->backend == NULL) {
      const size_t count = placement->left_over_count;
      byoc_string_appendf(out, "%s %zu operator%s", target->kind->name, count, byoc_plural(count));
    } else {
      byoc_string_appendf(out, "%s %zu operator%s in %zu region%s", target->kind->name, nodes, byoc_plural(nodes),
                          regions, byoc_plural(regions));
    }
  }
}

// A backend may give something back at will; a candidate that fails is worth telling.
static bool is_failure(const byoc_plan_candidate_t *candidate) {
  return isinf(candidate->cost_ns) && candidate->reason != NULL && !candidate->is_given_back;
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
  const byoc_plan_t *plan = &session->build.result.plan;
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

static void log_placement(const byoc_session_t *session) {
  const byoc_placement_t *placement = &session->build.result.placement;
  for (size_t d = 0; d < placement->declines.count; ++d) {
    const byoc_decline_t *decline = &placement->declines.data[d];
    byoc_log(BYOC_LOG_INFO, "%s declined %s (%s): %s", decline->target->kind->name, decline->node_text, decline->rule,
             decline->reason);
  }
  byoc_string_t text;
  byoc_string_init(&text, session->allocator);
  byoc_session_format_placement(session, &text);
  byoc_log(BYOC_LOG_INFO, "placed %s", text.data);
  byoc_string_deinit(&text);
}

static byoc_status_t choose_placing(const byoc_session_options_t *options, byoc_diag_t *diag,
                                    byoc_placing_t *out_placing) {
  bool has_budget = options->cost_budget_s > 0;
  *out_placing = (byoc_placing_t){.plan = options->plan,
                                  .budget_s = has_budget ? options->cost_budget_s : BYOC_COST_BUDGET_S,
                                  .spend_budget = has_budget,
                                  .thread_count = (int32_t)options->cost_threads};
  const char *preset = getenv("BYOC_PLAN");
  if (options->plan == NULL && preset != NULL && preset[0] != '\0') out_placing->plan = preset;
  if (out_placing->plan == NULL) out_placing->plan = options->greedy_by_default ? "greedy" : "collage";
  bool is_name = strcmp(out_placing->plan, "greedy") == 0 || strcmp(out_placing->plan, "collage") == 0;
  if (!is_name && !byoc_ends_with(out_placing->plan, ".json")) {
    return byoc_diag_error(diag, BYOC_INVALID_ARGUMENT, "--plan takes collage, greedy or a FILE.json, not '%s'",
                           out_placing->plan);
  }
  out_placing->collage_nodes = (uint32_t)options->collage_nodes;
  out_placing->collage_depth = (uint32_t)options->collage_depth;
  out_placing->plain_layouts = options->layout != NULL && strcmp(options->layout, "plain") == 0;
  if (options->layout != NULL && !out_placing->plain_layouts && strcmp(options->layout, "blocked") != 0) {
    return byoc_diag_error(diag, BYOC_INVALID_ARGUMENT, "--layout takes blocked or plain, not '%s'", options->layout);
  }
  if (options->cost == NULL || strcmp(options->cost, "measure") == 0) return BYOC_OK;
  out_placing->cost = BYOC_COST_ESTIMATE;
  if (strcmp(options->cost, "estimate") == 0) return BYOC_OK;
  return byoc_diag_error(diag, BYOC_INVALID_ARGUMENT, "--cost takes measure or estimate, not '%s'", options->cost);
}

// "OUT=IN", once for each pair.
static byoc_status_t read_aliases(byoc_session_t *session, const byoc_text_items_t *aliases, byoc_diag_t *diag) {
  for (size_t i = 0; i < aliases->count; ++i) {
    const char *item = aliases->items[i], *equals = strchr(item, '=');
    if (equals == NULL || equals == item || equals[1] == '\0') {
      return byoc_diag_error(diag, BYOC_INVALID_ARGUMENT, "--alias takes OUT=IN, an output and an input, not '%s'",
                             item);
    }
    char *name = byoc_copy_string(session->allocator, item);
    if (name == NULL) return byoc_diag_out_of_memory(diag);
    name[equals - item] = '\0';
    session->pair_names[i] = name;
    session->pairs[i] = (byoc_host_pair_t){.output = name, .input = equals + 1};
  }
  return BYOC_OK;
}

byoc_status_t byoc_session_begin(byoc_session_t *session, const byoc_session_options_t *options, byoc_diag_t *diag) {
  BYOC_RETURN_IF_ERROR(choose_placing(options, diag, &session->placing));
  BYOC_RETURN_IF_ERROR(read_aliases(session, &options->aliases, diag));
  const byoc_build_options_t build = {.targets = &session->targets,
                                      .placer = byoc_placing_placer(&session->placing),
                                      .thread_count = (int32_t)options->thread_count,
                                      .print_after = options->print_after,
                                      .switches = &session->switches,
                                      .trace = options->trace,
                                      .operators = byoc_plugin_registry_operators(session->registry),
                                      .stream_axis = options->stream_axis,
                                      .queue_count = (int32_t)options->queue_count,
                                      .fallback = options->fallback,
                                      .pairs = session->pairs,
                                      .pair_count = options->aliases.count};
  byoc_build_init(&session->build, &build, session->allocator);
  return BYOC_OK;
}

// --shard: a word, or a file.
static byoc_status_t specify_shards(byoc_session_t *session, const byoc_session_options_t *options, byoc_diag_t *diag) {
  if (options->shard == NULL) return BYOC_OK;
  if (session->build.result.program != NULL) {
    return byoc_diag_error(diag, BYOC_INVALID_ARGUMENT, "--shard is for models; this is a host program");
  }
  if (options->rank_count == 0) {
    return byoc_diag_error(diag, BYOC_INVALID_ARGUMENT, "--shard needs to know how many ranks there are: --ranks N");
  }
  char *text = NULL;
  size_t size = 0;
  const bool is_file = strcmp(options->shard, "megatron") != 0;
  if (is_file) BYOC_RETURN_IF_ERROR(byoc_file_read(options->shard, session->allocator, diag, &text, &size));
  byoc_status_t status = byoc_shard_specify(session->build.module, is_file ? text : options->shard, options->shard,
                                            (int32_t)options->rank, (int32_t)options->rank_count, diag);
  byoc_free(session->allocator, text);
  return status;
}

byoc_status_t byoc_session_read_model(byoc_session_t *session, const byoc_session_options_t *options, const char *path,
                                      byoc_diag_t *diag) {
  BYOC_RETURN_IF_ERROR(byoc_session_begin(session, options, diag));
  byoc_onnx_dim_binding_t bindings[BYOC_MAX_LIST] = {{0}};
  byoc_status_t status = BYOC_OK;
  for (size_t i = 0; i < options->dims.count && status == BYOC_OK; ++i) {
    byoc_dim_option_t dim;
    status = byoc_dim_option_read(&options->dims, i, diag, &dim);
    if (status != BYOC_OK) break;
    char *name = byoc_copy_string(session->allocator, dim.name);
    if (name != NULL) name[dim.name_size] = '\0';
    if (name == NULL) status = byoc_diag_out_of_memory(diag);
    bindings[i] = (byoc_onnx_dim_binding_t){.name = name, .value = dim.value};
  }
  const byoc_onnx_read_options_t read = {.bindings = bindings, .binding_count = options->dims.count};
  if (status == BYOC_OK) status = byoc_build_read(&session->build, path, &read, diag);
  if (status == BYOC_OK) status = specify_shards(session, options, diag);
  for (size_t i = 0; i < options->dims.count; ++i) byoc_free(session->allocator, (char *)(uintptr_t)bindings[i].name);
  return status;
}

byoc_status_t byoc_session_compile(byoc_session_t *session, byoc_build_extent_t extent, byoc_diag_t *diag) {
  BYOC_RETURN_IF_ERROR(byoc_build_compile(&session->build, extent, diag));
  if (extent == BYOC_BUILD_ALL) log_placement(session);
  return BYOC_OK;
}

void byoc_model_name(const char *path, char *buffer, size_t size) {
  const char *base = byoc_path_base(path);
  const char *dot = strrchr(base, '.');
  size_t length = dot != NULL && dot != base ? (size_t)(dot - base) : strlen(base);
  if (length >= size) length = size - 1;
  memcpy(buffer, base, length);
  buffer[length] = '\0';
}
