// SPDX-License-Identifier: Apache-2.0
// Any order that keeps the dependences does the same as the program's, and so does that of gathered segments: random
// programs, with views that move, loops, branches and planned memory, and a dynamic one.
#include <stdlib.h>

#include "core/hostir/evaluate/evaluate.h"
#include "core/hostir/pass/pass.h"
#include "core/hostir/program/dependence.h"
#include "core/hostir/program/edit.h"
#include "core/hostir/program/segment.h"
#include "core/hostir/text/program_text.h"
#include "tests/support/support.h"

enum { ELEMENTS = 8, STEPS = 14 };

#define KERNELS                                                                                                        \
  "kernel over 0 {\n name \"add\" symbols \"L\" input x : f32[L] output y : f32[L]\n"                                  \
  "  serial i in 0 .. dim(\"L\") { y[i] = x[i] * 0.5 + cast(f32, i + 1) } }\n"

// May a part grow? As a coin of its own for each pair says.
static bool toss(void *self, const byoc_host_segment_t *a, const byoc_host_segment_t *b) {
  (void)a;
  (void)b;
  return byoc_test_below(self, 2) == 0;
}

static void gather(byoc_host_program_t *program, byoc_test_random_t *random, size_t *moved) {
  byoc_diag_t diag = {0};
  byoc_host_segments_t segments;
  const byoc_host_segment_options_t options = {
      .should_merge = toss, .self = random, .apart = byoc_test_below(random, 2) == 0};
  byoc_test_ok(byoc_host_segment(program, &options, byoc_allocator_system(), &diag, &segments), &diag);
  *moved += byoc_host_segments_gather(&segments);
  byoc_host_segments_deinit(&segments);
}

// Puts the instructions of a region into an order that its dependences allow.
static void shuffle_region(byoc_host_program_t *program, byoc_host_region_t *region, byoc_test_random_t *random,
                           size_t *moved) {
  byoc_arena_t arena;
  byoc_host_dependences_t d;
  byoc_arena_init(&arena, byoc_allocator_system());
  assert_true(byoc_host_find_dependences(program, region, &arena, &d));
  bool *is_done = BYOC_ARENA_ARRAY(&arena, bool, d.count + 1);
  assert_non_null(is_done);
  for (size_t done = 0; done < d.count; ++done) {
    size_t at = byoc_test_below(random, d.count);
    for (bool waits = true; waits; at = waits ? (at + 1) % d.count : at) {
      waits = is_done[at];
      for (size_t b = 0; b < d.before[at].count; ++b) waits |= !is_done[d.before[at].data[b]];
    }
    is_done[at] = true;
    *moved += at != done;
    byoc_host_instruction_move(d.instructions[at], region, NULL);
  }
  byoc_arena_deinit(&arena);
}

static void shuffle(byoc_host_program_t *program, byoc_test_random_t *random, size_t *moved) {
  shuffle_region(program, &program->body, random, moved);
  BYOC_HOST_FOR_EACH(i, program) {
    for (uint32_t r = 0; r < i->region_count; ++r) shuffle_region(program, &i->regions[r], random, moved);
  }
}

typedef void (*reorder_t)(byoc_host_program_t *program, byoc_test_random_t *random, size_t *moved);

// ---- static programs ----

typedef struct part_t {
  const char *name;
  int count; // of elements
} part_t;

// All that a step may read and write. The last ones move with K.
static const part_t parts[] = {{"y", 8},  {"z", 8},  {"a", 8},  {"b", 8},  {"a0", 4}, {"a1", 4}, {"a2", 4},
                               {"b0", 2}, {"b1", 2}, {"y0", 4}, {"z1", 4}, {"am", 2}, {"bm", 2}};
enum { PART_COUNT = sizeof(parts) / sizeof(parts[0]) };

static char root_of(const char *name) {
  return name[0];
}

// A kernel from one buffer into another one or into itself, or a copy.
static void add_kernel(byoc_string_t *out, byoc_test_random_t *random) {
  const part_t *from = &parts[byoc_test_below(random, PART_COUNT)], *to = from;
  for (int k = 0; k < 20 && to == from; ++k) {
    const part_t *other = &parts[byoc_test_below(random, PART_COUNT)];
    if (other->count == from->count && root_of(other->name) != root_of(from->name)) to = other;
  }
  if (to != from && byoc_test_below(random, 3) == 0) {
    byoc_string_appendf(out, " copy %%%s -> %%%s\n", from->name, to->name);
  } else {
    byoc_string_appendf(out, " kernel add(%%%s) [%d] -> (%%%s)\n", from->name, from->count, to->name);
  }
}

