// SPDX-License-Identifier: Apache-2.0
// Runs the pipeline of a model, step by step. If a backend declines a region, the steps from partitioning on are
// repeated.
#include "core/compile/pipeline.h"

#include <pthread.h>
#include <string.h>

#include "core/base/file.h"
#include "core/base/log.h"
#include "core/base/task.h"
#include "core/collage/constraint.h"
#include "core/collage/estimate.h"
#include "core/collage/plan_record.h"
#include "core/compile/call_work.h"
#include "core/compile/declined.h"
#include "core/compile/engine_trial.h"
#include "core/compile/fallback.h"
#include "core/compile/fused.h"
#include "core/compile/placed.h"
#include "core/compose/cc/code.h"
#include "core/compose/cc/compiler.h"
#include "core/compose/cc/native.h"
#include "core/hostir/lower/lower_program.h"
#include "core/hostir/pass/pass.h"
#include "core/ir/attribute_names.h"
#include "core/measure/packed.h"
#include "core/plugin/codegen.h"
#include "core/targets/cpu.h"

void byoc_pipeline_result_init(byoc_pipeline_result_t *result, byoc_allocator_t allocator) {
  *result = (byoc_pipeline_result_t){0};
  byoc_placement_init(&result->placement, allocator);
  byoc_plan_init(&result->plan, allocator);
  byoc_string_init(&result->required_cpu_features, allocator);
}

void byoc_pipeline_result_deinit(byoc_pipeline_result_t *result) {
  byoc_vector_deinit(&result->declined, result->plan.arena.allocator);
  byoc_host_program_destroy(result->program);
  result->program = NULL;
  byoc_placement_deinit(&result->placement);
  byoc_plan_deinit(&result->plan);
  byoc_string_deinit(&result->required_cpu_features);
}

// A function that its backend computes in another type than that of its operators.
typedef struct reported_t {
  const byoc_function_t *function;
  byoc_arithmetic_t arithmetic;
} reported_t;

typedef struct pipeline_t {
  byoc_graph_module_t *module;
  const byoc_pipeline_options_t *options;
  byoc_allocator_t allocator;
  byoc_diag_t *diag;
  byoc_pipeline_result_t *result;
  byoc_codegen_services_t services;
  byoc_progress_t progress;
  size_t declined_count; // functions, in this round
  byoc_placed_t placed;
  BYOC_VECTOR(reported_t) reported;
  uint64_t native_features;  // processor features that -mcpu of "c" allows
  uint64_t backend_features; // and those that the backends' code needs
} pipeline_t;

// ---- services for backends ----

static byoc_status_t serve_compile(void *self, const byoc_compile_request_t *requests, size_t count,
                                   byoc_allocator_t allocator, byoc_diag_t *diag, byoc_bytes_t *out_objects) {
  const char *native = byoc_native_compiler(((const pipeline_t *)self)->options->targets);
  byoc_compile_job_t *jobs = byoc_allocate(allocator, count + 1, sizeof(*jobs));
  if (jobs == NULL) return byoc_diag_out_of_memory(diag);
  for (size_t i = 0; i < count; ++i) {
    jobs[i] = (byoc_compile_job_t){.name = requests[i].name,
                                   .source = requests[i].source,
                                   .preamble = requests[i].preamble,
                                   .compiler = requests[i].compiler != NULL ? requests[i].compiler : native,
                                   .flags = requests[i].flags.items,
                                   .flag_count = (size_t)requests[i].flags.count};
  }
  byoc_status_t status = byoc_compile_all(jobs, count, 0, allocator, diag, out_objects);
  byoc_free(allocator, jobs);
  return status;
}

static byoc_status_t serve_code(void *self, const byoc_runtime_module_t *module, byoc_allocator_t allocator,
                                byoc_diag_t *diag, byoc_bytes_t *out_objects) {
  const char *compiler = byoc_native_compiler(((const pipeline_t *)self)->options->targets);
  return byoc_compile_code(module, compiler, allocator, diag, out_objects);
}

static byoc_status_t serve_measure(void *self, const byoc_measure_request_t *request, byoc_allocator_t allocator,
                                   byoc_diag_t *diag, double *out_median_ns) {
  const pipeline_t *p = self;
  const char *foreign = byoc_target_list_foreign(p->options->targets);
  if (foreign != NULL) {
    return byoc_diag_error(diag, BYOC_UNSUPPORTED, "code for %s cannot be measured on this machine", foreign);
  }
  return byoc_measure_packed(request, byoc_native_compiler(p->options->targets), allocator, diag, out_median_ns);
}

// One line shows the hook that spoke last; generate_for wipes it.
static void serve_progress(void *self, const char *what, uint64_t done, uint64_t total) {
  static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
  byoc_progress_t *progress = &((pipeline_t *)self)->progress;
  (void)pthread_mutex_lock(&lock);
  progress->total = (int64_t)total;
  byoc_progress_step(progress, (int64_t)done, what);
  (void)pthread_mutex_unlock(&lock);
}

static byoc_status_t serve_compiler(void *self, byoc_diag_t *diag, byoc_string_t *out) {
  const char *version = NULL;
  const char *compiler = byoc_native_compiler(((const pipeline_t *)self)->options->targets);
  byoc_diag_t why = {0}; // without a compiler the answers need none
  const byoc_status_t status = byoc_c_compiler_version(compiler, &why, &version);
  if (status == BYOC_OUT_OF_MEMORY) return byoc_diag_out_of_memory(diag);
  const char *triple = ((const pipeline_t *)self)->options->targets->triple;
  byoc_string_appendf(out, "%s for %s", status == BYOC_OK ? version : "none", triple != NULL ? triple : "this machine");
  return BYOC_OK;
}

