// SPDX-License-Identifier: Apache-2.0
// Compiles source text into relocatable objects: the same bytes every time.
#include "core/compose/cc/compiler.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include "core/base/jobs.h"
#include "core/base/log.h"
#include "core/base/sha256.h"
#include "core/base/task.h"
#include "core/compose/cc/object_cache.h"
#include "core/compose/cc/preamble.h"
#include "core/compose/cc/tool.h"

// Must change whenever a change here or in tool.c changes the objects of compilations.
#define CACHE_FORMAT    "byoc object 3"

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

// "native" means another instruction set on each processor.
static void hash_processor(byoc_sha256_t *hasher) {
#if defined(__x86_64__)
  for (unsigned leaf = 0x80000002u; leaf <= 0x80000004u; leaf++) {
    unsigned regs[4] = {0};
    (void)__get_cpuid(leaf, &regs[0], &regs[1], &regs[2], &regs[3]);
    byoc_sha256_update(hasher, regs, sizeof(regs));
  }
  unsigned regs[4] = {0};
  (void)__get_cpuid_count(7, 0, &regs[0], &regs[1], &regs[2], &regs[3]);
  byoc_sha256_update(hasher, regs, sizeof(regs));
  (void)__get_cpuid(1, &regs[0], &regs[1], &regs[2], &regs[3]);
  regs[1] = 0; // holds the number of the core that runs this
  byoc_sha256_update(hasher, regs, sizeof(regs));
#else
  (void)hasher;
#endif
}

static void hash_flags(byoc_sha256_t *hasher, const char *const *flags) {
  for (; *flags != NULL; flags++) byoc_sha256_update_string(hasher, *flags);
}

// The hash of all inputs of compiling `source`; with "" as `source`: the key of the precompiled preamble.
static byoc_digest_t job_key(const byoc_compile_job_t *job, const char *compiler, const char *version,
                             const char *source) {
  byoc_sha256_t hasher;
  byoc_sha256_init(&hasher);
  byoc_sha256_update_string(&hasher, CACHE_FORMAT);
  byoc_sha256_update_string(&hasher, compiler);
  byoc_sha256_update_string(&hasher, version);
  hash_flags(&hasher, byoc_flags_before());
  bool native = false;
  for (size_t i = 0; i < job->flag_count; i++) {
    byoc_sha256_update_string(&hasher, job->flags[i]);
    native = native || strstr(job->flags[i], "native") != NULL;
  }
  if (native) hash_processor(&hasher);
  hash_flags(&hasher, byoc_flags_after);
  for (size_t i = 0; i < byoc_embedded_header_count; i++) {
    byoc_embedded_header_t header = byoc_embedded_header(i);
    byoc_sha256_update_string(&hasher, header.path);
    byoc_sha256_update(&hasher, header.data, header.size_bytes);
  }
  for (size_t i = 0; i < job->file_count; i++) {
    byoc_sha256_update_string(&hasher, job->files[i].path);
    byoc_sha256_update(&hasher, job->files[i].data, job->files[i].size_bytes);
  }
  byoc_sha256_update_string(&hasher, job->preamble != NULL ? job->preamble : "");
  byoc_sha256_update_string(&hasher, source);
  return byoc_sha256_finish(&hasher);
}

// Compiles source.c in `folder` to source.o, with the precompiled header at `preamble` unless it is NULL.
static byoc_status_t run_compiler(const byoc_compile_job_t *job, const char *compiler, const char *folder,
                                  const char *preamble, byoc_diag_t *diag) {
  byoc_command_t command;
  byoc_command_init(&command, compiler, byoc_allocator_system());
  byoc_command_add_compilation(&command, job);
  byoc_command_addf(&command, "-ffile-prefix-map=%s=.", folder);
  if (preamble != NULL) byoc_command_add(&command, "-include");
  if (preamble != NULL) byoc_command_add(&command, preamble);
  const char *const files[] = {"-c", "source.c", "-o", "source.o"};
  for (size_t i = 0; i < COUNT_OF(files); i++) byoc_command_add(&command, files[i]);
  char what[256];
  snprintf(what, sizeof(what), "compiling '%s' with %s", job->name, compiler);
  byoc_command_work_in(&command, folder);
  byoc_status_t status = byoc_command_run(&command, what, folder, diag);
  byoc_command_deinit(&command);
  return status;
}

