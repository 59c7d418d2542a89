// SPDX-License-Identifier: Apache-2.0
// Asks engines and drivers whether the chip at hand is the one that modules were made for. Artifacts and the evaluator
// share it.
#ifndef BYOC_CORE_RUNTIME_FIT_H_
#define BYOC_CORE_RUNTIME_FIT_H_

#include <stdbool.h>

#include "byoc/device.h"
#include "byoc/engine.h"

// Has the table the function that compares?
bool byoc_engine_can_fit(const byoc_engine_t *table);
bool byoc_driver_can_fit(const byoc_driver_t *driver);

// Compares `fits` with the chip at hand: one statement for each function of `init`, and one for the engine's blobs;
// NULL entries: none. If one does not fit, *out_what is its function's symbol, or NULL for the blobs, and
// *out_statement the statement; the engine has said why by set_error. BYOC_VERSION, and set_error is called, for an
// engine without the hook.
int32_t byoc_engine_check_fits(const byoc_engine_t *table, const byoc_engine_init_t *init, const char *const *fits,
                               const char **out_what, const char **out_statement);
// The same for one module of a device.
int32_t byoc_driver_check_fits(const byoc_driver_t *driver, byoc_device_t *device, const byoc_runtime_t *runtime,
                               const char *statement);

// Writes "the engine 'npu' cannot start: 'f' is for 'npu-2': the chip is npu-1".
void byoc_engine_explain_misfit(const char *engine, const char *what, const char *statement, const char *reason,
                                char *text, uint64_t size);

#endif // BYOC_CORE_RUNTIME_FIT_H_
