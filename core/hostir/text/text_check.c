// SPDX-License-Identifier: Apache-2.0
// Checks that the text form of a host program is whole: the printed text parses back to a program with the same text.
#include <stdlib.h>
#include <string.h>

#include "core/hostir/text/program_text.h"

// The whole content of a data file, as one piece; NULL if out of memory.
static uint8_t *join(const byoc_host_data_t *data) {
  uint8_t *bytes = byoc_allocate(data->allocator, (size_t)data->size_bytes + 1, 1);
  for (size_t i = 0, at = 0; bytes != NULL && i < data->parts.count; ++i) {
    const byoc_bytes_t *part = &data->parts.data[i];
    if (part->size_bytes > 0) memcpy(bytes + at, part->data, part->size_bytes);
    at += part->size_bytes;
  }
  return bytes;
}

static byoc_status_t print(const byoc_host_program_t *program, byoc_host_data_t *data, byoc_string_t *out,
                           byoc_diag_t *diag) {
  const byoc_host_print_options_t options = {.data = data};
  byoc_host_program_print(program, &options, out);
  return out->failed || data->failed ? byoc_diag_out_of_memory(diag) : BYOC_OK;
}

static byoc_status_t compare(const char *first, const char *second, byoc_diag_t *diag) {
  if (strcmp(first, second) == 0) return BYOC_OK;
  size_t line = 0, at = 0;
  for (; first[at] == second[at]; ++at) {
    if (first[at] == '\n') line = at + 1;
  }
  return byoc_diag_error(diag, BYOC_INTERNAL, "a host program's text comes back as '%.*s', not as '%.*s'",
                         (int)strcspn(second + line, "\n"), second + line, (int)strcspn(first + line, "\n"),
                         first + line);
}

byoc_status_t byoc_host_text_check(const byoc_host_program_t *program, byoc_diag_t *diag) {
  byoc_allocator_t allocator = program->arena.allocator;
  byoc_graph_module_t *module = NULL;
  byoc_host_program_t *parsed = NULL;
  byoc_host_data_t data, data_again;
  byoc_string_t text, again;
  byoc_host_data_init(&data, allocator);
  byoc_host_data_init(&data_again, allocator);
  byoc_string_init(&text, allocator);
  byoc_string_init(&again, allocator);
  uint8_t *bytes = NULL;
  byoc_status_t status = print(program, &data, &text, diag);
  if (status == BYOC_OK) {
    bytes = join(&data);
    const byoc_bytes_t content = {bytes, (size_t)data.size_bytes};
    status = bytes == NULL
                 ? byoc_diag_out_of_memory(diag)
                 : byoc_host_program_parse(text.data, program->name, &content, allocator, diag, &module, &parsed);
  }
  if (status == BYOC_OK) status = print(parsed, &data_again, &again, diag);
  if (status == BYOC_OK) status = compare(text.data, again.data, diag);
  byoc_host_program_destroy(parsed);
  byoc_graph_module_destroy(module);
  byoc_free(allocator, bytes);
  byoc_string_deinit(&again);
  byoc_string_deinit(&text);
  byoc_host_data_deinit(&data_again);
  byoc_host_data_deinit(&data);
  return status;
}

byoc_status_t byoc_host_text_check_if_asked(const byoc_host_program_t *program, byoc_diag_t *diag) {
  const char *asked = getenv("BYOC_CHECK_HOST_TEXT");
  return asked != NULL && asked[0] != '\0' ? byoc_host_text_check(program, diag) : BYOC_OK;
}