static byoc_status_t serve_passes(void *self, byoc_function_t *const *functions, size_t function_count,
                                  const char *passes, byoc_diag_t *diag) {
  (void)self;
  return byoc_pass_run_list_on(functions, function_count, passes, NULL, diag);
}

// ---- generating ----

static bool is_hook_of(const byoc_target_t *target, const char *compiler) {
  return target->kind->backend != NULL && strcmp(target->kind->name, compiler) == 0;
}

// The target of a function marked Compiler="kind": the one that it names, otherwise the first of that kind. If there is
// none, that is an error: the model's author relies on the mark.
static byoc_status_t assign_target(pipeline_t *p, byoc_function_t *function, const char *compiler) {
  const byoc_target_list_t *targets = p->options->targets;
  const int64_t named = byoc_attributes_int(&function->attributes, BYOC_ATTRIBUTE_TARGET, -1);
  const bool is_known = named >= 0 && named < (int64_t)targets->targets.count;
  if (is_known && is_hook_of(targets->targets.data[named], compiler)) return BYOC_OK;
  for (size_t t = 0; t < targets->targets.count; ++t) {
    if (!is_hook_of(targets->targets.data[t], compiler)) continue;
    return byoc_attributes_set_int(&function->attributes, BYOC_ATTRIBUTE_TARGET, (int64_t)t)
               ? BYOC_OK
               : byoc_diag_out_of_memory(p->diag);
  }
  byoc_status_t status =
      byoc_diag_error(p->diag, BYOC_INVALID_ARGUMENT,
                      "function '%s' is marked Compiler = \"%s\", and no target of this build has a hook for that",
                      function->name, compiler);
  byoc_diag_hint(p->diag, "add --target %s, or run byoc opt --passes=inline-compiler-functions{compiler=%s}", compiler,
                 compiler);
  return status;
}

static byoc_status_t assign_targets(pipeline_t *p) {
  for (size_t f = 0; f < p->module->functions.count; ++f) {
    byoc_function_t *function = p->module->functions.data[f];
    const char *compiler = byoc_attributes_string(&function->attributes, BYOC_ATTRIBUTE_COMPILER, NULL);
    if (compiler == NULL || function->kind != BYOC_FUNCTION_GRAPH) continue;
    BYOC_RETURN_IF_ERROR(assign_target(p, function, compiler));
  }
  return BYOC_OK;
}

static bool is_of_target(const byoc_function_t *function, const byoc_target_t *target) {
  return function->kind == BYOC_FUNCTION_GRAPH && byoc_function_is_region(function) &&
         byoc_attributes_int(&function->attributes, BYOC_ATTRIBUTE_TARGET, -1) == (int64_t)target->index;
}

// Functions that the region calls (its composites) are put back with it.
static bool mark_callee_inline(void *self, byoc_node_t *node) {
  (void)self;
  return node->callee == NULL || byoc_attributes_set_int(&node->callee->attributes, BYOC_ATTRIBUTE_INLINE, 1);
}

// Marks all regions of the function. The model's author relies on a mark, so a warning reports a declined function that
// was marked.
static byoc_status_t mark_region_declined(pipeline_t *p, const byoc_function_t *function, const char *reason) {
  byoc_placement_t *placement = &p->result->placement;
  bool is_reported = false;
  for (size_t i = 0; i < placement->regions.count; ++i) {
    byoc_placement_region_t *region = &placement->regions.data[i];
    if (region->function != function) continue;
    region->falls_back = true;
    if (region->is_marked && !is_reported) {
      const char *kind = region->target->kind->name;
      byoc_log(BYOC_LOG_WARNING, "function '%s' is marked Compiler = \"%s\", but %s declined it: %s", function->name,
               kind, kind, reason);
      is_reported = true;
    }
    if (region->is_marked) continue;
    BYOC_RETURN_IF_ERROR(
        byoc_plan_record_fallback(placement->plan, region->plan_block, region->plan_region, reason, p->diag));
  }
  return BYOC_OK;
}

static bool note_declined(byoc_pipeline_result_t *result, const char *function, const char *reason) {
  byoc_arena_t *arena = &result->plan.arena;
  const byoc_declined_function_t note = {byoc_arena_copy_string(arena, function),
                                         byoc_arena_copy_string(arena, reason)};
  return note.function != NULL && note.reason != NULL && byoc_vector_push(&result->declined, arena->allocator, note);
}

// Puts a body back where it was called: rewritten by the backend, or as it was.
static byoc_status_t put_back(pipeline_t *p, const byoc_codegen_result_t *result, const byoc_target_t *target) {
  byoc_function_t *function = result->function;
  bool ok = byoc_attributes_set_int(&function->attributes, BYOC_ATTRIBUTE_INLINE, 1) &&
            byoc_block_walk(function->body, mark_callee_inline, NULL);
  if (result->answer == BYOC_CODEGEN_HANDED_BACK) ok = ok && byoc_mark_answered(function->body);
  if (result->answer == BYOC_CODEGEN_DECLINED) {
    ok = ok && byoc_mark_declined(function->body, result->nodes, result->node_count, target,
                                  p->options->targets->targets.count, p->allocator);
    p->declined_count += 1;
    ok = ok && note_declined(p->result, function->name, result->reason);
    BYOC_RETURN_IF_ERROR(mark_region_declined(p, function, result->reason));
    byoc_log(BYOC_LOG_INFO, "%s declined '%s' after claiming it: %s", target->kind->name, function->name,
             result->reason);
  }
  byoc_attributes_remove(&function->attributes, BYOC_ATTRIBUTE_COMPILER);
  byoc_attributes_remove(&function->attributes, BYOC_ATTRIBUTE_COMPOSITE);
  return ok ? BYOC_OK : byoc_diag_out_of_memory(p->diag);
}

