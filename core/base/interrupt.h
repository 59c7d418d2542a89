// SPDX-License-Identifier: Apache-2.0
// Handlers of SIGINT and SIGTERM for tools. A handler first calls the registered functions, which end processes and
// remove files that must not outlive this process; then the signal has its usual effect. All calls are safe in a
// handler. SIGBUS is raised if a mapped file was cut short: it ends the tool in the same way, with a message and exit
// code 1.
#ifndef BYOC_CORE_BASE_INTERRUPT_H_
#define BYOC_CORE_BASE_INTERRUPT_H_

#include <pthread.h>
#include <signal.h>

// Call it first in main. An ignored signal stays ignored.
void byoc_interrupt_install(void);

// The stages, in the order in which they are called: processes end before their files are removed.
typedef enum byoc_interrupt_stage_t {
  BYOC_INTERRUPT_PROCESSES,
  BYOC_INTERRUPT_FILES,
  BYOC_INTERRUPT_STAGE_COUNT,
} byoc_interrupt_stage_t;

// Makes the handler call `end` at this stage; `end` must be safe in a signal handler. There is one function per stage,
// and it may be registered again. Register it before the things that it removes are made. Once the handler runs, this
// never returns. The caller must not hold the lock that `end` takes.
void byoc_interrupt_register(byoc_interrupt_stage_t stage, void (*end)(void));

// Calls the registered functions, as the handlers do, before the caller ends the process. Safe in a signal handler. In
// another thread that calls it or is interrupted later, it never returns.
void byoc_interrupt_end(void);

// Takes a lock that the handler takes too, with signals blocked, so that the handler cannot interrupt its holder.
// *out_mask is for the release.
void byoc_interrupt_lock(pthread_mutex_t *lock, sigset_t *out_mask);
void byoc_interrupt_unlock(pthread_mutex_t *lock, const sigset_t *mask);
// The handler's way to take the lock. It never releases the lock, and goes on without it after one second.
void byoc_interrupt_seize(pthread_mutex_t *lock);

#endif // BYOC_CORE_BASE_INTERRUPT_H_
