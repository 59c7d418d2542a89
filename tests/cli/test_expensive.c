// SPDX-License-Identifier: Apache-2.0
// Hooks that take long (tests/plugins/demo_expensive.c): answers from the cache, and hooks that run at once.
#include <stdio.h>

#include "models.h"
#include "tests/support/command.h"

// `build TARGET NAME` builds NAME.so and prints the log, `make_code TARGET` only generates.
#define WITH                                                                                                           \
  "export BYOC_PLUGIN_PATH=" BYOC_TEST_BUILD_DIR "/tests/plugins/good BYOC_CACHE_DIR=$PWD/$cache; "                    \
  "build() { byoc build ${model:-chain.byoc} --target \"$1; c\" --plan greedy --check-budget 0 -v -o $2.so 2>&1; }; "  \
  "make_code() { byoc build ${model:-chain.byoc} --target \"$1; c\" --plan greedy -v --emit=host 2>&1 >/dev/null; }; "

static int enter(void **state) {
  int result = byoc_test_enter_folder(state);
  if (result == 0) write_chain("chain.byoc");
  if (result == 0) byoc_test_shell(0, "byoc run chain.byoc --target c --random --output-dir right");
  return result;
}

static void check_right(const char *name) {
  byoc_test_shell(0, "byoc run %s.so --random --expect y=right/y.npy", name);
}

static void test_answers_come_from_the_cache(void **state) {
  (void)state;
  byoc_test_shell(0, "cache=one; " WITH "build cached first");
  byoc_test_printed("cached: 0 of 4 answers from the cache");
  byoc_test_printed("cached: compiled Relu, one of 1");
  check_right("first");
  byoc_test_shell(0, "cache=one; " WITH "build cached second && cmp first.so second.so");
  byoc_test_printed("cached: 4 of 4 answers from the cache");
  byoc_test_no_line("cached: compiled Relu, one of 1");
  byoc_test_shell(0, "cache=two; " WITH "build cached third && cmp first.so third.so");
}

// JSON without names is right for each equal function, C source with the function's symbol only for that one.
static void test_names_count_where_the_hook_reads_them(void **state) {
  (void)state;
  byoc_test_shell(
      0,
      "sed 's/%%0 = Relu@14(%%x)/%%z = Neg@13(%%x) : f32[65536]\\n    %%0 = Relu@14(%%z)/' chain.byoc > longer.byoc");
  byoc_test_shell(0, "cache=names; " WITH "make_code cached >/dev/null && model=longer.byoc && make_code cached");
  byoc_test_printed("placed cached 5 operators in 5 regions");
  byoc_test_printed("cached: 4 of 4 answers from the cache");
  byoc_test_shell(0,
                  "cache=names; " WITH "build 'cached -answer=source' a >/dev/null && build 'cached -answer=source' b");
  byoc_test_printed("cached: 4 of 4 answers from the cache");
  byoc_test_shell(0, "cmp a.so b.so");
  check_right("b");
  byoc_test_shell(0, "cache=names; " WITH "sed 's/%%0 = Relu/%%0 = Abs/; s/%%3 = Abs/%%3 = Relu/; s/Abs@14/Abs@13/; "
                     "s/Relu@13/Relu@14/' chain.byoc > other.byoc; model=other.byoc; build 'cached -answer=source' c");
  byoc_test_printed("cached: compiled Abs, one of 1");
  byoc_test_shell(0, "byoc run other.byoc --target c --random --output-dir o && byoc run c.so --random --expect "
                     "y=o/y.npy");
}

static void test_what_an_answer_depends_on_is_in_its_key(void **state) {
  (void)state;
  byoc_test_shell(0, "cache=keys; " WITH "make_code cached >/dev/null && DEMO_EXPENSIVE_TOOL=2.0 make_code cached");
  byoc_test_printed("cached: compiled Relu, one of 1");
  byoc_test_shell(0, "cache=keys; " WITH "make_code 'cached -meet=1'");
  byoc_test_printed("cached: 0 of 4 answers from the cache");
  byoc_test_shell(0, "cache=keys; " WITH
                     "export DEMO_EXPENSIVE_ARCHIVE=$PWD/engine.a DEMO_EXPENSIVE_TOOL=3.0; cp " BYOC_TEST_BUILD_DIR
                     "/tests/plugins/libexpensive_engine.a engine.a; make_code cached > log; "
                     "make_code cached | grep '4 of 4 answers' && objcopy --add-section .note.more=chain.byoc engine.a "
                     "&& make_code cached");
  byoc_test_printed("cached: 0 of 4 answers from the cache");
  byoc_test_shell(0, "cache=keys; " WITH "DEMO_EXPENSIVE_TOOL=none make_code cached");
  byoc_test_printed("cached: no answer is cached, because its hook depends_on gives none");
  byoc_test_printed("cached: compiled Relu, one of 1");
}

