// SPDX-License-Identifier: Apache-2.0
// Runs artifacts in a child and times their parts one by one, with caches as cold as a model leaves them.
#define _GNU_SOURCE
#include "core/measure/partitions.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>

#include "core/base/log.h"
#include "core/base/statistics.h"
#include "core/measure/runner.h"

// The time for one part: enough for a median to settle, little enough for the search to go on.
#define BUDGET_NS   30000000
#define LONG_RUN_NS 50000000
// Parts shorter than this mostly run without interruption, and the cost of reading the processor's clock would show.
#define INTERRUPTED_NS 50000
// More bytes than a processor's own cache holds.
#define NEAR_BYTES (UINT64_C(2) << 20)
enum { ROUNDS_AT_LEAST = 5, ROUNDS_AT_MOST = 31, LINE_BYTES = 64 };

// One artifact at work.
typedef struct runner_t {
  byoc_cost_runner_t base;
  const byoc_cost_artifact_t *artifact;
  uint32_t first_input[BYOC_COST_PARTITIONS_MAX], first_output[BYOC_COST_PARTITIONS_MAX];
  double passed_ns[BYOC_COST_PARTITIONS_MAX], processor_ns[BYOC_COST_PARTITIONS_MAX]; // in this round
  double device_ns; // of all commands, copies among them, by their time stamps
  double passed[BYOC_COST_PARTITIONS_MAX][ROUNDS_AT_MOST], processor[BYOC_COST_PARTITIONS_MAX][ROUNDS_AT_MOST];
  bool is_on_device[BYOC_COST_PARTITIONS_MAX]; // some of its steps are commands of a device
  uint32_t step;                               // the next one
} runner_t;

typedef struct work_t {
  const byoc_cost_partitions_t *job;
  runner_t *runners[BYOC_COST_ARTIFACTS_MAX];
  uint64_t round_bytes; // bytes that all parts touch
  uint8_t *cold;        // to walk over
  bool is_timing;
  int64_t processor_ns; // when the step began
  int64_t aside_ns;     // of this round: spent between the steps
  uint32_t current;     // artifact
} work_t;

// ---- around a step ----

static void set_alarm(uint32_t limit_ms) {
  const struct itimerval timer = {.it_value = {.tv_sec = limit_ms / 1000, .tv_usec = limit_ms % 1000 * 1000}};
  (void)setitimer(ITIMER_REAL, &timer, NULL);
}

// Writes the memory, as the part before this one would.
static void touch(void *data, uint64_t size_bytes) {
  volatile uint8_t *bytes = data;
  for (uint64_t i = 0; i < size_bytes; i += LINE_BYTES) bytes[i] = bytes[i];
}

static void walk(const uint8_t *data, uint64_t size_bytes) {
  const volatile uint8_t *bytes = data;
  for (uint64_t i = 0; i < size_bytes; i += LINE_BYTES) (void)bytes[i];
}

// Leaves the caches in the state that the model's other parts would leave: the memory for results was last used a while
// ago, inputs were written just now.
static void make_cold(const work_t *work, const runner_t *runner, uint32_t partition) {
  const byoc_artifact_t *table = runner->base.table;
  const byoc_cost_partition_t *row = &runner->artifact->partitions[partition];
  uint64_t others = work->round_bytes - row->bytes;
  if (others < work->job->cold_bytes) walk(work->cold, work->job->cold_bytes - others);
  for (uint32_t i = 0; i < row->output_count; ++i) {
    uint32_t output = runner->first_output[partition] + i;
    touch(runner->base.outputs[output], table->outputs[output].size_bytes);
  }
  uint64_t near = work->job->cold_bytes < NEAR_BYTES ? work->job->cold_bytes : NEAR_BYTES;
  walk(work->cold, near);
  for (uint32_t i = 0; i < row->input_count; ++i) {
    uint32_t input = runner->first_input[partition] + i;
    touch(runner->base.inputs[input], table->inputs[input].size_bytes);
  }
}

