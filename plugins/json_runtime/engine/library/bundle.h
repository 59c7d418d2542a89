// SPDX-License-Identifier: Apache-2.0
// bundle.h - loads shared libraries that travel inside the artifact.
#ifndef BYOC_DNNL_BUNDLE_H_
#define BYOC_DNNL_BUNDLE_H_

#include "byoc/engine.h"
#include "engine/library/error.h"

// Finds a library of this soname in the process; NULL if it has none. It fails where the library is there in part:
// dlopen of glibc 2.35 and newer keeps what it has of a library where it lacks memory for the very last step, and hands
// that out as the whole library from then on. What it lacks then is what unwinds the stack, and thread variables.
int32_t byoc_dnnl_find_loaded(const char *soname, void **out_handle, byoc_dnnl_error_t *error);

// Loads the blobs in their order, which must be that of their dependencies, and hands back the dlopen handle of the
// one named `soname`. A library whose name the process already knows is used instead of its blob. The blobs must stay
// mapped for the process' life (an artifact that bundles libraries is never unmapped: see bundle.c).
int32_t byoc_dnnl_bundle_load(const byoc_engine_blob_t *blobs, uint32_t blob_count, const char *soname,
                              void **out_handle, byoc_dnnl_error_t *error);

#endif // BYOC_DNNL_BUNDLE_H_
