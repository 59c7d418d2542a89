// SPDX-License-Identifier: Apache-2.0
// Programs of several ranks, compiled and evaluated: both do the same in each rank.
#include "tests/support/ranks.h"
#include "tests/unit/compose/host_model.h"

#include <stdio.h>

// Every kind of collective, among two ranks.
static const char every_kind[] = "host program \"every\" workspace 0 bound 0 {\n"
                                 "  input    %x : f32[4]\n"
                                 "  output   %broadcast : f32[4]\n"
                                 "  output   %gather : f32[2,4]\n"
                                 "  output   %all_gather : f32[8]\n"
                                 "  output   %scatter : f32[2]\n"
                                 "  output   %reduce : f32[4]\n"
                                 "  output   %all_reduce : f32[4]\n"
                                 "  output   %reduce_scatter : f32[2]\n"
                                 "  output   %all_to_all : f32[4]\n"
                                 "\n"
                                 "  collective broadcast(%x) -> (%broadcast) among 2 step 1 root 1\n"
                                 "  collective gather(%x) -> (%gather) among 2 step 1 root 0\n"
                                 "  collective all_gather(%x) -> (%all_gather) among 2 step 1\n"
                                 "  collective scatter(%x) -> (%scatter) among 2 step 1 root 0\n"
                                 "  collective reduce(%x) -> (%reduce) max among 2 step 1 root 1\n"
                                 "  collective all_reduce(%x) -> (%all_reduce) sum among 2 step 1\n"
                                 "  collective reduce_scatter(%x) -> (%reduce_scatter) product\n"
                                 "  collective all_to_all(%x) -> (%all_to_all) among 2 step 1\n"
                                 "}\n";

static const float expected[2][8][8] = {
    {{11, 12, 13, 14},
     {1, 2, 3, 4, 11, 12, 13, 14},
     {1, 2, 3, 4, 11, 12, 13, 14},
     {1, 2},
     {0},
     {12, 14, 16, 18},
     {11, 24},
     {1, 2, 11, 12}},
    {{11, 12, 13, 14},
     {0},
     {1, 2, 3, 4, 11, 12, 13, 14},
     {3, 4},
     {11, 12, 13, 14},
     {12, 14, 16, 18},
     {39, 56},
     {3, 4, 13, 14}},
};

static const int64_t four[] = {4};

// Runs the program of a rank compiled, and compares its outputs with what is expected of this rank.
static int compare(const host_model_t *m, const byoc_communicator_t *c, const byoc_argument_t *results) {
  for (size_t i = 0; i < m->program->outputs.count; ++i) {
    const int64_t count = byoc_type_element_count(m->program->outputs.data[i]->type);
    BYOC_RANK_CHECK(c, memcmp(results[i].data, expected[c->rank][i], (size_t)count * sizeof(float)) == 0);
  }
  return 0;
}

static int run_both(void *self, const byoc_communicator_t *c) {
  host_model_t *m = self;
  byoc_diag_t diag = {0};
  byoc_context_t *context = NULL;
  const byoc_context_options_t options = {.struct_size = sizeof(options), .communicator = c};
  const float base = c->rank == 0 ? 1 : 11, x[] = {base, base + 1, base + 2, base + 3};
  const byoc_argument_t input = host_model_tensor(BYOC_DTYPE_F32, 1, four, x);
  byoc_argument_t results[HOST_MODEL_RESULTS];
  BYOC_RANK_CHECK(c, byoc_evaluator_set_communicator(m->evaluator, c, &diag) == BYOC_OK);
  BYOC_RANK_CHECK(c, byoc_evaluator_run_arguments(m->evaluator, &input, results, &diag) == BYOC_OK);
  if (compare(m, c, results) != 0) return 1;
  BYOC_RANK_CHECK(c, m->artifact.table->create(&options, &context) == BYOC_OK);
  for (int turn = 0; turn < 2; ++turn) {
    BYOC_RANK_CHECK(c, m->artifact.table->run_arguments(context, &input, results) == BYOC_OK);
    if (compare(m, c, results) != 0) return 1;
  }
  m->artifact.table->destroy(context);
  return 0;
}

