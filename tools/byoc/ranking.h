// SPDX-License-Identifier: Apache-2.0
// The largest scores of a run's outputs, with their labels: byoc run --top.
#ifndef BYOC_TOOLS_BYOC_RANKING_H_
#define BYOC_TOOLS_BYOC_RANKING_H_

#include "tensors.h"

// Prints the `count` largest elements of each row (along the last dimension) of outputs of numbers, the largest first,
// equal ones in their order; of more than four rows the first four. `labels` is a file whose lines name the elements
// from 0 on, or NULL; a file of fewer lines than a row has elements is BYOC_INVALID_DATA.
byoc_status_t byoc_ranking_print(const byoc_ports_t *outputs, size_t count, const char *labels, byoc_diag_t *diag);

#endif // BYOC_TOOLS_BYOC_RANKING_H_
