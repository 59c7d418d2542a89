// SPDX-License-Identifier: Apache-2.0
// primitives.h - creates primitives. oneDNN generates their machine code at that time, which takes most of a start.
#ifndef BYOC_DNNL_PRIMITIVES_H_
#define BYOC_DNNL_PRIMITIVES_H_

#include "engine/function/function.h"

// Creates the primitives of all steps of these functions from their descriptors, which are destroyed. Works on at most
// `thread_count` threads, each with OpenMP's thread count set to that number; the calling thread has it already.
int32_t byoc_dnnl_primitives_create(const byoc_dnnl_api_t *api, byoc_dnnl_function_t *const *functions,
                                    uint32_t function_count, int32_t thread_count, byoc_dnnl_error_t *error);

#endif // BYOC_DNNL_PRIMITIVES_H_
