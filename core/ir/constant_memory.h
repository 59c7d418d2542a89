// SPDX-License-Identifier: Apache-2.0
// Memory for the data of constants. Internal to core/ir.
#ifndef BYOC_CORE_IR_CONSTANT_MEMORY_H_
#define BYOC_CORE_IR_CONSTANT_MEMORY_H_

#include "core/ir/graph.h"

// Zeroed memory that lives as long as the module, for a tensor of a static type; NULL if out of memory.
void *byoc_constant_memory(byoc_graph_module_t *module, const byoc_type_t *type);

#endif // BYOC_CORE_IR_CONSTANT_MEMORY_H_
