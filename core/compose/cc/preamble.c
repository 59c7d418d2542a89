// SPDX-License-Identifier: Apache-2.0
// Files: <cache>/preambles/<64 digits>.h; compiled, <64 digits>.h.gch; and <64 digits>.h.sum, the hash of the compiled
// form. The compiler trusts these files, so all of them are checked before each use. clang's form names the header by
// path and time, so the header is written once and never rewritten.
#include "core/compose/cc/preamble.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/file.h"
#include "core/base/hash.h"
#include "core/base/log.h"
#include "core/base/trust.h"
#include "core/compose/cc/object_cache.h"
#include "core/compose/cc/tool.h"

// Paths, as hashes, of preambles that could not be made: they are not tried again in this process.
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct {
  byoc_content_hash_t paths[16];
  size_t count;
} failed;

static bool has_failed(byoc_content_hash_t path) {
  for (size_t i = 0; i < failed.count; ++i) {
    if (failed.paths[i].low == path.low && failed.paths[i].high == path.high) return true;
  }
  return false;
}

static void note_failure(byoc_content_hash_t path, const byoc_diag_t *why) {
  byoc_log(BYOC_LOG_INFO, "headers are not precompiled: %s", why->message);
  if (failed.count < sizeof(failed.paths) / sizeof(failed.paths[0])) failed.paths[failed.count++] = path;
}

typedef struct preamble_paths_t {
  char header[4096], compiled[4096], sum[4096];
} preamble_paths_t;

static bool name_paths(const char *header, preamble_paths_t *out) {
  int size = snprintf(out->header, sizeof(out->header), "%s", header);
  if (size < 0 || size > 4000) return false;
  snprintf(out->compiled, sizeof(out->compiled), "%s.gch", out->header);
  snprintf(out->sum, sizeof(out->sum), "%s.sum", out->header);
  return true;
}

static void remove_all(const preamble_paths_t *paths) {
  (void)unlink(paths->sum);
  (void)unlink(paths->compiled);
  (void)unlink(paths->header);
}

static bool hash_file(const char *path, char digits[33], byoc_diag_t *diag) {
  byoc_file_view_t view;
  if (byoc_file_view_open(path, diag, &view) != BYOC_OK) return false;
  byoc_content_hash_format(byoc_content_hash(view.data, view.size_bytes), digits);
  byoc_file_view_close(&view);
  return true;
}

static bool file_is(const char *path, const char *text, byoc_diag_t *diag) {
  byoc_file_view_t view;
  if (byoc_file_view_open(path, diag, &view) != BYOC_OK) return false;
  bool same = view.size_bytes == strlen(text) && memcmp(view.data, text, view.size_bytes) == 0;
  byoc_file_view_close(&view);
  return same;
}

// True if all three files are there and unchanged. Files that were changed are removed.
static bool is_sound(const preamble_paths_t *paths, const char *text) {
  const char *const files[] = {paths->header, paths->compiled, paths->sum};
  byoc_diag_t why = {0};
  byoc_status_t status = BYOC_OK;
  for (size_t i = 0; i < sizeof(files) / sizeof(files[0]) && status == BYOC_OK; ++i) {
    status = byoc_trust_file(files[i], &why);
  }
  if (status == BYOC_NOT_FOUND) { // never made, or its folder was pruned: the rest is useless
    remove_all(paths);
    return false;
  }
  char digits[33];
  bool sound = status == BYOC_OK && file_is(paths->header, text, &why) && hash_file(paths->compiled, digits, &why) &&
               file_is(paths->sum, digits, &why);
  if (sound) return true;
  byoc_log(BYOC_LOG_WARNING, "precompiled headers in the cache are not used, and made again: %s",
           why.message[0] != '\0' ? why.message : "they are not the stored ones");
  remove_all(paths);
  return false;
}

