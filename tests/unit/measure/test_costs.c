// SPDX-License-Identifier: Apache-2.0
// Measured costs: what a sound candidate gets, and that one that goes wrong affects only itself.
#include "tests/support/support.h"

#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/child.h"
#include "core/base/file.h"
#include "core/base/log.h"
#include "core/base/string.h"
#include "core/compile/candidates.h"
#include "core/ir/module_text.h"
#include "core/measure/compare.h"
#include "core/measure/costs.h"
#include "core/measure/regions.h"
#include "core/plugin/registry.h"

static const char graph_text[] =
    "module {opset_import. = 17} {\n"
    "  constant @w : f32[64,64] = splat 0.03125\n"
    "  constant @big : f32[256,512] = splat 0.03125\n"
    "  constant @two_mib : f32[512,1024] = splat 0.03125\n"
    "  constant @three : f32[1] = splat 3.25\n"
    "  func @main(%x : f32[4,64]) -> (%y : f32[4,64]) {\n"
    "    %0 = call @relu(%x) : f32[4,64]\n"
    "    %y = call @product(%0) : f32[4,64]\n"
    "    return %y\n"
    "  }\n"
    "  func @relu(%a : f32[4,64]) -> (%b : f32[4,64]) {\n"
    "    %b = Relu@14(%a) : f32[4,64]\n"
    "    return %b\n"
    "  }\n"
    "  func @scaled(%a : f32[4,64]) -> (%b : f32[4,64]) {\n"
    "    %b = Mul@14(%a, @three) : f32[4,64]\n"
    "    return %b\n"
    "  }\n"
    "  func @negate(%a : f32[4,64]) -> (%b : f32[4,64]) {\n"
    "    %b = Neg@13(%a) : f32[4,64]\n"
    "    return %b\n"
    "  }\n"
    "  func @long(%a : f32[4,640]) -> (%b : f32[4,640]) {\n"
    "    %b = Relu@14(%a) : f32[4,640]\n"
    "    return %b\n"
    "  }\n"
    "  func @two(%a : f32[4,64], %b : f32[4,64]) -> (%c : f32[4,64], %d : f32[4,64]) {\n"
    "    %c = Add@14(%a, %b) : f32[4,64]\n"
    "    %d = Sub@14(%a, %b) : f32[4,64]\n"
    "    return %c, %d\n"
    "  }\n"
    "  func @same(%p : f32[4,64]) -> (%q : f32[4,64]) attributes {Compiler = \"faulty\", Target = 3} {\n"
    "    %q = Relu@14(%p) : f32[4,64]\n"
    "    return %q\n"
    "  }\n"
    "  func @product(%a : f32[4,64]) -> (%b : f32[4,64]) {\n"
    "    %0 = MatMul@13(%a, @w) : f32[4,64]\n"
    "    %b = Relu@14(%0) : f32[4,64]\n"
    "    return %b\n"
    "  }\n"
    "  func @large(%a : f32[64,256]) -> (%b : f32[64,512]) {\n"
    "    %b = MatMul@13(%a, @big) : f32[64,512]\n"
    "    return %b\n"
    "  }\n"
    "  func @heavy(%a : f32[64,512]) -> (%b : f32[64,1024]) {\n"
    "    %b = MatMul@13(%a, @two_mib) : f32[64,1024]\n"
    "    return %b\n"
    "  }\n"
    "  func @symbolic(%a : f32[N,64]) -> (%b : f32[N,64]) {\n"
    "    %b = Relu@14(%a) : f32[N,64]\n"
    "    return %b\n"
    "  }\n"
    "}\n";

typedef struct fixture_t {
  byoc_plugin_registry_t *registry;
  byoc_target_list_t targets;
  byoc_graph_module_t *module;
  byoc_cost_database_t *database;
  byoc_cost_measurer_t *measurer;
  char *folder;
} fixture_t;

static void open_targets(fixture_t *fixture, const char *plugins, const char *targets) {
  byoc_diag_t diag = {0};
  byoc_allocator_t system = byoc_allocator_system();
  const byoc_plugin_options_t options = {.environment = plugins};
  byoc_test_ok(byoc_plugin_registry_create(&options, system, &diag, &fixture->registry), &diag);
  byoc_target_registry_t kinds = byoc_plugin_registry_targets(fixture->registry);
  byoc_test_ok(byoc_target_list_parse(&targets, 1, &kinds, system, &diag, &fixture->targets), &diag);
}

static void open_measurer(fixture_t *fixture, const char *targets) {
  byoc_diag_t diag = {0};
  byoc_allocator_t system = byoc_allocator_system();
  *fixture = (fixture_t){0};
  fixture->folder = byoc_test_folder();
  open_targets(fixture, BYOC_TEST_BUILD_DIR "/tests/plugins/good:" BYOC_TEST_PLUGIN_DIR, targets);
  byoc_test_ok(byoc_graph_parse(graph_text, "test", system, &diag, &fixture->module), &diag);
  char *path = byoc_path_join(system, fixture->folder, "costs.sqlite");
  byoc_test_ok(byoc_cost_database_open(path, system, &diag, &fixture->database), &diag);
  free(path);
  const byoc_cost_measure_options_t measure = {.build = byoc_build_candidates,
                                               .targets = &fixture->targets,
                                               .database = fixture->database,
                                               .build_timeout_ms = 60000,
                                               .run_timeout_ms = 2000,
                                               .memory_limit_bytes = (uint64_t)4 << 30};
  byoc_test_ok(byoc_cost_measurer_create(&measure, system, &diag, &fixture->measurer), &diag);
}

