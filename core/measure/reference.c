// SPDX-License-Identifier: Apache-2.0
// Computes the native target's results: evaluated, or compiled and run, whichever takes less time.
#include "core/measure/reference.h"

#include <string.h>
#include <unistd.h>

#include "core/base/log.h"
#include "core/ir/structural.h"
#include "core/measure/special_values.h"
#include "core/op/op.h"

// With fewer operations than this, evaluating takes less time than a compiler.
#define EVALUATED_FLOPS 2e6
// With fewer operations than this, running unoptimised code takes less time than a compiler that optimises.
#define HASTY_FLOPS 3e8

typedef enum kind_t { KIND_EVALUATED, KIND_HASTY, KIND_COMPILED, KIND_COUNT } kind_t;

static bool is_not_random(void *self, byoc_node_t *node) {
  if (node->callee != NULL) return byoc_block_walk(node->callee->body, is_not_random, self);
  return !byoc_node_has_trait(node, BYOC_OP_RANDOM);
}

static kind_t kind_of(const byoc_cost_task_t *task) {
  double flops = task->work.product_flops + task->work.other_flops;
  if (flops <= EVALUATED_FLOPS) return KIND_EVALUATED;
  return flops <= HASTY_FLOPS ? KIND_HASTY : KIND_COMPILED;
}

// Tasks of one kind.
typedef struct wanted_t {
  byoc_cost_task_t *tasks[BYOC_COST_PARTITIONS_MAX];
  const char *paths[BYOC_COST_PARTITIONS_MAX], *keys[BYOC_COST_PARTITIONS_MAX];
  size_t index[BYOC_COST_PARTITIONS_MAX]; // index among all tasks
  size_t count;
  byoc_cost_building_t building;
} wanted_t;

struct byoc_cost_references_t {
  wanted_t wanted[KIND_COUNT];
  const char *known[BYOC_COST_PARTITIONS_MAX];
  size_t count;
};

static bool start(byoc_cost_bench_t *bench, byoc_cost_task_t *const *tasks, size_t count, const char *const *paths,
                  byoc_cost_building_t *building) {
  kind_t kind = kind_of(tasks[0]);
  const char *path = byoc_cost_bench_path(bench, ".so");
  *building = (byoc_cost_building_t){.build = {.count = count,
                                               .target = bench->native,
                                               .in_haste = kind == KIND_HASTY,
                                               .output = kind == KIND_EVALUATED ? NULL : path}};
  for (size_t i = 0; i < count; ++i) {
    building->build.functions[i] = tasks[i]->function;
    building->build.results[i] = paths[i];
    building->build.special[i] = byoc_measure_special_values(tasks[i]->function, tasks[i]->target);
  }
  if (path != NULL) byoc_cost_bench_start(bench, building);
  return path != NULL;
}

// Runs the compiled reference.
static byoc_status_t finish(byoc_cost_bench_t *bench, byoc_cost_task_t *const *tasks, size_t count,
                            const char *const *paths, byoc_cost_building_t *building) {
  const char *output = building->build.output;
  byoc_status_t status = byoc_cost_bench_finish(building);
  if (status != BYOC_OK || output == NULL) return status;
  byoc_cost_artifact_t *artifact = byoc_cost_bench_artifact(bench, tasks, count, output, &building->answer);
  if (artifact == NULL) return byoc_diag_out_of_memory(&building->why);
  for (size_t i = 0; i < count; ++i) artifact->partitions[i].record = paths[i];
  byoc_cost_partitions_t partitions = {.artifacts = {artifact}, .artifact_count = 1, .once = true};
  status = byoc_cost_bench_run(bench, &partitions, tasks, count, &building->why);
  (void)unlink(output);
  return status;
}

