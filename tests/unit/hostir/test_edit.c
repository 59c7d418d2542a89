// SPDX-License-Identifier: Apache-2.0
// Edits of host programs: order, ranges, nested instructions and use lists.
#include "core/hostir/program/edit.h"
#include "tests/support/support.h"

typedef struct fixture_t {
  byoc_diag_t diag;
  byoc_graph_module_t *module;
  byoc_host_program_t *program;
} fixture_t;

static void set_up(fixture_t *f) {
  *f = (fixture_t){0};
  byoc_allocator_t system = byoc_allocator_system();
  byoc_test_ok(byoc_graph_module_create(system, &f->diag, &f->module), &f->diag);
  byoc_test_ok(byoc_host_program_create(f->module, "test", system, &f->diag, &f->program), &f->diag);
}

static void tear_down(fixture_t *f) {
  byoc_host_program_destroy(f->program);
  byoc_graph_module_destroy(f->module);
}

static byoc_host_buffer_t *buffer(fixture_t *f, const char *name) {
  const int64_t four = 4;
  const byoc_type_t *type = byoc_type_tensor_static(&f->program->arena, BYOC_DTYPE_F32, 1, &four);
  byoc_host_buffer_t *result = byoc_host_buffer_create(f->program, BYOC_HOST_BUFFER_LOCAL, name, type);
  assert_non_null(result);
  return result;
}

static void fill(fixture_t *f, byoc_host_instruction_t *i, const char *symbol, byoc_host_buffer_t *from,
                 byoc_host_buffer_t *to) {
  assert_non_null(i);
  i->symbol = symbol;
  assert_true(byoc_host_add_operand(f->program, i, from));
  assert_true(byoc_host_add_result(f->program, i, to));
}

static byoc_host_instruction_t *call(fixture_t *f, byoc_host_region_t *region, const char *symbol,
                                     byoc_host_buffer_t *from, byoc_host_buffer_t *to) {
  byoc_host_instruction_t *i = byoc_host_instruction_append(f->program, region, BYOC_HOST_PACKED);
  fill(f, i, symbol, from, to);
  return i;
}

// The symbols of the program's instructions in order, and all links, counts and use lists.
static void expect_order(fixture_t *f, const char *expected) {
  char order[128] = "";
  BYOC_HOST_FOR_EACH(i, f->program) {
    strcat(order, i->symbol);
  }
  assert_string_equal(order, expected);
  byoc_test_ok(byoc_host_check_edits(f->program, &f->diag), &f->diag);
}

// A branch whose two regions hold b and c.
static byoc_host_instruction_t *branch(fixture_t *f, byoc_host_buffer_t *x, byoc_host_buffer_t *y) {
  byoc_host_instruction_t *i = byoc_host_instruction_append(f->program, &f->program->body, BYOC_HOST_BRANCH);
  fill(f, i, "?", x, y);
  assert_true(byoc_host_instruction_add_regions(f->program, i, 2));
  call(f, &i->regions[0], "b", x, y);
  call(f, &i->regions[1], "c", x, y);
  return i;
}

static void test_h1_instructions_are_appended_and_inserted(void **state) {
  (void)state;
  fixture_t f;
  set_up(&f);
  byoc_host_buffer_t *x = buffer(&f, "x"), *y = buffer(&f, "y");
  byoc_host_instruction_t *b = call(&f, &f.program->body, "b", x, y);
  call(&f, &f.program->body, "c", y, x);
  fill(&f, byoc_host_instruction_create(f.program, b, BYOC_HOST_PACKED), "a", x, y);
  fill(&f, byoc_host_instruction_create(f.program, NULL, BYOC_HOST_PACKED), "d", x, y);
  expect_order(&f, "abcd");
  assert_int_equal(x->uses.count, 4);
  byoc_host_instruction_move(b, &f.program->body, NULL);
  expect_order(&f, "acdb");
  tear_down(&f);
}

// Erasing a branch left its nested instructions in the count, and leaked what they use.
static void test_h1_erase_takes_what_is_nested(void **state) {
  (void)state;
  fixture_t f;
  set_up(&f);
  byoc_host_buffer_t *x = buffer(&f, "x"), *y = buffer(&f, "y"), *p = buffer(&f, "p");
  call(&f, &f.program->body, "a", x, y);
  byoc_host_instruction_t *outer = branch(&f, x, y);
  byoc_host_instruction_t *loop = byoc_host_instruction_append(f.program, &outer->regions[1], BYOC_HOST_LOOP);
  fill(&f, loop, "@", x, y);
  assert_true(byoc_host_instruction_add_regions(f.program, loop, 1));
  assert_true(byoc_host_add_parameter(f.program, &loop->regions[0], p));
  byoc_host_instruction_t *inner = call(&f, &loop->regions[0], "i", p, y);
  assert_true(byoc_host_set_workspace(f.program, inner, x));
  call(&f, &f.program->body, "d", x, y);
  expect_order(&f, "a?bc@id");
  assert_int_equal(f.program->instruction_count, 7);
  byoc_host_instruction_erase(f.program, outer);
  expect_order(&f, "ad");
  assert_int_equal(f.program->instruction_count, 2);
  assert_int_equal(x->uses.count, 2);
  assert_int_equal(p->uses.count, 0);
  assert_false(p->is_parameter);
  tear_down(&f);
}

