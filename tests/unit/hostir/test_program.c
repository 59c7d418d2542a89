// SPDX-License-Identifier: Apache-2.0
// Host programs made by hand: verifier, lifetimes, memory plan, text form.
#include "core/hostir/evaluate/evaluate.h"
#include "core/hostir/lower/lower_program.h"
#include "core/hostir/program/edit.h"
#include "core/hostir/text/program_text.h"
#include "tests/support/support.h"

typedef struct fixture_t {
  byoc_graph_module_t *module;
  byoc_host_program_t *program;
  byoc_diag_t diag;
} fixture_t;

static void set_up(fixture_t *f) {
  *f = (fixture_t){0};
  byoc_test_ok(byoc_graph_module_create(byoc_allocator_system(), &f->diag, &f->module), &f->diag);
  byoc_test_ok(byoc_host_program_create(f->module, "test", byoc_allocator_system(), &f->diag, &f->program), &f->diag);
}

static void tear_down(fixture_t *f) {
  byoc_host_program_destroy(f->program);
  byoc_graph_module_destroy(f->module);
}

static byoc_host_buffer_t *buffer(fixture_t *f, byoc_host_buffer_kind_t kind, const char *name, int64_t count) {
  const byoc_type_t *type = byoc_type_tensor_static(&f->program->arena, BYOC_DTYPE_F32, 1, &count);
  byoc_host_buffer_t *made = byoc_host_buffer_create(f->program, kind, name, type);
  assert_non_null(made);
  byoc_allocator_t allocator = byoc_allocator_system();
  if (kind == BYOC_HOST_BUFFER_INPUT) assert_true(byoc_vector_push(&f->program->inputs, allocator, made));
  if (kind == BYOC_HOST_BUFFER_OUTPUT) assert_true(byoc_vector_push(&f->program->outputs, allocator, made));
  return made;
}

static byoc_host_instruction_t *copy(fixture_t *f, byoc_host_buffer_t *from, byoc_host_buffer_t *to) {
  byoc_host_instruction_t *i = byoc_host_instruction_create(f->program, NULL, BYOC_HOST_COPY);
  assert_non_null(i);
  assert_true(byoc_host_add_operand(f->program, i, from));
  assert_true(byoc_host_add_result(f->program, i, to));
  return i;
}

static void prints_the_whole_program(void **state) {
  (void)state;
  fixture_t f;
  set_up(&f);
  byoc_host_buffer_t *x = buffer(&f, BYOC_HOST_BUFFER_INPUT, "gpu_0/x", 4);
  byoc_host_buffer_t *t = buffer(&f, BYOC_HOST_BUFFER_LOCAL, "t", 4);
  byoc_host_buffer_t *y = buffer(&f, BYOC_HOST_BUFFER_OUTPUT, "y", 4);
  copy(&f, x, t);
  copy(&f, t, y)->origin = "the last one";
  byoc_test_ok(byoc_host_place_lifetimes(f.program, &f.diag), &f.diag);
  byoc_test_ok(byoc_host_plan_memory(f.program, &f.diag), &f.diag);
  byoc_string_t text;
  byoc_string_init(&text, byoc_allocator_system());
  byoc_host_program_print(f.program, NULL, &text);
  byoc_test_same_text(text.data, "host program \"test\" workspace 64 bound 64 {\n"
                                 "  input    %\"gpu_0/x\" : f32[4]\n"
                                 "  local    %t : f32[4] at 0\n"
                                 "  output   %y : f32[4]\n"
                                 "\n"
                                 "  allocate %t\n"
                                 "  copy %\"gpu_0/x\" -> %t\n"
                                 "  copy %t -> %y \"the last one\"\n"
                                 "  free %t\n"
                                 "}\n");
  byoc_string_deinit(&text);
  tear_down(&f);
}

static void names_are_unique(void **state) {
  (void)state;
  fixture_t f;
  set_up(&f);
  const byoc_host_buffer_t *a = buffer(&f, BYOC_HOST_BUFFER_LOCAL, "t", 4);
  const byoc_host_buffer_t *b = buffer(&f, BYOC_HOST_BUFFER_LOCAL, "t", 4);
  assert_string_not_equal(a->name, b->name);
  tear_down(&f);
}

// ---- the verifier ----

static void refuses_a_read_before_a_write(void **state) {
  (void)state;
  fixture_t f;
  set_up(&f);
  byoc_host_buffer_t *t = buffer(&f, BYOC_HOST_BUFFER_LOCAL, "t", 4);
  copy(&f, t, buffer(&f, BYOC_HOST_BUFFER_OUTPUT, "y", 4));
  byoc_test_ok(byoc_host_place_lifetimes(f.program, &f.diag), &f.diag);
  byoc_test_error(byoc_host_program_verify(f.program, &f.diag), BYOC_INTERNAL, &f.diag, "read before it is written");
  tear_down(&f);
}

