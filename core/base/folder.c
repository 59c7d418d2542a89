// SPDX-License-Identifier: Apache-2.0
// Makes a folder under a temporary name and renames it.
#define _GNU_SOURCE
#include "core/base/folder.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/file.h"
#include "core/base/system_error.h"
#include "core/base/temporary.h"

// mkdir() rather than mkdtemp(), so that the system applies the umask.
static int make_folder(void *path) {
  return mkdir(path, 0777);
}

byoc_status_t byoc_folder_begin(const char *path, byoc_allocator_t allocator, byoc_diag_t *diag, char **out_folder) {
  *out_folder = NULL;
  char *parent = byoc_path_directory(allocator, path);
  const size_t size = strlen(path) + sizeof(BYOC_TEMPORARY_MARK) + 40;
  char *folder = byoc_allocate(allocator, size, 1);
  byoc_status_t status = parent == NULL || folder == NULL ? byoc_diag_out_of_memory(diag) : BYOC_OK;
  if (status != BYOC_OK) goto cleanup;
  byoc_temporary_sweep(parent);
  int made = -1;
  for (int number = 0; made != 0 && number < 100; number++) {
    snprintf(folder, size, "%s" BYOC_TEMPORARY_MARK "%ld-%d", path, (long)getpid(), number);
    made = byoc_temporary_make(make_folder, folder, folder);
    if (made != 0 && errno != EEXIST) break;
  }
  if (made != 0) {
    status = byoc_diag_system_error(diag, errno, "make a folder in", parent);
    goto cleanup;
  }
  *out_folder = folder;
  folder = NULL; // now the caller's
cleanup:
  byoc_free(allocator, folder);
  byoc_free(allocator, parent);
  return status;
}

byoc_status_t byoc_folder_install(const char *folder, const char *path, byoc_diag_t *diag) {
  if (!byoc_file_exists(path)) {
    if (rename(folder, path) != 0) return byoc_diag_system_error(diag, errno, "write", path);
    byoc_temporary_forget(folder);
    return BYOC_OK;
  }
  if (renameat2(AT_FDCWD, folder, AT_FDCWD, path, RENAME_EXCHANGE) == 0) return byoc_remove_tree(folder, diag);
  // A file system that cannot exchange names.
  BYOC_RETURN_IF_ERROR(byoc_remove_tree(path, diag));
  if (rename(folder, path) != 0) return byoc_diag_system_error(diag, errno, "write", path);
  byoc_temporary_forget(folder);
  return BYOC_OK;
}