// The source names its preamble itself: precompiled it costs nothing, and without that the source compiles as well.
static byoc_status_t write_source(const byoc_compile_job_t *job, const char *path, byoc_diag_t *diag) {
  const char *preamble = job->preamble != NULL ? job->preamble : "";
  const byoc_bytes_t parts[] = {{preamble, strlen(preamble)}, {job->source, strlen(job->source)}};
  return byoc_file_write_parts(path, parts, COUNT_OF(parts), diag);
}

static byoc_status_t compile_source(const byoc_compile_job_t *job, const char *compiler, const char *version,
                                    const char *folder, byoc_diag_t *diag) {
  byoc_allocator_t allocator = byoc_allocator_system();
  char *preamble = NULL;
  if (job->preamble != NULL) {
    byoc_digest_t key = job_key(job, compiler, version, "");
    preamble = byoc_preamble_get(job, compiler, &key, allocator);
  }
  byoc_status_t status = run_compiler(job, compiler, folder, preamble, diag);
  if (status == BYOC_TOOL && preamble != NULL) { // the preamble may be damaged
    byoc_diag_clear(diag);
    status = run_compiler(job, compiler, folder, NULL, diag);
    if (status == BYOC_OK) byoc_preamble_drop(preamble);
  }
  byoc_free(allocator, preamble);
  return status;
}

// Runs the compiler in a folder of its own; `folder` is ours and empty.
static byoc_status_t compile_in(const byoc_compile_job_t *job, const char *compiler, const char *version,
                                const char *folder, byoc_diag_t *diag, void **out_object, size_t *out_size_bytes) {
  byoc_allocator_t allocator = byoc_allocator_system();
  char *include = byoc_path_join(allocator, folder, "include");
  char *source = byoc_path_join(allocator, folder, "source.c");
  char *object = byoc_path_join(allocator, folder, "source.o");
  char *data = NULL;
  byoc_status_t status = BYOC_OK;
  if (include == NULL || source == NULL || object == NULL) status = byoc_diag_out_of_memory(diag);
  if (status == BYOC_OK) status = byoc_embedded_headers_write(include, diag);
  for (size_t i = 0; i < job->file_count && status == BYOC_OK; i++) {
    status = byoc_embedded_header_write(include, &job->files[i], diag);
  }
  if (status == BYOC_OK) status = write_source(job, source, diag);
  if (status == BYOC_OK) status = compile_source(job, compiler, version, folder, diag);
  if (status == BYOC_OK) status = byoc_file_read(object, allocator, diag, &data, out_size_bytes);
  *out_object = data;
  byoc_free(allocator, include);
  byoc_free(allocator, source);
  byoc_free(allocator, object);
  return status;
}

// Returns the object in memory of the system's allocator, so that several threads may run this at once.
static byoc_status_t compile_one(const byoc_compile_job_t *job, byoc_diag_t *diag, void **out_object,
                                 size_t *out_size_bytes) {
  *out_object = NULL;
  *out_size_bytes = 0;
  byoc_allocator_t allocator = byoc_allocator_system();
  const char *compiler = NULL, *version = NULL;
  BYOC_RETURN_IF_ERROR_IN(diag, byoc_c_compiler_find(job->compiler, diag, &compiler), "compiling '%s'", job->name);
  BYOC_RETURN_IF_ERROR_IN(diag, byoc_c_compiler_version(compiler, diag, &version), "compiling '%s'", job->name);
  byoc_digest_t key = job_key(job, compiler, version, job->source);
  if (byoc_object_cache_get(&key, allocator, out_object, out_size_bytes)) {
    byoc_log(BYOC_LOG_DEBUG, "'%s' comes from the compile cache", job->name);
    return BYOC_OK;
  }
  char *folder = NULL;
  BYOC_RETURN_IF_ERROR(byoc_make_temporary_directory("byoc-compile", allocator, diag, &folder));
  int64_t start_ns = byoc_now_ns();
  byoc_status_t status = compile_in(job, compiler, version, folder, diag, out_object, out_size_bytes);
  if (status == BYOC_OK) {
    byoc_log(BYOC_LOG_DEBUG, "compiled '%s' in %.2f s", job->name, (double)(byoc_now_ns() - start_ns) / 1e9);
    byoc_object_cache_put(&key, *out_object, *out_size_bytes);
  }
  (void)byoc_remove_tree(folder, NULL);
  byoc_free(allocator, folder);
  return status;
}

