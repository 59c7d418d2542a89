// SPDX-License-Identifier: Apache-2.0
// Whether a context's runs repay its threads. Of a model that runs for some microseconds, a second thread may take more
// than it gives: the first run of each period tells whether runs are that short, and then some of them use one thread,
// in turn with others that use all, and the rest of the period goes the faster way. Results are the same either way.
//
// No clock and no thread in here: the caller says what time it is.
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
// It has ended well. A run that fails is not counted.
void byoc_pace_end(byoc_pace_t *pace, uint64_t now_ns);

#endif // BYOC_CORE_RUNTIME_PACE_H_
