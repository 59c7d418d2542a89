// SPDX-License-Identifier: Apache-2.0
// Finds a compiler's C library, and lets artifacts ask for the oldest versions of its symbols.
#include "core/compose/cc/libc.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/base/elf_version.h"
#include "core/base/log.h"
#include "core/base/process.h"
#include "core/compose/cc/compiler.h"
#include "core/compose/cc/tool.h"

// The file's path, from the system's allocator; NULL if the compiler does not say. A compiler that could not be asked
// is an error: the same build would otherwise give another artifact on a machine that is short of processes.
static byoc_status_t ask(const char *compiler, const char *file, byoc_diag_t *diag, char **out_path) {
  *out_path = NULL;
  byoc_allocator_t allocator = byoc_allocator_system();
  byoc_command_t command;
  byoc_command_init(&command, compiler, allocator);
  byoc_command_addf(&command, "-print-file-name=%s", file);
  byoc_string_t output;
  byoc_string_init(&output, allocator);
  byoc_process_result_t result = {.exit_code = -1};
  byoc_process_options_t options = {.without_errors = true, .timeout_ms = 20000};
  const bool ok = !command.failed && byoc_vector_push(&command.arguments, allocator, NULL);
  byoc_status_t status =
      ok ? byoc_process_run(command.arguments.data, &options, &output, diag, &result) : byoc_diag_out_of_memory(diag);
  if (status == BYOC_OK && result.exit_code < 0) {
    status = byoc_diag_error(diag, BYOC_TOOL, "'%s -print-file-name=%s' was ended by %s", compiler, file,
                             result.timed_out ? "the time limit" : strsignal(result.signal));
  }
  output.data[strcspn(output.data, "\n")] = '\0';
  if (status == BYOC_OK && result.exit_code == 0 && output.data[0] == '/') {
    *out_path = byoc_copy_string(allocator, output.data);
    if (*out_path == NULL) status = byoc_diag_out_of_memory(diag);
  }
  byoc_string_deinit(&output);
  byoc_command_deinit(&command);
  return status;
}

// The parts are beside it, empty, for older programs.
static bool has_parts(const char *path) {
  static const char *const parts[] = {"libpthread.so.0", "libdl.so.2"};
  char part[PATH_MAX];
  const int folder_size = (int)(byoc_path_base(path) - path);
  for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); ++i) {
    const int size = snprintf(part, sizeof(part), "%.*s%s", folder_size, path, parts[i]);
    if (size >= (int)sizeof(part) || access(part, R_OK) != 0) return false;
  }
  return true;
}

static byoc_status_t open_library(const char *path, byoc_diag_t *diag, byoc_libc_t *libc) {
  if (access(path, R_OK) != 0 || !has_parts(path)) return BYOC_OK;
  BYOC_RETURN_IF_ERROR(byoc_file_view_open(path, diag, &libc->view));
  libc->is_whole = byoc_elf_open(libc->view.data, libc->view.size_bytes, "libc.so.6", NULL, &libc->elf) == BYOC_OK &&
                   byoc_elf_has_older_version(&libc->elf, "pthread_create");
  if (!libc->is_whole) byoc_libc_close(libc);
  return BYOC_OK;
}

byoc_status_t byoc_libc_open(const char *compiler, byoc_diag_t *diag, byoc_libc_t *out_libc) {
  *out_libc = (byoc_libc_t){0};
  BYOC_RETURN_IF_ERROR(byoc_c_compiler_find(compiler, diag, &compiler));
  if (strstr(compiler, "musl") != NULL) return BYOC_OK; // its wrapper of gcc names the library of gcc
  char *path = NULL;
  byoc_status_t status = ask(compiler, "libc.so.6", diag, &path);
  if (path != NULL) status = open_library(path, diag, out_libc);
  byoc_free(byoc_allocator_system(), path);
  return status;
}

void byoc_libc_close(byoc_libc_t *libc) {
  byoc_file_view_close(&libc->view);
  *libc = (byoc_libc_t){0};
}

byoc_status_t byoc_libc_lower_versions(const byoc_libc_t *libc, const char *path, byoc_diag_t *diag) {
  byoc_file_view_t view;
  byoc_elf_t elf;
  byoc_elf_change_t changes[2];
  BYOC_RETURN_IF_ERROR(byoc_file_view_open(path, diag, &view));
  for (size_t i = 0; i < 2; ++i) byoc_string_init(&changes[i].bytes, byoc_allocator_system());
  byoc_status_t status = byoc_elf_open(view.data, view.size_bytes, "the linked artifact", diag, &elf);
  if (status == BYOC_OK) status = byoc_elf_lower_versions(&elf, &libc->elf, "libc.so.6", diag, changes);
  byoc_file_view_close(&view);
  for (size_t i = 0; i < 2; ++i) {
    const byoc_string_t *bytes = &changes[i].bytes;
    if (status == BYOC_OK && bytes->size > 0) {
      status = byoc_file_change(path, changes[i].offset, bytes->data, bytes->size, diag);
    }
    byoc_string_deinit(&changes[i].bytes);
  }
  return status;
}
