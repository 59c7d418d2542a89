// SPDX-License-Identifier: Apache-2.0
// bundle.h - loads shared libraries that travel inside the artifact.
#ifndef BYOC_DNNL_BUNDLE_H_
#define BYOC_DNNL_BUNDLE_H_

#include "byoc/engine.h"
#include "engine/library/error.h"

// Finds a library of this soname in the process; NULL if it has none. It fails if only a part of the library is there:
// if dlopen of glibc 2.35 or newer lacks memory for its very last step, it keeps the unfinished library, and returns it
// as the whole library from then on. Unwinding the stack and thread variables do not work in such a library.
int32_t byoc_dnnl_find_loaded(const char *soname, void **out_handle, byoc_dnnl_error_t *error);

// Loads the blobs in their order, which must be that of their dependencies, and hands back the dlopen handle of the
// one named `soname`. A library whose name the process already knows is used instead of its blob. The blobs must stay
// mapped for the process' life (an artifact that bundles libraries is never unmapped: see bundle.c).
int32_t byoc_dnnl_bundle_load(const byoc_engine_blob_t *blobs, uint32_t blob_count, const char *soname,
                              void **out_handle, byoc_dnnl_error_t *error);

#endif // BYOC_DNNL_BUNDLE_H_
