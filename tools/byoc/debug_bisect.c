// SPDX-License-Identifier: Apache-2.0
// byoc debug bisect: finds the region that makes a model's outputs differ from a reference.
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "command.h"
#include "core/base/file.h"
#include "core/base/log.h"
#include "core/base/visible.h"
#include "core/collage/plan_json.h"
#include "core/compile/outputs.h"
#include "debug.h"
#include "debug_command.h"
#include "tools/common/print.h"

// Each operator has a kernel, so that as many tensors as possible can be compared.
static const char reference_target[] = "c -O=0 -fuse=0";

typedef struct options_t {
  byoc_debug_model_t model;
  const char *plan, *save_plan;
  bool evaluate;
  byoc_debug_tolerance_t tolerance;
} options_t;

// A region, by its place in the plan.
typedef struct region_t {
  size_t block, index;
} region_t;

typedef struct bisection_t {
  const options_t *options;
  byoc_diag_t *diag;
  byoc_arena_t arena; // of paths
  char *folder;       // of everything below
  byoc_plan_t plan;   // of the user's targets
  bool has_plan;
  byoc_trace_t expected; // what the reference made
  int64_t timeout_ms;    // of a trial
  size_t trials;
  byoc_progress_t progress;
  BYOC_VECTOR(region_t) regions;
  byoc_string_t reason; // why the last trial failed, if it did not run
} bisection_t;

static const char *path_in(bisection_t *b, const char *name) {
  return byoc_arena_format(&b->arena, "%s/%s", b->folder, name);
}

// ---- trials ----

// Writes the plan with only these regions; what was in others goes to the native target.
static byoc_status_t write_plan(bisection_t *b, const region_t *regions, size_t count, const char *path) {
  byoc_plan_t plan;
  BYOC_RETURN_IF_ERROR(byoc_plan_read(path_in(b, "plan.json"), byoc_allocator_system(), b->diag, &plan));
  for (size_t k = 0; k < plan.blocks.count; ++k) {
    byoc_plan_block_t *block = &plan.blocks.data[k];
    size_t kept = 0;
    for (size_t r = 0; r < block->regions.count; ++r) {
      bool is_wanted = false;
      for (size_t i = 0; i < count; ++i) is_wanted = is_wanted || (regions[i].block == k && regions[i].index == r);
      if (is_wanted) block->regions.data[kept++] = block->regions.data[r];
    }
    block->regions.count = kept;
  }
  byoc_status_t status = byoc_plan_write(&plan, path, b->diag);
  byoc_plan_deinit(&plan);
  return status;
}

// Do the outputs differ, or did it not even run, with only these regions?
static byoc_status_t differs(bisection_t *b, const region_t *regions, size_t count, bool *out_differs) {
  *out_differs = true;
  const char *plan = path_in(b, "trial.json"), *outputs = path_in(b, "outputs");
  if (plan == NULL || outputs == NULL) return byoc_diag_out_of_memory(b->diag);
  char detail[64];
  snprintf(detail, sizeof(detail), "with %zu of %zu regions", count, b->regions.count);
  byoc_progress_step(&b->progress, (int64_t)++b->trials, detail);
  BYOC_RETURN_IF_ERROR(write_plan(b, regions, count, plan));
  (void)byoc_remove_tree(outputs, NULL);
  byoc_debug_command_t command;
  byoc_debug_command_init(&command, "run", &b->options->model, NULL);
  byoc_debug_command_add(&command, "--plan", plan);
  byoc_debug_command_add(&command, "--output-dir", outputs);
  byoc_string_clear(&b->reason);
  byoc_status_t status = byoc_debug_command_run(&command, b->timeout_ms, &b->reason, b->diag);
  byoc_debug_command_deinit(&command);
  if (status != BYOC_OK || b->reason.size > 0) return status;
  byoc_trace_t made = {.path = NULL};
  status = byoc_trace_read(outputs, b->diag, &made);
  if (status == BYOC_OK) {
    status = byoc_debug_compare(&b->expected, &made, &b->options->tolerance, true, b->diag, out_differs);
  }
  byoc_trace_deinit(&made);
  byoc_log(BYOC_LOG_INFO, "%s: %s", detail, status != BYOC_OK ? "failed" : *out_differs ? "differs" : "agrees");
  return status;
}

// ---- what is needed first ----

