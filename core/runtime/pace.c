// SPDX-License-Identifier: Apache-2.0
// Chooses between one thread and all of them for runs that are short.
#include "core/runtime/pace.h"

// The first runs bring data into the caches and wake the threads. Then some runs use one thread, and as many use all.
// The least time of each kind counts, because nothing interrupted that run.
enum { WARM_UP = 3, TRIALS = 2 * 8, PERIOD = 4096 };

void byoc_pace_begin(byoc_pace_t *pace, uint64_t now_ns) {
  if (pace->run == PERIOD) *pace = (byoc_pace_t){.is_long = pace->is_long};
  pace->start_ns = now_ns;
  if (pace->run < WARM_UP || pace->is_long) {
    pace->is_alone = false;
  } else if (pace->run < WARM_UP + TRIALS) {
    pace->is_alone = (pace->run - WARM_UP) % 2 == 1;
  } else {
    pace->is_alone = pace->least_ns[1] != 0 && pace->least_ns[1] < pace->least_ns[0];
  }
}

void byoc_pace_end(byoc_pace_t *pace, uint64_t now_ns) {
  const uint64_t taken_ns = now_ns > pace->start_ns ? now_ns - pace->start_ns : 1;
  pace->is_long = taken_ns >= BYOC_PACE_SHORT_NS;
  uint64_t *least_ns = &pace->least_ns[pace->is_alone];
  const bool is_tried = pace->run >= WARM_UP && pace->run < WARM_UP + TRIALS;
  if (is_tried && (*least_ns == 0 || taken_ns < *least_ns)) *least_ns = taken_ns;
  pace->run += 1;
}
