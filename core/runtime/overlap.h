// SPDX-License-Identifier: Apache-2.0
// Finds inputs and outputs of a run that share bytes. Inputs may share bytes with each other; an output may share them
// only with the input that it is declared to overwrite.
#ifndef BYOC_CORE_RUNTIME_OVERLAP_H_
#define BYOC_CORE_RUNTIME_OVERLAP_H_

#include <stdint.h>

// The bytes of one input or output; inputs come first, then outputs.
typedef struct byoc_span_t {
  uintptr_t begin;
  uint64_t size_bytes; // 0: it overlaps nothing
  uint32_t port, is_written;
} byoc_span_t;

// A caller's size may reach beyond the last address; then the span ends there.
static inline byoc_span_t byoc_span_of(const void *data, uint64_t size_bytes, uint32_t port) {
  const uint64_t most = UINTPTR_MAX - (uintptr_t)data;
  return (byoc_span_t){(uintptr_t)data, data == 0 ? 0 : size_bytes < most ? size_bytes : most, port, 0};
}

// Returns 1, and the two ports, if an output shares bytes with another port. `over` has for each output the input that
// it may overwrite (-1: none): the two must have the same bytes, or share none. `over` NULL: there is no such output.
// The spans are given in the order of their ports, and are sorted.
int byoc_find_overlap(byoc_span_t *spans, uint32_t input_count, uint32_t output_count, const int32_t *over,
                      uint32_t out_ports[2]);

#endif // BYOC_CORE_RUNTIME_OVERLAP_H_
