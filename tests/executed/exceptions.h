// SPDX-License-Identifier: Apache-2.0
// Operators that a program of one node cannot run, each with the reason.
#ifndef BYOC_TESTS_EXECUTED_EXCEPTIONS_H_
#define BYOC_TESTS_EXECUTED_EXCEPTIONS_H_

#include <stdbool.h>

static const struct {
  const char *op;
  bool only_open; // it runs with fixed sizes
  const char *reason;
} exceptions[] = {
    {"byoc::CallC", false, "a backend brings the function: tests/plugins run the built-in shim's"},
    {"byoc::OnDevice", false, "a note on where a value lives, which planning takes out: tests/devices"},
    {"byoc::Send", false, "it needs a second rank: tests/rows run ranks"},
    {"byoc::Receive", false, "it needs a second rank: tests/rows run ranks"},
    {"byoc::Require", false, "a condition of a program, which has no value"},
    {"byoc::ShapeOnly", false, "stands for an operand of which a kernel reads the size alone"},
    {"byoc::Refuse", false, "each run of it ends in its error"},
    {"byoc::Fail", false, "each run of it ends in its error"},
    {"byoc::BindSymbols", true, "it has as many operands as symbols"},
    {"byoc::CheckDims", true, "its operands have one length, of which the texts say how long it is"},
    {"byoc::Join", true, "its operands are parts of one tensor, whose size is the sum of theirs"},
    {"byoc::Part", true, "its operand must be as large as the place of the part says"},
    {"byoc::Text", true, "its operands have one size: StringConcat and others run it with open ones"},
};

#endif // BYOC_TESTS_EXECUTED_EXCEPTIONS_H_
