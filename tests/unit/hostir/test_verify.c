// SPDX-License-Identifier: Apache-2.0
// The verifier of host programs: one small text for each refusal, with the sentence that says why.
#include <stdio.h>

#include "core/compose/artifact/compose.h"
#include "core/hostir/evaluate/evaluate.h"
#include "tests/unit/hostir/verify_cases.h"

#define PROGRAM(declarations, body)                                                                                    \
  "host program \"p\" workspace 256 bound 0 {\n input %x : f32[4]\n output %y : f32[4]\n" declarations body "}\n"
#define DYNAMIC(declarations, body)                                                                                    \
  "host program \"p\" dynamic workspace 256 bound 0 {\n symbol N of inputs\n symbol M\n input %x : value f32[N]\n"     \
  " input %c : value bool[]\n input %n : value i64[]\n output %y : value f32[N]\n" declarations body "}\n"
#define KERNEL "kernel { name \"k\" input a : f32[4] output b : f32[4] }\n"
#define TWO    "kernel { name \"k\" input a : f32[4] output b : f32[4] output c : f32[4] }\n"

static void test_verify_bytes_are_written_before_they_are_read(void **state) {
  (void)state;
#define HALVES                                                                                                         \
  " local %t : f32[4]\n view %l : f32[2] = %t + 0\n view %r : f32[2] = %t + 8\n view %m : f32[2] = %t + 4\n"           \
  " view %f : f32[2] = %x + 0\n view %yl : f32[2] = %y + 0\n view %yr : f32[2] = %y + 8\n"
  static const case_t cases[] = {
      {"both halves", PROGRAM(HALVES, "allocate %t copy %f -> %l copy %f -> %r copy %t -> %y free %t"), NULL},
      {"half", PROGRAM(HALVES, "allocate %t copy %f -> %l copy %t -> %y free %t"),
       "host program 'p': instruction 3 (copy): buffer 't' is read before it is written whole: bytes 8 to 15 are "
       "missing"},
      {"the other half", PROGRAM(HALVES, "allocate %t copy %f -> %r copy %t -> %y free %t"),
       "bytes 0 to 7 are missing"},
      {"the middle", PROGRAM(HALVES, "allocate %t copy %f -> %l copy %m -> %yr free %t"),
       "buffer 'm' is read before it is written whole: bytes 4 to 7 are missing"},
      {"nothing", PROGRAM(HALVES, "allocate %t copy %f -> %l copy %r -> %yr free %t"),
       "buffer 'r' is read before it is written"},
      {"half an output", PROGRAM(HALVES, "copy %f -> %yr"),
       "host program 'p': buffer 'y' is read before it is written whole: bytes 0 to 7 are missing"},
      {"no output", PROGRAM(HALVES, ""), "host program 'p': buffer 'y' is read before it is written"},
      {"a new life forgets", PROGRAM(HALVES, "allocate %t copy %x -> %t free %t allocate %t copy %t -> %y free %t"),
       "instruction 5 (copy): buffer 't' is read before it is written"},
      {"what is added to", PROGRAM("", "c_call void f(%x) -> (%y) with (result 0) start operand 0"),
       "buffer 'y' is read before it is written"},
  };
  CHECK(cases);
}

static void test_verify_overlaps_are_refused(void **state) {
  (void)state;
#define VIEWS " view %yl : f32[2] = %y + 0\n view %ym : f32[2] = %y + 4\n view %yr : f32[2] = %y + 8\n"
  static const case_t cases[] = {
      {"one buffer twice", PROGRAM("", "kernel k(%x) -> (%y, %y)") TWO,
       "instruction 1 (kernel k): results 0 and 1 ('y' and 'y') share bytes"},
      {"views", PROGRAM(VIEWS, "c_call void f(%x) -> (%ym, %yl) with ()"),
       "results 1 and 0 ('yl' and 'ym') share bytes"},
      {"disjoint views", PROGRAM(VIEWS, "c_call void f(%x) -> (%yr, %yl) with ()"), NULL},
      {"memcpy", PROGRAM(VIEWS, "copy %x -> %y copy %yl -> %ym"),
       "instruction 2 (copy): operand 0 and result 0 ('yl' and 'ym') share bytes"},
      {"memcpy of disjoint views", PROGRAM(VIEWS, "copy %x -> %y copy %yl -> %yr"), NULL},
      {"kernel", PROGRAM("", "kernel k(%x) -> (%y) kernel k(%y) -> (%y)") KERNEL,
       "operand 0 and result 0 ('y' and 'y') share bytes"},
      {"kernel in place",
       PROGRAM("", "kernel k(%x) -> (%y) kernel k(%y) -> (%y)") "kernel over 0 { name \"k\" input a : f32[4] output b "
                                                                ": f32[4] }\n",
       NULL},
      {"c_call in place", PROGRAM("", "copy %x -> %y c_call void f(%y) -> (%y) with (result 0) start operand 0"), NULL},
      {"workspace is an operand",
       PROGRAM(" local %s : f32[4]\n", "allocate %s copy %x -> %s packed f(%s) -> (%y) workspace %s free %s"),
       "instruction 3 (packed f): the workspace and operand 0 ('s' and 's') share bytes"},
      {"workspace is a result", PROGRAM("", "packed f(%x) -> (%y) workspace %y"),
       "the workspace and result 0 ('y' and 'y') share bytes"},
      {"workspace holds something",
       PROGRAM(" local %s : f32[4]\n", "allocate %s copy %x -> %s packed f(%x) -> (%y) workspace %s free %s"),
       "buffer 's' cannot be a workspace: it holds written bytes"},
      {"workspace is an input", PROGRAM(" input %z : f32[4]\n", "packed f(%x) -> (%y) workspace %z"),
       "buffer 'z' is read-only, but is written: it is an input"},
      {"workspace is read",
       PROGRAM(" local %s : f32[4]\n", "allocate %s packed f(%x) -> (%y) workspace %s copy %s -> "
                                       "%y free %s"),
       "buffer 's' is read before it is written"},
  };
  CHECK(cases);
}