// A range is replaced by what is put in front of it; then it is erased.
static void test_h1_a_range_is_replaced(void **state) {
  (void)state;
  fixture_t f;
  set_up(&f);
  byoc_host_buffer_t *x = buffer(&f, "x"), *y = buffer(&f, "y");
  call(&f, &f.program->body, "a", x, y);
  byoc_host_instruction_t *q = branch(&f, x, y), *d = call(&f, &f.program->body, "d", x, y);
  call(&f, &f.program->body, "e", x, y);
  byoc_host_region_t with = {0};
  call(&f, &with, "1", x, y);
  call(&f, &with, "2", x, y);
  while (with.first != NULL) byoc_host_instruction_move(with.first, q->region, q);
  expect_order(&f, "a12?bcde");
  byoc_host_instruction_erase(f.program, q);
  byoc_host_instruction_erase(f.program, d);
  expect_order(&f, "a12e");
  assert_null(with.last);
  assert_int_equal(x->uses.count, 4);
  tear_down(&f);
}

static void test_h1_uses_are_replaced(void **state) {
  (void)state;
  fixture_t f;
  set_up(&f);
  byoc_host_buffer_t *x = buffer(&f, "x"), *y = buffer(&f, "y"), *z = buffer(&f, "z");
  byoc_host_instruction_t *a = call(&f, &f.program->body, "a", x, x);
  assert_true(byoc_host_set_workspace(f.program, a, x));
  call(&f, &f.program->body, "b", x, y);
  assert_true(byoc_host_replace_uses(f.program, x, z));
  assert_int_equal(x->uses.count, 0);
  assert_int_equal(z->uses.count, 4);
  assert_ptr_equal(a->workspace, z);
  assert_true(byoc_host_set_operand(f.program, a, 0, NULL));
  assert_true(byoc_host_set_result(f.program, a, 0, y));
  assert_true(byoc_host_set_workspace(f.program, a, NULL));
  assert_int_equal(z->uses.count, 1);
  expect_order(&f, "ab");
  tear_down(&f);
}

// What writes past the functions of edit.h is found.
static void test_h1_wrong_use_lists_are_found(void **state) {
  (void)state;
  fixture_t f;
  set_up(&f);
  byoc_host_buffer_t *x = buffer(&f, "x"), *y = buffer(&f, "y");
  byoc_host_instruction_t *a = call(&f, &f.program->body, "a", x, y);
  a->operands.data[0] = y;
  byoc_test_error(byoc_host_check_edits(f.program, &f.diag), BYOC_INTERNAL, &f.diag, "a use is missing for buffer 'y'");
  byoc_diag_clear(&f.diag);
  a->operands.data[0] = NULL;
  byoc_test_error(byoc_host_check_edits(f.program, &f.diag), BYOC_INTERNAL, &f.diag, "list 2 uses, and there are 1");
  byoc_diag_clear(&f.diag);
  a->operands.data[0] = x;
  f.program->instruction_count = 2;
  byoc_test_error(byoc_host_check_edits(f.program, &f.diag), BYOC_INTERNAL, &f.diag, "has 1 instructions");
  tear_down(&f);
}

// Any sequence of edits leaves links, counts and use lists right.
static void test_h1_random_edits_keep_lists_right(void **state) {
  (void)state;
  byoc_test_random_t random = {.state = 5};
  enum { ROUNDS = 200, EDITS = 60, BUFFERS = 5 };
  for (int round = 0; round < ROUNDS; ++round) {
    fixture_t f;
    set_up(&f);
    byoc_host_buffer_t *buffers[BUFFERS];
    for (int i = 0; i < BUFFERS; ++i) buffers[i] = buffer(&f, "t");
    for (int edit = 0; edit < EDITS; ++edit) {
      byoc_host_buffer_t *x = buffers[byoc_test_below(&random, BUFFERS)];
      byoc_host_buffer_t *y = buffers[byoc_test_below(&random, BUFFERS)];
      uint64_t at = byoc_test_below(&random, f.program->instruction_count + 1);
      byoc_host_instruction_t *i = f.program->body.first;
      while (i != NULL && at-- > 0) i = byoc_host_instruction_following(i);
      switch (byoc_test_below(&random, 7)) {
      case 0:
        if (i != NULL) byoc_host_instruction_erase(f.program, i);
        break;
      case 1:
        branch(&f, x, y);
        break;
      case 2:
        assert_true(byoc_host_replace_uses(f.program, x, y));
        break;
      case 3:
        if (i != NULL) assert_true(byoc_host_set_workspace(f.program, i, x));
        break;
      case 4:
        if (i != NULL) assert_true(byoc_host_set_operand(f.program, i, 0, x));
        break;
      default:
        fill(&f, byoc_host_instruction_create(f.program, i, BYOC_HOST_PACKED), "f", x, y);
        break;
      }
      byoc_test_ok(byoc_host_check_edits(f.program, &f.diag), &f.diag);
    }
    tear_down(&f);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_h1_instructions_are_appended_and_inserted),
      cmocka_unit_test(test_h1_erase_takes_what_is_nested),
      cmocka_unit_test(test_h1_a_range_is_replaced),
      cmocka_unit_test(test_h1_uses_are_replaced),
      cmocka_unit_test(test_h1_wrong_use_lists_are_found),
      cmocka_unit_test(test_h1_random_edits_keep_lists_right),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