static void close_measurer(fixture_t *fixture) {
  byoc_cost_measurer_destroy(fixture->measurer);
  byoc_cost_database_close(fixture->database);
  byoc_graph_module_destroy(fixture->module);
  byoc_target_list_deinit(&fixture->targets);
  byoc_plugin_registry_destroy(fixture->registry);
  (void)byoc_remove_tree(fixture->folder, NULL);
  free(fixture->folder);
}

static double price(fixture_t *fixture, const char *function, size_t target, const char **out_reason) {
  byoc_function_pricer_t pricer = byoc_cost_measurer_pricer(fixture->measurer);
  byoc_diag_t diag = {0};
  double ns = -1;
  const char *reason = NULL;
  byoc_test_ok(pricer.price(pricer.self, byoc_graph_module_find(fixture->module, function),
                            fixture->targets.targets.data[target], &diag, &ns, &reason),
               &diag);
  if (isfinite(ns)) assert_null(reason);
  if (out_reason != NULL) *out_reason = reason;
  return ns;
}

static void assert_measured(double ns) {
  assert_true(ns > 0);
  assert_true(ns < 1e8);
}

static void test_c4_c5_sound_candidates_are_measured_once(void **state) {
  (void)state;
  fixture_t fixture;
  open_measurer(&fixture, "faulty; cutlass; c -O=2");
  byoc_string_t before, after;
  byoc_string_init(&before, byoc_allocator_system());
  byoc_string_init(&after, byoc_allocator_system());
  byoc_graph_print(fixture.module, NULL, &before);
  double first = price(&fixture, "relu", 0, NULL);
  assert_measured(first);
  assert_measured(price(&fixture, "relu", 2, NULL));
  assert_measured(price(&fixture, "product", 1, NULL));
  assert_measured(price(&fixture, "product", 2, NULL));
  assert_measured(price(&fixture, "large", 1, NULL));
  assert_measured(price(&fixture, "large", 2, NULL));
  assert_int_equal(byoc_cost_measurer_statistics(fixture.measurer).measured, 6);
  // C5: an equal function is not measured again, whatever it is called and marked.
  double again = price(&fixture, "same", 0, NULL);
  assert_true(again == first);
  assert_true(price(&fixture, "relu", 0, NULL) == first);
  assert_int_equal(byoc_cost_measurer_statistics(fixture.measurer).measured, 6);
  assert_int_equal(byoc_cost_measurer_statistics(fixture.measurer).hits, 2);
  // A shape that is not known is estimated.
  assert_measured(price(&fixture, "symbolic", 0, NULL));
  assert_int_equal(byoc_cost_measurer_statistics(fixture.measurer).estimated, 1);
  byoc_graph_print(fixture.module, NULL, &after);
  byoc_test_same_text(after.data, before.data);
  byoc_string_deinit(&before);
  byoc_string_deinit(&after);
  close_measurer(&fixture);
}

static double size_of(const fixture_t *fixture, size_t target) {
  byoc_function_pricer_t pricer = byoc_cost_measurer_pricer(fixture->measurer);
  return pricer.size_mib(pricer.self, fixture->targets.targets.data[target]);
}

// A constant of 96 MiB that nothing in the function reads, as passes leave some: it is not in the artifact either.
static void add_idle_constant(byoc_graph_module_t *module, const char *function) {
  const byoc_dim_t dims[] = {byoc_dim_constant(96), byoc_dim_constant(1 << 20)};
  const byoc_type_t *type = byoc_type_tensor(&module->arena, BYOC_DTYPE_U8, 2, dims);
  void *zeros = calloc(96, 1 << 20);
  assert_non_null(zeros);
  byoc_constant_t *idle = byoc_constant_create(module, "idle", type, zeros);
  free(zeros);
  assert_non_null(idle);
  assert_non_null(byoc_function_constant(byoc_graph_module_find(module, function), idle));
}

