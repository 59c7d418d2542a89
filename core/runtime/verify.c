// SPDX-License-Identifier: Apache-2.0
// Finds and checks the artifact's own file: its hash must be that of its bytes.
#define _GNU_SOURCE
#include "core/runtime/verify.h"

#include <limits.h>
#include <link.h>
#include <stdatomic.h>

#include "core/runtime/file_status.h"

// Needed first: byoc/verify.h calls stat.
#include "byoc/verify.h"
#include "core/runtime/own_file.h"

// Does the file begin with the segment that was loaded from its beginning? It holds the build-id, a hash of the rest.
static bool is_loaded_one(const byoc_seal_source_t *source, const unsigned char *base) {
  const ElfW(Ehdr) *header = (const ElfW(Ehdr) *)base;
  const ElfW(Phdr) *segments = (const ElfW(Phdr) *)(base + header->e_phoff);
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
  if (!byoc_model_find_own_file(info, path)) {
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
  if (!byoc_model_find_own(&info)) {
    (void)snprintf(message, (size_t)size, "the file of the artifact is not known, so it cannot be checked");
    return BYOC_IO;
  }
  int32_t status = verify(&info, message, size);
  if (status == BYOC_OK) atomic_store(&passed, true);
  return status;
}