static void turn_to_step(work_t *work, runner_t *runner) {
  const byoc_cost_artifact_t *artifact = runner->artifact;
  int32_t partition = runner->step < artifact->step_count ? artifact->owners[runner->step] : -1;
  if (partition >= (int32_t)artifact->partition_count) partition = -1;
  byoc_cost_board_t *board = work->job->board;
  if (board->artifact == (int32_t)work->current && board->partition == partition) return;
  const int64_t begin_ns = byoc_now_ns();
  if (partition >= 0 && work->is_timing) make_cold(work, runner, (uint32_t)partition);
  work->aside_ns += byoc_now_ns() - begin_ns;
  board->artifact = (int32_t)work->current;
  board->partition = partition;
  set_alarm(partition >= 0 ? artifact->partitions[partition].limit_ms : 0);
}

static void begin_step(work_t *work, runner_t *runner) {
  turn_to_step(work, runner);
  if (work->is_timing) work->processor_ns = byoc_cost_processor_ns();
}

static void end_step(void *self, const char *name, uint64_t duration_ns) {
  work_t *work = self;
  runner_t *runner = work->runners[work->current];
  if (name[0] == '\t') return; // this is a node of an engine, not a step
  int32_t partition = work->job->board->partition;
  if (runner->step >= runner->artifact->host_steps) runner->device_ns += (double)duration_ns;
  if (partition >= 0) runner->passed_ns[partition] += (double)duration_ns;
  if (partition >= 0 && work->is_timing) {
    runner->processor_ns[partition] += (double)(byoc_cost_processor_ns() - work->processor_ns);
  }
  runner->step += 1;
  begin_step(work, runner);
}

// A device without time stamps: `beside_ns`, the time of the round beside the host's steps, is that of its commands.
static void time_by_clock(runner_t *runner, double beside_ns) {
  size_t count = 0;
  for (size_t p = 0; p < runner->artifact->partition_count; ++p) {
    beside_ns -= runner->passed_ns[p];
    count += runner->is_on_device[p];
  }
  for (size_t p = 0; p < runner->artifact->partition_count && beside_ns > 0; ++p) {
    if (runner->is_on_device[p]) runner->passed_ns[p] += beside_ns / (double)count;
  }
}

static byoc_status_t run_round(work_t *work, uint32_t index, byoc_diag_t *diag) {
  runner_t *runner = work->runners[index];
  const byoc_artifact_t *table = runner->base.table;
  work->current = index;
  runner->step = 0;
  memset(runner->passed_ns, 0, sizeof(runner->passed_ns));
  memset(runner->processor_ns, 0, sizeof(runner->processor_ns));
  runner->device_ns = 0;
  work->aside_ns = 0;
  const int64_t begin_ns = byoc_now_ns();
  begin_step(work, runner);
  int32_t status = table->profile(runner->base.context, (const void *const *)runner->base.inputs, runner->base.outputs,
                                  end_step, work);
  const int64_t round_ns = byoc_now_ns() - begin_ns;
  BYOC_RETURN_IF_ERROR(byoc_cost_runner_result(&runner->base, status, "it failed", diag));
  set_alarm(0);
  if (runner->device_ns <= 0) time_by_clock(runner, (double)(round_ns - work->aside_ns));
  work->job->board->artifact = work->job->board->partition = -1;
  if (runner->step == runner->artifact->step_count) return BYOC_OK;
  return byoc_diag_error(diag, BYOC_INTERNAL, "it took %u steps of %u", (unsigned)runner->step,
                         (unsigned)runner->artifact->step_count);
}

// ---- the first run ----

static byoc_status_t open_runner(work_t *work, uint32_t index, byoc_arena_t *arena, byoc_diag_t *diag) {
  runner_t *runner = BYOC_ARENA_NEW(arena, runner_t);
  if (runner == NULL) return byoc_diag_out_of_memory(diag);
  work->runners[index] = runner;
  runner->artifact = work->job->artifacts[index];
  BYOC_RETURN_IF_ERROR(
      byoc_cost_runner_open(runner->artifact->path, work->job->thread_count, arena, diag, &runner->base));
  uint32_t input = 0, output = 0;
  for (size_t p = 0; p < runner->artifact->partition_count; ++p) {
    const byoc_cost_partition_t *partition = &runner->artifact->partitions[p];
    runner->first_input[p] = input;
    runner->first_output[p] = output;
    byoc_cost_runner_fill(&runner->base, input, partition->input_count, false);
    input += partition->input_count;
    output += partition->output_count;
    work->round_bytes += partition->bytes;
  }
  for (uint32_t s = runner->artifact->host_steps; s < runner->artifact->step_count; ++s) {
    const uint8_t owner = runner->artifact->owners[s];
    if (owner < runner->artifact->partition_count) runner->is_on_device[owner] = true;
  }
  const byoc_artifact_t *table = runner->base.table;
  if (table->profile == NULL || input != table->input_count || output != table->output_count) {
    return byoc_diag_error(diag, BYOC_INTERNAL, "it is not made of these parts");
  }
  return run_round(work, index, diag);
}