// Eight plans that are alive at once, allocated in any order; a ninth that meets one of them is refused by its name.
static void test_verify_finds_the_plan_that_is_met(void **state) {
  (void)state;
  static const char *const orders[] = {"abcdefgh", "hgfedcba", "dhaebgcf", "ehcabfgd"};
  for (size_t o = 0; o < sizeof(orders) / sizeof(orders[0]); ++o) {
    for (int met = 0; met <= 8; ++met) {
      char text[2048], message[64];
      int at = snprintf(text, sizeof(text),
                        "host program \"p\" workspace 2048 bound 0 {\n"
                        " input %%x : f32[4]\n output %%y : f32[4]\n");
      for (int k = 0; k < 8; ++k) {
        at += snprintf(text + at, sizeof(text) - at, " local %%%c : f32[20] at %d\n", 'a' + k, k * 192);
      }
      // Between the plans of 80 bytes, and over the end of one of them.
      at += snprintf(text + at, sizeof(text) - at, " local %%t : f32[4] at %d\n",
                     met < 8 ? met * 192 + 64 : 3 * 192 + 128);
      for (int k = 0; k < 8; ++k) at += snprintf(text + at, sizeof(text) - at, "allocate %%%c ", orders[o][k]);
      at += snprintf(text + at, sizeof(text) - at, "allocate %%t free %%t copy %%x -> %%y ");
      for (int k = 7; k >= 0; --k) at += snprintf(text + at, sizeof(text) - at, "free %%%c ", orders[(o + 1) % 4][k]);
      snprintf(text + at, sizeof(text) - at, "}\n");
      snprintf(message, sizeof(message), "buffer 't' overlaps '%c', which is alive", 'a' + met);
      check(&(case_t){orders[o], text, met < 8 ? message : NULL}, 1);
    }
  }
}

static void test_verify_lifetimes(void **state) {
  (void)state;
#define LOCAL " local %t : f32[4]\n"
  static const case_t cases[] = {
      {"not allocated", PROGRAM(LOCAL, "copy %x -> %t copy %t -> %y"),
       "instruction 1 (copy): buffer 't' is written outside its lifetime: it was not allocated"},
      {"used after it was freed", PROGRAM(LOCAL, "allocate %t copy %x -> %t free %t copy %t -> %y"),
       "instruction 4 (copy): buffer 't' is read outside its lifetime: it was freed"},
      {"freed twice", PROGRAM(LOCAL, "allocate %t copy %x -> %t copy %t -> %y free %t free %t"),
       "instruction 5 (free): buffer 't' is freed twice"},
      {"freed only", PROGRAM(LOCAL, "copy %x -> %y free %t"), "buffer 't' is freed, but was not allocated"},
      {"allocated twice", PROGRAM(LOCAL, "allocate %t allocate %t copy %x -> %y free %t"),
       "instruction 2 (allocate): buffer 't' is allocated twice"},
      {"never freed", PROGRAM(LOCAL, "allocate %t copy %x -> %t copy %t -> %y"), "buffer 't' is never freed"},
      {"an output freed", PROGRAM(LOCAL, "copy %x -> %y free %y"), "buffer 'y' is not local"},
      {"an input written", PROGRAM("", "copy %x -> %y copy %y -> %x"), "buffer 'x' is read-only, but is written"},
      {"a constant written", PROGRAM(" constant %k : f32[4] = [1.0, 2.0, 3.0, 4.0]\n", "copy %x -> %y copy %x -> %k"),
       "buffer 'k' is read-only, but is written: it is a constant"},
      {"out of the base", PROGRAM(LOCAL " view %v : f32[4] = %t + 4\n", "copy %x -> %y"),
       "buffer 'v' reaches beyond its base"},
      {"a view of a cell", DYNAMIC(" local %t : value f32[4]\n view %v : f32[2] = %t + 0\n", ""),
       "buffer 'v' is a view, but its bytes are in a cell"},
      {"a value in a static program", PROGRAM(" local %t : value f32[4]\n", "copy %x -> %y"),
       "buffer 't' is a value in a static program"},
      {"out of the workspace", PROGRAM(" local %t : f32[4] at 256\n", "copy %x -> %y"),
       "buffer 't' reaches beyond the workspace"},
      {"planned between lines", PROGRAM(" local %t : f32[4] at 16\n", "copy %x -> %y"),
       "buffer 't' is planned at an offset that is not aligned"},
      {"overlapping plans",
       PROGRAM(" local %t : f32[20] at 0\n local %s : f32[4] at 64\n",
               "allocate %s allocate %t copy %x -> %y free %t free %s"),
       "instruction 2 (allocate): buffer 't' overlaps 's', which is alive, in the workspace"},
      {"one behind the other",
       PROGRAM(" local %t : f32[20] at 0\n local %s : f32[4] at 64\n",
               "allocate %s free %s allocate %t copy %x -> %y free %t"),
       NULL},
  };
  CHECK(cases);
}

