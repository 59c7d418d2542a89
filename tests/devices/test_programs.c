// SPDX-License-Identifier: Apache-2.0
// Host programs on the driver `sim`, compiled and evaluated.
#include <sys/wait.h>
#include <unistd.h>

#include "core/runtime/model.h"
#include "tests/devices/program.h"

// y = relu(3 x + w), with the copy of the second input on a queue of its own.
static const char small[] =
    "host program \"p\" {\n"
    "  device %d = \"sim\" 0 type 12\n"
    "  queue %q on %d\n"
    "  queue %in on %d\n"
    "  event %e on %d\n"
    "  event %done on %d\n"
    "  input %x : f32[4]\n  input %b : f32[4]\n  output %y : f32[4]\n"
    "  constant %w : f32[4] on %d = [1, -2, 3, -40]\n"
    "  local %t : f32[4] on %d\n  local %u : f32[4] on %d\n  local %v : f32[4] on %d\n  local %h : f32[4]\n"
    "  allocate %t\n  allocate %u\n  allocate %v\n  allocate %h\n"
    "  copy %b -> %v on %in signals %e\n"
    "  copy %x -> %t on %q\n"
    "  launch \"kernels\" \"scale\" grid [1, 1, 1] block [4, 1, 1] (%t) -> (%u) with (operand 0, result 0, f32 3.0, "
    "i64 "
    "4) on %q \"Mul 'three'\"\n"
    "  launch \"kernels\" \"add\" grid [1, 1, 1] block [4, 1, 1] (%u, %w) -> (%t) with (operand 0, operand 1, result "
    "0, "
    "i32 4) on %q\n"
    "  launch \"kernels\" \"add\" grid [1, 1, 1] block [4, 1, 1] (%t, %v) -> (%u) with (operand 0, operand 1, result "
    "0, "
    "i32 4) on %q after (%e) signals %e\n"
    "  launch \"kernels\" \"relu\" grid [1, 1, 1] block [4, 1, 1] (%u) -> (%t) with (operand 0, result 0, i32 4) on "
    "%q\n"
    "  copy %t -> %h on %q signals %done\n"
    "  await (%done)\n"
    "  copy %h -> %y\n"
    "  free %h\n  free %v\n  free %u\n  free %t\n"
    "}\n";

static void check_small(program_t *p, float scale) {
  const float x[4] = {scale, 2 * scale, 3 * scale, 4 * scale}, b[4] = {0.5f, 0.25f, 0, -1}, w[4] = {1, -2, 3, -40};
  float y[4] = {0};
  const void *const inputs[] = {x, b};
  void *const outputs[] = {y};
  program_run(p, inputs, outputs);
  for (int i = 0; i < 4; ++i) {
    const float sum = 3 * x[i] + w[i] + b[i];
    assert_float_equal(y[i], sum > 0 ? sum : 0, 0);
  }
}

static void test_h10_a_program_runs_on_a_device(void **state) {
  (void)state;
  static const char *const options[] = {"", "delay=200", "order=1", "order=7,delay=50"};
  for (size_t k = 0; k < sizeof(options) / sizeof(options[0]); ++k) {
    setenv("BYOC_SIM", options[k], 1);
    program_t p;
    program_open(&p, small, "plan-memory");
    for (int run = 1; run < 4; ++run) check_small(&p, (float)run);
    program_close(&p);
  }
  unsetenv("BYOC_SIM");
}

// ---- failures ----

static void run_small(program_t *p, bool compiled, int32_t *out_status, const char **out_text, byoc_diag_t *diag) {
  const float x[4] = {1, 2, 3, 4}, b[4] = {1, 1, 1, 1}, expected[4] = {5, 5, 13, 0};
  float y[4] = {0};
  const void *const inputs[] = {x, b};
  void *const outputs[] = {y};
  *out_text = "";
  if (compiled) {
    *out_status = p->artifact.table->run(p->context, inputs, outputs);
    if (*out_status != BYOC_OK) *out_text = p->artifact.table->last_error(p->context);
  } else {
    *out_status = byoc_evaluator_run(p->evaluator, inputs, outputs, diag);
    if (*out_status != BYOC_OK) *out_text = diag->message;
  }
  if (*out_status == BYOC_OK) assert_memory_equal(y, expected, sizeof(y));
}

