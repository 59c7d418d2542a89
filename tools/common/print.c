// SPDX-License-Identifier: Apache-2.0
// Prints lines and texts on standard output, without what is not safe to show.
#include "tools/common/print.h"

#include <stdio.h>
#include <string.h>

#include "core/base/visible.h"

static bool is_incomplete; // a line was left out: out of memory

bool byoc_print_is_incomplete(void) {
  return is_incomplete;
}

void byoc_print(const char *format, ...) {
  byoc_string_t line, shown;
  byoc_string_init(&line, byoc_allocator_system());
  byoc_string_init(&shown, byoc_allocator_system());
  va_list arguments;
  va_start(arguments, format);
  byoc_string_appendv(&line, format, arguments);
  va_end(arguments);
  const bool ends = byoc_ends_with(format, "\n") && line.size > 0;
  if (ends && !line.failed) line.data[--line.size] = '\0';
  byoc_string_append_shown(&shown, line.data);
  if (ends) byoc_string_append(&shown, "\n");
  if (line.failed || shown.failed) {
    is_incomplete = true;
  } else {
    fputs(shown.data, stdout);
  }
  byoc_string_deinit(&line);
  byoc_string_deinit(&shown);
}

byoc_status_t byoc_print_text(const byoc_string_t *text, byoc_diag_t *diag) {
  byoc_string_t shown;
  byoc_string_init(&shown, text->allocator);
  byoc_string_append_shown_lines(&shown, text->data);
  byoc_status_t status = text->failed || shown.failed ? byoc_diag_out_of_memory(diag) : BYOC_OK;
  if (status == BYOC_OK && fwrite(shown.data, 1, shown.size, stdout) != shown.size) {
    status = byoc_diag_error(diag, BYOC_IO, "cannot write to standard output");
  }
  byoc_string_deinit(&shown);
  return status;
}
