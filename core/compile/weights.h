// SPDX-License-Identifier: Apache-2.0
// The location of an artifact's weights, as a user writes it.
#ifndef BYOC_CORE_COMPILE_WEIGHTS_H_
#define BYOC_CORE_COMPILE_WEIGHTS_H_

#include "core/compose/artifact/compose.h"

// Sets `weights` and `weights_path` of the options: "internal", "appended", "external", or the path of a file, which is
// recognised by its ending, .weights, and borrowed. NULL leaves them as they are. `option` is for the message.
byoc_status_t byoc_build_parse_weights(const char *option, const char *text, byoc_compose_options_t *options,
                                       byoc_diag_t *diag);
// The path of the weights file if one is written; NULL: none is written for any model. For byoc_outputs_check; to be
// freed.
byoc_status_t byoc_build_weights_path(const byoc_compose_options_t *options, byoc_allocator_t allocator,
                                      byoc_diag_t *diag, char **out_path);

#endif // BYOC_CORE_COMPILE_WEIGHTS_H_
