// SPDX-License-Identifier: Apache-2.0
// byoc explain: shows which target computes what, and why.
#include <stdio.h>

#include "command.h"
#include "core/base/log.h"
#include "core/collage/plan_json.h"
#include "core/compile/outputs.h"
#include "core/compose/artifact/metadata_reports.h"
#include "core/plugin/lint.h"
#include "explain.h"
#include "reports.h"
#include "session.h"
#include "tools/common/print.h"

typedef struct explain_options_t {
  byoc_session_options_t session;
  byoc_explain_options_t explain;
  const char *model, *html, *save_plan;
  bool json;
} explain_options_t;

static byoc_status_t print_plan(const byoc_plan_t *plan, const explain_options_t *options, byoc_diag_t *diag) {
  byoc_string_t text;
  byoc_string_init(&text, plan->arena.allocator);
  byoc_status_t status =
      options->json ? byoc_plan_print(plan, &text, diag) : byoc_explain_print(plan, &options->explain, &text, diag);
  if (status == BYOC_OK) status = byoc_print_text(&text, diag);
  byoc_string_deinit(&text);
  return status;
}

static byoc_status_t hand_out(const byoc_plan_t *plan, const byoc_graph_module_t *module,
                              const explain_options_t *options, byoc_diag_t *diag) {
  byoc_file_set_t files = {0};
  byoc_status_t status = byoc_explain_add_files(plan, module, options->save_plan, options->html, &files, diag);
  if (status == BYOC_OK) status = byoc_file_set_commit(&files, diag);
  byoc_file_set_abandon(&files);
  return status == BYOC_OK ? print_plan(plan, options, diag) : status;
}

static byoc_status_t explain_saved(const explain_options_t *options, byoc_diag_t *diag) {
  byoc_plan_t plan;
  BYOC_RETURN_IF_ERROR(byoc_session_refuse_options(&options->session, "a saved plan, which has its own", diag));
  if (options->session.dims.count > 0) {
    return byoc_diag_error(diag, BYOC_INVALID_ARGUMENT, "--dim is for models; this is a saved plan");
  }
  BYOC_RETURN_IF_ERROR(byoc_plan_read(options->model, byoc_allocator_system(), diag, &plan));
  byoc_status_t status = hand_out(&plan, NULL, options, diag);
  byoc_plan_deinit(&plan);
  return status;
}

static void warn_of_rule(void *self, const char *sentence) {
  byoc_log(BYOC_LOG_WARNING, "rule '%s': %s", (const char *)self, sentence);
}

// Reports rules that can match nothing: they may be the reason why a target claims no node. With --verbose, loading the
// plugin has reported them already.
static void warn_of_rules(const byoc_session_t *session) {
  for (size_t i = 0; i < session->setup.targets.targets.count && byoc_log_level() < BYOC_LOG_INFO; ++i) {
    const byoc_backend_t *backend = session->setup.targets.targets.data[i]->kind->backend;
    for (uint32_t r = 0; backend != NULL && r < backend->rule_count; ++r) {
      byoc_plugin_lint_rule(&backend->rules[r], session->allocator, warn_of_rule,
                            (void *)(uintptr_t)backend->rules[r].name);
    }
  }
}

// What the backends report of the code that they generated.
static byoc_status_t print_reports(const byoc_graph_module_t *module, byoc_diag_t *diag) {
  byoc_string_t text;
  byoc_string_init(&text, module->allocator);
  json_t *root = json_object();
  byoc_status_t status =
      root != NULL && byoc_compose_set_reports(root, module) ? BYOC_OK : byoc_diag_out_of_memory(diag);
  const json_t *reports = json_object_get(root, "reports");
  if (json_array_size(reports) > 0) byoc_string_append(&text, "\n");
  byoc_reports_append_list(reports, &text);
  if (status == BYOC_OK && (text.failed || text.size > 0)) status = byoc_print_text(&text, diag);
  json_decref(root);
  byoc_string_deinit(&text);
  return status;
}

