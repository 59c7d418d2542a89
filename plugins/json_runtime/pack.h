// pack.h - constants packed at build time.
//
// Each context of an artifact would reorder the weights into the layout that its kernels want: for ResNet-50 100 MB
// read and 100 MB written before the first run. Instead the compiler runs the engine's creation once, and the weights
// travel in the layout that it found. An artifact that meets another processor, where other layouts are wanted,
// reorders as if they were row-major.
#ifndef BYOC_DNNL_PACK_H_
#define BYOC_DNNL_PACK_H_

#include "draft.h"

// Replaces constants by packed ones where the engine would repack them. Returns NULL, or why nothing was packed (text
// in `message`, of 512 bytes); the draft is as good as before in that case.
const char *byoc_dnnl_pack_constants(byoc_dnnl_draft_t *draft, const char *symbol, const int32_t *inputs,
                                     uint32_t input_count, const int32_t *outputs, uint32_t output_count,
                                     char *message);

#endif // BYOC_DNNL_PACK_H_
