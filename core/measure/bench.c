#define _GNU_SOURCE
#include "core/measure/bench.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/child.h"
#include "core/base/file.h"
#include "core/base/log.h"
#include "core/collage/plan.h"
#include "core/measure/lock.h"

// What a large function is given on top: a slow backend does a billion operations a second, and runs it ten times.
#define RUN_MS_A_GFLOP 10000
#define TIMEOUT_MS_MAX 300000
// Times nearer than this are compared once more, in turns: single measurements differ by as much.
#define CLOSE_RATIO 1.1
// Artifacts kept for that (some carry a library of tens of megabytes).
#define KEPT_BYTES (UINT64_C(512) << 20)

// An artifact that was timed: of what it computes, the fastest part so far.
typedef struct built_t {
  const byoc_cost_artifact_t *artifact;
  size_t part;
  const char *target;
  double cost_ns;
} built_t;

// ---- life ----

// Limits at which sound code fails: descriptors and stack have some everywhere, of a usual size.
static bool is_confined(void) {
  static const struct {
    __rlimit_resource_t resource;
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
  byoc_text_map_init(&bench->references, bench->allocator);
  byoc_text_map_init(&bench->built, bench->allocator);
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
  const byoc_child_limits_t limits = {.timeout_ms = bench->build_timeout_ms, .memory_bytes = bench->memory_limit_bytes};
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
  for (size_t i = 0; i < BYOC_COST_PARTS_MAX; ++i) answer->parts[i].reason[sizeof(answer->parts[i].reason) - 1] = '\0';
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

byoc_status_t byoc_cost_bench_run(byoc_cost_bench_t *bench, byoc_cost_parts_t *parts, byoc_cost_task_t *const *tasks,
                                  size_t count, byoc_diag_t *why) {
  double timeout_ms = 0;
  for (size_t i = 0; i < count; ++i) timeout_ms += run_timeout_ms(bench, tasks[i]);
  if (timeout_ms > TIMEOUT_MS_MAX) timeout_ms = TIMEOUT_MS_MAX;
  memset(bench->board, 0, sizeof(*bench->board));
  bench->board->artifact = bench->board->part = -1;
  parts->thread_count = bench->thread_count;
  parts->cold_bytes = bench->cold_bytes;
  parts->limit_ns = (int64_t)(timeout_ms * 1e6 / 2);
  parts->board = bench->board;
  const byoc_child_limits_t limits = {.timeout_ms = (uint32_t)timeout_ms, .memory_bytes = bench->memory_limit_bytes};
  byoc_cost_parts_answer_t answer;
  int64_t start_ns = byoc_now_ns();
  byoc_status_t status = byoc_child_run(&limits, byoc_cost_run_parts, parts, &answer, sizeof(answer), why);
  byoc_log(BYOC_LOG_DEBUG, "ran %zu artifacts of %zu functions in %.2f s", parts->artifact_count, count,
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
  artifact->part_count = count;
  artifact->step_count = answer->step_count;
  memcpy(artifact->owners, answer->owners, sizeof(artifact->owners));
  for (size_t i = 0; i < count; ++i) {
    const byoc_block_t *body = tasks[i]->function->body;
    artifact->parts[i] = (byoc_cost_part_t){.input_count = (uint32_t)body->parameters.count,
                                            .output_count = (uint32_t)body->results.count,
                                            .bytes = bytes_touched(tasks[i]),
                                            .relative_error = byoc_target_relative_error(tasks[i]->target),
                                            .limit_ms = count > 1 ? run_timeout_ms(bench, tasks[i]) : 0,
                                            .is_left_out = answer->parts[i].is_given_back};
  }
  return artifact;
}

// ---- one artifact ----

typedef struct batch_t {
  byoc_cost_bench_t *bench;
  byoc_arena_t *scratch;
  byoc_diag_t *diag;
} batch_t;

// Whose doing it is that a candidate cannot be used.
typedef enum cause_t {
  BY_CHANCE, // nobody knows
  BY_ITSELF,
  BY_REFUSAL
} cause_t;

// What code that ran gave: by itself, unless it says that it lacked something.
static cause_t cause_of(byoc_status_t status) {
  return status == BYOC_TOOL || status == BYOC_MISMATCH ? BY_ITSELF : BY_CHANCE;
}

// An answer, not an error.
static byoc_status_t set_unusable(const batch_t *batch, byoc_cost_task_t *task, cause_t cause, const char *front,
                                  const char *reason) {
  task->cost_ns = INFINITY;
  task->reason = byoc_arena_format(batch->scratch, "%s%s", front, reason);
  task->is_given_back = cause == BY_REFUSAL;
  task->failure_count += cause == BY_ITSELF;
  task->is_lasting =
      !batch->bench->is_confined && (cause == BY_REFUSAL || (cause == BY_ITSELF && task->failure_count > 1));
  return task->reason != NULL ? BYOC_OK : byoc_diag_out_of_memory(batch->diag);
}

// The child writes into shared memory, and a plugin's code runs in the child.
static bool is_time(double ns) {
  return ns > 0 && isfinite(ns);
}

// Times that are close to an earlier target's: both artifacts once more, in turns.
static byoc_status_t compare(const batch_t *batch, byoc_cost_task_t *const *tasks, size_t count,
                             const byoc_cost_artifact_t *artifact) {
  byoc_cost_bench_t *bench = batch->bench;
  byoc_cost_parts_t parts = {.artifacts = {artifact}, .artifact_count = 1, .is_checked = true};
  const built_t *rivals[BYOC_COST_PARTS_MAX] = {0};
  size_t place[BYOC_COST_PARTS_MAX] = {0};
  for (size_t i = 0; i < count; ++i) {
    const built_t *rival = byoc_text_map_get(&bench->built, tasks[i]->computes);
    if (rival == NULL || !isfinite(tasks[i]->cost_ns) || strcmp(rival->target, tasks[i]->target->text) == 0) continue;
    double ratio = tasks[i]->cost_ns / rival->cost_ns;
    if (ratio > CLOSE_RATIO || ratio < 1 / CLOSE_RATIO) continue;
    size_t at = 1;
    while (at < parts.artifact_count && parts.artifacts[at] != rival->artifact) ++at;
    if (at == BYOC_COST_ARTIFACTS_MAX) continue;
    if (at == parts.artifact_count) parts.artifacts[parts.artifact_count++] = rival->artifact;
    rivals[i] = rival;
    place[i] = at;
  }
  byoc_diag_t why = {0};
  // All of them ran before: a failure now says that the machine is busy, not more.
  if (parts.artifact_count == 1 || byoc_cost_bench_run(bench, &parts, tasks, count, &why) != BYOC_OK) return BYOC_OK;
  for (size_t i = 0; i < count; ++i) {
    if (rivals[i] == NULL) continue;
    double own_ns = bench->board->outcomes[0][i].median_ns;
    double rival_ns = bench->board->outcomes[place[i]][rivals[i]->part].median_ns;
    if (is_time(own_ns) && is_time(rival_ns)) tasks[i]->cost_ns = rivals[i]->cost_ns * (own_ns / rival_ns);
  }
  return BYOC_OK;
}

// Keeps the artifact for comparisons with later ones, or removes it.
static byoc_status_t keep_artifact(const batch_t *batch, byoc_cost_task_t *const *tasks, size_t count,
                                   const byoc_cost_artifact_t *artifact) {
  byoc_cost_bench_t *bench = batch->bench;
  struct stat info;
  uint64_t size = stat(artifact->path, &info) == 0 ? (uint64_t)info.st_size : 0;
  bool is_kept = false;
  for (size_t i = 0; i < count && bench->kept_bytes + size <= KEPT_BYTES; ++i) {
    const built_t *rival = byoc_text_map_get(&bench->built, tasks[i]->computes);
    if (!isfinite(tasks[i]->cost_ns) || (rival != NULL && rival->cost_ns <= tasks[i]->cost_ns)) continue;
    built_t *built = BYOC_ARENA_NEW(&bench->arena, built_t);
    const char *key = byoc_arena_copy_string(&bench->arena, tasks[i]->computes);
    if (built == NULL || key == NULL) return byoc_diag_out_of_memory(batch->diag);
    *built = (built_t){.artifact = artifact, .part = i, .target = tasks[i]->target->text, .cost_ns = tasks[i]->cost_ns};
    if (!byoc_text_map_put(&bench->built, key, built)) return byoc_diag_out_of_memory(batch->diag);
    is_kept = true;
  }
  if (is_kept) bench->kept_bytes += size;
  if (!is_kept) (void)unlink(artifact->path);
  return BYOC_OK;
}

static byoc_status_t take_times(const batch_t *batch, byoc_cost_task_t *const *tasks, size_t count,
                                const byoc_cost_artifact_t *artifact) {
  for (size_t i = 0; i < count; ++i) {
    byoc_cost_outcome_t *outcome = &batch->bench->board->outcomes[0][i];
    if (artifact->parts[i].is_left_out) continue;
    outcome->message[sizeof(outcome->message) - 1] = '\0';
    if (outcome->status != BYOC_OK) {
      BYOC_RETURN_IF_ERROR(set_unusable(batch, tasks[i], cause_of(outcome->status), "", outcome->message));
    } else if (!is_time(outcome->median_ns)) {
      BYOC_RETURN_IF_ERROR(set_unusable(batch, tasks[i], BY_ITSELF, "", "it came back without a time"));
    } else {
      tasks[i]->cost_ns = outcome->median_ns;
      tasks[i]->is_lasting = true;
    }
  }
  return BYOC_OK;
}

// The tasks that are still to be tried, `without` one. Returns how many.
static size_t list_rest(byoc_cost_task_t *const *tasks, size_t count, const byoc_cost_artifact_t *artifact,
                        int32_t without, byoc_cost_task_t **out) {
  size_t rest = 0;
  for (size_t i = 0; i < count; ++i) {
    bool is_done = artifact != NULL && artifact->parts[i].is_left_out;
    if (!is_done && (int32_t)i != without) out[rest++] = tasks[i];
  }
  return rest;
}

static byoc_status_t measure(const batch_t *batch, byoc_cost_task_t *const *tasks, size_t count);

// Something in the batch went wrong. Where nothing says what, halves find it.
static byoc_status_t try_apart(const batch_t *batch, byoc_cost_task_t *const *tasks, size_t count,
                               const byoc_cost_artifact_t *artifact, int32_t culprit) {
  byoc_cost_task_t *rest[BYOC_COST_PARTS_MAX];
  size_t rest_count = list_rest(tasks, count, artifact, culprit, rest);
  bool is_known = culprit >= 0 && culprit < (int32_t)count;
  size_t first = is_known || rest_count < 2 ? rest_count : rest_count / 2;
  BYOC_RETURN_IF_ERROR(measure(batch, rest, first));
  BYOC_RETURN_IF_ERROR(measure(batch, rest + first, rest_count - first));
  return is_known ? measure(batch, &tasks[culprit], 1) : BYOC_OK;
}

static byoc_status_t run_artifact(const batch_t *batch, byoc_cost_task_t *const *tasks, size_t count,
                                  byoc_cost_artifact_t *artifact) {
  byoc_cost_bench_t *bench = batch->bench;
  byoc_diag_t why = {0};
  byoc_cost_parts_t parts = {.artifacts = {artifact}, .artifact_count = 1};
  int lock = byoc_cost_lock(bench->allocator);
  byoc_status_t status = byoc_cost_bench_run(bench, &parts, tasks, count, &why);
  int32_t culprit = bench->board->part;
  if (status != BYOC_OK) {
    byoc_cost_unlock(lock);
    (void)unlink(artifact->path);
    if (count > 1 && culprit >= 0 && culprit < (int32_t)count) {
      tasks[culprit]->failure_count += cause_of(status) == BY_ITSELF;
    }
    return count == 1 ? set_unusable(batch, tasks[0], cause_of(status), "", why.message)
                      : try_apart(batch, tasks, count, artifact, culprit);
  }
  status = take_times(batch, tasks, count, artifact);
  if (status == BYOC_OK) status = compare(batch, tasks, count, artifact);
  byoc_cost_unlock(lock);
  return status == BYOC_OK ? keep_artifact(batch, tasks, count, artifact) : status;
}

static byoc_status_t take_refusals(const batch_t *batch, byoc_cost_task_t *const *tasks, size_t count,
                                   const byoc_cost_build_answer_t *answer, size_t *out_refused) {
  *out_refused = 0;
  for (size_t i = 0; i < count; ++i) {
    if (!answer->parts[i].is_given_back) continue;
    *out_refused += 1;
    BYOC_RETURN_IF_ERROR(set_unusable(batch, tasks[i], BY_REFUSAL,
                                      "it cannot be built: the backend gave it back: ", answer->parts[i].reason));
  }
  return BYOC_OK;
}

static byoc_status_t settle_build(const batch_t *batch, byoc_cost_task_t *const *tasks, size_t count,
                                  const byoc_cost_building_t *building, const char *const *expected) {
  if (building->status != BYOC_OK) {
    cause_t cause = building->failed_by_itself ? BY_ITSELF : BY_CHANCE;
    return count == 1 ? set_unusable(batch, tasks[0], cause, "it cannot be built: ", building->why.message)
                      : try_apart(batch, tasks, count, NULL, -1);
  }
  size_t refused = 0;
  BYOC_RETURN_IF_ERROR(take_refusals(batch, tasks, count, &building->answer, &refused));
  if (refused == count) {
    (void)unlink(building->build.output);
    return BYOC_OK;
  }
  byoc_cost_artifact_t *artifact =
      byoc_cost_bench_artifact(batch->bench, tasks, count, building->build.output, &building->answer);
  if (artifact == NULL) return byoc_diag_out_of_memory(batch->diag);
  for (size_t i = 0; i < count; ++i) artifact->parts[i].expect = expected[i];
  return run_artifact(batch, tasks, count, artifact);
}

// What is compared with is built beside what is measured: each keeps one processor busy for most of it.
static byoc_status_t measure(const batch_t *batch, byoc_cost_task_t *const *tasks, size_t count) {
  if (count == 0) return BYOC_OK;
  byoc_cost_bench_t *bench = batch->bench;
  byoc_cost_building_t *building = BYOC_ARENA_NEW(batch->scratch, byoc_cost_building_t);
  const char *path = byoc_cost_bench_path(bench, ".so"), *expected[BYOC_COST_PARTS_MAX];
  if (path == NULL || building == NULL) return byoc_diag_out_of_memory(batch->diag);
  building->build = (byoc_cost_build_t){.count = count, .target = tasks[0]->target, .output = path};
  for (size_t i = 0; i < count; ++i) building->build.functions[i] = tasks[i]->function;
  byoc_cost_references_t *references = NULL;
  BYOC_RETURN_IF_ERROR(byoc_cost_references_begin(bench, tasks, count, batch->scratch, batch->diag, &references));
  byoc_cost_bench_start(bench, building);
  (void)byoc_cost_bench_finish(building);
  BYOC_RETURN_IF_ERROR(byoc_cost_references_end(bench, references, batch->diag, expected));
  return settle_build(batch, tasks, count, building, expected);
}

byoc_status_t byoc_cost_bench_measure(byoc_cost_bench_t *bench, byoc_cost_task_t *const *tasks, size_t count,
                                      byoc_arena_t *scratch, byoc_diag_t *diag) {
  const batch_t batch = {.bench = bench, .scratch = scratch, .diag = diag};
  BYOC_RETURN_IF_ERROR(measure(&batch, tasks, count));
  for (size_t i = 0; i < count; ++i) {
    if (isfinite(tasks[i]->cost_ns) || tasks[i]->failure_count != 1) continue;
    const char *reason = tasks[i]->reason;
    BYOC_RETURN_IF_ERROR(measure(&batch, &tasks[i], 1));
    if (!isfinite(tasks[i]->cost_ns)) continue;
    // What works every second time is not for this build; the next one may look again.
    tasks[i]->cost_ns = INFINITY;
    tasks[i]->reason = reason;
    tasks[i]->is_lasting = false;
  }
  return BYOC_OK;
}