static int32_t create_small(program_t *p, bool compiled, const char **out_text, byoc_diag_t *diag) {
  int32_t status = compiled ? p->artifact.table->create(NULL, &p->context) : program_evaluate(p, diag);
  *out_text = status == BYOC_OK ? "" : compiled ? p->artifact.table->last_error(NULL) : diag->message;
  return status;
}

static void destroy_small(program_t *p) {
  if (p->artifact.table != NULL) p->artifact.table->destroy(p->context);
  byoc_evaluator_destroy(p->evaluator);
  p->context = NULL;
  p->evaluator = NULL;
  sim_counts_t counts;
  sim_count(&counts);
  assert_memory_equal(&counts, &(sim_counts_t){0}, sizeof(counts));
}

static void expect_reported(const char *kind, int number, const char *text) {
  if (strstr(text, "the device 'sim'") != NULL || strstr(text, "kernel") != NULL) return;
  fail_msg("%s %d: '%s' does not say what failed", kind, number, text);
}

// Is there a call with this number?
static bool fail_at(program_t *p, bool compiled, const char *kind, int number) {
  byoc_diag_t diag = {0};
  char option[64];
  const char *text = NULL;
  bool failed = false;
  snprintf(option, sizeof(option), "fail=%s:%d", kind, number);
  setenv("BYOC_SIM", option, 1);
  int32_t status = create_small(p, compiled, &text, &diag);
  if (status != BYOC_OK) {
    expect_reported(kind, number, text);
    assert_null(p->context);
    assert_null(p->evaluator);
    destroy_small(p);
    return true;
  }
  for (int run = 0; run < 3; ++run) {
    run_small(p, compiled, &status, &text, &diag);
    if (status == BYOC_OK) continue;
    if (failed) fail_msg("%s %d: it failed twice: %s", kind, number, text);
    expect_reported(kind, number, text);
    failed = true;
    diag = (byoc_diag_t){0};
  }
  destroy_small(p);
  return failed;
}

static void test_h10_each_call_may_fail(void **state) {
  (void)state;
  static const char *const kinds[] = {"open", "allocate", "queue", "event", "module",    "entry",
                                      "copy", "launch",   "flush", "wait",  "late-copy", "late-launch"};
  static const int most[] = {1, 2, 3, 8, 1, 3, 4 * 3 + 1, 4 * 3, 100, 100, 4 * 3 + 1, 4 * 3};
  program_t p;
  program_parse(&p, small, "plan-memory");
  program_compile(&p);
  for (size_t k = 0; k < sizeof(kinds) / sizeof(kinds[0]); ++k) {
    for (int compiled = 0; compiled < 2; ++compiled) {
      int number = 1;
      while (fail_at(&p, compiled, kinds[k], number)) ++number;
      if (number == 1 || number > most[k] + 1) fail_msg("%s: %d calls were seen", kinds[k], number - 1);
    }
  }
  unsetenv("BYOC_SIM");
  program_close(&p);
}

static void test_a_device_that_is_absent_is_told_in_one_sentence(void **state) {
  (void)state;
  program_t p;
  byoc_diag_t diag = {0};
  program_parse(&p, small, "plan-memory");
  program_compile(&p);
  setenv("BYOC_SIM", "devices=0", 1);
  assert_int_equal(p.artifact.table->create(NULL, &p.context), BYOC_NOT_FOUND);
  assert_string_equal(p.artifact.table->last_error(NULL),
                      "the device 'sim' cannot start: there is none; set devices=1 in BYOC_SIM");
  assert_null(p.context);
  assert_int_equal(program_evaluate(&p, &diag), BYOC_NOT_FOUND);
  assert_non_null(strstr(diag.message, "the device 'sim' cannot start: there is none; set devices=1 in BYOC_SIM"));
  setenv("BYOC_SIM", "", 1); // it comes back
  assert_int_equal(p.artifact.table->create(NULL, &p.context), BYOC_OK);
  unsetenv("BYOC_SIM");
  program_close(&p);
}

