// SPDX-License-Identifier: Apache-2.0
// generate.h - the backend's code generator.
#ifndef BYOC_DNNL_GENERATE_H_
#define BYOC_DNNL_GENERATE_H_

#include "byoc/plugin.h"

#define BYOC_DNNL_ENGINE_NAME "dnnl"

// Options of the target, as plugin.c declares them.
#define BYOC_DNNL_OPTION_DEPLOY   "deploy"
#define BYOC_DNNL_OPTION_WINOGRAD "winograd"
#define BYOC_DNNL_OPTION_PACK     "pack"
#define BYOC_DNNL_OPTION_SHAPES   "shapes"

// The generate hook: one JSON module per function, and the engine once.
int32_t byoc_dnnl_generate(const byoc_host_t *host, byoc_codegen_t *codegen);

#endif // BYOC_DNNL_GENERATE_H_