static void check_part(const work_t *work, uint32_t index, uint32_t p, bool is_special) {
  const runner_t *runner = work->runners[index];
  const byoc_cost_partition_t *partition = &runner->artifact->partitions[p];
  byoc_cost_outcome_t *outcome = &work->job->board->outcomes[index][p];
  byoc_diag_t why = {0};
  if (partition->expect == NULL || outcome->status != BYOC_OK) return;
  outcome->status = byoc_cost_runner_check(&runner->base, runner->first_output[p], partition->output_count,
                                           is_special ? partition->special : BYOC_WILD_NONE, partition->relative_error,
                                           partition->expect, &why);
  if (outcome->status != BYOC_OK) snprintf(outcome->message, sizeof(outcome->message), "%s", why.message);
}

// After a run on ordinary data, and one on special values: `kept` has the recorded results of the former.
static byoc_status_t settle_part(const work_t *work, uint32_t index, uint32_t p, bool is_special, byoc_bytes_t *kept,
                                 byoc_arena_t *arena, byoc_diag_t *diag) {
  const runner_t *runner = work->runners[index];
  const byoc_cost_partition_t *partition = &runner->artifact->partitions[p];
  const uint32_t first = runner->first_output[p], count = partition->output_count;
  if (partition->is_left_out || (is_special && partition->special == BYOC_WILD_NONE)) return BYOC_OK;
  check_part(work, index, p, is_special);
  if (partition->record == NULL) return BYOC_OK;
  if (is_special) return byoc_cost_runner_write(&runner->base, first, count, kept, partition->record, arena, diag);
  if (partition->special != BYOC_WILD_NONE)
    BYOC_RETURN_IF_ERROR(byoc_cost_runner_keep(&runner->base, first, count, arena, diag, kept));
  return byoc_cost_runner_write(&runner->base, first, count, NULL, partition->record, arena, diag);
}

static void fill(const work_t *work, uint32_t index, bool is_special) {
  const runner_t *runner = work->runners[index];
  for (size_t p = 0; p < runner->artifact->partition_count; ++p) {
    const byoc_cost_partition_t *partition = &runner->artifact->partitions[p];
    byoc_cost_runner_fill(&runner->base, runner->first_input[p], partition->input_count,
                          is_special && partition->special != BYOC_WILD_NONE);
  }
}

// Compares or records the results of the first run and of a run on special values; times are taken on ordinary data.
static byoc_status_t settle(work_t *work, uint32_t index, byoc_arena_t *arena, byoc_diag_t *diag) {
  const byoc_cost_artifact_t *artifact = work->runners[index]->artifact;
  byoc_bytes_t kept[BYOC_COST_PARTITIONS_MAX];
  bool is_special = false;
  for (uint32_t p = 0; p < artifact->partition_count; ++p) {
    const byoc_cost_partition_t *partition = &artifact->partitions[p];
    BYOC_RETURN_IF_ERROR(settle_part(work, index, p, false, &kept[p], arena, diag));
    is_special = is_special ||
                 (partition->special != BYOC_WILD_NONE && (partition->expect != NULL || partition->record != NULL));
  }
  if (!is_special) return BYOC_OK;
  fill(work, index, true);
  BYOC_RETURN_IF_ERROR(run_round(work, index, diag));
  for (uint32_t p = 0; p < artifact->partition_count; ++p) {
    BYOC_RETURN_IF_ERROR(settle_part(work, index, p, true, &kept[p], arena, diag));
  }
  fill(work, index, false);
  return BYOC_OK;
}

// ---- time ----

