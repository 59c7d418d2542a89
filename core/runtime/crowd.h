// SPDX-License-Identifier: Apache-2.0
// Finds how many threads pay off beside other programs. If another program uses the processor of a thread, the other
// threads wait for it at the end of each loop: milliseconds for a loop of some microseconds. After each loop the time
// that its last thread saved or cost is added to a balance. If the balance shows a loss, loops use one thread fewer for
// a period, and leave that processor to the other program. Then all threads are tried again. A failed try costs some
// milliseconds and doubles the period, so that tries take a small part of the run time.
//
// This file has no clock and no thread: the caller gives the time of day and the duration of each loop.
#ifndef BYOC_CORE_RUNTIME_CROWD_H_
#define BYOC_CORE_RUNTIME_CROWD_H_

#include <stdbool.h>
#include <stdint.h>

// The largest balance: time that was saved offsets later losses up to this.
#define BYOC_CROWD_CREDIT_NS 2000000
// A thread is left out when the balance is below minus this. A single event, such as an interrupt, costs less.
#define BYOC_CROWD_DEBT_NS 1000000
// The length of the period: the first one, and the longest.
#define BYOC_CROWD_FIRST_NS   8000000
#define BYOC_CROWD_LONGEST_NS 1024000000
// A pause between two loops counts as no more than this of the period, so that programs with rare runs do not try more
// often per run.
#define BYOC_CROWD_PAUSE_NS 20000000
// A try has succeeded when loops on all threads took this long together.
#define BYOC_CROWD_HELD_NS 20000000

// Zeros: nothing is known.
typedef struct byoc_crowd_t {
  int64_t balance_ns;  // time that the last thread saved lately, minus time that it cost
  int64_t held_ns;     // time of loops on all threads since they were tried
  int64_t left_out_ns; // length of this period, or of the last one
  int64_t left_ns;     // the rest of this period
  int64_t seen_ns;     // when the last loop of this period began
  int32_t left_out;    // the number of threads that are left out
  int64_t lost_count;  // kept for the caller: how often the context's own thread has lost its processor
} byoc_crowd_t;

// A loop that has ended.
typedef struct byoc_crowd_loop_t {
  int64_t count;      // iterations
  int32_t shares;     // at least 2: threads
  double quickest_ns; // per iteration, in the fastest chunk
  int64_t taken_ns;   // of the whole loop
  bool has_lost;      // a thread is known to have lost its processor to another program during the loop
} byoc_crowd_loop_t;

// The number of threads to use now: at least one, at most `threads`.
int32_t byoc_crowd_threads(byoc_crowd_t *crowd, int32_t threads, int64_t now_ns);
// Records a loop on that number of threads. A loop whose iterations differ in length is no loss if no thread lost its
// processor and it took at most half as long again as on one thread fewer.
void byoc_crowd_note(byoc_crowd_t *crowd, const byoc_crowd_loop_t *loop, int64_t now_ns);

#endif // BYOC_CORE_RUNTIME_CROWD_H_