// ---- queues of the caller ----

typedef struct counted_queue_t {
  sim_native_queue_t queue; // first: what the driver gets
  sim_native_queue_t *inner;
  int submitted;
} counted_queue_t;

static int submit(void *self, void (*work)(void *argument), void *argument) {
  counted_queue_t *counted = self;
  counted->submitted++;
  return counted->inner->submit(counted->inner->self, work, argument);
}

static void make_queue(counted_queue_t *counted) {
  *counted = (counted_queue_t){.queue = {submit, counted}, .inner = sim_native_queue_create()};
  assert_non_null(counted->inner);
}

static void *current_queue(void *self) {
  return *(counted_queue_t **)self;
}

// y = relu(x), on a queue that the caller may bring.
#define RELU(kind)                                                                                                     \
  "host program \"p\" {\n device %d = \"sim\" 0 type 12\n queue %q on %d " kind "\n"                                   \
  " input %x : f32[4]\n output %y : f32[4]\n local %t : f32[4] on %d\n local %u : f32[4] on %d\n"                      \
  " allocate %t allocate %u\n copy %x -> %t on %q\n"                                                                   \
  " launch \"kernels\" \"relu\" grid [1, 1, 1] block [4, 1, 1] (%t) -> (%u) with (operand 0, result 0, i32 4) on %q\n" \
  " copy %u -> %y on %q\n free %t free %u\n}\n"

static void expect_relu(program_t *p) {
  const float x[4] = {1, -2, 3, -4}, expected[4] = {1, 0, 3, 0};
  float y[4] = {9, 9, 9, 9};
  const void *const inputs[] = {x};
  void *const outputs[] = {y};
  if (p->artifact.table->run(p->context, inputs, outputs) != BYOC_OK) {
    fail_msg("%s", p->artifact.table->last_error(p->context));
  }
  assert_memory_equal(y, expected, sizeof(y));
}

static void test_h10_the_callers_queue_is_read_at_each_run(void **state) {
  (void)state;
  program_t p;
  counted_queue_t a, b, *current = &a;
  make_queue(&a);
  make_queue(&b);
  program_parse(&p, RELU("current"), "plan-memory");
  program_compile(&p);
  const byoc_caller_queue_t queues[] = {
      {.driver = "other", .self = &current, .current = current_queue},
      {.driver = "sim", .ordinal = 1, .self = &current, .current = current_queue},
      {.driver = "sim", .ordinal = 0, .self = &current, .current = current_queue},
  };
  const byoc_context_options_t options = {.struct_size = sizeof(options), .queues = queues, .queue_count = 3};
  if (p.artifact.table->create(&options, &p.context) != BYOC_OK) fail_msg("%s", p.artifact.table->last_error(NULL));
  expect_relu(&p);
  const int per_run = a.submitted;
  assert_true(per_run >= 3);
  assert_int_equal(b.submitted, 0);
  expect_relu(&p);
  assert_int_equal(a.submitted, 2 * per_run);
  current = &b;
  expect_relu(&p);
  assert_int_equal(a.submitted, 2 * per_run);
  assert_int_equal(b.submitted, per_run);
  current = &a;
  expect_relu(&p);
  assert_int_equal(a.submitted, 3 * per_run);
  assert_int_equal(b.submitted, per_run);
  p.artifact.table->destroy(p.context);
  // A caller of an older version, and one without queues, get the context's own.
  const byoc_context_options_t old = {.struct_size = offsetof(byoc_context_options_t, queues)};
  assert_int_equal(p.artifact.table->create(&old, &p.context), BYOC_OK);
  expect_relu(&p);
  p.artifact.table->destroy(p.context);
  const byoc_caller_queue_t half = {.driver = "sim"};
  const byoc_context_options_t wrong = {.struct_size = sizeof(wrong), .queues = &half, .queue_count = 1};
  assert_int_equal(p.artifact.table->create(&wrong, &p.context), BYOC_INVALID_ARGUMENT);
  assert_string_equal(p.artifact.table->last_error(NULL), "the caller's queue 0 needs `driver` and `current`");
  program_close(&p);
  sim_native_queue_destroy(a.inner);
  sim_native_queue_destroy(b.inner);
}

