// SPDX-License-Identifier: Apache-2.0
// Watches child processes: their output, their end, their deadlines. Only this file waits for children and reaps them,
// except that core/base/group.c waits for its guard and for groups that a signal ends. core/base/child.h forks
// children, core/base/process.h starts programs.
#ifndef BYOC_CORE_BASE_WATCH_H_
#define BYOC_CORE_BASE_WATCH_H_

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "core/base/string.h"

typedef enum byoc_child_end_t {
  BYOC_CHILD_RUNS,
  BYOC_CHILD_ANSWERED, // its whole answer came
  BYOC_CHILD_EXITED,   // by itself, with the exit code `number`
  BYOC_CHILD_CRASHED,  // by the signal `number`, which its own code caused
  BYOC_CHILD_LATE,     // its time was over
  BYOC_CHILD_ENDED,    // from outside: by the signal `number`, or it was stopped (0) and its time was over
} byoc_child_end_t;

// A process that writes into a pipe.
typedef struct byoc_child_t {
  pid_t pid;
  int fd;              // the reading end of the pipe; -1 once it is closed
  int words_fd;        // the file of its last words; 0 or -1: there is none
  bool leads;          // a new process group
  bool is_program;     // it has ended when the process has; otherwise a whole answer or the end of its pipe is enough
  bool was_stopped;    // for a while
  int64_t deadline_ns; // INT64_MAX: none
  uint32_t timeout_ms; // its time limit, for messages
  // The destination of its output: an answer of a fixed size, a string, or none.
  void *answer;
  size_t answer_size_bytes, received_bytes;
  byoc_string_t *text;
  byoc_child_end_t end;
  int number;
  char last_words[1024]; // its own message about its end; "": none
  int error;             // errno if its end could not be read
} byoc_child_t;

enum { BYOC_CHILDREN_MAX = 256 };

// Waits until one of the children has ended, at most `wait_ms` milliseconds, and reads what they write meanwhile. If
// this thread's task is cancelled (core/base/task.h), the time of all of them is over. A child that has ended is reaped
// and its pipe is closed; if it was forked, processes that it started are killed. Children that ended before are not
// changed. At most BYOC_CHILDREN_MAX.
void byoc_children_watch(byoc_child_t *const *children, size_t count, int64_t wait_ms);
// Waits until this one has ended.
void byoc_child_await(byoc_child_t *child);
// Kills a running child and the processes that it started.
void byoc_child_kill(byoc_child_t *child);

#endif // BYOC_CORE_BASE_WATCH_H_
