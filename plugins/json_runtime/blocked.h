// SPDX-License-Identifier: Apache-2.0
// blocked.h - blocks as a layout (aBcd16b to oneDNN) of a function's inputs and outputs, which the engine reads and
// writes as it does any layout.
#ifndef BYOC_DNNL_BLOCKED_H_
#define BYOC_DNNL_BLOCKED_H_

#include "draft.h"

// Give a function's input or output its layout if the model has it in blocks. Return NULL, or why the function is
// declined.
const char *byoc_dnnl_draft_blocked_input(byoc_dnnl_draft_t *draft, const byoc_value_t *parameter, int32_t value);
const char *byoc_dnnl_draft_blocked_output(byoc_dnnl_draft_t *draft, const byoc_value_t *result, int32_t value);

#endif // BYOC_DNNL_BLOCKED_H_
