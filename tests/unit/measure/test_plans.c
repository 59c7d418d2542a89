// SPDX-License-Identifier: Apache-2.0
// Contests of whole plans: those that cannot be built, crash or cannot run are out of it, the others are timed.
#include "tests/unit/compose/demo.h"

#include <math.h>
#include <stdio.h>

#include "core/base/log.h"
#include "core/ir/module_text.h"
#include "core/measure/plans.h"

enum { GOOD, REFUSED, CRASHING, NO_ARTIFACT, AS_GOOD, PLAN_COUNT };

typedef struct contest_t {
  char *artifact; // of the plans that work
  size_t plan;    // which one is being built, in its child
} contest_t;

static contest_t contest;

// "Places" as the plan says: notes which one it is.
static byoc_status_t apply(void *context, size_t i, byoc_placement_t *placement, byoc_diag_t *diag) {
  (void)placement;
  (void)diag;
  ((contest_t *)context)->plan = i;
  return BYOC_OK;
}

static byoc_status_t build(const byoc_plan_build_t *plan, byoc_diag_t *diag) {
  byoc_placement_t placement;
  byoc_placement_init(&placement, plan->allocator);
  BYOC_RETURN_IF_ERROR(plan->placer.place(plan->placer.self, plan->module, plan->targets, diag, &placement));
  byoc_placement_deinit(&placement);
  if (contest.plan == CRASHING) abort();
  if (contest.plan == NO_ARTIFACT) return byoc_file_write(plan->output, "nonsense", 8, diag);
  char *data = NULL;
  size_t size = 0;
  BYOC_RETURN_IF_ERROR(byoc_file_read(contest.artifact, plan->allocator, diag, &data, &size));
  byoc_status_t status = byoc_file_write(plan->output, data, size, diag);
  byoc_free(plan->allocator, data);
  // Its artifact would run: that it was refused is all that keeps it out.
  if (contest.plan == REFUSED) return byoc_diag_error(diag, BYOC_UNSUPPORTED, "not this one");
  return status;
}

typedef struct fixture_t {
  demo_t demo;
  char *folder;
  byoc_graph_module_t *module;
  byoc_plan_measurer_t measurer;
  byoc_whole_pricer_t pricer;
} fixture_t;

static void set_up(fixture_t *f) {
  byoc_diag_t diag = {0};
  *f = (fixture_t){0};
  demo_init(&f->demo);
  f->folder = byoc_test_folder();
  contest = (contest_t){.artifact = demo_output(f->folder)};
  const byoc_compose_options_t options = {.output = contest.artifact, .model_name = "demo", .cpu_features = ""};
  byoc_test_ok(byoc_compose_artifact(f->demo.program, &options, byoc_allocator_system(), &diag), &diag);
  byoc_test_ok(byoc_graph_parse("module { func @main(%x : f32[4]) -> (%y : f32[4]) {"
                                " %y = Relu@14(%x) : f32[4] return %y } }",
                                "test", byoc_allocator_system(), &diag, &f->module),
               &diag);
  f->measurer = (byoc_plan_measurer_t){
      .build = build, .module = f->module, .allocator = byoc_allocator_system(), .thread_count = 1};
  f->pricer = byoc_plan_measurer_pricer(&f->measurer);
}

static void tear_down(fixture_t *f) {
  demo_deinit(&f->demo);
  byoc_graph_module_destroy(f->module);
  (void)byoc_remove_tree(f->folder, NULL);
  free(contest.artifact);
  free(f->folder);
}

static void only_plans_that_work_are_timed(void **state) {
  (void)state;
  fixture_t f;
  set_up(&f);
  byoc_diag_t diag = {0};
  double times[PLAN_COUNT], sizes[PLAN_COUNT], error = -1;
  char log[4096] = "";
  FILE *stream = fmemopen(log, sizeof(log), "w");
  assert_non_null(stream);
  byoc_log_set_level(BYOC_LOG_WARNING);
  byoc_log_set_stream(stream);
  byoc_test_ok(
      f.pricer.price(f.pricer.self, PLAN_COUNT, apply, &contest, INT64_C(60000000000), &diag, times, sizes, &error),
      &diag);
  byoc_log_set_stream(NULL);
  byoc_log_set_level(BYOC_LOG_ERROR);
  (void)fclose(stream);
  for (size_t i = 0; i < PLAN_COUNT; ++i) {
    const bool works = i == GOOD || i == AS_GOOD;
    if (works != (isfinite(times[i]) && times[i] > 0)) fail_msg("plan %zu: %g ns", i, times[i]);
    if (works != (sizes[i] > 0.01 && sizes[i] < 10)) fail_msg("plan %zu: %g MiB", i, sizes[i]);
  }
  assert_true(error >= 0);
  // A warning for each plan that does not work, and none about the others.
  int warnings = 0;
  for (const char *at = log; (at = strstr(at, "cannot be timed")) != NULL; ++at) ++warnings;
  if (warnings != PLAN_COUNT - 2 || strstr(log, "warning: plans cannot")) fail_msg("%s", log);
  tear_down(&f);
}

static void nothing_is_timed_without_time(void **state) {
  (void)state;
  fixture_t f;
  set_up(&f);
  byoc_diag_t diag = {0};
  double times[PLAN_COUNT], sizes[PLAN_COUNT], error = -1;
  byoc_test_ok(f.pricer.price(f.pricer.self, PLAN_COUNT, apply, &contest, 0, &diag, times, sizes, &error), &diag);
  for (size_t i = 0; i < PLAN_COUNT; ++i) assert_true(isnan(times[i]) && isnan(sizes[i]));
  assert_true(error == 0);
  tear_down(&f);
}

int main(void) {
  byoc_log_set_level(BYOC_LOG_ERROR);
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(only_plans_that_work_are_timed),
      cmocka_unit_test(nothing_is_timed_without_time),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
