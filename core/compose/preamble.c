// <cache>/preambles/<32 digits>.h and, compiled, <32 digits>.h.gch. clang's form names the header by path and time, so
// the header is written once and stays as it is.
#include "core/compose/preamble.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/file.h"
#include "core/base/log.h"
#include "core/compose/object_cache.h"
#include "core/compose/tool.h"

// Paths, as hashes, of those that could not be made: they are not tried again in this process.
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

static bool compiled_path(const char *path, char out[4096]) {
  int size = snprintf(out, 4096, "%s.gch", path);
  return size > 0 && size < 4096;
}

static byoc_status_t compile(const byoc_compile_job_t *job, const char *compiler, const char *header,
                             const char *compiled, const char *folder, byoc_diag_t *diag) {
  byoc_allocator_t allocator = byoc_allocator_system();
  char *output = byoc_path_join(allocator, folder, "preamble.gch");
  if (output == NULL) return byoc_diag_out_of_memory(diag);
  byoc_command_t command;
  byoc_command_init(&command, compiler, allocator);
  byoc_command_add_compilation(&command, job);
  const char *const files[] = {"-x", "c-header", header, "-o", output};
  for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); ++i) byoc_command_add(&command, files[i]);
  byoc_command_hide(&command, folder);
  byoc_status_t status = byoc_command_run(&command, "precompiling headers", folder, diag);
  byoc_command_deinit(&command);
  if (status == BYOC_OK) status = byoc_file_install(output, compiled, 0600, diag);
  byoc_free(allocator, output);
  return status;
}

static byoc_status_t make(const byoc_compile_job_t *job, const char *compiler, const char *header, const char *compiled,
                          byoc_diag_t *diag) {
  byoc_allocator_t allocator = byoc_allocator_system();
  char *directory = byoc_path_directory(allocator, header), *folder = NULL;
  byoc_status_t status = directory != NULL ? byoc_make_directories(directory, diag) : byoc_diag_out_of_memory(diag);
  if (status == BYOC_OK && !byoc_file_exists(header)) {
    status = byoc_file_write_atomic(header, job->preamble, strlen(job->preamble), 0600, diag);
  }
  if (status == BYOC_OK) status = byoc_make_temporary_directory("byoc-preamble", allocator, diag, &folder);
  if (status == BYOC_OK) status = compile(job, compiler, header, compiled, folder, diag);
  if (folder != NULL) (void)byoc_remove_tree(folder, NULL);
  if (status == BYOC_OK) byoc_cache_folder_prune(directory, BYOC_PREAMBLE_LIMIT_BYTES);
  byoc_free(allocator, folder);
  byoc_free(allocator, directory);
  return status;
}

// Writes the header's path.
static byoc_status_t header_path(byoc_content_hash_t key, byoc_diag_t *diag, char path[4096]) {
  char *root = NULL;
  BYOC_RETURN_IF_ERROR(byoc_cache_directory(byoc_allocator_system(), diag, &root));
  char digits[33];
  byoc_content_hash_format(key, digits);
  int size = snprintf(path, 4096, "%s/preambles/%s.h", root, digits);
  byoc_free(byoc_allocator_system(), root);
  bool fits = size > 0 && size < 4000;
  return fits ? BYOC_OK : byoc_diag_error(diag, BYOC_INVALID_ARGUMENT, "the cache folder's path is too long");
}

// With the lock held.
static bool find_or_make(const byoc_compile_job_t *job, const char *compiler, const char *header,
                         const char *compiled) {
  if (byoc_file_exists(header) && byoc_file_exists(compiled)) return true;
  byoc_content_hash_t path = byoc_content_hash(header, strlen(header));
  if (has_failed(path)) return false;
  byoc_diag_t why = {0};
  if (make(job, compiler, header, compiled, &why) == BYOC_OK) return true;
  note_failure(path, &why);
  return false;
}

char *byoc_preamble_get(const byoc_compile_job_t *job, const char *compiler, byoc_content_hash_t key,
                        byoc_allocator_t allocator) {
  char header[4096], compiled[4096];
  if (header_path(key, NULL, header) != BYOC_OK || !compiled_path(header, compiled)) return NULL;
  pthread_mutex_lock(&lock);
  bool is_there = find_or_make(job, compiler, header, compiled);
  pthread_mutex_unlock(&lock);
  if (!is_there) return NULL;
  (void)utimensat(AT_FDCWD, compiled, NULL, 0); // used now
  return byoc_copy_string(allocator, header);
}

void byoc_preamble_drop(const char *path) {
  char compiled[4096];
  if (compiled_path(path, compiled)) (void)unlink(compiled);
}
