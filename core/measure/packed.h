// SPDX-License-Identifier: Apache-2.0
// Times a packed function in a child process of its own: a crash, a hang or a failing status ends only that call.
#ifndef BYOC_CORE_MEASURE_PACKED_H_
#define BYOC_CORE_MEASURE_PACKED_H_

#include "byoc/plugin.h"
#include "core/base/allocator.h"
#include "core/base/diag.h"

// Links the object into a temporary shared object with this compiler (NULL: the default), runs it in a child with
// warm-up, and returns the median. BYOC_TOOL, with the reason, if the child crashed, hung or reported a failure.
byoc_status_t byoc_measure_packed(const byoc_measure_request_t *request, const char *compiler,
                                  byoc_allocator_t allocator, byoc_diag_t *diag, double *out_median_ns);

#endif // BYOC_CORE_MEASURE_PACKED_H_