// A library that travels along counts as soon as one part was measured, and in later builds; weights (2 MiB here),
// those that nothing reads, and kernels do not.
static void test_a_library_that_travels_along_counts_once(void **state) {
  (void)state;
  fixture_t fixture;
  open_measurer(&fixture, "cutlass; dnnl; c");
  add_idle_constant(fixture.module, "heavy");
  assert_true(isnan(size_of(&fixture, 0)) && isnan(size_of(&fixture, 1)));
  assert_measured(price(&fixture, "heavy", 0, NULL));
  const char *reason = NULL;
  if (!isfinite(price(&fixture, "heavy", 1, &reason))) fail_msg("dnnl: %s", reason);
  const double mib = size_of(&fixture, 1);
  assert_true(size_of(&fixture, 0) == 0);
  assert_true(mib >= 8 && mib < 80 && mib == floor(mib));
  byoc_cost_measurer_t *first = fixture.measurer;
  const byoc_cost_measure_options_t measure = {
      .build = byoc_build_candidates, .targets = &fixture.targets, .database = fixture.database};
  byoc_diag_t diag = {0};
  byoc_test_ok(byoc_cost_measurer_create(&measure, byoc_allocator_system(), &diag, &fixture.measurer), &diag);
  assert_true(size_of(&fixture, 1) == mib);
  byoc_cost_measurer_destroy(first);
  close_measurer(&fixture);
}

// All of these at once.
static void price_all(fixture_t *fixture, byoc_price_request_t *requests, const char *const *functions, size_t count,
                      size_t target) {
  byoc_function_pricer_t pricer = byoc_cost_measurer_pricer(fixture->measurer);
  byoc_diag_t diag = {0};
  for (size_t i = 0; i < count; ++i) {
    requests[i] = (byoc_price_request_t){.function = byoc_graph_module_find(fixture->module, functions[i]),
                                         .target = fixture->targets.targets.data[target]};
  }
  byoc_test_ok(pricer.price_all(pricer.self, requests, count, &diag), &diag);
}

typedef struct expectation_t {
  const char *fault, *reason;
  bool is_forgotten; // it may lie with the machine
} expectation_t;

// C4: a crash, a hang, a wrong number, a lie about memory, at run time or while generating, cost infinity with the
// reason; the native target goes on as if nothing had happened, and the answer is remembered where the candidate itself
// is the reason.
static void test_c4_faults_cost_infinity(void **state) {
  (void)state;
  static const expectation_t expectations[] = {
      {"wrong", "wrong result: element"},
      {"one", "wrong result: element 3 of output0"},
      {"nan", "wrong result: element"},
      {"crash", "it crashed (signal 11"},
      {"hang", "it took longer than 2000 ms"},
      {"exit", "the process ended without an answer"},
      {"status", "the moon is full"},
#ifndef BYOC_SANITIZED // whose allocator ends the process, and which has no limit
      {"memory", "no memory", true},
#endif
      {"source", "it cannot be built: ", true},
      {"decline", "it cannot be built: the backend declined it: not in the mood"},
      {"generate_crash", "it cannot be built: it crashed (signal 6"},
  };
  for (size_t i = 0; i < sizeof(expectations) / sizeof(expectations[0]); ++i) {
    char target[64];
    snprintf(target, sizeof(target), "faulty -fault=%s; c -O=1", expectations[i].fault);
    fixture_t fixture;
    open_measurer(&fixture, target);
    const char *reason = NULL;
    double ns = price(&fixture, "relu", 0, &reason);
    if (!isinf(ns) || reason == NULL || strstr(reason, expectations[i].reason) == NULL) {
      fail_msg("%s: %g ns, '%s'", expectations[i].fault, ns, reason != NULL ? reason : "no reason");
    }
    assert_measured(price(&fixture, "relu", 1, NULL));
    assert_true(isinf(price(&fixture, "relu", 0, &reason)));
    assert_non_null(strstr(reason, expectations[i].reason));
    byoc_cost_statistics_t statistics = byoc_cost_measurer_statistics(fixture.measurer);
    bool is_forgotten = expectations[i].is_forgotten;
    assert_int_equal(statistics.measured, is_forgotten ? 3 : 2);
    assert_int_equal(statistics.unusable, is_forgotten ? 2 : 1);
    assert_int_equal(statistics.hits, is_forgotten ? 0 : 1);
    // What a backend gives back is not a failure: a flag says so, whether measured or from the database.
    byoc_price_request_t request;
    static const char *const relu[] = {"relu"};
    price_all(&fixture, &request, relu, 1, 0);
    assert_int_equal(request.is_fallback, strcmp(expectations[i].fault, "decline") == 0);
    close_measurer(&fixture);
  }
}

