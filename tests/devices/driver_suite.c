// The suite for drivers on a shared object: driver_suite FILE.so [--list] [--ordinal N] [CHECK...]. The file exports
// the table `byoc_driver` and the suite's kernels `byoc_driver_kernels` (suite.h).
#include <dlfcn.h>
#include <stdio.h>

#include "tests/devices/suite.h"

int main(int argc, char **argv) {
  if (argc < 2) {
    fprintf(stderr, "usage: driver_suite FILE.so [--list] [--ordinal N] [CHECK...]\n");
    return 2;
  }
  void *library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
  const byoc_driver_t *driver = library ? dlsym(library, "byoc_driver") : NULL;
  const suite_kernels_t *kernels = driver ? dlsym(library, "byoc_driver_kernels") : NULL;
  if (!kernels) {
    fprintf(stderr, "driver_suite: %s\n", dlerror());
    return 2;
  }
  argv[1] = argv[0];
  return suite_run(driver, kernels, argc - 1, argv + 1);
}
