// SPDX-License-Identifier: Apache-2.0
// Measures several functions of one target in one artifact. A failure is traced to the function that caused it, and
// only that one pays for it.
#define _GNU_SOURCE
#include "core/measure/batch.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/measure/lock.h"
#include "core/measure/reference.h"

// Times that differ by less than this are compared once more, in turns: single measurements vary by as much.
#define CLOSE_RATIO 1.1
// How many artifacts are kept for that (some carry a library of tens of megabytes).
#define KEPT_BYTES (UINT64_C(512) << 20)

// A timed artifact that is kept: for one of its functions it is the fastest so far.
typedef struct built_t {
  const byoc_cost_artifact_t *artifact;
  size_t partition;
  const char *target;
  double cost_ns;
} built_t;

typedef struct batch_t {
  byoc_cost_bench_t *bench;
  byoc_arena_t *scratch;
  byoc_diag_t *diag;
} batch_t;

// The cause if a candidate cannot be used.
typedef enum cause_t {
  BY_CHANCE, // the cause is not known
  BY_ITSELF,
  BY_REFUSAL
} cause_t;

// Classifies the status of code that ran: the candidate failed by itself, unless it reports a lack of memory or
// descriptors.
static cause_t cause_of(byoc_status_t status) {
  return status == BYOC_TOOL || status == BYOC_MISMATCH ? BY_ITSELF : BY_CHANCE;
}

// Sets an answer; this is not an error of the host.
static byoc_status_t set_unusable(const batch_t *batch, byoc_cost_task_t *task, cause_t cause, const char *front,
                                  const char *reason) {
  task->cost_ns = INFINITY;
  task->reason = byoc_arena_format(batch->scratch, "%s%s", front, reason);
  task->is_fallback = cause == BY_REFUSAL;
  task->failure_count += cause == BY_ITSELF;
  task->is_lasting =
      !batch->bench->is_confined && (cause == BY_REFUSAL || (cause == BY_ITSELF && task->failure_count > 1));
  return task->reason != NULL ? BYOC_OK : byoc_diag_out_of_memory(batch->diag);
}

// The child writes into shared memory, and a plugin's code runs in the child.
static bool is_time(double ns) {
  return ns > 0 && isfinite(ns);
}

