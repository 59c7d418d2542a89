// SPDX-License-Identifier: Apache-2.0
// Prints a command's table of options in three forms, which are the sources of manual pages and the completion of
// shells are made from, so that neither tells something else than --help.
#ifndef BYOC_TOOLS_COMMON_USAGE_H_
#define BYOC_TOOLS_COMMON_USAGE_H_

#include "tools/common/options.h"

// `form`: NULL for people, "man" for a manual page (roff), "options" for shells: one line for each option, with its
// long name, its letter, the word that stands for its value, a tab and its help. BYOC_INVALID_ARGUMENT for another
// form.
byoc_status_t byoc_usage_print(const byoc_usage_t *usage, const char *form, byoc_diag_t *diag);

// Begins a manual page: its title and the line under NAME. "byoc build" becomes byoc-build.
void byoc_man_begin(const char *command, const char *summary);
// Prints words of a manual page such that nothing in them is taken for a command of roff.
void byoc_man_text(const char *text);

#endif // BYOC_TOOLS_COMMON_USAGE_H_
