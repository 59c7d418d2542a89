// SPDX-License-Identifier: Apache-2.0
// Sequences and optionals as files: a tensor is NAME.npy, a sequence a folder NAME that holds 0.npy, 1.npy, ... (or
// folders 0, 1, ..., for sequences of sequences). An optional is what it holds, and nothing if it is empty.
#ifndef BYOC_TOOLS_BYOC_CONTAINERS_H_
#define BYOC_TOOLS_BYOC_CONTAINERS_H_

#include "tensors.h"

// Is it a sequence or an optional?
bool byoc_port_is_container(const byoc_port_t *port);

// Reads what the port takes from a folder or a file, or makes an empty optional if `path` is "". BYOC_INVALID_DATA if
// an item has another type, or if the folder holds an item but not the one before it. byoc_container_free frees it.
byoc_status_t byoc_container_read(const byoc_port_t *port, const char *path, byoc_diag_t *diag,
                                  byoc_argument_t *out_value);
void byoc_container_free(byoc_argument_t *value); // one of byoc_container_read, or all zero

// Writes a value as the file `stem`.npy or the folder `stem`. Files of an earlier value are removed: further items
// of a longer sequence, the file of an optional that is empty now. BYOC_UNSUPPORTED for optionals in a sequence.
byoc_status_t byoc_container_save(const byoc_argument_t *value, const char *stem, byoc_diag_t *diag);

#endif // BYOC_TOOLS_BYOC_CONTAINERS_H_
