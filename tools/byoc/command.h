// The byoc command: one row per subcommand, one cmd_<name>.c each. Libraries return statuses; only main() exits.
#ifndef BYOC_TOOLS_BYOC_COMMAND_H_
#define BYOC_TOOLS_BYOC_COMMAND_H_

#include "core/base/diag.h"

// Exit codes.
enum {
  BYOC_EXIT_OK = 0,
  BYOC_EXIT_FAILED = 1, // the model, the build or a comparison failed
  BYOC_EXIT_MISUSE = 2, // the command line is wrong
};

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

// Prints the diagnostic on standard error and gives the exit code for it: 2 for BYOC_INVALID_ARGUMENT, else 1.
int byoc_report(const byoc_diag_t *diag, byoc_status_t status);

// Call it after writing to standard output failed. If nobody reads it any more (byoc opt ... | head), the program ends
// as others do: silently, by SIGPIPE. Otherwise this returns.
void byoc_leave_without_reader(void);

#endif // BYOC_TOOLS_BYOC_COMMAND_H_