static void test_h10_a_program_that_names_its_queue_keeps_it(void **state) {
  (void)state;
  static const char *const texts[] = {RELU(""), RELU("default")};
  for (size_t k = 0; k < 2; ++k) {
    program_t p;
    counted_queue_t a, *current = &a;
    make_queue(&a);
    program_parse(&p, texts[k], "plan-memory");
    program_compile(&p);
    const byoc_caller_queue_t queue = {.driver = "sim", .self = &current, .current = current_queue};
    const byoc_context_options_t options = {.struct_size = sizeof(options), .queues = &queue, .queue_count = 1};
    assert_int_equal(p.artifact.table->create(&options, &p.context), BYOC_OK);
    expect_relu(&p);
    assert_int_equal(a.submitted, 0);
    program_close(&p);
    sim_native_queue_destroy(a.inner);
  }
}

// A device belongs to the process that opened it.
static void test_a_child_process_leaves_the_device_alone(void **state) {
  (void)state;
  program_t p;
  program_parse(&p, RELU(""), "plan-memory");
  program_compile(&p);
  assert_int_equal(p.artifact.table->create(NULL, &p.context), BYOC_OK);
  expect_relu(&p);
  const pid_t child = fork();
  assert_true(child >= 0);
  if (child == 0) {
    const float x[4] = {0};
    float y[4];
    const void *const inputs[] = {x};
    void *const outputs[] = {y};
    (void)alarm(60);
    const int32_t status = p.artifact.table->run(p.context, inputs, outputs);
    p.artifact.table->destroy(p.context);
    _exit(status == BYOC_UNSUPPORTED ? 0 : 1);
  }
  int status = 0;
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  expect_relu(&p);
  program_close(&p);
}

// As when a program is read from its text.
static void test_the_evaluator_links_a_driver_that_is_only_a_file(void **state) {
  (void)state;
  program_t p;
  byoc_diag_t diag = {0};
  const float x[4] = {1, -2, 3, -4}, expected[4] = {1, 0, 3, 0};
  float y[4];
  const void *const inputs[] = {x};
  void *const outputs[] = {y};
  program_parse(&p, RELU(""), "plan-memory");
  byoc_graph_module_find_runtime_module(p.module, "sim")->driver = NULL;
  byoc_resolver_destroy(p.resolver);
  byoc_test_ok(byoc_resolver_create(p.program, NULL, &p.runtime, byoc_allocator_system(), &diag, &p.resolver), &diag);
  byoc_test_ok(program_evaluate(&p, &diag), &diag);
  byoc_test_ok(byoc_evaluator_run(p.evaluator, inputs, outputs, &diag), &diag);
  assert_memory_equal(y, expected, sizeof(y));
  program_close(&p);
}

// ---- queues and events of sets, in loops ----

