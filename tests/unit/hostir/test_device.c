// SPDX-License-Identifier: Apache-2.0
// What the verifier says of devices: where buffers are, which queue runs what, and places in the memories of devices.
#include "tests/unit/hostir/verify_cases.h"

#define PROGRAM(declarations, body)                                                                                    \
  "host program \"p\" workspace 256 bound 0 {\n device %d = \"sim\" 0 type 4\n device %o = \"sim\" 1 type 4\n"         \
  " device %cpu = \"host\" 0 type 1\n queue %q on %d\n queue %p on %o\n queue %c on %cpu\n queue %s[2] on %d\n"        \
  " event %e on %d\n event %f on %o\n event %g[2] on %d\n symbol I\n symbol J\n input %x : f32[4]\n"                   \
  " output %y : f32[4]\n local %h : f32[4] at 0\n" declarations body "}\n"                                             \
  "kernel { name \"k\" input a : f32[4] output b : f32[4] }\n"
#define TWO          "local %t : f32[4] on %d local %u : f32[4] on %d "
#define IN           "allocate %t allocate %u copy %x -> %t on %q "
#define OUT          "copy %u -> %y on %q free %t free %u "
#define LAUNCH(with) "launch \"m\" \"f\" grid [1, 1, 1] block [1, 1, 1] (%t) -> (%u) with (" with ") on %q "

static void test_h10_queues_run_what_their_device_reaches(void **state) {
  (void)state;
  static const case_t cases[] = {
      {"a launch", PROGRAM(TWO, IN LAUNCH("operand 0, result 0") OUT), NULL},
      {"a kernel on the processor's queue", PROGRAM("", "kernel k(%x) -> (%y) on %c"), NULL},
      {"a kernel on a device's queue", PROGRAM("", "kernel k(%x) -> (%y) on %q"),
       "instruction 1 (kernel k): the queue 'q' of the device 'd' cannot run it"},
      {"a launch on the processor",
       PROGRAM(TWO, IN "launch \"m\" \"f\" grid [1, 1, 1] block [1, 1, 1] (%t) -> (%u) "
                       "with () on %c " OUT),
       "the queue 'c' of the device 'cpu' cannot run it"},
      {"a loop on a queue", PROGRAM("", "free %h on %q"), "the queue 'q' of the device 'd' cannot run it"},
      {"a launch without a queue",
       PROGRAM(TWO, IN "launch \"m\" \"f\" grid [1, 1, 1] block [1, 1, 1] (%t) -> (%u) with () " OUT),
       "(launch f): it needs a queue"},
      {"the host on a device's buffer", PROGRAM(TWO, IN "kernel k(%t) -> (%y) " OUT),
       "buffer 't' is on the device 'd', which the host does not reach: copy it"},
      {"a launch on the host's buffer",
       PROGRAM(TWO, IN "launch \"m\" \"f\" grid [1, 1, 1] block [1, 1, 1] (%x) -> (%u) with () on %q " OUT),
       "buffer 'x' is on the host, which the device 'd' does not reach: copy it there"},
      {"a copy to another device", PROGRAM(TWO "local %z : f32[4] on %o ", IN "allocate %z copy %t -> %z on %q"),
       "buffer 'z' is on the device 'o', which the device 'd' does not reach: copy it"},
      {"a copy within the host", PROGRAM("", "copy %x -> %y on %q"), "neither 'x' nor 'y' is on the device 'd'"},
      {"a copy within the host by the processor", PROGRAM("", "copy %x -> %y on %c"), NULL},
      {"an event of another device", PROGRAM(TWO, "allocate %t copy %x -> %t on %q after (%f)"),
       "the event 'f' is of the device 'o', its queue of 'd': put an await before it"},
      {"a symbol that is not bound", PROGRAM("", "barrier on %s[I]"), "the symbol I is used before it is bound"},
      {"zeros on a device", PROGRAM(TWO, "allocate %t zeroed"), "starts with undefined contents: fill it"},
      {"a fill that fits",
       PROGRAM("local %t : u8[4] on %d ", "allocate %t fill %t with 255 on %q free %t copy %x -> %y"), NULL},
      {"a fill that does not fit", PROGRAM("local %t : u8[4] on %d ", "allocate %t fill %t with 256 on %q"),
       "the elements of buffer 't' cannot have these bits"},
  };
  CHECK(cases);
}