// `loops`: the loops that are left; each has a symbol and views of its own.
static void add_step(byoc_string_t *out, byoc_test_random_t *random, int *loops) {
  uint64_t kind = byoc_test_below(random, 10);
  if (kind < 2 && *loops == 0) kind = 2;
  if (kind == 0 || kind == 1) {
    const char symbol = *loops == 2 ? 'i' : 'j';
    byoc_string_appendf(out, " loop %c from %s body {\n  kernel add(%%a%c) [2] -> (%%b%c)\n", symbol,
                        kind == 0 ? "0 to 4" : "3 to 0 step -1", symbol, symbol);
    byoc_string_appendf(out, "  copy %%b%c -> %%a%c\n", symbol, symbol);
    add_kernel(out, random);
    byoc_string_append(out, " }\n");
    *loops -= 1;
  }
  if (kind == 2) byoc_string_append(out, " branch (%go) then {\n");
  if (kind >= 2) add_kernel(out, random);
  if (kind == 2) {
    add_kernel(out, random);
    byoc_string_append(out, " } else {\n");
    add_kernel(out, random);
    add_kernel(out, random);
    byoc_string_append(out, " }\n");
  }
}

static void make_program(byoc_test_random_t *random, byoc_string_t *out) {
  int loops = 2;
  byoc_string_append(
      out, "host program \"random\" {\n symbol i\n symbol j\n symbol K\n input %x : f32[8]\n input %go : bool[]\n"
           " output %y : f32[8]\n output %z : f32[8]\n local %a : f32[8]\n local %b : f32[8]\n"
           " view %a0 : f32[4] = %a + 0\n view %a1 : f32[4] = %a + 16\n view %a2 : f32[4] = %a + 8\n"
           " view %b0 : f32[2] = %b + 0\n view %b1 : f32[2] = %b + 8\n view %y0 : f32[4] = %y + 0\n"
           " view %z1 : f32[4] = %z + 16\n view %am : f32[2] = %a + K * 8\n"
           " view %bm : f32[2] = %b + K * 8\n view %ai : f32[2] = %a + i * 8\n"
           " view %bi : f32[2] = %b + i * 8\n view %aj : f32[2] = %a + 24 - j * 8\n"
           " view %bj : f32[2] = %b + 24 - j * 8\n"
           " copy %x -> %a\n copy %x -> %b\n copy %x -> %y\n copy %x -> %z\n");
  byoc_string_appendf(out, " let K = %d\n", (int)byoc_test_below(random, 4));
  for (int k = 0; k < STEPS; ++k) add_step(out, random, &loops);
  byoc_string_append(out, " kernel add(%a) [8] -> (%y)\n}\n" KERNELS);
}

typedef struct model_t {
  byoc_graph_module_t *module;
  byoc_host_program_t *program;
  byoc_evaluator_t *evaluator;
} model_t;

static void parse(model_t *m, const char *text) {
  byoc_diag_t diag = {0};
  *m = (model_t){0};
  byoc_test_ok(byoc_host_program_parse(text, "p.host", NULL, byoc_allocator_system(), &diag, &m->module, &m->program),
               &diag);
}

static void plan(model_t *m) {
  byoc_diag_t diag = {0};
  byoc_test_ok(byoc_host_pass_run_list("place-lifetimes,plan-memory", m->program, NULL, &diag), &diag);
}

static void prepare(model_t *m) {
  byoc_diag_t diag = {0};
  const byoc_symbol_resolver_t none = {0};
  byoc_test_ok(byoc_host_program_verify(m->program, &diag), &diag);
  byoc_test_ok(byoc_evaluator_create(m->program, &none, 1, byoc_allocator_system(), &diag, &m->evaluator), &diag);
  byoc_evaluator_set_undefined(m->evaluator, 0xc5);
}

static void close_model(model_t *m) {
  byoc_evaluator_destroy(m->evaluator);
  byoc_host_program_destroy(m->program);
  byoc_graph_module_destroy(m->module);
}

static void evaluate(model_t *m, uint8_t go, float results[2 * ELEMENTS]) {
  byoc_diag_t diag = {0};
  const float x[ELEMENTS] = {3, 1, 4, 1, 5, 9, 2, 6};
  const void *const inputs[2] = {x, &go};
  void *const outputs[2] = {results, results + ELEMENTS};
  byoc_test_ok(byoc_evaluator_run(m->evaluator, inputs, outputs, &diag), &diag);
}

// Reorders before memory is planned, and within a plan. Returns how many instructions moved.
static size_t reorder_random_programs(reorder_t reorder) {
  size_t moved = 0;
  for (uint64_t seed = 1; seed <= 300; ++seed) {
    byoc_test_random_t random = {seed};
    byoc_string_t text;
    byoc_string_init(&text, byoc_allocator_system());
    make_program(&random, &text);
    model_t models[3];
    for (int k = 0; k < 3; ++k) {
      parse(&models[k], text.data);
      if (k == 1) reorder(models[k].program, &random, &moved);
      plan(&models[k]);
      if (k == 2) reorder(models[k].program, &random, &moved);
      prepare(&models[k]);
    }
    for (uint8_t go = 0; go < 2; ++go) {
      float results[3][2 * ELEMENTS];
      for (int k = 0; k < 3; ++k) evaluate(&models[k], go, results[k]);
      for (int k = 1; k < 3; ++k) {
        if (memcmp(results[0], results[k], sizeof(results[0])) != 0) fail_msg("seed %d:\n%s", (int)seed, text.data);
      }
    }
    for (int k = 0; k < 3; ++k) close_model(&models[k]);
    byoc_string_deinit(&text);
  }
  return moved;
}

