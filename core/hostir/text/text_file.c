// SPDX-License-Identifier: Apache-2.0
// Writes and reads host programs as files: the text, and beside it a data file with the large pieces.
#include "core/hostir/text/program_text.h"

void byoc_host_data_init(byoc_host_data_t *data, byoc_allocator_t allocator) {
  *data = (byoc_host_data_t){.allocator = allocator};
  byoc_string_map_init(&data->offsets, allocator);
}

void byoc_host_data_deinit(byoc_host_data_t *data) {
  byoc_vector_deinit(&data->parts, data->allocator);
  byoc_map_deinit(&data->offsets);
}

char *byoc_host_data_path(const char *path, byoc_allocator_t allocator) {
  byoc_string_t text;
  byoc_string_init(&text, allocator);
  byoc_string_appendf(&text, "%s.data", path);
  return byoc_string_release(&text);
}

byoc_status_t byoc_host_program_add_files(const byoc_host_program_t *program, const char *path, byoc_file_set_t *files,
                                          byoc_diag_t *diag) {
  byoc_allocator_t allocator = program->arena.allocator;
  byoc_host_data_t data;
  byoc_string_t text;
  byoc_host_data_init(&data, allocator);
  byoc_string_init(&text, allocator);
  const byoc_host_print_options_t options = {.data = &data};
  byoc_host_program_print(program, &options, &text);
  char *beside = byoc_host_data_path(path, allocator);
  byoc_status_t status = BYOC_OK;
  if (beside == NULL || data.failed || text.failed) status = byoc_diag_out_of_memory(diag);
  if (status == BYOC_OK && data.parts.count > 0) {
    status = byoc_file_set_add(files, beside, data.parts.data, data.parts.count, 0644, diag);
  }
  const byoc_bytes_t whole = {text.data, text.size};
  if (status == BYOC_OK) status = byoc_file_set_add(files, path, &whole, 1, 0644, diag);
  byoc_free(allocator, beside);
  byoc_string_deinit(&text);
  byoc_host_data_deinit(&data);
  return status;
}

// Does the text have lifetimes? Zeroed or cached buffers may have lifetimes even if the others do not.
static bool has_lifetimes(const byoc_host_program_t *program) {
  BYOC_HOST_FOR_EACH(i, program) {
    const bool is_life = i->op == BYOC_HOST_ALLOCATE || i->op == BYOC_HOST_FREE;
    if (is_life && byoc_host_own_allocation(i->operands.data[0]) == NULL) return true;
  }
  return false;
}

// Passes rely on the rules of lifetimes, so a text that has lifetimes must keep them.
static byoc_status_t check_lifetimes(const byoc_host_program_t *program, byoc_diag_t *diag) {
  if (!has_lifetimes(program)) return BYOC_OK;
  byoc_diag_t verdict = {0};
  byoc_status_t status = byoc_host_program_verify_unordered(program, &verdict);
  if (status == BYOC_OK) return BYOC_OK;
  if (status == BYOC_INTERNAL) return byoc_diag_error(diag, BYOC_INVALID_DATA, "%s", verdict.message);
  return byoc_diag_adopt(diag, &verdict);
}

byoc_status_t byoc_host_program_read(const char *path, byoc_allocator_t allocator, byoc_diag_t *diag,
                                     byoc_graph_module_t **out_module, byoc_host_program_t **out_program) {
  *out_module = NULL;
  *out_program = NULL;
  char *text = NULL, *beside = byoc_host_data_path(path, allocator);
  size_t size = 0;
  byoc_file_view_t view = {0};
  byoc_status_t status = beside != NULL ? BYOC_OK : byoc_diag_out_of_memory(diag);
  const bool has_data = status == BYOC_OK && byoc_file_exists(beside);
  if (has_data) status = byoc_file_view_open(beside, diag, &view);
  if (status == BYOC_OK) status = byoc_file_read(path, allocator, diag, &text, &size);
  if (status == BYOC_OK) {
    const byoc_bytes_t data = {view.data, view.size_bytes};
    status = byoc_host_program_parse(text, path, has_data ? &data : NULL, allocator, diag, out_module, out_program);
  }
  if (status == BYOC_OK) status = check_lifetimes(*out_program, diag);
  if (status != BYOC_OK) {
    byoc_host_program_destroy(*out_program);
    byoc_graph_module_destroy(*out_module);
    *out_program = NULL;
    *out_module = NULL;
  }
  if (view.data != NULL) byoc_file_view_close(&view);
  byoc_free(allocator, text);
  byoc_free(allocator, beside);
  return status;
}