// If times are close to an earlier target's, both artifacts are timed once more, in turns.
static byoc_status_t compare(const batch_t *batch, byoc_cost_task_t *const *tasks, size_t count,
                             const byoc_cost_artifact_t *artifact) {
  byoc_cost_bench_t *bench = batch->bench;
  byoc_cost_partitions_t partitions = {.artifacts = {artifact}, .artifact_count = 1, .is_checked = true};
  const built_t *alternatives[BYOC_COST_PARTITIONS_MAX] = {0};
  size_t place[BYOC_COST_PARTITIONS_MAX] = {0};
  for (size_t i = 0; i < count; ++i) {
    const built_t *alternative = byoc_string_map_get(&bench->built, tasks[i]->computes);
    if (alternative == NULL || !isfinite(tasks[i]->cost_ns) || strcmp(alternative->target, tasks[i]->target->text) == 0)
      continue;
    double ratio = tasks[i]->cost_ns / alternative->cost_ns;
    if (ratio > CLOSE_RATIO || ratio < 1 / CLOSE_RATIO) continue;
    size_t at = 1;
    while (at < partitions.artifact_count && partitions.artifacts[at] != alternative->artifact) ++at;
    if (at == BYOC_COST_ARTIFACTS_MAX) continue;
    if (at == partitions.artifact_count) partitions.artifacts[partitions.artifact_count++] = alternative->artifact;
    alternatives[i] = alternative;
    place[i] = at;
  }
  byoc_diag_t why = {0};
  // All of them ran before, so a failure now only means that the machine is busy.
  if (partitions.artifact_count == 1 || byoc_cost_bench_run(bench, &partitions, tasks, count, &why) != BYOC_OK)
    return BYOC_OK;
  for (size_t i = 0; i < count; ++i) {
    if (alternatives[i] == NULL) continue;
    double own_ns = bench->board->outcomes[0][i].median_ns;
    double alternative_ns = bench->board->outcomes[place[i]][alternatives[i]->partition].median_ns;
    if (is_time(own_ns) && is_time(alternative_ns))
      tasks[i]->cost_ns = alternatives[i]->cost_ns * (own_ns / alternative_ns);
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
    const built_t *alternative = byoc_string_map_get(&bench->built, tasks[i]->computes);
    if (!isfinite(tasks[i]->cost_ns) || (alternative != NULL && alternative->cost_ns <= tasks[i]->cost_ns)) continue;
    built_t *built = BYOC_ARENA_NEW(&bench->arena, built_t);
    const char *key = byoc_arena_copy_string(&bench->arena, tasks[i]->computes);
    if (built == NULL || key == NULL) return byoc_diag_out_of_memory(batch->diag);
    *built =
        (built_t){.artifact = artifact, .partition = i, .target = tasks[i]->target->text, .cost_ns = tasks[i]->cost_ns};
    if (!byoc_string_map_put(&bench->built, key, built)) return byoc_diag_out_of_memory(batch->diag);
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
    if (artifact->partitions[i].is_left_out) continue;
    outcome->message[sizeof(outcome->message) - 1] = '\0';
    tasks[i]->is_wrong = tasks[i]->is_wrong || outcome->status == BYOC_MISMATCH;
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

// Collects the tasks that are still to be tried, except `without`. Returns their number.
static size_t list_rest(byoc_cost_task_t *const *tasks, size_t count, const byoc_cost_artifact_t *artifact,
                        int32_t without, byoc_cost_task_t **out) {
  size_t rest = 0;
  for (size_t i = 0; i < count; ++i) {
    bool is_done = artifact != NULL && artifact->partitions[i].is_left_out;
    if (!is_done && (int32_t)i != without) out[rest++] = tasks[i];
  }
  return rest;
}

static byoc_status_t measure(const batch_t *batch, byoc_cost_task_t *const *tasks, size_t count);

// A function of the batch failed. If the culprit is not known, halving the batch finds it.
static byoc_status_t try_apart(const batch_t *batch, byoc_cost_task_t *const *tasks, size_t count,
                               const byoc_cost_artifact_t *artifact, int32_t culprit) {
  byoc_cost_task_t *rest[BYOC_COST_PARTITIONS_MAX];
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
  byoc_cost_partitions_t partitions = {.artifacts = {artifact}, .artifact_count = 1};
  int lock = byoc_cost_lock(bench->allocator);
  byoc_status_t status = byoc_cost_bench_run(bench, &partitions, tasks, count, &why);
  int32_t culprit = bench->board->partition;
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
    if (!answer->partitions[i].is_fallback) continue;
    *out_refused += 1;
    BYOC_RETURN_IF_ERROR(set_unusable(batch, tasks[i], BY_REFUSAL,
                                      "it cannot be built: the backend declined it: ", answer->partitions[i].reason));
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
  double *code_mib = &batch->bench->code_mib[tasks[0]->target->index], mib = building->answer.code_mib;
  if (mib > 0 && (*code_mib <= 0 || mib < *code_mib)) *code_mib = mib;
  byoc_cost_artifact_t *artifact =
      byoc_cost_bench_artifact(batch->bench, tasks, count, building->build.output, &building->answer);
  if (artifact == NULL) return byoc_diag_out_of_memory(batch->diag);
  for (size_t i = 0; i < count; ++i) {
    artifact->partitions[i].expect = expected[i];
    tasks[i]->is_compared = expected[i] != NULL;
  }
  return run_artifact(batch, tasks, count, artifact);
}

// The references are built beside the candidates: each build keeps one processor busy most of the time.
static byoc_status_t measure(const batch_t *batch, byoc_cost_task_t *const *tasks, size_t count) {
  if (count == 0) return BYOC_OK;
  byoc_cost_bench_t *bench = batch->bench;
  byoc_cost_building_t *building = BYOC_ARENA_NEW(batch->scratch, byoc_cost_building_t);
  const char *path = byoc_cost_bench_path(bench, ".so"), *expected[BYOC_COST_PARTITIONS_MAX];
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

byoc_status_t byoc_cost_batch_measure(byoc_cost_bench_t *bench, byoc_cost_task_t *const *tasks, size_t count,
                                      byoc_arena_t *scratch, byoc_diag_t *diag) {
  const batch_t batch = {.bench = bench, .scratch = scratch, .diag = diag};
  BYOC_RETURN_IF_ERROR(measure(&batch, tasks, count));
  for (size_t i = 0; i < count; ++i) {
    if (tasks[i]->failure_count != 1) continue;
    const char *reason = tasks[i]->reason;
    const bool worked = isfinite(tasks[i]->cost_ns);
    BYOC_RETURN_IF_ERROR(measure(&batch, &tasks[i], 1));
    // Among several it failed, but alone it worked twice: its neighbours may have been the cause, unless it was wrong.
    if (!isfinite(tasks[i]->cost_ns) || (worked && !tasks[i]->is_wrong)) continue;
    // A candidate that works only every second time is not used in this build; the next one may try again.
    tasks[i]->cost_ns = INFINITY;
    tasks[i]->reason = reason;
    tasks[i]->is_lasting = false;
  }
  return BYOC_OK;
}
