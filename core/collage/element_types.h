// SPDX-License-Identifier: Apache-2.0
// Element types for byoc explain: those of regions, and those because of which a target did not get a node.
#ifndef BYOC_CORE_COLLAGE_ELEMENT_TYPES_H_
#define BYOC_CORE_COLLAGE_ELEMENT_TYPES_H_

#include "core/base/string.h"
#include "core/collage/candidate.h"
#include "core/targets/target.h"

// Appends the element types that a region reads and gives, each once: "u8, i8 -> u8". Of constants only those with at
// least two dimensions count, so that scales, zero points and biases do not hide the types of data and weights.
void byoc_region_types(const byoc_dataflow_t *flow, const byoc_index_set_t *nodes, byoc_string_t *out);

// Adds a refusal for each match that only the tests of type in a rule's pattern prevent, if the target has no candidate
// with the node. If the choice is not NULL, it is that of a greedy placement: a node that went to an earlier target is
// left out.
byoc_status_t byoc_candidates_refuse_types(byoc_candidates_t *list, const byoc_dataflow_t *flow,
                                           const byoc_target_list_t *targets, const uint32_t *greedy_choice,
                                           size_t choice_count, byoc_diag_t *diag);

#endif // BYOC_CORE_COLLAGE_ELEMENT_TYPES_H_