static void test_verify_branches_and_loops(void **state) {
  (void)state;
#define CELLS                                                                                                          \
  " local %t : f32[4] at 0\n local %r : value f32[N]\n local %a : value f32[N]\n constant %k : f32[4] = [1.0, 2.0, "   \
  "3.0, 4.0]\n local %i : value i64[]\n local %go : value bool[]\n local %s : value f32[N]\n local %u : f32[4] at 0\n" \
  " local %z : f32[4] at 64\n"
#define READ "allocate %z copy %t -> %z free %z "
#define BRANCH(then_body, else_body)                                                                                   \
  "match %x binds N at 0 allocate %t branch (%c) -> (%r) then { " then_body "yield (%x) } else { " else_body           \
  "yield (%x) } "
#define LOOP(body) "match %x binds N at 0 allocate %t loop (%n, none, %x) -> (%r) body (%i, %go, %s) { " body "} "
#define END        "share %r -> %y free %r"
  static const case_t cases[] = {
      {"written in then only", DYNAMIC(CELLS, BRANCH("copy %k -> %t ", "") READ "free %t " END),
       "instruction 8 (copy): buffer 't' is read before it is written"},
      {"written in both cases", DYNAMIC(CELLS, BRANCH("copy %k -> %t ", "copy %k -> %t ") READ "free %t " END), NULL},
      {"freed in then only", DYNAMIC(CELLS, BRANCH("free %t ", "") END),
       "instruction 3 (branch): buffer 't' is alive behind only one of the two cases"},
      {"freed in both cases", DYNAMIC(CELLS, BRANCH("free %t ", "free %t ") END), NULL},
      {"its place is taken", DYNAMIC(CELLS, BRANCH("free %t allocate %u free %u ", "free %t ") END), NULL},
      {"its place is kept", DYNAMIC(CELLS, BRANCH("allocate %u free %u ", "") "free %t " END),
       "instruction 4 (allocate): buffer 'u' overlaps 't'"},
      {"allocated in then only", DYNAMIC(CELLS, BRANCH("share %x -> %a ", "") "free %t " END),
       "buffer 'a' is alive behind only one of the two cases"},
      {"loop", DYNAMIC(CELLS, LOOP("yield (%go, %s) ") "free %t " END), NULL},
      {"written in a body only", DYNAMIC(CELLS, LOOP("copy %k -> %t yield (%go, %s) ") READ "free %t " END),
       "instruction 7 (copy): buffer 't' is read before it is written"},
      {"freed in a body", DYNAMIC(CELLS, LOOP("free %t yield (%go, %s) ") END),
       "instruction 3 (loop): buffer 't' is freed in the body of a loop, but began outside"},
      {"freed and allocated in a body", DYNAMIC(CELLS, LOOP("free %t allocate %t yield (%go, %s) ") "free %t " END),
       "buffer 't' is freed in the body of a loop, but began outside"},
      {"not freed in a body", DYNAMIC(CELLS, LOOP("share %s -> %a yield (%go, %a) ") "free %t " END),
       "buffer 'a' begins in the body of a loop and is never freed there"},
      {"freed behind the yield", DYNAMIC(CELLS, LOOP("share %s -> %a yield (%go, %a) free %a ") "free %t " END), NULL},
      {"a parameter behind its loop", DYNAMIC(CELLS, LOOP("yield (%go, %s) ") "free %t share %s -> %y free %r"),
       "buffer 's' is read outside its lifetime"},
      {"a parameter freed", DYNAMIC(CELLS, LOOP("free %s yield (%go, %s) ") "free %t " END),
       "buffer 's' belongs to its region"},
      {"too few yields", DYNAMIC(CELLS, LOOP("yield (%go) ") "free %t " END),
       "instruction 4 (yield): a yield of 1 values; its owner takes 2"},
      {"a yield of another type", DYNAMIC(CELLS, LOOP("yield (%go, %i) ") "free %t " END),
       "'i' becomes 'r', which has another type"},
      {"a condition of another type", DYNAMIC(CELLS, LOOP("yield (%i, %s) ") "free %t " END),
       "the condition, 'i', is not one element of type bool"},
      {"a case makes the result",
       DYNAMIC(CELLS,
               "match %x binds N at 0 allocate %t branch (%c) -> (%r) then { share %x -> %r yield (%r) free %r } "
               "else { yield (%x) } free %t " END),
       "instruction 4 (share): buffer 'r' is a result of the instruction around it"},
      {"a body allocates the result", DYNAMIC(CELLS, LOOP("allocate %r free %r yield (%go, %s) ") "free %t " END),
       "instruction 4 (allocate): buffer 'r' is a result of the instruction around it"},
      {"a parameter is the result",
       DYNAMIC(CELLS, "match %x binds N at 0 loop (%n, none, %x) -> (%s) body (%i, %go, %s) { yield (%go, %s) } "
                      "share %s -> %y"),
       "buffer 's' is a result of the instruction around it"},
      {"no yield", DYNAMIC(CELLS, LOOP("") "free %t " END), "instruction 3 (loop): body does not end with a yield"},
      {"a yield outside", DYNAMIC(CELLS, "yield (%x)"), "a yield outside of a region"},
      {"two yields", DYNAMIC(CELLS, LOOP("yield (%go, %s) yield (%go, %s) ") "free %t " END),
       "a yield is not the end of its region"},
      {"a carried value of another type",
       DYNAMIC(CELLS, "match %x binds N at 0 loop (%n, none, %n) -> (%r) body (%i, %go, %s) { yield (%go, %s) } " END),
       "'n' becomes 's', which has another type"},
      {"a symbol before it is bound", DYNAMIC(CELLS, "allocate %a"),
       "instruction 1 (allocate): the symbol N is used before it is bound"},
      {"a symbol of one case",
       DYNAMIC(CELLS " local %w : value f32[M]\n", "match %x binds N at 0 branch (%c) -> (%r) then { match %x binds M "
                                                   "at 0 yield (%x) } else { yield (%x) } allocate %w free %w " END),
       "instruction 6 (allocate): the symbol M is used before it is bound"},
      {"a relation of unbound symbols", DYNAMIC(CELLS, "require (M is 4)"), "the symbol M is used before it is bound"},
      {"a kernel of unbound symbols",
       DYNAMIC(CELLS,
               "allocate %t kernel k(%k) [M] -> (%t) free %t") "kernel { name \"k\" symbols \"A\" input a : f32[A] "
                                                               "output b : f32[A] }\n",
       "the symbol M is used before it is bound"},
  };
  CHECK(cases);
}

