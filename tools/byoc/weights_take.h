// SPDX-License-Identifier: Apache-2.0
// Initialisers of a model from files of arrays.
#ifndef BYOC_TOOLS_BYOC_WEIGHTS_TAKE_H_
#define BYOC_TOOLS_BYOC_WEIGHTS_TAKE_H_

#include "core/compile/build.h"

// Gives initialisers of the model that was read the values of the arrays of their names in a .npz or .safetensors file.
// BYOC_INVALID_DATA for an array that no initialiser is called as, or of another type or shape.
byoc_status_t byoc_weights_take(byoc_build_t *build, const char *path, byoc_diag_t *diag);
// Does the name end as those of such files?
bool byoc_weights_are_arrays(const char *path);

#endif // BYOC_TOOLS_BYOC_WEIGHTS_TAKE_H_