static void test_what_cannot_be_cached_is_told(void **state) {
  (void)state;
  static const char *const rows[][2] = {{"back", "its hook edited the function"},
                                        {"module", "its hook read the whole module"},
                                        {"foreign", "its engine's table is not in the plugin's own memory"}};
  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); ++i) {
    byoc_test_shell(0, "cache=not; " WITH "make_code 'cached -answer=%s' >/dev/null; build 'cached -answer=%s' a",
                    rows[i][0], rows[i][0]);
    byoc_test_printed("cached: compiled Relu, one of 1");
    byoc_test_printed(rows[i][1]);
    check_right("a");
  }
}

// Edits of prepare are in the key. A function to which it did more is compiled anew, and the log says why.
static void test_what_prepare_may_do_to_cached_functions(void **state) {
  (void)state;
  static const char *const rows[][2] = {{"engine", "its hook prepare added a module"},
                                        {"features", "its hook prepare required features of the processor"},
                                        {"report", "its hook prepare added a report"},
                                        {"module", "its hook prepare read the whole module"}};
  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); ++i) {
    byoc_test_shell(0, "cache=ready; " WITH "build 'cached -prepare=%s' a >/dev/null; build 'cached -prepare=%s' b",
                    rows[i][0], rows[i][0]);
    byoc_test_printed("cached: compiled Relu, one of 1");
    byoc_test_printed(rows[i][1]);
    check_right("b");
  }
  byoc_test_shell(0,
                  "cache=ready; " WITH "make_code 'cached -prepare=edit' >/dev/null; make_code 'cached -prepare=edit'");
  byoc_test_printed("cached: 4 of 4 answers from the cache");
  // Names that prepare reads count, too: another model's equal function has another name.
  byoc_test_shell(0, "cache=ready; " WITH
                     "sed 's/%%0 = Relu@14(%%x)/%%z = Neg@13(%%x) : f32[65536]\\n    %%0 = Relu@14(%%z)/' chain.byoc > "
                     "more.byoc; make_code 'cached -prepare=names' >/dev/null; make_code 'cached -prepare=names'");
  byoc_test_printed("cached: 4 of 4 answers from the cache");
  byoc_test_shell(0, "cache=ready; " WITH "model=more.byoc; make_code 'cached -prepare=names'");
  byoc_test_printed("cached: compiled Relu, one of 1");
}

static void test_declines_are_cached(void **state) {
  (void)state;
  byoc_test_shell(0, "cache=no; " WITH "build 'cached -answer=nodes' a");
  byoc_test_printed("Neg takes too long");
  byoc_test_shell(0, "cache=no; " WITH "build 'cached -answer=nodes' b && cmp a.so b.so");
  byoc_test_printed("Neg takes too long");
  byoc_test_no_line("cached: compiled Neg, one of 1");
  check_right("b");
}

// The limits are those of the whole run, and an equal report about all functions is one.
static void test_reports_of_parts_are_those_of_a_run(void **state) {
  (void)state;
  for (int i = 0; i < 2; ++i) { // the second time from the cache
    byoc_test_shell(0, "cache=reports; " WITH "build 'cached -answer=report' a > log && byoc inspect a.so");
    byoc_test_printed("report chip: text, 1 bytes, by 'cached");
    byoc_test_shell(0, "byoc inspect a.so | grep -c '^report chip:' && byoc inspect a.so | grep -c '^report log:'");
    byoc_test_printed("1\n4\n");
    byoc_test_shell(0, "grep '%s of 4 answers from the cache' log", i == 0 ? "0" : "4");
  }
  byoc_test_shell(1, "cache=reports; " WITH "build 'cached -answer=reports' b");
  byoc_test_printed("the report 'log': there are 256 reports already");
}

