// SPDX-License-Identifier: Apache-2.0
// Models of thousands of nodes: the time of a build grows with their number, not with its square, and what the host
// program is cut into runs as the whole would.
#include "tests/support/support.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "core/base/string.h"
#include "core/compile/build.h"
#include "core/compile/placing.h"
#include "core/ir/module_text.h"
#include "core/loader/loader.h"
#include "core/plugin/registry.h"

typedef struct fixture_t {
  byoc_plugin_registry_t *registry;
  byoc_target_list_t targets;
  byoc_placing_t placing;
  byoc_graph_module_t *module;
  byoc_build_t build;
} fixture_t;

static void open_build(fixture_t *f, const char *text, const char *targets, const char *plan) {
  byoc_diag_t diag = {0};
  byoc_allocator_t system = byoc_allocator_system();
  const byoc_plugin_options_t plugins = {.environment = BYOC_TEST_PLUGIN_DIR};
  *f = (fixture_t){.placing = {.plan = plan, .cost = BYOC_COST_ESTIMATE}};
  byoc_test_ok(byoc_plugin_registry_create(&plugins, system, &diag, &f->registry), &diag);
  const byoc_target_registry_t kinds = byoc_plugin_registry_targets(f->registry);
  byoc_test_ok(byoc_target_list_parse(&targets, 1, &kinds, system, &diag, &f->targets), &diag);
  byoc_test_ok(byoc_graph_parse(text, "test", system, &diag, &f->module), &diag);
  const byoc_build_options_t options = {
      .targets = &f->targets, .thread_count = 1, .placer = byoc_placing_placer(&f->placing)};
  byoc_build_init(&f->build, &options, system);
  byoc_build_lend(&f->build, f->module, false);
  byoc_test_ok(byoc_build_compile(&f->build, BYOC_BUILD_ALL, &diag), &diag);
}

static void close_build(fixture_t *f) {
  byoc_build_deinit(&f->build);
  byoc_graph_module_destroy(f->module);
  byoc_target_list_deinit(&f->targets);
  byoc_plugin_registry_destroy(f->registry);
}

// ---- models ----

// Appends Softmax after Softmax from %<from> to %<to>, `count` of them.
static void append_chain(byoc_string_t *text, const char *from, const char *to, size_t count, const char *type) {
  for (size_t i = 0; i < count; ++i) {
    byoc_string_append(text, "    %");
    i + 1 == count ? byoc_string_append(text, to) : byoc_string_appendf(text, "%s_%zu", to, i);
    byoc_string_append(text, " = Softmax@13(%");
    i == 0 ? byoc_string_append(text, from) : byoc_string_appendf(text, "%s_%zu", to, i - 1);
    byoc_string_appendf(text, ") {axis = -1} : %s\n", type);
  }
}

typedef enum shape_t { CHAIN, OPEN_CHAIN, NESTED, LADDER, FAN, SHAPE_COUNT } shape_t;
static const char *const shape_names[] = {"chain", "open chain", "nested", "ladder", "fan"};

