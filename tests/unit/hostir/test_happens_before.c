// SPDX-License-Identifier: Apache-2.0
// Happens-before of queues and events: small programs whose races are known, and random ones against all their
// interleavings.
#include "core/hostir/verify/happens_before.h"

#include <stdlib.h>

#include "core/hostir/pass/pass.h"
#include "core/hostir/program/edit.h"
#include "tests/unit/hostir/verify_cases.h"

// ---- known programs ----

#define PROGRAM(body)                                                                                                  \
  "host program \"p\" {\n device %d = \"sim\" 0 type 4\n device %cpu = \"host\" 0 type 1\n queue %a on %d\n"           \
  " queue %b on %d\n queue %s[2] on %d\n queue %c on %cpu\n event %e on %d\n event %f on %d\n event %g[2] on %d\n"     \
  " event %h on %cpu\n symbol I\n symbol J\n symbol K\n input %x : f32[4]\n input %n : i64[1]\n output %y : f32[4]\n"  \
  " local %t : f32[4] on %d\n local %u : f32[4] on %d\n local %l : f32[4]\n local %m : f32[8]\n"                       \
  " view %v : f32[4] = %m + I * 16\n local %w : f32[4] on %d\n allocate %t allocate %u allocate %l allocate %m "       \
  "allocate %w " body " free %t free %u free %l free %m free %w }\n"                                                   \
  "kernel { name \"k\" input a : f32[4] output b : f32[4] }\n"
#define RUN(from, to) "launch \"m\" \"f\" grid [1, 1, 1] block [1, 1, 1] (" from ") -> (" to ") with () "

static void test_h10_queues_are_in_order(void **state) {
  (void)state;
  static const case_t cases[] = {
      {"one queue", PROGRAM("copy %x -> %t on %a " RUN("%t", "%u") "on %a copy %u -> %y on %a"), NULL},
      {"read after write", PROGRAM("copy %x -> %t on %a " RUN("%t", "%u") "on %b copy %u -> %y on %b"),
       "instruction 7 (launch f): it reads 't' on the queue 'b', and instruction 6 (copy) writes 't' on the queue 'a': "
       "nothing orders the two"},
      {"write after read", PROGRAM("copy %x -> %t on %a signals %e copy %t -> %y on %a copy %x -> %t on %b after (%e)"),
       "instruction 8 (copy): it writes 't' on the queue 'b', and instruction 7 (copy) reads 't' on the queue 'a'"},
      {"write after write", PROGRAM("copy %x -> %t on %a fill %t with 0 on %b copy %x -> %y"),
       "instruction 7 (fill): it writes 't' on the queue 'b', and instruction 6 (copy) writes 't' on the queue 'a'"},
      {"two readers", PROGRAM("copy %x -> %t on %a signals %e copy %t -> %y on %a copy %t -> %l on %b after (%e)"),
       NULL},
      {"the processor's queue",
       PROGRAM("kernel k(%x) -> (%l) on %c signals %h await (%h) copy %l -> %t on %a copy %t -> %y on %a"), NULL},
      {"the processor's queue, not awaited",
       PROGRAM("kernel k(%x) -> (%l) on %c signals %h copy %l -> %t on %a copy %t -> %y on %a"),
       "it reads 'l' on the queue 'a', and instruction 6 (kernel k) writes 'l' on the queue 'c'"},
  };
  CHECK(cases);
}

static void test_h10_events_order_queues(void **state) {
  (void)state;
  static const case_t cases[] = {
      {"an event", PROGRAM("copy %x -> %t on %a signals %e copy %t -> %y on %b after (%e)"), NULL},
      {"an event of another command",
       PROGRAM("copy %x -> %u on %a signals %e copy %x -> %t on %a copy %t -> %y on %b after (%e)"),
       "it reads 't' on the queue 'b', and instruction 7 (copy) writes 't'"},
      {"a later command of the queue",
       PROGRAM("copy %x -> %t on %a copy %x -> %u on %a signals %e copy %t -> %y on %b after (%e)"), NULL},
      {"an event that was signalled again",
       PROGRAM("copy %x -> %t on %a signals %e copy %x -> %u on %b signals %e copy %t -> %y on %b after (%e)"),
       "it reads 't' on the queue 'b'"},
      {"an event that was not signalled yet",
       PROGRAM("copy %x -> %t on %a copy %t -> %y on %b after (%e) barrier on %a signals %e"), "it reads 't'"},
      {"through a barrier",
       PROGRAM("copy %x -> %t on %a barrier on %a signals %e barrier on %b after (%e) copy %t -> %y on %b"), NULL},
      {"through a third queue",
       PROGRAM("copy %x -> %t on %a signals %e barrier on %s[1] after (%e) signals %f copy %t -> %y on %b after (%f)"),
       NULL},
      {"the wrong one of a set",
       PROGRAM("copy %x -> %t on %a signals %g[0] barrier on %b signals %g[1] copy %t -> %y on %b after (%g[1])"),
       "it reads 't' on the queue 'b'"},
      {"one of a set, modulo its count",
       PROGRAM("copy %x -> %t on %s[3] signals %g[4] copy %t -> %u on %s[1] copy %t -> %y on %b after (%g[0])"), NULL},
      {"one of a set that only the run knows",
       PROGRAM("bind %n to I by \"n\" copy %x -> %t on %s[I + 1] copy %t -> %y on %s[1]"),
       "instruction 7 (copy): which one of the set 's' it names is not known"},
      {"two of a set", PROGRAM("copy %x -> %t on %s[0] copy %t -> %y on %s[1]"),
       "it reads 't' on the queue 's[1]', and instruction 6 (copy) writes 't' on the queue 's[0]'"},
  };
  CHECK(cases);
}