// One that goes wrong among several affects only itself, with the reason that it has when it is alone.
static void test_c4_one_fault_of_several_stays_alone(void **state) {
  (void)state;
  static const char *const functions[] = {"relu", "negate", "long"};
  static const expectation_t expectations[] = {
      {"none", NULL},
      {"wrong", "wrong result: element"},
      {"crash", "it crashed (signal 11"},
      {"hang", "it took longer than 2000 ms"},
      {"exit", "the process ended without an answer"},
      {"status", "the moon is full"},
      {"source", "it cannot be built: ", true},
      {"decline", "it cannot be built: the backend declined it: not in the mood"},
      {"generate_crash", "it cannot be built: it crashed (signal 6"},
  };
  for (size_t i = 0; i < sizeof(expectations) / sizeof(expectations[0]); ++i) {
    char target[64];
    snprintf(target, sizeof(target), "faulty -fault=%s -only=Neg; c -O=1", expectations[i].fault);
    fixture_t fixture;
    open_measurer(&fixture, target);
    byoc_price_request_t requests[3];
    price_all(&fixture, requests, functions, 3, 0);
    assert_measured(requests[0].cost_ns);
    assert_measured(requests[2].cost_ns);
    if (expectations[i].reason == NULL) {
      assert_measured(requests[1].cost_ns);
    } else if (!isinf(requests[1].cost_ns) || strstr(requests[1].reason, expectations[i].reason) == NULL) {
      fail_msg("%s: %g ns, '%s'", expectations[i].fault, requests[1].cost_ns, requests[1].reason);
    }
    assert_int_equal(byoc_cost_measurer_statistics(fixture.measurer).measured, 3);
    // Each has its own record.
    assert_true(price(&fixture, "relu", 0, NULL) == requests[0].cost_ns);
    assert_true(price(&fixture, "negate", 0, NULL) == requests[1].cost_ns);
    assert_int_equal(byoc_cost_measurer_statistics(fixture.measurer).measured, expectations[i].is_forgotten ? 4 : 3);
    close_measurer(&fixture);
  }
}

static void renew_measurer(fixture_t *fixture) {
  byoc_cost_measurer_destroy(fixture->measurer);
  const byoc_cost_measure_options_t options = {
      .build = byoc_build_candidates, .targets = &fixture->targets, .database = fixture->database};
  byoc_diag_t diag = {0};
  byoc_test_ok(byoc_cost_measurer_create(&options, byoc_allocator_system(), &diag, &fixture->measurer), &diag);
}

// A compiler that is killed, as by the system when memory runs out, says nothing about candidates. The
// native target is never without a cost, and the next build measures everything.
static void test_a_killed_compiler_is_forgotten(void **state) {
  (void)state;
  static const char script[] =
      "#!/bin/sh\ncase \" $* \" in *\" -c \"*) echo 'fatal error: Killed signal terminated program cc1' >&2; exit 1;; "
      "esac\nPATH=$OLD_PATH exec cc \"$@\"\n";
  fixture_t fixture;
  byoc_diag_t diag = {0};
  open_measurer(&fixture, "cutlass; c -O=1");
  char *path = byoc_path_join(byoc_allocator_system(), fixture.folder, "cc"), *old = strdup(getenv("PATH"));
  char *cache = strdup(getenv("BYOC_CACHE_DIR") != NULL ? getenv("BYOC_CACHE_DIR") : "");
  byoc_test_ok(byoc_file_write(path, script, strlen(script), &diag), &diag);
  assert_int_equal(chmod(path, 0700), 0);
  setenv("OLD_PATH", old, 1);
  setenv("PATH", fixture.folder, 1);
  setenv("BYOC_CACHE_DIR", fixture.folder, 1); // without objects of earlier runs
  renew_measurer(&fixture);
  const char *reason = NULL;
  assert_true(isinf(price(&fixture, "product", 0, &reason)));
  assert_non_null(strstr(reason, "it cannot be built: "));
  assert_measured(price(&fixture, "product", 1, NULL));
  assert_measured(price(&fixture, "relu", 1, NULL));
  setenv("PATH", old, 1);
  renew_measurer(&fixture);
  assert_measured(price(&fixture, "product", 0, NULL));
  assert_measured(price(&fixture, "product", 1, NULL));
  assert_int_equal(byoc_cost_measurer_statistics(fixture.measurer).hits, 0);
  assert_int_equal(byoc_cost_measurer_statistics(fixture.measurer).measured, 2);
  if (cache[0] != '\0') setenv("BYOC_CACHE_DIR", cache, 1);
  if (cache[0] == '\0') unsetenv("BYOC_CACHE_DIR");
  free(cache);
  free(path);
  free(old);
  close_measurer(&fixture);
}

// Wherever a compiler gets a constant wrong, the native target's code is wrong too: that is no price on any target, and
// it is not remembered.
static void test_a_wrong_native_candidate_has_no_price(void **state) {
  (void)state;
  static const char script[] = "#!/bin/sh\ncase \" $* \" in\n*\" --version \"*) echo wrong-cc 1; exit 0;;\n"
                               "*\" source.c \"*) sed -i 's/\\* 3\\.25f/* 3.5f/g' source.c;;\nesac\nexec cc \"$@\"\n";
  char target[4096];
  fixture_t fixture;
  byoc_diag_t diag = {0};
  char *folder = byoc_test_folder(), *path = byoc_path_join(byoc_allocator_system(), folder, "cc");
  byoc_test_ok(byoc_file_write(path, script, strlen(script), &diag), &diag);
  assert_int_equal(chmod(path, 0700), 0);
  snprintf(target, sizeof(target), "cblas; c -cc=%s", path);
  open_measurer(&fixture, target);
  for (int i = 0; i < 2; ++i) {
    byoc_price_request_t requests[2];
    static const char *const functions[] = {"scaled", "relu"};
    price_all(&fixture, requests, functions, 2, 1);
    assert_true(isinf(requests[0].cost_ns));
    assert_true(requests[0].is_wrong);
    assert_non_null(strstr(requests[0].reason, "wrong result: element"));
    assert_measured(requests[1].cost_ns);
    assert_false(requests[1].is_wrong);
    assert_int_equal(byoc_cost_measurer_statistics(fixture.measurer).estimated, 0);
    assert_int_equal(byoc_cost_measurer_statistics(fixture.measurer).measured, 2 + i);
  }
  free(path);
  (void)byoc_remove_tree(folder, NULL);
  free(folder);
  close_measurer(&fixture);
}

