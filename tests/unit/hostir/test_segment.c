// SPDX-License-Identifier: Apache-2.0
// Segments of host programs: small programs whose segments are known, and random ones against a check by brute force.
#include <stdlib.h>

#include "core/base/log.h"
#include "core/hostir/pass/pass.h"
#include "core/hostir/program/dependence.h"
#include "core/hostir/program/edit.h"
#include "core/hostir/program/segment.h"
#include "core/hostir/text/program_text.h"
#include "tests/support/support.h"

enum { MOST = 64 };

typedef struct fixture_t {
  byoc_diag_t diag;
  byoc_graph_module_t *module;
  byoc_host_program_t *program;
  byoc_host_segments_t segments;
} fixture_t;

static void set_up(fixture_t *f, const char *text) {
  *f = (fixture_t){0};
  byoc_test_ok(
      byoc_host_program_parse(text, "p.host", NULL, byoc_allocator_system(), &f->diag, &f->module, &f->program),
      &f->diag);
}

static void tear_down(fixture_t *f) {
  byoc_host_segments_deinit(&f->segments);
  byoc_host_program_destroy(f->program);
  byoc_graph_module_destroy(f->module);
}

// ---- dependences ----

// "1:0 2:0,1": behind each number, those that it comes behind.
static void expect_dependences(const char *body, const char *expected) {
  fixture_t f;
  char text[2048];
  snprintf(text, sizeof(text),
           "host program \"p\" {\n symbol I\n symbol K\n input %%x : f32[8]\n output %%y : f32[8] over %%x\n"
           "local %%a : f32[8]\n local %%b : f32[8]\n local %%e : f32[0]\n"
           "view %%a0 : f32[4] = %%a + 0\n view %%a1 : f32[4] = %%a + 16\n view %%am : f32[2] = %%a + I * 8\n"
           "view %%am2 : f32[2] = %%a + K * 8\n%s\n}\n",
           body);
  set_up(&f, text);
  byoc_arena_t arena;
  byoc_string_t found;
  byoc_arena_init(&arena, byoc_allocator_system());
  byoc_string_init(&found, byoc_allocator_system());
  byoc_host_dependences_t d;
  assert_true(byoc_host_find_dependences(f.program, &f.program->body, &arena, &d));
  for (size_t k = 0; k < d.count; ++k) {
    for (size_t b = 0; b < d.before[k].count; ++b) {
      if (b == 0) byoc_string_appendf(&found, "%s%zu:", found.size > 0 ? " " : "", k);
      byoc_string_appendf(&found, "%s%u", b > 0 ? "," : "", d.before[k].data[b]);
    }
  }
  assert_string_equal(found.data, expected);
  byoc_string_deinit(&found);
  byoc_arena_deinit(&arena);
  tear_down(&f);
}

static void test_h11_dependences_are_found(void **state) {
  (void)state;
  // Read after write; two readers.
  expect_dependences("packed f(%x) -> (%a) packed f(%a) -> (%b) packed f(%a) -> (%y)", "1:0 2:0");
  // Write after read, write after write, through views of halves.
  expect_dependences("packed f(%x) -> (%a) packed f(%a0) -> (%b) packed f(%x) -> (%a1) packed f(%x) -> (%a0)",
                     "1:0 2:0 3:1");
  // A whole is behind its halves; halves are apart.
  expect_dependences("packed f(%x) -> (%a0) packed f(%x) -> (%a1) packed f(%a) -> (%b) packed f(%a1) -> (%y)",
                     "2:0,1 3:0,1"); // %y is written over %x
  // Moving views may be anywhere.
  expect_dependences("packed f(%x) -> (%a0) packed f(%x) -> (%a1) loop I from 0 to 4 body { packed f(%am) -> (%b) }"
                     "packed f(%x) -> (%a1)",
                     "2:0,1 3:2");
  // Lives: allocate, uses, free; what has no bytes, too.
  expect_dependences("allocate %a allocate %e packed f(%x) -> (%e) packed f(%e) -> (%a) free %e free %a",
                     "2:1 3:0,2 4:3 5:3");
  // A workspace is written.
  expect_dependences("packed f(%x) -> (%a) workspace %b packed f(%x) -> (%a1) workspace %b", "1:0");
  // An output over an input: who reads the input comes before.
  expect_dependences("packed f(%x) -> (%a) packed f(%a) -> (%y)", "1:0");
  expect_dependences("packed f(%x) -> (%a) packed f(%b) -> (%y)", "1:0");
  // Symbols, where they get values again, too.
  expect_dependences("let K = 1 packed f(%am2) -> (%b) let K = 2 packed f(%am2) -> (%y)", "1:0 2:1 3:2");
  // What is nested does it for its owner, whichever case it stands in.
  expect_dependences("packed f(%x) -> (%a) branch (%x) then { packed f(%a0) -> (%b) } else { packed f(%a1) -> (%b) }"
                     "packed f(%x) -> (%a1) packed f(%x) -> (%e)",
                     "1:0 2:1");
  // What must hold comes before all that follows.
  expect_dependences("packed f(%x) -> (%a) require (I is 2) packed f(%x) -> (%b) packed f(%a) -> (%y)", "2:1 3:0,1,2");
  // Planned memory: buffers that share bytes.
  expect_dependences("local %p : f32[8] at 0\n local %q : f32[8] at 16\n local %r : f32[8] at 64\n"
                     "packed f(%x) -> (%p) packed f(%x) -> (%q) packed f(%x) -> (%r)",
                     "1:0");
}