// What a loop carries, and its counter, are in cells, which each turn sets anew.
#define TURNS(body)                                                                                                    \
  "host program \"p\" dynamic {\n device %d = \"sim\" 0 type 4\n queue %a on %d\n event %e on %d\n"                    \
  " input %x : value f32[4]\n input %n : value i64[]\n output %y : value f32[4]\n local %i : value i64[]\n"            \
  " local %go : value bool[]\n local %s : value f32[4]\n local %r : value f32[4]\n local %k : i64[] on %d\n"           \
  " local %t : f32[4] on %d\n allocate %k allocate %t loop (%n, none, %x) -> (%r) body (%i, %go, %s) { " body          \
  "yield (%go, %s) } free %k free %t share %r -> %y free %r }\n"

static void test_h10_the_next_turn_sets_parameters(void **state) {
  (void)state;
  static const case_t cases[] = {
      {"the counter", TURNS("copy %i -> %k on %a "),
       "instruction 5 (yield): it writes 'i' on the host, and instruction 4 (copy) reads 'i' on the queue 'a'"},
      {"what is carried", TURNS("copy %s -> %t on %a "),
       "instruction 5 (yield): it writes 's' on the host, and instruction 4 (copy) reads 's' on the queue 'a'"},
      {"awaited", TURNS("copy %i -> %k on %a copy %s -> %t on %a signals %e await (%e) "), NULL},
  };
  CHECK(cases);
}

static void test_h10_the_host_awaits_what_it_touches(void **state) {
  (void)state;
  static const case_t cases[] = {
      {"what the host wrote before", PROGRAM("kernel k(%x) -> (%l) copy %l -> %t on %a copy %t -> %y on %a"), NULL},
      {"read after write", PROGRAM("copy %x -> %t on %a copy %t -> %l on %a kernel k(%l) -> (%y)"),
       "instruction 8 (kernel k): it reads 'l' on the host, and instruction 7 (copy) writes 'l' on the queue 'a': "
       "nothing orders the two"},
      {"awaited", PROGRAM("copy %x -> %t on %a copy %t -> %l on %a signals %e await (%e) kernel k(%l) -> (%y)"), NULL},
      {"write after read", PROGRAM("kernel k(%x) -> (%l) copy %l -> %t on %a kernel k(%x) -> (%l) copy %l -> %y"),
       "instruction 8 (kernel k): it writes 'l' on the host, and instruction 7 (copy) reads 'l' on the queue 'a'"},
      {"a later command awaited",
       PROGRAM(
           "copy %x -> %t on %a copy %t -> %l on %a copy %t -> %u on %a signals %e await (%e) kernel k(%l) -> (%y)"),
       NULL},
      {"an earlier command awaited",
       PROGRAM("copy %x -> %t on %a signals %e copy %t -> %l on %a await (%e) kernel k(%l) -> (%y)"), "it reads 'l'"},
      {"behind an await all queues are behind",
       PROGRAM("copy %x -> %t on %a signals %e await (%e) copy %t -> %y on %b"), NULL},
      {"the end of a value",
       "host program \"p\" dynamic {\n device %d = \"sim\" 0 type 4\n queue %a on %d\n input %x : value f32[4]\n"
       " output %y : value f32[4]\n local %c : value f32[4]\n local %t : f32[4] on %d\n allocate %c allocate %t\n"
       " kernel k(%x) -> (%c) copy %c -> %t on %a free %c free %t share %x -> %y }\n"
       "kernel { name \"k\" input a : f32[4] output b : f32[4] }\n",
       "instruction 5 (free): it ends 'c' on the host, and instruction 4 (copy) reads 'c' on the queue 'a'"},
      {"another buffer of the host", PROGRAM("copy %x -> %t on %a copy %t -> %l on %a kernel k(%x) -> (%y)"), NULL},
  };
  CHECK(cases);
}

