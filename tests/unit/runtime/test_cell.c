// SPDX-License-Identifier: Apache-2.0
// Run-time values: memory that is returned, counted cells, operators on sequences and optionals.
#include <stdio.h>
#include <string.h>

#include "core/runtime/cell_memory.h"
#include "core/runtime/container.h"
#include "tests/support/support.h"

static char reason[512];

static void set_error(void *self, const char *message) {
  (void)self;
  snprintf(reason, sizeof(reason), "%s", message);
}

static const byoc_runtime_t runtime = {
    .struct_size = sizeof(byoc_runtime_t), .thread_count = 1, .set_error = set_error};

static void begin(byoc_frame_t *frame) {
  assert_int_equal(byoc_frame_init(frame, &runtime, 16, 2), BYOC_OK);
  reason[0] = '\0';
}

static void fails(int32_t status, int32_t expected, const char *why) {
  assert_int_equal(status, expected);
  if (strstr(reason, why) == NULL) fail_msg("'%s' lacks '%s'", reason, why);
}

// Fills cell `index` with 0, 1, 2 ...
static void counting(byoc_frame_t *frame, uint32_t index, uint32_t rank, const int64_t *dims) {
  assert_int_equal(byoc_frame_allocate(frame, index, BYOC_DTYPE_F32, rank, dims), BYOC_OK);
  float *data = frame->cells[index]->data;
  for (uint64_t i = 0; i < byoc_cell_element_count(frame->cells[index]); ++i) data[i] = (float)i;
}

static float at(const byoc_frame_t *frame, uint32_t index, int64_t element) {
  return ((const float *)frame->cells[index]->data)[element];
}

// Every size gets at least its bytes, aligned; memory that is returned is used for the next one.
static void memory_comes_back(void **state) {
  (void)state;
  byoc_frame_t frame;
  begin(&frame);
  for (int64_t size = 0; size < 5000; size += 1 + size / 7) {
    assert_int_equal(byoc_frame_allocate(&frame, 0, BYOC_DTYPE_U8, 1, &size), BYOC_OK);
    void *data = frame.cells[0]->data;
    assert_int_equal((uintptr_t)data % BYOC_BUFFER_ALIGNMENT, 0);
    memset(data, 1, (size_t)size);
    byoc_frame_release(&frame, 0);
    assert_int_equal(byoc_frame_allocate(&frame, 1, BYOC_DTYPE_U8, 1, &size), BYOC_OK);
    assert_ptr_equal(frame.cells[1]->data, data);
    byoc_frame_release(&frame, 1);
  }
  const int64_t huge[2] = {INT64_MAX / 2, 9}, negative = -1;
  fails(byoc_frame_allocate(&frame, 0, BYOC_DTYPE_F64, 2, huge), BYOC_INVALID_ARGUMENT, "too many elements");
  fails(byoc_frame_allocate(&frame, 0, BYOC_DTYPE_F64, 1, &negative), BYOC_INVALID_ARGUMENT, "negative");
  for (int run = 0; run < 200; ++run) byoc_frame_reset(&frame); // idle blocks are freed
  for (int i = 0; i < BYOC_FRAME_SIZE_CLASSES; ++i) assert_null(frame.free_blocks[i]);
  byoc_frame_deinit(&frame);
}

// Memory of one size is used again for another only where it is large enough.
static void memory_of_another_size_suffices(void **state) {
  (void)state;
  for (int64_t small = 64; small < 4096; small += 64) {
    for (int64_t large = small + 64; large <= small + 512; large += 64) {
      byoc_frame_t frame;
      begin(&frame);
      assert_int_equal(byoc_frame_allocate(&frame, 0, BYOC_DTYPE_U8, 1, &small), BYOC_OK);
      byoc_frame_release(&frame, 0);
      assert_int_equal(byoc_frame_allocate(&frame, 0, BYOC_DTYPE_U8, 1, &large), BYOC_OK);
      assert_true(frame.cells[0]->block->capacity_bytes >= (uint64_t)large);
      byoc_frame_deinit(&frame);
    }
  }
}

