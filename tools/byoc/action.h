// SPDX-License-Identifier: Apache-2.0
// Subcommands that have several things to do: byoc debug diff, byoc weights list.
#ifndef BYOC_TOOLS_BYOC_ACTION_H_
#define BYOC_TOOLS_BYOC_ACTION_H_

#include "tools/common/options.h"

typedef struct byoc_action_t {
  const char *name;
  int (*run)(int argc, char **argv); // argv[0] is the action's name
} byoc_action_t;

// Runs the action that argv[1] names. Where it names none, `usage` prints the help, or an error says what there is.
int byoc_action_run(const byoc_usage_t *usage, const byoc_action_t *actions, size_t count, int argc, char **argv);

#endif // BYOC_TOOLS_BYOC_ACTION_H_