static void test_h10_turns_and_cases_are_ordered(void **state) {
  (void)state;
  static const case_t cases[] = {
      {"the next turn",
       PROGRAM(
           "loop I from 0 to 2 body { copy %x -> %t on %a signals %e copy %t -> %u on %b after (%e) } copy %x -> %y"),
       "instruction 7 (copy): it writes 't' on the queue 'a', and instruction 8 (copy) reads 't' on the queue 'b'"},
      {"one turn",
       PROGRAM(
           "loop I from 0 to 1 body { copy %x -> %t on %a signals %e copy %t -> %u on %b after (%e) } copy %x -> %y"),
       NULL},
      {"the next turn waits",
       PROGRAM("loop I from 0 to 2 body { copy %x -> %t on %a after (%f) signals %e copy %t -> %u on %b after (%e) "
               "signals %f } copy %x -> %y"),
       NULL},
      {"any number of turns",
       PROGRAM("bind %n to J by \"n\" loop I from 0 to J body { copy %x -> %t on %a signals %e copy %t -> %u on %b "
               "after (%e) } copy %x -> %y"),
       "writes 't' on the queue 'a'"},
      {"any number of turns that wait",
       PROGRAM(
           "bind %n to J by \"n\" loop I from 0 to J body { copy %x -> %t on %a after (%f) signals %e copy %t -> %u "
           "on %b after (%e) signals %f } copy %x -> %y"),
       NULL},
      {"each turn has its slice",
       PROGRAM("loop I from 0 to 2 body { kernel k(%x) -> (%v) copy %v -> %t on %a } copy %t -> %y on %a"), NULL},
      {"turns on queues of a set, each its own event",
       PROGRAM("bind %n to J by \"n\" loop I from 0 to J body { barrier on %s[I] signals %g[I] } copy %x -> %y"), NULL},
      {"any number of turns, each with the queue and the memory that its number says",
       PROGRAM("bind %n to J by \"n\" loop I from 0 to J body { let K = mod(I + 2, 2) copy %x -> %t on %s[2 * I] "
               "signals %g[K] copy %t -> %u on %s[K - K] copy %x -> %w on %b after (%g[I]) } copy %x -> %y"),
       NULL},
      {"an element that is not known", PROGRAM("bind %n to J by \"n\" barrier on %s[J] copy %x -> %y"),
       "which one of the set 's' it names is not known"},
  };
  CHECK(cases);
}

// ---- random programs ----

enum { QUEUES = 4, EVENTS = 4, DEVICE_BUFFERS = 3, HOST_BUFFERS = 2, MOST_OPS = 16 };

typedef struct op_t {
  enum { LAUNCH, COPY_IN, COPY_OUT, BARRIER, HOST, AWAIT } kind;
  int queue;       // 0, 1: single ones; 2: the first or second of a set, 3: that with the number of the turn
  int read, write; // buffers; hosts' ones come behind those of the device
  int waits[2], wait_count,
      signal;    // events: 0, 1; 2: of a set, the first; 3: that with the number of the turn. -1: none
  size_t number; // in the text
} op_t;

typedef enum control_t { STRAIGHT, COUNTED, ANY_TURNS, CASES } control_t;

typedef struct model_t {
  op_t ops[MOST_OPS];
  size_t count, first, last; // [first, last): the body, or the two cases, which part at `middle`
  size_t middle;
  control_t control;
  int64_t turns;
} model_t;

typedef struct pairs_t {
  bool is[MOST_OPS + 8][MOST_OPS + 8]; // by numbers in the text
} pairs_t;

static uint32_t seed;

static uint32_t draw(uint32_t below) {
  seed = seed * 1664525u + 1013904223u;
  return (seed >> 8) % below;
}

static bool has_queue(const op_t *op) {
  return op->kind != HOST && op->kind != AWAIT;
}

static int draw_element(bool in_loop) { // 2 or 3 of a set only in the loop
  const uint32_t drawn = draw(in_loop ? 4 : 3);
  return (int)drawn;
}