// Moves an object of the system's allocator into the caller's.
static byoc_status_t hand_over(void *object, size_t size_bytes, byoc_allocator_t allocator, byoc_diag_t *diag,
                               void **out_object) {
  *out_object = byoc_allocate(allocator, size_bytes, 1);
  if (*out_object != NULL) memcpy(*out_object, object, size_bytes);
  byoc_free(byoc_allocator_system(), object);
  return *out_object != NULL ? BYOC_OK : byoc_diag_out_of_memory(diag);
}

byoc_status_t byoc_compile(const byoc_compile_job_t *job, byoc_allocator_t allocator, byoc_diag_t *diag,
                           void **out_object, size_t *out_size_bytes) {
  *out_object = NULL;
  void *object = NULL;
  BYOC_RETURN_IF_ERROR(compile_one(job, diag, &object, out_size_bytes));
  return hand_over(object, *out_size_bytes, allocator, diag, out_object);
}

// Runs several jobs on several threads, which take them in order.
typedef struct outcome_t {
  byoc_status_t status;
  byoc_diag_t diag;
  void *object;
  size_t size_bytes;
} outcome_t;
typedef struct batch_t {
  const byoc_compile_job_t *jobs;
  size_t count;
  outcome_t *outcomes;
  const byoc_task_t *task; // of the thread that waits for them
  atomic_size_t next;
  atomic_bool failed; // then no later job is begun
} batch_t;

static void *compile_batch(void *self) {
  batch_t *batch = self;
  const byoc_task_t *before = byoc_task_enter(batch->task);
  while (!atomic_load(&batch->failed)) {
    size_t index = atomic_fetch_add(&batch->next, 1);
    if (index >= batch->count) break;
    outcome_t *outcome = &batch->outcomes[index];
    outcome->status = compile_one(&batch->jobs[index], &outcome->diag, &outcome->object, &outcome->size_bytes);
    if (outcome->status != BYOC_OK) atomic_store(&batch->failed, true);
  }
  (void)byoc_task_enter(before);
  return NULL;
}

byoc_status_t byoc_compile_all(const byoc_compile_job_t *jobs, size_t job_count, int32_t parallel,
                               byoc_allocator_t allocator, byoc_diag_t *diag, byoc_bytes_t *out_objects) {
  for (size_t i = 0; i < job_count; i++) out_objects[i] = (byoc_bytes_t){0};
  if (parallel == 0) parallel = byoc_job_count();
  batch_t batch = {.jobs = jobs, .count = job_count, .task = byoc_task_current()};
  batch.outcomes = calloc(job_count + 1, sizeof(*batch.outcomes));
  if (batch.outcomes == NULL) return byoc_diag_out_of_memory(diag);
  pthread_t threads[64];
  size_t thread_count = 0;
  while ((int32_t)thread_count + 1 < parallel && thread_count + 1 < job_count && thread_count < COUNT_OF(threads) &&
         pthread_create(&threads[thread_count], NULL, compile_batch, &batch) == 0) {
    thread_count++;
  }
  (void)compile_batch(&batch);
  for (size_t i = 0; i < thread_count; i++) (void)pthread_join(threads[i], NULL);

  byoc_status_t status = BYOC_OK;
  for (size_t i = 0; i < job_count && status == BYOC_OK; i++) {
    outcome_t *outcome = &batch.outcomes[i];
    status = outcome->status;
    if (status != BYOC_OK) (void)byoc_diag_adopt(diag, &outcome->diag);
  }
  for (size_t i = 0; i < job_count; i++) {
    outcome_t *outcome = &batch.outcomes[i];
    void *object = NULL;
    if (status == BYOC_OK) {
      status = hand_over(outcome->object, outcome->size_bytes, allocator, diag, &object);
      out_objects[i] = (byoc_bytes_t){.data = object, .size_bytes = outcome->size_bytes};
    } else {
      byoc_free(byoc_allocator_system(), outcome->object);
    }
  }
  for (size_t i = 0; i < job_count && status != BYOC_OK; i++) {
    byoc_free(allocator, (void *)(uintptr_t)out_objects[i].data);
    out_objects[i] = (byoc_bytes_t){0};
  }
  free(batch.outcomes);
  return status;
}
