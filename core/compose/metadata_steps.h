// What each step of a host program is and how much it does, for profiles.
#ifndef BYOC_CORE_COMPOSE_METADATA_STEPS_H_
#define BYOC_CORE_COMPOSE_METADATA_STEPS_H_

#include <jansson.h>

#include "core/hostir/program.h"

// [{"name": "conv1", "kind": "packed", "target": "cutlass", "flops": 236027904, "bytes": 3841280}, ...] in the order of
// the generated code. A multiply-add counts as two operations; bytes are those of operands, constants and results, each
// once. `flops` is left out if it is not known. NULL if out of memory.
json_t *byoc_compose_steps_json(const byoc_host_program_t *program);

#endif // BYOC_CORE_COMPOSE_METADATA_STEPS_H_