static op_t draw_op(bool in_loop) {
  op_t op = {.signal = -1};
  static const int kinds[] = {LAUNCH, LAUNCH, LAUNCH, COPY_IN, COPY_OUT, COPY_OUT, BARRIER, HOST, HOST, AWAIT};
  op.kind = kinds[draw(sizeof(kinds) / sizeof(kinds[0]))];
  op.queue = draw_element(in_loop);
  op.read = (int)draw(DEVICE_BUFFERS);
  op.write = (op.read + 1 + (int)draw(DEVICE_BUFFERS - 1)) % DEVICE_BUFFERS;
  if (op.kind == COPY_IN || op.kind == HOST) op.read = DEVICE_BUFFERS + (int)draw(HOST_BUFFERS);
  if (op.kind == COPY_OUT) op.write = DEVICE_BUFFERS + (int)draw(HOST_BUFFERS);
  if (op.kind == HOST) op.write = op.read == DEVICE_BUFFERS ? DEVICE_BUFFERS + 1 : DEVICE_BUFFERS;
  op.wait_count = op.kind == AWAIT ? 1 : op.kind == HOST ? 0 : (int)draw(3);
  for (int k = 0; k < op.wait_count; ++k) op.waits[k] = draw_element(in_loop);
  if (has_queue(&op) && draw(3) > 0) op.signal = draw_element(in_loop);
  return op;
}

static model_t draw_model(void) {
  model_t m = {.control = (control_t)draw(4), .turns = 1 + draw(3)};
  const size_t before = draw(4), body = m.control == STRAIGHT ? 3 : 2 + draw(2), after = draw(4);
  m.first = before;
  m.last = before + body;
  m.middle = before + 1;
  m.count = before + body + after;
  for (size_t k = 0; k < m.count; ++k) {
    const bool in_loop = k >= m.first && k < m.last && (m.control == COUNTED || m.control == ANY_TURNS);
    m.ops[k] = draw_op(in_loop);
  }
  return m;
}

// ---- its text ----

static void print_event(int event, byoc_string_t *out) {
  byoc_string_append(out, event == 0 ? "%e" : event == 1 ? "%f" : event == 2 ? "%g[0]" : "%g[I]");
}

static void print_op(const op_t *op, byoc_string_t *out) {
  static const char *const buffers[] = {"%t", "%u", "%w", "%l", "%m"}, *const queues[] = {"%a", "%b", "%s[0]", "%s[I]"};
  const char *read = buffers[op->read], *write = buffers[op->write];
  if (op->kind == LAUNCH) byoc_string_appendf(out, RUN("%s", "%s"), read, write);
  if (op->kind == COPY_IN || op->kind == COPY_OUT) byoc_string_appendf(out, "copy %s -> %s ", read, write);
  if (op->kind == BARRIER) byoc_string_append(out, "barrier ");
  if (op->kind == HOST) byoc_string_appendf(out, "kernel k(%s) -> (%s) ", read, write);
  if (op->kind == AWAIT) byoc_string_append(out, "await ");
  if (has_queue(op)) byoc_string_appendf(out, "on %s ", queues[op->queue]);
  if (has_queue(op) && op->wait_count > 0) byoc_string_append(out, "after ");
  for (int k = 0; k < op->wait_count; ++k) {
    byoc_string_append(out, k == 0 ? "(" : ", ");
    print_event(op->waits[k], out);
  }
  if (op->wait_count > 0) byoc_string_append(out, ") ");
  if (op->signal >= 0) {
    byoc_string_append(out, "signals ");
    print_event(op->signal, out);
  }
  byoc_string_append(out, "\n");
}

static void print_model(model_t *m, byoc_string_t *out) {
  byoc_string_append(
      out, "host program \"p\" {\n device %d = \"sim\" 0 type 4\n queue %a on %d\n queue %b on %d\n queue %s[2] on %d\n"
           " event %e on %d\n event %f on %d\n event %g[2] on %d\n symbol I\n symbol J\n input %n : i64[1]\n"
           " input %go : bool[]\n local %t : f32[4] on %d\n local %u : f32[4] on %d\n local %w : f32[4] on %d\n"
           " local %l : f32[4]\n local %m : f32[4]\n");
  size_t number = 0;
  if (m->control == ANY_TURNS) byoc_string_append(out, "bind %n to J by \"n\"\n");
  number += m->control == ANY_TURNS;
  for (size_t k = 0; k <= m->count; ++k) {
    if (k == m->first && m->control != STRAIGHT) {
      number += 1;
      if (m->control == COUNTED) byoc_string_appendf(out, "loop I from 0 to %d body {\n", (int)m->turns);
      if (m->control == ANY_TURNS) byoc_string_append(out, "loop I from 0 to J body {\n");
      if (m->control == CASES) byoc_string_append(out, "branch (%go) then {\n");
    }
    if (k == m->middle && m->control == CASES) byoc_string_append(out, "} else {\n");
    if (k == m->last && m->control != STRAIGHT) byoc_string_append(out, "}\n");
    if (k == m->count) break;
    m->ops[k].number = ++number;
    print_op(&m->ops[k], out);
  }
  byoc_string_append(out, "}\nkernel { name \"k\" input a : f32[4] output b : f32[4] }\n");
}

