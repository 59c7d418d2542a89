// SPDX-License-Identifier: Apache-2.0
// Checks that the artifact's own file has the bytes that byoc wrote.
#ifndef BYOC_CORE_RUNTIME_VERIFY_H_
#define BYOC_CORE_RUNTIME_VERIFY_H_

#include <stdint.h>

// Is the file that this code was loaded from what byoc wrote? Statuses and message are those of byoc_verify_file, and
// BYOC_IO if the file cannot be found or is no longer the one that was loaded. Once the file has passed, it is not read
// again.
int32_t byoc_model_verify_file(char *message, uint64_t size);

#endif // BYOC_CORE_RUNTIME_VERIFY_H_