static void refuses_writing_an_input(void **state) {
  (void)state;
  fixture_t f;
  set_up(&f);
  byoc_host_buffer_t *x = buffer(&f, BYOC_HOST_BUFFER_INPUT, "x", 4);
  copy(&f, x, buffer(&f, BYOC_HOST_BUFFER_INPUT, "z", 4));
  byoc_test_error(byoc_host_program_verify(f.program, &f.diag), BYOC_INTERNAL, &f.diag, "'z' is read-only");
  tear_down(&f);
}

static void refuses_an_output_that_nothing_writes(void **state) {
  (void)state;
  fixture_t f;
  set_up(&f);
  buffer(&f, BYOC_HOST_BUFFER_OUTPUT, "y", 4);
  byoc_test_error(byoc_host_program_verify(f.program, &f.diag), BYOC_INTERNAL, &f.diag, "'y' is read before");
  tear_down(&f);
}

static void refuses_a_buffer_without_a_life(void **state) {
  (void)state;
  fixture_t f;
  set_up(&f);
  byoc_host_buffer_t *x = buffer(&f, BYOC_HOST_BUFFER_INPUT, "x", 4);
  copy(&f, x, buffer(&f, BYOC_HOST_BUFFER_LOCAL, "t", 4));
  byoc_test_error(byoc_host_program_verify(f.program, &f.diag), BYOC_INTERNAL, &f.diag, "outside its lifetime");
  tear_down(&f);
}

static void refuses_a_leak(void **state) {
  (void)state;
  fixture_t f;
  set_up(&f);
  byoc_host_buffer_t *x = buffer(&f, BYOC_HOST_BUFFER_INPUT, "x", 4);
  copy(&f, x, buffer(&f, BYOC_HOST_BUFFER_LOCAL, "t", 4));
  byoc_test_ok(byoc_host_place_lifetimes(f.program, &f.diag), &f.diag);
  byoc_host_instruction_erase(f.program, f.program->body.last);
  byoc_test_error(byoc_host_program_verify(f.program, &f.diag), BYOC_INTERNAL, &f.diag, "is never freed");
  tear_down(&f);
}

static void refuses_copies_of_other_sizes(void **state) {
  (void)state;
  fixture_t f;
  set_up(&f);
  byoc_host_buffer_t *x = buffer(&f, BYOC_HOST_BUFFER_INPUT, "x", 4);
  copy(&f, x, buffer(&f, BYOC_HOST_BUFFER_OUTPUT, "y", 5));
  byoc_test_error(byoc_host_program_verify(f.program, &f.diag), BYOC_INTERNAL, &f.diag, "another size");
  tear_down(&f);
}

static void refuses_overlapping_lives(void **state) {
  (void)state;
  fixture_t f;
  set_up(&f);
  byoc_host_buffer_t *x = buffer(&f, BYOC_HOST_BUFFER_INPUT, "x", 4);
  byoc_host_buffer_t *a = buffer(&f, BYOC_HOST_BUFFER_LOCAL, "a", 4), *b = buffer(&f, BYOC_HOST_BUFFER_LOCAL, "b", 4);
  copy(&f, x, a);
  copy(&f, a, b);
  copy(&f, b, buffer(&f, BYOC_HOST_BUFFER_OUTPUT, "y", 4));
  byoc_test_ok(byoc_host_place_lifetimes(f.program, &f.diag), &f.diag);
  byoc_test_ok(byoc_host_plan_memory(f.program, &f.diag), &f.diag);
  assert_int_equal(f.program->workspace_size_bytes, 128);
  b->offset_bytes = a->offset_bytes;
  byoc_test_error(byoc_host_program_verify(f.program, &f.diag), BYOC_INTERNAL, &f.diag, "overlaps");
  tear_down(&f);
}

// ---- the memory plan ----

static void a_chain_needs_two_buffers(void **state) {
  (void)state;
  fixture_t f;
  set_up(&f);
  byoc_host_buffer_t *last = buffer(&f, BYOC_HOST_BUFFER_INPUT, "x", 100);
  for (int i = 0; i < 20; ++i) {
    byoc_host_buffer_t *next = buffer(&f, BYOC_HOST_BUFFER_LOCAL, "t", 100);
    copy(&f, last, next);
    last = next;
  }
  copy(&f, last, buffer(&f, BYOC_HOST_BUFFER_OUTPUT, "y", 100));
  byoc_test_ok(byoc_host_place_lifetimes(f.program, &f.diag), &f.diag);
  byoc_test_ok(byoc_host_plan_memory(f.program, &f.diag), &f.diag);
  assert_int_equal(f.program->workspace_size_bytes, 2 * 448); // 400 bytes, aligned
  assert_int_equal(f.program->workspace_bound_bytes, 2 * 448);
  tear_down(&f);
}