static void test_h10_queues_and_events_are_named_by_index(void **state) {
  (void)state;
  static const char text[] =
      "host program \"p\" {\n symbol I\n symbol J\n device %d = \"sim\" 0 type 12\n queue %q[3] on %d\n event %e[3] on "
      "%d\n"
      " input %x : f32[8,128]\n output %y : f32[8,128]\n output %n : i32[8]\n"
      " local %t : f32[8,128] on %d\n local %u : f32[8,128] on %d\n local %c : i32[8] on %d\n"
      " view %xi : f32[128] = %x + I * 512\n view %yi : f32[128] = %y + I * 512\n"
      " view %ti : f32[128] = %t + I * 512\n view %ui : f32[128] = %u + I * 512\n"
      " allocate %t allocate %u allocate %c\n fill %c with 5 on %q[0]\n"
      " loop I from 0 to 8 body {\n"
      "  copy %xi -> %ti on %q[I]\n"
      "  launch \"kernels\" \"negate\" grid [2, 1, 1] block [64, 1, 1] (%ti) -> (%ui) with (operand 0, result 0, i32 "
      "128) on %q[I]\n"
      "  copy %ui -> %yi on %q[I] signals %e[I]\n }\n"
      " loop J from 0 to 8 body {\n"
      "  launch \"kernels\" \"count\" grid [J + 1, 1, 1] block [1, 1, 1] () -> (%c) with (result 0, i32 J + 1) on "
      "%q[0]\n }\n"
      " copy %c -> %n on %q[0] signals %e[0]\n await (%e[0], %e[1], %e[2])\n free %c free %u free %t\n}\n";
  static const char *const options[] = {"", "delay=100", "order=3"};
  for (size_t k = 0; k < 3; ++k) {
    setenv("BYOC_SIM", options[k], 1);
    program_t p;
    program_open(&p, text, "plan-memory");
    float x[8 * 128], y[8 * 128];
    int32_t n[8];
    for (int i = 0; i < 8 * 128; ++i) x[i] = (float)i;
    const void *const inputs[] = {x};
    void *const outputs[] = {y, n};
    for (int run = 0; run < 2; ++run) {
      memset(y, 0, sizeof(y));
      program_run(&p, inputs, outputs);
      for (int i = 0; i < 8 * 128; ++i) assert_float_equal(y[i], -x[i], 0);
      for (int i = 0; i < 8; ++i) assert_int_equal(n[i], 5 + 8 - i);
    }
    program_close(&p);
  }
  unsetenv("BYOC_SIM");
}

// A number in front of a set counts from its end, as the verifier takes it: both loops use the queue of the first copy.
static void test_h10_numbers_below_a_set_count_from_its_end(void **state) {
  (void)state;
  static const char text[] =
      "host program \"p\" {\n symbol I\n symbol J\n device %d = \"sim\" 0 type 12\n queue %q[3] on %d\n"
      " event %e[3] on %d\n input %x : f32[64]\n output %y : f32[64]\n local %t : f32[64] on %d\n"
      " local %u : f32[64] on %d\n allocate %t allocate %u\n copy %x -> %t on %q[2]\n"
      " loop I from 0 to 1 body {\n"
      "  launch \"kernels\" \"negate\" grid [1, 1, 1] block [64, 1, 1] (%t) -> (%u) with (operand 0, result 0, i32 64) "
      "on %q[I - 1] signals %e[I - 2]\n }\n"
      " loop J from 0 to 1 body {\n  copy %u -> %y on %q[J] after (%e[J - 2]) signals %e[J]\n }\n"
      " await (%e[0])\n free %u free %t\n}\n";
  for (int seed = 1; seed < 9; ++seed) {
    char option[32];
    (void)snprintf(option, sizeof(option), "order=%d", seed);
    setenv("BYOC_SIM", option, 1);
    program_t p;
    program_open(&p, text, "plan-memory");
    float x[64], y[64] = {0};
    for (int i = 0; i < 64; ++i) x[i] = (float)i;
    const void *const inputs[] = {x};
    void *const outputs[] = {y};
    program_run(&p, inputs, outputs);
    for (int i = 0; i < 64; ++i) assert_float_equal(y[i], -x[i], 0);
    program_close(&p);
  }
  unsetenv("BYOC_SIM");
}

// ---- memory that does not subdivide ----

static void test_scopes_that_do_not_subdivide(void **state) {
  (void)state;
  static const char text[] =
      "host program \"p\" {\n device %d = \"sim\" 0 type 12\n queue %q on %d\n"
      " memory of %d scope \"global.texture\" apart 0\n"
      " input %x : f32[3,5]\n output %y : f32[3,5]\n"
      " local %t : f32[3,5] on %d scope \"global.texture\"\n local %u : f32[3,5] on %d scope \"global.texture\"\n"
      " local %v : f32[3,5] on %d\n"
      " allocate %t allocate %u allocate %v\n copy %x -> %t on %q\n"
      " launch \"kernels\" \"negate\" grid [1, 1, 1] block [15, 1, 1] (%t) -> (%v) with (operand 0, result 0, i32 15) "
      "on "
      "%q\n"
      " launch \"kernels\" \"negate\" grid [1, 1, 1] block [15, 1, 1] (%v) -> (%u) with (operand 0, result 0, i32 15) "
      "on "
      "%q\n"
      " copy %u -> %y on %q\n free %v free %u free %t\n}\n";
  program_t p;
  float x[15], y[15] = {0};
  for (int i = 0; i < 15; ++i) x[i] = (float)i - 7;
  const void *const inputs[] = {x};
  void *const outputs[] = {y};
  program_open(&p, text, "plan-memory");
  program_run(&p, inputs, outputs);
  assert_memory_equal(x, y, sizeof(x));
  program_close(&p);
}

