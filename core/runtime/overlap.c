// SPDX-License-Identifier: Apache-2.0
// Finds inputs and outputs that share bytes.
#include "core/runtime/overlap.h"

#include <stddef.h>

// An output with the bytes of its input replaces that input's span.
static void merge_pairs(byoc_span_t *spans, uint32_t input_count, uint32_t output_count, const int32_t *over) {
  for (uint32_t i = 0; i < output_count; i++) {
    byoc_span_t *output = &spans[input_count + i];
    output->is_written = 1;
    if (over == NULL || over[i] < 0) continue;
    byoc_span_t *input = &spans[over[i]];
    if (input->begin != output->begin || input->size_bytes != output->size_bytes) continue;
    *input = *output;
    output->size_bytes = 0;
  }
}

// Not qsort: the C library's may allocate memory.
static void sort(byoc_span_t *spans, uint32_t count) {
  for (uint32_t gap = count / 2; gap > 0; gap /= 2) {
    for (uint32_t i = gap; i < count; i++) {
      const byoc_span_t span = spans[i];
      uint32_t at = i;
      for (; at >= gap && spans[at - gap].begin > span.begin; at -= gap) spans[at] = spans[at - gap];
      spans[at] = span;
    }
  }
}

int byoc_find_overlap(byoc_span_t *spans, uint32_t input_count, uint32_t output_count, const int32_t *over,
                      uint32_t out_ports[2]) {
  const uint32_t count = input_count + output_count;
  merge_pairs(spans, input_count, output_count, over);
  sort(spans, count);
  // The ends of the spans so far: the farthest of all, and the farthest of those that are written.
  const byoc_span_t *any = NULL, *written = NULL;
  for (uint32_t i = 0; i < count; i++) {
    const byoc_span_t *at = &spans[i], *before = at->is_written ? any : written;
    if (at->size_bytes == 0) continue;
    if (before != NULL && before->begin + before->size_bytes > at->begin) {
      out_ports[0] = before->port < at->port ? before->port : at->port;
      out_ports[1] = before->port < at->port ? at->port : before->port;
      return 1;
    }
    const uintptr_t end = at->begin + at->size_bytes;
    if (any == NULL || end > any->begin + any->size_bytes) any = at;
    if (at->is_written && (written == NULL || end > written->begin + written->size_bytes)) written = at;
  }
  return 0;
}
