// SPDX-License-Identifier: Apache-2.0
// The lineage of a model's tensors: passes remove some, and kernels and backends compute several operators at once. The
// names are noted before the passes run; afterwards each one that no instruction makes is followed along its readers,
// up to one that some instruction makes.
#ifndef BYOC_CORE_COMPILE_LINEAGE_H_
#define BYOC_CORE_COMPILE_LINEAGE_H_

#include "core/compose/artifact/compose.h"
#include "core/hostir/program/program.h"

typedef struct byoc_lineage_t byoc_lineage_t;

// Notes the module's tensors and their readers. The module may change or end afterwards.
byoc_status_t byoc_lineage_create(const byoc_graph_module_t *module, byoc_allocator_t allocator, byoc_diag_t *diag,
                                  byoc_lineage_t **out_lineage);
void byoc_lineage_destroy(byoc_lineage_t *lineage); // accepts NULL
// Lists the tensors that no instruction makes and that are no inputs, in the model's order, then the program's views.
// The list belongs to the lineage, the names of views to the program.
byoc_status_t byoc_lineage_follow(byoc_lineage_t *lineage, const byoc_host_program_t *program, byoc_diag_t *diag,
                                  const byoc_fused_t **out_fused, size_t *out_count);

#endif // BYOC_CORE_COMPILE_LINEAGE_H_
