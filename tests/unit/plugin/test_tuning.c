// SPDX-License-Identifier: Apache-2.0
// Tuning by the backend cutlass, with a clock of our own: which candidates are measured or skipped, and which choices
// its cache tells apart.
#include "tests/support/support.h"

#include <stdlib.h>
#include <time.h>

#include "core/base/file.h"
#include "core/base/log.h"
#include "core/collage/place.h"
#include "core/compose/cc/compiler.h"
#include "core/ir/module_text.h"
#include "core/plugin/codegen.h"
#include "core/plugin/registry.h"
#include "tests/unit/plugin/plugin_support.h"

static int group_setup(void **state) {
  (void)state;
  return open_registry(BYOC_TEST_PLUGIN_DIR);
}

// ---- services ----

enum { TRIALS = 6, NOBODY = -1, EVERYBODY = -2 };

typedef struct fake_clock_t {
  int fastest; // candidate that takes 50 ns; the others take 100
  int broken;  // candidate that cannot be measured; NOBODY, EVERYBODY
  int measured;
  int delay_ms; // of each measurement
  char *cache;
  char tensors[64]; // bytes of each of the last request's: inputs > outputs
} fake_clock_t;

static byoc_status_t compile(void *self, const byoc_compile_request_t *requests, size_t count,
                             byoc_allocator_t allocator, byoc_diag_t *diag, byoc_bytes_t *out_objects) {
  (void)self;
  byoc_status_t status = BYOC_OK;
  for (size_t i = 0; i < count && status == BYOC_OK; ++i) {
    const byoc_compile_job_t job = {.name = requests[i].name,
                                    .source = requests[i].source,
                                    .preamble = requests[i].preamble,
                                    .compiler = requests[i].compiler,
                                    .flags = requests[i].flags.items,
                                    .flag_count = (size_t)requests[i].flags.count};
    void *object = NULL;
    status = byoc_compile(&job, allocator, diag, &object, &out_objects[i].size_bytes);
    out_objects[i].data = object;
  }
  return status;
}

static byoc_status_t measure(void *self, const byoc_measure_request_t *request, byoc_allocator_t allocator,
                             byoc_diag_t *diag, double *out_median_ns) {
  (void)allocator;
  fake_clock_t *clock = self;
  int candidate = clock->measured++;
  const struct timespec delay = {.tv_nsec = clock->delay_ms * 1000000L};
  nanosleep(&delay, NULL);
  const char *tensors = (const char *)request->tensors;
  size_t length = 0;
  for (uint32_t i = 0; i < request->input_count + request->output_count; ++i, tensors += request->tensor_stride) {
    const byoc_tensor_data_t *tensor = (const byoc_tensor_data_t *)(const void *)tensors;
    length += (size_t)snprintf(clock->tensors + length, sizeof(clock->tensors) - length, "%s%llu ",
                               i == request->input_count ? "> " : "", (unsigned long long)tensor->size_bytes);
    assert_true(length < sizeof(clock->tensors));
  }
  if (clock->broken == EVERYBODY || clock->broken == candidate) {
    return byoc_diag_error(diag, BYOC_TOOL, "it crashed");
  }
  *out_median_ns = candidate == clock->fastest ? 50 : 100;
  return BYOC_OK;
}

// ---- one build ----

static const char matmul[] = "module {\n"
                             "  constant @w : f32[%d,24] = splat 0.5\n"
                             "  func @main(%%x : f32[%s,%d]) -> (%%y : f32[%s,24]) {\n"
                             "    %%y = %s : f32[%s,24]\n"
                             "    return %%y\n"
                             "  }\n"
                             "}\n";

