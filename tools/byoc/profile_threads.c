// SPDX-License-Identifier: Apache-2.0
// Where the time of several threads goes: what is missing to n times as fast, split into causes that sum to it.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/statistics.h"
#include "core/base/visible.h"
#include "profile.h"
#include "tools/common/print.h"

// ---- causes ----

// The sample that stands for all: the middle one, or with `best` the least. SIZE_MAX if there are none, or out of
// memory.
static size_t choose_sample(const double *samples, size_t count, bool best) {
  double *sorted = count > 0 ? malloc(count * sizeof(*sorted)) : NULL;
  if (sorted == NULL) return SIZE_MAX;
  memcpy(sorted, samples, count * sizeof(*sorted));
  (void)byoc_median(sorted, count);
  const double chosen = sorted[best ? 0 : count / 2];
  free(sorted);
  size_t at = 0;
  while (samples[at] != chosen) at += 1;
  return at;
}

// Outside of loops one thread works alone; a loop takes as long as its slowest share, and what begins and ends it.
static byoc_profile_threads_t explain(double alone_ns, double many_ns, byoc_profile_loops_t loops, int32_t threads) {
  const double n = threads, serial_ns = fmax(many_ns - loops.wall_ns, 0);
  return (byoc_profile_threads_t){
      .alone_ns = alone_ns,
      .many_ns = many_ns,
      .loops = loops,
      .alone_loss_ns = serial_ns * (1 - 1 / n),
      .uneven_ns = loops.longest_ns - loops.busy_ns / n,
      .fork_ns = loops.wall_ns - loops.longest_ns,
      .dearer_ns = (loops.busy_ns + serial_ns - alone_ns) / n,
  };
}

static void add(byoc_profile_threads_t *sum, const byoc_profile_threads_t *part) {
  sum->alone_ns += part->alone_ns;
  sum->many_ns += part->many_ns;
  sum->loops.count += part->loops.count;
  sum->loops.wall_ns += part->loops.wall_ns;
  sum->loops.busy_ns += part->loops.busy_ns;
  sum->loops.longest_ns += part->loops.longest_ns;
  sum->alone_loss_ns += part->alone_loss_ns;
  sum->uneven_ns += part->uneven_ns;
  sum->fork_ns += part->fork_ns;
  sum->dearer_ns += part->dearer_ns;
}

static bool spread_row(byoc_profile_t *profile, byoc_profile_row_t *row, const byoc_profile_row_t *alone) {
  if (row->run_ns.count == 0 || alone->run_ns.count == 0) return true; // a branch that no run took
  const size_t at = choose_sample(row->run_ns.data, row->run_ns.count, profile->best);
  const size_t at_alone = choose_sample(alone->run_ns.data, alone->run_ns.count, profile->best);
  if (at == SIZE_MAX || at_alone == SIZE_MAX) return false;
  const byoc_profile_loops_t loops =
      at < row->run_loops.count ? row->run_loops.data[at] : (byoc_profile_loops_t){0}; // a device has none
  row->threads = explain(alone->run_ns.data[at_alone], row->run_ns.data[at], loops, profile->thread_count);
  return true;
}

bool byoc_profile_spread(byoc_profile_t *profile, const byoc_profile_t *alone) {
  const size_t at = choose_sample(profile->host_total_ns.data, profile->host_total_ns.count, profile->best);
  const size_t at_alone = choose_sample(alone->host_total_ns.data, alone->host_total_ns.count, profile->best);
  if (at == SIZE_MAX || at_alone == SIZE_MAX) return false;
  profile->host_threads = explain(alone->host_total_ns.data[at_alone], profile->host_total_ns.data[at],
                                  (byoc_profile_loops_t){0}, profile->thread_count);
  profile->all_threads = profile->host_threads;
  for (size_t i = 0; i < profile->step_count; ++i) {
    byoc_profile_row_t *row = &profile->rows.data[i];
    if (!row->is_call) continue; // the host's time has them
    const bool ran = row->run_ns.count > 0, ran_alone = alone->rows.data[i].run_ns.count > 0;
    if (ran != ran_alone) profile->has_other_plan = true;
    if (!spread_row(profile, row, &alone->rows.data[i])) return false;
    add(&profile->all_threads, &row->threads);
  }
  return true;
}

// ---- order ----

typedef struct loss_t {
  double lost_ns;
  size_t row;
} loss_t;

static double lost_ns(const byoc_profile_threads_t *threads, int32_t thread_count) {
  return threads->many_ns - threads->alone_ns / thread_count;
}

static int compare_losses(const void *left, const void *right) {
  const loss_t *a = left, *b = right;
  if (a->lost_ns != b->lost_ns) return a->lost_ns > b->lost_ns ? -1 : 1;
  return a->row < b->row ? -1 : 1;
}

