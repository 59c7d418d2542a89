// SPDX-License-Identifier: Apache-2.0
// Finds the shared libraries that an artifact of the dnnl target carries.
#define _GNU_SOURCE // dlinfo
#include "deploy.h"

#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <string.h>

#include "engine/library/library.h"

// Part of the C library, or its loader: every system that runs an artifact has its own, and must use that.
static int belongs_to_system(const char *name) {
  static const char *const prefixes[] = {"libc.so.",    "libm.so.", "libdl.so.",     "libpthread.so.", "librt.so.",
                                         "libmvec.so.", "ld-linux", "libresolv.so.", "linux-vdso.so."};
  for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); ++i)
    if (strncmp(name, prefixes[i], strlen(prefixes[i])) == 0) return 1;
  return 0;
}

// Adds the library after its dependencies, which the dynamic linker has loaded along with it.
static const char *collect(const char *name, void *handle, byoc_dnnl_blobs_t *blobs, uint32_t depth, char *message) {
  for (uint32_t i = 0; i < blobs->count; ++i)
    if (strcmp(blobs->files[i].name, name) == 0) return NULL;
  struct link_map *map = NULL;
  if (depth > 16 || dlinfo(handle, RTLD_DI_LINKMAP, &map) != 0) {
    (void)snprintf(message, 512, "cannot find the file of %s", name);
    return message;
  }
  const char *strings = NULL;
  for (const ElfW(Dyn) *entry = map->l_ld; entry->d_tag != DT_NULL; ++entry)
    if (entry->d_tag == DT_STRTAB) strings = (const char *)entry->d_un.d_ptr;
  for (const ElfW(Dyn) *entry = map->l_ld; strings != NULL && entry->d_tag != DT_NULL; ++entry) {
    if (entry->d_tag != DT_NEEDED) continue;
    const char *needed = strings + entry->d_un.d_val;
    if (belongs_to_system(needed)) continue;
    void *dependency = dlopen(needed, RTLD_LAZY | RTLD_NOLOAD);
    if (dependency == NULL) {
      (void)snprintf(message, 512, "%s needs %s, which is not loaded", name, needed);
      return message;
    }
    const char *reason = collect(needed, dependency, blobs, depth + 1, message);
    (void)dlclose(dependency); // stays loaded: the library that needs it is
    if (reason != NULL) return reason;
  }
  if (blobs->count == BYOC_DNNL_BLOB_LIMIT) {
    (void)snprintf(message, 512, "oneDNN needs more than %d libraries", BYOC_DNNL_BLOB_LIMIT);
    return message;
  }
  blobs->files[blobs->count++] =
      (byoc_file_content_t){.header = BYOC_HEADER(byoc_file_content_t, 1), .name = name, .path = map->l_name};
  return NULL;
}

const char *byoc_dnnl_collect_blobs(byoc_dnnl_blobs_t *out_blobs, char *message) {
  memset(out_blobs, 0, sizeof(*out_blobs));
  const byoc_dnnl_api_t *api = NULL;
  byoc_dnnl_error_t error = {""};
  int32_t status = byoc_dnnl_library_get(NULL, 0, &api, &error);
#ifdef BYOC_DNNL_LIBRARY_PATH // where it was when this plugin was built, for one outside of the system's folders
  if (status != BYOC_OK && dlopen(BYOC_DNNL_LIBRARY_PATH, RTLD_NOW | RTLD_LOCAL) != NULL)
    status = byoc_dnnl_library_get(NULL, 0, &api, &error);
#endif
  if (status != BYOC_OK) {
    memcpy(message, error.text, sizeof(error.text));
    return message;
  }
  void *handle = dlopen(BYOC_DNNL_SONAME, RTLD_LAZY | RTLD_NOLOAD);
  if (handle == NULL) {
    (void)snprintf(message, 512, "cannot find the file of %s", BYOC_DNNL_SONAME);
    return message;
  }
  return collect(BYOC_DNNL_SONAME, handle, out_blobs, 0, message);
}
