// Notes which hook runs, and tells when it ends the process.
#include "core/plugin/hook.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "core/base/file.h"
#include "core/base/visible.h"

static _Thread_local byoc_hook_t current;

// Runs among the exit handlers, in the thread that called exit().
static void refuse_exit(void) {
  if (current.name == NULL) return;
  const byoc_target_kind_t *kind = current.target->kind;
  fprintf(stderr, "error: the plugin %s %s called exit() in its hook %s for the target '%s'", kind->plugin_name,
          kind->plugin_version, current.name, kind->name);
  if (current.function != NULL) {
    fputs(", function '", stderr);
    byoc_write_shown_lines(stderr, current.function);
    fputc('\'', stderr);
  }
  fputs("\nhint: leave the plugin out, or mend it: a hook returns a status\n", stderr);
  byoc_remove_temporaries();
  _exit(EXIT_FAILURE);
}

static void watch_exit(void) {
  (void)atexit(refuse_exit);
}

byoc_hook_t byoc_hook_enter(const byoc_target_t *target, const char *name, const char *function) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  (void)pthread_once(&once, watch_exit);
  const byoc_hook_t outer = current;
  current = (byoc_hook_t){.target = target, .name = name, .function = function};
  return outer;
}

void byoc_hook_leave(const byoc_hook_t *outer) {
  current = *outer;
}

bool byoc_hook_accept(const byoc_rule_t *rule, byoc_region_t *region) {
  const byoc_hook_t outer = byoc_hook_enter(region->target, "accept", NULL);
  const bool accepted = rule->accept(region->target->kind->backend->self, region) != 0;
  byoc_hook_leave(&outer);
  return accepted;
}
