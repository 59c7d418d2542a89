// SPDX-License-Identifier: Apache-2.0
// Inputs that an artifact is verified with.
#ifndef BYOC_TOOLS_BYOC_VERIFY_INPUTS_H_
#define BYOC_TOOLS_BYOC_VERIFY_INPUTS_H_

#include "core/base/arena.h"
#include "dim_option.h"
#include "tensors.h"

// X(NAME, "how messages call them")
#define BYOC_VERIFY_DATA_LIST(X)                                                                                       \
  X(RANDOM, "random numbers")        /* those of byoc run --random */                                                  \
  X(SIGNED, "signed random numbers") /* floats in [-1, 1), bytes of any value */                                       \
  X(ZEROS, "zeros")                                                                                                    \
  X(WILD, "NaN, infinities and subnormal numbers")
#define BYOC_VERIFY_DATA_ENUM(NAME, text) BYOC_VERIFY_##NAME,
typedef enum byoc_verify_data_t {
  BYOC_VERIFY_DATA_LIST(BYOC_VERIFY_DATA_ENUM) BYOC_VERIFY_DATA_COUNT
} byoc_verify_data_t;
#undef BYOC_VERIFY_DATA_ENUM
const char *byoc_verify_data_name(byoc_verify_data_t data);

// Is the shape of an input open?
bool byoc_verify_is_open(const byoc_ports_t *inputs);
// Gives open dimensions the `attempt`th set of sizes; those of one name have one size. `given`: the items of --dim,
// whose sizes come first. Appends "batch=2, sequence=16" to `out`. False if there is no such set.
bool byoc_verify_size(byoc_ports_t *inputs, const byoc_string_items_t *given, size_t attempt, byoc_string_t *out);
// Fills all inputs; sequences get two items and optionals one, or none with zeros. The arena keeps their memory.
byoc_status_t byoc_verify_fill(byoc_ports_t *inputs, byoc_verify_data_t data, byoc_arena_t *arena, byoc_diag_t *diag);

#endif // BYOC_TOOLS_BYOC_VERIFY_INPUTS_H_