static void test_h15_every_collective_gives_the_same_compiled_and_evaluated(void **state) {
  (void)state;
  host_model_t m;
  host_model_open(&m, every_kind, "place-lifetimes,plan-memory");
  byoc_test_run_ranks(2, run_both, &m, NULL);
  host_model_close(&m);
}

// Rows of a mesh of two by two, then columns; and what moves from one to another.
static const char mesh[] = "host program \"mesh\" workspace 64 bound 4 {\n"
                           "  input    %x : f32[1]\n"
                           "  output   %y : f32[1]\n"
                           "  output   %moved : f32[1]\n"
                           "  local    %t : f32[1] at 0\n"
                           "\n"
                           "  allocate %t\n"
                           "  collective all_reduce(%x) -> (%t) sum among 2 step 1\n"
                           "  collective all_reduce(%t) -> (%y) sum among 2 step 2\n"
                           "  free     %t\n"
                           "  collective permute(%x) -> (%moved) among 4 step 1 to [1, 2, -1, 0]\n"
                           "}\n";

static int run_mesh(void *self, const byoc_communicator_t *c) {
  host_model_t *m = self;
  byoc_diag_t diag = {0};
  static const float moved[] = {4, 1, 2, 0};
  const float x = (float)(c->rank + 1);
  const byoc_argument_t input = host_model_tensor(BYOC_DTYPE_F32, 1, (const int64_t[]){1}, &x);
  byoc_argument_t results[HOST_MODEL_RESULTS];
  BYOC_RANK_CHECK(c, byoc_evaluator_set_communicator(m->evaluator, c, &diag) == BYOC_OK);
  BYOC_RANK_CHECK(c, byoc_evaluator_run_arguments(m->evaluator, &input, results, &diag) == BYOC_OK);
  BYOC_RANK_CHECK(c, *(const float *)results[0].data == 10);
  BYOC_RANK_CHECK(c, *(const float *)results[1].data == moved[c->rank]);
  return 0;
}

static void test_h15_groups_of_a_mesh_are_apart(void **state) {
  (void)state;
  host_model_t m;
  host_model_open(&m, mesh, "");
  byoc_test_run_ranks(4, run_mesh, &m, NULL);
  host_model_close(&m);
}

// The run of a rank is ended by its caller: the other one, which goes on, is let go, both ways.
static int run_ended(void *self, const byoc_communicator_t *c) {
  host_model_t *m = self;
  const bool is_compiled = m->runtime.thread_count == 1;
  byoc_diag_t diag = {0};
  byoc_context_t *context = NULL;
  const volatile int32_t cancel = c->rank == 0;
  const byoc_context_options_t options = {.struct_size = sizeof(options), .communicator = c, .cancel = &cancel};
  const float x[4] = {0};
  const byoc_argument_t input = host_model_tensor(BYOC_DTYPE_F32, 1, four, x);
  byoc_argument_t results[HOST_MODEL_RESULTS];
  const char *said = diag.message;
  int32_t status = BYOC_OK;
  if (is_compiled) {
    BYOC_RANK_CHECK(c, m->artifact.table->create(&options, &context) == BYOC_OK);
    status = m->artifact.table->run_arguments(context, &input, results);
    said = m->artifact.table->last_error(context);
  } else {
    BYOC_RANK_CHECK(c, byoc_evaluator_set_communicator(m->evaluator, c, &diag) == BYOC_OK);
    byoc_evaluator_set_stop(m->evaluator, 0, &cancel);
    status = byoc_evaluator_run_arguments(m->evaluator, &input, results, &diag);
  }
  BYOC_RANK_CHECK(c, status == (c->rank == 0 ? BYOC_CANCELLED : BYOC_IO));
  BYOC_RANK_CHECK(c, strstr(said, c->rank == 0 ? "the caller cancelled the run" : "rank 0 has failed, and rank 1") !=
                         NULL);
  m->artifact.table->destroy(context);
  return 0;
}

static void test_a_run_that_is_ended(void **state) {
  (void)state;
  host_model_t m;
  host_model_open(&m, every_kind, "place-lifetimes,plan-memory");
  for (int32_t way = 0; way < 2; ++way) {
    m.runtime.thread_count = way;
    byoc_test_run_ranks(2, run_ended, &m, NULL);
  }
  host_model_close(&m);
}

