// SPDX-License-Identifier: Apache-2.0
// Links compiled kernels for a child process, which runs them one after the other beside the interpreter.
#define _GNU_SOURCE
#include "core/measure/kernels.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "core/base/child.h"
#include "core/base/log.h"
#include "core/compose/c/addresses.h"
#include "core/measure/kernel_trial.h"
#include "core/measure/window.h"

// Compiled code takes at most this share of the interpreter's time.
#define COMPILED_SHARE 16
#define MEMORY_LIMIT   (UINT64_C(4) << 30)
// Further time for the child to end by itself, after its limit.
#define GRACE_NS INT64_C(500000000)

// Shared by parent and child.
typedef struct board_t {
  volatile size_t at; // the trial that runs now
  struct {
    volatile int32_t verdict;
    char message[240];
  } answers[];
} board_t;

typedef struct work_t {
  const byoc_kernel_trials_t *trials;
  const char *library;
  board_t *board;
  size_t first;
  int64_t deadline_ns;
} work_t;

double byoc_kernel_trial_ns(const byoc_kernel_trial_t *trial) {
  const byoc_function_t *function = trial->call->function;
  return byoc_interpreting_windows_ns(trial->kernel, function) + byoc_interpreting_ns(function) / COMPILED_SHARE;
}

// ---- in the child ----

static void run_trials(void *self, void *answer) {
  const work_t *work = self;
  const byoc_kernel_trials_t *trials = work->trials;
  void *library = dlopen(work->library, RTLD_NOW | RTLD_LOCAL);
  void *const *table = library != NULL ? dlsym(library, BYOC_ADDRESSES) : NULL;
  *(int32_t *)answer = table != NULL;
  for (size_t i = work->first; table != NULL && i < trials->count; ++i) {
    const int64_t left_ns = work->deadline_ns - byoc_now_ns();
    // Two runs on ordinary data and on special values.
    if (left_ns <= 0 || 2 * byoc_kernel_trial_ns(&trials->trials[i]) > (double)left_ns) break;
    byoc_packed_function_t function = NULL;
    byoc_diag_t why = {0};
    work->board->at = i;
    memcpy(&function, &table[i], sizeof(function));
    const byoc_kernel_verdict_t verdict = byoc_kernel_trial_run(&trials->trials[i], function, &why);
    snprintf(work->board->answers[i].message, sizeof(work->board->answers[i].message), "%s", why.message);
    work->board->answers[i].verdict = (int32_t)verdict;
  }
  work->board->at = trials->count;
}

// ---- in the parent ----

static byoc_status_t link_kernels(const byoc_kernel_trials_t *trials, const char *folder, const char *output,
                                  byoc_allocator_t allocator, byoc_diag_t *diag) {
  byoc_link_files_t files;
  byoc_link_files_init(&files, folder, allocator);
  const char **symbols = byoc_allocate(allocator, trials->count + 1, sizeof(*symbols));
  byoc_status_t status = symbols != NULL ? BYOC_OK : byoc_diag_out_of_memory(diag);
  for (size_t i = 0; i < trials->count && status == BYOC_OK; ++i) symbols[i] = trials->trials[i].kernel->name;
  for (size_t i = 0; i < trials->object_count && status == BYOC_OK; ++i) {
    status = byoc_link_files_add(&files, trials->objects[i].data, trials->objects[i].size_bytes, diag);
  }
  if (status == BYOC_OK) {
    status = byoc_link_addresses(&files, NULL, symbols, trials->count, trials->compiler, output, allocator, diag);
  }
  byoc_free(allocator, symbols);
  byoc_link_files_deinit(&files);
  return status;
}

// A kernel that ends the child twice is wrong, unless its sizes were generated or the time was over.
static void blame(work_t *work, size_t *crashed, const byoc_diag_t *why) {
  const size_t at = work->board->at;
  if (at >= work->trials->count) {
    work->first = work->trials->count;
    return;
  }
  const bool is_second = *crashed == at;
  *crashed = at;
  work->first = is_second ? at + 1 : at;
  if (!is_second || byoc_now_ns() >= work->deadline_ns) return;
  const bool is_open = work->trials->trials[at].kernel->symbols.count > 0;
  work->board->answers[at].verdict = is_open ? BYOC_KERNEL_UNCHECKED : BYOC_KERNEL_WRONG;
  snprintf(work->board->answers[at].message, sizeof(work->board->answers[at].message), "%s", why->message);
}

static void run_all(work_t *work) {
  size_t crashed = SIZE_MAX;
  while (work->first < work->trials->count && byoc_now_ns() < work->deadline_ns) {
    const int64_t left_ns = work->deadline_ns - byoc_now_ns() + GRACE_NS;
    const byoc_child_limits_t limits = {.timeout_ms = (uint32_t)(left_ns / 1000000) + 1, .memory_bytes = MEMORY_LIMIT};
    int32_t answer = 0;
    byoc_diag_t why = {0};
    const byoc_status_t status = byoc_child_run(&limits, run_trials, work, &answer, sizeof(answer), &why);
    if (status == BYOC_OK && answer == 0) {
      byoc_log(BYOC_LOG_WARNING, "kernels cannot be checked: their compiled code cannot be loaded");
    }
    if (status != BYOC_TOOL) return; // all of them had their turn, or something from outside ended it
    blame(work, &crashed, &why);
  }
}

static byoc_status_t try_linked(const byoc_kernel_trials_t *trials, const char *library, byoc_diag_t *diag) {
  const size_t size = sizeof(board_t) + trials->count * sizeof(((board_t *)0)->answers[0]);
  void *shared = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared == MAP_FAILED) return byoc_diag_out_of_memory(diag);
  work_t work = {
      .trials = trials, .library = library, .board = shared, .deadline_ns = byoc_now_ns() + trials->budget_ns};
  run_all(&work);
  for (size_t i = 0; i < trials->count; ++i) {
    byoc_kernel_trial_t *trial = &trials->trials[i];
    const int32_t verdict = work.board->answers[i].verdict;
    const bool is_known = verdict == BYOC_KERNEL_RIGHT || verdict == BYOC_KERNEL_WRONG;
    trial->verdict = is_known ? (byoc_kernel_verdict_t)verdict : (byoc_kernel_verdict_t)BYOC_KERNEL_UNCHECKED;
    snprintf(trial->message, sizeof(trial->message), "%.*s", (int)sizeof(trial->message) - 1,
             work.board->answers[i].message);
  }
  (void)munmap(shared, size);
  return BYOC_OK;
}

byoc_status_t byoc_kernels_try(const byoc_kernel_trials_t *trials, byoc_allocator_t allocator, byoc_diag_t *diag) {
  char *folder = NULL, *library = NULL;
  byoc_status_t status = byoc_make_temporary_directory("byoc-kernels", allocator, diag, &folder);
  if (status != BYOC_OK) return status;
  library = byoc_path_join(allocator, folder, "kernels.so");
  if (library == NULL) status = byoc_diag_out_of_memory(diag);
  if (status == BYOC_OK) status = link_kernels(trials, folder, library, allocator, diag);
  if (status == BYOC_OK) status = try_linked(trials, library, diag);
  (void)byoc_remove_tree(folder, NULL);
  byoc_free(allocator, library);
  byoc_free(allocator, folder);
  return status;
}