static void test_h11_any_order_of_dependences(void **state) {
  (void)state;
  assert_true(reorder_random_programs(shuffle) > 1000);
}

static void test_h11_gathering_changes_no_result(void **state) {
  (void)state;
  assert_true(reorder_random_programs(gather) > 100);
}

// ---- dynamic programs ----

// Shapes that are checked, a loop that carries two values, shared values, a branch that yields, sizes found by a run.
static const char dynamic[] =
    "host program \"dynamic\" dynamic {\n symbol N of inputs\n symbol M of inputs\n symbol S\n"
    " input %x : value f32[N]\n input %w : value f32[M]\n input %trips : value i64[]\n input %go : value bool[]\n"
    " output %y : value f32[N]\n output %z : value f32[M]\n output %n : value i64[2]\n"
    " local %a : value f32[N]\n local %b : value f32[M]\n local %c : value f32[N]\n local %i : value i64[]\n"
    " local %t : value bool[]\n local %p : value f32[N]\n local %q : value f32[M]\n local %p1 : value f32[N]\n"
    " local %q1 : value f32[M]\n local %pp : value f32[N]\n local %qq : value f32[M]\n local %r : value f32[N]\n"
    " local %r1 : value f32[N]\n local %sizes : i64[1]\n local %s : value f32[S]\n local %s1 : value f32[S]\n local %m "
    ": value i64[2]\n"
    " match %x binds N at 0\n match %w binds M at 0\n require of inputs (N is_multiple_of 2 by \"half\")\n"
    " store [M + 1] -> (%sizes)\n bind %sizes to S by \"sizes\"\n kernel zero() [S] -> (%s)\n"
    " kernel add(%s) [S] -> (%s1)\n"
    " kernel add(%x) [N] -> (%a)\n kernel add(%w) [M] -> (%b)\n kernel add(%a) [N] -> (%c)\n"
    " loop (%trips, none, %c, %b) -> (%pp, %qq) body (%i, %t, %p, %q) {\n"
    "  kernel add(%p) [N] -> (%p1)\n  kernel add(%q) [M] -> (%q1)\n  kernel add(%p1) [N] -> (%p1)\n"
    "  yield (%t, %p1, %q1)\n }\n match %pp is N at 0\n match %qq is M at 0\n"
    " branch (%go) -> (%r) then { kernel add(%pp) [N] -> (%r1) yield (%r1) } else { yield (%a) }\n"
    " match %r is N at 0\n store [S, N] -> (%m)\n share %m -> %n\n share %r -> %y\n share %qq -> %z\n}\n" KERNELS
    "kernel { name \"zero\" symbols \"L\" output y : f32[L] serial i in 0 .. dim(\"L\") { y[i] = 0.0 } }\n";

static void test_h11_dynamic_programs_are_gathered(void **state) {
  (void)state;
  const float x[4] = {1, 2, 3, 4}, w[3] = {5, 6, 7};
  const int64_t four = 4, three = 3;
  size_t moved = 0;
  model_t first;
  parse(&first, dynamic);
  plan(&first);
  prepare(&first);
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    byoc_test_random_t random = {seed};
    model_t m;
    parse(&m, dynamic);
    const reorder_t reorder = seed % 4 < 2 ? shuffle : gather;
    if (seed % 2 == 0) reorder(m.program, &random, &moved);
    plan(&m);
    if (seed % 2 == 1) reorder(m.program, &random, &moved);
    prepare(&m);
    for (uint8_t go = 0; go < 2; ++go) {
      byoc_diag_t diag = {0};
      const byoc_argument_t inputs[4] = {
          {.dtype = BYOC_DTYPE_F32, .rank = 1, .dims = &four, .data = (void *)(uintptr_t)x},
          {.dtype = BYOC_DTYPE_F32, .rank = 1, .dims = &three, .data = (void *)(uintptr_t)w},
          {.dtype = BYOC_DTYPE_I64, .data = (void *)(uintptr_t)&three},
          {.dtype = BYOC_DTYPE_BOOL, .data = &go}};
      byoc_argument_t expected[3], got[3];
      byoc_test_ok(byoc_evaluator_run_arguments(first.evaluator, inputs, expected, &diag), &diag);
      byoc_test_ok(byoc_evaluator_run_arguments(m.evaluator, inputs, got, &diag), &diag);
      assert_memory_equal(expected[0].data, got[0].data, sizeof(x));
      assert_memory_equal(expected[1].data, got[1].data, sizeof(w));
      assert_memory_equal(expected[2].data, got[2].data, 2 * sizeof(int64_t));
    }
    close_model(&m);
  }
  close_model(&first);
  assert_true(moved > 1000);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_h11_any_order_of_dependences),
      cmocka_unit_test(test_h11_gathering_changes_no_result),
      cmocka_unit_test(test_h11_dynamic_programs_are_gathered),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
