// SPDX-License-Identifier: Apache-2.0
// The communicator over processes of one machine: what collectives compute, and what happens when ranks misbehave.
#include "tests/support/ranks.h"
#include "tests/support/support.h"

#include <dirent.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "byoc/communicator_reduce.h"

#define CHECK(condition) BYOC_RANK_CHECK(c, condition)

static byoc_collective_t of(uint32_t kind, uint64_t count, const byoc_communicator_t *c, const void *send,
                            void *receive) {
  return (byoc_collective_t){.struct_size = sizeof(byoc_collective_t),
                             .kind = kind,
                             .dtype = BYOC_DTYPE_F32,
                             .count = count,
                             .stride = 1,
                             .members = c->size,
                             .send = send,
                             .receive = receive};
}

static int32_t call(const byoc_communicator_t *c, const byoc_collective_t *collective) {
  return c->run(c->self, collective);
}

static bool says(const byoc_communicator_t *c, const char *text) {
  return strstr(c->last_error(c->self), text) != NULL;
}

// ---- what they compute ----

enum { BLOCK = 300000, MOST = 4 }; // more than an outbox holds

static float sent(int32_t rank, uint64_t i) {
  return (float)(rank + 1) * 0.1f + (float)(i % 1000) * 1e-3f;
}

static float sum(int32_t size, uint64_t i) {
  float result = sent(0, i);
  for (int32_t r = 1; r < size; ++r) result += sent(r, i);
  return result;
}

static int every_kind(void *self, const byoc_communicator_t *c) {
  (void)self;
  static float out[MOST * BLOCK], in[MOST * BLOCK];
  const uint64_t n = (uint64_t)c->size, own = (uint64_t)c->rank;
  static const uint64_t counts[] = {BLOCK, 1, 7};
  for (size_t k = 0; k < sizeof(counts) / sizeof(*counts); ++k) {
    const uint64_t count = counts[k];
    for (uint64_t i = 0; i < n * count; ++i) out[i] = sent(c->rank, i);
    const int32_t root = c->size - 1;

    byoc_collective_t x = of(BYOC_BROADCAST, count, c, out, in);
    x.root = root;
    CHECK(call(c, &x) == BYOC_OK);
    for (uint64_t i = 0; i < count; ++i) CHECK(in[i] == sent(root, i));
    memset(in, 0, sizeof(in));
    x.kind = BYOC_GATHER;
    CHECK(call(c, &x) == BYOC_OK);
    for (uint64_t i = 0; c->rank == root && i < n * count; ++i) CHECK(in[i] == sent((int32_t)(i / count), i % count));
    CHECK(c->rank == root || in[0] == 0);
    x = of(BYOC_ALL_GATHER, count, c, out, in);
    CHECK(call(c, &x) == BYOC_OK);
    for (uint64_t i = 0; i < n * count; ++i) CHECK(in[i] == sent((int32_t)(i / count), i % count));
    x.kind = BYOC_SCATTER;
    CHECK(call(c, &x) == BYOC_OK);
    for (uint64_t i = 0; i < count; ++i) CHECK(in[i] == sent(0, own * count + i));
    memset(in, 0, sizeof(in));
    x.kind = BYOC_REDUCE;
    CHECK(call(c, &x) == BYOC_OK);
    for (uint64_t i = 0; c->rank == 0 && i < count; ++i) CHECK(in[i] == sum(c->size, i));
    CHECK(c->rank == 0 || in[0] == 0);
    x.kind = BYOC_ALL_REDUCE;
    CHECK(call(c, &x) == BYOC_OK);
    for (uint64_t i = 0; i < count; ++i) CHECK(in[i] == sum(c->size, i)); // bit for bit, in the order of the ranks
    x.kind = BYOC_REDUCE_SCATTER;
    CHECK(call(c, &x) == BYOC_OK);
    for (uint64_t i = 0; i < count; ++i) CHECK(in[i] == sum(c->size, own * count + i));
    x.kind = BYOC_ALL_TO_ALL;
    CHECK(call(c, &x) == BYOC_OK);
    for (uint64_t i = 0; i < n * count; ++i) {
      CHECK(in[i] == sent((int32_t)(i / count), own * count + i % count));
    }
  }
  return 0;
}

static void test_every_kind(void **state) {
  (void)state;
  for (int32_t count = 1; count <= MOST; ++count) byoc_test_run_ranks(count, every_kind, NULL, NULL);
}

