// Checks the artifact's own file, which is found by where its code is in memory.
#define _GNU_SOURCE
#include "core/runtime/artifact/verify.h"

#include <dlfcn.h>
#include <elf.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "byoc/verify.h"

// The path in a line of /proc/self/maps; a newline in it is written as \012.
static void copy_path(const char *from, char *path) {
  for (; *from != '\0' && *from != '\n'; from++) {
    const bool is_newline = strncmp(from, "\\012", 4) == 0;
    *path++ = is_newline ? '\n' : *from;
    if (is_newline) from += 3;
  }
  *path = '\0';
}

// The file that is mapped at `address`, as the system knows it. `path` holds PATH_MAX bytes. False if it cannot tell.
static bool find_mapped(const void *address, char *path) {
  char line[PATH_MAX + 128]; // addresses, permissions, offset, device, inode, path
  bool found = false;
  FILE *maps = fopen("/proc/self/maps", "re");
  while (maps != NULL && !found && fgets(line, sizeof(line), maps) != NULL) {
    unsigned long long begin = 0, end = 0;
    const char *name = strchr(line, '/');
    if (name == NULL || strlen(name) >= PATH_MAX || sscanf(line, "%llx-%llx", &begin, &end) != 2) continue;
    found = (uintptr_t)address >= begin && (uintptr_t)address < end;
    if (found) copy_path(name, path);
  }
  if (maps != NULL) (void)fclose(maps);
  return found;
}

// The name that the linker was given, if it is absolute; a relative one was meant for the folder of that time.
static bool find_file(const Dl_info *info, char *path) {
  if (info->dli_fname[0] != '/') return find_mapped(info->dli_fbase, path);
  if (strlen(info->dli_fname) >= PATH_MAX) return false;
  strcpy(path, info->dli_fname);
  return true;
}

// Does the file begin with the segment that was loaded from its beginning? It holds the build-id, a hash of the rest.
static bool is_loaded_one(const byoc_seal_source_t *source, const unsigned char *base) {
  const Elf64_Ehdr *header = (const Elf64_Ehdr *)base;
  const Elf64_Phdr *segments = (const Elf64_Phdr *)(base + header->e_phoff);
  unsigned char block[4096];
  for (int i = 0; i < header->e_phnum; i++) {
    if (segments[i].p_type != PT_LOAD || segments[i].p_offset != 0) continue;
    for (uint64_t at = 0; at < segments[i].p_filesz; at += sizeof(block)) {
      const uint64_t left = segments[i].p_filesz - at, size = left < sizeof(block) ? left : sizeof(block);
      if (!byoc_seal_read(source, at, block, size) || memcmp(block, base + at, size) != 0) return false;
    }
    return true;
  }
  return false;
}

static int32_t verify(const Dl_info *info, char *message, uint64_t size) {
  char path[PATH_MAX];
  byoc_seal_source_t source;
  if (!find_file(info, path)) {
    return byoc_seal_refuse(BYOC_IO, info->dli_fname,
                            "cannot be checked: it was loaded by a path that is not absolute, and the system does not "
                            "tell where it is; load it by an absolute path",
                            message, size);
  }
  int32_t status = byoc_seal_open(path, message, size, &source);
  if (status != BYOC_OK) return status;
  status = byoc_seal_check(&source, message, size);
  if (status == BYOC_OK && !is_loaded_one(&source, info->dli_fbase)) {
    status =
        byoc_seal_refuse(BYOC_IO, path, "cannot be checked: it is no longer the file that was loaded", message, size);
  }
  (void)fclose(source.file);
  return status;
}

int32_t byoc_model_verify_file(char *message, uint64_t size) {
  static atomic_bool passed;
  if (atomic_load(&passed)) return BYOC_OK;
  Dl_info info;
  if (dladdr(&passed, &info) == 0 || info.dli_fname == NULL) {
    (void)snprintf(message, (size_t)size, "the file of the artifact is not known, so it cannot be checked");
    return BYOC_IO;
  }
  int32_t status = verify(&info, message, size);
  if (status == BYOC_OK) atomic_store(&passed, true);
  return status;
}
