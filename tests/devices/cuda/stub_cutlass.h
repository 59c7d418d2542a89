// SPDX-License-Identifier: Apache-2.0
// The kernels of `cutlass -device=cuda` as the stub of libcuda.so.1 computes them.
#ifndef BYOC_TESTS_DEVICES_CUDA_STUB_CUTLASS_H_
#define BYOC_TESTS_DEVICES_CUDA_STUB_CUTLASS_H_

#include <stdbool.h>

#include "tests/devices/sim_kernel.h"

// Runs one work-group of the kernel; false if its name says what is not known here.
bool stub_cutlass_run(const char *name, const sim_group_t *group);

#endif // BYOC_TESTS_DEVICES_CUDA_STUB_CUTLASS_H_
