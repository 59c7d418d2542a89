// SPDX-License-Identifier: Apache-2.0
// Foreign code: the hooks of plugins and the functions of artifacts, which byoc calls and others have written.
//
// A caller of foreign code first records what it calls. A process may contain foreign code (byoc_foreign_contain). Then
// a fault of the code ends the process with exit code 1 and a message with the code's name. Faults are a crash (a
// signal, a stack overflow, abort, an uncaught C++ exception), an end of the process or of the thread, output, a
// sanitizer's report, and a call that does not return. Temporary files are removed and started processes are ended
// first. In other processes the records have no effect. Forked children contain foreign code only if they ask for it.
//
// Foreign code runs in one thread at a time, or in several that have joined (byoc_foreign_join). If one of these
// prints, the message may name the code of another one.
#ifndef BYOC_CORE_BASE_FOREIGN_H_
#define BYOC_CORE_BASE_FOREIGN_H_

#include <stdbool.h>
#include <stdint.h>

// "the plugin demo 1.0 [crashed] in its hook accept for the target 'demo', function 'main_0'". The strings must live
// until the code returns.
typedef struct byoc_foreign_t {
  const char *kind, *name, *version;  // "plugin", "demo", "1.0"; kind NULL: no foreign code runs
  const char *where;                  // "hook accept"
  const char *target;                 // NULL: none
  const char *subject_kind, *subject; // the object of its work: "function", "main_0"; NULL: none
  bool is_run;                        // of an artifact: it may print, and has no time limit
  // Explains the address of a crash: "it wrote into the input '" and "x", or NULL. Must be safe in a signal handler.
  // May be NULL.
  const char *(*explain)(const void *address, const char **out_name);
} byoc_foreign_t;

// From now on this process contains foreign code. Call it once, in main, after byoc_interrupt_install. `limit_s` is the
// time for which foreign code may run without a call of the host, in seconds; 0: no limit.
void byoc_foreign_contain(int64_t limit_s);
// The same in a child of a process that contains foreign code: the message goes to `fd`, without a hint. The time limit
// is the smaller one of `most_ms` milliseconds and the parent's; 0: the parent's.
void byoc_foreign_contain_in_child(int fd, int64_t most_ms);
bool byoc_foreign_is_contained(void);
// Records that this thread enters foreign code, or that it works for the host again (NULL). Returns the previous
// record, for byoc_foreign_leave.
byoc_foreign_t byoc_foreign_enter(const byoc_foreign_t *entered);
void byoc_foreign_leave(const byoc_foreign_t *outer);
// Records that the foreign code called the host, so that it does not hang.
void byoc_foreign_beat(void);
// Until byoc_foreign_part, this thread runs foreign code beside other threads, with a record of its own. false: there
// are BYOC_FOREIGN_MOST_THREADS already, so it must not run any. The thread that starts such threads calls
// byoc_foreign_start_watch first.
#define BYOC_FOREIGN_MOST_THREADS 64
bool byoc_foreign_join(void);
void byoc_foreign_part(void);
void byoc_foreign_start_watch(void);
// If contained foreign code runs, ends the process with the message "the plugin ... <what> in its hook ...".
void byoc_foreign_refuse(const char *what);

#endif // BYOC_CORE_BASE_FOREIGN_H_
