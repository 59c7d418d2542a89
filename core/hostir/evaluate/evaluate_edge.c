// SPDX-License-Identifier: Apache-2.0
// The workspaces of backends' functions, each at the end of pages behind which no memory may be touched.
#define _GNU_SOURCE
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/base/allocator.h"
#include "core/hostir/evaluate/evaluate_internal.h"

// A function that went further behind its workspace than this crashes somewhere else, or not.
enum { FORBIDDEN_BYTES = 1 << 20 };

// What the last call has, for the handler of signals: of any thread, since functions share their work out.
static const uint8_t *volatile last_edge;
static char last_size[32];

static size_t round_up(size_t size, size_t unit) {
  return (size + unit - 1) / unit * unit;
}

// Makes room for `size` bytes in front of the edge; false if there is none.
static bool grow(byoc_evaluator_t *evaluator, size_t size) {
  if (size <= evaluator->before_edge_bytes) return true;
  byoc_evaluator_drop_edge(evaluator);
  uint8_t *pages = mmap(NULL, size + FORBIDDEN_BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (pages == MAP_FAILED) return false;
  if (mprotect(pages, size, PROT_READ | PROT_WRITE) != 0) {
    (void)munmap(pages, size + FORBIDDEN_BYTES);
    return false;
  }
  evaluator->edge = pages + size;
  evaluator->before_edge_bytes = size;
  return true;
}

void byoc_evaluator_drop_edge(byoc_evaluator_t *evaluator) {
  if (evaluator->edge == NULL) return;
  if (last_edge == evaluator->edge) last_edge = NULL;
  (void)munmap(evaluator->edge - evaluator->before_edge_bytes, evaluator->before_edge_bytes + FORBIDDEN_BYTES);
  evaluator->edge = NULL;
  evaluator->before_edge_bytes = 0;
}

void *byoc_evaluator_edge(byoc_evaluator_t *evaluator, const byoc_call_t *call) {
  const size_t size = round_up((size_t)call->workspace_size_bytes, BYOC_BUFFER_ALIGNMENT);
  if (size == 0 || !grow(evaluator, round_up(size, (size_t)sysconf(_SC_PAGESIZE)))) return call->workspace;
  last_edge = NULL; // while the text changes
  snprintf(last_size, sizeof(last_size), "%llu bytes", (unsigned long long)call->workspace_size_bytes);
  last_edge = evaluator->edge;
  if (evaluator->fills_undefined) memset(evaluator->edge - size, evaluator->undefined, size);
  return evaluator->edge - size;
}

const char *byoc_evaluator_explain(const void *address, const char **out_name) {
  const uint8_t *at = address, *edge = last_edge;
  *out_name = last_size;
  if (edge == NULL || at < edge || at >= edge + FORBIDDEN_BYTES) return NULL;
  return "its workspace is too small: it went beyond '";
}
