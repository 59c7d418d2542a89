// SPDX-License-Identifier: Apache-2.0
// Which call fails: reads BYOC_FAULT, and counts calls over all processes. Uses no memory and no file of the C library,
// whose functions this library replaces.
#include "tests/faults/inject.h"

#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

typedef enum scope_t { COMMAND, CHILDREN, PROGRAMS, SCOPES } scope_t;
static const char *const scope_names[SCOPES] = {"command", "children", "programs"};

#define NAME(name, error) #name,
static const char *const kind_names[BYOC_FAULT_KINDS] = {BYOC_FAULT_LIST(NAME)};
#undef NAME
#define ERROR(name, error) error,
static const int errors[BYOC_FAULT_KINDS] = {BYOC_FAULT_LIST(ERROR)};
#undef ERROR

// What all processes share.
typedef struct shared_t {
  byoc_fault_count_t counts[BYOC_FAULT_KINDS][SCOPES], struck, full, root;
} shared_t;

static shared_t *shared; // NULL: nothing is counted
static scope_t scope;    // of this process
static bool waits;
static uint64_t fails_at; // counted from 1; 0: never
static unsigned failing_kind, failing_scope;
static bool fails_on;
static const char *trace_path;

// ---- starting ----

// A word of BYOC_FAULT among names; `count` if it is none of them.
static unsigned take_word(const char **text, const char *const *names, unsigned count) {
  size_t size = strcspn(*text, ":");
  unsigned i = 0;
  while (i < count && (strlen(names[i]) != size || memcmp(*text, names[i], size) != 0)) i++;
  *text += size + ((*text)[size] == ':');
  return i;
}

static void read_fault(const char *text) {
  fails_at = 0;
  if (text == NULL) return;
  failing_kind = take_word(&text, kind_names, BYOC_FAULT_KINDS);
  failing_scope = take_word(&text, scope_names, SCOPES);
  char *end = NULL;
  fails_at = strtoull(text, &end, 10);
  fails_on = strcmp(end, ":on") == 0 || failing_kind == BYOC_FAULT_clock; // time does not leap back
}

// By system calls: the functions that open and map files would be counted by this library.
static void *map_shared(const char *path) {
  int fd = (int)syscall(SYS_openat, AT_FDCWD, path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (fd < 0) return NULL;
  void *memory = NULL;
  if (syscall(SYS_ftruncate, fd, (long)sizeof(shared_t)) == 0) {
    long address = syscall(SYS_mmap, NULL, sizeof(shared_t), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0L);
    if (address != -1) memory = (void *)(intptr_t)address; // NOLINT(performance-no-int-to-ptr)
  }
  syscall(SYS_close, fd);
  return memory;
}

static void name_count(byoc_fault_count_t *count, const char *kind, const char *place) {
  size_t size = strlen(kind), place_size = strlen(place);
  memcpy(count->name, kind, size);
  if (place_size == 0) return;
  count->name[size] = ':';
  memcpy(count->name + size + 1, place, place_size);
}

static void in_forked_child(void) {
  if (scope == COMMAND) scope = CHILDREN;
}

__attribute__((constructor)) static void start(void) {
  const char *path = getenv("BYOC_FAULT_COUNTS");
  if (path == NULL) return;
  read_fault(getenv("BYOC_FAULT"));
  trace_path = getenv("BYOC_FAULT_TRACE");
  waits = getenv("BYOC_FAULT_WAITS") != NULL;
  shared_t *memory = map_shared(path);
  if (memory == NULL) return;
  uint64_t nobody = 0;
  bool is_first = atomic_compare_exchange_strong(&memory->root.count, &nobody, (uint64_t)getpid());
  scope = is_first ? COMMAND : PROGRAMS;
  for (unsigned kind = 0; kind < BYOC_FAULT_KINDS; kind++) {
    for (unsigned i = 0; i < SCOPES; i++) name_count(&memory->counts[kind][i], kind_names[kind], scope_names[i]);
  }
  name_count(&memory->struck, "struck", "");
  name_count(&memory->full, "full", "");
  name_count(&memory->root, "root", "");
  if (trace_path != NULL) {
    void *frames[4];
    (void)backtrace(frames, 4); // the first one loads a library
  }
  pthread_atfork(NULL, NULL, in_forked_child);
  shared = memory;
}

BYOC_FAULT_EXPORT void byoc_faults_start(void) {
  waits = false;
}

BYOC_FAULT_EXPORT void byoc_faults_stop(void) {
  waits = true;
}

BYOC_FAULT_EXPORT void byoc_faults_set(const char *fault) {
  static shared_t own;
  waits = true;
  shared = &own;
  memset(&own, 0, sizeof(own));
  read_fault(fault);
  waits = fault == NULL;
}

BYOC_FAULT_EXPORT uint64_t byoc_faults_struck(void) {
  return shared != NULL ? shared->struck.count : 0;
}

// ---- counting ----

static void trace(byoc_fault_kind_t kind) {
  if (trace_path == NULL) return;
  int fd = (int)syscall(SYS_openat, AT_FDCWD, trace_path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  if (fd < 0) return;
  char line[96];
  int size = snprintf(line, sizeof(line), "%s fails in process %d, called by\n", kind_names[kind], (int)getpid());
  (void)syscall(SYS_write, fd, line, (long)size);
  void *frames[24];
  int count = backtrace(frames, 24);
  backtrace_symbols_fd(frames + 2, count - 2, fd);
  syscall(SYS_close, fd);
}

static bool strike(byoc_fault_kind_t kind) {
  shared->struck.count++;
  trace(kind);
  errno = errors[kind];
  return true;
}

bool byoc_fault_strikes(byoc_fault_kind_t kind) {
  if (shared == NULL || waits) return false;
  uint64_t number = ++shared->counts[kind][scope].count;
  if (fails_at == 0 || kind != failing_kind || scope != failing_scope) return false;
  return number == fails_at || (fails_on && number > fails_at) ? strike(kind) : false;
}

bool byoc_fault_is_full(void) {
  if (shared == NULL || waits || failing_kind != BYOC_FAULT_disk || fails_at == 0 || shared->full.count == 0) {
    return false;
  }
  return strike(BYOC_FAULT_disk);
}

bool byoc_fault_strikes_bytes(byoc_fault_kind_t kind, size_t size_bytes) {
  if (shared == NULL || waits) return false;
  if (byoc_fault_strikes(kind) || byoc_fault_is_full()) return true;
  uint64_t total = atomic_fetch_add(&shared->counts[BYOC_FAULT_disk][COMMAND].count, size_bytes) + size_bytes;
  if (failing_kind != BYOC_FAULT_disk || fails_at == 0 || total < fails_at) return false;
  shared->full.count = 1; // once full, it stays so, even for less
  return strike(BYOC_FAULT_disk);
}
