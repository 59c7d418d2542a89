// The byoc command: one row per subcommand, one cmd_<name>.c each.
#ifndef BYOC_TOOLS_BYOC_COMMAND_H_
#define BYOC_TOOLS_BYOC_COMMAND_H_

#include "tools/common/report.h"

// X(NAME, "summary")
#define BYOC_COMMAND_LIST(X)                                                                                           \
  X(build, "compile a model into one shared object")                                                                   \
  X(explain, "show which target takes which operators, what else was on offer, and why")                               \
  X(run, "run an artifact or a model once, and compare its results")                                                   \
  X(bench, "time an artifact")                                                                                         \
  X(debug, "find where a result goes wrong: compare traces, find the region that is to blame")                         \
  X(profile, "time each instruction of an artifact, against what the machine can do")                                  \
  X(conform, "run ONNX backend test cases and say which pass")                                                         \
  X(inspect, "show what is inside an artifact or a model")                                                             \
  X(costs, "list, export, import or prune the costs that builds have measured")                                        \
  X(targets, "list the targets that there are, with their options")                                                    \
  X(ops, "list the operators, their attributes, and which targets' rules name them")                                   \
  X(plugins, "list the plugins that were found, and those that were refused")                                          \
  X(opt, "run passes over a module in text form or over a model")

// Runs a subcommand on its own arguments (argv[0] is its name). Reports its failures itself; returns an exit code.
#define BYOC_COMMAND_DECLARE(NAME, summary) int byoc_main_##NAME(int argc, char **argv);
BYOC_COMMAND_LIST(BYOC_COMMAND_DECLARE)
#undef BYOC_COMMAND_DECLARE

#endif // BYOC_TOOLS_BYOC_COMMAND_H_