// A memory that holds nothing but tensors without elements still gives them an address.
static void test_tensors_without_elements(void **state) {
  (void)state;
  static const char text[] =
      "host program \"p\" {\n device %d = \"sim\" 0 type 12\n queue %q on %d\n"
      " input %x : f32[0]\n output %y : f32[0]\n local %t : f32[0] on %d\n local %u : f32[0] on %d\n"
      " allocate %t allocate %u\n copy %x -> %t on %q\n"
      " launch \"kernels\" \"negate\" grid [1, 1, 1] block [1, 1, 1] (%t) -> (%u) with (operand 0, result 0, i32 0) "
      "on %q\n"
      " copy %u -> %y on %q\n free %u free %t\n}\n";
  program_t p;
  float x[1] = {0}, y[1] = {0};
  const void *const inputs[] = {x};
  void *const outputs[] = {y};
  program_open(&p, text, "plan-memory");
  program_run(&p, inputs, outputs);
  program_close(&p);
}

// What a driver says of its device is checked before it is relied on.
static byoc_driver_t lying;
static byoc_device_info_t lie;

static int32_t describe_wrongly(byoc_device_t *device, byoc_device_info_t *out_info) {
  const int32_t status = sim_driver.describe(device, out_info);
  if (lie.alignment != 1) out_info->alignment = lie.alignment;
  if (lie.scope_count > 0) out_info->scopes = NULL;
  if (lie.format_count > 0) out_info->formats = NULL;
  return status;
}

static void expect_lie_refused(const char *message) {
  program_t p;
  byoc_diag_t diag = {0};
  program_parse(&p, small, "plan-memory");
  byoc_graph_module_find_runtime_module(p.module, "sim")->driver = &lying;
  assert_int_not_equal(program_evaluate(&p, &diag), BYOC_OK);
  if (strstr(diag.message, message) == NULL) fail_msg("%s", diag.message);
  program_close(&p);
}

static void test_lies_about_a_device(void **state) {
  (void)state;
  static const struct {
    byoc_device_info_t lie;
    const char *message;
  } cases[] = {
      {{.alignment = 0},
       "the device 'sim' cannot start: its driver says that its alignment is 0, which is no power of two"},
      {{.alignment = 96},
       "the device 'sim' cannot start: its driver says that its alignment is 96, which is no power of two"},
      {{.alignment = 1, .scope_count = 1}, "the device 'sim' cannot start: its driver does not list its memory"},
      {{.alignment = 1, .format_count = 1}, "the device 'sim' cannot start: its driver does not list its formats"}};
  lying = sim_driver;
  lying.describe = describe_wrongly;
  for (size_t k = 0; k < sizeof(cases) / sizeof(cases[0]); ++k) {
    lie = cases[k].lie;
    expect_lie_refused(cases[k].message);
  }
  lying.struct_size = 16;
  expect_lie_refused("the table of the driver 'sim' has 16 bytes");
  lying.abi_version = 7;
  expect_lie_refused("the driver 'sim' has version 7, and this program runs version 1");
}

// ---- traces and times ----

typedef struct trace_t {
  char text[4096];
} trace_t;

static void note_event(void *argument, const byoc_trace_event_t *event) {
  trace_t *trace = argument;
  size_t used = strlen(trace->text);
  used += (size_t)snprintf(trace->text + used, sizeof(trace->text) - used, "%s %s", event->op, event->name);
  for (int i = 0; i < 4; ++i) {
    used += (size_t)snprintf(trace->text + used, sizeof(trace->text) - used, " %g",
                             (double)((const float *)event->value.data)[i]);
  }
  (void)snprintf(trace->text + used, sizeof(trace->text) - used, "\n");
}

