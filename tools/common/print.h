// SPDX-License-Identifier: Apache-2.0
// Prints for people on standard output. Names from models, plugins and files may hold anything: what is not safe to
// show is escaped (core/base/visible.h). Modules and C, which other programs read, are written as they are; their
// writers escape what names hold.
#ifndef BYOC_TOOLS_COMMON_PRINT_H_
#define BYOC_TOOLS_COMMON_PRINT_H_

#include "core/base/diag.h"
#include "core/base/string.h"

// Prints a line, or a part of one. Only an end of line at the end of the format is one. A failed write is noticed by
// main, and so is a line that is left out because memory ran out.
void byoc_print(const char *format, ...) __attribute__((format(printf, 1, 2)));
// Was a line left out? One thread at a time.
bool byoc_print_is_incomplete(void);
// Prints a text of several lines, in which names were appended by byoc_string_append_shown. BYOC_OUT_OF_MEMORY if the
// text failed, BYOC_IO if it cannot be written.
byoc_status_t byoc_print_text(const byoc_string_t *text, byoc_diag_t *diag);

#endif // BYOC_TOOLS_COMMON_PRINT_H_
