// SPDX-License-Identifier: Apache-2.0
// The thread pool of an artifact. A loop takes no lock: a counter of each worker offers it a chunk, and a futex wakes
// it if it sleeps. core/runtime/README.md has the states of a worker.
#define _GNU_SOURCE
#include "core/runtime/pool.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "core/runtime/processors.h"

// Linux, uapi/linux/futex.h, which compilers for musl do not find.
enum { WAIT_PRIVATE = 128, WAKE_PRIVATE = 129 };

// The time for which a thread polls before it sleeps, unless a number of polls is set. It is longer than most kernels
// on one thread and than most pauses between two runs. It is short enough to leave the processor to others.
#define SPIN_NS 200000

// After chunks that take longer than this, a thread asks the system whether it lost its processor. That takes 0.3 us.
#define LONG_SHARE_NS 200000

// One worker, on its own cache line.
typedef struct worker_t {
  // Odd: a chunk is offered. The thread that adds one runs it: this worker, or another one that has finished. With the
  // last odd number the worker ends.
  _Alignas(64) atomic_uint ticket;
  atomic_uint sleeping; // 1: it sleeps on this word, and no thread has woken it
  int64_t share_ns;     // duration of its chunk in the last timed loop
  int64_t lost_count;   // how often its thread had lost its processor at the end of its last long chunk
  bool has_lost;        // that number rose during its last chunk
  uint32_t index;
  pthread_t thread;
} worker_t;

typedef struct job_t {
  byoc_parallel_body_t body;
  void *argument;
  int64_t count;
  int32_t shares;
  bool is_timed;
} job_t;

#define USUAL_TURNS UINT32_MAX

// A point at which another thread may interfere. The unit test compiles this file, and stops threads here.
#ifndef BETWEEN
#define BETWEEN(place, worker) ((void)0)
#endif

static struct {
  // The lock guards these: starting and ending threads.
  pthread_mutex_t lock;
  uint32_t users;
  uint32_t wanted_spin_turns; // USUAL_TURNS: as many as fit into SPIN_NS
  atomic_uint worker_count;   // read without the lock by the thread that runs a loop
  atomic_bool stopping;
  atomic_uint spin_turns;
  atomic_uint resting; // another library's threads need the processors
  // The running loop, owned by the thread that set `busy`. Others read it between `take` and `end_share` of a chunk.
  _Alignas(64) atomic_uint busy; // RISC-V exchanges words, and bytes only by a library
  job_t job;
  _Alignas(64) atomic_uint pending; // chunks that were offered and have not ended
  atomic_uint offered;              // offered chunks that no thread has taken
  atomic_uint caller_sleeping;
  worker_t workers[BYOC_MODEL_MAX_THREADS - 1];
  atomic_uint generation; // number of forks between the first process and this one
} pool = {.lock = PTHREAD_MUTEX_INITIALIZER, .wanted_spin_turns = USUAL_TURNS};

static void futex_wait(atomic_uint *word, unsigned expected) {
  (void)syscall(SYS_futex, word, WAIT_PRIVATE, expected, NULL, NULL, 0);
}

static void futex_wake(atomic_uint *word) {
  (void)syscall(SYS_futex, word, WAKE_PRIVATE, 1, NULL, NULL, 0);
}

static inline void pause_briefly(void) {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ volatile("yield");
#endif
}

