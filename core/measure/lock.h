// SPDX-License-Identifier: Apache-2.0
// Builds that measure at the same time take turns in timing. Internal to core/measure.
#ifndef BYOC_CORE_MEASURE_LOCK_H_
#define BYOC_CORE_MEASURE_LOCK_H_

#include "core/base/allocator.h"

// Waits for the lock in the cache folder; -1 if it is not available, and timing goes on without it.
int byoc_cost_lock(byoc_allocator_t allocator);
void byoc_cost_unlock(int lock);

#endif // BYOC_CORE_MEASURE_LOCK_H_
