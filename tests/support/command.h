// SPDX-License-Identifier: Apache-2.0
// Runs commands as a user types them.
#ifndef BYOC_TESTS_SUPPORT_COMMAND_H_
#define BYOC_TESTS_SUPPORT_COMMAND_H_

#include "tests/support/support.h"

// Makes a folder for this test program, enters it, and puts the built programs first in PATH. For the set-up of a
// group.
int byoc_test_enter_folder(void **state);
// Leaves it and removes it.
int byoc_test_leave_folder(void **state);

// Runs a line of shell and returns what it printed, standard error included; valid until the next call. Fails, showing
// the line and its output, unless the exit code is `expected`.
#define byoc_test_shell(expected, ...) byoc_test_shell_at(__FILE__, __LINE__, (expected), __VA_ARGS__)
const char *byoc_test_shell_at(const char *file, int line, int expected, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
// The same without a check: returns the exit code; byoc_test_output returns the output.
int byoc_test_try_shell(const char *format, ...) __attribute__((format(printf, 1, 2)));
const char *byoc_test_output(void);

// Fails unless `part` stands in the last output.
#define byoc_test_printed(part) byoc_test_printed_at(__FILE__, __LINE__, (part))
void byoc_test_printed_at(const char *file, int line, const char *part);
// Fails if a line of the last output matches the extended regular expression. `! program | grep` and an expected code
// of 1 from `program | grep` would pass where the program itself fails (tests/harness/test_pipes.sh finds them).
#define byoc_test_no_line(expression) byoc_test_no_line_at(__FILE__, __LINE__, (expression))
void byoc_test_no_line_at(const char *file, int line, const char *expression);

#endif // BYOC_TESTS_SUPPORT_COMMAND_H_