static int64_t now_ns(void) {
  struct timespec now;
  (void)clock_gettime(CLOCK_MONOTONIC, &now);
  return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

// A pause takes from 4 to some hundred cycles. The fastest of some trials counts, because others may be interrupted.
static uint32_t usual_iterations(void) {
  enum { TRIALS = 5, TURNS = 200 };
  int64_t least_ns = SPIN_NS;
  for (int trial = 0; trial < TRIALS; trial++) {
    const int64_t start_ns = now_ns();
    for (int i = 0; i < TURNS; i++) pause_briefly();
    const int64_t taken_ns = now_ns() - start_ns;
    if (taken_ns < least_ns) least_ns = taken_ns;
  }
  return (uint32_t)(SPIN_NS * (int64_t)TURNS / (least_ns > 0 ? least_ns : 1));
}

// Has the calling thread lost its processor to another one since *lost_count was counted?
static bool loses_processor(int64_t *lost_count) {
  struct rusage usage;
  if (getrusage(RUSAGE_THREAD, &usage) != 0) return false;
  const bool is_more = usage.ru_nivcsw > *lost_count; // involuntary context switches
  *lost_count = usage.ru_nivcsw;
  return is_more;
}

// Chunks differ in size by at most one; the first ones are larger.
static int64_t share_size(const job_t *job, int32_t index) {
  return job->count / job->shares + (index < job->count % job->shares);
}

static void run_share(const job_t *job, int32_t index) {
  const int64_t size = job->count / job->shares, rest = job->count % job->shares;
  const int64_t begin = size * index + (index < rest ? index : rest);
  job->body(job->argument, begin, begin + share_size(job, index), index);
}

// Runs the chunk of a worker.
static void run_offered(worker_t *worker) {
  const int64_t start_ns = pool.job.is_timed ? now_ns() : 0;
  run_share(&pool.job, (int32_t)worker->index + 1);
  if (pool.job.is_timed) worker->share_ns = now_ns() - start_ns;
}

// Takes the chunk of the worker, if it is still offered.
static bool take(worker_t *worker) {
  unsigned ticket = atomic_load_explicit(&worker->ticket, memory_order_relaxed);
  if (ticket % 2 == 0 || !atomic_compare_exchange_strong(&worker->ticket, &ticket, ticket + 1)) return false;
  atomic_fetch_sub_explicit(&pool.offered, 1, memory_order_relaxed);
  return true;
}

static void end_share(void) {
  if (atomic_fetch_sub(&pool.pending, 1) == 1 && atomic_load(&pool.caller_sleeping) != 0) futex_wake(&pool.pending);
}

// Runs chunks of threads that have not begun, because they sleep or have no processor. So a loop takes no longer than
// on the threads that run. The calling thread has not ended its own chunk yet.
static void help(void) {
  for (int32_t i = 0; i + 1 < pool.job.shares; i++) {
    if (atomic_load_explicit(&pool.offered, memory_order_relaxed) == 0) return;
    if (!take(&pool.workers[i])) continue;
    run_offered(&pool.workers[i]);
    pool.workers[i].has_lost = false;
    end_share();
  }
}

static void await_ticket(worker_t *worker) {
  for (;;) {
    unsigned turns = atomic_load_explicit(&pool.spin_turns, memory_order_relaxed);
    unsigned seen = atomic_load_explicit(&worker->ticket, memory_order_acquire);
    for (unsigned i = 0; i < turns && seen % 2 == 0; i++) {
      if (atomic_load_explicit(&pool.resting, memory_order_relaxed) != 0) break;
      pause_briefly();
      seen = atomic_load_explicit(&worker->ticket, memory_order_acquire);
    }
    if (seen % 2 != 0) return;
    // Sequentially consistent: either the caller sees the flag, or this thread sees a ticket other than `seen`. The
    // thread waits on the flag and not on the ticket. A caller may have read the flag earlier and clear it only now,
    // for a chunk that another thread has already run. Then this thread must stay awake, because no caller would know
    // that it sleeps.
    atomic_store(&worker->sleeping, 1);
    BETWEEN(TO_SLEEP, worker);
    if (atomic_load(&worker->ticket) == seen) futex_wait(&worker->sleeping, 1);
    atomic_store_explicit(&worker->sleeping, 0, memory_order_relaxed);
  }
}

// Offers the worker its chunk, and wakes it if it sleeps. It then polls for as long as other workers do.
static void offer(worker_t *worker) {
  atomic_fetch_add(&worker->ticket, 1);
  if (atomic_load(&worker->sleeping) == 0) return;
  BETWEEN(TO_WAKE, worker);
  if (atomic_exchange(&worker->sleeping, 0) != 0) futex_wake(&worker->sleeping);
}

static void *work(void *self) {
  worker_t *worker = self;
  for (;;) {
    await_ticket(worker);
    BETWEEN(TO_TAKE, worker);
    if (!take(worker)) continue;
    // Read only after `take`: another thread may have run the chunk of the ticket that this thread saw.
    if (atomic_load_explicit(&pool.stopping, memory_order_relaxed)) return NULL;
    run_offered(worker);
    worker->has_lost = pool.job.is_timed && worker->share_ns > LONG_SHARE_NS && loses_processor(&worker->lost_count);
    help();
    end_share();
  }
}

static void await_workers(void) {
  unsigned turns = atomic_load_explicit(&pool.spin_turns, memory_order_relaxed);
  for (unsigned i = 0; i < turns; i++) {
    if (atomic_load_explicit(&pool.pending, memory_order_acquire) == 0) return;
    pause_briefly();
  }
  atomic_store(&pool.caller_sleeping, 1);
  unsigned left;
  while ((left = atomic_load(&pool.pending)) != 0) futex_wait(&pool.pending, left);
  atomic_store_explicit(&pool.caller_sleeping, 0, memory_order_relaxed);
}

// Offers all chunks but the first, runs that one, and returns when all have ended. `busy` is set. Returns the duration
// of the caller's own chunk if the loop is timed.
static int64_t run_job(int64_t start_ns) {
  if (atomic_load_explicit(&pool.resting, memory_order_relaxed) != 0) {
    atomic_store_explicit(&pool.resting, 0, memory_order_relaxed);
  }
  const unsigned offered = (unsigned)pool.job.shares - 1;
  atomic_store_explicit(&pool.pending, offered, memory_order_relaxed);
  atomic_store_explicit(&pool.offered, offered, memory_order_relaxed);
  for (unsigned i = 0; i < offered; i++) offer(&pool.workers[i]);
  run_share(&pool.job, 0);
  const int64_t own_ns = pool.job.is_timed ? now_ns() - start_ns : 0;
  help();
  await_workers();
  return own_ns;
}

// Records the loop that has ended in `crowd`.
static void note_loop(byoc_crowd_t *crowd, int64_t own_ns, int64_t start_ns) {
  const job_t *job = &pool.job;
  const int64_t end_ns = now_ns();
  double quickest_ns = (double)own_ns / (double)share_size(job, 0);
  bool has_lost = own_ns > LONG_SHARE_NS && loses_processor(&crowd->lost_count);
  for (int32_t i = 1; i < job->shares; i++) {
    const double each_ns = (double)pool.workers[i - 1].share_ns / (double)share_size(job, i);
    if (each_ns < quickest_ns) quickest_ns = each_ns;
    has_lost = has_lost || pool.workers[i - 1].has_lost;
  }
  const byoc_crowd_loop_t loop = {.count = job->count,
                                  .shares = job->shares,
                                  .quickest_ns = quickest_ns,
                                  .taken_ns = end_ns - start_ns,
                                  .has_lost = has_lost};
  byoc_crowd_note(crowd, &loop, end_ns);
}

// `crowd` is NULL if the loop uses all threads.
static void run_loop(byoc_crowd_t *crowd, int32_t thread_count, byoc_parallel_body_t body, void *argument,
                     int64_t count, int64_t grain) {
  if (count <= 0) return;
  int64_t shares = count / (grain > 1 ? grain : 1);
  // After a fork there may be fewer threads than the context had acquired.
  const int64_t available = (int64_t)atomic_load_explicit(&pool.worker_count, memory_order_relaxed) + 1;
  if (thread_count > available) thread_count = (int32_t)available;
  const int64_t start_ns = crowd != NULL && shares > 1 ? now_ns() : 0;
  if (crowd != NULL && shares > 1) thread_count = byoc_crowd_threads(crowd, thread_count, start_ns);
  if (shares > thread_count) shares = thread_count;
  if (shares <= 1 || atomic_exchange_explicit(&pool.busy, 1, memory_order_acquire)) {
    body(argument, 0, count, 0);
    return;
  }
  pool.job =
      (job_t){.body = body, .argument = argument, .count = count, .shares = (int32_t)shares, .is_timed = crowd != NULL};
  const int64_t own_ns = run_job(start_ns);
  if (crowd != NULL) note_loop(crowd, own_ns, start_ns);
  atomic_store_explicit(&pool.busy, 0, memory_order_release);
}

void byoc_model_pool_run(int32_t thread_count, byoc_parallel_body_t body, void *argument, int64_t count,
                         int64_t grain) {
  run_loop(NULL, thread_count, body, argument, count, grain);
}

void byoc_model_pool_run_in_crowd(byoc_crowd_t *crowd, int32_t thread_count, byoc_parallel_body_t body, void *argument,
                                  int64_t count, int64_t grain) {
  run_loop(crowd, thread_count, body, argument, count, grain);
}

void byoc_model_pool_rest(void) {
  atomic_store_explicit(&pool.resting, 1, memory_order_relaxed);
}

// Workers block all signals, so that threads of the program receive them.
static bool start_worker(uint32_t index) {
  worker_t *worker = &pool.workers[index];
  worker->index = index;
  atomic_store(&worker->ticket, 0);
  atomic_store(&worker->sleeping, 0);
  sigset_t all, old;
  sigfillset(&all);
  if (pthread_sigmask(SIG_SETMASK, &all, &old) != 0) return false;
  pthread_attr_t attributes;
  bool started = pthread_attr_init(&attributes) == 0;
  if (started) {
    (void)pthread_attr_setstacksize(&attributes, BYOC_WORKER_STACK_BYTES); // the size is valid
    started = pthread_create(&worker->thread, &attributes, work, worker) == 0;
    (void)pthread_attr_destroy(&attributes);
  }
  (void)pthread_sigmask(SIG_SETMASK, &old, NULL);
  return started;
}

// Guards the mappings of weights and huge pages, which the first context makes for all.
static pthread_mutex_t set_up_lock = PTHREAD_MUTEX_INITIALIZER;

// A child has none of the threads; contexts there start new ones. The locks are held during a fork, so that the pool
// and the mappings are consistent in the child.
static void before_fork(void) {
  (void)pthread_mutex_lock(&set_up_lock);
  (void)pthread_mutex_lock(&pool.lock);
}

static void after_fork_in_parent(void) {
  (void)pthread_mutex_unlock(&pool.lock);
  (void)pthread_mutex_unlock(&set_up_lock);
}

static void after_fork_in_child(void) {
  atomic_store(&pool.worker_count, 0);
  atomic_store(&pool.pending, 0);
  atomic_store(&pool.caller_sleeping, 0);
  atomic_store(&pool.busy, 0);
  atomic_fetch_add(&pool.generation, 1);
  (void)pthread_mutex_unlock(&pool.lock); // this thread took both in before_fork
  (void)pthread_mutex_unlock(&set_up_lock);
}

static bool handles_forks;
static void handle_forks(void) {
  handles_forks = pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child) == 0;
}

