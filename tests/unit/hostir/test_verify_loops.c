// SPDX-License-Identifier: Apache-2.0
// The verifier on loops that count and on views that move: one small text for each refusal.
#include "tests/unit/hostir/verify_cases.h"

#define PROGRAM(declarations, body)                                                                                    \
  "host program \"p\" workspace 256 bound 0 {\n symbol I\n symbol J\n symbol K\n input %x : f32[4]\n"                  \
  " input %n : i64[1]\n output %y : f32[4,4]\n" declarations body "}\n"                                                \
  "kernel { name \"k\" input a : f32[4] output b : f32[4] }\n"                                                         \
  "kernel over 0 { name \"o\" input a : f32[4] output b : f32[4] }\n"                                                  \
  "kernel { name \"two\" input a : f32[4] output b : f32[4] output c : f32[4] }\n"
#define ROWS     " view %r : f32[4] = %y + I * 16\n view %s : f32[4] = %y + I * 16 + 16\n"
#define LOOP(to) "loop I from 0 to " to " body "

static void test_h7_symbols_have_one_place(void **state) {
  (void)state;
  static const case_t cases[] = {
      {"in the body", PROGRAM(ROWS, LOOP("4") "{ kernel k(%x) -> (%r) }"), NULL},
      {"behind the loop", PROGRAM(ROWS, LOOP("4") "{ kernel k(%x) -> (%r) } kernel k(%x) -> (%r)"),
       "the symbol I is used before it is bound"},
      {"two loops", PROGRAM("", LOOP("4") "{ } " LOOP("2") "{ }"), "the symbol I gets its value elsewhere"},
      {"a loop and a let", PROGRAM("", "let I = 4 " LOOP("4") "{ }"), "the symbol I gets its value elsewhere, too"},
      {"a let of the inputs",
       "host program \"p\" dynamic {\n symbol N of inputs\n input %x : value f32[N]\n output %y : value f32[N]\n"
       "match %x binds N at 0 let N = 4 share %x -> %y }",
       "the symbol N gets its value elsewhere, too"},
      {"a let of the unknown", PROGRAM("", "let K = J + 1"), "the symbol J is used before it is bound"},
      {"an end of the unknown", PROGRAM("", LOOP("J") "{ }"), "the symbol J is used before it is bound"},
      {"its own end", PROGRAM("", LOOP("I + 1") "{ }"), "the symbol I is used before it is bound"},
      {"step 0", PROGRAM("", "loop I from 0 to 4 step 0 body { }"), "the step may be 0, or of either sign"},
      {"a step of either sign", PROGRAM("", "bind %n to J by \"n\" loop I from 0 to 4 step 1 - J body { }"),
       "the step may be 0, or of either"},
      {"a step that is not 0",
       PROGRAM(ROWS, "bind %n to J by \"n\" loop I from 0 to 4 step J + 1 body { kernel k(%x) -> (%r) } "),
       "buffer 'y' is read before it is written"},
  };
  CHECK(cases);
}