// Places and generates; the number of candidates that were measured.
static int generate(fake_clock_t *clock, const char *target, const char *text) {
  byoc_diag_t diag = {0};
  byoc_graph_module_t *module = NULL;
  byoc_target_list_t targets;
  byoc_placement_t placement;
  byoc_codegen_report_t report;
  byoc_allocator_t system = byoc_allocator_system();
  byoc_placement_init(&placement, system);
  byoc_codegen_report_init(&report, system);
  byoc_test_ok(byoc_graph_parse(text, "test", system, &diag, &module), &diag);
  byoc_test_ok(byoc_target_list_parse(&target, 1, &kinds, system, &diag, &targets), &diag);
  byoc_test_ok(byoc_place_greedy(module, &targets, &diag, &placement), &diag);
  const byoc_codegen_services_t services = {.self = clock,
                                            .compile = compile,
                                            .measure = measure,
                                            .cache_directory = clock->cache,
                                            .cpu_features = "avx avx2 fma bmi2"};
  clock->measured = 0;
  for (size_t i = 0; i < placement.regions.count; ++i) {
    byoc_test_ok(byoc_codegen_run(module, targets.targets.data[0], &placement.regions.data[i].function, 1, &services,
                                  &diag, &report),
                 &diag);
    assert_int_equal(report.results.data[i].answer, BYOC_CODEGEN_BOUND);
  }
  byoc_codegen_report_deinit(&report);
  byoc_placement_deinit(&placement);
  byoc_target_list_deinit(&targets);
  byoc_graph_module_destroy(module);
  return clock->measured;
}

static int generate_matmul(fake_clock_t *clock, const char *target, const char *rows, int depth, const char *node) {
  char text[512];
  snprintf(text, sizeof(text), matmul, depth, rows, depth, rows, node, rows);
  return generate(clock, target, text);
}

static int generate_default(fake_clock_t *clock) {
  return generate_matmul(clock, "cutlass -O=0 -mcpu=avx2 -tune_trials=6", "40", 32, "MatMul@13(%x, @w)");
}

static fake_clock_t make_clock(int fastest, int broken) {
  return (fake_clock_t){.fastest = fastest, .broken = broken, .cache = byoc_test_folder()};
}

// The cache entry (key and plan) as text; "" if there is none.
static void read_entry(const fake_clock_t *clock, byoc_string_t *out) {
  byoc_diag_t diag = {0};
  byoc_allocator_t system = byoc_allocator_system();
  char **folders = NULL, **names = NULL, *data = NULL;
  size_t folder_count = 0, count = 0, size = 0;
  byoc_string_clear(out);
  byoc_test_ok(byoc_list_directory(clock->cache, system, &diag, &folders, &folder_count), &diag);
  if (folder_count > 0) {
    assert_int_equal(folder_count, 1);
    assert_int_equal(strncmp(folders[0], "cutlass-", 8), 0); // plugin and version
    char *folder = byoc_path_join(system, clock->cache, folders[0]);
    byoc_test_ok(byoc_list_directory(folder, system, &diag, &names, &count), &diag);
    assert_int_equal(count, 1);
    char *path = byoc_path_join(system, folder, names[0]);
    byoc_test_ok(byoc_file_read(path, system, &diag, &data, &size), &diag);
    for (size_t i = 0; i < size; ++i) byoc_string_appendf(out, "%c", data[i] >= ' ' ? data[i] : '.');
    byoc_free(system, data);
    byoc_free(system, path);
    byoc_free(system, folder);
    byoc_free_names(system, names, count);
  }
  byoc_free_names(system, folders, folder_count);
}

static void end(fake_clock_t *clock) {
  byoc_test_ok(byoc_remove_tree(clock->cache, NULL), NULL);
  free(clock->cache);
}

// ---- tests ----

