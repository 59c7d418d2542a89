// SPDX-License-Identifier: Apache-2.0
// deploy.h - the libraries that an artifact carries.
#ifndef XNNPACK_DEPLOY_H_
#define XNNPACK_DEPLOY_H_

#include "byoc/plugin.h"
#include "engine/library.h"

typedef struct xnnpack_libraries_t {
  char paths[XNNPACK_LIBRARY_COUNT][1024];
  byoc_file_content_t files[XNNPACK_LIBRARY_COUNT];
} xnnpack_libraries_t;

// Finds the files of XNNPACK and of the libraries that it needs. Returns a status, and the reason in `message`.
int32_t xnnpack_find_libraries(xnnpack_libraries_t *out_libraries, char *message, uint32_t message_size);

#endif // XNNPACK_DEPLOY_H_