static size_t count_parts(const work_t *work) {
  size_t count = 0;
  for (size_t a = 0; a < work->job->artifact_count; ++a) count += work->job->artifacts[a]->partition_count;
  return count;
}

static byoc_status_t take_round(work_t *work, size_t round, byoc_diag_t *diag) {
  bool takes_turns = work->job->artifact_count > 1 && work->job->thread_count > 1;
  for (uint32_t a = 0; a < work->job->artifact_count; ++a) {
    if (takes_turns) byoc_cost_runner_let_threads_sleep();
    BYOC_RETURN_IF_ERROR(run_round(work, a, diag));
    runner_t *runner = work->runners[a];
    for (size_t p = 0; p < runner->artifact->partition_count; ++p) {
      runner->passed[p][round] = runner->passed_ns[p];
      runner->processor[p][round] = runner->processor_ns[p];
    }
  }
  return BYOC_OK;
}

static byoc_status_t time_partitions(work_t *work, byoc_diag_t *diag, size_t *out_count) {
  const byoc_cost_partitions_t *job = work->job;
  size_t count = 0;
  int64_t budget_ns = BUDGET_NS * (int64_t)count_parts(work);
  work->is_timing = true;
  int64_t begin_ns = byoc_now_ns();
  BYOC_RETURN_IF_ERROR(take_round(work, 0, diag)); // wakes the threads
  if (byoc_now_ns() - begin_ns > LONG_RUN_NS * (int64_t)count_parts(work)) count = 1;
  while (count < ROUNDS_AT_MOST) {
    BYOC_RETURN_IF_ERROR(take_round(work, count++, diag));
    int64_t elapsed_ns = byoc_now_ns() - begin_ns;
    if (elapsed_ns > job->limit_ns || (elapsed_ns > budget_ns && count >= ROUNDS_AT_LEAST)) break;
  }
  *out_count = count;
  return BYOC_OK;
}

// A long call is interrupted by other work, so the processor's own time is the better measure, unless a device works.
static double conclude(runner_t *runner, uint32_t partition, bool by_processor, size_t count) {
  double passed_ns = byoc_median(runner->passed[partition], count);
  double processor_ns = byoc_median(runner->processor[partition], count);
  const bool is_long = by_processor && passed_ns > INTERRUPTED_NS && !runner->is_on_device[partition];
  return is_long && processor_ns < passed_ns ? processor_ns : passed_ns;
}

static byoc_status_t run(const byoc_cost_partitions_t *job, byoc_arena_t *arena, byoc_diag_t *diag) {
  work_t work = {.job = job};
  if (job->thread_count > 1) byoc_cost_runner_keep_threads_awake();
  for (uint32_t a = 0; a < job->artifact_count; ++a) {
    BYOC_RETURN_IF_ERROR(open_runner(&work, a, arena, diag));
    if (!job->is_checked) BYOC_RETURN_IF_ERROR(settle(&work, a, arena, diag));
  }
  if (job->once) return BYOC_OK;
  work.cold = malloc(job->cold_bytes + 1);
  if (work.cold == NULL) return byoc_diag_out_of_memory(diag);
  memset(work.cold, 1, job->cold_bytes + 1); // gives it pages of its own, not the system's page of zeros
  size_t count = 0;
  int64_t waits = byoc_cost_wait_count();
  BYOC_RETURN_IF_ERROR(time_partitions(&work, diag, &count));
  bool is_busy = byoc_cost_wait_count() - waits < (int64_t)count; // less than one wait per round
  for (uint32_t a = 0; a < job->artifact_count; ++a) {
    for (uint32_t p = 0; p < job->artifacts[a]->partition_count; ++p) {
      double ns = conclude(work.runners[a], p, is_busy && job->thread_count == 1, count);
      job->board->outcomes[a][p].median_ns = ns > 0 ? ns : 1;
    }
  }
  return BYOC_OK;
}

void byoc_cost_run_partitions(void *self, void *answer) {
  byoc_cost_partitions_answer_t *out = answer;
  byoc_diag_t diag = {0};
  byoc_arena_t arena;
  byoc_arena_init(&arena, byoc_allocator_system());
  out->status = run(self, &arena, &diag);
  if (out->status != BYOC_OK) snprintf(out->message, sizeof(out->message), "%s", diag.message);
}