// A rank fails in the same words both ways.
static int run_failing(void *self, const byoc_communicator_t *c) {
  host_model_t *m = self;
  byoc_diag_t diag = {0};
  byoc_context_t *context = NULL;
  const byoc_context_options_t options = {.struct_size = sizeof(options), .communicator = c};
  const float x[4] = {0};
  const byoc_argument_t input = host_model_tensor(BYOC_DTYPE_F32, 1, four, x);
  byoc_argument_t results[HOST_MODEL_RESULTS];
  if (c->rank == 1) return -9;
  BYOC_RANK_CHECK(c, m->artifact.table->create(&options, &context) == BYOC_OK);
  BYOC_RANK_CHECK(c, m->artifact.table->run_arguments(context, &input, results) == BYOC_IO);
  BYOC_RANK_CHECK(
      c, strcmp(m->artifact.table->last_error(context), "broadcast: rank 1 has died, and rank 0 needs it") == 0);
  m->artifact.table->destroy(context);
  BYOC_RANK_CHECK(c, byoc_evaluator_set_communicator(m->evaluator, c, &diag) == BYOC_OK);
  BYOC_RANK_CHECK(c, byoc_evaluator_run_arguments(m->evaluator, &input, results, &diag) == BYOC_IO);
  BYOC_RANK_CHECK(c, strstr(diag.message, "broadcast: rank 1 has died, and rank 0 needs it") != NULL);
  return 0;
}

static void test_h15_a_killed_rank_fails_the_others(void **state) {
  (void)state;
  host_model_t m;
  host_model_open(&m, every_kind, "place-lifetimes,plan-memory");
  byoc_test_run_ranks(2, run_failing, &m, (const int[]){0, -9});
  host_model_close(&m);
}

static const char *no_error(void *self) {
  (void)self;
  return "";
}

// A run fails while a collective is under way: it ends before anybody may free what it reads and writes.
static const char failing[] = "host program \"failing\" dynamic workspace 64 bound 16 {\n"
                              "  symbol   N\n"
                              "  input    %x : value f32[N]\n"
                              "  output   %y : value f32[N]\n"
                              "  constant %w : f32[4] = [1.0, 2.0, 3.0, 4.0]\n"
                              "  local    %s : f32[4] at 0\n"
                              "\n"
                              "  match %x binds N at 0\n"
                              "  allocate %s\n"
                              "  collective all_reduce(%w) -> (%s) sum begins\n"
                              "  require (N is 2 by \"pairs\")\n"
                              "  collective all_reduce(%w) -> (%s) sum ends\n"
                              "  share %x -> %y\n"
                              "  free %s\n"
                              "}\n";

typedef struct steps_t {
  byoc_communicator_t communicator;
  int begun, ended;
} steps_t;

static int32_t count_begin(void *self, const byoc_collective_t *collective) {
  steps_t *steps = self;
  steps->begun += 1;
  memset(collective->receive, 0xff, collective->count * sizeof(float));
  return BYOC_OK;
}

static int32_t count_end(void *self, const byoc_collective_t *collective) {
  steps_t *steps = self;
  steps->ended += 1;
  memcpy(collective->receive, collective->send, collective->count * sizeof(float));
  return BYOC_OK;
}

static void test_h15_a_failed_run_ends_what_has_begun(void **state) {
  (void)state;
  host_model_t m;
  byoc_diag_t diag = {0};
  byoc_context_t *context = NULL;
  steps_t steps = {{.struct_size = sizeof(steps.communicator),
                    .abi_version = BYOC_COMMUNICATOR_ABI,
                    .size = 1,
                    .self = &steps,
                    .run = count_end,
                    .last_error = no_error,
                    .begin = count_begin,
                    .end = count_end},
                   0,
                   0};
  const byoc_context_options_t options = {.struct_size = sizeof(options), .communicator = &steps.communicator};
  const float values[] = {1, 2, 3, 4};
  byoc_argument_t results[HOST_MODEL_RESULTS];
  host_model_open(&m, failing, "");
  byoc_test_ok(byoc_evaluator_set_communicator(m.evaluator, &steps.communicator, &diag), &diag);
  assert_int_equal(m.artifact.table->create(&options, &context), BYOC_OK);
  for (int64_t n = 3; n >= 2; --n) { // three are refused
    const byoc_argument_t input = host_model_tensor(BYOC_DTYPE_F32, 1, &n, values);
    const int32_t status = n == 2 ? BYOC_OK : BYOC_INVALID_ARGUMENT;
    steps.begun = steps.ended = 0;
    assert_int_equal(byoc_evaluator_run_arguments(m.evaluator, &input, results, &diag), status);
    assert_true(steps.begun == 1 && steps.ended == 1);
    assert_int_equal(m.artifact.table->run_arguments(context, &input, results), status);
    assert_true(steps.begun == 2 && steps.ended == 2);
  }
  m.artifact.table->destroy(context);
  host_model_close(&m);
}

