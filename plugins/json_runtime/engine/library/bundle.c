// SPDX-License-Identifier: Apache-2.0
// Loads the shared libraries that travel inside the artifact.
#define _GNU_SOURCE // memfd_create, dlinfo
#include "engine/library/bundle.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "byoc/memory_library.h"
#include "engine/library/image.h"
#include "engine/library/out_of_memory.h"

// Finds the file that holds the mapped bytes at `address`. Hands back a descriptor and where in the file they lie;
// -1 where they are not part of a file (then they have to be copied). /proc/self/maps is the only record of this.
static int open_backing_file(const void *address, uint64_t *out_offset) {
  FILE *maps = fopen("/proc/self/maps", "re");
  if (maps == NULL) return -1;
  char *line = NULL;
  size_t capacity = 0;
  int fd = -1;
  uintptr_t wanted = (uintptr_t)address;
  while (getline(&line, &capacity, maps) > 0) {
    unsigned long begin = 0, end = 0, offset = 0, inode = 0;
    int path_at = 0;
    if (sscanf(line, "%lx-%lx %*s %lx %*s %lu %n", &begin, &end, &offset, &inode, &path_at) < 4) continue;
    if (wanted < begin || wanted >= end) continue;
    char *path = line + path_at;
    path[strcspn(path, "\n")] = '\0';
    if (inode == 0 || path[0] != '/') break;
    fd = open(path, O_RDONLY | O_CLOEXEC);
    *out_offset = offset + (wanted - begin);
    break;
  }
  free(line);
  (void)fclose(maps); // only read from
  return fd;
}

// True if the file still holds the image (it may have been replaced since it was loaded): the first page has the
// program headers and the build id, the last one the section names.
static int same_image(int fd, uint64_t offset, const byoc_dnnl_image_t *image) {
  uint8_t page[4096];
  uint64_t ends[2] = {0, image->size_bytes - sizeof(page)};
  if (image->size_bytes < sizeof(page)) return 0;
  for (int i = 0; i < 2; ++i) {
    if (pread(fd, page, sizeof(page), (off_t)(offset + ends[i])) != (ssize_t)sizeof(page)) return 0;
    if (memcmp(page, image->data + ends[i], sizeof(page)) != 0) return 0;
  }
  return 1;
}

// True if the holes can be mapped from the file (a policy may forbid it); checked while copying is still possible.
static int can_map_holes(int fd, uint64_t offset, const byoc_dnnl_image_t *image) {
  for (uint32_t i = 0; i < image->hole_count; ++i) {
    const byoc_dnnl_image_hole_t *hole = &image->holes[i];
    void *trial = mmap(NULL, hole->size_bytes, hole->protection, MAP_PRIVATE, fd, (off_t)(offset + hole->offset));
    if (trial == MAP_FAILED) return 0;
    (void)munmap(trial, hole->size_bytes);
  }
  return 1;
}

// Covers the holes of the loaded image with the artifact's own pages. Its constructors run once its allocations are
// protected. They run even if protecting failed: the image stays in the process, and a later dlopen by name returns it.
static int32_t complete_image(const char *name, const byoc_dnnl_image_t *image, void *handle, int memory_fd,
                              int file_fd, uint64_t file_offset, byoc_dnnl_error_t *error) {
  struct link_map *map = NULL;
  if (dlinfo(handle, RTLD_DI_LINKMAP, &map) != 0)
    return byoc_dnnl_fail(error, BYOC_INTERNAL, "cannot find where the bundled %s was loaded: %s", name, dlerror());
  for (uint32_t i = 0; i < image->hole_count; ++i) {
    const byoc_dnnl_image_hole_t *hole = &image->holes[i];
    void *at = (void *)(map->l_addr + hole->address);
    if (mmap(at, hole->size_bytes, hole->protection, MAP_PRIVATE | MAP_FIXED, file_fd,
             (off_t)(file_offset + hole->offset)) != MAP_FAILED)
      continue;
    int32_t status = byoc_dnnl_image_write_hole(name, image, hole, memory_fd, error);
    if (status != BYOC_OK) return status;
  }
  int32_t status = byoc_dnnl_reserve_protect(name, handle, 1, error);
  byoc_dnnl_image_run_constructors(image, map->l_addr);
  return status;
}