static void test_verify_calls_fit_their_signatures(void **state) {
  (void)state;
#define OTHERS    " local %h : f32[2]\n local %d : f64[4]\n view %v : f32[2] = %x + 8\n view %o : f32[2] = %x + 2\n"
#define SIGNATURE "function @f(f32[4]) -> (f32[4])\n"
  static const case_t cases[] = {
      {"element type", PROGRAM(OTHERS, "allocate %d kernel k(%x) -> (%d) free %d") KERNEL,
       "instruction 2 (kernel k): result 0, 'd', has elements of type f64; the callee takes f32"},
      {"element count", PROGRAM(OTHERS, "kernel k(%v) -> (%y)") KERNEL,
       "operand 0, 'v', has 2 elements; the callee takes 4"},
      {"operands", PROGRAM(OTHERS, "kernel k(%x, %x) -> (%y)") KERNEL,
       "2 operands and 1 results; the kernel takes 1 and gives 1"},
      {"left out", PROGRAM(OTHERS, "kernel k(none) -> (%y)") KERNEL, "operand 0 is left out"},
      {"function", PROGRAM(OTHERS, "packed f(%x) -> (%y) of @f") SIGNATURE, NULL},
      {"element count of a function", PROGRAM(OTHERS, "packed f(%v) -> (%y) of @f") SIGNATURE,
       "operand 0, 'v', has 2 elements; the callee takes 4"},
      {"results of a function", PROGRAM(OTHERS, "packed f() -> (%y) of @f") SIGNATURE,
       "0 operands and 1 results; the function takes 1 and gives 1"},
      {"a bound operand", PROGRAM(OTHERS, "packed f(%x, %x) -> (%y) of @f") SIGNATURE,
       "operand 1, 'x', is not a constant; the function takes 1 operands"},
      {"alignment of a function",
       PROGRAM(OTHERS " local %t : f32[4]\n view %w : f32[2] = %t + 8\n",
               "allocate %t copy %x -> %t packed f(%w) -> (%y) free %t"),
       "buffer 'w' is at byte 8 of 't'; the callee takes multiples of 64"},
      {"alignment of a caller's buffer", PROGRAM(OTHERS, "packed f(%v) -> (%y)"), NULL},
      {"alignment of an element", PROGRAM(OTHERS, "c_call void f(%o) -> (%y) with ()"),
       "buffer 'o' is at byte 2 of 'x'; the callee takes multiples of 4"},
      {"a call without results", PROGRAM(OTHERS, "packed f(%x) -> ()"),
       "instruction 1 (packed f): a call without results"},
      {"a C call without results", PROGRAM(OTHERS, "c_call void f(%x) -> () with ()"), "a call without results"},
      {"a pointer outside", PROGRAM(OTHERS, "c_call void f(%x) -> (%y) with (operand 0 + -4)"),
       "argument 0 points outside of buffer 'x'"},
      {"a pointer that leaves", PROGRAM(OTHERS, "c_call void f(%x) -> (%y) with (result 0 step 8) times 4"),
       "argument 0 points outside of buffer 'y'"},
      {"an argument that is not there", PROGRAM(OTHERS, "c_call void f(%x) -> (%y) with (operand 3)"),
       "names operand 3 of 1"},
      {"copies", PROGRAM(OTHERS, "copy %v -> %y"), "buffer 'y' is copied from 'v', which has another size"},
  };
  CHECK(cases);
}