// ---- all its interleavings ----

// What the host does, one after the other. Commands have a bit each.
typedef struct act_t {
  const op_t *op;
  int queue, command; // -1: none
  uint32_t needs;     // commands that have ended when it runs
} act_t;

typedef struct trace_t {
  act_t acts[64];
  size_t count;
  int commands;
} trace_t;

static int element(int drawn, int64_t turn) {
  return drawn < 3 ? drawn : 2 + (int)(turn % 2);
}

static void add_act(trace_t *trace, const op_t *op, int64_t turn, int *last_of_queue, int *last_of_event) {
  act_t *act = &trace->acts[trace->count++];
  *act = (act_t){.op = op, .queue = -1, .command = -1};
  for (int k = 0; k < op->wait_count; ++k) {
    const int command = last_of_event[element(op->waits[k], turn)];
    if (command >= 0) act->needs |= UINT32_C(1) << command;
  }
  if (!has_queue(op)) return;
  act->queue = element(op->queue, turn);
  act->command = trace->commands++;
  if (last_of_queue[act->queue] >= 0) act->needs |= UINT32_C(1) << last_of_queue[act->queue];
  last_of_queue[act->queue] = act->command;
  if (op->signal >= 0) last_of_event[element(op->signal, turn)] = act->command;
}

// The case, or the number of turns.
static trace_t trace_of(const model_t *m, int64_t choice) {
  trace_t trace = {0};
  int last_of_queue[QUEUES] = {-1, -1, -1, -1}, last_of_event[EVENTS] = {-1, -1, -1, -1};
  for (size_t k = 0; k < m->first; ++k) add_act(&trace, &m->ops[k], 0, last_of_queue, last_of_event);
  const bool loops = m->control == COUNTED || m->control == ANY_TURNS;
  const size_t begin = m->control == CASES && choice == 1 ? m->middle : m->first;
  const size_t end = m->control == CASES && choice == 0 ? m->middle : m->last;
  for (int64_t turn = 0; turn < (loops ? choice : 1); ++turn) {
    for (size_t k = begin; k < end; ++k) add_act(&trace, &m->ops[k], turn, last_of_queue, last_of_event);
  }
  for (size_t k = m->last; k < m->count; ++k) add_act(&trace, &m->ops[k], 0, last_of_queue, last_of_event);
  return trace;
}

static bool conflict(const op_t *a, const op_t *b) {
  if (a->kind == BARRIER || a->kind == AWAIT || b->kind == BARRIER || b->kind == AWAIT) return false;
  return a->write == b->write || a->write == b->read || a->read == b->write;
}

// The act runs while the commands that the host has handed over before and that are not in `ended` have not ended.
static void note_races(const trace_t *trace, size_t at, uint32_t ended, pairs_t *pairs) {
  for (size_t k = 0; k < at; ++k) {
    const act_t *earlier = &trace->acts[k];
    if (earlier->command < 0 || (ended >> earlier->command & 1) != 0) continue;
    if (conflict(earlier->op, trace->acts[at].op)) pairs->is[earlier->op->number][trace->acts[at].op->number] = true;
  }
}

// A state: how far the host is, and which commands have ended.
static void explore(const trace_t *trace, pairs_t *pairs) {
  const size_t masks = (size_t)1 << trace->commands;
  uint8_t *seen = calloc((trace->count + 1) * masks, 1);
  uint32_t *stack = calloc((trace->count + 1) * masks, sizeof(*stack));
  size_t depth = 0;
  assert_true(seen != NULL && stack != NULL);
  stack[depth++] = 0;
  seen[0] = 1;
  while (depth > 0) {
    const uint32_t state = stack[--depth], ended = state % (uint32_t)masks;
    const size_t at = state / masks;
    for (size_t k = 0; k <= at && k < trace->count; ++k) {
      const act_t *act = &trace->acts[k];
      uint32_t next = state;
      if (k == at) { // the host goes on
        if (act->command < 0 && (act->needs & ~ended) != 0) continue;
        if (act->command < 0) note_races(trace, k, ended, pairs);
        next = (uint32_t)((at + 1) * masks) + ended;
      } else { // a command runs
        if (act->command < 0 || (ended >> act->command & 1) != 0 || (act->needs & ~ended) != 0) continue;
        note_races(trace, k, ended, pairs);
        next = state | UINT32_C(1) << act->command;
      }
      if (seen[next]) continue;
      seen[next] = 1;
      stack[depth++] = next;
    }
  }
  free(seen);
  free(stack);
}