static void test_h11_values_depend_on_their_shapes(void **state) {
  (void)state;
  fixture_t f;
  set_up(&f, "host program \"p\" dynamic {\n symbol N of inputs\n input %x : value f32[N]\n output %y : value f32[N]\n"
             " local %a : value f32[N]\n local %b : value f32[N]\n local %c : value f32[N]\n\n"
             " match %x binds N at 0\n" // 0
             " allocate %a\n"           // 1: its shape
             " packed f(%x) -> (%a)\n"  // 2
             " share %a -> %b\n"        // 3
             " packed g(%b) -> (%c)\n"  // 4
             " packed f(%x) -> (%a)\n"  // 5: may write what %b has, so behind who reads that
             " share %c -> %y\n}\n");   // 6
  byoc_arena_t arena;
  byoc_arena_init(&arena, byoc_allocator_system());
  byoc_host_dependences_t d;
  assert_true(byoc_host_find_dependences(f.program, &f.program->body, &arena, &d));
  assert_int_equal(d.count, 7);
  const size_t counts[7] = {0, 1, 2, 2, 2, 2, 2};
  for (size_t k = 0; k < 7; ++k) assert_int_equal(d.before[k].count, counts[k]);
  assert_int_equal(d.before[5].data[1], 4);
  byoc_arena_deinit(&arena);
  tear_down(&f);
}

// ---- random programs ----

typedef struct ask_t {
  uint64_t seed;
  int rule;
  size_t calls;
} ask_t;

static uint64_t mix(uint64_t x) {
  x ^= x >> 33;
  x *= UINT64_C(0xff51afd7ed558ccd);
  x ^= x >> 33;
  x *= UINT64_C(0xc4ceb9fe1a85ec53);
  return x ^ x >> 33;
}

enum { ALWAYS, NEVER, SAME_COLOUR, AT_MOST_THREE, ANYHOW, RULE_COUNT };

// The colour of an instruction is its number of operations.
static int colour_of(const byoc_host_segment_t *segment) {
  return (int)segment->instructions[0]->flops;
}

static bool should_merge(void *self, const byoc_host_segment_t *a, const byoc_host_segment_t *b) {
  ask_t *ask = self;
  ask->calls++;
  switch (ask->rule) {
  case ALWAYS:
    return true;
  case SAME_COLOUR:
    return colour_of(a) == colour_of(b);
  case AT_MOST_THREE:
    return a->count + b->count <= 3;
  case ANYHOW: // depends on all that the two hold
  {
    uint64_t hash = ask->seed;
    for (size_t k = 0; k < a->count; ++k) hash = mix(hash + (uint64_t)a->instructions[k]->axis);
    hash = mix(hash + 1000);
    for (size_t k = 0; k < b->count; ++k) hash = mix(hash + (uint64_t)b->instructions[k]->axis);
    return hash % 3 == 0;
  }
  default:
    return false;
  }
}

// What brute force knows of the instructions of a body: `axis` is an instruction's number.
typedef struct brute_t {
  size_t count, segment_count;
  bool depends[MOST][MOST]; // directly: the first on the second
  size_t segment_of[MOST];
  bool quotient[MOST][MOST]; // directly, of segments
  bool reaches[MOST][MOST];  // in one step or more
} brute_t;