static byoc_status_t run_reference(bisection_t *b) {
  const char *folder = path_in(b, "reference");
  const char *dump = folder != NULL ? byoc_arena_format(&b->arena, "all=%s", folder) : NULL;
  if (dump == NULL) return byoc_diag_out_of_memory(b->diag);
  byoc_debug_command_t command;
  byoc_debug_command_init(&command, "run", &b->options->model, reference_target);
  byoc_debug_command_add(&command, "--plan", "greedy");
  if (b->options->evaluate) byoc_debug_command_add(&command, "--evaluate", NULL);
  byoc_debug_command_add(&command, "--dump", dump);
  const int64_t start_ns = byoc_now_ns();
  char what[96];
  snprintf(what, sizeof(what), "the reference (%s) does not run", reference_target);
  byoc_status_t status = byoc_debug_command_require(&command, what, b->diag);
  // A trial compiles more thoroughly than the reference does.
  b->timeout_ms = 60000 + 10 * (byoc_now_ns() - start_ns) / 1000000;
  byoc_debug_command_deinit(&command);
  return status == BYOC_OK ? byoc_trace_read(folder, b->diag, &b->expected) : status;
}

static byoc_status_t make_plan(bisection_t *b) {
  const char *path = path_in(b, "plan.json");
  if (path == NULL) return byoc_diag_out_of_memory(b->diag);
  byoc_debug_command_t command;
  byoc_debug_command_init(&command, "explain", &b->options->model, NULL);
  byoc_debug_command_add(&command, "--plan", b->options->plan);
  byoc_debug_command_add(&command, "--save-plan", path);
  byoc_status_t status = byoc_debug_command_require(&command, "the model cannot be planned", b->diag);
  byoc_debug_command_deinit(&command);
  if (status == BYOC_OK) status = byoc_plan_read(path, byoc_allocator_system(), b->diag, &b->plan);
  if (status != BYOC_OK) return status;
  b->has_plan = true;
  for (size_t k = 0; k < b->plan.blocks.count; ++k) {
    for (size_t r = 0; r < b->plan.blocks.data[k].regions.count; ++r) {
      if (b->plan.blocks.data[k].regions.data[r].falls_back) continue;
      const region_t region = {.block = k, .index = r};
      if (!byoc_vector_push(&b->regions, byoc_allocator_system(), region)) return byoc_diag_out_of_memory(b->diag);
    }
  }
  return BYOC_OK;
}

// ---- the search ----

// Leaves in b->regions a smallest set that still differs: one region, if one alone is enough. Zeller and Hildebrandt,
// "Simplifying and Isolating Failure-Inducing Input" (2002): ddmin.
static byoc_status_t minimise(bisection_t *b) {
  BYOC_VECTOR(region_t) rest = {0};
  byoc_status_t status = BYOC_OK;
  for (size_t parts = 2; b->regions.count > 1 && status == BYOC_OK;) {
    const size_t count = b->regions.count;
    if (parts > count) parts = count;
    bool is_smaller = false;
    // First each part alone, then everything but one part; for two parts that is the same.
    for (size_t k = 0; k < (parts > 2 ? 2 * parts : parts) && !is_smaller && status == BYOC_OK; ++k) {
      const size_t begin = k % parts * count / parts, end = (k % parts + 1) * count / parts;
      rest.count = 0;
      for (size_t i = 0; i < count && status == BYOC_OK; ++i) {
        const bool is_inside = i >= begin && i < end;
        if (is_inside != (k < parts)) continue;
        if (!byoc_vector_push(&rest, byoc_allocator_system(), b->regions.data[i])) {
          status = byoc_diag_out_of_memory(b->diag);
        }
      }
      if (status == BYOC_OK) status = differs(b, rest.data, rest.count, &is_smaller);
      if (status != BYOC_OK || !is_smaller) continue;
      memcpy(b->regions.data, rest.data, rest.count * sizeof(*rest.data));
      b->regions.count = rest.count;
      parts = k < parts ? 2 : parts > 2 ? parts - 1 : 2;
    }
    if (is_smaller) continue;
    if (parts >= count) break; // each of them is needed
    parts *= 2;
  }
  byoc_vector_deinit(&rest, byoc_allocator_system());
  return status;
}

// ---- the report ----

static void describe(const bisection_t *b, const region_t *at, byoc_string_t *out) {
  enum { SHOWN = 8 };
  const byoc_plan_block_t *block = &b->plan.blocks.data[at->block];
  const byoc_plan_region_t *region = &block->regions.data[at->index];
  byoc_string_appendf(out, "region %zu of '", at->index);
  byoc_string_append_shown(out, block->name);
  byoc_string_appendf(out, "' on %s (%s), %u operator%s:", b->plan.targets.data[region->target], region->rule,
                      region->node_count, byoc_plural(region->node_count));
  for (uint32_t i = 0; i < region->node_count && i < SHOWN; ++i) {
    const byoc_plan_node_t *node = &block->nodes.data[region->nodes[i]];
    byoc_string_append(out, i > 0 ? ", " : " ");
    byoc_string_append_shown(out, node->op);
    byoc_string_append(out, node->name[0] != '\0' ? " " : "");
    byoc_string_append_shown(out, node->name);
  }
  if (region->node_count > SHOWN) byoc_string_append(out, ", ...");
  byoc_string_append(out, "\n");
}