static byoc_status_t note_meeting(void *self, byoc_host_order_t *order, const byoc_host_run_t *run) {
  pairs_t *pairs = self;
  const byoc_host_run_t *open = NULL;
  const byoc_host_access_t *first = NULL, *second = NULL;
  for (size_t at = 0; (open = byoc_host_order_next(order, &at)) != NULL;) {
    if (byoc_host_runs_conflict(open, run, &first, &second)) pairs->is[open->number][run->number] = true;
  }
  return BYOC_OK;
}

static void check_model(model_t *m, uint32_t of_seed) {
  byoc_string_t text;
  byoc_string_init(&text, byoc_allocator_system());
  print_model(m, &text);
  pairs_t expected = {0}, found = {0};
  const bool loops = m->control == COUNTED || m->control == ANY_TURNS;
  const int64_t least = m->control == COUNTED ? m->turns : 0, most = loops ? (m->control == COUNTED ? m->turns : 4) : 1;
  for (int64_t choice = least; choice <= (m->control == STRAIGHT ? 0 : most); ++choice) {
    const trace_t trace = trace_of(m, choice);
    explore(&trace, &expected);
  }
  byoc_diag_t diag = {0};
  byoc_graph_module_t *module = NULL;
  byoc_host_program_t *program = NULL;
  byoc_status_t status =
      byoc_host_program_parse(text.data, "p.host", NULL, byoc_allocator_system(), &diag, &module, &program);
  if (status != BYOC_OK) fail_msg("%s at line %d of\n%s", diag.message, diag.line, text.data);
  const byoc_host_watch_t watch = {.self = &found, .meet = note_meeting};
  assert_int_equal(byoc_host_walk_order(program, &watch, &diag), BYOC_OK);
  for (size_t a = 0; a < sizeof(expected.is) / sizeof(expected.is[0]); ++a) {
    for (size_t b = 0; b < sizeof(expected.is) / sizeof(expected.is[0]); ++b) {
      // What paths have in common may be told less exactly than each of them.
      const bool fits =
          expected.is[a][b] == found.is[a][b] || (found.is[a][b] && (m->control == CASES || m->control == ANY_TURNS));
      if (!fits) {
        fail_msg("seed %u: %zu and %zu race: %d, found %d in\n%s", of_seed, a, b, expected.is[a][b], found.is[a][b],
                 text.data);
      }
    }
  }
  byoc_host_program_destroy(program);
  byoc_graph_module_destroy(module);
  byoc_string_deinit(&text);
}

static void test_h10_races_are_those_of_all_interleavings(void **state) {
  (void)state;
  enum { PROGRAMS = 1500 };
  for (uint32_t k = 0; k < PROGRAMS; ++k) {
    seed = k * 7919 + 1;
    model_t m = draw_model();
    check_model(&m, k);
  }
}

// ---- passes on random programs ----

static byoc_status_t refuse_meeting(void *self, byoc_host_order_t *order, const byoc_host_run_t *run) {
  const byoc_host_run_t *open = NULL;
  const byoc_host_access_t *first = NULL, *second = NULL;
  for (size_t at = 0; (open = byoc_host_order_next(order, &at)) != NULL;) {
    if (!byoc_host_runs_conflict(open, run, &first, &second)) continue;
    byoc_string_t text;
    byoc_string_init(&text, byoc_allocator_system());
    byoc_host_program_print(self, NULL, &text);
    fail_msg("%zu and %zu race in\n%s", open->number, run->number, text.data);
  }
  return BYOC_OK;
}

static void check_no_races(byoc_host_program_t *program) {
  byoc_diag_t diag = {0};
  const byoc_host_watch_t watch = {.self = program, .meet = refuse_meeting};
  assert_int_equal(byoc_host_walk_order(program, &watch, &diag), BYOC_OK);
  assert_int_equal(byoc_host_check_edits(program, &diag), BYOC_OK);
}