// A candidate that crashes or takes longer is not chosen; the next build measures nothing.
static void test_b32_broken_and_slow_candidates_are_skipped(void **state) {
  (void)state;
  byoc_string_t rule, third, other;
  byoc_string_init(&rule, byoc_allocator_system());
  byoc_string_init(&third, byoc_allocator_system());
  byoc_string_init(&other, byoc_allocator_system());
  fake_clock_t clock = make_clock(0, 4); // the rule's choice is the fastest; one candidate crashes
  assert_int_equal(generate_default(&clock), TRIALS);
  read_entry(&clock, &rule);
  assert_non_null(strstr(rule.data, "form="));
  assert_int_equal(generate_default(&clock), 0);
  end(&clock);

  clock = make_clock(3, 4);
  assert_int_equal(generate_default(&clock), TRIALS);
  read_entry(&clock, &third);
  assert_string_not_equal(strstr(third.data, "form="), strstr(rule.data, "form="));
  end(&clock);

  clock = make_clock(3, 3); // the fastest one would have crashed
  assert_int_equal(generate_default(&clock), TRIALS);
  read_entry(&clock, &other);
  assert_string_equal(strstr(other.data, "form="), strstr(rule.data, "form="));
  end(&clock);

  clock = make_clock(0, EVERYBODY); // the rule's choice stands, and does not count as measured
  assert_true(generate_default(&clock) > 0);
  read_entry(&clock, &other);
  assert_string_equal(other.data, "");
  assert_true(generate_default(&clock) > 0);
  end(&clock);
  byoc_string_deinit(&rule);
  byoc_string_deinit(&third);
  byoc_string_deinit(&other);
}

// Everything on which a choice depends leads to another entry.
static void test_b32_the_cache_key_is_complete(void **state) {
  (void)state;
  static const struct {
    const char *target, *rows;
    int depth;
    const char *node;
  } cases[] = {
      {"cutlass -O=0 -mcpu=avx2 -tune_trials=6", "41", 32, "MatMul@13(%x, @w)"},            // shape
      {"cutlass -O=0 -mcpu=avx2 -tune_trials=6", "40", 48, "MatMul@13(%x, @w)"},            // depth
      {"cutlass -O=0 -mcpu=avx2 -tune_trials=6", "40", 24, "Gemm@13(%x, @w) {transB = 1}"}, // layout
      {"cutlass -O=1 -mcpu=avx2 -tune_trials=6", "40", 32, "MatMul@13(%x, @w)"},            // options
      {"cutlass -O=0 -mcpu=portable -tune_trials=6", "40", 32, "MatMul@13(%x, @w)"},
      {"cutlass -O=0 -mcpu=avx2 -tune_trials=5", "40", 32, "MatMul@13(%x, @w)"},
      {"cutlass -O=0 -mcpu=avx2 -tune_trials=6 -max_threads=2", "40", 32, "MatMul@13(%x, @w)"},
      {"cutlass -O=0 -mcpu=avx2 -tune_trials=6 -tune_seconds=1000", "40", 32, "MatMul@13(%x, @w)"},
      {"cutlass -O=0 -mcpu=avx2 -tune_trials=6 -cc=gcc", "40", 32, "MatMul@13(%x, @w)"},
  };
  fake_clock_t clock = make_clock(0, NOBODY);
  byoc_string_t entry;
  byoc_string_init(&entry, byoc_allocator_system());
  assert_int_equal(generate_default(&clock), TRIALS);
  read_entry(&clock, &entry);
  const char *key = strstr(entry.data, "plan-"), *isa = key ? strstr(key, " isa=") : NULL;
  if (isa == NULL || isa - strchr(key, ' ') < 4) fail_msg("no machine in: %s", entry.data);
  for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); ++i) {
    if (generate_matmul(&clock, cases[i].target, cases[i].rows, cases[i].depth, cases[i].node) == 0) {
      fail_msg("case %zu was taken for another one", i);
    }
  }
  assert_int_equal(generate_default(&clock), 0);
  byoc_string_deinit(&entry);
  end(&clock);
}

// A function whose shape is known only at run time is not measured, because there is no size to measure it with.
static void test_b32_dynamic_shapes_get_a_default(void **state) {
  (void)state;
  fake_clock_t clock = make_clock(0, NOBODY);
  assert_int_equal(generate_matmul(&clock, "cutlass -O=0 -mcpu=avx2 -tune_trials=6", "N", 32, "MatMul@13(%x, @w)"), 0);
  end(&clock);
}

