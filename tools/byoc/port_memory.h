// SPDX-License-Identifier: Apache-2.0
// The memory of inputs and outputs: the page behind their last bytes belongs to nobody, so that whoever runs past their
// end is found out.
#ifndef BYOC_TOOLS_BYOC_PORT_MEMORY_H_
#define BYOC_TOOLS_BYOC_PORT_MEMORY_H_

#include <stdbool.h>
#include <stddef.h>

// Zeros, aligned to BYOC_BUFFER_ALIGNMENT; NULL if out of memory. `size_bytes` may be 0.
void *byoc_port_memory_make(size_t size_bytes);
void byoc_port_memory_free(void *data, size_t size_bytes); // accepts NULL
// From now on nobody may write it.
void byoc_port_memory_protect(void *data, size_t size_bytes);
// Somebody wrote behind its end, within the bytes that alignment leaves there.
bool byoc_port_memory_is_overrun(const void *data, size_t size_bytes);
// Is the address among its bytes, or in the page behind them?
bool byoc_port_memory_holds(const void *data, size_t size_bytes, const void *address);
bool byoc_port_memory_ends_at(const void *data, size_t size_bytes, const void *address);

#endif // BYOC_TOOLS_BYOC_PORT_MEMORY_H_
