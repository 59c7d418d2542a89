// SPDX-License-Identifier: Apache-2.0
// The verifier of host programs on collectives.
#include "tests/unit/hostir/verify_cases.h"

#define PROGRAM(ranks, in, out, line)                                                                                  \
  "host program \"p\"" ranks " workspace 0 bound 0 {\n  input %x : " in "\n  output %y : " out "\n\n  " line "\n}\n"

static void test_h15_collectives_fit_their_ranks(void **state) {
  (void)state;
  static const case_t cases[] = {
      {"right", PROGRAM("", "f32[4]", "f32[4]", "collective all_reduce(%x) -> (%y) sum among 2 step 1"), NULL},
      {"all ranks", PROGRAM("", "f32[4]", "f32[12]", "collective all_gather(%x) -> (%y)"), NULL},
      {"all of two", PROGRAM(" rank 0 of 2", "f32[4]", "f32[12]", "collective all_gather(%x) -> (%y)"),
       "'x' and 'y' do not fit 2 ranks"},
      {"gathered", PROGRAM("", "f32[4]", "f32[4]", "collective all_gather(%x) -> (%y) among 2 step 1"),
       "'x' and 'y' do not fit 2 ranks"},
      {"scattered", PROGRAM("", "f32[4]", "f32[2]", "collective reduce_scatter(%x) -> (%y) min among 2 step 1"), NULL},
      {"exchanged", PROGRAM("", "f32[4]", "f32[2,2]", "collective all_to_all(%x) -> (%y) among 2 step 1"), NULL},
      {"types", PROGRAM("", "f32[4]", "i32[4]", "collective broadcast(%x) -> (%y) among 2 step 1 root 0"),
       "its operand and its result have other element types"},
      {"texts", PROGRAM("", "string[4]", "string[4]", "collective broadcast(%x) -> (%y) among 2 step 1 root 0"),
       "'x' is no tensor of whole bytes"},
      {"bools", PROGRAM("", "bool[4]", "bool[4]", "collective all_reduce(%x) -> (%y) sum among 2 step 1"),
       "there is no sum of bool"},
      {"root", PROGRAM("", "f32[4]", "f32[4]", "collective broadcast(%x) -> (%y) among 2 step 1 root 2"),
       "member 2 is not in a group of 2"},
      {"mesh", PROGRAM(" rank 0 of 6", "f32[4]", "f32[4]", "collective all_reduce(%x) -> (%y) sum among 2 step 2"),
       "groups of 2 ranks, 2 apart, do not fit 6 ranks"},
      {"twice", PROGRAM("", "f32[4]", "f32[4]", "collective permute(%x) -> (%y) among 2 step 1 to [1, 1]"),
       "member 1 is the target of two"},
      {"nowhere", PROGRAM("", "f32[4]", "f32[4]", "collective permute(%x) -> (%y) among 2 step 1 to [-1, -1]"), NULL},
      {"sent", PROGRAM("", "f32[4]", "f32[4]", "collective send(%x) -> (%y) among 2 step 1 root 1"),
       "it has 1 operands and 1 results, not 1 and 0"},
      {"received", PROGRAM("", "f32[4]", "f32[4]", "collective receive() -> (%y) among 2 step 1 root 1"), NULL},
  };
  CHECK(cases);
}

#define STEPS(lines)                                                                                                   \
  "host program \"p\" workspace 0 bound 0 {\n  input %x : f32[4]\n  output %y : f32[4]\n  output %z : "                \
  "f32[4]\n\n" lines "}\n"
#define BEGINS  "  collective all_reduce(%x) -> (%y) sum among 2 step 1 begins\n"
#define ENDS    "  collective all_reduce(%x) -> (%y) sum among 2 step 1 ends\n"
#define COPY(a) "  copy " a " -> %z\n"

// A collective in two steps: what comes in between leaves its tensors alone.
static void test_h15_steps_leave_tensors_alone(void **state) {
  (void)state;
  static const case_t cases[] = {
      {"right", STEPS(BEGINS COPY("%x") ENDS), NULL},
      {"reads what is not there yet", STEPS(BEGINS COPY("%y") ENDS), "'y' is used while a collective writes it"},
      {"reads it later", STEPS(BEGINS ENDS COPY("%y")), NULL},
      {"never ends", STEPS(COPY("%x") BEGINS), "it never ends"},
      {"has not begun", STEPS(COPY("%x") ENDS), "it has not begun"},
      {"ends something else", STEPS(BEGINS COPY("%x") "  collective all_reduce(%x) -> (%y) max among 2 step 1 ends\n"),
       "a collective that has begun ends behind it"},
      {"two at once", STEPS(BEGINS "  collective all_reduce(%x) -> (%z) sum among 2 step 1\n" ENDS),
       "a collective that has begun ends behind it"},
  };
  CHECK(cases);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_h15_collectives_fit_their_ranks),
                                     cmocka_unit_test(test_h15_steps_leave_tensors_alone)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
