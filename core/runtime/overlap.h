// SPDX-License-Identifier: Apache-2.0
// Which of a run's inputs and outputs share bytes. Inputs may share them with each other, an output with nothing but
// the input that it was declared to be written over.
#ifndef BYOC_CORE_RUNTIME_OVERLAP_H_
#define BYOC_CORE_RUNTIME_OVERLAP_H_

#include <stdint.h>

// The bytes of one input or output; inputs come first, then outputs.
typedef struct byoc_span_t {
  uintptr_t begin;
  uint64_t size_bytes; // 0: it takes no part
  uint32_t port, is_written;
} byoc_span_t;

// A size that a caller gives may reach beyond the end of all addresses; then the span ends there.
static inline byoc_span_t byoc_span_of(const void *data, uint64_t size_bytes, uint32_t port) {
  const uint64_t most = UINTPTR_MAX - (uintptr_t)data;
  return (byoc_span_t){(uintptr_t)data, data == 0 ? 0 : size_bytes < most ? size_bytes : most, port, 0};
}

// Returns 1, and the two ports, if an output shares bytes with another port. `over` tells for each output which input
// it may be written over (-1: none); then both must be the same bytes, or share none. NULL: there is no such pair.
// Sorts the spans, which come in order of their ports.
int byoc_find_overlap(byoc_span_t *spans, uint32_t input_count, uint32_t output_count, const int32_t *over,
                      uint32_t out_ports[2]);

#endif // BYOC_CORE_RUNTIME_OVERLAP_H_
