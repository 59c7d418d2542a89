// What SIGINT and SIGTERM do to a tool: processes that it started end, its temporary files go, then the signal does
// what it always does. All of that happens in the handler, by calls that are safe there.
#ifndef BYOC_CORE_BASE_INTERRUPT_H_
#define BYOC_CORE_BASE_INTERRUPT_H_

#include <pthread.h>
#include <signal.h>

// Call it first in main. A signal that is ignored stays ignored.
void byoc_interrupt_install(void);

// A lock that the handler takes too: whoever holds it is not interrupted. *out_mask is for the release.
void byoc_interrupt_lock(pthread_mutex_t *lock, sigset_t *out_mask);
void byoc_interrupt_unlock(pthread_mutex_t *lock, const sigset_t *mask);
// The handler's way to take it, for ever; it goes on without after a second.
void byoc_interrupt_seize(pthread_mutex_t *lock);

#endif // BYOC_CORE_BASE_INTERRUPT_H_