// Records the precision of a function at its regions.
static byoc_status_t note_precision(pipeline_t *p, const byoc_function_t *function, const char *precision,
                                    const char *lapse) {
  const byoc_placement_t *placement = &p->result->placement;
  for (size_t i = 0; i < placement->regions.count; ++i) {
    const byoc_placement_region_t *region = &placement->regions.data[i];
    if (region->function != function || region->is_marked) continue;
    BYOC_RETURN_IF_ERROR(byoc_plan_record_precision(placement->plan, region->plan_block, region->plan_region, precision,
                                                    lapse, p->diag));
  }
  return BYOC_OK;
}

// Before the hook changes the functions: what their operators say.
static byoc_status_t note_types(pipeline_t *p, byoc_function_t *const *functions, size_t count) {
  byoc_string_t text;
  byoc_string_init(&text, p->allocator);
  byoc_status_t status = BYOC_OK;
  for (size_t i = 0; i < count && status == BYOC_OK; ++i) {
    byoc_string_clear(&text);
    byoc_function_precision(functions[i], &text);
    if (text.failed) status = byoc_diag_out_of_memory(p->diag);
    if (status == BYOC_OK && text.size > 0) status = note_precision(p, functions[i], text.data, NULL);
  }
  byoc_string_deinit(&text);
  return status;
}

// What the backend reported. The name of a type of arithmetic is for profiles, too.
static byoc_status_t settle_precision(pipeline_t *p, const byoc_codegen_result_t *result) {
  if (result->precision == NULL) return BYOC_OK;
  const reported_t reported = {result->function, byoc_arithmetic_find(result->precision, strlen(result->precision))};
  if (reported.arithmetic != BYOC_ARITHMETIC_COUNT && !byoc_vector_push(&p->reported, p->allocator, reported)) {
    return byoc_diag_out_of_memory(p->diag);
  }
  return note_precision(p, result->function, result->precision, result->lapse);
}

static byoc_status_t settle(pipeline_t *p, const byoc_codegen_report_t *report, const byoc_target_t *target) {
  for (size_t i = 0; i < report->results.count; ++i) {
    const byoc_codegen_result_t *result = &report->results.data[i];
    if (result->answer == BYOC_CODEGEN_BOUND) BYOC_RETURN_IF_ERROR(settle_precision(p, result));
    if (result->answer == BYOC_CODEGEN_HANDED_BACK || result->answer == BYOC_CODEGEN_DECLINED) {
      BYOC_RETURN_IF_ERROR(put_back(p, result, target));
    }
  }
  uint64_t required = 0;
  BYOC_RETURN_IF_ERROR(byoc_cpu_parse_list(report->required_cpu_features.data, p->diag, &required));
  p->backend_features |= required;
  return BYOC_OK;
}

// The devices of a region's parameters and results depend on its code, not on its calls. Only the number of the device
// comes from the model.
static bool forget_devices(byoc_function_t *function) {
  const byoc_block_t *body = function->body;
  const byoc_virtual_device_t *first = body->results.count > 0 ? &body->results.data[0]->device : NULL;
  if (first != NULL && first->device_type > kDLCPU && first->device_id > 0 &&
      !byoc_attributes_set_int(&function->attributes, BYOC_ATTRIBUTE_DEVICE_ID, first->device_id)) {
    return false;
  }
  for (size_t i = 0; i < body->parameters.count; ++i) body->parameters.data[i]->device = BYOC_VIRTUAL_DEVICE_FREE;
  for (size_t i = 0; i < body->results.count; ++i) {
    byoc_virtual_device_t *device = &body->results.data[i]->device;
    *device = (byoc_virtual_device_t){.device_id = -1, .target = device->target};
  }
  return true;
}

typedef BYOC_VECTOR(byoc_function_t *) function_list_t;

// Declines regions whose code would compute something else.
static byoc_status_t check_regions(pipeline_t *p, const byoc_target_t *target, function_list_t *functions) {
  const byoc_checker_t *checker = &p->options->checker;
  if (checker->check_regions == NULL || p->options->extent != BYOC_BUILD_ALL) return BYOC_OK;
  byoc_arena_t arena;
  byoc_arena_init(&arena, p->allocator);
  const char **reasons = BYOC_ARENA_ARRAY(&arena, const char *, functions->count);
  byoc_status_t status = reasons != NULL ? BYOC_OK : byoc_diag_out_of_memory(p->diag);
  if (status == BYOC_OK) {
    status = checker->check_regions(checker->self, p->options->targets, target, functions->data, functions->count,
                                    &arena, p->diag, reasons);
  }
  size_t kept = 0;
  for (size_t i = 0; i < functions->count && status == BYOC_OK; ++i) {
    const byoc_codegen_result_t refusal = {
        .function = functions->data[i], .answer = BYOC_CODEGEN_DECLINED, .reason = reasons[i]};
    if (reasons[i] == NULL) functions->data[kept++] = functions->data[i];
    if (reasons[i] != NULL) status = put_back(p, &refusal, target);
  }
  if (status == BYOC_OK) functions->count = kept;
  byoc_arena_deinit(&arena);
  return status;
}

