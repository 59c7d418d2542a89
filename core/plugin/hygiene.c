// SPDX-License-Identifier: Apache-2.0
// Compares the state of the process before and after a plugin ran.
#include "core/plugin/hygiene.h"

#include <fcntl.h>
#include <fenv.h>
#include <locale.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "core/base/hash.h"

extern char **environ;

// Reads the umask from /proc: umask() cannot read it without setting it, which other threads would see. Empty if it
// cannot be read now.
static void read_umask(char *out, size_t size) {
  out[0] = '\0';
  const int fd = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
  if (fd < 0) return;
  char text[512];
  const ssize_t got = read(fd, text, sizeof(text) - 1);
  close(fd);
  if (got <= 0) return;
  text[got] = '\0';
  const char *line = strstr(text, "Umask:");
  if (line != NULL) snprintf(out, size, "%.*s", (int)strcspn(line, "\n"), line);
}

static uint32_t floating_point_mode(void) {
  uint32_t mode = (uint32_t)fegetround();
#if defined(__SSE__)
  enum { FLAGS = 0x3F }; // the exception flags, which are not part of the mode
  mode ^= __builtin_ia32_stmxcsr() & ~(uint32_t)FLAGS;
#elif defined(__aarch64__)
  uint64_t control;
  __asm__("mrs %0, fpcr" : "=r"(control));
  mode ^= (uint32_t)control;
#endif
  return mode;
}

void byoc_hygiene_take(byoc_hygiene_t *out) {
  memset(out, 0, sizeof(*out));
  if (getcwd(out->folder, sizeof(out->folder)) == NULL) out->folder[0] = '\0';
  read_umask(out->umask, sizeof(out->umask));
  const char *locale = setlocale(LC_ALL, NULL);
  snprintf(out->locale, sizeof(out->locale), "%s", locale != NULL ? locale : "");
  for (char **variable = environ; variable != NULL && *variable != NULL; ++variable) {
    out->environment = byoc_hash_combine(out->environment, byoc_hash_string(*variable));
  }
  for (int signal = 1; signal < NSIG; ++signal) {
    struct sigaction action;
    if (sigaction(signal, NULL, &action) != 0) continue;
    const uintptr_t handler =
        (action.sa_flags & SA_SIGINFO) != 0 ? (uintptr_t)action.sa_sigaction : (uintptr_t)action.sa_handler;
    out->signals = byoc_hash_combine(out->signals, (uint64_t)handler);
  }
  sigset_t blocked;
  const bool is_known = pthread_sigmask(SIG_BLOCK, NULL, &blocked) == 0;
  for (int signal = 1; signal < NSIG && is_known; ++signal) {
    out->blocked_signals = byoc_hash_combine(out->blocked_signals, (uint64_t)sigismember(&blocked, signal));
  }
  out->floating_point = floating_point_mode();
}

const char *byoc_hygiene_changed(const byoc_hygiene_t *before) {
  byoc_hygiene_t now;
  byoc_hygiene_take(&now);
  if (strcmp(before->folder, now.folder) != 0) return "changed the working folder of the process";
  if (before->umask[0] != '\0' && now.umask[0] != '\0' && strcmp(before->umask, now.umask) != 0) {
    return "changed the umask of the process";
  }
  if (strcmp(before->locale, now.locale) != 0) return "changed the locale of the process";
  if (before->environment != now.environment) return "changed the environment of the process";
  if (before->signals != now.signals) return "changed a signal handler of the process";
  if (before->blocked_signals != now.blocked_signals) return "changed which signals its thread blocks";
  if (before->floating_point != now.floating_point) return "changed the floating-point mode of the process";
  return NULL;
}

byoc_status_t byoc_hygiene_check(const byoc_hygiene_t *before, byoc_diag_t *diag) {
  const char *changed = byoc_hygiene_changed(before);
  if (changed == NULL) return BYOC_OK;
  return byoc_diag_error(diag, BYOC_INVALID_DATA, "it %s", changed);
}
