// SPDX-License-Identifier: Apache-2.0
// Catches the output of foreign code in memory, so that it does not reach the terminal. For core/base/foreign.c only.
#ifndef BYOC_CORE_BASE_FOREIGN_OUTPUT_H_
#define BYOC_CORE_BASE_FOREIGN_OUTPUT_H_

#include <stdbool.h>
#include <stddef.h>

// Call it once in each process. Log lines keep going to the terminal.
void byoc_foreign_output_init(void);
void byoc_foreign_output_begin(void);
void byoc_foreign_output_end(void); // safe in signal handlers
// The use of the standard streams by foreign code since _begin: "printed", "closed standard output"; NULL: none.
const char *byoc_foreign_output_misuse(void);
// The functions below are safe in signal handlers. The beginning of the output, without the last end of line.
size_t byoc_foreign_output_read(char *text, size_t size);
// The descriptor of the terminal's standard error.
int byoc_foreign_output_terminal(void);

#endif // BYOC_CORE_BASE_FOREIGN_OUTPUT_H_
