// SPDX-License-Identifier: Apache-2.0
// How many threads repay themselves beside other programs. A thread whose processor works for another program keeps
// the others waiting at the end of each loop, by milliseconds where the loop takes some microseconds. Each loop tells
// what the last of its threads saved or cost; where the cost prevails, loops use one thread fewer for a while, which
// leaves that processor to the other program and wakes nobody. Then all are tried again: a try costs some milliseconds,
// and the while gets longer from one failed try to the next, so that tries cost a small part of the time that runs
// take.
//
// No clock and no thread in here: the caller says what time it is, and what a loop took.
#ifndef BYOC_CORE_RUNTIME_CROWD_H_
#define BYOC_CORE_RUNTIME_CROWD_H_

#include <stdbool.h>
#include <stdint.h>

// What is saved counts up to this, against what is lost later.
#define BYOC_CROWD_CREDIT_NS 2000000
// From this debt on a thread is left out: something that happens once, such as an interrupt, costs less.
#define BYOC_CROWD_DEBT_NS 1000000
// For how long, at first and at most.
#define BYOC_CROWD_FIRST_NS   8000000
#define BYOC_CROWD_LONGEST_NS 1024000000
// What a pause between two loops counts of that while at most: a try costs those who run now and then as much as
// others.
#define BYOC_CROWD_PAUSE_NS 20000000
// A try that holds for so long, in loops, is a success.
#define BYOC_CROWD_HELD_NS 20000000

// Zeros: nothing is known.
typedef struct byoc_crowd_t {
  int64_t balance_ns;  // what the last thread saved lately, less what it cost
  int64_t held_ns;     // in loops on all threads, since they were tried
  int64_t left_out_ns; // for how long threads are left out this time, or were the last time
  int64_t left_ns;     // of that time
  int64_t seen_ns;     // when the last loop of it began
  int32_t left_out;    // the number of threads
  int64_t lost_count;  // kept for the caller: how often the thread of this context had lost its processor
} byoc_crowd_t;

// A loop that has ended.
typedef struct byoc_crowd_loop_t {
  int64_t count;      // iterations
  int32_t shares;     // at least 2: threads
  double quickest_ns; // for an iteration, in the share that was quickest
  int64_t taken_ns;   // for all
  bool has_lost;      // one of the threads lost its processor to another program on the way, as far as anybody knows
} byoc_crowd_loop_t;

// How many of `threads` are worth using at this time: at least one.
int32_t byoc_crowd_threads(byoc_crowd_t *crowd, int32_t threads, int64_t now_ns);
// Takes note of a loop on as many threads as that. One whose iterations differ does not count as a loss, if it took up
// to half as long again as it would have on fewer threads, and none of them lost its processor.
void byoc_crowd_note(byoc_crowd_t *crowd, const byoc_crowd_loop_t *loop, int64_t now_ns);

#endif // BYOC_CORE_RUNTIME_CROWD_H_