static int32_t never(void *self, const byoc_collective_t *collective) {
  (void)self, (void)collective;
  return BYOC_OK;
}

// What create says of communicators that do not fit.
static void test_h15_communicators_that_do_not_fit_are_refused(void **state) {
  (void)state;
  static const char text[] = "host program \"one\" rank 1 of 2 workspace 0 bound 0 {\n"
                             "  input    %x : f32[4]\n"
                             "  output   %y : f32[4]\n"
                             "\n"
                             "  collective all_reduce(%x) -> (%y) sum among 2 step 1\n"
                             "}\n";
  byoc_communicator_t c = {
      .struct_size = sizeof(c), .abi_version = BYOC_COMMUNICATOR_ABI, .size = 2, .run = never, .last_error = no_error};
  const struct {
    int32_t rank, size;
    uint32_t abi;
    const char *message;
  } cases[] = {
      {1, 2, 1, NULL},
      {0, 2, 1, "this was built for rank 1 of 2, and is run as rank 0 of 2"},
      {1, 4, 1, "this was built for rank 1 of 2, and is run as rank 1 of 4"},
      {2, 2, 1, "the communicator says that it is rank 2 of 2"},
      {1, 2, 7, "the communicator has version 7"},
      {1, 2, 0, "this is rank 1 of 2: the context needs a communicator"},
  };
  byoc_diag_t diag = {0};
  host_model_t m = {0};
  host_model_parse(&m, text);
  byoc_test_ok(byoc_host_text_check(m.program, &diag), &diag);
  m.runtime = byoc_serial_runtime(1);
  m.folder = byoc_test_folder();
  char path[512];
  snprintf(path, sizeof(path), "%s/model.so", m.folder);
  const byoc_compose_options_t output = {.output = path, .model_name = "host", .cpu_features = ""};
  byoc_test_ok(byoc_compose_artifact(m.program, &output, byoc_allocator_system(), &diag), &diag);
  byoc_test_ok(byoc_artifact_load(path, &diag, &m.artifact), &diag);
  for (size_t k = 0; k < sizeof(cases) / sizeof(cases[0]); ++k) {
    c.rank = cases[k].rank;
    c.size = cases[k].size;
    c.abi_version = cases[k].abi;
    const byoc_context_options_t options = {.struct_size = sizeof(options), .communicator = cases[k].abi ? &c : NULL};
    const int32_t status = m.artifact.table->create(&options, &m.context);
    const char *said = m.artifact.table->last_error(NULL);
    if (cases[k].message == NULL) {
      assert_int_equal(status, BYOC_OK);
      m.artifact.table->destroy(m.context);
    } else if (status != BYOC_INVALID_ARGUMENT || strstr(said, cases[k].message) == NULL) {
      fail_msg("case %zu: status %d, '%s'", k, status, said);
    }
    m.context = NULL;
  }
  host_model_close(&m);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_h15_every_collective_gives_the_same_compiled_and_evaluated),
      cmocka_unit_test(test_h15_groups_of_a_mesh_are_apart),
      cmocka_unit_test(test_a_run_that_is_ended),
      cmocka_unit_test(test_h15_a_killed_rank_fails_the_others),
      cmocka_unit_test(test_h15_a_failed_run_ends_what_has_begun),
      cmocka_unit_test(test_h15_communicators_that_do_not_fit_are_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