static bool shares(byoc_host_buffer_t *a, byoc_host_buffer_t *b) {
  byoc_host_buffer_t *one = byoc_host_buffer_root(a), *other = byoc_host_buffer_root(b);
  if (one->over != NULL) one = one->over;
  if (other->over != NULL) other = other->over;
  if (one != other) return false;
  if (byoc_host_buffer_moves(a) || byoc_host_buffer_moves(b)) return true;
  return byoc_host_buffer_offset(a) < byoc_host_buffer_offset(b) + b->size_bytes &&
         byoc_host_buffer_offset(b) < byoc_host_buffer_offset(a) + a->size_bytes;
}

static bool any_shares(byoc_host_buffer_t *const *a, size_t a_count, byoc_host_buffer_t *const *b, size_t b_count) {
  for (size_t i = 0; i < a_count; ++i) {
    for (size_t j = 0; j < b_count; ++j) {
      if (shares(a[i], b[j])) return true;
    }
  }
  return false;
}

static bool conflict(const byoc_host_instruction_t *a, const byoc_host_instruction_t *b) {
  return any_shares(a->results.data, a->results.count, b->operands.data, b->operands.count) ||
         any_shares(a->operands.data, a->operands.count, b->results.data, b->results.count) ||
         any_shares(a->results.data, a->results.count, b->results.data, b->results.count);
}

static void check_brutally(const byoc_host_program_t *program, const byoc_host_segments_t *segments,
                           const byoc_host_segment_options_t *options) {
  static brute_t b;
  const byoc_host_instruction_t *all[MOST];
  memset(&b, 0, sizeof(b));
  for (const byoc_host_instruction_t *i = program->body.first; i != NULL; i = i->next) {
    assert_int_equal(i->axis, b.count);
    for (size_t k = 0; k < b.count; ++k) b.depends[b.count][k] = conflict(all[k], i);
    all[b.count++] = i;
  }
  // Each instruction stands in one segment.
  size_t covered = 0;
  bool seen[MOST] = {false};
  b.segment_count = segments->count;
  for (size_t s = 0; s < segments->count; ++s) {
    assert_true(segments->data[s].count > 0);
    for (size_t k = 0; k < segments->data[s].count; ++k, ++covered) {
      const int64_t number = segments->data[s].instructions[k]->axis;
      assert_ptr_equal(all[number], segments->data[s].instructions[k]);
      assert_false(seen[number]);
      assert_true(k == 0 || number > segments->data[s].instructions[k - 1]->axis);
      seen[number] = true;
      b.segment_of[number] = s;
    }
  }
  assert_int_equal(covered, b.count);
  // The order given runs, so there is no cycle.
  for (size_t i = 0; i < b.count; ++i) {
    for (size_t k = 0; k < b.count; ++k) {
      if (!b.depends[i][k] || b.segment_of[i] == b.segment_of[k]) continue;
      assert_true(b.segment_of[k] < b.segment_of[i]);
      b.quotient[b.segment_of[i]][b.segment_of[k]] = true;
    }
  }
  memcpy(b.reaches, b.quotient, sizeof(b.reaches));
  for (size_t m = 0; m < b.segment_count; ++m) {
    for (size_t i = m; i < b.segment_count; ++i) {
      for (size_t k = 0; k < m && b.reaches[i][m]; ++k) b.reaches[i][k] |= b.reaches[m][k];
    }
  }
  // Whoever could be merged by the predicate makes a cycle: a third one stands between them.
  for (size_t last = 0; last < b.segment_count; ++last) {
    for (size_t first = 0; first < last; ++first) {
      if (!options->apart && !b.quotient[last][first]) continue;
      bool between = false;
      for (size_t m = first + 1; m < last; ++m) between |= b.reaches[last][m] && b.reaches[m][first];
      if (between) continue;
      assert_false(options->should_merge(options->self, &segments->data[first], &segments->data[last]));
    }
  }
}