// Constants that are passed to the function are operands of the measured call.
static void test_constant_operands(void **state) {
  (void)state;
  static const struct {
    const char *text, *tensors;
  } cases[] = {
      {"module {\n"
       "  constant @a : f32[24,32] = splat 0.5\n"
       "  func @main(%x : f32[32,40]) -> (%y : f32[24,40]) {\n"
       "    %y = MatMul@13(@a, %x) : f32[24,40]\n"
       "    return %y\n"
       "  }\n"
       "}\n",
       "5120 3072 > 3840 "},
      {"module {\n"
       "  constant @m : f32[6,10] = splat 0.5\n"
       "  func @main(%q : f32[1,2,6,8], %k : f32[1,2,10,8], %v : f32[1,2,10,4]) -> (%y : f32[1,2,6,4]) {\n"
       "    %y = Attention@23(%q, %k, %v, @m) : f32[1,2,6,4]\n"
       "    return %y\n"
       "  }\n"
       "}\n",
       "384 640 320 240 > 192 "},
  };
  for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); ++i) {
    fake_clock_t clock = make_clock(0, NOBODY);
    assert_true(generate(&clock, "cutlass -O=0 -mcpu=avx2 -tune_trials=2", cases[i].text) > 0);
    assert_string_equal(clock.tensors, cases[i].tensors);
    end(&clock);
  }
}

// A shape may use a sixteenth of the seconds that are left, but the first candidates are measured in any case. Once the
// seconds are used up, nothing is measured.
static void test_seconds_end_the_measuring(void **state) {
  (void)state;
  enum { AT_ONCE = 4 }; // candidates that are compiled together
  const char *target = "cutlass -O=0 -mcpu=avx2 -tune_trials=6 -tune_seconds=1";
  fake_clock_t clock = make_clock(0, NOBODY);
  clock.delay_ms = 100;
  assert_int_equal(generate_matmul(&clock, target, "40", 32, "MatMul@13(%x, @w)"), AT_ONCE);
  assert_in_range(generate_matmul(&clock, target, "41", 32, "MatMul@13(%x, @w)"), 0, AT_ONCE);
  assert_in_range(generate_matmul(&clock, target, "42", 32, "MatMul@13(%x, @w)"), 0, AT_ONCE);
  assert_int_equal(generate_matmul(&clock, target, "43", 32, "MatMul@13(%x, @w)"), 0);
  end(&clock);
}

// However long the compiler's name is, another shape gets another entry.
static void test_long_compiler(void **state) {
  (void)state;
  fake_clock_t clock = make_clock(0, NOBODY);
  char target[512] = "cutlass -O=0 -mcpu=avx2 -tune_trials=2 -cc=/usr/bin";
  for (int i = 0; i < 120; ++i) strcat(target, "/.");
  strcat(target, "/gcc");
  assert_true(generate_matmul(&clock, target, "40", 32, "MatMul@13(%x, @w)") > 0);
  assert_true(generate_matmul(&clock, target, "41", 32, "MatMul@13(%x, @w)") > 0);
  assert_int_equal(generate_matmul(&clock, target, "40", 32, "MatMul@13(%x, @w)"), 0);
  end(&clock);
}

int main(void) {
  byoc_log_set_level(BYOC_LOG_ERROR);
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_seconds_end_the_measuring), // first: the seconds are those of all builds of the process
      cmocka_unit_test(test_b32_broken_and_slow_candidates_are_skipped),
      cmocka_unit_test(test_b32_the_cache_key_is_complete),
      cmocka_unit_test(test_b32_dynamic_shapes_get_a_default),
      cmocka_unit_test(test_constant_operands),
      cmocka_unit_test(test_long_compiler),
  };
  return cmocka_run_group_tests(tests, group_setup, close_registry);
}