// Chain: one after the other. Open: the same with a symbolic dimension. Nested: both branches of an If in a loop of
// three turns. Ladder: sums of neighbours beside a chain. Fan: one value, many readers, one sum of them all.
static byoc_string_t make_model(shape_t shape, size_t n) {
  byoc_string_t text;
  byoc_string_init(&text, byoc_allocator_system());
  const char *type = shape == OPEN_CHAIN ? "f32[N,4]" : "f32[2,4]";
  byoc_string_append(&text, "module {opset_import. = 17} {\n");
  if (shape == NESTED) byoc_string_append(&text, "  constant @three : i64[] = [3]\n");
  for (size_t i = 0; shape == FAN && i < n; ++i) {
    byoc_string_appendf(&text, "  constant @c%zu : f32[] = [%zu.5]\n", i, i);
  }
  byoc_string_appendf(&text, "  func @main(%%x : %s%s) -> (%%y : %s) {\n", type,
                      shape == NESTED ? ", %choice : bool[]" : "", type);
  switch (shape) {
  case NESTED:
    byoc_string_append(&text, "    %y = Loop@16(@three, _, %x) [body (%i : i64[], %c : bool[], %s : f32[2,4]) -> "
                              "(%c2 : bool[], %r : f32[2,4]) {\n"
                              "    %b = If@16(%choice) [then_branch () -> (%t : f32[2,4]) {\n");
    append_chain(&text, "s", "t", n / 3, type);
    byoc_string_append(&text, "    return %t\n    }, else_branch () -> (%e : f32[2,4]) {\n    %d = Neg@13(%s) : "
                              "f32[2,4]\n");
    append_chain(&text, "d", "e", n / 3, type);
    byoc_string_append(&text, "    return %e\n    }] : f32[2,4]\n");
    append_chain(&text, "b", "r", n / 3, type);
    byoc_string_append(&text, "    %c2 = Identity@13(%c) : bool[]\n    return %c2, %r\n    }] : f32[2,4]\n");
    break;
  case LADDER:
    for (size_t i = 0; i < n / 2; ++i) {
      byoc_string_appendf(&text, "    %%a%zu = Softmax@13(%%", i);
      i == 0 ? byoc_string_append(&text, "x") : byoc_string_appendf(&text, "a%zu", i - 1);
      byoc_string_appendf(&text, ") {axis = -1} : f32[2,4]\n    %%b%zu = Add@14(%%", i);
      i == 0 ? byoc_string_append(&text, "x") : byoc_string_appendf(&text, "b%zu", i - 1);
      byoc_string_appendf(&text, ", %%a%zu) : f32[2,4]\n", i);
    }
    byoc_string_appendf(&text, "    %%y = Mul@14(%%a%zu, %%b%zu) : f32[2,4]\n", n / 2 - 1, n / 2 - 1);
    break;
  case FAN:
    for (size_t i = 0; i < n; ++i) {
      byoc_string_appendf(&text, "    %%m%zu = Mul@14(%%x, @c%zu) : f32[2,4]\n", i, i);
      byoc_string_appendf(&text, "    %%t%zu = Softmax@13(%%m%zu) : f32[2,4]\n", i, i);
    }
    byoc_string_append(&text, "    %y = Sum@13(");
    for (size_t i = 0; i < n; ++i) byoc_string_appendf(&text, "%s%%t%zu", i > 0 ? ", " : "", i);
    byoc_string_append(&text, ") : f32[2,4]\n");
    break;
  default:
    append_chain(&text, "x", "y", n, type);
  }
  byoc_string_append(&text, "    return %y\n  }\n}\n");
  assert_false(text.failed);
  return text;
}

// ---- programs in parts ----

static const float input[8] = {0.5f, 1, -2, 0.25f, 3, -1, 0, 2};
static const int64_t dims[2] = {2, 4};
static const uint8_t no = 0;

static void run_both(fixture_t *f, const char *path) {
  byoc_diag_t diag = {0};
  byoc_build_evaluation_t evaluation;
  byoc_loaded_artifact_t loaded;
  byoc_context_t *context = NULL;
  const byoc_argument_t inputs[] = {
      {.dtype = BYOC_DTYPE_F32, .rank = 2, .dims = dims, .data = (void *)(uintptr_t)input},
      {.dtype = BYOC_DTYPE_BOOL, .dims = dims, .data = (void *)(uintptr_t)&no}};
  byoc_argument_t expected[1], result[1];
  float outputs[2][8];
  byoc_test_ok(byoc_build_evaluate(&f->build, 1, &diag, &evaluation), &diag);
  byoc_test_ok(byoc_artifact_load(path, &diag, &loaded), &diag);
  assert_int_equal(loaded.table->create(NULL, &context), BYOC_OK);
  if (f->build.result.program->is_dynamic) {
    byoc_test_ok(byoc_evaluator_run_arguments(evaluation.evaluator, inputs, expected, &diag), &diag);
    assert_int_equal(loaded.table->run_arguments(context, inputs, result), BYOC_OK);
    memcpy(outputs[0], expected[0].data, sizeof(outputs[0]));
    memcpy(outputs[1], result[0].data, sizeof(outputs[1]));
  } else {
    const void *const given[] = {input, &no};
    byoc_test_ok(byoc_evaluator_run(evaluation.evaluator, given, (void *[]){outputs[0]}, &diag), &diag);
    assert_int_equal(loaded.table->run(context, given, (void *[]){outputs[1]}), BYOC_OK);
  }
  assert_memory_equal(outputs[0], outputs[1], sizeof(outputs[0]));
  loaded.table->destroy(context);
  byoc_artifact_unload(&loaded);
  byoc_build_evaluation_end(&evaluation);
}

