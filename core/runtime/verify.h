// SPDX-License-Identifier: Apache-2.0
// Checks that the artifact's own file has the bytes that byoc wrote.
#ifndef BYOC_CORE_RUNTIME_VERIFY_H_
#define BYOC_CORE_RUNTIME_VERIFY_H_

#include <stdint.h>

// Checks that the file of this code is unchanged since byoc wrote it. Statuses and message are those of
// byoc_verify_file, or BYOC_IO if the file cannot be found or was replaced after it was loaded. A file that has passed
// is not read again.
int32_t byoc_model_verify_file(char *message, uint64_t size);

#endif // BYOC_CORE_RUNTIME_VERIFY_H_