static const char buffers_of_all_kinds[] =
    "host program \"p\" {\n symbol I\n input %x : f32[8]\n output %y : f32[8] over %x\n"
    " local %a : f32[8]\n local %b : f32[8]\n local %c : f32[8]\n local %d : f32[8]\n"
    " view %a0 : f32[4] = %a + 0\n view %a1 : f32[4] = %a + 16\n view %a2 : f32[4] = %a + 8\n"
    " view %b0 : f32[2] = %b + 0\n view %b1 : f32[2] = %b + 8\n view %b2 : f32[4] = %b + 16\n"
    " view %c0 : f32[4] = %c + 0\n view %cm : f32[2] = %c + I * 8\n view %y0 : f32[4] = %y + 16\n}\n";

static void fill(byoc_host_program_t *program, byoc_test_random_t *seed) {
  while (program->body.first != NULL) byoc_host_instruction_erase(program, program->body.first);
  const size_t count = 1 + byoc_test_below(seed, 24), buffers = program->buffers.count;
  for (size_t k = 0; k < count; ++k) {
    byoc_host_instruction_t *i = byoc_host_instruction_append(program, &program->body, BYOC_HOST_PACKED);
    i->symbol = "f";
    i->axis = (int64_t)k;
    i->flops = (double)byoc_test_below(seed, 3);
    const size_t operand_count = byoc_test_below(seed, 3);
    for (size_t o = 0; o < operand_count; ++o) {
      assert_true(byoc_host_add_operand(program, i, program->buffers.data[byoc_test_below(seed, buffers)]));
    }
    byoc_host_buffer_t *result = program->buffers.data[1 + byoc_test_below(seed, buffers - 1)];
    if (byoc_test_below(seed, 4) > 0) assert_true(byoc_host_add_result(program, i, result));
  }
}

static void test_h11_segments_of_random_programs_are_sound(void **state) {
  (void)state;
  fixture_t f;
  set_up(&f, buffers_of_all_kinds);
  byoc_test_random_t seed = {1};
  for (int round = 0; round < 10000; ++round) {
    const uint64_t start = seed.state;
    fill(f.program, &seed);
    ask_t ask = {.seed = seed.state, .rule = round % RULE_COUNT};
    const byoc_host_segment_options_t options = {
        .should_merge = should_merge, .self = &ask, .apart = round / RULE_COUNT % 2 == 1};
    byoc_test_ok(byoc_host_segment(f.program, &options, byoc_allocator_system(), &f.diag, &f.segments), &f.diag);
    if (getenv("BYOC_TEST_SHOW") != NULL) print_message("seed %llu\n", (unsigned long long)start);
    check_brutally(f.program, &f.segments, &options);
    for (size_t s = 0; s < f.segments.count; ++s) {
      const byoc_host_segment_t *segment = &f.segments.data[s];
      assert_true(ask.rule != NEVER || segment->count == 1);
      assert_true(ask.rule != AT_MOST_THREE || segment->count <= 3);
      for (size_t k = 0; k < segment->count && ask.rule == SAME_COLOUR; ++k) {
        assert_int_equal((int)segment->instructions[k]->flops, colour_of(segment));
      }
    }
    byoc_host_segments_deinit(&f.segments);
  }
  tear_down(&f);
}

// ---- large programs ----

// Calls of the predicate for a program of 10,000 instructions.
static size_t calls_for(const char *what, void (*shape)(byoc_host_program_t *, byoc_host_buffer_t **, size_t),
                        int rule) {
  enum { COUNT = 10000 };
  fixture_t f;
  set_up(&f, "host program \"p\" {\n input %x : f32[8]\n output %y : f32[8]\n}\n");
  byoc_host_buffer_t **buffers = calloc(COUNT, sizeof(*buffers));
  assert_non_null(buffers);
  for (size_t k = 0; k < COUNT; ++k) {
    buffers[k] =
        byoc_host_buffer_create(f.program, BYOC_HOST_BUFFER_LOCAL, "t", byoc_host_find_buffer(f.program, "x")->type);
    assert_non_null(buffers[k]);
  }
  shape(f.program, buffers, COUNT);
  ask_t ask = {.rule = rule};
  const byoc_host_segment_options_t options = {.should_merge = should_merge, .self = &ask};
  const int64_t start_ns = byoc_now_ns();
  byoc_test_ok(byoc_host_segment(f.program, &options, byoc_allocator_system(), &f.diag, &f.segments), &f.diag);
  print_message("%s: %zu segments, %zu calls, %.1f ms\n", what, f.segments.count, ask.calls,
                (double)(byoc_now_ns() - start_ns) / 1e6);
  free(buffers);
  tear_down(&f);
  return ask.calls;
}