// Views keep their base alive.
static void views_extend_lives(void **state) {
  (void)state;
  fixture_t f;
  set_up(&f);
  byoc_host_buffer_t *x = buffer(&f, BYOC_HOST_BUFFER_INPUT, "x", 16);
  byoc_host_buffer_t *a = buffer(&f, BYOC_HOST_BUFFER_LOCAL, "a", 16), *b = buffer(&f, BYOC_HOST_BUFFER_LOCAL, "b", 16);
  int64_t half = 8;
  const byoc_type_t *type = byoc_type_tensor_static(&f.program->arena, BYOC_DTYPE_F32, 1, &half);
  byoc_host_buffer_t *view = byoc_host_view_create(f.program, a, "v", type, 32);
  copy(&f, x, a);
  copy(&f, x, b);
  copy(&f, b, buffer(&f, BYOC_HOST_BUFFER_OUTPUT, "y", 16));
  copy(&f, view, buffer(&f, BYOC_HOST_BUFFER_OUTPUT, "z", 8));
  byoc_test_ok(byoc_host_place_lifetimes(f.program, &f.diag), &f.diag);
  byoc_test_ok(byoc_host_plan_memory(f.program, &f.diag), &f.diag);
  assert_int_equal(f.program->workspace_size_bytes, 128);
  byoc_host_buffer_t *inner = byoc_host_view_create(f.program, view, "w", type, 0);
  assert_ptr_equal(inner->base, a);
  assert_int_equal(inner->offset_bytes, 32);
  tear_down(&f);
}

// Random programs: the plan passes the verifier (no two buffers alive at once overlap) and is near the bound.
static void random_programs_are_planned(void **state) {
  (void)state;
  byoc_test_random_t random = {.state = 7};
  enum { ROUNDS = 200 };
  double worst = 1.0;
  for (int round = 0; round < ROUNDS; ++round) {
    fixture_t f;
    set_up(&f);
    byoc_host_buffer_t *made[64] = {buffer(&f, BYOC_HOST_BUFFER_INPUT, "x", 1)};
    int count = 2 + (int)byoc_test_below(&random, 60);
    for (int i = 1; i < count; ++i) {
      made[i] = buffer(&f, BYOC_HOST_BUFFER_LOCAL, "t", 1 + (int64_t)byoc_test_below(&random, 1000));
      byoc_host_instruction_t *call = byoc_host_instruction_create(f.program, NULL, BYOC_HOST_PACKED);
      call->symbol = "f";
      for (uint64_t k = 0; k <= byoc_test_below(&random, 3); ++k) {
        assert_true(byoc_host_add_operand(f.program, call, made[byoc_test_below(&random, (uint64_t)i)]));
      }
      assert_true(byoc_host_add_result(f.program, call, made[i]));
    }
    byoc_test_ok(byoc_host_place_lifetimes(f.program, &f.diag), &f.diag);
    byoc_test_ok(byoc_host_plan_memory(f.program, &f.diag), &f.diag);
    assert_true(f.program->workspace_size_bytes >= f.program->workspace_bound_bytes);
    double ratio = (double)f.program->workspace_size_bytes / (double)f.program->workspace_bound_bytes;
    if (ratio > worst) worst = ratio;
    tear_down(&f);
  }
  printf("worst %g\n", worst);
  assert_true(worst < 1.35);
}

// Types may be nested deeper than a description has room for; the rest is left out.
static void nesting_is_described_within_bounds(void **state) {
  (void)state;
  enum { NESTING = BYOC_HOST_MAX_KINDS + 5 };
  fixture_t f;
  set_up(&f);
  const byoc_type_t *type = byoc_type_tensor_static(&f.program->arena, BYOC_DTYPE_F32, 0, NULL);
  for (int i = 0; i < NESTING; ++i) type = byoc_type_sequence(&f.program->arena, type);
  const byoc_host_buffer_t *made = byoc_host_buffer_create(f.program, BYOC_HOST_BUFFER_INPUT, "x", type);
  char kinds[BYOC_HOST_MAX_KINDS + 1];
  memset(kinds, '?', sizeof(kinds));
  int64_t dims[BYOC_MAX_RANK];
  byoc_port_info_t info;
  byoc_host_port_info(made, &info, kinds, dims);
  assert_int_equal(kinds[BYOC_HOST_MAX_KINDS], '?');
  kinds[BYOC_HOST_MAX_KINDS] = '\0';
  assert_string_equal(info.kinds, "sssssssssssssst");
  tear_down(&f);
}

