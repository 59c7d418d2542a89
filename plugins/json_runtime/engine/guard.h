// SPDX-License-Identifier: Apache-2.0
// Runs a call of oneDNN so that a C++ exception ends there. oneDNN makes small objects in each run; the C++ library
// throws std::bad_alloc where there is no memory for them, and an exception that reaches a C caller ends the process.
#ifndef BYOC_DNNL_GUARD_H_
#define BYOC_DNNL_GUARD_H_

#include "library.h"

// dnnl_primitive_execute; dnnl_out_of_memory if it threw. Exceptions in threads of the OpenMP runtime, and on other
// processors than x86-64, still end the process.
dnnl_status_t byoc_dnnl_guarded_execute(const byoc_dnnl_api_t *api, const_dnnl_primitive_t primitive,
                                        dnnl_stream_t stream, int count, const dnnl_exec_arg_t *arguments);

#endif // BYOC_DNNL_GUARD_H_
