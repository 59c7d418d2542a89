// SPDX-License-Identifier: Apache-2.0
// Builds and runs candidates in child processes: the folder, the children and their time limits.
#define _GNU_SOURCE
#include "core/measure/bench.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include "core/base/child.h"
#include "core/base/file.h"
#include "core/base/log.h"
#include "core/measure/special_values.h"

// Extra time for a large function: assumes a slow backend with a billion operations per second, and ten runs.
#define RUN_MS_A_GFLOP 10000
#define TIMEOUT_MS_MAX 300000
// ---- life ----

// Limits at which sound code fails. Descriptors and stack are limited everywhere, so their usual sizes do not count.
static bool is_confined(void) {
  static const struct {
    int resource;
    rlim_t usual;
  } limits[] = {{RLIMIT_AS, RLIM_INFINITY},  {RLIMIT_DATA, RLIM_INFINITY}, {RLIMIT_FSIZE, RLIM_INFINITY},
                {RLIMIT_CPU, RLIM_INFINITY}, {RLIMIT_STACK, 1 << 20},      {RLIMIT_NOFILE, 256}};
  for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); ++i) {
    struct rlimit limit;
    if (getrlimit(limits[i].resource, &limit) == 0 && limit.rlim_cur < limits[i].usual) return true;
  }
  return false;
}

