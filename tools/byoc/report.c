// How a command that failed ends.
#include "command.h"

int byoc_report(const byoc_diag_t *diag, byoc_status_t status) {
  byoc_diag_print(diag, stderr);
  return status == BYOC_INVALID_ARGUMENT ? BYOC_EXIT_MISUSE : BYOC_EXIT_FAILED;
}
