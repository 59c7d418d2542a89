// SPDX-License-Identifier: Apache-2.0
// The forms of --help that manual pages and completion are made from, and the completion of bash.
#include <stdio.h>

#include "tests/cli/models.h"
#include "tests/support/command.h"

#define BASH_COMPLETION                                                                                                \
  "cat > ask.sh <<'END'\n"                                                                                             \
  "source " BYOC_TEST_SOURCE_DIR "/completions/byoc.bash\n"                                                            \
  "COMP_WORDS=(\"$@\"); COMP_CWORD=$(($# - 1)); _byoc; echo \"<${COMPREPLY[*]}>\"\n"                                   \
  "END\n"

// Each option of --help stands in both other forms.
static void test_forms_tell_the_same(void **state) {
  (void)state;
  byoc_test_shell(0, "for command in $(byoc --help=commands | cut -f 1); do "
                     "byoc $command --help | sed -n 's/^  ....\\(--[a-z-]*\\).*/\\1/p' > $command.help; "
                     "byoc $command --help=options | cut -d ' ' -f 1 > $command.options; "
                     "cmp $command.help $command.options || exit 1; "
                     "byoc $command --help=man > $command.1; "
                     "sed 's/\\\\-/-/g' $command.1 | grep -o -- '^\\.B .*--[a-z-]*' | grep -o -- '--[a-z-]*$' | cmp - "
                     "$command.help || exit 1; "
                     "done; wc -l < build.help");
  byoc_test_shell(0, "byoc --help=commands | wc -l; byoc --help | sed -n '/^commands:/,/^  help/p' | grep -c '^  '");
  int listed = 0, told = 0;
  assert_int_equal(sscanf(byoc_test_output(), "%d %d", &listed, &told), 2);
  assert_int_equal(listed + 1, told); // and help itself
}

// No line of a page is taken for a command of roff that is not there.
static void test_manual_pages_are_roff(void **state) {
  (void)state;
  byoc_test_shell(0, "byoc --help=man > byoc.1; for command in $(byoc --help=commands | cut -f 1); do "
                     "byoc $command --help=man > $command.1; done; byoc-plugin-check --help=man > check.1; "
                     "head -1 build.1; cat *.1 | grep -E \"^[.']\" | cut -d ' ' -f 1 | sort -u | tr '\\n' ' '");
  byoc_test_printed(".TH \"byoc-build\" 1");
  byoc_test_printed(".B .BR .SH .TH .TP .fi .nf ");
}

static void test_other_forms_are_refused(void **state) {
  (void)state;
  byoc_test_shell(2, "byoc build --help=roff");
  byoc_test_printed("--help takes man or options, not 'roff'");
}

// "-" is standard output for what prints text, and no file for the rest.
static void test_a_dash_is_standard_output(void **state) {
  (void)state;
  byoc_test_shell(0, "byoc-modelgen lenet -o lenet.onnx && byoc opt lenet.onnx > plain.byoc && "
                     "byoc opt lenet.onnx -o - | cmp - plain.byoc && "
                     "byoc build lenet.onnx -t c --emit=host > plain.host && "
                     "byoc build lenet.onnx -t c --emit=host -o - | cmp - plain.host && test ! -e -");
  static const char *const refused[] = {"byoc build lenet.onnx -o -",       "byoc build lenet.onnx --save-plan=-",
                                        "byoc explain lenet.onnx --html -", "byoc profile lenet.so --json -",
                                        "byoc-modelgen lenet -o -",         "byoc costs export -"};
  for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
    byoc_test_shell(2, "%s", refused[i]);
    byoc_test_printed("'-' is no file, and this goes into a file only");
  }
  byoc_test_shell(0, "test ! -e - && byoc-modelgen lenet -o ./-.onnx");
}

static void test_bash_completes(void **state) {
  (void)state;
  byoc_test_shell(0, BASH_COMPLETION
                  "touch model.onnx; bash ask.sh byoc plu; bash ask.sh byoc build --sav; bash ask.sh byoc build -t c; "
                  "bash ask.sh byoc build mod; bash ask.sh byoc nothing --x");
  byoc_test_printed("<plugins>\n<--save-plan>\n<c");
  byoc_test_printed("<model.onnx>\n<>");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_forms_tell_the_same),     cmocka_unit_test(test_manual_pages_are_roff),
      cmocka_unit_test(test_other_forms_are_refused), cmocka_unit_test(test_a_dash_is_standard_output),
      cmocka_unit_test(test_bash_completes),
  };
  return cmocka_run_group_tests(tests, byoc_test_enter_folder, byoc_test_leave_folder);
}
