// SPDX-License-Identifier: Apache-2.0
// Lists the passes over host programs in one table.
#include "core/hostir/pass/pass.h"

#define BYOC_HOST_PASS_ROW(NAME, text, needs_, gives_, keeps_, line)                                                   \
  {.name = text,                                                                                                       \
   .summary = line,                                                                                                    \
   .stage = BYOC_PASS_HOST,                                                                                            \
   .run_host = byoc_host_pass_##NAME,                                                                                  \
   .needs = needs_,                                                                                                    \
   .gives = gives_,                                                                                                    \
   .keeps = keeps_},
static const byoc_pass_t rows[] = {BYOC_HOST_PASS_LIST(BYOC_HOST_PASS_ROW)};
#undef BYOC_HOST_PASS_ROW

const byoc_passes_t byoc_host_passes = {.rows = rows, .count = sizeof(rows) / sizeof(rows[0])};

byoc_status_t byoc_host_pass_run_list(const char *names, byoc_host_program_t *program,
                                      const byoc_pass_options_t *options, byoc_diag_t *diag) {
  return byoc_passes_run(&byoc_host_passes, names, (byoc_pass_subject_t){.program = program}, options, diag, NULL);
}
