// SPDX-License-Identifier: Apache-2.0
// Finds the artifact's own file by the address of its code.
#define _GNU_SOURCE
#include "core/runtime/own_file.h"

#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

// The path in a line of /proc/self/maps; a newline in it is written as \012.
static void copy_path(const char *from, char *path) {
  for (; *from != '\0' && *from != '\n'; from++) {
    const bool is_newline = strncmp(from, "\\012", 4) == 0;
    *path++ = is_newline ? '\n' : *from;
    if (is_newline) from += 3;
  }
  *path = '\0';
}

// The file that is mapped at `address`, by /proc/self/maps. `path` holds PATH_MAX bytes. False if there is none.
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

bool byoc_model_find_own(Dl_info *out_info) {
  static const char here;
  return dladdr(&here, out_info) != 0 && out_info->dli_fname != NULL;
}

bool byoc_model_find_own_file(const Dl_info *info, char *path) {
  if (info->dli_fname[0] != '/') return find_mapped(info->dli_fbase, path);
  if (strlen(info->dli_fname) >= PATH_MAX) return false;
  strcpy(path, info->dli_fname);
  return true;
}
