// SPDX-License-Identifier: Apache-2.0
// Finds a compiler's C library, and lets artifacts ask for the oldest versions of its symbols.
#include "core/compose/libc.h"

#include <string.h>

#include "core/base/elf_version.h"
#include "core/base/log.h"
#include "core/base/process.h"
#include "core/compose/compiler.h"
#include "core/compose/tool.h"

// The file's path, from the system's allocator; NULL if the compiler does not say.
static char *ask(const char *compiler, const char *file) {
  byoc_allocator_t allocator = byoc_allocator_system();
  byoc_command_t command;
  byoc_command_init(&command, compiler, allocator);
  byoc_command_addf(&command, "-print-file-name=%s", file);
  byoc_string_t output;
  byoc_string_init(&output, allocator);
  byoc_process_result_t result = {.exit_code = -1};
  byoc_process_options_t options = {.without_errors = true, .timeout_ms = 20000};
  bool ok = !command.failed && byoc_vector_push(&command.arguments, allocator, NULL);
  if (ok) ok = byoc_process_run(command.arguments.data, &options, &output, NULL, &result) == BYOC_OK;
  output.data[strcspn(output.data, "\n")] = '\0';
  const bool is_path = ok && result.exit_code == 0 && output.data[0] == '/';
  char *path = is_path ? byoc_copy_string(allocator, output.data) : NULL;
  byoc_string_deinit(&output);
  byoc_command_deinit(&command);
  return path;
}

// The parts stand beside it, empty, for programs of before.
static bool has_parts(const char *path) {
  static const char *const parts[] = {"libpthread.so.0", "libdl.so.2"};
  byoc_allocator_t allocator = byoc_allocator_system();
  char *folder = byoc_path_directory(allocator, path);
  bool has = folder != NULL;
  for (size_t i = 0; has && i < sizeof(parts) / sizeof(parts[0]); ++i) {
    byoc_file_view_t view;
    char *part = byoc_path_join(allocator, folder, parts[i]);
    has = part != NULL && byoc_file_view_open(part, NULL, &view) == BYOC_OK;
    if (has) byoc_file_view_close(&view);
    byoc_free(allocator, part);
  }
  byoc_free(allocator, folder);
  return has;
}

void byoc_libc_open(const char *compiler, byoc_libc_t *out_libc) {
  *out_libc = (byoc_libc_t){0};
  if (byoc_c_compiler_find(compiler, NULL, &compiler) != BYOC_OK) return;
  if (strstr(compiler, "musl") != NULL) return; // its wrapper of gcc names the library of gcc
  char *path = ask(compiler, "libc.so.6");
  if (path != NULL && has_parts(path) && byoc_file_view_open(path, NULL, &out_libc->view) == BYOC_OK) {
    const byoc_file_view_t *view = &out_libc->view;
    out_libc->is_whole = byoc_elf_open(view->data, view->size_bytes, "libc.so.6", NULL, &out_libc->elf) == BYOC_OK &&
                         byoc_elf_has_older_version(&out_libc->elf, "pthread_create");
    if (!out_libc->is_whole) byoc_libc_close(out_libc);
  }
  byoc_free(byoc_allocator_system(), path);
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