// The hook of one target, over all of its functions at once.
static byoc_status_t generate_for(pipeline_t *p, const byoc_target_t *target) {
  function_list_t functions = {0};
  double *flops = NULL;
  byoc_codegen_report_t report;
  byoc_codegen_report_init(&report, p->allocator);
  byoc_status_t status = BYOC_OK;
  for (size_t f = 0; f < p->module->functions.count && status == BYOC_OK; ++f) {
    byoc_function_t *function = p->module->functions.data[f];
    if (!is_of_target(function, target)) continue;
    if (!byoc_vector_push(&functions, p->allocator, function)) status = byoc_diag_out_of_memory(p->diag);
    if (!forget_devices(function)) status = byoc_diag_out_of_memory(p->diag);
  }
  if (status == BYOC_OK && functions.count > 0) status = check_regions(p, target, &functions);
  if (status != BYOC_OK || functions.count == 0) goto cleanup;
  int64_t start_ns = byoc_now_ns();
  status = byoc_call_work_note(functions.data, functions.count, p->allocator, p->diag, &flops);
  if (status == BYOC_OK) status = note_types(p, functions.data, functions.count);
  if (status != BYOC_OK) goto cleanup;
  byoc_progress_begin(&p->progress, "generating", 0);
  status = byoc_codegen_run(p->module, target, functions.data, functions.count, &p->services, p->diag, &report);
  byoc_progress_end(&p->progress);
  // A hook may report that the target's options do not fit; any other wrong argument is the plugin's, not the user's.
  if (status == BYOC_INVALID_ARGUMENT && report.reported != BYOC_INVALID_ARGUMENT) status = BYOC_INVALID_DATA;
  if (status == BYOC_OK) status = byoc_call_work_mark(functions.data, functions.count, flops, p->diag);
  if (status == BYOC_OK) status = settle(p, &report, target);
  byoc_log(BYOC_LOG_INFO, "generated them in %.0f ms", (double)(byoc_now_ns() - start_ns) / 1e6);
cleanup:
  byoc_free(p->allocator, flops);
  byoc_codegen_report_deinit(&report);
  byoc_vector_deinit(&functions, p->allocator);
  return status;
}

// Makes stubs of the functions that were bound; declined ones return into their callers.
static byoc_status_t finish_round(pipeline_t *p) {
  BYOC_RETURN_IF_ERROR(
      byoc_pass_run(byoc_pass_find("mark-compiler-functions-extern"), p->module, &p->options->passes, p->diag, NULL));
  return byoc_pass_run(byoc_pass_find("inline-functions"), p->module, &p->options->passes, p->diag, NULL);
}

byoc_status_t byoc_build_watcher_begin(const byoc_build_watcher_t *watcher, const char *step, byoc_diag_t *diag) {
  BYOC_RETURN_IF_ERROR(byoc_task_check(diag));
  if (watcher->begin == NULL || watcher->begin(watcher->self, step)) return BYOC_OK;
  return byoc_diag_error(diag, BYOC_CANCELLED, "the build was cancelled before the step '%s'", step);
}

static byoc_status_t begin(const pipeline_t *p, const char *step) {
  return byoc_build_watcher_begin(p->options->watcher, step, p->diag);
}

static bool ends_after(const pipeline_t *p, byoc_build_extent_t extent) {
  return p->options->extent == extent;
}

static byoc_status_t place(pipeline_t *p, size_t round) {
  const byoc_placer_t *placer = &p->options->placer;
  byoc_placement_t *placement = &p->result->placement;
  const byoc_target_list_t *targets = p->options->targets;
  BYOC_RETURN_IF_ERROR(round == 0 && placer->place != NULL
                           ? placer->place(placer->self, p->module, targets, p->diag, placement)
                           : byoc_place_greedy(p->module, targets, p->diag, placement));
  BYOC_RETURN_IF_ERROR(byoc_placement_check_bound(p->module, targets, placement, round == 0, p->diag));
  // Backends see only layout changes at the border of a region.
  BYOC_RETURN_IF_ERROR(byoc_pass_run(byoc_pass_find("cancel-layouts"), p->module, &p->options->passes, p->diag, NULL));
  BYOC_RETURN_IF_ERROR(byoc_placed_count(&p->placed, p->module, targets, round == 0, p->diag, placement));
  return byoc_pass_print_after("place", (byoc_pass_subject_t){.module = p->module}, &p->options->passes, p->diag);
}

static bool count_node(void *self, byoc_node_t *node) {
  (void)node;
  *(size_t *)self += 1;
  return true;
}

// A target is not asked again for a node that it declined, so that each round removes at least one pair of node and
// target. Only hooks that replace nodes by new ones need more rounds.
static size_t most_rounds(const pipeline_t *p) {
  size_t nodes = 0;
  for (size_t f = 0; f < p->module->functions.count; ++f) {
    (void)byoc_block_walk(p->module->functions.data[f]->body, count_node, &nodes);
  }
  return (nodes + 1) * (p->options->targets->targets.count + 1);
}

