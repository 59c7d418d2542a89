// SPDX-License-Identifier: Apache-2.0
// What foreign code prints: it goes into memory instead of the terminal. For core/base/foreign.c only.
#ifndef BYOC_CORE_BASE_FOREIGN_OUTPUT_H_
#define BYOC_CORE_BASE_FOREIGN_OUTPUT_H_

#include <stdbool.h>
#include <stddef.h>

// Call it once in each process. Log lines keep going to the terminal.
void byoc_foreign_output_init(void);
void byoc_foreign_output_begin(void);
void byoc_foreign_output_end(void); // safe in signal handlers
// What foreign code did to the standard streams since _begin: "printed", "closed standard output"; NULL: nothing.
const char *byoc_foreign_output_misuse(void);
// The rest is safe in signal handlers. The beginning of what was printed, without the last end of line.
size_t byoc_foreign_output_read(char *text, size_t size);
// The descriptor of the terminal's standard error.
int byoc_foreign_output_terminal(void);

#endif // BYOC_CORE_BASE_FOREIGN_OUTPUT_H_