static void sharing_keeps_the_bytes(void **state) {
  (void)state;
  byoc_frame_t frame;
  begin(&frame);
  counting(&frame, 0, 2, (const int64_t[]){2, 3});
  assert_int_equal(byoc_frame_share(&frame, 1, 0, BYOC_DTYPE_F32, 1, (const int64_t[]){6}), BYOC_OK);
  assert_int_equal(byoc_frame_share(&frame, 2, 1, BYOC_DTYPE_F32, 0, NULL), BYOC_OK);
  fails(byoc_frame_share(&frame, 3, 0, BYOC_DTYPE_F32, 1, (const int64_t[]){5}), BYOC_INVALID_ARGUMENT,
        "6 elements do not fit");
  // As many elements as 9 * 6148914691236517206, which is 6 modulo 2^64.
  fails(byoc_frame_share(&frame, 3, 0, BYOC_DTYPE_F32, 2, (const int64_t[]){9, INT64_C(6148914691236517206)}),
        BYOC_INVALID_ARGUMENT, "6 elements do not fit");
  fails(byoc_frame_share(&frame, 3, 0, BYOC_DTYPE_F32, 2, (const int64_t[]){-2, -3}), BYOC_INVALID_ARGUMENT,
        "6 elements do not fit");
  assert_null(frame.cells[3]);
  byoc_frame_release(&frame, 0);
  counting(&frame, 4, 2, (const int64_t[]){2, 3});
  assert_ptr_not_equal(frame.cells[4]->data, frame.cells[1]->data);
  byoc_frame_release(&frame, 1);
  assert_true(at(&frame, 2, 5) == 5);
  // A swap, and one source for two targets.
  counting(&frame, 5, 1, (const int64_t[]){1});
  byoc_frame_assign(&frame, (const uint32_t[]){5, 2, 6}, (const uint32_t[]){2, 5, 2}, 3);
  assert_int_equal(frame.cells[5]->dims[0], 6);
  assert_int_equal(frame.cells[2]->dims[0], 1);
  assert_ptr_equal(frame.cells[5], frame.cells[6]);
  byoc_frame_deinit(&frame);
}

// The caller's memory is gone when the run ends: what is handed out never lies in it, whatever its shape has become.
static void memory_of_the_caller_is_copied(void **state) {
  (void)state;
  byoc_frame_t frame;
  begin(&frame);
  float x[6] = {0, 1, 2, 3, 4, 5};
  int64_t dims[2] = {2, 3}, open[2] = {-1, 3};
  const byoc_argument_t argument = {.dtype = BYOC_DTYPE_F32, .rank = 2, .dims = dims, .data = x};
  const byoc_port_info_t port = {.name = "x", .kinds = "t", .dtype = BYOC_DTYPE_F32, .rank = 2, .dims = open};
  assert_int_equal(byoc_frame_import(&frame, 0, &argument, &port), BYOC_OK);
  assert_int_equal(byoc_frame_share(&frame, 1, 0, BYOC_DTYPE_F32, 1, (const int64_t[]){6}), BYOC_OK);
  assert_int_equal(byoc_frame_share(&frame, 2, 0, BYOC_DTYPE_F32, 0, NULL), BYOC_OK);
  for (uint32_t i = 0; i < 3; ++i) {
    byoc_argument_t result;
    assert_int_equal(byoc_frame_export(&frame, i, &result), BYOC_OK);
    assert_ptr_not_equal(result.data, x);
    assert_memory_equal(result.data, x, sizeof(x));
  }
  byoc_frame_deinit(&frame);
}

// What an instruction takes is checked: kind, element type and rank.
static void tensors_are_expected(void **state) {
  (void)state;
  byoc_frame_t frame;
  begin(&frame);
  counting(&frame, 0, 2, (const int64_t[]){2, 3});
  assert_int_equal(byoc_frame_expect(&frame, 0, BYOC_DTYPE_F32, 2, "Add 'a'"), BYOC_OK);
  fails(byoc_frame_expect(&frame, 0, BYOC_DTYPE_F32, 1, "Add 'a'"), BYOC_INVALID_ARGUMENT,
        "Add 'a' is f32 of rank 2, not f32 of rank 1");
  fails(byoc_frame_expect(&frame, 0, BYOC_DTYPE_I64, 2, "Add 'a'"), BYOC_INVALID_ARGUMENT,
        "Add 'a' is f32 of rank 2, not i64 of rank 2");
  fails(byoc_frame_expect(&frame, 1, BYOC_DTYPE_F32, 2, "Add 'a'"), BYOC_INVALID_ARGUMENT, "Add 'a' is not a tensor");
  assert_int_equal(byoc_frame_match(&frame, 0, 1, 3, "Add 'a'", "N"), BYOC_OK);
  fails(byoc_frame_match(&frame, 0, 1, 4, "Add 'a'", "N"), BYOC_INVALID_ARGUMENT,
        "Add 'a' has 3 in dimension 1, where N is 4");
  byoc_frame_deinit(&frame);
}