// Operators that rules name and no backend took are written out, and the rules are asked about the new ones. Greedy
// plans propose all nodes again; by a plan by cost, others stay where it placed them.
static byoc_status_t write_out_left(pipeline_t *p, size_t *out_written) {
  const byoc_placer_t *placer = &p->options->placer;
  const bool is_greedy = placer->place == NULL || strcmp(placer->strategy, "greedy") == 0;
  byoc_pass_options_t passes = p->options->passes;
  passes.targets = p->options->targets;
  const size_t before = byoc_placed_count_open(p->module);
  BYOC_RETURN_IF_ERROR(byoc_fused_write_out_left(p->module, &passes, is_greedy, p->diag, out_written));
  if (*out_written == 0) return BYOC_OK;
  byoc_log(BYOC_LOG_INFO, "wrote out %zu operator%s that rules name and no target took", *out_written,
           byoc_plural(*out_written));
  p->placed.operator_count += byoc_placed_count_open(p->module) - before;
  p->result->plan.was_written_out = true;
  return BYOC_OK;
}

static byoc_status_t place_and_generate(pipeline_t *p) {
  byoc_plan_t *plan = &p->result->plan;
  const char *model = byoc_attributes_string(&p->module->attributes, BYOC_ATTRIBUTE_MODEL, "");
  const char *strategy = p->options->placer.place != NULL ? p->options->placer.strategy : "greedy";
  BYOC_RETURN_IF_ERROR(byoc_plan_record_targets(plan, model, strategy, p->options->targets, p->diag));
  p->result->placement.plan = plan;
  size_t most = most_rounds(p);
  for (size_t round = 0;; ++round) {
    if (round == most) {
      const byoc_declined_function_t *last = &p->result->declined.data[p->result->declined.count - 1];
      return byoc_diag_error(p->diag, BYOC_INVALID_DATA,
                             "targets still decline functions in round %zu of partitioning: '%s' was the last one (%s)",
                             round, last->function, last->reason);
    }
    p->declined_count = 0;
    BYOC_RETURN_IF_ERROR(begin(p, "place"));
    BYOC_RETURN_IF_ERROR(place(p, round));
    if (ends_after(p, BYOC_BUILD_PLACED)) return BYOC_OK;
    BYOC_RETURN_IF_ERROR(begin(p, "generate"));
    for (size_t t = 0; t < p->options->targets->targets.count; ++t) {
      BYOC_RETURN_IF_ERROR(generate_for(p, p->options->targets->targets.data[t]));
    }
    BYOC_RETURN_IF_ERROR(finish_round(p));
    if (p->declined_count > 0) continue;
    size_t written = 0;
    BYOC_RETURN_IF_ERROR(write_out_left(p, &written));
    if (written == 0) break;
    most += most_rounds(p);
  }
  byoc_forget_answered(p->module);
  byoc_plan_record_finish(plan);
  return byoc_pass_print_after("generate", (byoc_pass_subject_t){.module = p->module}, &p->options->passes, p->diag);
}

// The instruction set that "c" compiles for is required too.
static byoc_status_t require_native_features(pipeline_t *p, byoc_string_t *features) {
  const byoc_target_t *native = byoc_target_list_native(p->options->targets);
  p->native_features = byoc_target_cpu_features(native, "mcpu");
  byoc_cpu_print(p->native_features, features);
  return features->failed ? byoc_diag_out_of_memory(p->diag) : BYOC_OK;
}

// Notes properties that the program's text needs: the work of its calls, and the features that backends' code needs.
static byoc_status_t complete_program(pipeline_t *p) {
  byoc_host_program_t *program = p->result->program;
  BYOC_HOST_FOR_EACH(i, program) {
    if (i->function == NULL) continue;
    const byoc_work_t work = byoc_function_work(i->function);
    i->flops = work.product_flops + work.other_flops;
    i->arithmetic = byoc_work_arithmetic(&work);
    for (size_t r = 0; r < p->reported.count; ++r) {
      if (p->reported.data[r].function == i->function) i->arithmetic = p->reported.data[r].arithmetic;
    }
  }
  byoc_string_t features;
  byoc_string_init(&features, p->allocator);
  byoc_cpu_print(p->backend_features, &features);
  const char *copy = features.failed ? NULL : byoc_arena_copy_string(&program->arena, features.data);
  byoc_string_deinit(&features);
  if (copy == NULL) return byoc_diag_out_of_memory(p->diag);
  program->cpu_features = copy;
  return BYOC_OK;
}

static void log_program(const byoc_host_program_t *program) {
  byoc_log(BYOC_LOG_INFO, "host program: %zu instruction%s, %zu kernel%s, workspace %.2f MiB (bound %.2f MiB)",
           program->instruction_count, byoc_plural(program->instruction_count), program->kernels.count,
           byoc_plural(program->kernels.count), (double)program->workspace_size_bytes / 1048576.0,
           (double)program->workspace_bound_bytes / 1048576.0);
  for (size_t k = 0; k < program->memories.count; ++k) {
    const byoc_host_memory_t *memory = program->memories.data[k];
    const char *device = memory->device->driver;
    if (memory->is_apart) {
      byoc_log(BYOC_LOG_INFO, "host program: %llu allocation%s of scope '%s' on device '%s'",
               (unsigned long long)memory->size, byoc_plural(memory->size), memory->scope, device);
    } else {
      byoc_log(BYOC_LOG_INFO, "host program: %.2f MiB of scope '%s' on device '%s'", (double)memory->size / 1048576.0,
               memory->scope, device);
    }
  }
  if (!program->is_dynamic) return;
  byoc_string_t live;
  byoc_string_init(&live, program->arena.allocator);
  byoc_dim_print(program->live_bound_bytes, &live);
  if (!live.failed) byoc_log(BYOC_LOG_INFO, "host program: at least %s bytes in use at once", live.data);
  byoc_string_deinit(&live);
}

