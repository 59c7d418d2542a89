// SPDX-License-Identifier: Apache-2.0
// A library for LD_PRELOAD in which the n-th call of a kind fails.
//
//   BYOC_FAULT=write:command:3 BYOC_FAULT_COUNTS=counts LD_PRELOAD=libbyoc_faults.so byoc build model.onnx
//
// BYOC_FAULT is KIND:WHERE:N, with ":on" after it where all later calls fail, too. WHERE names the processes whose
// calls are counted: `command` is the first process that loads the library, `children` are those that it forks,
// `programs` those that it starts. Without BYOC_FAULT nothing fails. For the kind `disk` N is not a call but a number
// of bytes: whatever would write more than these, in whichever process, finds the disk full.
//
// BYOC_FAULT_COUNTS names a file (removed beforehand) that these processes share: one byoc_fault_count_t for each kind
// and place, then one named "struck", the calls that failed. BYOC_FAULT_TRACE=FILE: calls that fail append to this file
// who called. BYOC_FAULT_WAITS=1: counting starts when the command calls byoc_faults_start().
//
// A test that is linked with the library says itself what fails, by byoc_faults_set().
#ifndef BYOC_TESTS_FAULTS_INJECT_H_
#define BYOC_TESTS_FAULTS_INJECT_H_

#include <dlfcn.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// X(name, errno): what the n-th call of this kind fails with.
#define BYOC_FAULT_LIST(X)                                                                                             \
  X(memory, ENOMEM) /* malloc and its like */                                                                          \
  X(mmap, ENOMEM)                                                                                                      \
  X(open, EMFILE) /* whatever makes a descriptor */                                                                    \
  X(read, EIO)                                                                                                         \
  X(write, ENOSPC)                                                                                                     \
  X(close, EIO)                                                                                                        \
  X(fsync, EIO)                                                                                                        \
  X(folder, ENOSPC) /* mkdir and its like */                                                                           \
  X(rename, EIO)    /* and link */                                                                                     \
  X(fork, EAGAIN)   /* and posix_spawn */                                                                              \
  X(thread, EAGAIN)                                                                                                    \
  X(clock, 0) /* it leaps by an hour */                                                                                \
  X(disk, ENOSPC)

#define BYOC_FAULT_KIND(name, error) BYOC_FAULT_##name,
typedef enum byoc_fault_kind_t { BYOC_FAULT_LIST(BYOC_FAULT_KIND) BYOC_FAULT_KINDS } byoc_fault_kind_t;
#undef BYOC_FAULT_KIND

typedef struct byoc_fault_count_t {
  char name[24]; // "write:command"
  _Atomic uint64_t count;
} byoc_fault_count_t;

// Counts a call; true, with errno set, if it is one that fails.
bool byoc_fault_strikes(byoc_fault_kind_t kind);
// The same for a call that would add bytes to a file: it is one of `kind` and one of `disk`.
bool byoc_fault_strikes_bytes(byoc_fault_kind_t kind, size_t size_bytes);
// Is the disk full?
bool byoc_fault_is_full(void);

// What a host program calls where the part begins that is to be tried, and where it ends. Found by dlsym.
void byoc_faults_start(void);
void byoc_faults_stop(void);
// Blocks of memory that this process holds.
int64_t byoc_faults_blocks(void);
// Counts calls anew and lets one fail as BYOC_FAULT would; NULL: none. In this process and those that it forks.
void byoc_faults_set(const char *fault);
// How many calls failed since.
uint64_t byoc_faults_struck(void);

#define BYOC_FAULT_EXPORT __attribute__((visibility("default")))

// Declares the next definition of a function after this library's.
#define BYOC_FAULT_REAL(type, name, ...)                                                                               \
  static type (*real)(__VA_ARGS__);                                                                                    \
  if (real == NULL) real = (type(*)(__VA_ARGS__))(uintptr_t)dlsym(RTLD_NEXT, #name)

#endif // BYOC_TESTS_FAULTS_INJECT_H_
