// SPDX-License-Identifier: Apache-2.0
// Sets how OpenMP's idle workers wait.
#define _GNU_SOURCE // environ, RTLD_NOLOAD
#include "engine/library/openmp.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

// About 30 microseconds: longer than the gap between two primitives, shorter than the cost of a descheduled thread.
static const char openmp_setting[] = "GOMP_SPINCOUNT=2000";

// Both are used under the loader's lock only. The changed environment is never freed, because another thread may be
// reading it. It is made once per process, on pages of its own, because an artifact that is unloaded leaves it behind.
static char **openmp_saved, **openmp_changed;

void byoc_dnnl_openmp_enter(void) {
  openmp_saved = NULL;
  void *loaded = dlopen("libgomp.so.1", RTLD_LAZY | RTLD_NOLOAD);
  if (loaded != NULL) {
    (void)dlclose(loaded);
    return;
  }
  if (environ == NULL || getenv("GOMP_SPINCOUNT") != NULL || getenv("OMP_WAIT_POLICY") != NULL) return;
  if (openmp_changed != NULL) return; // an earlier load, which failed, made one: a second copy is not worth it
  size_t count = 0;
  while (environ[count] != NULL) ++count;
  void *pages = mmap(NULL, (count + 2) * sizeof(*environ) + sizeof(openmp_setting), PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (pages == MAP_FAILED) return;
  openmp_changed = pages;
  memcpy(openmp_changed, environ, count * sizeof(*environ));
  openmp_changed[count] = strcpy((char *)&openmp_changed[count + 2], openmp_setting);
  openmp_changed[count + 1] = NULL;
  openmp_saved = environ;
  environ = openmp_changed;
}

void byoc_dnnl_openmp_leave(void) {
  if (openmp_saved != NULL && environ == openmp_changed) environ = openmp_saved;
  openmp_saved = NULL;
}