static byoc_status_t run_host_passes(const char *names, byoc_host_program_t *program,
                                     const byoc_pipeline_options_t *options, byoc_diag_t *diag) {
  return byoc_host_pass_run_list(names, program, &options->passes, diag);
}

// Makes a set of each queue that the lowering made, and lets the iterations of loops take its elements. A caller brings
// one queue, so that those of a set are the context's own.
static byoc_status_t spread_loops(pipeline_t *p) {
  const byoc_host_program_t *program = p->result->program;
  if (p->options->queue_count < 2) return BYOC_OK;
  for (size_t k = 0; k < program->queues.count; ++k) {
    byoc_host_queue_t *queue = program->queues.data[k];
    if (queue->kind == BYOC_HOST_QUEUE_DEFAULT || queue->count > 0) continue;
    queue->kind = BYOC_HOST_QUEUE_OWN;
    queue->count = (uint32_t)p->options->queue_count;
  }
  return run_host_passes("spread-loops", p->result->program, p->options, p->diag);
}

// No target is asked about anything after these.
static byoc_status_t run_passes(pipeline_t *p, const char *const *names, size_t count) {
  byoc_pass_options_t passes = p->options->passes;
  passes.targets = NULL;
  for (size_t i = 0; i < count; ++i) {
    BYOC_RETURN_IF_ERROR(byoc_pass_run(byoc_pass_find(names[i]), p->module, &passes, p->diag, NULL));
  }
  return BYOC_OK;
}

// Quantised units that no backend took become several operators, as others with constants do.
static byoc_status_t lower_graph(pipeline_t *p) {
  static const char *const tidying[] = {"fold-constants", "remove-identities", "merge-equal-nodes"};
  static const char *const names[] = {"write-around-constants", "tabulate-bytes", "fold-constants", "fold-dequantised",
                                      "lower-kernels"};
  size_t written = 0;
  BYOC_RETURN_IF_ERROR(byoc_pass_run(byoc_pass_find("settle-layouts"), p->module, &p->options->passes, p->diag, NULL));
  BYOC_RETURN_IF_ERROR(
      byoc_pass_run(byoc_pass_find("write-out-units"), p->module, &p->options->passes, p->diag, &written));
  if (written > 0) BYOC_RETURN_IF_ERROR(run_passes(p, tidying, sizeof(tidying) / sizeof(tidying[0])));
  return run_passes(p, names, sizeof(names) / sizeof(names[0]));
}

static byoc_status_t lower(pipeline_t *p) {
  BYOC_RETURN_IF_ERROR(begin(p, "lower"));
  p->module->vector_bytes = byoc_cpu_vector_bytes(p->native_features);
  p->module->bytes_as_floats = !byoc_cpu_multiplies_bytes(p->native_features);
  p->module->is_lowered = true;
  p->module->is_unfused = byoc_target_option_int(byoc_target_list_native(p->options->targets), "fuse") == 0;
  BYOC_RETURN_IF_ERROR(lower_graph(p));
  p->module->stacks_on_host = byoc_host_will_be_dynamic(byoc_graph_module_main(p->module));
  BYOC_RETURN_IF_ERROR(byoc_pass_run(byoc_pass_find("plan-devices"), p->module, &p->options->passes, p->diag, NULL));
  BYOC_RETURN_IF_ERROR(byoc_host_lower(p->module, p->allocator, p->diag, &p->result->program));
  BYOC_RETURN_IF_ERROR(complete_program(p));
  BYOC_RETURN_IF_ERROR(spread_loops(p));
  BYOC_RETURN_IF_ERROR(run_host_passes(BYOC_HOST_ALIAS_PASSES, p->result->program, p->options, p->diag));
  BYOC_RETURN_IF_ERROR(byoc_host_write_over(p->result->program, p->options->pairs, p->options->pair_count, p->diag));
  BYOC_RETURN_IF_ERROR(run_host_passes(BYOC_HOST_MEMORY_PASSES, p->result->program, p->options, p->diag));
  log_program(p->result->program);
  return BYOC_OK;
}

// Loops over the parts of an axis are made before partitioning, so that backends compile code of a part's size.
static byoc_status_t take_parts(pipeline_t *p) {
  static const char *const passes[] = {"stream-axis", "fold-constants", "remove-dead-code"};
  for (size_t i = 0; i < sizeof(passes) / sizeof(passes[0]); ++i) {
    BYOC_RETURN_IF_ERROR(byoc_pass_run(byoc_pass_find(passes[i]), p->module, &p->options->passes, p->diag, NULL));
  }
  return BYOC_OK;
}

// A model of several ranks becomes the part of one rank. Constants are folded or packed first, so that shapes are
// known, and weights are cut as they are stored; other rewrites follow when layers have the sizes of their rank.
static byoc_status_t spread_over_ranks(pipeline_t *p, const byoc_pass_options_t *passes) {
  if (byoc_attributes_find(&p->module->attributes, BYOC_ATTRIBUTE_MESH) == NULL) return BYOC_OK;
  BYOC_RETURN_IF_ERROR(byoc_pass_run_list("settle-constants,shard,remove-dead-code", p->module, passes, p->diag));
  if (byoc_attributes_int(&p->module->attributes, BYOC_ATTRIBUTE_PIPELINED, 0) == 0) return BYOC_OK;
  byoc_attributes_remove(&p->module->attributes, BYOC_ATTRIBUTE_PIPELINED);
  return byoc_pass_run_list("pipeline-collectives,remove-dead-code", p->module, passes, p->diag);
}