static void test_a_damaged_entry_is_told_and_made_again(void **state) {
  (void)state;
  byoc_test_shell(0, "cache=damage; " WITH "build cached a >/dev/null; for f in damage/answers/*/*; do truncate -s -1 "
                     "$f; done; build cached b && cmp a.so b.so");
  byoc_test_printed("warning: a damaged entry of the plugin 'demo_expensive' was found in the cache");
  byoc_test_printed("cached: compiled Abs, one of 1");
  // A part of an answer that is an entry of its own: the largest one is the engine's blob.
  byoc_test_shell(0, "cache=damage; " WITH "f=$(ls -S damage/answers/*/* | head -1); printf x | dd of=$f bs=1 seek=200 "
                     "conv=notrunc status=none; build cached b && cmp a.so b.so");
  byoc_test_printed("warning: a damaged entry of the plugin 'demo_expensive' was found in the cache");
  byoc_test_printed("cached: 0 of 4 answers from the cache");
  byoc_test_shell(0, "cache=damage; " WITH "build cached b && cmp a.so b.so");
  byoc_test_printed("cached: 4 of 4 answers from the cache");
}

static void test_hooks_run_at_once(void **state) {
  (void)state;
  byoc_test_shell(0, "cache=once; " WITH "BYOC_JOBS=4 build 'at_once -meet=4' a");
  check_right("a");
  byoc_test_shell(0, "cache=once; " WITH
                     "BYOC_JOBS=1 build at_once one >/dev/null; BYOC_JOBS=3 build at_once three >/dev/null; "
                     "cmp one.so three.so");
  byoc_test_shell(0, "cache=once; " WITH "BYOC_JOBS=4 build expensive b >/dev/null; BYOC_JOBS=2 build expensive c && "
                     "cmp b.so c.so");
  byoc_test_printed("expensive: 4 of 4 answers from the cache");
}

// All four are inside their hooks when they fail.
static void test_the_first_function_that_fails_is_reported(void **state) {
  (void)state;
  for (int i = 0; i < 3; ++i) {
    byoc_test_shell(1, "cache=fail; " WITH "BYOC_JOBS=4 build 'at_once -meet=4 -answer=fail' failed");
    byoc_test_printed("function 'at_once_1': no code for Exp");
    byoc_test_shell(1, "test -e failed.so");
  }
}

static void test_hooks_that_run_at_once_cannot_edit(void **state) {
  (void)state;
  static const char *const ways[] = {"back", "edit"};
  for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); ++i) {
    byoc_test_shell(1, "cache=edit; " WITH "build 'at_once -answer=%s' a", ways[i]);
    byoc_test_printed("the generate hook of target 'at_once' runs beside others, and cannot change the graph");
  }
}

static void test_a_fault_on_a_thread_is_told(void **state) {
  (void)state;
  static const char *const rows[][2] = {
      {"crash", "crashed in its hook generate for the target 'at_once', function 'at_"},
      {"exit", "called exit() in its hook generate for the target 'at_once'"},
      {"end", "ended the thread that it was called by in its hook generate"}};
  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); ++i) {
    byoc_test_shell(1, "cache=fault; " WITH "BYOC_JOBS=4 build 'at_once -meet=4 -answer=%s' f", rows[i][0]);
    byoc_test_printed(rows[i][1]);
    byoc_test_shell(1, "test -e f.so");
  }
}

static void test_a_wrong_number_of_jobs_is_refused(void **state) {
  (void)state;
  byoc_test_shell(2, "cache=jobs; " WITH "BYOC_JOBS=many build at_once a");
  byoc_test_printed("BYOC_JOBS is 'many', which is not a number from 1 to 1024");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_answers_come_from_the_cache),
      cmocka_unit_test(test_names_count_where_the_hook_reads_them),
      cmocka_unit_test(test_what_an_answer_depends_on_is_in_its_key),
      cmocka_unit_test(test_what_cannot_be_cached_is_told),
      cmocka_unit_test(test_what_prepare_may_do_to_cached_functions),
      cmocka_unit_test(test_declines_are_cached),
      cmocka_unit_test(test_reports_of_parts_are_those_of_a_run),
      cmocka_unit_test(test_a_damaged_entry_is_told_and_made_again),
      cmocka_unit_test(test_hooks_run_at_once),
      cmocka_unit_test(test_the_first_function_that_fails_is_reported),
      cmocka_unit_test(test_hooks_that_run_at_once_cannot_edit),
      cmocka_unit_test(test_a_fault_on_a_thread_is_told),
      cmocka_unit_test(test_a_wrong_number_of_jobs_is_refused),
  };
  return cmocka_run_group_tests(tests, enter, byoc_test_leave_folder);
}
