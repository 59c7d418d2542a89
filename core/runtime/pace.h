// SPDX-License-Identifier: Apache-2.0
// Decides whether short runs of a context use one thread or all. In a run of some microseconds, a second thread may
// cost more than it saves. The first run of each period shows whether runs are that short. If they are, runs with one
// thread and with all threads alternate a few times, and the rest number of the run in this period uses the faster way.
// Results do not depend on it.
//
// This file has no clock and no thread: the caller gives the time of day.
#ifndef BYOC_CORE_RUNTIME_PACE_H_
#define BYOC_CORE_RUNTIME_PACE_H_

#include <stdbool.h>
#include <stdint.h>

// Longer runs always use all threads: a fork-join of a microsecond does not show there.
#define BYOC_PACE_SHORT_NS 100000

typedef struct byoc_pace_t {
  uint32_t run;         // of the period
  bool is_alone;        // this run uses one thread
  bool is_long;         // the last run was not short
  uint64_t start_ns;    // of this run
  uint64_t least_ns[2]; // of the runs on all threads and on one, in this period; 0: none
} byoc_pace_t;

// A run begins. Decides is_alone.
void byoc_pace_begin(byoc_pace_t *pace, uint64_t now_ns);
// The run has succeeded. A run that fails is not counted.
void byoc_pace_end(byoc_pace_t *pace, uint64_t now_ns);

#endif // BYOC_CORE_RUNTIME_PACE_H_
