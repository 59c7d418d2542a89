// What SIGINT and SIGTERM do to a tool: those who keep something that must not outlive it are called, then the signal
// does what it always does. All of that happens in the handler, by calls that are safe there. SIGBUS, which comes where
// a mapped file was cut short, ends the tool in the same way, with a sentence and exit code 1.
#ifndef BYOC_CORE_BASE_INTERRUPT_H_
#define BYOC_CORE_BASE_INTERRUPT_H_

#include <pthread.h>
#include <signal.h>

// Call it first in main. A signal that is ignored stays ignored.
void byoc_interrupt_install(void);

// Who is called, in this order: processes end before their files go.
typedef enum byoc_interrupt_stage_t {
  BYOC_INTERRUPT_PROCESSES,
  BYOC_INTERRUPT_FILES,
  BYOC_INTERRUPT_STAGE_COUNT,
} byoc_interrupt_stage_t;

// Has the handler call `end`, which must be safe in the handler of a signal, at this stage; one function for each
// stage, as often as one likes. It is called before what `end` ends is made; once the handler runs it never returns.
// The caller does not hold its lock.
void byoc_interrupt_register(byoc_interrupt_stage_t stage, void (*end)(void));

// A lock that the handler takes too: whoever holds it is not interrupted. *out_mask is for the release.
void byoc_interrupt_lock(pthread_mutex_t *lock, sigset_t *out_mask);
void byoc_interrupt_unlock(pthread_mutex_t *lock, const sigset_t *mask);
// The handler's way to take it, for ever; it goes on without after a second.
void byoc_interrupt_seize(pthread_mutex_t *lock);

#endif // BYOC_CORE_BASE_INTERRUPT_H_
