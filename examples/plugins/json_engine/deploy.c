// SPDX-License-Identifier: Apache-2.0
// Asks the dynamic linker where the libraries are.
#define _GNU_SOURCE // dlinfo
#include "deploy.h"

#include <dlfcn.h>
#include <link.h>
#include <stdio.h>

int32_t xnnpack_find_libraries(xnnpack_libraries_t *out_libraries, char *message, uint32_t message_size) {
  static const char *const names[XNNPACK_LIBRARY_COUNT] = XNNPACK_LIBRARIES;
  for (int i = 0; i < XNNPACK_LIBRARY_COUNT; ++i) {
    struct link_map *map = NULL;
    // They are never closed: an artifact that runs in this process then uses them, and does not bring its own, which
    // have no path.
    void *handle = dlopen(names[i], RTLD_LAZY | RTLD_LOCAL);
    if (handle == NULL || dlinfo(handle, RTLD_DI_LINKMAP, &map) != 0) {
      const char *reason = dlerror();
      (void)snprintf(message, message_size, "cannot find %s: %s; install XNNPACK, or use xnnpack -deploy=system",
                     names[i], reason != NULL ? reason : "no reason given");
      return BYOC_NOT_FOUND;
    }
    (void)snprintf(out_libraries->paths[i], sizeof(out_libraries->paths[i]), "%s", map->l_name);
    out_libraries->files[i] = (byoc_file_content_t){
        .header = BYOC_HEADER(byoc_file_content_t, 1), .name = names[i], .path = out_libraries->paths[i]};
  }
  return BYOC_OK;
}