// Runs the culprits once more, traced, and shows the first tensor that differs.
static byoc_status_t show_difference(bisection_t *b, const char *plan) {
  const char *folder = path_in(b, "culprits");
  const char *dump = folder != NULL ? byoc_arena_format(&b->arena, "all=%s", folder) : NULL;
  if (dump == NULL) return byoc_diag_out_of_memory(b->diag);
  byoc_debug_command_t command;
  byoc_debug_command_init(&command, "run", &b->options->model, NULL);
  byoc_debug_command_add(&command, "--plan", plan);
  byoc_debug_command_add(&command, "--dump", dump);
  byoc_string_clear(&b->reason);
  byoc_status_t status = byoc_debug_command_run(&command, b->timeout_ms, &b->reason, b->diag);
  byoc_debug_command_deinit(&command);
  if (status != BYOC_OK) return status;
  if (b->reason.size > 0) {
    byoc_print("with it, the model does not run: %s\n", b->reason.data);
    return BYOC_OK;
  }
  byoc_trace_t made = {.path = NULL};
  bool any = false;
  status = byoc_trace_read(folder, b->diag, &made);
  b->expected.path = "the reference";
  made.path = "the model";
  if (status == BYOC_OK) status = byoc_debug_compare(&b->expected, &made, &b->options->tolerance, false, b->diag, &any);
  byoc_trace_deinit(&made);
  return status;
}

static byoc_status_t show_command(bisection_t *b) {
  const char *plan = b->options->save_plan != NULL ? b->options->save_plan : "FILE.json";
  byoc_string_t text;
  byoc_debug_command_t command;
  byoc_string_init(&text, byoc_allocator_system());
  byoc_debug_command_init(&command, "run", &b->options->model, NULL);
  byoc_debug_command_add(&command, "--plan", plan);
  byoc_debug_command_print(&command, &text);
  const bool failed = command.failed || text.failed;
  byoc_print("to repeat it%s: %s\n", b->options->save_plan == NULL ? " (--save-plan FILE.json keeps the plan)" : "",
             text.data);
  byoc_debug_command_deinit(&command);
  byoc_string_deinit(&text);
  return failed ? byoc_diag_out_of_memory(b->diag) : BYOC_OK;
}

static byoc_status_t report(bisection_t *b) {
  const char *plan = path_in(b, "culprits.json");
  if (plan == NULL) return byoc_diag_out_of_memory(b->diag);
  BYOC_RETURN_IF_ERROR(write_plan(b, b->regions.data, b->regions.count, plan));
  if (b->options->save_plan != NULL) {
    BYOC_RETURN_IF_ERROR(write_plan(b, b->regions.data, b->regions.count, b->options->save_plan));
  }
  byoc_string_t text;
  byoc_string_init(&text, byoc_allocator_system());
  if (b->regions.count > 1) {
    byoc_string_appendf(&text, "these %zu regions differ only together:\n", b->regions.count);
  }
  for (size_t i = 0; i < b->regions.count; ++i) describe(b, &b->regions.data[i], &text);
  byoc_status_t status = byoc_print_text(&text, b->diag);
  byoc_string_deinit(&text);
  if (status == BYOC_OK) status = show_difference(b, plan);
  return status == BYOC_OK ? show_command(b) : status;
}

static byoc_status_t search(bisection_t *b, bool *out_found) {
  bool any = false;
  const size_t count = b->regions.count;
  BYOC_RETURN_IF_ERROR(differs(b, b->regions.data, count, &any));
  if (!any) {
    byoc_print("the outputs are those of the reference (rtol %g, atol %g): %zu region%s, none to blame\n",
               b->options->tolerance.rtol, b->options->tolerance.atol, count, byoc_plural(count));
    return BYOC_OK;
  }
  *out_found = true;
  BYOC_RETURN_IF_ERROR(differs(b, NULL, 0, &any));
  if (any) {
    byoc_print("the outputs differ even if everything is left to c: no region is to blame\n");
    b->regions.count = 0;
  } else {
    BYOC_RETURN_IF_ERROR(minimise(b));
    byoc_print("found in %zu trials among %zu region%s:\n", b->trials, count, byoc_plural(count));
  }
  return report(b);
}

