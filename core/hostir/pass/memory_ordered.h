// SPDX-License-Identifier: Apache-2.0
// The memory plan of a program with devices. Internal to core/hostir.
#ifndef BYOC_CORE_HOSTIR_PASS_MEMORY_ORDERED_H_
#define BYOC_CORE_HOSTIR_PASS_MEMORY_ORDERED_H_

#include "core/hostir/program/program.h"

// Gives each local buffer a place: in the host's workspace, or in the memory of its scope on its device, which is
// declared if it is not. Two buffers share bytes if they do not live at the same time, in the order of the host, and if
// all commands that use the one have ended before the other is used (happens_before.h), in every iteration of loops.
byoc_status_t byoc_host_plan_ordered(byoc_host_program_t *program, byoc_diag_t *diag);

#endif // BYOC_CORE_HOSTIR_PASS_MEMORY_ORDERED_H_
