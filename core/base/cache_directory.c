// SPDX-License-Identifier: Apache-2.0
// Finds the folder of caches, to which only this user can write.
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/file.h"
#include "core/base/hash.h"
#include "core/base/log.h"
#include "core/base/system_error.h"
#include "core/base/trust.h"

// Makes <parent>/<name>; *out_path is NULL if that failed.
static byoc_status_t make_below(byoc_allocator_t allocator, const char *parent, const char *name, char **out_path) {
  char *path = byoc_path_join(allocator, parent, name);
  if (path == NULL) return BYOC_OUT_OF_MEMORY;
  byoc_status_t status = byoc_make_private_directories(path, NULL);
  if (status == BYOC_OK) {
    *out_path = path;
  } else {
    byoc_free(allocator, path);
  }
  return status;
}

// <temporary>/byoc-<uid>: any user may have made it, so it must belong to this user, and no other may write to it.
static byoc_status_t temporary_cache(byoc_allocator_t allocator, byoc_diag_t *diag, char **out_path) {
  const char *parent = getenv("TMPDIR");
  if (parent == NULL || parent[0] != '/') parent = "/tmp";
  char name[48];
  snprintf(name, sizeof(name), "byoc-%lu", (unsigned long)getuid());
  char *path = byoc_path_join(allocator, parent, name);
  if (path == NULL) return byoc_diag_out_of_memory(diag);
  struct stat info;
  byoc_status_t status = BYOC_OK;
  if (mkdir(path, 0700) != 0 && errno != EEXIST) {
    status = byoc_diag_system_error(diag, errno, "make the folder", path);
  } else if (lstat(path, &info) != 0) {
    status = byoc_diag_system_error(diag, errno, "open the folder", path);
  } else if (!S_ISDIR(info.st_mode) || info.st_uid != getuid() || (info.st_mode & 022) != 0) {
    status = byoc_diag_error(diag, BYOC_PERMISSION, "'%s' is not a folder that only this user can write to", path);
    byoc_diag_hint(diag, "name another cache folder in BYOC_CACHE_DIR");
  } else {
    status = byoc_trust_folder(path, diag);
  }
  if (status == BYOC_OK) {
    *out_path = path;
    path = NULL;
  }
  byoc_free(allocator, path);
  return status;
}

// The content of a cache is compiled into artifacts, so others must not be able to write to it. Warns once for each of
// the first folders.
static byoc_status_t check_belief(const char *folder, byoc_diag_t *diag, bool *out_believed) {
  byoc_diag_t why = {0};
  byoc_status_t status = byoc_trust_folder(folder, &why);
  *out_believed = status == BYOC_OK;
  if (status == BYOC_OK) return BYOC_OK;
  if (status == BYOC_OUT_OF_MEMORY) return byoc_diag_out_of_memory(diag);
  enum { REMEMBERED = 16 };
  static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
  static uint64_t told[REMEMBERED];
  static size_t reported_count;
  uint64_t hash = byoc_hash_string(folder);
  pthread_mutex_lock(&lock);
  bool is_new = reported_count < REMEMBERED;
  for (size_t i = 0; i < reported_count; ++i) is_new = is_new && told[i] != hash;
  if (is_new) {
    told[reported_count++] = hash;
    byoc_log(BYOC_LOG_WARNING, "the cache '%s' is not used: %s", folder, why.message);
  }
  pthread_mutex_unlock(&lock);
  return BYOC_OK;
}

// A folder that cannot be written is used for reading, unless it is empty.
static bool is_useful(const char *folder) {
  if (access(folder, W_OK) == 0) return true;
  char **names = NULL;
  size_t count = 0;
  if (byoc_list_directory(folder, byoc_allocator_system(), NULL, &names, &count) != BYOC_OK) return false;
  byoc_free_names(byoc_allocator_system(), names, count);
  return count > 0;
}

byoc_status_t byoc_cache_directory(byoc_allocator_t allocator, byoc_diag_t *diag, char **out_path) {
  *out_path = NULL;
  const char *own = getenv("BYOC_CACHE_DIR");
  const char *xdg = getenv("XDG_CACHE_HOME");
  const char *home = getenv("HOME");
  byoc_status_t status = BYOC_NOT_FOUND;
  bool is_believed = false;
  if (own != NULL && own[0] != '\0') {
    // The user named this folder, so it is an error if it cannot be made.
    BYOC_RETURN_IF_ERROR_IN(diag, byoc_make_private_directories(own, diag), "BYOC_CACHE_DIR");
    BYOC_RETURN_IF_ERROR(check_belief(own, diag, &is_believed));
    if (is_believed) {
      *out_path = byoc_copy_string(allocator, own);
      return *out_path != NULL ? BYOC_OK : byoc_diag_out_of_memory(diag);
    }
  } else if (xdg != NULL && xdg[0] == '/') {
    status = make_below(allocator, xdg, "byoc", out_path);
  } else if (home != NULL && home[0] == '/') {
    status = make_below(allocator, home, ".cache/byoc", out_path);
  }
  if (status == BYOC_OK && is_useful(*out_path)) status = check_belief(*out_path, diag, &is_believed);
  if (is_believed) return BYOC_OK;
  // Services often run under accounts whose home cannot be written to.
  byoc_free(allocator, *out_path);
  *out_path = NULL;
  if (status == BYOC_OUT_OF_MEMORY) return byoc_diag_out_of_memory(diag);
  return temporary_cache(allocator, diag, out_path);
}