// Code that loses NaN is wrong; so is code that makes numbers of it only there.
static void test_candidates_are_compared_on_nan_and_infinities(void **state) {
  (void)state;
  fixture_t fixture;
  open_measurer(&fixture, "faulty -fault=loses_nan; c -O=1");
  const char *reason = NULL;
  assert_true(isinf(price(&fixture, "relu", 0, &reason)));
  assert_non_null(strstr(reason, "on NaN and infinities"));
  assert_measured(price(&fixture, "relu", 1, NULL));
  close_measurer(&fixture);
}

// What was seen only once is not remembered; nor is a failure in a process with limits of its own.
static void test_a_failure_seen_once_is_forgotten(void **state) {
  (void)state;
  fixture_t fixture;
  open_measurer(&fixture, "faulty -fault=once; c -O=1");
  char *path = byoc_path_join(byoc_allocator_system(), fixture.folder, "once");
  setenv("BYOC_TEST_ONCE", path, 1);
  const char *reason = NULL;
  assert_true(isinf(price(&fixture, "relu", 0, &reason)));
  assert_non_null(strstr(reason, "it crashed (signal 11"));
  assert_measured(price(&fixture, "relu", 0, NULL));
  assert_int_equal(byoc_cost_measurer_statistics(fixture.measurer).hits, 0);
  free(path);
  close_measurer(&fixture);
}

// What crashed once among several must work alone twice before it is used.
static void test_code_that_fails_alone_twice_is_not_used(void **state) {
  (void)state;
  static const char *const functions[] = {"relu", "negate", "long"}, *const faults[] = {"once", "odd"};
  for (size_t i = 0; i < 2; ++i) {
    char target[64];
    snprintf(target, sizeof(target), "faulty -fault=%s -only=Neg; c -O=1", faults[i]);
    fixture_t fixture;
    open_measurer(&fixture, target);
    char *path = byoc_path_join(byoc_allocator_system(), fixture.folder, faults[i]);
    setenv("BYOC_TEST_ONCE", path, 1);
    byoc_price_request_t requests[3];
    price_all(&fixture, requests, functions, 3, 0);
    assert_measured(requests[0].cost_ns);
    assert_measured(requests[2].cost_ns);
    if (i == 0) assert_measured(requests[1].cost_ns);
    if (i == 1) assert_true(isinf(requests[1].cost_ns));
    if (i == 1) assert_non_null(strstr(requests[1].reason, "it crashed (signal 11"));
    free(path);
    close_measurer(&fixture);
  }
}

// What fails twice, among several and then alone, is remembered, although it might work the third time.
static void test_seen_twice_is_remembered(void **state) {
  (void)state;
  static const char *const functions[] = {"relu", "negate", "long"};
  fixture_t fixture;
  open_measurer(&fixture, "faulty -fault=twice -only=Neg; c -O=1");
  char *path = byoc_path_join(byoc_allocator_system(), fixture.folder, "twice");
  setenv("BYOC_TEST_ONCE", path, 1);
  byoc_price_request_t requests[3];
  price_all(&fixture, requests, functions, 3, 0);
  assert_measured(requests[0].cost_ns);
  assert_true(isinf(requests[1].cost_ns));
  assert_non_null(strstr(requests[1].reason, "it crashed (signal 11"));
  assert_measured(requests[2].cost_ns);
  assert_true(isinf(price(&fixture, "negate", 0, NULL)));
  assert_int_equal(byoc_cost_measurer_statistics(fixture.measurer).measured, 3);
  assert_int_equal(byoc_cost_measurer_statistics(fixture.measurer).hits, 1);
  free(path);
  close_measurer(&fixture);
}

static size_t count_artifacts(const fixture_t *fixture) {
  char pattern[4096];
  snprintf(pattern, sizeof(pattern), "%s/byoc-costs*/*.so", fixture->folder);
  glob_t found;
  size_t count = glob(pattern, 0, NULL, &found) == 0 ? found.gl_pathc : 0;
  globfree(&found);
  return count;
}