uint32_t byoc_model_fork_generation(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  (void)pthread_once(&once, handle_forks);
  return atomic_load_explicit(&pool.generation, memory_order_relaxed);
}

void byoc_model_set_up_begin(void) {
  (void)byoc_model_fork_generation(); // from here on, forks wait
  (void)pthread_mutex_lock(&set_up_lock);
}

void byoc_model_set_up_end(void) {
  (void)pthread_mutex_unlock(&set_up_lock);
}

void byoc_model_pool_set_spin(uint32_t turns) {
  pthread_mutex_lock(&pool.lock);
  pool.wanted_spin_turns = turns;
  pthread_mutex_unlock(&pool.lock);
}

int32_t byoc_model_pool_acquire(int32_t thread_count) {
  if (thread_count > BYOC_MODEL_MAX_THREADS) thread_count = BYOC_MODEL_MAX_THREADS;
  (void)byoc_model_fork_generation();
  if (!handles_forks) thread_count = 1; // a fork would lose threads without notice
  pthread_mutex_lock(&pool.lock);
  pool.users++;
  uint32_t count = atomic_load(&pool.worker_count);
  while ((int32_t)count + 1 < thread_count && start_worker(count)) atomic_store(&pool.worker_count, ++count);
  int32_t available = (int32_t)count + 1;
  if (pool.wanted_spin_turns == USUAL_TURNS) pool.wanted_spin_turns = usual_iterations();
  // With more threads than processors, a thread that spins takes time from one that works.
  atomic_store(&pool.spin_turns, available <= byoc_model_processor_count() ? pool.wanted_spin_turns : 0);
  pthread_mutex_unlock(&pool.lock);
  return available < thread_count ? available : thread_count;
}

