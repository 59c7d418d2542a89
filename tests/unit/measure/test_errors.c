// SPDX-License-Identifier: Apache-2.0
// Measuring errors of plans: how long their runs may take, and what is known if they take longer. Row C13.
#include "tests/unit/compose/demo.h"

#include <math.h>
#include <stdio.h>

#include "core/base/log.h"
#include "core/ir/module_text.h"
#include "core/measure/errors.h"

// Hangs in the run whose first element, with 10 added, is above 500.
static const char hanging_source[] = "#include \"byoc/call.h\"\n"
                                     "#include <unistd.h>\n"
                                     "BYOC_PACKED int32_t demo_scale(const byoc_call_t *call) {\n"
                                     "  const float *in = call->tensors[0].data;\n"
                                     "  float *out = call->tensors[call->input_count].data;\n"
                                     "  while (in[0] > 500) (void)sleep(1);\n"
                                     "  for (int i = 0; i < 4; ++i) out[i] = in[i] * 2;\n"
                                     "  return BYOC_OK;\n"
                                     "}\n";

static char *artifact; // that every plan is

static byoc_status_t build(const byoc_plan_build_t *plan, byoc_diag_t *diag) {
  char *data = NULL;
  size_t size = 0;
  BYOC_RETURN_IF_ERROR(byoc_file_read(artifact, plan->allocator, diag, &data, &size));
  const byoc_status_t status = byoc_file_write(plan->output, data, size, diag);
  byoc_free(plan->allocator, data);
  return status;
}

static byoc_status_t apply(void *context, byoc_placement_t *placement, byoc_diag_t *diag) {
  (void)context;
  (void)placement;
  (void)diag;
  return BYOC_OK;
}

static const float ordinary[4] = {1, 2, 3, 4}, endless[4] = {1000, 2, 3, 4};

typedef struct fixture_t {
  demo_t demo;
  char *folder;
  byoc_graph_module_t *module;
  const void *inputs[2];
  const void *const *samples[2];
  byoc_error_measurer_t measurer;
  byoc_error_meter_t meter;
} fixture_t;

static void set_up(fixture_t *f, const float *first, const float *second) {
  byoc_diag_t diag = {0};
  *f = (fixture_t){.demo.packed_source = hanging_source, .inputs = {first, second}};
  demo_init(&f->demo);
  f->folder = byoc_test_folder();
  artifact = demo_output(f->folder);
  const byoc_compose_options_t options = {.output = artifact, .model_name = "demo", .cpu_features = ""};
  byoc_test_ok(byoc_compose_artifact(f->demo.program, &options, byoc_allocator_system(), &diag), &diag);
  byoc_test_ok(byoc_graph_parse("module { func @main(%x : f32[4]) -> (%y : f32[4]) {"
                                " %y = Relu@14(%x) : f32[4] return %y } }",
                                "test", byoc_allocator_system(), &diag, &f->module),
               &diag);
  for (int s = 0; s < 2; ++s) f->samples[s] = &f->inputs[s];
  f->measurer = (byoc_error_measurer_t){.build = build,
                                        .module = f->module,
                                        .allocator = byoc_allocator_system(),
                                        .thread_count = 1,
                                        .run_timeout_ms = 1500,
                                        .samples = {.inputs = f->samples, .count = 2}};
  f->meter = byoc_error_measurer_meter(&f->measurer);
  byoc_test_ok(f->meter.open(f->meter.self, apply, NULL, 0, &diag), &diag);
}

static void tear_down(fixture_t *f) {
  byoc_error_measurer_deinit(&f->measurer);
  demo_deinit(&f->demo);
  byoc_graph_module_destroy(f->module);
  (void)byoc_remove_tree(f->folder, NULL);
  free(artifact);
  free(f->folder);
}

static void a_plan_is_compared_on_all_samples(void **state) {
  (void)state;
  fixture_t f;
  byoc_diag_t diag = {0};
  double error = -1;
  set_up(&f, ordinary, ordinary);
  f.measurer.run_timeout_ms = 0; // as a build has it
  byoc_test_ok(f.meter.check(f.meter.self, apply, NULL, &diag, &error), &diag);
  assert_true(error == 0);
  assert_true(f.measurer.run_ns > 0);
  tear_down(&f);
}

// A model that does not end, on the first sample or on a later one: its error is not known, and nothing fails.
static void a_plan_whose_runs_take_too_long_has_no_known_error(void **state) {
  (void)state;
  for (int late = 0; late < 2; ++late) {
    fixture_t f;
    byoc_diag_t diag = {0};
    double error = -1;
    char log[2048] = "";
    set_up(&f, late == 0 ? endless : ordinary, endless);
    FILE *stream = fmemopen(log, sizeof(log), "w");
    assert_non_null(stream);
    byoc_log_set_level(BYOC_LOG_WARNING);
    byoc_log_set_stream(stream);
    byoc_test_ok(f.meter.check(f.meter.self, apply, NULL, &diag, &error), &diag);
    byoc_log_set_stream(NULL);
    byoc_log_set_level(BYOC_LOG_ERROR);
    (void)fclose(stream);
    assert_true(isnan(error));
    if (strstr(log, "it took longer than") == NULL) fail_msg("%s", log);
    tear_down(&f);
  }
}

// With a budget of 2000 seconds, a process may measure that long; without one, its runs count.
static void runs_may_take_their_budget_and_as_long_as_the_runs_before(void **state) {
  (void)state;
  byoc_error_measurer_t measurer = {0};
  assert_int_equal(byoc_error_timeout_ms(&measurer, 1, 0), 600000);
  assert_int_equal(byoc_error_timeout_ms(&measurer, 100, INT64_C(2000000000000)), 2600000);
  measurer.run_ns = INT64_C(1000000000);
  assert_int_equal(byoc_error_timeout_ms(&measurer, 200, 0), 600000 + 200 * 10000);
  measurer.run_timeout_ms = 700000;
  assert_int_equal(byoc_error_timeout_ms(&measurer, 1, 0), 710000);
  measurer.run_ns = INT64_MAX;
  assert_int_equal(byoc_error_timeout_ms(&measurer, SIZE_MAX, 0), UINT32_MAX);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_plan_is_compared_on_all_samples),
      cmocka_unit_test(a_plan_whose_runs_take_too_long_has_no_known_error),
      cmocka_unit_test(runs_may_take_their_budget_and_as_long_as_the_runs_before),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