// Values whose sizes the run knows.
static void test_values_stay_where_they_are(void **state) {
  (void)state;
#define VALUES(body)                                                                                                   \
  "host program \"p\" dynamic workspace 0 bound 0 live 0 {\n symbol N of inputs\n device %d = \"sim\" 0 type 4\n"      \
  " queue %q on %d\n event %e on %d\n input %x : value f32[N]\n input %n : value i64[]\n input %c : value bool[]\n"    \
  " output %y : value f32[N]\n local %v : value f32[N] on %d\n local %w : value f32[N] on %d\n"                        \
  " local %t : value f32[N] on %d scope \"texture\"\n local %h : value f32[N]\n local %f : value bool[] on %d\n"       \
  " local %s : value f32[K,N] on %d\n local %i : value i64[]\n local %p : value bool[]\n local %m : value f32[N]\n"    \
  " local %k : value f32[N] on %d\n match %x binds N at 0\n match %n\n match %c\n" body "}\n"
#define THERE "allocate %v copy %x -> %v on %q "
#define BACK  "allocate %h copy %w -> %h on %q signals %e free %w await (%e) share %h -> %y free %h "
#define SCALE "launch \"m\" \"f\" grid [N, 1, 1] block [1, 1, 1] (%v) -> (%w) with (operand 0, result 0, i64 N) on %q "
  static const case_t cases[] = {
      {"there and back", VALUES(THERE "allocate %w " SCALE "free %v " BACK), NULL},
      {"shared there", VALUES(THERE "share %v -> %w free %v " BACK), NULL},
      {"shared with the host", VALUES(THERE "share %v -> %h free %v share %h -> %y free %h"),
       "'v' becomes 'h', which is in another memory: copy it"},
      {"shared with another scope", VALUES(THERE "share %v -> %t free %v"), "'v' becomes 't', which is in another"},
      {"carried there",
       VALUES(THERE
              "loop (%n, %c, %v) -> (%w)\n body (%i, %p, %k) { match %p yield (%p, %k) } free %v match %w is N at "
              "0 " BACK),
       NULL},
      {"carried elsewhere", VALUES(THERE "loop (%n, %c, %v) -> (%w)\n body (%i, %p, %m) { match %p yield (%p, %m) }"),
       "'v' becomes 'm', which is in another memory: copy it"},
      {"stacked there", VALUES(THERE "loop (%n, %c) -> (%s) scanned [N]\n body (%i, %p) { match %p yield (%p, %v) }"),
       "the stacked result, 's', is on the device 'd', and the host reads it"},
      {"a condition there",
       VALUES("allocate %f fill %f with 1 on %q branch (%f) -> (%h) then { yield (%x) } else { "
              "yield (%x) } free %f share %h -> %y free %h"),
       "the condition, 'f', is on the device 'd', and the host reads it"},
      {"a branch that gives it elsewhere", VALUES(THERE "branch (%c) -> (%h) then { yield (%v) } else { yield (%x) }"),
       "'v' becomes 'h', which is in another memory: copy it"},
  };
  CHECK(cases);
}

// A program that asks whether its devices have started uses them in the case that they have.
static void test_commands_stand_where_devices_have_started(void **state) {
  (void)state;
#define READY "local %r : bool[] at 64 "
#define ASK   "allocate %r packed byoc_check_devices() -> (%r) "
#define BOTH  "allocate %t allocate %u fill %t with 0 on %q copy %x -> %u on %q copy %u -> %y on %q free %t free %u "
  static const case_t cases[] = {
      {"behind the question", PROGRAM(TWO READY, ASK BOTH "free %r "),
       "it uses a device where none may have started: put it into a branch on 'r'"},
      {"in the case that they have",
       PROGRAM(TWO READY, ASK "branch (%r) then { " BOTH "} else { copy %x -> %y } free %r"), NULL},
      {"in the case that they have not",
       PROGRAM(TWO READY, ASK "branch (%r) then { copy %x -> %y } else { " BOTH "} free %r"),
       "it uses a device where none may have started"},
      {"on the processor", PROGRAM(READY, ASK "copy %x -> %y on %c free %r"), NULL},
      {"another answer", PROGRAM("local %r : f32[] at 64 ", ASK "free %r copy %x -> %y"),
       "operands and results do not fit; the function takes > b1"},
  };
  CHECK(cases);
}

