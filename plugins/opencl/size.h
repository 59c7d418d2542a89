// SPDX-License-Identifier: Apache-2.0
// size.h - sizes: those that are known when the kernels are made, and those that a run decides. The latter are extents
// (byoc/device_plugin.h): the host works them out for each launch, and the kernel gets the number as an argument.
#ifndef BYOC_OPENCL_SIZE_H_
#define BYOC_OPENCL_SIZE_H_

#include <stdbool.h>
#include <stdint.h>

#include "byoc/device_plugin.h"

typedef struct byoc_opencl_size_t {
  bool is_open;       // a run decides
  int64_t known;      // otherwise
  const char *extent; // of an open one; NULL if there is none, as while the function is not known yet
} byoc_opencl_size_t;

// The extents of a function, each once. Without a function (only `graph` is set) it needs no deinit.
typedef struct byoc_opencl_sizes_t {
  const byoc_graph_api_t *graph;
  const byoc_device_api_t *device;
  byoc_codegen_t *codegen;
  const byoc_function_t *function; // NULL: it is not known yet
  char **extents;
  uint32_t count, capacity;
  bool failed;        // out of memory
  const char *reason; // why a size that was asked for has no extent; NULL: all have
} byoc_opencl_sizes_t;

// Sizes that are joined in pairs, and pairs of pairs, so that the extent of many is not deep. {0} has none.
typedef struct byoc_opencl_pile_t {
  byoc_opencl_size_t parts[32]; // each joins twice as many sizes as the next one, or more
  uint32_t count;               // of sizes
} byoc_opencl_pile_t;
typedef byoc_opencl_size_t (*byoc_opencl_join_t)(byoc_opencl_sizes_t *sizes, byoc_opencl_size_t left,
                                                 byoc_opencl_size_t right);

void byoc_opencl_sizes_deinit(byoc_opencl_sizes_t *sizes);

byoc_opencl_size_t byoc_opencl_size(int64_t known);
byoc_opencl_size_t byoc_opencl_size_of(byoc_opencl_sizes_t *sizes, const byoc_value_t *value, int32_t axis);
bool byoc_opencl_size_is(byoc_opencl_size_t size, int64_t known);
// False as well if it is not known.
bool byoc_opencl_size_same(byoc_opencl_size_t left, byoc_opencl_size_t right);

byoc_opencl_size_t byoc_opencl_size_add(byoc_opencl_sizes_t *sizes, byoc_opencl_size_t left, byoc_opencl_size_t right);
byoc_opencl_size_t byoc_opencl_size_subtract(byoc_opencl_sizes_t *sizes, byoc_opencl_size_t left,
                                             byoc_opencl_size_t right);
byoc_opencl_size_t byoc_opencl_size_multiply(byoc_opencl_sizes_t *sizes, byoc_opencl_size_t left,
                                             byoc_opencl_size_t right);
// Rounded down, or up. The divisor is positive.
byoc_opencl_size_t byoc_opencl_size_divide(byoc_opencl_sizes_t *sizes, byoc_opencl_size_t size, int64_t divisor);
byoc_opencl_size_t byoc_opencl_size_divide_up(byoc_opencl_sizes_t *sizes, byoc_opencl_size_t size, int64_t divisor);
byoc_opencl_size_t byoc_opencl_size_smaller(byoc_opencl_sizes_t *sizes, byoc_opencl_size_t left,
                                            byoc_opencl_size_t right);
byoc_opencl_size_t byoc_opencl_size_larger(byoc_opencl_sizes_t *sizes, byoc_opencl_size_t left,
                                           byoc_opencl_size_t right);
byoc_opencl_size_t byoc_opencl_size_product(byoc_opencl_sizes_t *sizes, const byoc_opencl_size_t *factors,
                                            int32_t count);

// `join`: byoc_opencl_size_add or byoc_opencl_size_larger, the same for all of a pile.
void byoc_opencl_pile_add(byoc_opencl_sizes_t *sizes, byoc_opencl_join_t join, byoc_opencl_pile_t *pile,
                          byoc_opencl_size_t size);
// All sizes of the pile joined; 0 if it has none.
byoc_opencl_size_t byoc_opencl_pile_total(byoc_opencl_sizes_t *sizes, byoc_opencl_join_t join,
                                          const byoc_opencl_pile_t *pile);

#endif // BYOC_OPENCL_SIZE_H_