// Values have the shape of their type only if they were made so, or were matched.
static void test_verify_shapes_of_values(void **state) {
  (void)state;
#define VALUES                                                                                                         \
  " input %z : value f32[M]\n local %a : value f32[N]\n local %b : value f32[N,1]\n local %w : value f32[M]\n"         \
  " local %f : value f32[4]\n local %g : value f32[4]\n local %t : f32[4] at 0\n local %two : value f32[2,N]\n"
#define CARRIED                                                                                                        \
  " local %i : value i64[]\n local %go : value bool[]\n local %s : value f32[N]\n local %o : value f32[N]\n"
#define BOTH      "match %x binds N at 0 match %z binds M at 0 "
#define GIVE      "share %a -> %y free %a"
#define K(called) BOTH "allocate %a " called " " GIVE
#define K_N       "kernel { name \"k\" symbols \"A\" input a : f32[A] output b : f32[A] }\n"
#define K_TWO     "kernel { name \"k\" symbols \"A\", \"B\" input a : f32[A,B] output b : f32[A * B] }\n"
  static const case_t cases[] = {
      {"it fits", DYNAMIC(VALUES, K("kernel k(%x) [N] -> (%a)")) K_N, NULL},
      {"another size", DYNAMIC(VALUES, K("kernel k(%x) [N + 1] -> (%a)")) K_N,
       "instruction 4 (kernel k): operand 0, 'x', has N elements; the callee takes N + 1"},
      {"a constant size", DYNAMIC(VALUES, K("kernel k(%x) [4] -> (%a)")) K_N,
       "operand 0, 'x', has N elements; the callee takes 4"},
      {"another symbol", DYNAMIC(VALUES, K("kernel k(%z) [M] -> (%a)")) K_N,
       "result 0, 'a', has N elements; the callee takes M"},
      {"the same, as the program requires", DYNAMIC(VALUES, K("require (M is N) kernel k(%z) [M] -> (%a)")) K_N, NULL},
      {"twice", DYNAMIC(VALUES, K("require (2 * M is_at_most N) kernel k(%z) [M] -> (%a)")) K_N,
       "result 0, 'a', has N elements"},
      {"a sum that is required", DYNAMIC(VALUES, K("require (N + 1 is M + 1) kernel k(%z) [N] -> (%a)")) K_N, NULL},
      {"a product",
       DYNAMIC(VALUES, K("allocate %two kernel j(%x) [2, N] -> (%two) kernel k(%two) [2, N] -> (%a) free "
                         "%two")) K_TWO "kernel { name \"j\" symbols \"A\", \"B\" input a : f32[B] "
                                        "output b : f32[A,B] }\n",
       "result 0, 'a', has N elements; the callee takes N * 2"},
      {"a rank", DYNAMIC(VALUES, BOTH "allocate %b kernel k(%x) [N] -> (%b) free %b") K_N,
       "result 0, 'b', has rank 2; the kernel takes rank 1"},
      {"not matched", DYNAMIC(VALUES " input %q : value f32[N]\n", K("kernel k(%q) [N] -> (%a)")) K_N,
       "the value 'q' is used before a match checks its shape"},
      {"another one is matched",
       DYNAMIC(VALUES " input %q : value f32[N]\n", K("match %q is N + 1 at 0 kernel k(%q) [N] -> (%a)")) K_N,
       "the value 'q' is used before a match checks its shape"},
      {"a match tells that symbols are equal",
       DYNAMIC(VALUES, "match %x binds N at 0 match %x binds M at 0 allocate %a kernel k(%x) [M] -> (%a) " GIVE) K_N,
       NULL},
      {"a shared value",
       DYNAMIC(VALUES, BOTH "share %x -> %f allocate %g kernel k(%f) [4] -> (%g) free %g free %f") K_N,
       "buffer 'y' is read before it is written"},
      {"a shared value of unknown shape",
       DYNAMIC(VALUES " input %q : value f32[N]\n",
               BOTH "share %q -> %a allocate %g packed f(%a) -> (%g) free %g " GIVE),
       "the value 'a' is used before a match checks its shape"},
      {"what a branch yields",
       DYNAMIC(VALUES, BOTH "branch (%c) -> (%a) then { yield (%x) } else { yield (%z) } allocate %g packed f(%a) -> "
                            "(%g) free %g " GIVE),
       "the value 'a' is used before a match checks its type"},
      {"what a branch yields, matched",
       DYNAMIC(VALUES, BOTH "branch (%c) -> (%a) then { yield (%x) } else { yield (%z) } match %a is N at 0 allocate "
                            "%g packed f(%a) -> (%g) free %g " GIVE),
       NULL},
      {"what both cases yield",
       DYNAMIC(VALUES, BOTH "branch (%c) -> (%a) then { yield (%x) } else { yield (%x) } allocate %g packed f(%a) -> "
                            "(%g) free %g " GIVE),
       NULL},
      {"what a loop carries",
       DYNAMIC(VALUES CARRIED, BOTH "loop (%n, none, %x) -> (%a) body (%i, %go, %s) { allocate %o kernel k(%s) [N] -> "
                                    "(%o) yield (%go, %o) free %o } allocate %g packed f(%a) -> (%g) free %g " GIVE)
           K_N,
       NULL},
      {"what only the first turn is given",
       DYNAMIC(VALUES CARRIED, BOTH "loop (%n, none, %x) -> (%a) body (%i, %go, %s) { allocate %o kernel k(%s) [N] -> "
                                    "(%o) yield (%go, %z) free %o } allocate %g packed f(%a) -> (%g) free %g " GIVE)
           K_N,
       "instruction 5 (kernel k): the value 's' is used before a match checks its type"},
      {"what each turn matches",
       DYNAMIC(VALUES CARRIED, BOTH "loop (%n, none, %x) -> (%a) body (%i, %go, %s) { match %s is N at 0 allocate %o "
                                    "kernel k(%s) [N] -> (%o) yield (%go, %z) free %o } " GIVE) K_N,
       NULL},
      {"what an operator gives",
       DYNAMIC(" input %q : value seq<f32[N]>\n local %e : value bool[]\n",
               "match %x binds N at 0 container SequenceAt(%q, %n) -> (%e) branch (%e) -> () then { } else { } free %e "
               "share %x -> %y"),
       "the value 'e' is used before a match checks its type"},
      {"a symbol bound twice", DYNAMIC(VALUES, "match %x binds N at 0 match %x binds N at 0 share %x -> %y"),
       "instruction 2 (match): the symbol N is bound twice"},
      {"a symbol with another value",
       DYNAMIC(VALUES, "match %x binds N at 0 branch (%c) -> () then { match %x binds M at 0 allocate %w kernel k(%x) "
                       "[M] -> (%w) } else { match %x binds M at 0 allocate %w kernel k(%x) [M] -> (%w) } match %z "
                       "binds M at 0 allocate %g packed f(%w) -> (%g) free %g free %w share %x -> %y") K_N,
       "the value 'w' is used before a match checks its shape"},
      {"a copy of unknown size", DYNAMIC(VALUES, BOTH "allocate %a copy %x -> %a " GIVE),
       "buffer 'a' is copied from 'x', but their sizes are not known"},
      {"relations of other symbols", DYNAMIC(VALUES, BOTH "require of inputs (M is N) share %x -> %y"),
       "relation 0 has symbols that are not the inputs'"},
      {"relations of inputs before they are bound", DYNAMIC(VALUES, "require of inputs (4 is 4) share %x -> %y"),
       "the symbol N is used before it is bound"},
      {"relations of inputs in two places",
       DYNAMIC(VALUES, BOTH "require of inputs (N is 4) require of inputs (N is 4) share %x -> %y"),
       "relations of inputs are checked by two instructions"},
      {"relations of inputs in a region",
       DYNAMIC(VALUES, BOTH "branch (%c) -> () then { require of inputs (N is 4) } else { } share %x -> %y"),
       "relations of inputs stand in a region"},
  };
  CHECK(cases);
}