// The same for engines.
static void test_engines_are_called_where_they_have_started(void **state) {
  (void)state;
#define ASK_ENGINES "allocate %r packed byoc_check_engines() -> (%r) "
#define CALL        "engine f(%x) -> (%y) by \"e\" \"f\" "
#define ENGINE                                                                                                         \
  "module engine \"e\" of \"t\" { engine_symbol \"s\" }\n"                                                             \
  "module json \"f\" of \"t\" { function \"f\" engine \"e\" json \"{}\" }\n"
  static const case_t cases[] = {
      {"without a question", PROGRAM("", CALL) ENGINE, NULL},
      {"behind the question", PROGRAM(READY, ASK_ENGINES CALL "free %r ") ENGINE,
       "it calls an engine where none may have started: put it into a branch on 'r'"},
      {"in the case that they have",
       PROGRAM(READY, ASK_ENGINES "branch (%r) then { " CALL "} else { copy %x -> %y } free %r") ENGINE, NULL},
      {"in the case that they have not",
       PROGRAM(READY, ASK_ENGINES "branch (%r) then { copy %x -> %y } else { " CALL "} free %r") ENGINE,
       "it calls an engine where none may have started"},
      {"asked about devices", PROGRAM(READY, ASK "branch (%r) then { copy %x -> %y } else { " CALL "} free %r") ENGINE,
       NULL},
      {"another answer", PROGRAM("local %r : f32[] at 64 ", ASK_ENGINES "free %r copy %x -> %y"),
       "operands and results do not fit; the function takes > b1"},
  };
  CHECK(cases);
}

static void test_h10_launches_have_what_they_name(void **state) {
  (void)state;
  static const case_t cases[] = {
      {"an operand that is not there", PROGRAM(TWO, IN LAUNCH("operand 1") OUT),
       "argument 0 is a buffer that it does not have"},
      {"scratch that is not there", PROGRAM(TWO, IN LAUNCH("result 0, scratch") OUT),
       "argument 1 is a buffer that it does not have"},
      {"an offset behind the end", PROGRAM(TWO, IN LAUNCH("operand 0 + 17") OUT),
       "argument 0 points outside of buffer 't'"},
      {"a symbol that is not bound", PROGRAM(TWO, IN LAUNCH("i32 J") OUT), "the symbol J is used before it is bound"},
      {"a grid that is not known",
       PROGRAM(TWO, IN "launch \"m\" \"f\" grid [1, J, 1] block [1, 1, 1] (%t) -> (%u) with () on %q " OUT),
       "the symbol J is used before it is bound"},
      {"a block that is not known",
       PROGRAM(TWO, IN "launch \"m\" \"f\" grid [1, 1, 1] block [1, 1, J] (%t) -> (%u) with () on %q " OUT),
       "the symbol J is used before it is bound"},
      {"no work-items",
       PROGRAM(TWO, IN "launch \"m\" \"f\" grid [1, 1, 1] block [1, 0, 1] (%t) -> (%u) with () on %q " OUT),
       "its grid or its block has no such size along axis 1"},
      {"a view that is not aligned",
       PROGRAM(TWO "view %v : f32[1] = %u + 4 ",
               IN "launch \"m\" \"f\" grid [1, 1, 1] block [1, 1, 1] (%t) -> (%v) with () on %q " OUT),
       "buffer 'v' is at a byte of 'u' that is no multiple of 512"},
  };
  CHECK(cases);
}

