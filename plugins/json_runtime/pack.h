// SPDX-License-Identifier: Apache-2.0
// pack.h - constants packed at build time.
//
// Without this, each context of an artifact would reorder the weights into the layout that its kernels want: for
// ResNet-50 100 MB read and 100 MB written before the first run. Instead the compiler runs the engine's creation once,
// and the weights travel in the layout that it found. On a processor where other layouts are wanted, an artifact
// reorders them as if they were row-major.
#ifndef BYOC_DNNL_PACK_H_
#define BYOC_DNNL_PACK_H_

#include "draft.h"
#include "engine/library/error.h"

// Replaces constants by packed ones if the engine would repack them. BYOC_OUT_OF_MEMORY: another build of the same
// model, with memory, packs them. Any other failure: oneDNN cannot prepare this function here; the draft is unchanged,
// and an artifact may be made of it.
int32_t byoc_dnnl_pack_constants(byoc_dnnl_draft_t *draft, const char *symbol, const int32_t *inputs,
                                 uint32_t input_count, const int32_t *outputs, uint32_t output_count,
                                 byoc_dnnl_error_t *error);

#endif // BYOC_DNNL_PACK_H_