// Does not change `sleeping`: a worker that has not begun to wait misses this call, and the next chunk wakes it.
void byoc_model_pool_wake(int32_t thread_count) {
  const bool sleeps_at_once = atomic_load_explicit(&pool.spin_turns, memory_order_relaxed) == 0 ||
                              atomic_load_explicit(&pool.resting, memory_order_relaxed) != 0;
  if (sleeps_at_once) return;
  const uint32_t there = atomic_load_explicit(&pool.worker_count, memory_order_relaxed);
  for (uint32_t i = 0; i < there && (int32_t)i + 1 < thread_count; i++) {
    worker_t *worker = &pool.workers[i];
    if (atomic_load_explicit(&worker->sleeping, memory_order_relaxed) != 0) futex_wake(&worker->sleeping);
  }
}

void byoc_model_pool_release(void) {
  pthread_mutex_lock(&pool.lock);
  if (--pool.users == 0) {
    atomic_store(&pool.stopping, true);
    uint32_t count = atomic_load(&pool.worker_count);
    for (uint32_t i = 0; i < count; i++) offer(&pool.workers[i]);
    for (uint32_t i = 0; i < count; i++) (void)pthread_join(pool.workers[i].thread, NULL);
    atomic_store(&pool.worker_count, 0);
    atomic_store(&pool.stopping, false);
  }
  pthread_mutex_unlock(&pool.lock);
}
