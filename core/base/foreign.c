// SPDX-License-Identifier: Apache-2.0
// Records which foreign code runs, and ends the process with a message if that code misbehaves.
#define _GNU_SOURCE
#include "core/base/foreign.h"

#include <dlfcn.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/base/foreign_output.h"
#include "core/base/interrupt.h"
#include "core/base/visible.h"

// The owner of `current`: the thread that enters and leaves foreign code while it is OUTSIDE; the thread that reports
// once it is TOLD.
enum { OUTSIDE, INSIDE, TOLD };
typedef struct record_t {
  atomic_bool is_taken; // by a thread of byoc_foreign_join
  atomic_int state;
  byoc_foreign_t current;
  atomic_bool is_timed;     // `current` has a time limit
  _Atomic uint64_t changes; // counts changes of `current`, and calls of the host
} record_t;

// The first one is of all threads that have not joined; one of them at a time runs foreign code.
static record_t records[1 + BYOC_FOREIGN_MOST_THREADS];
enum { RECORD_COUNT = sizeof(records) / sizeof(records[0]) };
static _Thread_local record_t *joined; // NULL: the first one
static atomic_bool is_telling;         // a thread reports, and ends the process
static _Thread_local bool tells;       // this thread does
static const record_t *told;           // its record
static int64_t limit_ms;
static pid_t container; // the process that contains foreign code; 0: none does
static pthread_mutex_t caught_lock = PTHREAD_MUTEX_INITIALIZER;
static atomic_int caught_count; // threads whose foreign code's output is caught
static int message_fd = -1;     // receives a child's message; -1: the terminal does

bool byoc_foreign_is_contained(void) {
  return container != 0 && container == getpid();
}

static record_t *own_record(void) {
  return joined != NULL ? joined : &records[0];
}

// ---- the message: everything here is safe in a signal handler ----

typedef struct message_t {
  char text[4096];
  size_t size;
} message_t;

static void put(message_t *message, const char *text) {
  for (; text != NULL && *text != '\0' && message->size < sizeof(message->text); ++text) {
    message->text[message->size++] = *text;
  }
}

// Names and printed output may hold any bytes. A child's message becomes part of another one, on one line.
static void put_shown(message_t *message, const char *text, size_t size) {
  char shown[BYOC_SHOWN_BYTES];
  for (const char *end = text + size; text < end;) {
    if (*text == '\n') {
      put(message, message_fd < 0 ? "\n  " : " ");
      ++text;
    } else {
      text += byoc_show_character(text, (size_t)(end - text), shown);
      put(message, shown);
    }
  }
}

static void put_named(message_t *message, const char *before, const char *name) {
  if (name == NULL) return;
  put(message, before);
  put_shown(message, name, strlen(name));
  put(message, "'");
}

// `told` is set. Begins "error: the plugin demo 1.0 crashed in its hook accept for the target 'demo'".
static void begin_message(message_t *message, const char *what, const char *preposition) {
  message->size = 0;
  if (message_fd < 0) put(message, "error: ");
  put(message, "the ");
  put(message, told->current.kind);
  put(message, " ");
  put_shown(message, told->current.name, strlen(told->current.name));
  if (told->current.version != NULL) {
    put(message, " ");
    put_shown(message, told->current.version, strlen(told->current.version));
  }
  put(message, " ");
  put(message, what);
  put(message, preposition);
  put(message, told->current.where);
  put_named(message, " for the target '", told->current.target);
  if (told->current.subject == NULL) return;
  put(message, ", ");
  put(message, told->current.subject_kind);
  put_named(message, " '", told->current.subject);
}

static void put_printed(message_t *message, const char *verb) {
  char printed[1024];
  const size_t size = byoc_foreign_output_read(printed, sizeof(printed));
  if (size == 0) return;
  put(message, message_fd >= 0 && verb != NULL ? ", having printed" : verb);
  put(message, message_fd >= 0 ? ": " : ":\n  ");
  put_shown(message, printed, size);
}

