// SPDX-License-Identifier: Apache-2.0
// layout.h - memory descriptors as JSON, so that constants can travel in the layout that a primitive wants.
//
//   {"padded": [64, 16, 7, 7], "strides": [12544, 784, 112, 16], "blocks": [16], "block_dims": [0]}
//
// The fields are those of oneDNN's blocked layout: dimensions padded to whole blocks, the stride of each outer
// dimension in elements, and the inner blocks from the outermost to the innermost.
#ifndef BYOC_DNNL_LAYOUT_H_
#define BYOC_DNNL_LAYOUT_H_

#include <dnnl.h>
#include <jansson.h>

// The dense row-major descriptor of f32.
void byoc_dnnl_layout_plain(int32_t rank, const dnnl_dims_t dims, dnnl_memory_desc_t *out_desc);
// The same dimensions with the layout left to the primitive.
void byoc_dnnl_layout_any(int32_t rank, const dnnl_dims_t dims, dnnl_memory_desc_t *out_desc);

// True if a descriptor can be written as JSON: blocked, without offset or extra data.
int byoc_dnnl_layout_is_blocked(const dnnl_memory_desc_t *desc);
// A new JSON array of integers; NULL if out of memory.
json_t *byoc_dnnl_json_ints(const int64_t *values, int32_t count);
// The descriptor as a new JSON object; NULL if out of memory.
json_t *byoc_dnnl_layout_emit(const dnnl_memory_desc_t *desc);
// Returns 0 if the object is malformed or does not belong to a tensor of these dimensions.
int byoc_dnnl_layout_parse(const json_t *object, int32_t rank, const dnnl_dims_t dims, dnnl_memory_desc_t *out_desc);

#endif // BYOC_DNNL_LAYOUT_H_