// What a value shares its memory with must not see it written.
static void test_verify_values_that_share_memory(void **state) {
  (void)state;
#define F "packed f(%x) -> (%a) "
  static const case_t cases[] = {
      {"what a branch yields is written",
       DYNAMIC(VALUES, BOTH "branch (%c) -> (%a) then { allocate %w packed f(%x) -> (%w) share %w -> %f free %w yield "
                            "(%f) free %f } else { yield (%x) } match %a is N at 0 packed f(%z) -> (%a) " GIVE),
       "the value 'a' is written, but its memory may be that of another one, too"},
      {"an input that is shared is written", DYNAMIC(VALUES, BOTH "share %x -> %a packed f(%z) -> (%a) " GIVE),
       "the value 'a' is written, but its memory may be that of another one, too"},
      {"a shared value is written",
       DYNAMIC(VALUES, BOTH "allocate %b packed f(%x) -> (%b) share %b -> %a free %b " F GIVE), NULL},
      {"it is read in the same call",
       DYNAMIC(VALUES, BOTH "allocate %b packed f(%x) -> (%b) share %b -> %a packed f(%b) -> (%a) free %b " GIVE),
       "operand 0 and result 0 ('b' and 'a') share bytes"},
      {"it is the operand of a loop",
       DYNAMIC(VALUES CARRIED, BOTH "allocate %b packed f(%x) -> (%b) share %b -> %o loop (%n, none, %o) -> (%a) body "
                                    "(%i, %go, %s) { packed f(%s) -> (%b) yield (%go, %s) } free %o free %b " GIVE),
       "the value 'b' is written, but its memory may be that of another one, too"},
      {"the turn before passed it on",
       DYNAMIC(VALUES CARRIED, BOTH "allocate %o loop (%n, none, %x) -> (%a) body (%i, %go, %s) { kernel k(%s) [N] -> "
                                    "(%o) yield (%go, %o) } free %o " GIVE) K_N,
       "instruction 4 (loop): an iteration writes a value that the iteration before may have passed on"},
      {"each turn passes on its own",
       DYNAMIC(VALUES CARRIED, BOTH "loop (%n, none, %x) -> (%a) body (%i, %go, %s) { allocate %o kernel k(%s) [N] -> "
                                    "(%o) yield (%go, %o) free %o } " GIVE) K_N,
       NULL},
  };
  CHECK(cases);
}