size_t *byoc_profile_losses(const byoc_profile_t *profile) {
  const size_t count = profile->step_count;
  loss_t *losses = calloc(count + 1, sizeof(*losses));
  size_t *order = losses != NULL ? calloc(count + 1, sizeof(*order)) : NULL;
  for (size_t i = 0; order != NULL && i < count; ++i) {
    losses[i] = (loss_t){.lost_ns = lost_ns(&profile->rows.data[i].threads, profile->thread_count), .row = i};
  }
  if (order != NULL) qsort(losses, count, sizeof(*losses), compare_losses);
  for (size_t i = 0; order != NULL && i < count; ++i) order[i] = losses[i].row;
  free(losses);
  return order;
}

// ---- table ----

enum { NAME_WIDTH = 40 };

static void print_threads(const char *name, const byoc_profile_threads_t *at, int32_t thread_count) {
  byoc_string_t shown;
  byoc_string_init(&shown, byoc_allocator_system());
  byoc_string_append_shown_cut(&shown, name, NAME_WIDTH);
  byoc_print("%s%*s %9.2f %9.2f %6.2f %5llu ", shown.data, NAME_WIDTH - (int)byoc_shown_width(shown.data), "",
             at->alone_ns / 1e3, at->many_ns / 1e3, at->many_ns > 0 ? at->alone_ns / at->many_ns : 1,
             (unsigned long long)at->loops.count);
  byoc_string_deinit(&shown);
  if (at->loops.count > 0) printf("%5.0f%%", 100 * at->loops.longest_ns / fmax(at->loops.busy_ns, 1));
  if (at->loops.count == 0) printf("%6s", "-");
  printf(" %8.2f %8.2f %8.2f %8.2f %8.2f\n", at->alone_loss_ns / 1e3, at->uneven_ns / 1e3, at->fork_ns / 1e3,
         at->dearer_ns / 1e3, lost_ns(at, thread_count) / 1e3);
}

void byoc_profile_print_threads(const byoc_profile_t *profile, const size_t *losses) {
  const int32_t n = profile->thread_count;
  char many[24];
  (void)snprintf(many, sizeof(many), "%d threads", (int)n);
  printf("\n%-40s %9s %9s %6s %5s %6s %8s %8s %8s %8s %8s\n", "us, by lost time", "1 thread", many, "faster", "loops",
         "slower", "alone", "uneven", "forks", "dearer", "lost");
  for (size_t i = 0; i < profile->step_count; ++i) {
    const byoc_profile_row_t *row = &profile->rows.data[losses[i]];
    if (row->is_call) print_threads(row->name, &row->threads, n);
  }
  const byoc_profile_threads_t *all = &profile->all_threads;
  print_threads("host, between the calls", &profile->host_threads, n);
  print_threads("all", all, n);
  printf(
      "%d threads are %.2f times as fast as one. %.3f ms are lost beyond 1/%d of one thread's time: one thread works "
      "while the others "
      "wait (alone %.3f),\nchunks of a loop take unequal times, or a late thread got none (uneven %.3f), loops "
      "begin and end (forks %.3f), and\nthe same work takes longer on several threads (dearer %.3f). 'slower' is the "
      "slowest thread's percentage of the work of loops.\n",
      (int)n, all->many_ns > 0 ? all->alone_ns / all->many_ns : 1, lost_ns(all, n) / 1e6, (int)n,
      all->alone_loss_ns / 1e6, all->uneven_ns / 1e6, all->fork_ns / 1e6, all->dearer_ns / 1e6);
  if (!profile->has_other_plan) return;
  printf("The artifact has another plan for one thread than for %d. Instructions of only one of the plans are in no "
         "sum above;\n"
         "compare the whole runs by byoc bench.\n",
         (int)n);
}

// ---- JSON ----

json_t *byoc_profile_threads_json(const byoc_profile_threads_t *at, int32_t thread_count) {
  return json_pack("{s:f, s:f, s:I, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:f}", "one_us", at->alone_ns / 1e3, "many_us",
                   at->many_ns / 1e3, "loops", (json_int_t)at->loops.count, "loops_us", at->loops.wall_ns / 1e3,
                   "busy_us", at->loops.busy_ns / 1e3, "slowest_us", at->loops.longest_ns / 1e3, "alone_us",
                   at->alone_loss_ns / 1e3, "uneven_us", at->uneven_ns / 1e3, "forks_us", at->fork_ns / 1e3,
                   "dearer_us", at->dearer_ns / 1e3, "lost_us", lost_ns(at, thread_count) / 1e3);
}