static byoc_status_t bisect(const options_t *options, byoc_diag_t *diag, bool *out_found) {
  const byoc_output_t outputs[] = {{"--save-plan", options->save_plan}};
  BYOC_RETURN_IF_ERROR(byoc_outputs_check(outputs, 1, options->model.path, diag));
  bisection_t b = {.options = options, .diag = diag};
  byoc_arena_init(&b.arena, byoc_allocator_system());
  byoc_string_init(&b.reason, byoc_allocator_system());
  byoc_progress_begin(&b.progress, "bisecting", 0);
  byoc_status_t status = byoc_make_temporary_directory("byoc-bisect", byoc_allocator_system(), diag, &b.folder);
  if (status == BYOC_OK) status = make_plan(&b);
  if (status == BYOC_OK) status = run_reference(&b);
  if (status == BYOC_OK) status = search(&b, out_found);
  byoc_progress_end(&b.progress);
  byoc_trace_deinit(&b.expected);
  byoc_vector_deinit(&b.regions, byoc_allocator_system());
  byoc_string_deinit(&b.reason);
  if (b.has_plan) byoc_plan_deinit(&b.plan);
  byoc_arena_deinit(&b.arena);
  if (b.folder != NULL) (void)byoc_remove_tree(b.folder, NULL);
  byoc_free(byoc_allocator_system(), b.folder);
  return status;
}

int byoc_main_debug_bisect(int argc, char **argv) {
  options_t options = {.plan = "greedy", .tolerance = {.rtol = 1e-3, .atol = 1e-4}};
  byoc_session_options_t *session = &options.model.session;
  const byoc_option_row_t rows[] = {
      {"target", 't', BYOC_OPT_LIST, &session->targets, "TARGET", "the targets of the build"},
      {"plugin", 0, BYOC_OPT_LIST, &session->plugins, "FILE", "load this plugin too"},
      BYOC_PREFER_ROW(*session),
      {"plan", 0, BYOC_OPT_STRING, &options.plan, "PLAN", "greedy (default), collage or a saved plan, FILE.json"},
      {"layout", 0, BYOC_OPT_STRING, &session->layout, "HOW", "as for byoc build"},
      {"disable-pass", 0, BYOC_OPT_LIST, &session->disabled, "PASS", "do not run this pass"},
      BYOC_DIM_ROW(*session),
      BYOC_STRICT_ROWS(*session),
      {"input", 'i', BYOC_OPT_LIST, &options.model.inputs, "[NAME=]FILE",
       "an input's values, as byoc run takes them (default: random)"},
      {"seed", 0, BYOC_OPT_COUNT, &options.model.seed, "N", "seed of the random inputs (default 0)"},
      {"rtol", 0, BYOC_OPT_NUMBER, &options.tolerance.rtol, "X", "relative tolerance (default 1e-3)"},
      {"atol", 0, BYOC_OPT_NUMBER, &options.tolerance.atol, "X", "absolute tolerance (default 1e-4)"},
      {"evaluate", 0, BYOC_OPT_FLAG, &options.evaluate, "", "use the evaluator for the reference, not c -O=0"},
      {"save-plan", 0, BYOC_OPT_STRING, &options.save_plan, "FILE", "save a plan with the wrong region only"},
      {"verbose", 'v', BYOC_OPT_FLAG, &session->verbose, "", "report each step"},
  };
  static const char *const operands[] = {"a model (.onnx)", NULL};
  const byoc_usage_t usage = {
      .command = "byoc debug bisect",
      .synopsis = "MODEL --target TARGETS [--input [NAME=]FILE] [options]",
      .summary = "find the region that makes the outputs differ from those of a reference",
      .operands = operands,
      .rows = rows,
      .row_count = sizeof(rows) / sizeof(rows[0]),
      .more =
          "byoc builds the model again and again, with fewer regions on their targets and the others on c, until "
          "every\n"
          "remaining region is needed for the difference. Builds that fail or crash count as different. Each run is a\n"
          "process of its own. Exit codes: 0 no difference; 1 a difference.\n",
  };
  byoc_diag_t diag = {0};
  bool done = false, found = false;
  byoc_status_t status = byoc_options_parse(&usage, argc, argv, &diag, &options.model.path, &done);
  if (session->verbose) byoc_log_set_level(BYOC_LOG_INFO);
  if (status == BYOC_OK && !done) {
    status = bisect(&options, &diag, &found);
    if (status != BYOC_OK) byoc_diag_context(&diag, status, "bisecting %s", options.model.path);
  }
  if (status != BYOC_OK) return byoc_report(&diag, status);
  return found ? BYOC_EXIT_FAILED : BYOC_EXIT_OK;
}