static void test_verify_what_byoc_itself_offers(void **state) {
  (void)state;
#define TEXTS                                                                                                          \
  " input %s : string[3]\n input %p : string[1]\n local %i : i64[3]\n local %j : i64[2]\n local %b : bool[3]\n"
#define DO(call) "allocate %i allocate %j allocate %b " call " copy %x -> %y free %b free %j free %i"
#define SPLITTING                                                                                                      \
  " input %s : string[3]\n input %p : string[1]\n input %k : i64[1]\n input %m : i64[3,2]\n input %n : i64[2,3]\n"     \
  " input %l : i64[3]\n local %t : string[3,2]\n local %u : string[2,3]\n"
#define SEQUENCE " input %q : value seq<f32[N]>\n local %e : value f32[N]\n local %o : value seq<f32[N]>\n"
  static const case_t cases[] = {
      {"it fits", PROGRAM(TEXTS, DO("packed byoc_text_search(%s, %p) -> (%i)")), NULL},
      {"elements", PROGRAM(TEXTS, DO("packed byoc_text_search(%s, %p) -> (%j)")),
       "operands and results do not fit; the function takes sn s- > in"},
      {"element type", PROGRAM(TEXTS, DO("packed byoc_text_to_i64(%x) -> (%i)")), "the function takes sn > in"},
      {"operands", PROGRAM(TEXTS, DO("packed byoc_text_equal(%s) -> (%b)")), "the function takes sn sn > bn"},
      {"a check of dimensions", PROGRAM(TEXTS, DO("packed byoc_check_dims(%i, %i, %s) -> ()")),
       "buffer 'i' is read before it is written"},
      {"a check of texts", PROGRAM(TEXTS, DO("packed byoc_check_range(%s, %j, %j, %p) -> ()")),
       "the function takes k- i+ i5 s+ >"},
      {"parts of texts",
       PROGRAM(SPLITTING, "allocate %t packed byoc_text_split(%s, %m, %p, %k) -> (%t) copy %x -> %y free %t"), NULL},
      {"parts of other texts",
       PROGRAM(SPLITTING, "allocate %u packed byoc_text_split(%s, %n, %p, %k) -> (%u) copy %x -> %y free %u"),
       "operands and results do not fit; the function takes s- *n s+ i1 > sn"},
      {"tokens of other texts",
       PROGRAM(SPLITTING, "allocate %u packed byoc_text_tokens(%s, %n, %p, %l, %p) -> (%u) copy %x -> %y free %u"),
       "operands and results do not fit; the function takes s- *n s- i3 s1 > sn"},
      {"container",
       DYNAMIC(SEQUENCE, "match %x binds N at 0 container SequenceAt(%q, %n) -> (%e) free %e share %x -> %y"), NULL},
      {"a position is missing", DYNAMIC(SEQUENCE, "container SequenceAt(%q) -> (%e) free %e share %x -> %y"),
       "it has 1 operands, and takes at least 2"},
      {"an operand is left out", DYNAMIC(SEQUENCE, "container SequenceInsert(%q, none) -> (%o) free %o share %x -> %y"),
       "operand 1 is left out"},
      {"too many operands", DYNAMIC(SEQUENCE, "container SequenceLength(%q, %q) -> (%n)"), "it has 2 operands"},
  };
  CHECK(cases);
}

// Texts are pointers.
static void test_verify_texts_stay_texts(void **state) {
  (void)state;
#define POINTERS                                                                                                       \
  " input %s : string[2]\n input %n : u64[2]\n local %t : string[2]\n local %u : u64[2]\n local %w : string[2]\n"
#define ALL(body) "allocate %t allocate %u allocate %w " body " copy %x -> %y free %w free %u free %t"
#define MOVE      "kernel { name \"m\" input a : u64[2] output b : u64[2] }\n"
  static const case_t cases[] = {
      {"a kernel moves texts", PROGRAM(POINTERS, ALL("kernel m(%s) -> (%t)")) MOVE, NULL},
      {"a kernel moves numbers", PROGRAM(POINTERS, ALL("kernel m(%n) -> (%u)")) MOVE, NULL},
      {"a kernel makes texts of numbers", PROGRAM(POINTERS, ALL("kernel m(%n) -> (%t)")) MOVE,
       "of 'n' and 't' only one holds strings"},
      {"a copy of numbers to texts", PROGRAM(POINTERS, ALL("copy %n -> %t")),
       "buffer 't' is copied from 'n', but only one of them holds strings"},
      {"a view of numbers as texts", PROGRAM(POINTERS " view %v : string[1] = %n + 0\n", "copy %x -> %y"),
       "buffer 'v' is a view that reads strings as numbers, or numbers as strings"},
      {"a view of texts", PROGRAM(POINTERS " view %v : string[1] = %s + 8\n", "copy %x -> %y"), NULL},
  };
  CHECK(cases);
}

static void test_verify_constants_that_backends_bound(void **state) {
  (void)state;
#define BOUND " constant %b : f32[2] = \"m\" 0\n constant %d : f32[2] = \"m\" 1\n local %s : u8[64]\n"
#define MODULE                                                                                                         \
  SIGNATURE "module packed \"m\" of \"demo\" { function \"f\" packed_symbol \"f\" constant : f32[2] = [1.0, 2.0] "     \
            "constant : f32[2] = [3.0, 4.0] workspace 64 }\n"
  static const case_t cases[] = {
      {"they fit", PROGRAM(BOUND, "allocate %s packed f(%x, %b, %d) -> (%y) workspace %s of @f free %s") MODULE, NULL},
      {"another order", PROGRAM(BOUND, "allocate %s packed f(%x, %d, %b) -> (%y) workspace %s of @f free %s") MODULE,
       "operand 1, 'd', is not constant 0 that the function's backend bound"},
      {"too few", PROGRAM(BOUND, "allocate %s packed f(%x, %b) -> (%y) workspace %s of @f free %s") MODULE,
       "1 constants; the function's backend bound 2"},
      {"no workspace", PROGRAM(BOUND, "packed f(%x, %b, %d) -> (%y) of @f") MODULE,
       "a workspace of 0 bytes; the function needs 64"},
  };
  CHECK(cases);
}

// The text cannot say this; an edit can forget it.
static void test_verify_a_kernel_instruction_needs_a_kernel(void **state) {
  (void)state;
  byoc_diag_t diag = {0};
  byoc_graph_module_t *module = NULL;
  byoc_host_program_t *program = NULL;
  byoc_test_ok(byoc_host_program_parse(PROGRAM("", "kernel k(%x) -> (%y) \"Relu 'r'\"") KERNEL, "p.host", NULL,
                                       byoc_allocator_system(), &diag, &module, &program),
               &diag);
  byoc_test_ok(byoc_host_program_verify(program, &diag), &diag);
  program->body.first->kernel = NULL;
  byoc_test_error(byoc_host_program_verify(program, &diag), BYOC_INTERNAL, &diag,
                  "host program 'p': instruction 1 (kernel k, Relu 'r'): it has no kernel");
  byoc_host_program_destroy(program);
  byoc_graph_module_destroy(module);
}