// ---- a watch ----

static int32_t twice(const byoc_call_t *call) {
  const float *x = call->tensors[0].data;
  float *y = call->tensors[1].data;
  for (int64_t i = 0; i < call->tensors[0].shape[0]; ++i) y[i] = 2 * x[i];
  return BYOC_OK;
}

static byoc_status_t resolve_twice(void *self, const char *symbol, byoc_diag_t *diag, void **out_address) {
  (void)self, (void)diag;
  const byoc_packed_function_t function = twice;
  assert_string_equal(symbol, "twice");
  memcpy(out_address, &function, sizeof(function));
  return BYOC_OK;
}

typedef struct watched_t {
  char name[16];
  const void *input; // as the evaluator passed it
} watched_t;

// Runs the function on memory of its own, and puts the results back.
static int32_t run_elsewhere(void *self, const char *name, const byoc_call_t *call, bool keeps_results,
                             int32_t (*body)(void *body_self, const byoc_call_t *call), void *body_self) {
  watched_t *watched = self;
  float x[4] = {0, 0, 0, 0}, y[4] = {0, 0, 0, 0};
  DLTensor tensors[2] = {call->tensors[0], call->tensors[1]};
  byoc_call_t moved = *call;
  assert_false(keeps_results);
  snprintf(watched->name, sizeof(watched->name), "%s", name);
  watched->input = call->tensors[0].data;
  memcpy(x, call->tensors[0].data, sizeof(x));
  x[0] = 21;
  tensors[0].data = x, tensors[1].data = y;
  moved.tensors = tensors;
  const int32_t status = body(body_self, &moved);
  memcpy(call->tensors[1].data, y, sizeof(y));
  return status;
}

static void a_watch_stands_between_the_evaluator_and_functions(void **state) {
  (void)state;
  fixture_t f;
  set_up(&f);
  byoc_host_buffer_t *x = buffer(&f, BYOC_HOST_BUFFER_INPUT, "x", 4);
  byoc_host_buffer_t *y = buffer(&f, BYOC_HOST_BUFFER_OUTPUT, "y", 4);
  byoc_host_instruction_t *i = byoc_host_instruction_create(f.program, NULL, BYOC_HOST_PACKED);
  assert_non_null(i);
  i->symbol = "twice";
  assert_true(byoc_host_add_operand(f.program, i, x));
  assert_true(byoc_host_add_result(f.program, i, y));
  byoc_test_ok(byoc_host_plan_memory(f.program, &f.diag), &f.diag);
  const byoc_symbol_resolver_t resolver = {.resolve = resolve_twice};
  byoc_evaluator_t *evaluator = NULL;
  byoc_test_ok(byoc_evaluator_create(f.program, &resolver, 1, byoc_allocator_system(), &f.diag, &evaluator), &f.diag);
  watched_t watched = {.input = NULL};
  const float input[4] = {1, 2, 3, 4};
  float output[4] = {0, 0, 0, 0};
  byoc_evaluator_watch(evaluator, &(byoc_call_watch_t){.self = &watched, .run = run_elsewhere});
  byoc_test_ok(byoc_evaluator_run(evaluator, (const void *[]){input}, (void *[]){output}, &f.diag), &f.diag);
  assert_string_equal(watched.name, "twice");
  assert_ptr_equal(watched.input, input);
  assert_memory_equal(output, ((const float[]){42, 4, 6, 8}), sizeof(output));
  byoc_evaluator_destroy(evaluator);
  tear_down(&f);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(prints_the_whole_program),
      cmocka_unit_test(names_are_unique),
      cmocka_unit_test(refuses_a_read_before_a_write),
      cmocka_unit_test(refuses_writing_an_input),
      cmocka_unit_test(refuses_an_output_that_nothing_writes),
      cmocka_unit_test(refuses_a_buffer_without_a_life),
      cmocka_unit_test(refuses_a_leak),
      cmocka_unit_test(refuses_copies_of_other_sizes),
      cmocka_unit_test(refuses_overlapping_lives),
      cmocka_unit_test(a_chain_needs_two_buffers),
      cmocka_unit_test(views_extend_lives),
      cmocka_unit_test(random_programs_are_planned),
      cmocka_unit_test(nesting_is_described_within_bounds),
      cmocka_unit_test(a_watch_stands_between_the_evaluator_and_functions),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
