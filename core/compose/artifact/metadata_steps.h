// SPDX-License-Identifier: Apache-2.0
// The steps of a host program as JSON, with their work and their results, for profiles and traces.
#ifndef BYOC_CORE_COMPOSE_ARTIFACT_METADATA_STEPS_H_
#define BYOC_CORE_COMPOSE_ARTIFACT_METADATA_STEPS_H_

#include <jansson.h>

#include "core/compose/artifact/compose.h"

// [{"name": "conv1", "kind": "packed", "target": "cutlass", "flops": 236027904, "bytes": 3841280}, ...] in the order of
// the generated code. A multiply-add counts as two operations; bytes are those of operands, constants and results, each
// once. Either is left out if it is not known. A step of a device has "device", its driver. With `trace`, "results" has
// the tensors that a step makes. NULL if out of memory.
json_t *byoc_compose_steps_json(const byoc_host_program_t *program, bool trace);
// {"conv1_out": "relu1_out", "w_folded": null}: tensors of the model and where they went. Views if `views` is set, else
// all others. NULL if out of memory.
json_t *byoc_compose_fused_json(const byoc_compose_options_t *options, byoc_fused_kind_t kind);

// An object for each device of the program: driver, memory in each scope, and bytes that a run copies to it and from
// it. NULL if there is none.
byoc_status_t byoc_compose_devices_json(const byoc_host_program_t *program, byoc_allocator_t allocator,
                                        byoc_diag_t *diag, json_t **out_array);

#endif // BYOC_CORE_COMPOSE_ARTIFACT_METADATA_STEPS_H_