static void test_h16_traces_read_results_back(void **state) {
  (void)state;
  static const char expected[] = "copy v 1 1 1 1\ncopy t 1 2 3 4\nlaunch u 3 6 9 12\nlaunch t 4 4 12 -28\n"
                                 "launch u 5 5 13 -27\nlaunch t 5 5 13 0\ncopy h 5 5 13 0\ncopy y 5 5 13 0\n";
  program_t p;
  byoc_diag_t diag = {0};
  const float x[4] = {1, 2, 3, 4}, b[4] = {1, 1, 1, 1};
  const int64_t four = 4;
  const byoc_argument_t inputs[] = {{.dtype = BYOC_DTYPE_F32, .rank = 1, .dims = &four, .data = (void *)(uintptr_t)x},
                                    {.dtype = BYOC_DTYPE_F32, .rank = 1, .dims = &four, .data = (void *)(uintptr_t)b}};
  byoc_argument_t outputs[1];
  program_open(&p, small, "plan-memory");
  trace_t compiled = {{0}}, evaluated = {{0}};
  if (p.artifact.table->trace(p.context, inputs, outputs, note_event, &compiled) != BYOC_OK) {
    fail_msg("%s", p.artifact.table->last_error(p.context));
  }
  byoc_test_ok(byoc_evaluator_trace(p.evaluator, note_event, &evaluated, &diag), &diag);
  byoc_test_ok(byoc_evaluator_run_arguments(p.evaluator, inputs, outputs, &diag), &diag);
  assert_string_equal(compiled.text, expected);
  assert_string_equal(evaluated.text, expected);
  program_close(&p);
}

static void note_time(void *argument, const char *name, uint64_t duration_ns) {
  trace_t *trace = argument;
  (void)duration_ns;
  const size_t used = strlen(trace->text);
  (void)snprintf(trace->text + used, sizeof(trace->text) - used, "%s\n", name);
}

static void test_h16_profiles_have_the_times_of_the_device(void **state) {
  (void)state;
  program_t p;
  trace_t trace = {{0}};
  const float x[4] = {1, 2, 3, 4}, b[4] = {1, 1, 1, 1};
  float y[4];
  const void *const inputs[] = {x, b};
  void *const outputs[] = {y};
  program_open(&p, small, "plan-memory");
  for (int run = 0; run < 2; ++run) {
    trace.text[0] = '\0';
    assert_int_equal(p.artifact.table->profile(p.context, inputs, outputs, note_time, &trace), BYOC_OK);
    // What the host does is reported as it ends, the commands when the run ends.
    assert_string_equal(trace.text, "await\ncopy\ncopy\ncopy\nMul 'three'\nadd\nadd\nrelu\ncopy\n");
  }
  check_small(&p, 2); // and a run without a profile
  program_close(&p);
}

// Two queues: the launch of one runs for 20 ms, and within that time a command of the other.
static void test_h14_two_queues_run_at_once(void **state) {
  (void)state;
  static const char text[] =
      "host program \"p\" {\n device %d = \"sim\" 0 type 12\n queue %compute on %d\n queue %copy on %d\n"
      " input %x : f32[4]\n output %y : f32[4]\n"
      " local %t : f32[4] on %d\n local %u : f32[4] on %d\n local %s : f32[4] on %d\n"
      " allocate %t allocate %u allocate %s\n"
      " launch \"kernels\" \"spin\" grid [1, 1, 1] block [1, 1, 1] () -> (%s) with (i64 20000000) on %compute\n"
      " copy %x -> %t on %copy\n"
      " launch \"kernels\" \"negate\" grid [1, 1, 1] block [4, 1, 1] (%t) -> (%u) with (operand 0, result 0, i32 4) on "
      "%copy\n"
      " copy %u -> %y on %copy\n free %s free %u free %t\n}\n";
  program_t p;
  const float x[4] = {1, 2, 3, 4};
  float y[4];
  const void *const inputs[] = {x};
  void *const outputs[] = {y};
  program_open(&p, text, "plan-memory");
  bool at_once = false;
  for (int attempt = 0; attempt < 50 && !at_once; ++attempt) { // the machine may give one thread all its time
    uint64_t begin[4], end[4];
    program_run(&p, inputs, outputs);
    for (uint32_t k = 0; k < 4; ++k) {
      assert_int_equal(byoc_devices_times(p.context->devices, k, &begin[k], &end[k]), BYOC_OK);
    }
    for (int k = 2; k < 4; ++k) assert_true(begin[k] >= end[k - 1]); // one queue is in order
    for (int k = 1; k < 4 && !at_once; ++k) at_once = begin[k] < end[0] && begin[0] < end[k];
  }
  assert_true(at_once);
  program_close(&p);
}