// Ranks that only the run knows: each round makes branches, and moves nodes that depend on a rank into them.
static byoc_status_t settle_ranks(pipeline_t *p, const byoc_pass_options_t *passes, size_t *out_sunk) {
  enum { MOST_ROUNDS = 16 };
  for (int round = 0; round < MOST_ROUNDS; ++round) {
    size_t chosen = 0, sunk = 0;
    BYOC_RETURN_IF_ERROR(byoc_pass_run(byoc_pass_find("choose-lengths"), p->module, passes, p->diag, &chosen));
    BYOC_RETURN_IF_ERROR(byoc_pass_run(byoc_pass_find("choose-ranks"), p->module, passes, p->diag, NULL));
    BYOC_RETURN_IF_ERROR(byoc_pass_run(byoc_pass_find("sink-into-branches"), p->module, passes, p->diag, &sunk));
    *out_sunk += chosen + sunk;
    if (chosen == 0) break;
  }
  return BYOC_OK;
}

// Constants are folded or packed before the copies are made, so that copies share the results. If a rank depends on a
// branch, the types of the results then show that, also against the model's declarations.
static byoc_status_t add_variants(pipeline_t *p, const byoc_pass_options_t *passes) {
  BYOC_RETURN_IF_ERROR(byoc_pass_run(byoc_pass_find("settle-constants"), p->module, passes, p->diag, NULL));
  size_t sunk = 0;
  BYOC_RETURN_IF_ERROR(settle_ranks(p, passes, &sunk));
  return byoc_variants_add(p->module, p->options->variants, p->options->variant_count, p->diag);
}

// The maker of the processor, if the artifact is for the one at hand.
static const char *find_vendor(const byoc_target_list_t *targets, char buffer[13]) {
  const byoc_target_t *native = byoc_target_list_native(targets);
  const bool is_here = native != NULL && byoc_target_list_foreign(targets) == NULL &&
                       strcmp(byoc_target_option_cpu(native, "mcpu"), "native") == 0;
  return is_here ? byoc_cpu_vendor(buffer) : NULL;
}

// Everything between the simplified module and the code of backends.
static byoc_status_t compile_regions(pipeline_t *p, const bool *uses_engine) {
  const byoc_pipeline_options_t *o = p->options;
  if (o->fallback) BYOC_RETURN_IF_ERROR(byoc_fallback_add(p->module, o->targets, uses_engine, p->diag));
  BYOC_RETURN_IF_ERROR(byoc_pass_run(byoc_pass_find("spread-devices"), p->module, &o->passes, p->diag, NULL));
  BYOC_RETURN_IF_ERROR(byoc_host_check_pairs(p->module, o->pairs, o->pair_count, p->allocator, p->diag));
  if (ends_after(p, BYOC_BUILD_SIMPLIFIED)) return BYOC_OK;
  BYOC_RETURN_IF_ERROR(place_and_generate(p));
  return o->fallback && !ends_after(p, BYOC_BUILD_PLACED) ? byoc_fallback_check(p->module, p->diag) : BYOC_OK;
}

// In a child process, which needs to change nothing back.
static byoc_status_t try_regions(void *self, const bool *uses_engine, byoc_diag_t *diag) {
  static const byoc_build_watcher_t nobody;
  pipeline_t *p = self;
  byoc_pipeline_options_t options = *p->options;
  options.watcher = &nobody;
  options.passes.print_after = NULL;
  if (options.extent == BYOC_BUILD_PLACED) options.extent = BYOC_BUILD_GENERATED;
  p->options = &options;
  p->diag = diag;
  return compile_regions(p, uses_engine);
}

// A plan without engines is for targets that have some.
static byoc_status_t find_engines(pipeline_t *p, bool **out_uses_engine) {
  const byoc_target_list_t *targets = p->options->targets;
  *out_uses_engine = NULL;
  if (!p->options->fallback || ends_after(p, BYOC_BUILD_SIMPLIFIED)) return BYOC_OK;
  bool *uses_engine = BYOC_ARENA_ARRAY(&p->module->arena, bool, targets->targets.count);
  if (uses_engine == NULL) return byoc_diag_out_of_memory(p->diag);
  const byoc_engine_trial_t trial = {
      .module = p->module, .targets = targets, .compile = try_regions, .self = p, .allocator = p->allocator};
  BYOC_RETURN_IF_ERROR(byoc_engine_trial_run(&trial, p->diag, uses_engine));
  *out_uses_engine = uses_engine;
  return BYOC_OK;
}