// A ring, a shift that ends, and a pair; each in two steps.
static int permutes(void *self, const byoc_communicator_t *c) {
  (void)self;
  static float out[BLOCK], in[BLOCK];
  for (uint64_t i = 0; i < BLOCK; ++i) out[i] = sent(c->rank, i);
  int32_t targets[MOST];
  for (int32_t r = 0; r < c->size; ++r) targets[r] = (r + 1) % c->size;
  byoc_collective_t x = of(BYOC_PERMUTE, BLOCK, c, out, in);
  x.targets = targets;
  CHECK(c->begin(c->self, &x) == BYOC_OK && c->end(c->self, &x) == BYOC_OK);
  for (uint64_t i = 0; i < BLOCK; ++i) CHECK(in[i] == sent((c->rank + c->size - 1) % c->size, i));
  targets[c->size - 1] = -1;
  in[0] = 42;
  CHECK(call(c, &x) == BYOC_OK);
  CHECK(in[0] == (c->rank == 0 ? 42 : sent(c->rank - 1, 0)));
  if (c->rank > 1) return 0;
  x = of(c->rank == 0 ? BYOC_SEND : BYOC_RECEIVE, BLOCK, c, out, in);
  x.root = 1 - c->rank;
  CHECK(call(c, &x) == BYOC_OK);
  CHECK(c->rank == 0 || in[BLOCK - 1] == sent(0, BLOCK - 1));
  return 0;
}

static void test_permutes(void **state) {
  (void)state;
  for (int32_t count = 2; count <= MOST; ++count) byoc_test_run_ranks(count, permutes, NULL, NULL);
}

// ---- what has begun goes on ----

enum { MOST_SECONDS = 60 };

static bool wait_for_byte(int file) {
  struct pollfd what = {.fd = file, .events = POLLIN};
  char byte = 0;
  return poll(&what, 1, MOST_SECONDS * 1000) == 1 && read(file, &byte, 1) == 1;
}

// Rank 0 does nothing between begin and end before rank 1 has got all of its pieces.
static int goes_on(void *self, const byoc_communicator_t *c) {
  const int *pipe_of = self;
  static float out[BLOCK], in[BLOCK];
  for (uint64_t i = 0; i < BLOCK; ++i) out[i] = sent(c->rank, i);
  byoc_collective_t x = of(BYOC_ALL_REDUCE, BLOCK, c, out, in);
  for (int turn = 0; turn < 20; ++turn) {
    if (c->rank == 0) {
      CHECK(c->begin(c->self, &x) == BYOC_OK);
      CHECK(wait_for_byte(pipe_of[0]));
      CHECK(c->end(c->self, &x) == BYOC_OK);
    } else {
      CHECK(call(c, &x) == BYOC_OK);
      CHECK(write(pipe_of[1], "x", 1) == 1);
    }
    for (uint64_t i = 0; i < BLOCK; ++i) CHECK(in[i] == sum(2, i));
  }
  return 0;
}

// The other one dies, or leaves, while a collective is under way. Rank 0 may leave it without an end, too.
static int ends_early(void *self, const byoc_communicator_t *c) {
  static float out[BLOCK], in[BLOCK];
  byoc_collective_t x = of(BYOC_ALL_REDUCE, BLOCK, c, out, in);
  const bool is_killed = self != NULL;
  if (c->rank == 1) return is_killed ? -SIGKILL : 0;
  CHECK(c->begin(c->self, &x) == BYOC_OK);
  if (!is_killed) return 0;
  CHECK(c->end(c->self, &x) == BYOC_IO);
  CHECK(says(c, "rank 1 has died"));
  return 0;
}

static void test_h15_a_rank_goes_on_between_two_steps(void **state) {
  (void)state;
  int pipe_of[2];
  assert_int_equal(pipe(pipe_of), 0);
  byoc_test_run_ranks(2, goes_on, pipe_of, NULL);
  byoc_test_run_ranks(2, ends_early, pipe_of, (const int[]){0, -SIGKILL});
  byoc_test_run_ranks(2, ends_early, NULL, NULL);
  (void)close(pipe_of[0]);
  (void)close(pipe_of[1]);
}

// Rows and columns of a mesh of two by two, in turns.
static int groups(void *self, const byoc_communicator_t *c) {
  (void)self;
  for (int turn = 0; turn < 200; ++turn) {
    float own = (float)(c->rank + 10 * turn), result = 0;
    byoc_collective_t x = of(BYOC_ALL_REDUCE, 1, c, &own, &result);
    x.members = 2;
    x.first = c->rank / 2 * 2;
    CHECK(call(c, &x) == BYOC_OK);
    CHECK(result == (float)(2 * x.first + 1 + 20 * turn));
    x.first = c->rank % 2;
    x.stride = 2;
    CHECK(call(c, &x) == BYOC_OK);
    CHECK(result == (float)(2 * x.first + 2 + 20 * turn));
  }
  return 0;
}

static void test_groups(void **state) {
  (void)state;
  byoc_test_run_ranks(4, groups, NULL, NULL);
}