// Builds all at once; if that fails, one by one.
static void finish_all(byoc_cost_bench_t *bench, wanted_t *wanted) {
  if (wanted->count == 0) return;
  byoc_cost_building_t *building = &wanted->building;
  if (finish(bench, wanted->tasks, wanted->count, wanted->paths, building) == BYOC_OK) return;
  for (size_t i = 0; i < wanted->count; ++i) {
    bool ok = wanted->count > 1 && start(bench, &wanted->tasks[i], 1, &wanted->paths[i], building) &&
              finish(bench, &wanted->tasks[i], 1, &wanted->paths[i], building) == BYOC_OK;
    if (ok) continue;
    byoc_log(BYOC_LOG_WARNING, "candidates of '%s' are timed without being checked: the reference: %s",
             wanted->tasks[i]->function->name, building->why.message);
    wanted->paths[i] = NULL;
  }
}

static byoc_status_t add_task(byoc_cost_bench_t *bench, byoc_cost_task_t *task, size_t index, byoc_diag_t *diag,
                              byoc_cost_references_t *begun) {
  kind_t kind = kind_of(task);
  if (kind != KIND_EVALUATED && task->target->kind->backend == NULL) return BYOC_OK; // it would be compared with itself
  if (!byoc_block_walk(task->function->body, is_not_random, NULL)) return BYOC_OK;
  uint64_t hash = byoc_function_structural_hash(task->function, BYOC_STRUCTURAL_IGNORE_FUNCTION_ATTRIBUTES);
  const char *key = byoc_arena_format(&bench->arena, "%016llx", (unsigned long long)hash);
  const char *path = byoc_cost_bench_path(bench, ".results");
  if (key == NULL || path == NULL) return byoc_diag_out_of_memory(diag);
  const byoc_map_entry_t *known = byoc_string_map_find(&bench->references, key);
  if (known != NULL) {
    begun->known[index] = known->value;
    return BYOC_OK;
  }
  wanted_t *list = &begun->wanted[kind];
  list->tasks[list->count] = task;
  list->paths[list->count] = path;
  list->keys[list->count] = key;
  list->index[list->count++] = index;
  return BYOC_OK;
}

byoc_status_t byoc_cost_references_begin(byoc_cost_bench_t *bench, byoc_cost_task_t *const *tasks, size_t count,
                                         byoc_arena_t *scratch, byoc_diag_t *diag, byoc_cost_references_t **out_begun) {
  *out_begun = NULL;
  byoc_cost_references_t *begun = BYOC_ARENA_NEW(scratch, byoc_cost_references_t);
  if (begun == NULL) return byoc_diag_out_of_memory(diag);
  begun->count = count;
  for (size_t i = 0; i < count; ++i) BYOC_RETURN_IF_ERROR(add_task(bench, tasks[i], i, diag, begun));
  for (int k = 0; k < KIND_COUNT; ++k) {
    wanted_t *wanted = &begun->wanted[k];
    if (wanted->count == 0) continue;
    if (!start(bench, wanted->tasks, wanted->count, wanted->paths, &wanted->building)) wanted->count = 0;
  }
  *out_begun = begun;
  return BYOC_OK;
}

byoc_status_t byoc_cost_references_end(byoc_cost_bench_t *bench, byoc_cost_references_t *begun, byoc_diag_t *diag,
                                       const char **out_paths) {
  for (size_t i = 0; i < begun->count; ++i) out_paths[i] = begun->known[i];
  for (int k = 0; k < KIND_COUNT; ++k) finish_all(bench, &begun->wanted[k]);
  for (int k = 0; k < KIND_COUNT; ++k) {
    const wanted_t *wanted = &begun->wanted[k];
    for (size_t i = 0; i < wanted->count; ++i) {
      out_paths[wanted->index[i]] = wanted->paths[i];
      if (!byoc_string_map_put(&bench->references, wanted->keys[i], (void *)(uintptr_t)wanted->paths[i])) {
        return byoc_diag_out_of_memory(diag);
      }
    }
  }
  return BYOC_OK;
}
