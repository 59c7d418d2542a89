// SPDX-License-Identifier: Apache-2.0
// Random programs of queues alone, ordered and planned by the host passes, on the driver `sim`, which draws by lot what
// runs next: they compute what one instruction after the other does.
#include "core/base/string.h"
#include "tests/devices/program.h"

enum { DEVICE_BUFFERS = 5, HOST_BUFFERS = 2, BUFFERS = DEVICE_BUFFERS + HOST_BUFFERS, ELEMENTS = 4, MOST_OPS = 24 };

typedef struct op_t {
  enum { SCALE, ADD, COPY, COPY_ON_HOST } kind;
  int a, b, to; // buffers: those of the device, then those of the host
  int queue;    // 0, 1: single ones; 2: the first of a set; 3: that with the number of the turn
  float factor;
} op_t;

typedef struct model_t {
  op_t ops[MOST_OPS];
  size_t count, first, last; // [first, last): the body of the loop
  int turns;
} model_t;

// ---- drawing ----

static int draw(byoc_test_random_t *random, int below) {
  return (int)byoc_test_below(random, (uint64_t)below);
}

static op_t draw_op(byoc_test_random_t *random, bool in_loop) {
  static const float factors[] = {0.5f, -1, 2, 0.25f};
  op_t op = {.a = draw(random, DEVICE_BUFFERS), .queue = draw(random, in_loop ? 4 : 3)};
  op.b = (op.a + 1 + draw(random, DEVICE_BUFFERS - 1)) % DEVICE_BUFFERS;
  do {
    op.to = draw(random, DEVICE_BUFFERS);
  } while (op.to == op.a || op.to == op.b);
  op.factor = factors[draw(random, 4)];
  const int host = DEVICE_BUFFERS + draw(random, HOST_BUFFERS), kind = draw(random, 10);
  op.kind = kind < 3 ? SCALE : kind < 6 ? ADD : kind < 9 ? COPY : COPY_ON_HOST;
  if (kind == 6) op.a = host;
  if (kind == 7) op.to = host;
  if (op.kind == COPY_ON_HOST) {
    op.a = host;
    op.to = host == DEVICE_BUFFERS ? host + 1 : DEVICE_BUFFERS;
  }
  return op;
}

static model_t draw_model(byoc_test_random_t *random) {
  model_t m = {.turns = 1 + draw(random, 4)};
  m.first = 2 + (size_t)draw(random, 6);
  m.last = m.first + 1 + (size_t)draw(random, 6);
  m.count = m.last + 2 + (size_t)draw(random, 6);
  for (size_t k = 0; k < m.count; ++k) m.ops[k] = draw_op(random, k >= m.first && k < m.last);
  return m;
}

// ---- its text ----

static void print_op(const op_t *op, byoc_string_t *out) {
  static const char *const buffers[BUFFERS] = {"%t0", "%t1", "%t2", "%t3", "%t4", "%h0", "%h1"};
  static const char *const queues[] = {"%a", "%b", "%s[0]", "%s[I]"};
  static const char launch[] = "launch \"kernels\" \"%s\" grid [1, 1, 1] block [4, 1, 1] ";
  byoc_string_append(out, "  ");
  if (op->kind == SCALE) {
    byoc_string_appendf(out, launch, "scale");
    byoc_string_appendf(out, "(%s) -> (%s) with (operand 0, result 0, f32 %g, i64 4)", buffers[op->a], buffers[op->to],
                        (double)op->factor);
  } else if (op->kind == ADD) {
    byoc_string_appendf(out, launch, "add");
    byoc_string_appendf(out, "(%s, %s) -> (%s) with (operand 0, operand 1, result 0, i32 4)", buffers[op->a],
                        buffers[op->b], buffers[op->to]);
  } else {
    byoc_string_appendf(out, "copy %s -> %s", buffers[op->a], buffers[op->to]);
  }
  if (op->kind != COPY_ON_HOST) byoc_string_appendf(out, " on %s", queues[op->queue]);
  byoc_string_append(out, "\n");
}