// An artifact stays as long as others may be compared with it, and is removed where it never will be.
static void test_the_fastest_artifacts_are_kept(void **state) {
  (void)state;
  fixture_t fixture;
  open_measurer(&fixture, "faulty; faulty -fault=slow; faulty -fault=wrong");
  char *old = getenv("TMPDIR") != NULL ? strdup(getenv("TMPDIR")) : NULL;
  setenv("TMPDIR", fixture.folder, 1);
  renew_measurer(&fixture);
  assert_int_equal(count_artifacts(&fixture), 0);
  assert_measured(price(&fixture, "relu", 0, NULL));
  const size_t kept = count_artifacts(&fixture);
  assert_measured(price(&fixture, "relu", 1, NULL)); // much slower
  assert_int_equal(count_artifacts(&fixture), kept);
  assert_true(isinf(price(&fixture, "relu", 2, NULL)));
  assert_int_equal(count_artifacts(&fixture), kept);
  assert_measured(price(&fixture, "negate", 0, NULL));
  assert_int_equal(count_artifacts(&fixture), kept + 1);
  if (old != NULL) setenv("TMPDIR", old, 1);
  if (old == NULL) unsetenv("TMPDIR");
  free(old);
  close_measurer(&fixture);
}

// A plugin that was rebuilt is another one, although its name and version are the same.
static void test_a_rebuilt_plugin_is_measured_again(void **state) {
  (void)state;
  static const char plugin[] = BYOC_TEST_BUILD_DIR "/tests/plugins/good/demo_faulty.so";
  static const char *const targets[] = {"faulty; c -O=1", "faulty -fault=crash; c -O=1"};
  for (size_t i = 0; i < 2; ++i) {
    fixture_t fixture;
    byoc_diag_t diag = {0};
    open_measurer(&fixture, targets[i]);
    double before = price(&fixture, "relu", 0, NULL);
    assert_true(isinf(before) == (i == 1));
    char *path = byoc_path_join(byoc_allocator_system(), fixture.folder, "demo_faulty.so"), *image = NULL;
    size_t size = 0;
    byoc_test_ok(byoc_file_read(plugin, byoc_allocator_system(), &diag, &image, &size), &diag);
    byoc_test_ok(byoc_file_write(path, image, size + 1, &diag), &diag); // its NUL too
    byoc_cost_measurer_destroy(fixture.measurer);
    fixture.measurer = NULL;
    byoc_target_list_deinit(&fixture.targets);
    byoc_plugin_registry_destroy(fixture.registry);
    open_targets(&fixture, fixture.folder, targets[i]);
    renew_measurer(&fixture);
    assert_true(isinf(price(&fixture, "relu", 0, NULL)) == (i == 1));
    assert_int_equal(byoc_cost_measurer_statistics(fixture.measurer).hits, 0);
    assert_int_equal(byoc_cost_measurer_statistics(fixture.measurer).measured, 1);
    free(path);
    free(image);
    close_measurer(&fixture);
  }
}

static void test_nothing_bad_is_remembered_under_limits(void **state) {
  (void)state;
  fixture_t fixture;
  open_measurer(&fixture, "faulty -fault=crash; c -O=1");
  struct rlimit old;
  assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
  const struct rlimit limit = {.rlim_cur = (rlim_t)1 << 40, .rlim_max = old.rlim_max};
  assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
  renew_measurer(&fixture);
  assert_true(isinf(price(&fixture, "relu", 0, NULL)));
  assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
  renew_measurer(&fixture);
  assert_true(isinf(price(&fixture, "relu", 0, NULL)));
  assert_int_equal(byoc_cost_measurer_statistics(fixture.measurer).hits, 0);
  assert_true(isinf(price(&fixture, "relu", 0, NULL)));
  assert_int_equal(byoc_cost_measurer_statistics(fixture.measurer).hits, 1);
  close_measurer(&fixture);
}

// Several inputs, several outputs, constants, kernels of one and of two steps: each is checked against its own results.
static void test_c4_candidates_of_all_shapes_are_checked(void **state) {
  (void)state;
  static const char *const functions[] = {"two", "product", "relu", "large", "long", "symbolic", "negate"};
  fixture_t fixture;
  open_measurer(&fixture, "cutlass; c -O=1");
  byoc_price_request_t requests[7];
  price_all(&fixture, requests, functions, 7, 1);
  for (size_t i = 0; i < 7; ++i) assert_measured(requests[i].cost_ns);
  price_all(&fixture, requests, functions + 1, 1, 0);
  assert_measured(requests[0].cost_ns);
  byoc_cost_statistics_t statistics = byoc_cost_measurer_statistics(fixture.measurer);
  assert_int_equal(statistics.measured, 7);
  assert_int_equal(statistics.estimated, 1);
  assert_int_equal(statistics.unusable, 0);
  close_measurer(&fixture);
}