static void test_h10_buffers_have_places_on_devices(void **state) {
  (void)state;
#define PLACED(memory, locals, between)                                                                                \
  PROGRAM(memory locals, "allocate %t allocate %u copy %x -> %t on %q " between                                        \
                         "copy %x -> %u on %q copy %u -> %y on %q free %t free %u")
  static const case_t cases[] = {
      {"the processor", PROGRAM("local %t : f32[4] on %cpu ", "copy %x -> %y"),
       "buffer 't' is on the processor, whose memory is the host's"},
      {"texts", PROGRAM("local %t : string[4] on %d ", "copy %x -> %y"),
       "buffer 't' is on a device, but holds strings"},
      {"no memory", PROGRAM("local %t : f32[4] on %d at 0 ", "copy %x -> %y"),
       "buffer 't' is in a memory that is not declared"},
      {"beyond the memory",
       PROGRAM("memory of %d scope \"global\" 512 local %t : f32[4] on %d at 512 ", "copy %x -> %y"),
       "buffer 't' reaches beyond the memory of its device"},
      {"not aligned", PROGRAM("memory of %d scope \"global\" 256 local %t : f32[4] on %d at 64 ", "copy %x -> %y"),
       "buffer 't' is planned at an offset that is not aligned"},
      {"aligned",
       PLACED("memory of %d scope \"global\" 1024 ", "local %t : f32[4] on %d at 0 local %u : f32[4] on %d at 512 ",
              ""),
       NULL},
      {"at one place",
       PLACED("memory of %d scope \"global\" 1024 ", "local %t : f32[4] on %d at 0 local %u : f32[4] on %d at 0 ", ""),
       "buffer 'u' overlaps 't', which is alive, in the workspace"},
      {"in two memories",
       PLACED("memory of %d scope \"global\" 512 memory of %d scope \"s\" 512 ",
              "local %t : f32[4] on %d at 0 local %u : f32[4] on %d scope \"s\" at 0 ", ""),
       NULL},
      {"one allocation of two types",
       PROGRAM("memory of %d scope \"s\" apart 1 local %t : f32[4] on %d scope \"s\" at 0 "
               "local %u : f32[2,2] on %d scope \"s\" at 0 ",
               "copy %x -> %y"),
       "buffer 'u' has the allocation of a buffer of another type"},
      {"a part of an allocation",
       PROGRAM("memory of %d scope \"s\" apart 1 local %t : f32[4] on %d scope \"s\" at 0 "
               "view %v : f32[1] = %t + 0 ",
               "copy %x -> %y"),
       "buffer 'v' is a part of a buffer whose memory does not subdivide"},
  };
  CHECK(cases);
}

static void test_h10_text_says_what_is_missing(void **state) {
  (void)state;
  static const struct {
    const char *text, *message;
  } cases[] = {
      {PROGRAM("local %t : f32[4] on %e", ""), "there is no device %e"},
      {PROGRAM("", "barrier on %d"), "there is no queue %d"},
      {PROGRAM("", "barrier on %q after (%x)"), "there is no event %x"},
      {PROGRAM("", "barrier on %s"), "%s is a set: say which one of it, %s[0]"},
      {PROGRAM("", "barrier on %q[1]"), "%q is no set"},
      {PROGRAM("queue %q on %d", ""), "the queue %q is declared twice"},
  };
  for (size_t k = 0; k < sizeof(cases) / sizeof(cases[0]); ++k) {
    byoc_diag_t diag = {0};
    byoc_graph_module_t *module = NULL;
    byoc_host_program_t *program = NULL;
    const byoc_status_t status =
        byoc_host_program_parse(cases[k].text, "p.host", NULL, byoc_allocator_system(), &diag, &module, &program);
    assert_int_not_equal(status, BYOC_OK);
    if (strstr(diag.message, cases[k].message) == NULL) fail_msg("'%s', not '%s'", diag.message, cases[k].message);
  }
}

static byoc_status_t verify_with(void *argument, byoc_allocator_t allocator) {
  (void)argument;
  byoc_diag_t diag = {0};
  return verify(PROGRAM(TWO "memory of %d scope \"global\" 0 ", IN LAUNCH("operand 0, i32 4") "await (%e) " OUT),
                allocator, &diag);
}

static void test_h10_each_allocation_may_fail(void **state) {
  (void)state;
  byoc_test_each_allocation_fails(verify_with, NULL, false);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_h10_queues_run_what_their_device_reaches),
      cmocka_unit_test(test_h10_launches_have_what_they_name),
      cmocka_unit_test(test_values_stay_where_they_are),
      cmocka_unit_test(test_commands_stand_where_devices_have_started),
      cmocka_unit_test(test_engines_are_called_where_they_have_started),
      cmocka_unit_test(test_h10_buffers_have_places_on_devices),
      cmocka_unit_test(test_h10_text_says_what_is_missing),
      cmocka_unit_test(test_h10_each_allocation_may_fail),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