byoc_status_t byoc_pipeline_run(byoc_graph_module_t *module, const byoc_pipeline_options_t *options,
                                byoc_allocator_t allocator, byoc_diag_t *diag, byoc_pipeline_result_t *result) {
  pipeline_t p = {.module = module, .options = options, .allocator = allocator, .diag = diag, .result = result};
  byoc_string_t native_features;
  byoc_string_init(&native_features, allocator);
  char *cache = NULL, vendor[13];
  byoc_diag_t cache_diag = {0}; // the build goes on without a cache folder
  if (byoc_cache_directory(allocator, &cache_diag, &cache) != BYOC_OK) {
    byoc_log(BYOC_LOG_WARNING, "nothing is cached: %s", cache_diag.message);
  }
  byoc_status_t status = require_native_features(&p, &native_features);
  p.services = (byoc_codegen_services_t){.self = &p,
                                         .compile = serve_compile,
                                         .measure = serve_measure,
                                         .compile_code = serve_code,
                                         .triple = options->targets != NULL ? options->targets->triple : NULL,
                                         .cache_directory = cache,
                                         .cpu_features = native_features.data,
                                         .cpu_vendor = find_vendor(options->targets, vendor),
                                         .as_source = options->as_source,
                                         .progress = serve_progress,
                                         .run_passes = serve_passes,
                                         .describe_compiler = serve_compiler};
  if (status == BYOC_OK) status = begin(&p, "simplify");
  if (status == BYOC_OK) {
    status = byoc_pass_run(byoc_pass_find("outline-compiler-functions"), module, &options->passes, diag, NULL);
  }
  if (status == BYOC_OK) status = assign_targets(&p);
  if (status == BYOC_OK) status = byoc_targets_check_bound(module, options->targets, diag);
  // Nodes of functions that no region calls are placed like any others.
  if (status == BYOC_OK) {
    status = byoc_pass_run(byoc_pass_find("inline-composites"), module, &options->passes, diag, NULL);
  }
  byoc_pass_options_t passes = options->passes;
  passes.targets = options->targets;
  if (status == BYOC_OK) status = spread_over_ranks(&p, &passes);
  if (status == BYOC_OK && options->variant_count > 0) status = add_variants(&p, &passes);
  bool simplifies = status == BYOC_OK && !options->is_simplified;
  size_t sunk = 0;
  if (simplifies) status = byoc_pass_run(byoc_pass_find("simplify"), module, &passes, diag, NULL);
  if (status == BYOC_OK) status = settle_ranks(&p, &passes, &sunk);
  if (status == BYOC_OK && sunk > 0) status = byoc_pass_run(byoc_pass_find("simplify"), module, &passes, diag, NULL);
  if (status == BYOC_OK) status = byoc_fused_settle(module, &passes, diag);
  if (status == BYOC_OK && options->passes.stream_axis != NULL) status = take_parts(&p);
  bool *uses_engine = NULL;
  if (status == BYOC_OK) status = find_engines(&p, &uses_engine);
  if (status == BYOC_OK) status = compile_regions(&p, uses_engine);
  if (status != BYOC_OK || options->extent != BYOC_BUILD_ALL) goto cleanup;
  status = lower(&p);
  if (status != BYOC_OK) goto cleanup;
  byoc_cpu_print(byoc_cpu_of_loops(p.native_features) | p.backend_features, &result->required_cpu_features);
  if (result->required_cpu_features.failed) status = byoc_diag_out_of_memory(diag);
cleanup:
  byoc_vector_deinit(&p.reported, allocator);
  byoc_free(allocator, cache);
  byoc_string_deinit(&native_features);
  return status;
}

// Gives a program that was read a memory plan, if its text has none. If it has queues and no events, its text says
// queues only; a program that has events must have those that it needs.
static byoc_status_t plan_read(byoc_host_program_t *program, const byoc_pipeline_options_t *options,
                               byoc_diag_t *diag) {
  uint32_t properties = 0;
  if (options->pair_count > 0) byoc_host_forget_lifetimes(program);
  BYOC_RETURN_IF_ERROR(byoc_host_write_over(program, options->pairs, options->pair_count, diag));
  if (!byoc_host_program_properties(program, &properties)) return byoc_diag_out_of_memory(diag);
  if ((properties & BYOC_HOST_PLAN) != 0) return byoc_host_program_verify(program, diag);
  const bool says_queues_only = program->queues.count > 0 && program->events.count == 0;
  BYOC_RETURN_IF_ERROR(run_host_passes("place-lifetimes", program, options, diag));
  if (says_queues_only) BYOC_RETURN_IF_ERROR(run_host_passes(BYOC_HOST_ORDER_PASSES, program, options, diag));
  return run_host_passes("plan-memory", program, options, diag); // which verifies
}

byoc_status_t byoc_pipeline_finish(const byoc_pipeline_options_t *options, byoc_diag_t *diag,
                                   byoc_pipeline_result_t *result) {
  const byoc_target_t *native = byoc_target_list_native(options->targets);
  byoc_host_program_t *program = result->program;
  const uint64_t native_features = byoc_target_cpu_features(native, "mcpu");
  uint64_t backend_features = 0;
  BYOC_RETURN_IF_ERROR(byoc_cpu_parse_list(program->cpu_features, diag, &backend_features));
  byoc_cpu_print(byoc_cpu_of_loops(native_features) | backend_features, &result->required_cpu_features);
  if (result->required_cpu_features.failed) return byoc_diag_out_of_memory(diag);
  byoc_diag_t verdict = {0};
  byoc_status_t status = plan_read(program, options, &verdict);
  if (status == BYOC_OK) log_program(program);
  if (status == BYOC_OK) return BYOC_OK;
  // The text that was read breaks a rule, not byoc.
  if (status == BYOC_INTERNAL) return byoc_diag_error(diag, BYOC_INVALID_DATA, "%s", verdict.message);
  return byoc_diag_adopt(diag, &verdict);
}
