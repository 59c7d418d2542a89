// Checks the artifact's own file.
#define _GNU_SOURCE
#include "core/runtime/artifact/verify.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "byoc/verify.h"

int32_t byoc_model_verify_file(char *message, uint64_t size) {
  static atomic_bool passed;
  if (atomic_load(&passed)) return BYOC_OK;
  Dl_info info;
  if (dladdr(&passed, &info) == 0 || info.dli_fname == NULL) {
    (void)snprintf(message, (size_t)size, "the file of the artifact is not known, so it cannot be checked");
    return BYOC_IO;
  }
  int32_t status = byoc_verify_file(info.dli_fname, message, size);
  if (status == BYOC_OK) atomic_store(&passed, true);
  return status;
}
