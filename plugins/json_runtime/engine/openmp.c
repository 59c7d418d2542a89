#define _GNU_SOURCE // environ, RTLD_NOLOAD
#include "openmp.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// About 30 microseconds: longer than the gap between two primitives, shorter than what a descheduled thread costs.
static char openmp_setting[] = "GOMP_SPINCOUNT=2000";

// Both are used under the loader's lock only. The changed environment is never freed, as another thread may be reading
// it, and is made once per process.
static char **openmp_saved, **openmp_changed;

void byoc_dnnl_openmp_enter(void) {
  openmp_saved = NULL;
  if (environ == NULL || getenv("GOMP_SPINCOUNT") != NULL || getenv("OMP_WAIT_POLICY") != NULL) return;
  void *loaded = dlopen("libgomp.so.1", RTLD_LAZY | RTLD_NOLOAD);
  if (loaded != NULL) {
    (void)dlclose(loaded);
    return;
  }
  size_t count = 0;
  while (environ[count] != NULL) ++count;
  if (openmp_changed != NULL) return; // an earlier load failed; not worth a second copy
  openmp_changed = malloc((count + 2) * sizeof(*openmp_changed));
  if (openmp_changed == NULL) return;
  memcpy(openmp_changed, environ, count * sizeof(*openmp_changed));
  openmp_changed[count] = openmp_setting;
  openmp_changed[count + 1] = NULL;
  openmp_saved = environ;
  environ = openmp_changed;
}

void byoc_dnnl_openmp_leave(void) {
  if (openmp_saved != NULL && environ == openmp_changed) environ = openmp_saved;
  openmp_saved = NULL;
}
