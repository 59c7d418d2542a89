// SPDX-License-Identifier: Apache-2.0
// What an artifact does for a collective: alone, and what it asks a communicator for.
#include <string.h>

#include "core/runtime/collective.h"
#include "tests/support/support.h"

enum { BLOCK = 3, MOST = 12 };

typedef struct {
  byoc_runtime_t runtime;
  byoc_communicator_t communicator;
  byoc_collective_t asked; // the last one
  const char *how;         // "run", "begin" or "end"
  char error[512];
} fixture_t;

static void set_error(void *self, const char *message) {
  snprintf(((fixture_t *)self)->error, sizeof(((fixture_t *)self)->error), "%s", message);
}

static int32_t note(void *self, const byoc_collective_t *collective, const char *how) {
  fixture_t *f = self;
  f->asked = *collective;
  f->how = how;
  return BYOC_OK;
}
static int32_t run(void *self, const byoc_collective_t *collective) {
  return note(self, collective, "run");
}
static int32_t begin(void *self, const byoc_collective_t *collective) {
  return note(self, collective, "begin");
}
static int32_t end(void *self, const byoc_collective_t *collective) {
  return note(self, collective, "end");
}

// `size` 0: without a communicator.
static void setup(fixture_t *f, int32_t rank, int32_t size) {
  *f = (fixture_t){.how = "", .error = ""};
  f->communicator = (byoc_communicator_t){.struct_size = sizeof(f->communicator),
                                          .rank = rank,
                                          .size = size,
                                          .self = f,
                                          .run = run,
                                          .begin = begin,
                                          .end = end};
  f->runtime = (byoc_runtime_t){.struct_size = sizeof(f->runtime),
                                .thread_count = 1,
                                .self = f,
                                .set_error = set_error,
                                .communicator = size > 0 ? &f->communicator : NULL};
}

// `in` or `out` is NULL where the kind has none.
static int32_t call(fixture_t *f, const byoc_collective_call_t *what, const float *in, int64_t in_count, float *out,
                    int64_t out_count) {
  DLTensor tensors[2];
  uint32_t count = 0;
  const DLDataType f32 = {.code = kDLFloat, .bits = 32, .lanes = 1};
  if (in) tensors[count++] = (DLTensor){.data = (void *)(uintptr_t)in, .ndim = 1, .dtype = f32, .shape = &in_count};
  if (out) tensors[count++] = (DLTensor){.data = out, .ndim = 1, .dtype = f32, .shape = &out_count};
  const byoc_call_t all = {.struct_size = sizeof(all),
                           .input_count = in != NULL,
                           .output_count = out != NULL,
                           .tensors = tensors,
                           .runtime = &f->runtime};
  return byoc_collective_call(what, &all);
}

// A program without a communicator is its only rank: it receives what it sends, in one step or at the end of two.
static void one_rank_receives_what_it_sends(void **state) {
  (void)state;
  static const uint32_t kinds[] = {BYOC_BROADCAST,  BYOC_GATHER,         BYOC_SCATTER,    BYOC_REDUCE, BYOC_ALL_REDUCE,
                                   BYOC_ALL_GATHER, BYOC_REDUCE_SCATTER, BYOC_ALL_TO_ALL, BYOC_PERMUTE};
  static const int32_t to_itself[] = {0}, to_nobody[] = {-1};
  static const float in[BLOCK] = {1, 2, 3};
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; ++i) {
    for (uint32_t phase = BYOC_COLLECTIVE_WHOLE; phase <= BYOC_COLLECTIVE_ENDS; ++phase) {
      fixture_t f;
      setup(&f, 0, 0);
      float out[BLOCK] = {7, 7, 7};
      const byoc_collective_call_t what = {
          .kind = kinds[i], .members = 1, .stride = 1, .phase = phase, .targets = to_itself};
      assert_int_equal(call(&f, &what, in, BLOCK, out, BLOCK), BYOC_OK);
      for (int j = 0; j < BLOCK; ++j) assert_true(out[j] == (phase == BYOC_COLLECTIVE_BEGINS ? 7 : in[j]));
    }
  }
  // What nobody receives is zeros.
  fixture_t f;
  setup(&f, 0, 0);
  float out[BLOCK] = {7, 7, 7};
  const byoc_collective_call_t what = {.kind = BYOC_PERMUTE, .members = 1, .stride = 1, .targets = to_nobody};
  assert_int_equal(call(&f, &what, in, BLOCK, out, BLOCK), BYOC_OK);
  for (int j = 0; j < BLOCK; ++j) assert_true(out[j] == 0);
}