static void test_reductions(void **state) {
  (void)state;
  uint16_t half[] = {0x3c00, 0x0001, 0x7bff, 0x8000}; // 1, 2^-24, 65504, -0
  const uint16_t more[] = {0x3c01, 0x0001, 0x7bff, 0x0000};
  assert_true(byoc_reduce(BYOC_DTYPE_F16, BYOC_REDUCE_SUM, half, more, 4));
  const uint16_t sums[] = {0x4000, 0x0002, 0x7c00, 0x0000}; // ties go to even
  assert_memory_equal(half, sums, sizeof(sums));
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    const float value = byoc_reduce_from_f16((uint16_t)bits);
    if (value == value) assert_int_equal(byoc_reduce_to_f16(value), bits);
    const float wide = byoc_reduce_from_bf16((uint16_t)bits);
    if (wide == wide) assert_int_equal(byoc_reduce_to_bf16(wide), bits);
  }
  int8_t small[] = {100, -100}, other[] = {100, 50};
  assert_true(byoc_reduce(BYOC_DTYPE_I8, BYOC_REDUCE_SUM, small, other, 2));
  assert_int_equal(small[0], -56); // integers wrap
  assert_true(byoc_reduce(BYOC_DTYPE_I8, BYOC_REDUCE_MAX, small, other, 2));
  assert_int_equal(small[1], 50);
  assert_false(byoc_can_reduce(BYOC_DTYPE_BOOL, BYOC_REDUCE_SUM));
  assert_false(byoc_can_reduce(BYOC_DTYPE_C64, BYOC_REDUCE_SUM));
  assert_false(byoc_can_reduce(BYOC_DTYPE_F32, BYOC_REDUCTION_COUNT));
}

// ---- ranks that misbehave ----

static int one_is_killed(void *self, const byoc_communicator_t *c) {
  (void)self;
  const time_t begin = time(NULL);
  float own = 1, result = 0;
  byoc_collective_t x = of(BYOC_ALL_REDUCE, 1, c, &own, &result);
  CHECK(call(c, &x) == BYOC_OK);
  if (c->rank == 1) return -SIGKILL;
  CHECK(call(c, &x) == BYOC_IO);
  CHECK(says(c, "rank 1 has died"));
  CHECK(call(c, &x) == BYOC_IO && says(c, "rank 1 has died")); // it stays so
  CHECK(time(NULL) - begin <= 5);
  return 0;
}

static size_t count_files(const char *folder) {
  DIR *directory = opendir(folder);
  size_t count = 0;
  while (directory != NULL && readdir(directory) != NULL) ++count;
  if (directory != NULL) (void)closedir(directory);
  return count;
}

static void test_killed_rank(void **state) {
  (void)state;
  const int expected[] = {0, -SIGKILL, 0, 0};
  const size_t files = count_files("/dev/shm");
  for (int32_t count = 2; count <= 4; ++count) byoc_test_run_ranks(count, one_is_killed, NULL, expected);
  assert_int_equal(count_files("/dev/shm"), files); // the memory has no name
}

// Rank 2 waits for rank 0, which has given up because rank 1 was killed.
static int chain(void *self, const byoc_communicator_t *c) {
  (void)self;
  float own = 1, result = 0;
  byoc_collective_t x = of(BYOC_ALL_REDUCE, 1, c, &own, &result);
  x.members = 2;
  if (c->rank == 1) return -SIGKILL;
  if (c->rank == 2) x.stride = 2;
  CHECK(call(c, &x) == BYOC_IO);
  CHECK(says(c, "rank 1 has died"));
  return 0;
}

static void test_killed_rank_is_named(void **state) {
  (void)state;
  byoc_test_run_ranks(3, chain, NULL, (const int[]){0, -SIGKILL, 0});
}

static int one_leaves(void *self, const byoc_communicator_t *c) {
  (void)self;
  float own = 1, result = 0;
  byoc_collective_t x = of(BYOC_ALL_REDUCE, 1, c, &own, &result);
  CHECK(call(c, &x) == BYOC_OK);
  if (c->rank == 0) return 0;
  CHECK(call(c, &x) == BYOC_IO);
  CHECK(says(c, "rank 0 has come to its end"));
  return 0;
}

static int other_sizes(void *self, const byoc_communicator_t *c) {
  (void)self;
  float own[4] = {0}, result[4];
  byoc_collective_t x = of(BYOC_ALL_REDUCE, c->rank == 0 ? 3 : 4, c, own, result);
  CHECK(call(c, &x) == BYOC_INVALID_DATA);
  CHECK(says(c, "all_reduce of 3 f32") && says(c, "all_reduce of 4 f32") && says(c, "in the same order"));
  return 0;
}