static byoc_status_t compile(const byoc_compile_job_t *job, const char *compiler, const preamble_paths_t *paths,
                             const char *folder, byoc_diag_t *diag) {
  byoc_allocator_t allocator = byoc_allocator_system();
  char *output = byoc_path_join(allocator, folder, "preamble.gch");
  if (output == NULL) return byoc_diag_out_of_memory(diag);
  byoc_command_t command;
  byoc_command_init(&command, compiler, allocator);
  byoc_command_add_compilation(&command, job);
  const char *const files[] = {"-x", "c-header", paths->header, "-o", output};
  for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); ++i) byoc_command_add(&command, files[i]);
  byoc_command_work_in(&command, folder);
  byoc_status_t status = byoc_command_run(&command, "precompiling headers", folder, diag);
  byoc_command_deinit(&command);
  char digits[33];
  if (status == BYOC_OK && !hash_file(output, digits, diag)) status = byoc_diag_failure(diag);
  if (status == BYOC_OK) status = byoc_file_install(output, paths->compiled, 0600, diag);
  if (status == BYOC_OK) status = byoc_file_write_atomic(paths->sum, digits, strlen(digits), 0600, diag);
  byoc_free(allocator, output);
  return status;
}

static byoc_status_t make(const byoc_compile_job_t *job, const char *compiler, const preamble_paths_t *paths,
                          byoc_diag_t *diag) {
  byoc_allocator_t allocator = byoc_allocator_system();
  char *directory = byoc_path_directory(allocator, paths->header), *folder = NULL;
  byoc_status_t status = byoc_file_write_atomic(paths->header, job->preamble, strlen(job->preamble), 0600, diag);
  if (directory == NULL) status = byoc_diag_out_of_memory(diag);
  if (status == BYOC_OK) status = byoc_make_temporary_directory("byoc-preamble", allocator, diag, &folder);
  if (status == BYOC_OK) status = compile(job, compiler, paths, folder, diag);
  if (folder != NULL) (void)byoc_remove_tree(folder, NULL);
  if (status == BYOC_OK) byoc_cache_folder_prune(directory, BYOC_PREAMBLE_LIMIT_BYTES);
  byoc_free(allocator, folder);
  byoc_free(allocator, directory);
  return status;
}

static byoc_status_t find_paths(const byoc_digest_t *key, byoc_diag_t *diag, preamble_paths_t *out_paths) {
  char *root = NULL;
  BYOC_RETURN_IF_ERROR(byoc_cache_directory(byoc_allocator_system(), diag, &root));
  char digits[65], folder[4096], header[4096];
  byoc_digest_format(key, digits);
  int size = snprintf(folder, sizeof(folder), "%s/preambles", root);
  byoc_free(byoc_allocator_system(), root);
  bool fits = size > 0 && size < 3900 && snprintf(header, sizeof(header), "%s/%s.h", folder, digits) > 0 &&
              name_paths(header, out_paths);
  if (!fits) return byoc_diag_error(diag, BYOC_INVALID_ARGUMENT, "the cache folder's path is too long");
  return byoc_make_private_directories(folder, diag);
}

// One process at a time checks and makes a preamble. -1 if the lock is not available: at worst it is made twice.
static int lock_others(const preamble_paths_t *paths) {
  char path[4096];
  if (snprintf(path, sizeof(path), "%.*s.lock", (int)(strlen(paths->header) - 2), paths->header) < 0) return -1;
  int file = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (file >= 0) (void)flock(file, LOCK_EX);
  return file;
}

// Call with the lock held.
static bool find_or_make(const byoc_compile_job_t *job, const char *compiler, const preamble_paths_t *paths) {
  byoc_content_hash_t path = byoc_content_hash(paths->header, strlen(paths->header));
  if (has_failed(path)) return false;
  int others = lock_others(paths);
  byoc_diag_t why = {0};
  bool made = is_sound(paths, job->preamble) || make(job, compiler, paths, &why) == BYOC_OK;
  if (!made) note_failure(path, &why);
  if (others >= 0) close(others);
  return made;
}

char *byoc_preamble_get(const byoc_compile_job_t *job, const char *compiler, const byoc_digest_t *key,
                        byoc_allocator_t allocator) {
  preamble_paths_t paths;
  if (find_paths(key, NULL, &paths) != BYOC_OK) return NULL;
  pthread_mutex_lock(&lock);
  bool is_there = find_or_make(job, compiler, &paths);
  pthread_mutex_unlock(&lock);
  if (!is_there) return NULL;
  const char *const used_now[] = {paths.compiled, paths.sum};
  for (size_t i = 0; i < sizeof(used_now) / sizeof(used_now[0]); ++i) (void)utimensat(AT_FDCWD, used_now[i], NULL, 0);
  return byoc_copy_string(allocator, paths.header);
}

void byoc_preamble_drop(const char *path) {
  preamble_paths_t paths;
  if (name_paths(path, &paths)) remove_all(&paths);
}