static void scans_grow(void **state) {
  (void)state;
  byoc_frame_t frame;
  begin(&frame);
  for (int64_t expected = -1; expected <= 100; expected += 101) {
    assert_int_equal(byoc_frame_scan_begin(&frame, 0, BYOC_DTYPE_F32, 1, (const int64_t[]){0}), BYOC_OK);
    for (int i = 0; i < 100; ++i) {
      counting(&frame, 1, 1, (const int64_t[]){3});
      ((float *)frame.cells[1]->data)[0] = (float)i;
      assert_int_equal(byoc_frame_scan_append(&frame, 0, 1, expected), BYOC_OK);
    }
    assert_int_equal(frame.cells[0]->dims[0], 100);
    for (int i = 0; i < 100; ++i) assert_true(at(&frame, 0, 3 * i) == (float)i && at(&frame, 0, 3 * i + 2) == 2);
  }
  counting(&frame, 1, 1, (const int64_t[]){4});
  fails(byoc_frame_scan_append(&frame, 0, 1, -1), BYOC_INVALID_ARGUMENT, "another shape in iteration 100");
  byoc_frame_deinit(&frame);
}

static void symbols_are_bound(void **state) {
  (void)state;
  byoc_frame_t frame;
  begin(&frame);
  const int64_t good[2] = {4, 0}, bad[2] = {4, -1};
  const uint32_t symbols[2] = {1, 0};
  assert_int_equal(byoc_frame_bind(&frame, "Reshape 'r'", good, symbols, 2), BYOC_OK);
  assert_int_equal(frame.symbols[1], 4);
  fails(byoc_frame_bind(&frame, "Reshape 'r'", bad, symbols, 2), BYOC_INVALID_ARGUMENT,
        "Reshape 'r' asks for a negative size: -1");
  assert_int_equal(byoc_dim_floordiv(-7, 2), -4);
  assert_int_equal(byoc_dim_ceildiv(7, 2), 4);
  assert_int_equal(byoc_dim_mod(-7, 2), 1);
  assert_int_equal(byoc_dim_floordiv(7, 0), 0);
  byoc_frame_deinit(&frame);
}

#define CALL(function, result, axis, flag, ...)                                                                        \
  function(&frame, &(const byoc_container_call_t){result, sizeof((const uint32_t[]){__VA_ARGS__}) / sizeof(uint32_t),  \
                                                  (const uint32_t[]){__VA_ARGS__}, axis, flag})

static void sequences_join_and_split(void **state) {
  (void)state;
  byoc_frame_t frame;
  begin(&frame);
  counting(&frame, 0, 2, (const int64_t[]){2, 5});
  const int64_t lengths[2] = {4, 1}, wrong[2] = {4, 2};
  const int64_t two = 2;
  assert_int_equal(byoc_frame_constant(&frame, 1, lengths, BYOC_DTYPE_I64, 1, &two), BYOC_OK);
  assert_int_equal(byoc_frame_constant(&frame, 2, &two, BYOC_DTYPE_I64, 0, NULL), BYOC_OK);
  assert_int_equal(byoc_frame_constant(&frame, 3, wrong, BYOC_DTYPE_I64, 1, &two), BYOC_OK);
  assert_int_equal(CALL(byoc_sequence_split, 4, 1, 1, 0, 1), BYOC_OK); // by lengths
  assert_int_equal(frame.cells[4]->count, 2);
  assert_true(((const float *)frame.cells[4]->items[1]->data)[1] == 9);
  assert_int_equal(CALL(byoc_sequence_concat, 5, -1, 0, 4), BYOC_OK);
  for (int i = 0; i < 10; ++i) assert_true(at(&frame, 5, i) == (float)i);
  assert_int_equal(CALL(byoc_sequence_split, 4, 1, 1, 0, 2), BYOC_OK); // 2, 2, 1
  assert_int_equal(frame.cells[4]->count, 3);
  assert_int_equal(frame.cells[4]->items[2]->dims[1], 1);
  fails(CALL(byoc_sequence_concat, 5, 0, 0, 4), BYOC_INVALID_ARGUMENT, "item 2 of the sequence has another shape");
  fails(CALL(byoc_sequence_split, 5, 1, 1, 0, 3), BYOC_INVALID_ARGUMENT, "do not add up to 5");
  fails(CALL(byoc_sequence_split, 5, 2, 1, 0, 3), BYOC_INVALID_ARGUMENT, "axis 2");
  assert_int_equal(CALL(byoc_sequence_split, 4, 0, 0, 0, BYOC_CELL_NONE), BYOC_OK); // one by one, without the axis
  assert_int_equal(frame.cells[4]->items[0]->rank, 1);
  assert_int_equal(CALL(byoc_sequence_concat, 5, 0, 1, 4), BYOC_OK); // and back, along a new axis
  counting(&frame, 6, 2, (const int64_t[]){5, 1}); // 5 elements like the others, and one dimension more
  assert_int_equal(CALL(byoc_sequence_insert, 7, 0, 0, 4, 6), BYOC_OK);
  fails(CALL(byoc_sequence_concat, 8, 0, 0, 7), BYOC_INVALID_ARGUMENT, "of the sequence has another shape");
  assert_int_equal(frame.cells[5]->rank, 2);
  assert_true(at(&frame, 5, 7) == 7);
  byoc_frame_reset(&frame); // constants stay
  assert_non_null(frame.cells[1]);
  assert_null(frame.cells[0]);
  byoc_frame_deinit(&frame);
}