// The verifier takes a program at any step of the host passes; what runs it needs the memory plan.
static void test_verify_places_before_a_run(void **state) {
  (void)state;
  byoc_diag_t diag = {0};
  byoc_graph_module_t *module = NULL;
  byoc_host_program_t *program = NULL;
  byoc_evaluator_t *evaluator = NULL;
  const byoc_symbol_resolver_t resolver = {0};
  const byoc_target_list_t targets = {0};
  const byoc_compose_options_t options = {.output = "p.so", .model_name = "p", .targets = &targets};
  static const char text[] =
      PROGRAM(LOCAL " view %v : f32[4] = %t + 0\n", "allocate %t copy %x -> %v copy %v -> %y free %t");
  byoc_string_t c;
  byoc_string_init(&c, byoc_allocator_system());
  byoc_test_ok(byoc_host_program_parse(text, "p.host", NULL, byoc_allocator_system(), &diag, &module, &program), &diag);
  byoc_test_ok(byoc_host_program_verify(program, &diag), &diag);
  byoc_test_error(byoc_evaluator_create(program, &resolver, 1, byoc_allocator_system(), &diag, &evaluator),
                  BYOC_INVALID_ARGUMENT, &diag, "host program 'p': buffer 't' has no offset in the workspace");
  byoc_test_error(byoc_compose_emit_c(program, &options, &c, &diag), BYOC_INVALID_ARGUMENT, &diag,
                  "buffer 't' has no offset in the workspace");
  byoc_string_deinit(&c);
  byoc_host_program_destroy(program);
  byoc_graph_module_destroy(module);
}

// 20,000 instructions, and a buffer of 3,000 parts that are written in a mixed order and read whole.
static void test_verify_large_programs(void **state) {
  (void)state;
  enum { CALLS = 20000, PARTS = 3000, STEP = 1009 };
  byoc_diag_t diag = {0};
  byoc_string_t text;
  byoc_string_init(&text, byoc_allocator_system());
  byoc_string_append(&text, "host program \"p\" workspace 128 bound 0 {\n input %x : f32[1]\n");
  byoc_string_appendf(
      &text, " output %%y : f32[%d]\n output %%z : f32[%d]\n local %%t : f32[1] at 0\n local %%s : f32[1] at 64\n",
      PARTS, PARTS);
  for (int k = 0; k < PARTS; ++k) byoc_string_appendf(&text, " view %%v%d : f32[1] = %%y + %d\n", k, 4 * k);
  for (int k = 0; k < CALLS / 4; ++k) {
    byoc_string_appendf(&text, "allocate %%%s\ncopy %%x -> %%%s\nallocate %%%s\nfree %%%s\nfree %%%s\n",
                        k % 2 ? "t" : "s", k % 2 ? "t" : "s", k % 2 ? "s" : "t", k % 2 ? "s" : "t", k % 2 ? "t" : "s");
  }
  for (int k = 0; k < PARTS; ++k) byoc_string_appendf(&text, "copy %%x -> %%v%d\n", k * STEP % PARTS);
  byoc_string_append(&text, "copy %y -> %z\n}\n");
  byoc_test_ok(verify(text.data, byoc_allocator_system(), &diag), &diag);
  byoc_string_deinit(&text);
}

static byoc_status_t verify_with(void *argument, byoc_allocator_t allocator) {
  (void)argument;
  byoc_diag_t diag = {0};
  byoc_graph_module_t *module = NULL;
  byoc_host_program_t *program = NULL;
  static const char text[] = DYNAMIC(CELLS, BRANCH("copy %k -> %t ", "copy %k -> %t ") "free %t " END);
  byoc_status_t status = byoc_host_program_parse(text, "p.host", NULL, allocator, &diag, &module, &program);
  if (status == BYOC_OK) status = byoc_host_program_verify(program, &diag);
  byoc_host_program_destroy(program);
  byoc_graph_module_destroy(module);
  return status;
}

static void test_verify_each_allocation_may_fail(void **state) {
  (void)state;
  byoc_test_each_allocation_fails(verify_with, NULL, false);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_verify_bytes_are_written_before_they_are_read),
      cmocka_unit_test(test_verify_overlaps_are_refused),
      cmocka_unit_test(test_verify_lifetimes),
      cmocka_unit_test(test_verify_finds_the_plan_that_is_met),
      cmocka_unit_test(test_verify_branches_and_loops),
      cmocka_unit_test(test_verify_calls_fit_their_signatures),
      cmocka_unit_test(test_verify_shapes_of_values),
      cmocka_unit_test(test_verify_values_that_share_memory),
      cmocka_unit_test(test_verify_what_byoc_itself_offers),
      cmocka_unit_test(test_verify_texts_stay_texts),
      cmocka_unit_test(test_verify_constants_that_backends_bound),
      cmocka_unit_test(test_verify_a_kernel_instruction_needs_a_kernel),
      cmocka_unit_test(test_verify_places_before_a_run),
      cmocka_unit_test(test_verify_large_programs),
      cmocka_unit_test(test_verify_each_allocation_may_fail),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
