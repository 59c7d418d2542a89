// SPDX-License-Identifier: Apache-2.0
// Foreign code: what byoc calls but did not write, the hooks of plugins and the functions of artifacts.
//
// Whoever calls it notes before whose it is. A process that contains foreign code ends with a sentence that names it,
// and with exit code 1, where that code crashes (a signal, a stack that overflows, abort, a C++ exception that nobody
// catches), ends the process or its thread, prints, is ended by a sanitizer, or does not come back. Temporary files are
// removed and processes that were started are ended first. In a process that does not contain it the notes have no
// effect, and children that are forked contain it only if they say so.
//
// Foreign code runs in one thread at a time.
#ifndef BYOC_CORE_BASE_FOREIGN_H_
#define BYOC_CORE_BASE_FOREIGN_H_

#include <stdbool.h>
#include <stdint.h>

// "the plugin demo 1.0 [crashed] in its hook accept for the target 'demo', function 'main_0'". The texts live until
// the code returns.
typedef struct byoc_foreign_t {
  const char *kind, *name, *version;  // "plugin", "demo", "1.0"; kind NULL: no foreign code runs
  const char *where;                  // "hook accept"
  const char *target;                 // NULL: none
  const char *subject_kind, *subject; // what it works on: "function", "main_0"; NULL: nothing single
  bool is_run;                        // of an artifact: it may print and takes the time that it takes
  // What it did at the address of a crash: "it wrote into the input '" and "x", or NULL; safe in a signal handler. May
  // itself be NULL.
  const char *(*explain)(const void *address, const char **out_name);
} byoc_foreign_t;

// From now on this process contains foreign code. Call it once, in main, after byoc_interrupt_install. `limit_s` is how
// long foreign code may run without calling the host, in seconds; 0: for ever.
void byoc_foreign_contain(int64_t limit_s);
// The same in a child of a process that contains foreign code: the sentence goes to `fd`, without a hint. At most
// `most_ms` milliseconds without a call, and what the parent allows; 0: what the parent allows.
void byoc_foreign_contain_in_child(int fd, int64_t most_ms);
bool byoc_foreign_is_contained(void);
// Notes that this thread enters foreign code, or that the host works on its behalf for as long as that takes (NULL).
// Returns what it was in before, for byoc_foreign_leave.
byoc_foreign_t byoc_foreign_enter(const byoc_foreign_t *entered);
void byoc_foreign_leave(const byoc_foreign_t *outer);
// The foreign code called the host: it does not hang.
void byoc_foreign_beat(void);
// If foreign code runs that is contained, ends the process with the sentence "the plugin ... <what> in its hook ...".
void byoc_foreign_refuse(const char *what);

#endif // BYOC_CORE_BASE_FOREIGN_H_
