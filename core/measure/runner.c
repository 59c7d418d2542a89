// SPDX-License-Identifier: Apache-2.0
// Loads an artifact with tensors of its own, fills them, runs it and compares results.
#define _GNU_SOURCE
#include "core/measure/runner.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "byoc/call.h"
#include "core/base/file.h"
#include "core/base/log.h"
#include "core/measure/compare.h"
#include "core/measure/data.h"

static byoc_status_t allocate_tensors(const byoc_tensor_info_t *infos, uint32_t count, byoc_arena_t *arena,
                                      byoc_diag_t *diag, void ***out_tensors) {
  void **tensors = BYOC_ARENA_ARRAY(arena, void *, count);
  if (tensors == NULL) return byoc_diag_out_of_memory(diag);
  for (uint32_t i = 0; i < count; ++i) {
    size_t size = infos[i].size_bytes > 0 ? (size_t)infos[i].size_bytes : 1;
    tensors[i] = byoc_arena_allocate_aligned(arena, size, BYOC_BUFFER_ALIGNMENT);
    if (tensors[i] == NULL) return byoc_diag_out_of_memory(diag);
  }
  *out_tensors = tensors;
  return BYOC_OK;
}

// Takes about as long as SETTLE_NS: one iteration takes some 100 cycles.
#define SPIN_TURNS "500000"
// OpenBLAS's threads spin longest, for 2^26 cycles of the time stamp counter.
#define SETTLE_NS 30000000

void byoc_cost_runner_keep_threads_awake(void) {
  (void)setenv("BYOC_SPIN_TURNS", SPIN_TURNS, 1);
  (void)setenv("GOMP_SPINCOUNT", SPIN_TURNS, 1);
}

void byoc_cost_runner_let_threads_sleep(void) {
  const struct timespec settle = {.tv_nsec = SETTLE_NS};
  (void)nanosleep(&settle, NULL);
}

byoc_status_t byoc_cost_runner_result(const byoc_cost_runner_t *runner, int32_t status, const char *what,
                                      byoc_diag_t *diag) {
  if (status == BYOC_OK) return BYOC_OK;
  bool lacks = status == BYOC_OUT_OF_MEMORY || status == BYOC_IO;
  return byoc_diag_error(diag, lacks ? (byoc_status_t)status : BYOC_TOOL, "%s: %s", what,
                         runner->table->last_error(runner->context));
}

byoc_status_t byoc_cost_runner_open(const char *path, int32_t thread_count, byoc_arena_t *arena, byoc_diag_t *diag,
                                    byoc_cost_runner_t *out_runner) {
  *out_runner = (byoc_cost_runner_t){0};
  byoc_loaded_artifact_t loaded;
  BYOC_RETURN_IF_ERROR(byoc_artifact_load(path, diag, &loaded));
  byoc_cost_runner_t runner = {.table = loaded.table};
  const byoc_artifact_t *table = loaded.table;
  BYOC_RETURN_IF_ERROR(allocate_tensors(table->inputs, table->input_count, arena, diag, &runner.inputs));
  BYOC_RETURN_IF_ERROR(allocate_tensors(table->outputs, table->output_count, arena, diag, &runner.outputs));
  // Fills a result so that it cannot look right by chance if it is never written.
  for (uint32_t i = 0; i < table->output_count; ++i) {
    memset(runner.outputs[i], 0xA5, (size_t)table->outputs[i].size_bytes);
  }
  const byoc_context_options_t options = {.struct_size = sizeof(options), .thread_count = thread_count};
  int32_t status = table->create(&options, &runner.context);
  if (status != BYOC_OK) {
    return byoc_cost_runner_result(&runner, status, "it cannot be set up", diag);
  }
  *out_runner = runner;
  return BYOC_OK;
}

void byoc_cost_runner_fill(const byoc_cost_runner_t *runner, uint32_t first, uint32_t count, bool is_special) {
  const byoc_tensor_info_t *infos = runner->table->inputs;
  uint64_t random = BYOC_MEASURE_SEED;
  for (uint32_t i = first; i < first + count; ++i) {
    (is_special ? byoc_measure_fill_special : byoc_measure_fill)(infos[i].dtype, runner->inputs[i],
                                                                 (size_t)infos[i].size_bytes, &random);
  }
}

