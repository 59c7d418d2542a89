// SPDX-License-Identifier: Apache-2.0
// Compares what modules state that they fit with the chip at hand.
#include "core/runtime/fit.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

bool byoc_engine_can_fit(const byoc_engine_t *table) {
  return table->struct_size >= offsetof(byoc_engine_t, fits) + sizeof(table->fits) && table->fits != NULL;
}

bool byoc_driver_can_fit(const byoc_driver_t *driver) {
  return driver->struct_size >= offsetof(byoc_driver_t, fits) + sizeof(driver->fits) && driver->fits != NULL;
}

static int32_t refuse(const byoc_runtime_t *runtime) {
  runtime->set_error(runtime->self, "it has no function 'fits' that compares this with the chip at hand");
  return BYOC_VERSION;
}

int32_t byoc_engine_check_fits(const byoc_engine_t *table, const byoc_engine_init_t *init, const char *const *fits,
                               const char **out_what, const char **out_statement) {
  int32_t status = BYOC_OK;
  const char *last = NULL;
  for (uint32_t i = 0; fits != NULL && i <= init->function_count && status == BYOC_OK; i++) {
    if (fits[i] == NULL || (last != NULL && strcmp(last, fits[i]) == 0)) continue;
    last = fits[i];
    status = byoc_engine_can_fit(table) ? table->fits(init, fits[i]) : refuse(init->runtime);
    if (status == BYOC_OK) continue;
    *out_what = i < init->function_count ? init->functions[i].symbol : NULL;
    *out_statement = fits[i];
  }
  return status;
}

int32_t byoc_driver_check_fits(const byoc_driver_t *driver, byoc_device_t *device, const byoc_runtime_t *runtime,
                               const char *statement) {
  return byoc_driver_can_fit(driver) ? driver->fits(device, statement) : refuse(runtime);
}

void byoc_engine_explain_misfit(const char *engine, const char *what, const char *statement, const char *reason,
                                char *text, uint64_t size) {
  if (what != NULL) {
    (void)snprintf(text, (size_t)size, "the engine '%s' cannot start: '%s' is for '%s': %s", engine, what, statement,
                   reason);
  } else {
    (void)snprintf(text, (size_t)size, "the engine '%s' cannot start: its files are for '%s': %s", engine, statement,
                   reason);
  }
}
