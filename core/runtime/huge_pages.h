// SPDX-License-Identifier: Apache-2.0
// Huge pages for workspaces, and for constants that are larger than the processor's table of pages covers. The file's
// own pages are small, so the constants are copied, once per process; the copy replaces the mapping at the same
// address. The gain depends on the machine: a plain loop over 200 MB reads a fifth faster; generated products, which
// prefetch, are as fast as before within 1 percent. The cost is a copy at the start (half a second for 500 MB) and
// memory that processes do not share.
#ifndef BYOC_CORE_RUNTIME_HUGE_PAGES_H_
#define BYOC_CORE_RUNTIME_HUGE_PAGES_H_

#include <stdbool.h>
#include <stdint.h>

// Moves the whole huge pages in [data, data + size_bytes) of a read-only mapping. Returns false, with nothing changed,
// if there are none or if the kernel or lack of memory prevents it. The range must not be unmapped meanwhile.
bool byoc_model_move_to_huge_pages(const void *data, uint64_t size_bytes);
// Moves them if the first context wants that; all other contexts share its constants. If they cannot be moved, they
// stay in their place.
void byoc_model_place_constants(const void *data, uint64_t size_bytes, bool wanted);
// Memory for a workspace, aligned as buffers are. A large one is on huge pages where the kernel has them: there are
// fewer page faults in the first run, and fewer misses of the table of pages. NULL if out of memory; byoc_memory_free
// frees it.
void *byoc_model_allocate(uint64_t size_bytes);

#endif // BYOC_CORE_RUNTIME_HUGE_PAGES_H_