static void test_h10_a_barrier_orders_queues_and_does_not_block_the_host(void **state) {
  (void)state;
  static const char text[] =
      "host program \"p\" {\n device %d = \"sim\" 0 type 12\n queue %a on %d\n queue %b on %d\n event %e on %d\n"
      " input %x : f32[4]\n output %y : f32[4]\n local %t : f32[4] on %d\n local %s : f32[4] on %d\n"
      " allocate %t allocate %s\n"
      " launch \"kernels\" \"spin\" grid [1, 1, 1] block [1, 1, 1] () -> (%s) with (i64 20000000) on %a signals %e\n"
      " barrier on %b after (%e)\n"
      " copy %x -> %t on %b\n copy %t -> %y on %b\n free %s free %t\n}\n";
  program_t p;
  float x[4] = {1, 2, 3, 4}, y[4] = {0};
  const void *const inputs[] = {x};
  void *const outputs[] = {y};
  program_open(&p, text, "plan-memory");
  program_run(&p, inputs, outputs);
  assert_memory_equal(x, y, sizeof(x));
  byoc_devices_t *devices = p.context->devices;
  const byoc_open_device_t *device = &devices->devices[0];
  devices->commands[2].source.host = x; // the last run had memory of its own for them
  devices->commands[3].destination.host = y;
  bool went_on = false;
  for (int attempt = 0; attempt < 50 && !went_on; ++attempt) { // the machine may give the device all its time
    uint64_t begin[4], end[4];
    int32_t is_complete = 0;
    assert_int_equal(byoc_devices_begin(devices), BYOC_OK);
    for (uint32_t k = 0; k < 4; ++k) assert_int_equal(byoc_devices_run(devices, k), BYOC_OK);
    assert_int_equal(device->driver->event_query(device->handle, devices->commands[0].last, &is_complete), BYOC_OK);
    went_on = !is_complete;
    assert_int_equal(byoc_devices_finish(devices, BYOC_OK), BYOC_OK);
    for (uint32_t k = 0; k < 4; k += 2) {
      assert_int_equal(byoc_devices_times(devices, k, &begin[k], &end[k]), BYOC_OK);
    }
    assert_true(begin[2] >= end[0]);
  }
  assert_true(went_on);
  program_close(&p);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_h10_a_program_runs_on_a_device),
      cmocka_unit_test(test_h10_each_call_may_fail),
      cmocka_unit_test(test_a_device_that_is_absent_is_told_in_one_sentence),
      cmocka_unit_test(test_h10_the_callers_queue_is_read_at_each_run),
      cmocka_unit_test(test_h10_a_program_that_names_its_queue_keeps_it),
      cmocka_unit_test(test_a_child_process_leaves_the_device_alone),
      cmocka_unit_test(test_the_evaluator_links_a_driver_that_is_only_a_file),
      cmocka_unit_test(test_h10_queues_and_events_are_named_by_index),
      cmocka_unit_test(test_h10_numbers_below_a_set_count_from_its_end),
      cmocka_unit_test(test_scopes_that_do_not_subdivide),
      cmocka_unit_test(test_tensors_without_elements),
      cmocka_unit_test(test_lies_about_a_device),
      cmocka_unit_test(test_h16_traces_read_results_back),
      cmocka_unit_test(test_h16_profiles_have_the_times_of_the_device),
      cmocka_unit_test(test_h10_a_barrier_orders_queues_and_does_not_block_the_host),
      cmocka_unit_test(test_h14_two_queues_run_at_once),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