static void one_rank_sends_to_nobody_else(void **state) {
  (void)state;
  static const float in[BLOCK] = {1, 2, 3};
  float out[BLOCK] = {7, 7, 7};
  fixture_t f;
  setup(&f, 0, 0);
  byoc_collective_call_t what = {.kind = BYOC_SEND, .members = 1, .stride = 1};
  assert_int_equal(call(&f, &what, in, BLOCK, NULL, 0), BYOC_OK);
  what.kind = BYOC_RECEIVE;
  assert_int_equal(call(&f, &what, NULL, 0, out, BLOCK), BYOC_OK);
  for (int j = 0; j < BLOCK; ++j) assert_true(out[j] == 7);
  what = (byoc_collective_call_t){.kind = BYOC_ALL_REDUCE, .members = 2, .stride = 1};
  assert_int_equal(call(&f, &what, in, BLOCK, out, BLOCK), BYOC_INVALID_ARGUMENT);
  assert_non_null(strstr(f.error, "among 2 ranks, 1 apart, does not fit 1 rank: give the context a communicator"));
}

// Rank 4 of six, three groups of two that are three apart: rank 1 and rank 4 are one.
static void a_group_is_found(void **state) {
  (void)state;
  static const float in[MOST] = {0};
  float out[MOST];
  static const char *const how[] = {"run", "begin", "end"};
  for (uint32_t phase = BYOC_COLLECTIVE_WHOLE; phase <= BYOC_COLLECTIVE_ENDS; ++phase) {
    fixture_t f;
    setup(&f, 4, 6);
    byoc_collective_call_t what = {.kind = BYOC_GATHER, .members = 2, .stride = 3, .root = 0, .phase = phase};
    memset(out, 1, sizeof out);
    assert_int_equal(call(&f, &what, in, BLOCK, out, 2 * BLOCK), BYOC_OK);
    assert_string_equal(f.how, how[phase]);
    assert_int_equal(f.asked.first, 1);
    assert_int_equal(f.asked.stride, 3);
    assert_int_equal(f.asked.members, 2);
    assert_int_equal(f.asked.count, BLOCK);
    assert_null(f.asked.receive); // rank 1 receives it
    for (int j = 0; j < 2 * BLOCK; ++j) assert_true((out[j] == 0) == (phase != BYOC_COLLECTIVE_BEGINS));
    what.root = 1;
    assert_int_equal(call(&f, &what, in, BLOCK, out, 2 * BLOCK), BYOC_OK);
    assert_ptr_equal(f.asked.receive, out);
  }
  fixture_t f;
  setup(&f, 4, 6);
  const byoc_collective_call_t all = {.kind = BYOC_SCATTER, .members = 0, .root = 5};
  assert_int_equal(call(&f, &all, in, MOST, out, 2), BYOC_OK);
  assert_int_equal(f.asked.first, 0);
  assert_int_equal(f.asked.members, 6);
  assert_int_equal(f.asked.count, 2);
  assert_int_equal(call(&f, &all, in, MOST, out, 3), BYOC_INVALID_ARGUMENT);
  assert_non_null(strstr(f.error, "12 elements become 3 among 6 ranks"));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(one_rank_receives_what_it_sends),
      cmocka_unit_test(one_rank_sends_to_nobody_else),
      cmocka_unit_test(a_group_is_found),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