static void long_programs_run_in_parts(void **state) {
  (void)state;
  for (int shape = CHAIN; shape <= NESTED; ++shape) {
    for (int profile = 0; profile < (shape == CHAIN ? 2 : 1); ++profile) {
      fixture_t f;
      byoc_diag_t diag = {0};
      byoc_string_t text = make_model((shape_t)shape, 1000), c;
      byoc_string_init(&c, byoc_allocator_system());
      open_build(&f, text.data, "c -O=1", "greedy");
      char *folder = byoc_test_folder(), path[512];
      snprintf(path, sizeof(path), "%s/model.so", folder);
      const byoc_compose_options_t options = {.output = path, .model_name = "m", .profile = profile == 1};
      byoc_test_ok(byoc_build_emit_c(&f.build, &options, &c, &diag), &diag);
      assert_non_null(strstr(c.data, "host_part_3("));
      byoc_test_ok(byoc_build_compose(&f.build, &options, &diag), &diag);
      run_both(&f, path);
      close_build(&f);
      byoc_string_deinit(&text);
      byoc_string_deinit(&c);
      free(folder);
    }
  }
}

// ---- small stacks ----

typedef struct small_thread_t {
  const byoc_artifact_t *table;
  int32_t status;
  char message[256];
} small_thread_t;

static void *create_and_run(void *argument) {
  small_thread_t *thread = argument;
  byoc_context_t *context = NULL;
  const void *given = input;
  float output[8];
  thread->status = thread->table->create(NULL, &context);
  if (thread->status == BYOC_OK) thread->status = thread->table->run(context, &given, (void *[]){output});
  snprintf(thread->message, sizeof(thread->message), "%s", thread->table->last_error(context));
  thread->table->destroy(context);
  return NULL;
}

static void threads_of_small_stacks_are_refused(void **state) {
  (void)state;
  static const struct {
    size_t stack_bytes;
    int32_t status;
    const char *message;
  } rows[] = {{48 * 1024, BYOC_UNSUPPORTED, "KiB of stack left, and 64 KiB are needed"}, {128 * 1024, BYOC_OK, ""}};
  fixture_t f;
  byoc_diag_t diag = {0};
  byoc_loaded_artifact_t loaded;
  byoc_build_temporary_t artifact;
  byoc_string_t text = make_model(CHAIN, 4);
  open_build(&f, text.data, "c -O=1", "greedy");
  byoc_test_ok(byoc_build_compose_temporary(&f.build, &diag, &artifact), &diag);
  byoc_test_ok(byoc_artifact_load(artifact.path, &diag, &loaded), &diag);
  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); ++i) {
    small_thread_t thread = {.table = loaded.table};
    pthread_attr_t attributes;
    pthread_t id;
    assert_int_equal(pthread_attr_init(&attributes), 0);
    assert_int_equal(pthread_attr_setstacksize(&attributes, rows[i].stack_bytes), 0);
    assert_int_equal(pthread_create(&id, &attributes, create_and_run, &thread), 0);
    assert_int_equal(pthread_join(id, NULL), 0);
    assert_int_equal(thread.status, rows[i].status);
    assert_non_null(strstr(thread.message, rows[i].message));
    (void)pthread_attr_destroy(&attributes);
  }
  byoc_artifact_unload(&loaded);
  byoc_build_temporary_remove(&artifact);
  close_build(&f);
  byoc_string_deinit(&text);
}