// Weights that were made 0 (the pass flush-subnormals).
static byoc_status_t print_flushed(const byoc_graph_module_t *module, byoc_diag_t *diag) {
  byoc_string_t text;
  byoc_string_init(&text, module->allocator);
  for (size_t i = 0; i < module->constants.count; ++i) {
    const byoc_constant_t *constant = module->constants.data[i];
    if (constant->flushed_count == 0) continue;
    if (text.size == 0) byoc_string_append(&text, "\nweights too small for a normal number, which are 0 now:\n");
    byoc_string_appendf(&text, "  %s: %lld of %lld\n", constant->name, (long long)constant->flushed_count,
                        (long long)byoc_type_element_count(constant->type));
  }
  byoc_status_t status = text.failed ? byoc_diag_out_of_memory(diag) : BYOC_OK;
  if (status == BYOC_OK && text.size > 0) status = byoc_print_text(&text, diag);
  byoc_string_deinit(&text);
  return status;
}

static byoc_status_t explain(byoc_session_t *session, const explain_options_t *options, byoc_diag_t *diag) {
  const byoc_output_t outputs[] = {{"--save-plan", options->save_plan}, {"--html", options->html}};
  BYOC_RETURN_IF_ERROR(byoc_outputs_check(outputs, sizeof(outputs) / sizeof(outputs[0]), options->model, diag));
  if (options->json && (options->explain.node != NULL || options->explain.all)) {
    return byoc_diag_error(diag, BYOC_INVALID_ARGUMENT, "--json is the whole plan; --node and --all are for the text");
  }
  if (byoc_ends_with(options->model, ".json")) return explain_saved(options, diag);
  BYOC_RETURN_IF_ERROR(byoc_session_open(&options->session, diag, session));
  BYOC_RETURN_IF_ERROR(byoc_session_parse_targets(session, diag));
  BYOC_RETURN_IF_ERROR(byoc_session_read_model(session, options->model, diag));
  warn_of_rules(session);
  BYOC_RETURN_IF_ERROR(byoc_session_compile(session, BYOC_BUILD_GENERATED, diag));
  const byoc_graph_module_t *module = session->setup.build.module;
  BYOC_RETURN_IF_ERROR(hand_out(&session->setup.build.result.plan, module, options, diag));
  if (options->json || options->explain.node != NULL) return BYOC_OK;
  BYOC_RETURN_IF_ERROR(print_reports(module, diag));
  return print_flushed(module, diag);
}

int byoc_main_explain(int argc, char **argv) {
  explain_options_t options = {.session = {.installed_by_default = true, .shows_steps = true}};
  const byoc_option_row_t rows[] = {
      BYOC_TARGET_ROWS(options.session, BYOC_INSTALLED_TARGETS),
      BYOC_DIM_ROW(options.session),
      BYOC_STRICT_ROWS(options.session),
      BYOC_PLAN_ROWS(options.session, BYOC_COLLAGE_PLAN),
      BYOC_ERROR_ROWS(options.session),
      {"node", 0, BYOC_OPT_STRING, &options.explain.node, "NAME", "this node only, by its name or number"},
      {"all", 0, BYOC_OPT_FLAG, &options.explain.all, "", "print lists in full"},
      {"json", 0, BYOC_OPT_FLAG, &options.json, "", "the plan as JSON, as --save-plan writes it"},
      {"save-plan", 0, BYOC_OPT_STRING, &options.save_plan, "FILE", "write the plan to a file too"},
      {"html", 0, BYOC_OPT_STRING, &options.html, "FILE", "draw the plan as a page too: one file, no network"},
  };
  static const char *const operands[] = {"a model (an .onnx file) or a saved plan (a .json file)", NULL};
  const byoc_usage_t usage = {
      .command = "byoc explain",
      .synopsis = "MODEL|PLAN.json [--target TARGETS] [--node NAME] [options]",
      .summary = "show the target of each operator, the alternatives, and the reasons",
      .operands = operands,
      .rows = rows,
      .row_count = sizeof(rows) / sizeof(rows[0]),
      .more = "A plan of --save-plan is shown without its model.\n"
              "Nodes are numbered after the pass simplify, which folds constants and drops dead nodes.\n",
  };
  byoc_diag_t diag = {0};
  byoc_session_t session = {0};
  bool done = false;
  byoc_status_t status = byoc_options_parse(&usage, argc, argv, &diag, &options.model, &done);
  if (status == BYOC_OK && !done) {
    status = explain(&session, &options, &diag);
    if (status != BYOC_OK) byoc_diag_context(&diag, status, "explaining %s", options.model);
    byoc_session_close(&session);
  }
  return status == BYOC_OK ? BYOC_EXIT_OK : byoc_report(&diag, status);
}