static void test_h7_slices_are_written_before_they_are_read(void **state) {
  (void)state;
  static const case_t cases[] = {
      {"each in its turn",
       PROGRAM(ROWS " local %t : f32[4] at 0\n",
               "allocate %t " LOOP("4") "{ kernel k(%x) -> (%r) kernel k(%r) -> (%t) } free %t"),
       NULL},
      {"under another view",
       PROGRAM(ROWS " view %q : f32[2] = %y + 8 + I * 16\n view %p : f32[2] = %y + 0\n",
               "loop J from 0 to 4 body { let K = J } " LOOP("4") "{ kernel k(%x) -> (%r) copy %q -> %p }"),
       NULL},
      {"the next one",
       PROGRAM(ROWS " local %t : f32[4] at 0\n",
               "allocate %t " LOOP("3") "{ kernel k(%x) -> (%r) kernel k(%s) -> (%t) } free %t"),
       "buffer 's' is read before all bytes that it may cover are written"},
      {"before all are",
       PROGRAM(ROWS " local %t : f32[4,4] at 0\n",
               "allocate %t " LOOP("4") "{ kernel k(%x) -> (%r) copy %y -> %t } free %t"),
       "buffer 'y' is read before it is written"},
      {"all but one", PROGRAM(ROWS, LOOP("3") "{ kernel k(%x) -> (%r) }"),
       "'y' is read before it is written whole: bytes 48 to 63 are missing"},
      {"every other", PROGRAM(ROWS, "loop I from 0 to 4 step 2 body { kernel k(%x) -> (%r) }"),
       "bytes 16 to 31 are missing"},
      {"from last to first", PROGRAM(ROWS, "loop I from 3 to -1 step -1 body { kernel k(%x) -> (%r) }"), NULL},
      {"odd and even",
       PROGRAM(" view %r : f32[4] = %y + I * 16\n view %q : f32[4] = %y + J * 16\n",
               "loop I from 0 to 4 step 2 body { kernel k(%x) -> (%r) } "
               "loop J from 1 to 4 step 2 body { kernel k(%x) -> (%q) }"),
       NULL},
      {"as often as an input says",
       PROGRAM(ROWS, "bind %n to J by \"n\" " LOOP("min(J, 4)") "{ kernel k(%x) -> (%r) }"),
       "buffer 'y' is read before it is written"},
      {"in one of two cases",
       PROGRAM(ROWS " input %c : bool[]\n", LOOP("4") "{ branch (%c) then { kernel k(%x) -> (%r) } else { } }"),
       "buffer 'y' is read before it is written"},
      {"in both",
       PROGRAM(ROWS " input %c : bool[]\n",
               LOOP("4") "{ branch (%c) then { kernel k(%x) -> (%r) } else { copy %x -> %r } }"),
       NULL},
      {"by two loops",
       PROGRAM(" view %r : f32[1] = %y + I * 16 + J * 4\n view %e : f32[1] = %x + 0\n",
               LOOP("4") "{ loop J from 0 to 4 body { copy %e -> %r } }"),
       NULL},
      {"by two loops in the other order",
       PROGRAM(" view %r : f32[1] = %y + I * 4 + J * 16\n view %e : f32[1] = %x + 0\n",
               LOOP("4") "{ loop J from 0 to 4 body { copy %e -> %r } }"),
       NULL},
      {"a triangle",
       PROGRAM(" view %r : f32[1] = %y + I * 16 + J * 4\n view %e : f32[1] = %x + 0\n",
               LOOP("4") "{ loop J from 0 to I + 1 body { copy %e -> %r } }"),
       "buffer 'y' is read before it is written"},
      {"at a let", PROGRAM(" view %r : f32[4] = %y + K * 8\n", LOOP("4") "{ let K = I + I kernel k(%x) -> (%r) }"),
       NULL},
      {"another life",
       PROGRAM(" local %t : f32[8] at 0\n view %r : f32[4] = %t + I * 16\n view %f : f32[4] = %y + 0\n",
               LOOP("2") "{ allocate %t kernel k(%x) -> (%r) free %t allocate %t copy %r -> %f free %t }"),
       "buffer 'r' is read before all bytes that it may cover"},
      {"what a symbol was before",
       PROGRAM(
           " view %r : f32[4] = %y + J * 16\n local %t : f32[4] at 0\n",
           "allocate %t bind %n to J by \"n\" kernel k(%x) -> (%r) bind %n to J by \"n\" kernel k(%r) -> (%t) free %t"),
       "the symbol J is bound twice"},
      {"a sum carried over the turns",
       PROGRAM(" local %t : f32[4] at 0\n view %z : f32[4] = %y + 0\n",
               "allocate %t copy %x -> %t " LOOP("4") "{ kernel o(%t) -> (%t) } copy %t -> %z free %t"),
       "bytes 16 to 63 are missing"},
  };
  CHECK(cases);
}

