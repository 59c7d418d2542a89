// SPDX-License-Identifier: Apache-2.0
// The byoc command: one row per subcommand, one cmd_<name>.c each.
#ifndef BYOC_TOOLS_BYOC_COMMAND_H_
#define BYOC_TOOLS_BYOC_COMMAND_H_

#include "tools/common/report.h"

// X(NAME, "word", "summary")
#define BYOC_COMMAND_LIST(X)                                                                                           \
  X(build, "build", "compile a model into one shared object")                                                          \
  X(explain, "explain", "show the target of each operator, the alternatives, and the reasons")                         \
  X(run, "run", "run an artifact or a model once, and compare its results")                                            \
  X(bench, "bench", "time an artifact")                                                                                \
  X(debug, "debug", "find where a result goes wrong: compare traces, find the wrong region")                           \
  X(profile, "profile", "time each instruction of an artifact, and compare it with the limits of the machine")         \
  X(conform, "conform", "run ONNX backend test cases and report which pass")                                           \
  X(inspect, "inspect", "show the contents of an artifact or a model")                                                 \
  X(weights, "weights", "list an artifact's weights, or replace them without a build")                                 \
  X(costs, "costs", "list, export, import or prune the costs that builds have measured")                               \
  X(quantise, "quantise", "make a model of integers from a model of floats and samples of its inputs")                 \
  X(targets, "targets", "list the targets with their options")                                                         \
  X(ops, "ops", "list the operators, their attributes, and which targets' rules name them")                            \
  X(plugins, "plugins", "list the plugins, and the refused ones")                                                      \
  X(new_plugin, "new-plugin", "write a backend to start from")                                                         \
  X(opt, "opt", "run passes over a module in text form or over a model")

// Runs a subcommand on its own arguments (argv[0] is its name). Reports its failures itself; returns an exit code.
#define BYOC_COMMAND_DECLARE(NAME, word, summary) int byoc_main_##NAME(int argc, char **argv);
BYOC_COMMAND_LIST(BYOC_COMMAND_DECLARE)
#undef BYOC_COMMAND_DECLARE

#endif // BYOC_TOOLS_BYOC_COMMAND_H_
