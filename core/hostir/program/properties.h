// SPDX-License-Identifier: Apache-2.0
// Analysis results of a host program, which passes need, give and keep (core/hostir/pass/pass.h).
#ifndef BYOC_CORE_HOSTIR_PROGRAM_PROPERTIES_H_
#define BYOC_CORE_HOSTIR_PROGRAM_PROPERTIES_H_

#include "core/hostir/program/program.h"

typedef enum byoc_host_property_t {
  BYOC_HOST_LIFETIMES = 1, // each local buffer that is used is allocated and freed
  BYOC_HOST_PLAN = 2,      // and has its place in the workspace
  BYOC_HOST_ORDER = 4,     // commands are ordered where memory needs it: only the verifier knows
} byoc_host_property_t;

// The results that hold (byoc_host_property_t); false if out of memory.
bool byoc_host_program_properties(const byoc_host_program_t *program, uint32_t *out_properties);

#endif // BYOC_CORE_HOSTIR_PROGRAM_PROPERTIES_H_