byoc_status_t byoc_cost_runner_run(const byoc_cost_runner_t *runner, byoc_diag_t *diag) {
  int32_t status = runner->table->run(runner->context, (const void *const *)runner->inputs, runner->outputs);
  return byoc_cost_runner_result(runner, status, "it failed", diag);
}

// ---- results ----

static size_t bytes_of(const byoc_cost_runner_t *runner, uint32_t first, uint32_t count) {
  size_t size = 0;
  for (uint32_t i = 0; i < count; ++i) size += (size_t)runner->table->outputs[first + i].size_bytes;
  return size;
}

byoc_status_t byoc_cost_runner_check(const byoc_cost_runner_t *runner, uint32_t first, uint32_t count,
                                     byoc_special_values_t special, double relative_error, const char *path,
                                     byoc_diag_t *diag) {
  byoc_file_view_t view;
  BYOC_RETURN_IF_ERROR(byoc_file_view_open(path, diag, &view));
  byoc_status_t status = BYOC_OK;
  const bool is_special = special != BYOC_WILD_NONE;
  size_t offset = is_special ? bytes_of(runner, first, count) : 0;
  if (is_special && view.size_bytes <= offset) count = 0; // the reference has no such results
  for (uint32_t i = 0; i < count && status == BYOC_OK; ++i) {
    const byoc_tensor_info_t *info = &runner->table->outputs[first + i];
    size_t size = (size_t)info->size_bytes, elements = 1;
    for (uint32_t d = 0; d < info->rank; ++d) elements *= (size_t)info->dims[d];
    if (offset + size > view.size_bytes) {
      status = byoc_diag_error(diag, BYOC_INTERNAL, "the reference has fewer results");
    } else {
      char name[64];
      snprintf(name, sizeof(name), "output%u%s", (unsigned)i, is_special ? " on NaN and infinities" : "");
      status = (special == BYOC_WILD_SPREADS ? byoc_cost_check_spread : byoc_cost_check_within)(
          relative_error, info->dtype, view.data + offset, runner->outputs[first + i], elements, name, diag);
    }
    offset += size;
  }
  byoc_file_view_close(&view);
  return status;
}

byoc_status_t byoc_cost_runner_write(const byoc_cost_runner_t *runner, uint32_t first, uint32_t count,
                                     const byoc_bytes_t *kept, const char *path, byoc_arena_t *arena,
                                     byoc_diag_t *diag) {
  byoc_bytes_t *partitions = BYOC_ARENA_ARRAY(arena, byoc_bytes_t, count + 1);
  if (partitions == NULL) return byoc_diag_out_of_memory(diag);
  size_t partition_count = 0;
  if (kept != NULL) partitions[partition_count++] = *kept;
  for (uint32_t i = 0; i < count; ++i) {
    const size_t size = (size_t)runner->table->outputs[first + i].size_bytes;
    partitions[partition_count++] = (byoc_bytes_t){runner->outputs[first + i], size};
  }
  return byoc_file_write_parts(path, partitions, partition_count, diag);
}

byoc_status_t byoc_cost_runner_keep(const byoc_cost_runner_t *runner, uint32_t first, uint32_t count,
                                    byoc_arena_t *arena, byoc_diag_t *diag, byoc_bytes_t *out_kept) {
  const size_t size = bytes_of(runner, first, count);
  uint8_t *kept = byoc_arena_allocate_aligned(arena, size + 1, BYOC_BUFFER_ALIGNMENT);
  *out_kept = (byoc_bytes_t){kept, size};
  if (kept == NULL) return byoc_diag_out_of_memory(diag);
  for (uint32_t i = 0; i < count; ++i) {
    const size_t partition = (size_t)runner->table->outputs[first + i].size_bytes;
    memcpy(kept, runner->outputs[first + i], partition);
    kept += partition;
  }
  return BYOC_OK;
}

// ---- times ----

int64_t byoc_cost_processor_ns(void) {
  struct timespec now;
  if (clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now) != 0) return byoc_now_ns();
  return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

int64_t byoc_cost_wait_count(void) {
  struct rusage usage;
  return getrusage(RUSAGE_SELF, &usage) == 0 ? (int64_t)usage.ru_nvcsw : INT64_MAX / 2;
}
