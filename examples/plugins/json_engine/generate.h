// SPDX-License-Identifier: Apache-2.0
// generate.h - the code generator of the target.
#ifndef XNNPACK_GENERATE_H_
#define XNNPACK_GENERATE_H_

#include "byoc/plugin.h"

// Answers all functions of `codegen`, and adds the engine if it runs any of them.
int32_t xnnpack_generate(const byoc_host_t *host, byoc_codegen_t *codegen);

#endif // XNNPACK_GENERATE_H_