// Lengths and positions given by the caller, including an empty tensor without data.
static void parts_and_positions_from_outside(void **state) {
  (void)state;
  static const int64_t huge = INT64_MAX, over[] = {7, -4, 2}, under[] = {-1, 1, 5}, most[] = {INT64_MAX, INT64_MAX};
  static const int64_t none = 0, two = 2, three = 3;
  byoc_frame_t frame;
  begin(&frame);
  counting(&frame, 0, 1, (const int64_t[]){5});
  counting(&frame, 1, 1, &none);
  assert_int_equal(byoc_frame_constant(&frame, 2, NULL, BYOC_DTYPE_I64, 1, &none), BYOC_OK);
  assert_int_equal(byoc_frame_constant(&frame, 3, &huge, BYOC_DTYPE_I64, 0, NULL), BYOC_OK);
  assert_int_equal(byoc_frame_constant(&frame, 4, over, BYOC_DTYPE_I64, 1, &three), BYOC_OK);
  assert_int_equal(byoc_frame_constant(&frame, 5, under, BYOC_DTYPE_I64, 1, &three), BYOC_OK);
  assert_int_equal(byoc_frame_constant(&frame, 6, most, BYOC_DTYPE_I64, 1, &two), BYOC_OK);
  fails(CALL(byoc_sequence_split, 7, 0, 1, 0, 2), BYOC_INVALID_ARGUMENT, "do not add up to 5");
  assert_int_equal(CALL(byoc_sequence_split, 7, 0, 1, 1, 2), BYOC_OK); // nothing into no parts
  assert_int_equal(frame.cells[7]->count, 0);
  assert_int_equal(CALL(byoc_sequence_split, 7, 0, 1, 0, 3), BYOC_OK);
  assert_int_equal(frame.cells[7]->count, 1);
  assert_int_equal(frame.cells[7]->items[0]->dims[0], 5);
  for (uint32_t split = 4; split <= 6; ++split) {
    fails(CALL(byoc_sequence_split, 8, 0, 1, 0, split), BYOC_INVALID_ARGUMENT, "do not add up to 5");
  }
  fails(CALL(byoc_sequence_at, 8, 0, 0, 7, 2), BYOC_INVALID_ARGUMENT, "position in a sequence is an empty tensor");
  byoc_frame_deinit(&frame);
}

static void optionals(void **state) {
  (void)state;
  byoc_frame_t frame;
  begin(&frame);
  counting(&frame, 0, 1, (const int64_t[]){2});
  assert_int_equal(CALL(byoc_optional_make, 1, 0, 0, 0), BYOC_OK);
  assert_int_equal(byoc_optional_make(&frame, &(const byoc_container_call_t){.result = 2}), BYOC_OK);
  for (uint32_t i = 0; i < 3; ++i) {
    assert_int_equal(CALL(byoc_optional_has_element, 3, 0, 0, i), BYOC_OK);
    assert_int_equal(byoc_cell_integer(frame.cells[3], 0), i < 2);
  }
  assert_int_equal(CALL(byoc_optional_get_element, 4, 0, 0, 1), BYOC_OK);
  assert_true(at(&frame, 4, 1) == 1);
  fails(CALL(byoc_optional_get_element, 4, 0, 0, 2), BYOC_INVALID_ARGUMENT, "the optional is empty");
  byoc_frame_deinit(&frame);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(memory_comes_back),
      cmocka_unit_test(memory_of_another_size_suffices),
      cmocka_unit_test(sharing_keeps_the_bytes),
      cmocka_unit_test(memory_of_the_caller_is_copied),
      cmocka_unit_test(tensors_are_expected),
      cmocka_unit_test(scans_grow),
      cmocka_unit_test(symbols_are_bound),
      cmocka_unit_test(sequences_join_and_split),
      cmocka_unit_test(parts_and_positions_from_outside),
      cmocka_unit_test(optionals),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
