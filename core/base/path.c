// Paths, and the cache folder.
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/file.h"
#include "core/base/hash.h"
#include "core/base/log.h"
#include "core/base/system_error.h"
#include "core/base/trust.h"

char *byoc_path_join(byoc_allocator_t allocator, const char *folder, const char *name) {
  size_t folder_size = strlen(folder);
  size_t name_size = strlen(name);
  bool slash = folder_size > 0 && folder[folder_size - 1] != '/';
  char *path = byoc_allocate(allocator, folder_size + name_size + 2, 1);
  if (path == NULL) return NULL;
  memcpy(path, folder, folder_size);
  if (slash) path[folder_size++] = '/';
  memcpy(path + folder_size, name, name_size + 1);
  return path;
}

const char *byoc_path_base(const char *path) {
  const char *slash = strrchr(path, '/');
  return slash == NULL ? path : slash + 1;
}

char *byoc_path_directory(byoc_allocator_t allocator, const char *path) {
  const char *slash = strrchr(path, '/');
  if (slash == NULL) return byoc_copy_string(allocator, ".");
  size_t size = slash == path ? 1 : (size_t)(slash - path);
  char *directory = byoc_allocate(allocator, size + 1, 1);
  if (directory != NULL) memcpy(directory, path, size);
  return directory;
}

bool byoc_file_exists(const char *path) {
  return access(path, F_OK) == 0;
}

bool byoc_is_directory(const char *path) {
  struct stat info;
  return stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

static byoc_status_t make_directory(const char *path, mode_t mode, byoc_diag_t *diag) {
  if (mkdir(path, mode) == 0) return BYOC_OK;
  int error = errno;
  // On a read-only file system mkdir says EROFS or EACCES for folders that are there.
  if (byoc_is_directory(path)) return BYOC_OK;
  if (error == EEXIST) {
    return byoc_diag_error(diag, BYOC_ALREADY_EXISTS, "cannot make the folder '%s': there is a file of that name",
                           path);
  }
  return byoc_diag_system_error(diag, error, "make the folder", path);
}

static byoc_status_t make_directories(const char *path, mode_t mode, byoc_diag_t *diag) {
  char *copy = byoc_copy_string(byoc_allocator_system(), path);
  if (copy == NULL) return byoc_diag_out_of_memory(diag);
  byoc_status_t status = BYOC_OK;
  for (char *slash = strchr(copy + (copy[0] == '/'), '/'); slash != NULL && status == BYOC_OK;
       slash = strchr(slash + 1, '/')) {
    *slash = '\0';
    status = make_directory(copy, mode, diag);
    *slash = '/';
  }
  size_t size = strlen(copy);
  if (status == BYOC_OK && size > 0 && copy[size - 1] != '/') status = make_directory(copy, mode, diag);
  byoc_free(byoc_allocator_system(), copy);
  return status;
}

byoc_status_t byoc_make_directories(const char *path, byoc_diag_t *diag) {
  return make_directories(path, 0777, diag);
}

byoc_status_t byoc_make_private_directories(const char *path, byoc_diag_t *diag) {
  return make_directories(path, 0700, diag);
}

// Makes <parent>/<name>, NULL in *out_path where that failed.
static byoc_status_t make_below(byoc_allocator_t allocator, const char *parent, const char *name, byoc_diag_t *diag,
                                char **out_path) {
  char *path = byoc_path_join(allocator, parent, name);
  if (path == NULL) return byoc_diag_out_of_memory(diag);
  byoc_status_t status = byoc_make_private_directories(path, diag);
  if (status == BYOC_OK) {
    *out_path = path;
  } else {
    byoc_free(allocator, path);
  }
  return status;
}

// <temporary>/byoc-<uid>: anybody may have made that name, so it must be a folder of ours that nobody else writes to.
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

// What a cache holds is compiled into artifacts: others must not be able to write to it. Says so once for each folder.
static bool is_believed(const char *folder) {
  byoc_diag_t diag = {0};
  if (byoc_trust_folder(folder, &diag) == BYOC_OK) return true;
  static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
  static uint64_t told;
  uint64_t hash = byoc_hash_text(folder);
  pthread_mutex_lock(&lock);
  if (told != hash) byoc_log(BYOC_LOG_WARNING, "the cache '%s' is not used: %s", folder, diag.message);
  told = hash;
  pthread_mutex_unlock(&lock);
  return false;
}

byoc_status_t byoc_cache_directory(byoc_allocator_t allocator, byoc_diag_t *diag, char **out_path) {
  *out_path = NULL;
  const char *own = getenv("BYOC_CACHE_DIR");
  const char *xdg = getenv("XDG_CACHE_HOME");
  const char *home = getenv("HOME");
  byoc_status_t status = BYOC_NOT_FOUND;
  if (own != NULL && own[0] != '\0') {
    // The user's word: an error where there can be no such folder.
    BYOC_RETURN_IF_ERROR_IN(diag, byoc_make_private_directories(own, diag), "BYOC_CACHE_DIR");
    if (is_believed(own)) {
      *out_path = byoc_copy_string(allocator, own);
      return *out_path != NULL ? BYOC_OK : byoc_diag_out_of_memory(diag);
    }
  } else if (xdg != NULL && xdg[0] == '/') {
    status = make_below(allocator, xdg, "byoc", NULL, out_path);
  } else if (home != NULL && home[0] == '/') {
    status = make_below(allocator, home, ".cache/byoc", NULL, out_path);
  }
  if (status == BYOC_OK && access(*out_path, W_OK) == 0 && is_believed(*out_path)) return BYOC_OK;
  // Accounts without a home that can be written to are common for services.
  byoc_free(allocator, *out_path);
  *out_path = NULL;
  if (status == BYOC_OUT_OF_MEMORY) return byoc_diag_out_of_memory(diag);
  return temporary_cache(allocator, diag, out_path);
}