// The last step of dlopen records the address of the library for the unwinder (_dl_find_object).
static int is_whole(void *handle) {
  int (*find_object)(void *address, void *result) = NULL;
  uint64_t result[32]; // struct dl_find_object has 12 words
  struct link_map *map = NULL;
  *(void **)&find_object = dlsym(RTLD_DEFAULT, "_dl_find_object"); // older systems note it earlier
  return find_object == NULL || dlinfo(handle, RTLD_DI_LINKMAP, &map) != 0 || find_object(map->l_ld, result) == 0;
}

int32_t byoc_dnnl_find_loaded(const char *soname, void **out_handle, byoc_dnnl_error_t *error) {
  void *handle = dlopen(soname, RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
  *out_handle = NULL;
  if (handle != NULL && !is_whole(handle)) {
    (void)dlclose(handle);
    return byoc_dnnl_fail(error, BYOC_OUT_OF_MEMORY,
                          "%s is loaded in part: the system ran out of memory at the end; start the program again",
                          soname);
  }
  *out_handle = handle;
  return BYOC_OK;
}

static int32_t load_blob(const byoc_engine_blob_t *blob, void **out_handle, byoc_dnnl_error_t *error) {
  byoc_dnnl_image_t image;
  int32_t status = byoc_dnnl_image_parse(blob->name, blob->data, blob->size_bytes, &image, error);
  if (status != BYOC_OK) return status;

  int file_fd = -1;
  uint64_t file_offset = 0;
  void *handle = NULL;
  int memory_fd = byoc_memory_file_create(blob->name);
  if (memory_fd < 0) {
    const int is_full = errno == ENOMEM || errno == EMFILE || errno == ENFILE;
    status = byoc_dnnl_fail(error, is_full ? BYOC_OUT_OF_MEMORY : BYOC_UNSUPPORTED,
                            "cannot create a memory file for the bundled %s: %s%s", blob->name, strerror(errno),
                            is_full ? "" : "; build with dnnl -deploy=system");
    goto cleanup;
  }
  if (image.hole_count > 0) {
    file_fd = open_backing_file(blob->data, &file_offset);
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    if (file_fd < 0 || file_offset % page != 0 || !same_image(file_fd, file_offset, &image) ||
        !can_map_holes(file_fd, file_offset, &image))
      image.hole_count = 0;
  }
  status = byoc_dnnl_image_write(blob->name, &image, memory_fd, error);
  if (status != BYOC_OK) goto cleanup;
  handle = byoc_memory_file_open(memory_fd, RTLD_NOW | RTLD_LOCAL);
  if (handle == NULL) {
    const char *reason = dlerror();
    if (access("/proc/self/fd", X_OK) != 0)
      reason = "/proc is not mounted; mount it, or build with dnnl -deploy=system";
    status = byoc_dnnl_fail(error, BYOC_UNSUPPORTED, "cannot load the bundled %s: %s", blob->name,
                            reason != NULL ? reason : "too many libraries are open");
    goto cleanup;
  }
  status = complete_image(blob->name, &image, handle, memory_fd, file_fd, file_offset, error);
cleanup:
  if (file_fd >= 0) (void)close(file_fd);
  if (memory_fd >= 0) (void)close(memory_fd);
  *out_handle = status == BYOC_OK ? handle : NULL;
  return status;
}

int32_t byoc_dnnl_bundle_load(const byoc_engine_blob_t *blobs, uint32_t blob_count, const char *soname,
                              void **out_handle, byoc_dnnl_error_t *error) {
  *out_handle = NULL;
  for (uint32_t i = 0; i < blob_count; ++i) {
    // Libraries of the process win over the bundled ones: two copies of libstdc++ or libgomp would not get along.
    void *handle = NULL;
    int32_t status = byoc_dnnl_find_loaded(blobs[i].name, &handle, error);
    if (status != BYOC_OK) return status;
    status = handle == NULL ? load_blob(&blobs[i], &handle, error)
                            : byoc_dnnl_reserve_protect(blobs[i].name, handle, 0, error);
    if (status != BYOC_OK) return status;
    if (strcmp(blobs[i].name, soname) == 0) *out_handle = handle;
  }
  if (*out_handle == NULL) return byoc_dnnl_fail(error, BYOC_NOT_FOUND, "the artifact bundles no %s", soname);
  return BYOC_OK;
}