static int other_order(void *self, const byoc_communicator_t *c) {
  (void)self;
  float own[2] = {0}, result[4];
  byoc_collective_t x = of(c->rank == 0 ? BYOC_ALL_GATHER : BYOC_ALL_REDUCE, 2, c, own, result);
  CHECK(call(c, &x) == BYOC_INVALID_DATA);
  CHECK(says(c, "all_gather of 2 f32") && says(c, "all_reduce of 2 f32"));
  return 0;
}

// Each waits for the next one.
static int circle(void *self, const byoc_communicator_t *c) {
  (void)self;
  float own = 0;
  byoc_collective_t x = of(BYOC_RECEIVE, 1, c, NULL, &own);
  x.root = (c->rank + 1) % c->size;
  const int32_t status = call(c, &x);
  CHECK(status == BYOC_INVALID_DATA || status == BYOC_IO);
  CHECK(says(c, "wait for each other") || says(c, "has failed"));
  return 0;
}

static void test_mismatches(void **state) {
  (void)state;
  byoc_test_run_ranks(2, one_leaves, NULL, NULL);
  byoc_test_run_ranks(2, other_sizes, NULL, NULL);
  byoc_test_run_ranks(2, other_order, NULL, NULL);
  byoc_test_run_ranks(2, circle, NULL, NULL);
  byoc_test_run_ranks(3, circle, NULL, NULL);
}

static int refusals(void *self, const byoc_communicator_t *c) {
  (void)self;
  float own = 0, result = 0;
  byoc_collective_t x = of(BYOC_ALL_REDUCE, 1, c, &own, &result);
  if (c->rank == 0) x.dtype = BYOC_DTYPE_STRING;
  if (c->rank == 1) x.members = 5;
  if (c->rank == 2) x.reduction = 9;
  if (c->rank == 3) x.kind = 99;
  const int32_t status = call(c, &x);
  CHECK(status == (c->rank == 1 ? BYOC_INVALID_ARGUMENT : BYOC_UNSUPPORTED));
  CHECK(c->last_error(c->self)[0] != '\0');
  return 0;
}

// A rank gives up; the one that waits for it fails, and is told who it was. What it began may still be ended.
static int one_gives_up(void *self, const byoc_communicator_t *c) {
  (void)self;
  static float block[1 << 18], all[4 << 18];
  byoc_collective_t x = of(BYOC_ALL_GATHER, 1 << 18, c, block, all);
  if (c->rank == 0) {
    CHECK(c->begin(c->self, &x) == BYOC_OK);
    c->abandon(c->self);
    (void)c->end(c->self, &x); // the others may have been quicker
    CHECK(call(c, &x) == BYOC_CANCELLED);
    CHECK(says(c, "the run of rank 0 was ended early"));
    return 0;
  }
  int32_t status = BYOC_OK;
  while (status == BYOC_OK) status = call(c, &x);
  CHECK(status == BYOC_IO && says(c, "rank 0 has failed, and rank"));
  return 0;
}

static int32_t ends_at_once(void *waiter) {
  return *(int32_t *)waiter;
}

// The other one does not come: the one that waits asks whether its run is to end.
static int one_waits(void *self, const byoc_communicator_t *c) {
  (void)self;
  float block = 1, all[4];
  int32_t is_over = 1;
  byoc_collective_t x = of(BYOC_ALL_GATHER, 1, c, &block, all);
  x.is_ending = ends_at_once;
  x.waiter = &is_over;
  if (c->rank == 1) return 0;
  CHECK(call(c, &x) == BYOC_CANCELLED);
  CHECK(says(c, "the run of rank 0 was ended early"));
  return 0;
}

static void test_ranks_that_give_up(void **state) {
  (void)state;
  for (int32_t count = 2; count <= 3; ++count) byoc_test_run_ranks(count, one_gives_up, NULL, NULL);
  byoc_test_run_ranks(2, one_waits, NULL, NULL);
}

static void test_refusals(void **state) {
  (void)state;
  byoc_diag_t diag = {0};
  byoc_shared_ranks_t *ranks = NULL;
  byoc_test_run_ranks(4, refusals, NULL, NULL);
  assert_int_equal(byoc_shared_ranks_create(0, byoc_allocator_system(), &diag, &ranks), BYOC_INVALID_ARGUMENT);
  assert_string_equal(diag.message, "0 ranks are not between 1 and 64");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_every_kind),
      cmocka_unit_test(test_permutes),
      cmocka_unit_test(test_h15_a_rank_goes_on_between_two_steps),
      cmocka_unit_test(test_groups),
      cmocka_unit_test(test_reductions),
      cmocka_unit_test(test_killed_rank),
      cmocka_unit_test(test_killed_rank_is_named),
      cmocka_unit_test(test_mismatches),
      cmocka_unit_test(test_refusals),
      cmocka_unit_test(test_ranks_that_give_up),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