_Noreturn static void end_with(message_t *message, const char *hint) {
  if (message_fd < 0) {
    put(message, "\nhint: ");
    put(message, hint);
    put(message, "\n");
  }
  byoc_interrupt_end();
  const int fd = message_fd >= 0 ? message_fd : byoc_foreign_output_terminal();
  for (size_t done = 0; done < message->size;) {
    const ssize_t written = write(fd, message->text + done, message->size - done);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) break;
    done += (size_t)written;
  }
  _exit(EXIT_FAILURE);
}

// True if the record's code runs and this thread has to report it; no other thread then reports anything.
static bool seize_record(record_t *record) {
  int inside = INSIDE;
  if (!byoc_foreign_is_contained() || atomic_exchange(&is_telling, true)) return false;
  if (atomic_compare_exchange_strong(&record->state, &inside, TOLD)) {
    told = record;
    tells = true;
    return true;
  }
  atomic_store(&is_telling, false);
  return false;
}

// The same for the code of this thread, or, if that is a thread of foreign code, for any code that runs.
static bool seize(void) {
  if (seize_record(own_record())) return true;
  for (int i = 0; i < RECORD_COUNT && joined == NULL; ++i) {
    if (seize_record(&records[i])) return true;
  }
  return false;
}

// If another thread reports, this one must not end the process before it has.
static void wait_for_report(void) {
  while (byoc_foreign_is_contained() && atomic_load(&is_telling) && !tells) (void)pause();
}

static const char *advice(void) {
  if (told->current.is_run && strcmp(told->current.kind, "model") == 0) return "byoc debug bisect finds the region";
  if (told->current.is_run) return "byoc inspect lists the plugins of an artifact, byoc debug bisect finds the region";
  return "leave the plugin out, or fix it: byoc-plugin-check calls its hooks one by one";
}

void byoc_foreign_refuse(const char *what) {
  message_t message;
  if (!seize()) {
    wait_for_report();
    return;
  }
  begin_message(&message, what, " in its ");
  put_printed(&message, NULL);
  end_with(&message, advice());
}

// ---- crashes ----

static const int signals[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGTRAP, SIGSYS, SIGALRM};
enum { SIGNAL_COUNT = sizeof(signals) / sizeof(signals[0]) };
static struct sigaction former[SIGNAL_COUNT];

static void crash(int number, siginfo_t *info, void *context) {
  (void)context;
  // The code is not the cause: core/base/interrupt.c reports it on the terminal, and ends the process.
  const bool lost_file = number == SIGBUS && info->si_code == BUS_ADRERR;
  if (lost_file && seize()) {
    byoc_foreign_output_end();
  } else if (!lost_file && seize()) {
    message_t message;
    begin_message(&message, "crashed", " in its ");
    put(&message, ": SIG");
    put(&message, sigabbrev_np(number));
    put(&message, " (");
    put(&message, sigdescr_np(number));
    put(&message, ")");
    const char *name = NULL;
    const bool has_address = number == SIGSEGV && info->si_code > 0 && told->current.explain != NULL;
    const char *what = has_address ? told->current.explain(info->si_addr, &name) : NULL;
    if (what != NULL) {
      put(&message, ": ");
      put_named(&message, what, name);
    }
    put_printed(&message, "\nit printed");
    end_with(&message, advice());
  }
  wait_for_report();
  for (int i = 0; i < SIGNAL_COUNT; ++i) {
    if (signals[i] == number) (void)sigaction(number, &former[i], NULL);
  }
  if (info->si_code <= 0) (void)raise(number); // another process sent it; otherwise the same access fails again
}

// A stack that overflowed has no space for the handler: each thread that enters foreign code gets a signal stack.
enum { SIGNAL_STACK_BYTES = 1 << 16 };
static _Thread_local bool has_asked;
static _Thread_local void *signal_stack; // NULL: the thread got none from here