static void order_and_plan(model_t *m) {
  static const char *const passes[] = {"drop-repeated-copies", "place-lifetimes", "order-queues",
                                       "drop-covered-waits",   "plan-memory",     "drop-covered-waits"};
  byoc_string_t text;
  byoc_string_init(&text, byoc_allocator_system());
  print_model(m, &text);
  byoc_diag_t diag = {0};
  byoc_graph_module_t *module = NULL;
  byoc_host_program_t *program = NULL;
  assert_int_equal(
      byoc_host_program_parse(text.data, "p.host", NULL, byoc_allocator_system(), &diag, &module, &program), BYOC_OK);
  for (size_t k = 0; k < sizeof(passes) / sizeof(passes[0]); ++k) {
    size_t changes = 0; // without the manager, which verifies: these programs read what nobody wrote
    assert_int_equal(byoc_passes_find(&byoc_host_passes, passes[k])->run_host(program, &diag, &changes), BYOC_OK);
    if (k > 1) check_no_races(program); // from order-queues on
  }
  byoc_host_program_destroy(program);
  byoc_graph_module_destroy(module);
  byoc_string_deinit(&text);
}

// Of two waits, one says what the other says; of two that say different things, none goes.
static void test_h10_waits_that_others_cover_go(void **state) {
  (void)state;
  static const struct {
    const char *text;
    size_t left; // waits of the last command
  } rows[] = {
      {PROGRAM("copy %x -> %t on %a signals %e copy %t -> %u on %b after (%e) signals %f "
               "copy %u -> %y on %s[0] after (%e, %f)"),
       1},
      {PROGRAM("copy %x -> %t on %a signals %e copy %x -> %u on %b signals %f "
               "launch \"m\" \"f\" grid [1, 1, 1] block [1, 1, 1] (%t, %u) -> (%w) with () on %s[0] after (%e, %f)"),
       2}};
  for (size_t r = 0; r < sizeof(rows) / sizeof(rows[0]); ++r) {
    byoc_diag_t diag = {0};
    byoc_graph_module_t *module = NULL;
    byoc_host_program_t *program = NULL;
    byoc_test_ok(
        byoc_host_program_parse(rows[r].text, "p.host", NULL, byoc_allocator_system(), &diag, &module, &program),
        &diag);
    size_t changes = 0;
    byoc_test_ok(byoc_passes_find(&byoc_host_passes, "drop-covered-waits")->run_host(program, &diag, &changes), &diag);
    const byoc_host_instruction_t *last = NULL;
    BYOC_HOST_FOR_EACH(i, program) {
      if (i->op == BYOC_HOST_COPY || i->op == BYOC_HOST_LAUNCH) last = i;
    }
    assert_non_null(last);
    assert_int_equal(last->waits.count, rows[r].left);
    byoc_host_program_destroy(program);
    byoc_graph_module_destroy(module);
  }
}

// A program of queues alone, and one that has some events already.
static void test_h10_queues_are_ordered_and_planned(void **state) {
  (void)state;
  enum { PROGRAMS = 1500 };
  for (uint32_t k = 0; k < PROGRAMS; ++k) {
    seed = k * 7919 + 1;
    model_t m = draw_model();
    order_and_plan(&m);
    for (size_t j = 0; j < m.count; ++j) {
      op_t *op = &m.ops[j];
      if (op->kind == AWAIT) *op = (op_t){.kind = HOST, .read = DEVICE_BUFFERS, .write = DEVICE_BUFFERS + 1};
      op->signal = -1;
      op->wait_count = 0;
    }
    order_and_plan(&m);
  }
}

// What buffers hold, each another number at first, behind a region: loops turn `choice` times, branches take that case.
static void interpret(const byoc_host_region_t *region, size_t choice, uint64_t *values) {
  for (const byoc_host_instruction_t *i = region->first; i != NULL; i = i->next) {
    if (i->op == BYOC_HOST_COPY) values[i->results.data[0]->index] = values[i->operands.data[0]->index];
    if (i->op == BYOC_HOST_LAUNCH || i->op == BYOC_HOST_KERNEL) {
      values[i->results.data[0]->index] = values[i->operands.data[0]->index] * 31 + 7;
    }
    if (i->op == BYOC_HOST_BRANCH) interpret(&i->regions[choice % 2], choice, values);
    for (size_t turn = 0; i->op == BYOC_HOST_LOOP && turn < choice; ++turn) interpret(&i->regions[0], choice, values);
  }
}