// ---- wide nodes ----

typedef enum wide_t { SPLIT_CONCAT, SUM, MAX, ELEMENTWISE, WIDE_COUNT } wide_t;

// From f32[2,n] to f32[2,n]: a Split into columns, each through Softmax or Tanh, and a Concat; or one fold of n
// columns; or n elementwise operators one after the other.
static byoc_string_t make_wide(wide_t kind, size_t n) {
  static const char *const folds[] = {"", "Sum@13", "Max@13"};
  byoc_string_t text;
  byoc_string_init(&text, byoc_allocator_system());
  byoc_string_appendf(&text, "module {opset_import. = 17} {\n  constant @s : i64[%zu] = splat 1\n", n);
  byoc_string_appendf(&text, "  func @main(%%x : f32[2,%zu]) -> (%%y : f32[2,%zu]) {\n", n,
                      kind == SUM || kind == MAX ? 1 : n);
  if (kind == ELEMENTWISE) {
    for (size_t i = 0; i < n; ++i) {
      byoc_string_append(&text, "    %");
      i + 1 == n ? byoc_string_append(&text, "y") : byoc_string_appendf(&text, "t%zu", i);
      byoc_string_appendf(&text, " = %s(%%", i % 2 == 0 ? "Sin@7" : "Cos@7");
      i == 0 ? byoc_string_append(&text, "x") : byoc_string_appendf(&text, "t%zu", i - 1);
      byoc_string_appendf(&text, ") : f32[2,%zu]\n", n);
    }
  } else {
    byoc_string_append(&text, "    ");
    for (size_t i = 0; i < n; ++i) byoc_string_appendf(&text, "%s%%c%zu", i > 0 ? ", " : "", i);
    byoc_string_append(&text, " = Split@13(%x, @s) {axis = 1} : ");
    for (size_t i = 0; i < n; ++i) byoc_string_append(&text, i > 0 ? ", f32[2,1]" : "f32[2,1]");
    byoc_string_append(&text, "\n");
    for (size_t i = 0; i < n; ++i) {
      byoc_string_appendf(&text, "    %%r%zu = %s(%%c%zu)%s : f32[2,1]\n", i, i % 2 == 0 ? "Softmax@13" : "Tanh@13", i,
                          i % 2 == 0 ? " {axis = 0}" : "");
    }
    byoc_string_appendf(&text, "    %%y = %s(", kind == SPLIT_CONCAT ? "Concat@13" : folds[kind]);
    for (size_t i = 0; i < n; ++i) byoc_string_appendf(&text, "%s%%r%zu", i > 0 ? ", " : "", i);
    byoc_string_append(&text, kind == SPLIT_CONCAT ? ") {axis = 1}" : ")");
    byoc_string_appendf(&text, " : f32[2,%zu]\n", kind == SPLIT_CONCAT ? n : 1);
  }
  byoc_string_append(&text, "    return %y\n  }\n}\n");
  assert_false(text.failed);
  return text;
}

static double reference(wide_t kind, const float *x, size_t n, size_t row, size_t column) {
  if (kind == ELEMENTWISE) {
    float value = x[row * n + column];
    for (size_t i = 0; i < n; ++i) value = i % 2 == 0 ? sinf(value) : cosf(value);
    return value;
  }
  double folded = kind == MAX ? -INFINITY : 0;
  for (size_t c = 0; c < n; ++c) {
    double a = exp((double)x[row * n + c]), b = exp((double)x[(1 - row) * n + c]);
    double part = c % 2 == 0 ? a / (a + b) : tanh((double)x[row * n + c]);
    if (kind == SPLIT_CONCAT && c == column) return part;
    folded = kind == MAX ? fmax(folded, part) : folded + part;
  }
  return folded;
}