static void test_h7_slices_do_not_overlap(void **state) {
  (void)state;
  static const case_t cases[] = {
      {"neighbours", PROGRAM(ROWS, LOOP("3") "{ kernel two(%x) -> (%r, %s) }"), NULL},
      {"one as two", PROGRAM(ROWS, LOOP("4") "{ kernel two(%x) -> (%r, %r) }"),
       "results 0 and 1 ('r' and 'r') may share"},
      {"a part of the other",
       PROGRAM(ROWS " view %q : f32[4] = %y + I * 16 + 8\n", LOOP("3") "{ kernel two(%x) -> (%r, %q) }"),
       "results 0 and 1 ('r' and 'q') may share bytes"},
      {"in place", PROGRAM(ROWS, LOOP("4") "{ copy %x -> %r kernel o(%r) -> (%r) }"), NULL},
      {"not in place", PROGRAM(ROWS, LOOP("4") "{ copy %x -> %r kernel k(%r) -> (%r) }"),
       "operand 0 and result 0 ('r' and 'r') may share bytes"},
      {"wherever it is",
       PROGRAM(ROWS " view %f : f32[4] = %y + 0\n", "copy %x -> %f " LOOP("4") "{ kernel o(%f) -> (%r) }"),
       "operand 0 and result 0 ('f' and 'r') may share bytes"},
      {"never there",
       PROGRAM(ROWS " view %f : f32[4] = %y + 0\n", "copy %x -> %f loop I from 1 to 4 body { kernel o(%f) -> (%r) }"),
       NULL},
      {"nowhere", PROGRAM(" view %q : f32[4] = %y + I * 16 + 64\n", LOOP("4") "{ copy %x -> %q }"),
       "buffer 'q' is nowhere in its base"},
      {"not aligned",
       PROGRAM(" view %q : f32[2] = %y + I * 6\n view %f : f32[2] = %x + 0\n", LOOP("4") "{ packed p(%x) -> (%q) }"),
       "buffer 'q' may be anywhere in 'y'; the callee takes multiples of 4"},
      {"scratch that moves",
       PROGRAM(" local %t : u8[256] at 0\n view %q : u8[64] = %t + I * 64\n" ROWS,
               "allocate %t " LOOP("4") "{ packed p(%x) -> (%r) workspace %q } free %t"),
       "buffer 'q' cannot be a workspace: it moves"},
      {"scratch that holds slices",
       PROGRAM(" local %t : f32[64] at 0\n view %q : f32[4] = %t + I * 64\n" ROWS,
               "allocate %t " LOOP("4") "{ copy %x -> %q packed p(%x) -> (%r) workspace %t } free %t"),
       "buffer 't' cannot be a workspace: it holds written bytes"},
      {"a store of floats", PROGRAM("", LOOP("4") "{ store [I, I, I, I, I, I, I, I, I, I, I, I, I, I, I, I] -> (%y) }"),
       "'y' is no tensor of known size and type i64"},
  };
  CHECK(cases);
}

// Slices with gaps between them are noted one by one, but not so many that it takes minutes.
#define APART(turns, last)                                                                                             \
  PROGRAM(" local %t : f32[4,262144]\n view %r : f32[4] = %t + I * 16384 + J * 32\n view %f : f32[4] = %t + " last     \
          "\n"                                                                                                         \
          " view %s : f32[4] = %y + K * 16\n",                                                                         \
          "allocate %t " LOOP(turns) "{ loop J from 0 to 256 body { copy %x -> %r } } "                                \
                                     "loop K from 0 to 4 body { copy %f -> %s } free %t")

static void test_h7_slices_apart_have_an_end(void **state) {
  (void)state;
  static const case_t cases[] = {{"some", APART("60", "974816"), NULL},
                                 {"many", APART("256", "4186080"), "buffer 'f' is read before it is written"}};
  CHECK(cases);
}

static byoc_status_t verify_with(void *argument, byoc_allocator_t allocator) {
  (void)argument;
  byoc_diag_t diag = {0};
  return verify(PROGRAM(" view %r : f32[1] = %y + K * 16 + J * 4\n view %e : f32[1] = %x + 0\n",
                        LOOP("4") "{ let K = I loop J from 0 to 4 body { copy %e -> %r } }"),
                allocator, &diag);
}

static void test_h7_each_allocation_may_fail(void **state) {
  (void)state;
  byoc_test_each_allocation_fails(verify_with, NULL, false);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_h7_symbols_have_one_place),
      cmocka_unit_test(test_h7_slices_are_written_before_they_are_read),
      cmocka_unit_test(test_h7_slices_do_not_overlap),
      cmocka_unit_test(test_h7_slices_apart_have_an_end),
      cmocka_unit_test(test_h7_each_allocation_may_fail),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