// A price belongs to a model of a size: what the caches keep from call to call depends on it.
static void test_c5_a_price_belongs_to_a_size(void **state) {
  (void)state;
  fixture_t fixture;
  open_measurer(&fixture, "cutlass; c -O=1");
  const uint64_t sizes[] = {1000, 20u << 20, 17u << 20, 900u << 20};
  const uint64_t measured[] = {1, 1, 0, 1}; // the third is as good as the second
  for (size_t i = 0; i < 4; ++i) {
    byoc_cost_measurer_destroy(fixture.measurer);
    const byoc_cost_measure_options_t options = {.build = byoc_build_candidates,
                                                 .targets = &fixture.targets,
                                                 .database = fixture.database,
                                                 .model_bytes = sizes[i]};
    byoc_diag_t diag = {0};
    byoc_test_ok(byoc_cost_measurer_create(&options, byoc_allocator_system(), &diag, &fixture.measurer), &diag);
    assert_measured(price(&fixture, "relu", 1, NULL));
    assert_int_equal(byoc_cost_measurer_statistics(fixture.measurer).measured, measured[i]);
  }
  close_measurer(&fixture);
}

static void test_c4_a_hook_that_hangs_is_ended(void **state) {
  (void)state;
  fixture_t fixture;
  open_measurer(&fixture, "faulty -fault=generate_hang; c");
  byoc_cost_measurer_destroy(fixture.measurer);
  const byoc_cost_measure_options_t options = {.build = byoc_build_candidates,
                                               .targets = &fixture.targets,
                                               .database = fixture.database,
                                               .build_timeout_ms = 500};
  byoc_diag_t diag = {0};
  byoc_test_ok(byoc_cost_measurer_create(&options, byoc_allocator_system(), &diag, &fixture.measurer), &diag);
  const char *reason = NULL;
  assert_true(isinf(price(&fixture, "relu", 0, &reason)));
  assert_non_null(strstr(reason, "it took longer than 500 ms"));
  close_measurer(&fixture);
}

static void test_c4_slow_costs_more(void **state) {
  (void)state;
  fixture_t fixture;
  open_measurer(&fixture, "faulty -fault=slow; faulty; c");
  double slow = price(&fixture, "relu", 0, NULL), fast = price(&fixture, "relu", 1, NULL);
  assert_true(slow > 5 * fast);
  close_measurer(&fixture);
}

static void test_comparison(void **state) {
  (void)state;
  const float expected[] = {1, -2, 0, NAN, INFINITY}, near[] = {1.0005f, -2, 1e-4f, NAN, INFINITY};
  float off[] = {1, -2, 0, NAN, INFINITY};
  byoc_diag_t diag = {0};
  byoc_test_ok(byoc_cost_check(BYOC_DTYPE_F32, expected, near, 5, "y", &diag), &diag);
  off[4] = -INFINITY;
  byoc_test_error(byoc_cost_check(BYOC_DTYPE_F32, expected, off, 5, "y", &diag), BYOC_MISMATCH, &diag,
                  "element 4 of y");
  diag = (byoc_diag_t){0};
  off[4] = INFINITY, off[2] = NAN;
  byoc_test_error(byoc_cost_check(BYOC_DTYPE_F32, expected, off, 5, "y", &diag), BYOC_MISMATCH, &diag,
                  "element 2 of y");
  diag = (byoc_diag_t){0};
  const int64_t long_expected[] = {1, INT64_MAX}, long_off[] = {1, INT64_MAX - 1};
  byoc_test_error(byoc_cost_check(BYOC_DTYPE_I64, long_expected, long_off, 2, "y", &diag), BYOC_MISMATCH, &diag, "");
  diag = (byoc_diag_t){0};
  const int8_t byte_expected[] = {1, 127}, byte_near[] = {2, 126};
  byoc_test_ok(byoc_cost_check(BYOC_DTYPE_I8, byte_expected, byte_near, 2, "y", &diag), &diag);
  const uint16_t word_expected[] = {0, 65535}, word_near[] = {16, 65519}, word_off[] = {0, 65518};
  byoc_test_ok(byoc_cost_check(BYOC_DTYPE_U16, word_expected, word_near, 2, "y", &diag), &diag);
  byoc_diag_t word_diag = {0};
  byoc_test_error(byoc_cost_check(BYOC_DTYPE_U16, word_expected, word_off, 2, "y", &word_diag), BYOC_MISMATCH,
                  &word_diag, "wrong result: element 1 of y is 65518, not 65535");
  // A target may state an error of its own.
  const float rough[] = {1.05f, -2, 0.01f, NAN, INFINITY};
  byoc_test_error(byoc_cost_check(BYOC_DTYPE_F32, expected, rough, 5, "y", &diag), BYOC_MISMATCH, &diag,
                  "element 0 of y");
  diag = (byoc_diag_t){0};
  byoc_test_ok(byoc_cost_check_within(0.1, BYOC_DTYPE_F32, expected, rough, 5, "y", &diag), &diag);
  byoc_test_error(byoc_cost_check_within(0.01, BYOC_DTYPE_F32, expected, rough, 5, "y", &diag), BYOC_MISMATCH, &diag,
                  "element 0 of y");
}