byoc_status_t byoc_cost_bench_init(byoc_cost_bench_t *bench, byoc_diag_t *diag) {
  byoc_arena_init(&bench->arena, bench->allocator);
  byoc_string_map_init(&bench->references, bench->allocator);
  byoc_string_map_init(&bench->built, bench->allocator);
  void *shared = mmap(NULL, sizeof(*bench->board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared == MAP_FAILED) return byoc_diag_out_of_memory(diag);
  bench->board = shared;
  bench->is_confined = is_confined();
  return byoc_make_temporary_directory("byoc-costs", bench->allocator, diag, &bench->folder);
}

void byoc_cost_bench_deinit(byoc_cost_bench_t *bench) {
  if (bench->board != NULL) (void)munmap(bench->board, sizeof(*bench->board));
  if (bench->folder != NULL) (void)byoc_remove_tree(bench->folder, NULL);
  byoc_free(bench->allocator, bench->folder);
  byoc_map_deinit(&bench->references);
  byoc_map_deinit(&bench->built);
  byoc_arena_deinit(&bench->arena);
}

// ---- children ----

const char *byoc_cost_bench_path(byoc_cost_bench_t *bench, const char *ending) {
  return byoc_arena_format(&bench->arena, "%s/%llu%s", bench->folder, (unsigned long long)bench->file_count++, ending);
}

void byoc_cost_bench_start(byoc_cost_bench_t *bench, byoc_cost_building_t *building) {
  byoc_cost_build_t *build = &building->build;
  build->folder = byoc_cost_bench_path(bench, ".build");
  build->native = bench->native;
  build->thread_count = bench->thread_count;
  building->start_ns = byoc_now_ns();
  building->status = build->folder != NULL ? byoc_make_directories(build->folder, &building->why)
                                           : byoc_diag_out_of_memory(&building->why);
  if (building->status != BYOC_OK) return;
  const byoc_child_limits_t limits = {
      .timeout_ms = bench->build_timeout_ms, .memory_bytes = bench->memory_limit_bytes, .contains_foreign = true};
  building->status = byoc_child_start(&limits, bench->build, build, &building->answer, sizeof(building->answer),
                                      &building->why, &building->child);
}

byoc_status_t byoc_cost_bench_finish(byoc_cost_building_t *building) {
  if (building->status != BYOC_OK) return building->status; // there is no child
  const byoc_cost_build_t *build = &building->build;
  byoc_cost_build_answer_t *answer = &building->answer;
  building->status = byoc_child_wait(&building->child, &building->why);
  building->failed_by_itself = building->status == BYOC_TOOL;
  (void)byoc_remove_tree(build->folder, NULL);
  answer->message[sizeof(answer->message) - 1] = '\0';
  for (size_t i = 0; i < BYOC_COST_PARTITIONS_MAX; ++i)
    answer->partitions[i].reason[sizeof(answer->partitions[i].reason) - 1] = '\0';
  if (building->status == BYOC_OK && answer->step_count > BYOC_COST_STEPS_MAX) {
    building->status = byoc_diag_error(&building->why, BYOC_TOOL, "the process answered with nonsense");
  }
  if (building->status == BYOC_OK && answer->status != BYOC_OK) {
    building->status = byoc_diag_error(&building->why, answer->status, "%s", answer->message);
  }
  byoc_log(BYOC_LOG_DEBUG, "%s %zu functions for %s in %.2f s", build->output != NULL ? "built" : "evaluated",
           build->count, build->target->kind->name, (double)(byoc_now_ns() - building->start_ns) / 1e9);
  return building->status;
}

static uint32_t run_timeout_ms(const byoc_cost_bench_t *bench, const byoc_cost_task_t *task) {
  double timeout_ms =
      bench->run_timeout_ms + (task->work.product_flops + task->work.other_flops) / 1e9 * RUN_MS_A_GFLOP;
  return timeout_ms < TIMEOUT_MS_MAX ? (uint32_t)timeout_ms : TIMEOUT_MS_MAX;
}

byoc_status_t byoc_cost_bench_run(byoc_cost_bench_t *bench, byoc_cost_partitions_t *partitions,
                                  byoc_cost_task_t *const *tasks, size_t count, byoc_diag_t *why) {
  double timeout_ms = 0;
  for (size_t i = 0; i < count; ++i) timeout_ms += run_timeout_ms(bench, tasks[i]);
  if (timeout_ms > TIMEOUT_MS_MAX) timeout_ms = TIMEOUT_MS_MAX;
  memset(bench->board, 0, sizeof(*bench->board));
  bench->board->artifact = bench->board->partition = -1;
  partitions->thread_count = bench->thread_count;
  partitions->cold_bytes = bench->cold_bytes;
  partitions->limit_ns = (int64_t)(timeout_ms * 1e6 / 2);
  partitions->board = bench->board;
  const byoc_child_limits_t limits = {.timeout_ms = (uint32_t)timeout_ms, .memory_bytes = bench->memory_limit_bytes};
  byoc_cost_partitions_answer_t answer;
  int64_t start_ns = byoc_now_ns();
  byoc_status_t status = byoc_child_run(&limits, byoc_cost_run_partitions, partitions, &answer, sizeof(answer), why);
  byoc_log(BYOC_LOG_DEBUG, "ran %zu artifacts of %zu functions in %.2f s", partitions->artifact_count, count,
           (double)(byoc_now_ns() - start_ns) / 1e9);
  answer.message[sizeof(answer.message) - 1] = '\0';
  if (status == BYOC_OK && answer.status != BYOC_OK) status = byoc_diag_error(why, answer.status, "%s", answer.message);
  return status;
}

static uint64_t bytes_touched(const byoc_cost_task_t *task) {
  return task->work.bytes < 1e15 ? (uint64_t)task->work.bytes : 0;
}

byoc_cost_artifact_t *byoc_cost_bench_artifact(byoc_cost_bench_t *bench, byoc_cost_task_t *const *tasks, size_t count,
                                               const char *path, const byoc_cost_build_answer_t *answer) {
  byoc_cost_artifact_t *artifact = BYOC_ARENA_NEW(&bench->arena, byoc_cost_artifact_t);
  if (artifact == NULL) return NULL;
  artifact->path = path;
  artifact->partition_count = count;
  artifact->step_count = answer->step_count;
  artifact->host_steps = answer->host_steps;
  memcpy(artifact->owners, answer->owners, sizeof(artifact->owners));
  for (size_t i = 0; i < count; ++i) {
    const byoc_block_t *body = tasks[i]->function->body;
    artifact->partitions[i] =
        (byoc_cost_partition_t){.input_count = (uint32_t)body->parameters.count,
                                .output_count = (uint32_t)body->results.count,
                                .bytes = bytes_touched(tasks[i]),
                                .special = byoc_measure_special_values(tasks[i]->function, tasks[i]->target),
                                .relative_error = byoc_target_relative_error(tasks[i]->target),
                                .limit_ms = count > 1 ? run_timeout_ms(bench, tasks[i]) : 0,
                                .is_left_out = answer->partitions[i].is_fallback};
  }
  return artifact;
}