static void append(byoc_host_program_t *program, byoc_host_buffer_t *from, byoc_host_buffer_t *also,
                   byoc_host_buffer_t *to, size_t colour) {
  byoc_host_instruction_t *i = byoc_host_instruction_append(program, &program->body, BYOC_HOST_PACKED);
  assert_non_null(i);
  i->symbol = "f";
  i->flops = (double)colour;
  assert_true(from == NULL || byoc_host_add_operand(program, i, from));
  assert_true(also == NULL || byoc_host_add_operand(program, i, also));
  assert_true(byoc_host_add_result(program, i, to));
}

static void chain(byoc_host_program_t *p, byoc_host_buffer_t **b, size_t count) {
  for (size_t k = 0; k < count; ++k) append(p, k > 0 ? b[k - 1] : NULL, NULL, b[k], k / 3 % 2);
}

// Two chains that read each other.
static void ladder(byoc_host_program_t *p, byoc_host_buffer_t **b, size_t count) {
  for (size_t k = 0; k < count; ++k) append(p, k > 1 ? b[k - 2] : NULL, k > 2 ? b[k - 3 + k % 2] : NULL, b[k], k % 2);
}

// Blocks with a skip connection around each.
static void residual(byoc_host_program_t *p, byoc_host_buffer_t **b, size_t count) {
  for (size_t k = 0; k < count; ++k) {
    append(p, k > 0 ? b[k - 1] : NULL, k % 4 == 3 ? b[k - 3] : NULL, b[k], k % 4 == 1);
  }
}

// Everybody reads the first one.
static void star(byoc_host_program_t *p, byoc_host_buffer_t **b, size_t count) {
  for (size_t k = 0; k < count; ++k) append(p, k > 0 ? b[0] : NULL, k > 1 ? b[k - 1] : NULL, b[k], k % 2);
}

static void random_reads(byoc_host_program_t *p, byoc_host_buffer_t **b, size_t count) {
  byoc_test_random_t seed = {7};
  for (size_t k = 0; k < count; ++k) {
    append(p, k > 0 ? b[byoc_test_below(&seed, k)] : NULL, k > 0 ? b[byoc_test_below(&seed, k)] : NULL, b[k],
           byoc_test_below(&seed, 2));
  }
}

static void test_h11_large_programs_take_linear_work(void **state) {
  (void)state;
  static const struct {
    const char *what;
    void (*shape)(byoc_host_program_t *, byoc_host_buffer_t **, size_t);
  } shapes[] = {{"chain", chain}, {"ladder", ladder}, {"residual", residual}, {"star", star}, {"random", random_reads}};
  for (size_t k = 0; k < sizeof(shapes) / sizeof(shapes[0]); ++k) {
    for (int rule = ALWAYS; rule <= AT_MOST_THREE; ++rule) {
      assert_true(calls_for(shapes[k].what, shapes[k].shape, rule) <= 200000); // 20 for each instruction
    }
  }
}

// ---- memory ----

static byoc_status_t segment_with(void *argument, byoc_allocator_t allocator) {
  fixture_t *f = argument;
  ask_t ask = {.rule = ALWAYS};
  const byoc_host_segment_options_t options = {.should_merge = should_merge, .self = &ask, .apart = true};
  byoc_diag_t diag = {0};
  byoc_status_t status = byoc_host_segment(f->program, &options, allocator, &diag, &f->segments);
  assert_true(status == BYOC_OK || f->segments.data == NULL);
  byoc_host_segments_deinit(&f->segments);
  return status;
}

static void test_h11_each_allocation_fails(void **state) {
  (void)state;
  fixture_t f;
  byoc_test_random_t seed = {3};
  set_up(&f, buffers_of_all_kinds);
  fill(f.program, &seed);
  byoc_test_each_allocation_fails(segment_with, &f, false);
  tear_down(&f);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_h11_dependences_are_found),
      cmocka_unit_test(test_h11_values_depend_on_their_shapes),
      cmocka_unit_test(test_h11_segments_of_random_programs_are_sound),
      cmocka_unit_test(test_h11_large_programs_take_linear_work),
      cmocka_unit_test(test_h11_each_allocation_fails),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
