// SPDX-License-Identifier: Apache-2.0
// The sources of the runtime that artifacts carry, as they travel inside this program. Internal to core/compose.
#ifndef BYOC_CORE_COMPOSE_CC_RUNTIME_FILES_H_
#define BYOC_CORE_COMPOSE_CC_RUNTIME_FILES_H_

#include "core/compose/cc/tool.h"

// All files of core/runtime and core/runtime/plain. They include each other and those that
// byoc_embedded_header lists.
extern const size_t byoc_runtime_file_count;
byoc_embedded_header_t byoc_runtime_file(size_t index);

#endif // BYOC_CORE_COMPOSE_CC_RUNTIME_FILES_H_