// Copies of what is there already may go, and those that nobody reads: buffers hold the same in the end.
static void test_h10_dropped_copies_change_nothing(void **state) {
  (void)state;
  enum { PROGRAMS = 3000, BUFFERS = 8 };
  size_t dropped = 0;
  for (uint32_t k = 0; k < PROGRAMS; ++k) {
    seed = k * 7919 + 5;
    model_t m = draw_model();
    byoc_string_t text;
    byoc_string_init(&text, byoc_allocator_system());
    print_model(&m, &text);
    byoc_diag_t diag = {0};
    byoc_graph_module_t *module = NULL;
    byoc_host_program_t *program = NULL;
    assert_int_equal(
        byoc_host_program_parse(text.data, "p.host", NULL, byoc_allocator_system(), &diag, &module, &program), BYOC_OK);
    uint64_t values[4][2][BUFFERS];
    size_t count = 0;
    assert_true(program->buffers.count <= BUFFERS);
    for (size_t after = 0; after < 2; ++after) {
      for (size_t choice = 0; choice < 4; ++choice) {
        for (size_t b = 0; b < BUFFERS; ++b) values[choice][after][b] = 1000 * b;
        interpret(&program->body, choice, values[choice][after]);
        if (after == 0 || memcmp(values[choice][0], values[choice][1], sizeof(values[choice][0])) == 0) continue;
        byoc_string_t changed;
        byoc_string_init(&changed, byoc_allocator_system());
        byoc_host_program_print(program, NULL, &changed);
        fail_msg("%zu turns of\n%s\nbecame\n%s", choice, text.data, changed.data);
      }
      if (after == 0) {
        assert_int_equal(byoc_passes_find(&byoc_host_passes, "drop-repeated-copies")->run_host(program, &diag, &count),
                         BYOC_OK);
        dropped += count;
        assert_int_equal(byoc_host_check_edits(program, &diag), BYOC_OK);
      }
    }
    byoc_host_program_destroy(program);
    byoc_graph_module_destroy(module);
    byoc_string_deinit(&text);
  }
  assert_true(dropped > 0);
}

static byoc_status_t verify_with(void *argument, byoc_allocator_t allocator) {
  (void)argument;
  byoc_diag_t diag = {0};
  return verify(PROGRAM("bind %n to J by \"n\" loop I from 0 to J body { copy %x -> %t on %a after (%f) signals %e "
                        "copy %t -> %u on %b after (%e) signals %f } copy %x -> %y"),
                allocator, &diag);
}

static byoc_status_t order_and_plan_with(void *argument, byoc_allocator_t allocator) {
  byoc_diag_t diag = {0};
  byoc_graph_module_t *module = NULL;
  byoc_host_program_t *program = NULL;
  byoc_status_t status = byoc_host_program_parse(argument, "p.host", NULL, allocator, &diag, &module, &program);
  static const char passes[] = "drop-repeated-copies,place-lifetimes," BYOC_HOST_ORDER_PASSES ",plan-memory";
  if (status == BYOC_OK) status = byoc_host_pass_run_list(passes, program, NULL, &diag);
  byoc_host_program_destroy(program);
  byoc_graph_module_destroy(module);
  return status;
}

static void test_h10_each_allocation_of_the_passes_may_fail(void **state) {
  (void)state;
  static char text[] =
      "host program \"p\" {\n symbol I\n symbol J\n symbol K\n device %d = \"sim\" 0 type 4\n queue %a on %d\n queue "
      "%s[2] on %d\n"
      " event %e on %d\n input %x : f32[4]\n input %n : i64[1]\n input %go : bool[]\n output %y : f32[4]\n"
      " output %z : f32[4]\n local %h : f32[4]\n local %t : f32[4] on %d\n local %u : f32[4] on %d scope \"s\"\n"
      " copy %x -> %t on %a signals %e copy %x -> %t on %a after (%e) signals %e bind %n to J by \"n\"\n"
      " loop I from 0 to J body { copy %t -> %u on %s[I] copy %x -> %t on %a }\n"
      " loop K from 0 to 2 body { copy %t -> %u on %s[K] }\n"
      " branch (%go) then { copy %u -> %h on %a } else { copy %x -> %h }\n"
      " copy %h -> %y copy %t -> %z on %s[1] }\n";
  byoc_test_each_allocation_fails(order_and_plan_with, text, false);
}

static void test_h10_each_allocation_may_fail(void **state) {
  (void)state;
  byoc_test_each_allocation_fails(verify_with, NULL, false);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_h10_queues_are_in_order),
      cmocka_unit_test(test_h10_events_order_queues),
      cmocka_unit_test(test_h10_the_next_turn_sets_parameters),
      cmocka_unit_test(test_h10_the_host_awaits_what_it_touches),
      cmocka_unit_test(test_h10_turns_and_cases_are_ordered),
      cmocka_unit_test(test_h10_races_are_those_of_all_interleavings),
      cmocka_unit_test(test_h10_waits_that_others_cover_go),
      cmocka_unit_test(test_h10_queues_are_ordered_and_planned),
      cmocka_unit_test(test_h10_dropped_copies_change_nothing),
      cmocka_unit_test(test_h10_each_allocation_may_fail),
      cmocka_unit_test(test_h10_each_allocation_of_the_passes_may_fail),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
