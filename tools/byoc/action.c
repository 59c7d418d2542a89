// SPDX-License-Identifier: Apache-2.0
// Finds and runs what a subcommand is to do.
#include "action.h"

#include <string.h>

#include "tools/common/report.h"

enum { MOST_ACTIONS = 8 };

static int refuse(const byoc_usage_t *usage, const byoc_action_t *actions, size_t count, const char *name) {
  byoc_diag_t diag = {0};
  const char *names[MOST_ACTIONS];
  for (size_t i = 0; i < count && i < MOST_ACTIONS; ++i) names[i] = actions[i].name;
  const char *nearest = byoc_nearest_match(name, names, count < MOST_ACTIONS ? count : MOST_ACTIONS);
  byoc_status_t status = byoc_diag_error(&diag, BYOC_INVALID_ARGUMENT, "there is no '%s %s'", usage->command, name);
  if (nearest != NULL) {
    byoc_diag_hint(&diag, "did you mean '%s %s'?", usage->command, nearest);
  } else {
    byoc_diag_hint(&diag, "%s --help lists the actions", usage->command);
  }
  return byoc_report(&diag, status);
}

int byoc_action_run(const byoc_usage_t *usage, const byoc_action_t *actions, size_t count, int argc, char **argv) {
  for (size_t i = 0; argc > 1 && i < count; ++i) {
    if (strcmp(argv[1], actions[i].name) == 0) return actions[i].run(argc - 1, argv + 1);
  }
  if (argc > 1 && argv[1][0] != '-') return refuse(usage, actions, count, argv[1]);
  byoc_diag_t diag = {0};
  bool done = false;
  const char *action = NULL;
  byoc_status_t status = byoc_options_parse(usage, argc, argv, &diag, &action, &done);
  return status == BYOC_OK && done ? BYOC_EXIT_OK : byoc_report(&diag, status);
}