// Is an artifact made of a function for this target?
static bool is_composed(fixture_t *fixture, const char *function, size_t target) {
  char *output = byoc_path_join(byoc_allocator_system(), fixture->folder, "candidate.so");
  const byoc_cost_build_t request = {.functions = {byoc_graph_module_find(fixture->module, function)},
                                     .count = 1,
                                     .target = fixture->targets.targets.data[target],
                                     .native = fixture->targets.targets.data[fixture->targets.targets.count - 1],
                                     .thread_count = 1,
                                     .folder = fixture->folder,
                                     .output = output};
  byoc_cost_build_answer_t answer;
  byoc_diag_t diag = {0};
  const byoc_child_limits_t limits = {.timeout_ms = 60000};
  byoc_test_ok(
      byoc_child_run(&limits, byoc_build_candidates, (void *)(uintptr_t)&request, &answer, sizeof(answer), &diag),
      &diag);
  if (answer.status != BYOC_OK) fail_msg("%s", answer.message);
  const bool is_there = byoc_file_exists(output);
  assert_int_equal(answer.partitions[0].is_fallback, !is_there);
  free(output);
  return is_there;
}

// A region that its backend gives back would be computed by target c: to compile and to time that would be for nothing.
static void test_nothing_is_made_of_what_is_given_back(void **state) {
  (void)state;
  static const char *const targets[] = {"faulty -fault=decline; c -O=1", "faulty; c -O=1"};
  for (size_t i = 0; i < 2; ++i) {
    fixture_t fixture;
    open_measurer(&fixture, targets[i]);
    assert_int_equal(is_composed(&fixture, "relu", 0), i == 1);
    close_measurer(&fixture);
  }
}

static double trial_ns(const char *body) {
  byoc_diag_t diag = {0};
  byoc_graph_module_t *module = NULL;
  char text[512];
  snprintf(text, sizeof(text),
           "module {\n  func @main(%%x : f32[512,512]) -> (%%y : f32[512,512]) {\n%s    return %%y\n  }\n}\n", body);
  byoc_test_ok(byoc_graph_parse(text, "test", byoc_allocator_system(), &diag, &module), &diag);
  const double ns = byoc_region_trial_ns(byoc_graph_module_main(module));
  byoc_graph_module_destroy(module);
  return ns;
}

// Of a region with one large product only windows are interpreted; with two, the first one is interpreted whole.
static void test_comparing_two_products_takes_longer(void **state) {
  (void)state;
  const double none_ns = trial_ns("    %y = Relu@14(%x) : f32[512,512]\n");
  const double one_ns = trial_ns("    %y = MatMul@13(%x, %x) : f32[512,512]\n");
  const double two_ns =
      trial_ns("    %0 = MatMul@13(%x, %x) : f32[512,512]\n    %y = MatMul@13(%0, %x) : f32[512,512]\n");
  assert_true(none_ns < one_ns && one_ns < 1e9 && two_ns > 1e9);
  assert_true(isinf(trial_ns("    %y = RandomUniformLike@1(%x) : f32[512,512]\n")));
}

// Whoever started this program may have limited it (tools/mutate limits its processor time). What fails under a limit
// is not remembered, which most tests here would take for an error.
static bool lift_limits(void) {
  static const int limits[] = {RLIMIT_AS, RLIMIT_DATA, RLIMIT_FSIZE, RLIMIT_CPU};
  for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); ++i) {
    struct rlimit limit;
    if (getrlimit(limits[i], &limit) != 0 || limit.rlim_max != RLIM_INFINITY) return false;
    limit.rlim_cur = limit.rlim_max;
    if (setrlimit(limits[i], &limit) != 0) return false;
  }
  return true;
}

int main(void) {
  byoc_log_set_level(BYOC_LOG_ERROR);
  if (!lift_limits()) {
    print_error("these tests need a process without limits for memory, files and processor time\n");
    return 1;
  }
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_comparison),
      cmocka_unit_test(test_nothing_is_made_of_what_is_given_back),
      cmocka_unit_test(test_comparing_two_products_takes_longer),
      cmocka_unit_test(test_c4_c5_sound_candidates_are_measured_once),
      cmocka_unit_test(test_a_library_that_travels_along_counts_once),
      cmocka_unit_test(test_c4_faults_cost_infinity),
      cmocka_unit_test(test_c4_a_hook_that_hangs_is_ended),
      cmocka_unit_test(test_c4_slow_costs_more),
      cmocka_unit_test(test_c4_one_fault_of_several_stays_alone),
      cmocka_unit_test(test_a_killed_compiler_is_forgotten),
      cmocka_unit_test(test_a_wrong_native_candidate_has_no_price),
      cmocka_unit_test(test_candidates_are_compared_on_nan_and_infinities),
      cmocka_unit_test(test_a_failure_seen_once_is_forgotten),
      cmocka_unit_test(test_code_that_fails_alone_twice_is_not_used),
      cmocka_unit_test(test_seen_twice_is_remembered),
      cmocka_unit_test(test_the_fastest_artifacts_are_kept),
      cmocka_unit_test(test_a_rebuilt_plugin_is_measured_again),
      cmocka_unit_test(test_nothing_bad_is_remembered_under_limits),
      cmocka_unit_test(test_c4_candidates_of_all_shapes_are_checked),
      cmocka_unit_test(test_c5_a_price_belongs_to_a_size),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