static void print_model(const model_t *m, byoc_string_t *out) {
  byoc_string_append(out, "host program \"p\" {\n  symbol I\n  device %d = \"sim\" 0 type 12\n  queue %a on %d\n"
                          "  queue %b on %d\n  queue %s[2] on %d\n  input %x : f32[4]\n  output %y0 : f32[4]\n"
                          "  output %y1 : f32[4]\n  output %y2 : f32[4]\n");
  for (int k = 0; k < DEVICE_BUFFERS; ++k) byoc_string_appendf(out, "  local %%t%d : f32[4] on %%d\n", k);
  for (int k = 0; k < HOST_BUFFERS; ++k) byoc_string_appendf(out, "  local %%h%d : f32[4]\n", k);
  for (int k = 0; k < DEVICE_BUFFERS; ++k) byoc_string_appendf(out, "  copy %%x -> %%t%d on %%%c\n", k, "ab"[k % 2]);
  for (int k = 0; k < HOST_BUFFERS; ++k) byoc_string_appendf(out, "  copy %%x -> %%h%d\n", k);
  for (size_t k = 0; k < m->count; ++k) {
    if (k == m->first) byoc_string_appendf(out, "  loop I from 0 to %d body {\n", m->turns);
    if (k == m->last) byoc_string_append(out, "  }\n");
    print_op(&m->ops[k], out);
  }
  byoc_string_append(out, "  copy %t0 -> %y0 on %a\n  copy %t1 -> %y1 on %s[1]\n  copy %h0 -> %y2\n}\n");
}

// ---- what it computes ----

static void apply(const op_t *op, float values[BUFFERS][ELEMENTS]) {
  for (int e = 0; e < ELEMENTS; ++e) {
    float *to = &values[op->to][e];
    if (op->kind == SCALE) *to = values[op->a][e] * op->factor;
    if (op->kind == ADD) *to = values[op->a][e] + values[op->b][e];
    if (op->kind == COPY || op->kind == COPY_ON_HOST) *to = values[op->a][e];
  }
}

static void compute(const model_t *m, const float *x, float outputs[3][ELEMENTS]) {
  float values[BUFFERS][ELEMENTS];
  for (int k = 0; k < BUFFERS; ++k) memcpy(values[k], x, sizeof(values[k]));
  for (size_t k = 0; k < m->first; ++k) apply(&m->ops[k], values);
  for (int turn = 0; turn < m->turns; ++turn) {
    for (size_t k = m->first; k < m->last; ++k) apply(&m->ops[k], values);
  }
  for (size_t k = m->last; k < m->count; ++k) apply(&m->ops[k], values);
  memcpy(outputs[0], values[0], sizeof(values[0]));
  memcpy(outputs[1], values[1], sizeof(values[1]));
  memcpy(outputs[2], values[DEVICE_BUFFERS], sizeof(values[0]));
}

// ---- running ----

static void check_model(const model_t *m, uint64_t seed) {
  const float x[ELEMENTS] = {1, -2, 3, 0.5f};
  float expected[3][ELEMENTS], got[3][ELEMENTS];
  byoc_string_t text;
  byoc_string_init(&text, byoc_allocator_system());
  print_model(m, &text);
  compute(m, x, expected);
  for (int order = 1; order <= 3; ++order) {
    char option[64];
    byoc_diag_t diag = {0};
    program_t p;
    snprintf(option, sizeof(option), "order=%d", order);
    setenv("BYOC_SIM", option, 1);
    program_parse(&p, text.data, BYOC_HOST_MEMORY_PASSES);
    byoc_test_ok(program_evaluate(&p, &diag), &diag);
    const void *const inputs[] = {x};
    void *const outputs[] = {got[0], got[1], got[2]};
    for (int run = 0; run < 2; ++run) { // events still stand for what the first one did
      memset(got, 0, sizeof(got));
      byoc_test_ok(byoc_evaluator_run(p.evaluator, inputs, outputs, &diag), &diag);
      if (memcmp(got, expected, sizeof(got)) != 0) fail_msg("seed %d, order %d:\n%s", (int)seed, order, text.data);
    }
    program_close(&p);
  }
  unsetenv("BYOC_SIM");
  byoc_string_deinit(&text);
}

static void test_h10_programs_of_queues_run_in_any_order(void **state) {
  (void)state;
  enum { PROGRAMS = 150 };
  for (uint64_t seed = 1; seed <= PROGRAMS; ++seed) {
    byoc_test_random_t random = {seed};
    const model_t m = draw_model(&random);
    check_model(&m, seed);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_h10_programs_of_queues_run_in_any_order),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