static void give_stack(void) {
  if (has_asked) return;
  has_asked = true;
  stack_t now;
  if (sigaltstack(NULL, &now) != 0 || (now.ss_flags & SS_DISABLE) == 0) return;
  void *memory = mmap(NULL, SIGNAL_STACK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  const stack_t stack = {.ss_sp = memory, .ss_size = SIGNAL_STACK_BYTES};
  if (memory != MAP_FAILED && sigaltstack(&stack, NULL) == 0) signal_stack = memory;
}

static void take_stack(void) {
  const stack_t none = {.ss_flags = SS_DISABLE};
  if (signal_stack != NULL && sigaltstack(&none, NULL) == 0) (void)munmap(signal_stack, SIGNAL_STACK_BYTES);
  signal_stack = NULL;
  has_asked = false;
}

static void catch_signals(void) {
  struct sigaction action = {.sa_sigaction = crash, .sa_flags = SA_SIGINFO | SA_ONSTACK};
  sigfillset(&action.sa_mask);
  for (size_t i = 0; i < SIGNAL_COUNT; ++i) (void)sigaction(signals[i], &action, &former[i]);
}

// ---- ends ----

static void refuse_exit(void) {
  byoc_foreign_refuse("called exit()");
}

// The thread's value of this key is not NULL.
static void refuse_end_of_thread(void *value) {
  (void)value;
  byoc_foreign_refuse("ended the thread that it was called by");
}

static pthread_key_t end_key;
static bool has_end_key;

static void watch_ends(void) {
  static bool is_watched; // a child inherits it
  if (is_watched) return;
  is_watched = true;
  // exit() calls each handler once, and each thread may call exit().
  for (int i = 0; i < RECORD_COUNT; ++i) {
    (void)atexit(refuse_exit);
    (void)at_quick_exit(refuse_exit);
  }
  has_end_key = pthread_key_create(&end_key, refuse_end_of_thread) == 0;
  if (has_end_key) (void)pthread_setspecific(end_key, &end_key);
}

// ---- sanitizers ----

static void refuse_finding(void) {
  byoc_foreign_refuse("was ended by a sanitizer");
}

// This program or a plugin may be compiled with a sanitizer, which reports on standard error and ends the process by a
// system call. Its report would be lost in the memory that catches output, so it goes to the terminal. A child's report
// becomes part of its message, as far as it fits.
static void hear_sanitizers(void) {
  void (*set_report)(void *fd);
  void (*set_end)(void (*callback)(void));
  *(void **)&set_report = dlsym(RTLD_DEFAULT, "__sanitizer_set_report_fd");
  *(void **)&set_end = dlsym(RTLD_DEFAULT, "__sanitizer_set_death_callback");
  const int fd = message_fd < 0 ? byoc_foreign_output_terminal() : STDERR_FILENO;
  if (set_report != NULL) set_report((void *)(intptr_t)fd);
  if (set_end != NULL) set_end(refuse_finding);
}

// ---- hangs ----

typedef struct turn_t {
  uint64_t seen;
  int64_t turns; // without a change
} turn_t;
enum { TURN_MS = 100 };

// True if the record's code has run for too long, and this thread has to report it.
static bool has_hung(record_t *record, turn_t *turn) {
  const uint64_t now = atomic_load(&record->changes);
  turn->turns = now == turn->seen && atomic_load(&record->is_timed) ? turn->turns + 1 : 0;
  turn->seen = now;
  return turn->turns * TURN_MS >= limit_ms && turn->turns > 0 && seize_record(record);
}

// The watch counts its rounds, not time: while the process is stopped, neither the foreign code nor the watch goes on.
static void *watch(void *started) {
  turn_t turns[RECORD_COUNT] = {0};
  (void)sem_post(started);
  for (bool is_over = false; !is_over;) {
    (void)poll(NULL, 0, TURN_MS);
    for (int i = 0; i < RECORD_COUNT && !is_over; ++i) is_over = has_hung(&records[i], &turns[i]);
  }
  message_t message;
  char limit[64];
  begin_message(&message, "has neither called the host nor come back", " from its ");
  snprintf(limit, sizeof(limit), " within %lld s", (long long)(limit_ms + 999) / 1000);
  put(&message, limit);
  put_printed(&message, "\nit printed");
  end_with(&message, "BYOC_HOOK_TIMEOUT=SECONDS gives hooks more time; 0: all that they want");
}

static pid_t watcher; // the process in which the watch was started: children do not have its thread

// Returns when the thread only waits. During the start of a thread a fork could copy a lock, such as that of a
// sanitizer's allocator, and the child would wait for it without end.
static void start_watch(void) {
  watcher = container;
  pthread_t thread;
  sem_t started;
  sigset_t all, mask;
  sigfillset(&all);
  (void)sem_init(&started, 0, 0);
  (void)pthread_sigmask(SIG_SETMASK, &all, &mask);
  if (pthread_create(&thread, NULL, watch, &started) == 0) {
    while (sem_wait(&started) != 0) {}
    (void)pthread_detach(thread);
  }
  (void)pthread_sigmask(SIG_SETMASK, &mask, NULL);
  (void)sem_destroy(&started);
}

// ---- notes ----

static void contain(void) {
  container = getpid();
  byoc_foreign_output_init();
  catch_signals();
  watch_ends();
  hear_sanitizers();
}

void byoc_foreign_contain(int64_t limit_s) {
  limit_ms = limit_s * 1000;
  contain();
}

void byoc_foreign_contain_in_child(int fd, int64_t most_ms) {
  for (int i = 0; i < RECORD_COUNT; ++i) {
    records[i].current = (byoc_foreign_t){0}; // the parent may have forked in a service for a hook
    atomic_store(&records[i].is_timed, false);
    atomic_store(&records[i].state, OUTSIDE);
  }
  atomic_store(&is_telling, false);
  atomic_store(&caught_count, 0);
  (void)pthread_mutex_init(&caught_lock, NULL); // another thread of the parent may have held it
  joined = NULL;
  message_fd = fd;
  if (most_ms > 0 && (limit_ms == 0 || most_ms < limit_ms)) limit_ms = most_ms;
  contain();
}

// Output is caught while any thread runs foreign code.
static void catch_output(int change) {
  (void)pthread_mutex_lock(&caught_lock);
  const int before = atomic_fetch_add(&caught_count, change);
  if (before == 0) byoc_foreign_output_begin();
  if (before + change == 0) byoc_foreign_output_end();
  (void)pthread_mutex_unlock(&caught_lock);
}

// Changes `current`. If another thread reports it already, this thread waits for the end of the process.
static void become(record_t *record, const byoc_foreign_t *next) {
  const byoc_foreign_t *current = &record->current;
  const bool was_caught = current->kind != NULL && !current->is_run, is_caught = next->kind != NULL && !next->is_run;
  const char *misuse = was_caught ? byoc_foreign_output_misuse() : NULL;
  if (misuse != NULL) byoc_foreign_refuse(misuse);
  int inside = INSIDE;
  if (!atomic_compare_exchange_strong(&record->state, &inside, OUTSIDE) && inside == TOLD) {
    for (;;) (void)pause();
  }
  if (was_caught != is_caught) catch_output(is_caught ? 1 : -1);
  record->current = *next;
  byoc_foreign_beat();
  atomic_store(&record->is_timed, is_caught);
  atomic_store(&record->state, next->kind != NULL ? INSIDE : OUTSIDE);
}

byoc_foreign_t byoc_foreign_enter(const byoc_foreign_t *entered) {
  static const byoc_foreign_t host = {0};
  if (!byoc_foreign_is_contained()) return host;
  record_t *record = own_record();
  const byoc_foreign_t outer = record->current;
  if (limit_ms > 0 && watcher != container) start_watch();
  give_stack();
  become(record, entered != NULL ? entered : &host);
  return outer;
}

void byoc_foreign_leave(const byoc_foreign_t *outer) {
  if (byoc_foreign_is_contained()) become(own_record(), outer);
}

void byoc_foreign_beat(void) {
  atomic_fetch_add(&own_record()->changes, 1);
}

bool byoc_foreign_join(void) {
  if (!byoc_foreign_is_contained()) return true;
  for (int i = 1; i < RECORD_COUNT && joined == NULL; ++i) {
    if (!atomic_exchange(&records[i].is_taken, true)) joined = &records[i];
  }
  if (joined != NULL && has_end_key) (void)pthread_setspecific(end_key, &end_key);
  return joined != NULL;
}

void byoc_foreign_part(void) {
  if (joined == NULL) return;
  if (has_end_key) (void)pthread_setspecific(end_key, NULL);
  take_stack();
  atomic_store(&joined->is_taken, false);
  joined = NULL;
}

void byoc_foreign_start_watch(void) {
  if (byoc_foreign_is_contained() && limit_ms > 0 && watcher != container) start_watch();
}
