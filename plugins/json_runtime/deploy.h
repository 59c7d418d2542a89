// SPDX-License-Identifier: Apache-2.0
// deploy.h - the shared libraries that an artifact of the dnnl target carries: oneDNN, and the libraries that
// oneDNN needs beyond the C library.
#ifndef BYOC_DNNL_DEPLOY_H_
#define BYOC_DNNL_DEPLOY_H_

#include "byoc/plugin.h"

#define BYOC_DNNL_BLOB_LIMIT 32

typedef struct byoc_dnnl_blobs_t {
  byoc_file_content_t files[BYOC_DNNL_BLOB_LIMIT]; // names are those of DT_NEEDED, each after its dependencies
  uint32_t count;
} byoc_dnnl_blobs_t;

// Loads oneDNN into this process (it stays loaded) and lists the files that it brought along. Names and paths live as
// long as the process. Returns NULL, or why it failed, in `message` of 512 bytes.
const char *byoc_dnnl_collect_blobs(byoc_dnnl_blobs_t *out_blobs, char *message);

#endif // BYOC_DNNL_DEPLOY_H_