static void wide_nodes_share_small_kernels(void **state) {
  (void)state;
  enum { N = 1000 };
  static float x[2 * N], y[2 * N];
  byoc_test_random_t random = {.state = 5};
  for (size_t i = 0; i < 2 * N; ++i) x[i] = byoc_test_float(&random);
  for (int kind = 0; kind < WIDE_COUNT; ++kind) {
    fixture_t f;
    byoc_diag_t diag = {0};
    byoc_build_evaluation_t evaluation;
    byoc_string_t text = make_wide((wide_t)kind, N);
    open_build(&f, text.data, "c", "greedy");
    const byoc_host_program_t *program = f.build.result.program;
    assert_in_range(program->kernels.count, 1, 20);
    for (size_t k = 0; k < program->kernels.count; ++k) {
      assert_in_range(program->kernels.data[k]->parameters.count, 1, 256);
    }
    byoc_test_ok(byoc_build_evaluate(&f.build, 1, &diag, &evaluation), &diag);
    byoc_test_ok(byoc_evaluator_run(evaluation.evaluator, (const void *[]){x}, (void *[]){y}, &diag), &diag);
    size_t columns = kind == SUM || kind == MAX ? 1 : N;
    for (size_t i = 0; i < 2 * columns; ++i) {
      double wanted = reference((wide_t)kind, x, N, i / columns, i % columns);
      assert_true(fabs((double)y[i] - wanted) <= 1e-4 * fmax(1, fabs(wanted)));
    }
    byoc_build_evaluation_end(&evaluation);
    close_build(&f);
    byoc_string_deinit(&text);
  }
}

// ---- growth ----

static double user_seconds(void) {
  struct rusage usage;
  assert_int_equal(getrusage(RUSAGE_SELF, &usage), 0);
  return (double)usage.ru_utime.tv_sec + (double)usage.ru_utime.tv_usec / 1e6;
}

static double build_seconds(shape_t shape, size_t n, const char *targets, const char *plan) {
  fixture_t f;
  byoc_diag_t diag = {0};
  byoc_string_t text = make_model(shape, n), c;
  byoc_string_init(&c, byoc_allocator_system());
  double start = user_seconds();
  open_build(&f, text.data, targets, plan);
  const byoc_compose_options_t options = {.output = "model.so", .model_name = "m"};
  byoc_test_ok(byoc_build_emit_c(&f.build, &options, &c, &diag), &diag);
  double seconds = user_seconds() - start;
  close_build(&f);
  byoc_string_deinit(&text);
  byoc_string_deinit(&c);
  return seconds;
}

// Eight times the nodes may take 24 times as long: a step that is quadratic, and matters, takes 64 times as long. Time
// is the process's own, and a noisy measurement is repeated.
static void assert_growth(shape_t shape, size_t n, const char *targets, const char *plan) {
  double least = INFINITY;
  for (int attempt = 0; attempt < 3 && least > 24; ++attempt) {
    double small = build_seconds(shape, n, targets, plan), large = build_seconds(shape, 8 * n, targets, plan);
    least = fmin(least, large / fmax(small, 0.01));
  }
  if (least > 24)
    fail_msg("%s, %s, %s: %zu nodes take %.1f times the time of %zu", shape_names[shape], targets, plan, 8 * n, least,
             n);
}

static void time_grows_with_size(void **state) {
  (void)state;
  for (int shape = 0; shape < SHAPE_COUNT; ++shape) {
    if (!byoc_test_is_long() && shape != CHAIN && shape != FAN) continue;
    assert_growth((shape_t)shape, byoc_test_is_long() ? 1500 : 400, "c", "greedy");
    if (shape == NESTED || (!byoc_test_is_long() && shape != FAN)) continue;
    assert_growth((shape_t)shape, shape == FAN ? 150 : 600, "cutlass; dnnl; c", "greedy");
    assert_growth((shape_t)shape, shape == FAN ? 150 : 600, "cutlass; dnnl; c", "collage");
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(long_programs_run_in_parts),
      cmocka_unit_test(threads_of_small_stacks_are_refused),
      cmocka_unit_test(wide_nodes_share_small_kernels),
      cmocka_unit_test(time_grows_with_size),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
