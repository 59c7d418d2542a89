// SPDX-License-Identifier: Apache-2.0
// byoc/memory_library.h - opens a shared library that travels as bytes in a plugin or in an artifact.
//
// Example:
//   char reason[256];
//   const int flags = RTLD_NOW | RTLD_LOCAL;
//   void *library = byoc_memory_library_open("libmine.so.1", bytes, byte_count, flags, reason, sizeof(reason));
//   if (library == NULL) return fail(reason);
//   int (*twice)(int) = (int (*)(int))dlsym(library, "twice");
//
// The bytes are copied to a file in memory, which dlopen finds as /proc/self/fd/N (so /proc has to be mounted). The
// file ends with the library. This header avoids two common mistakes:
//
// - dlopen knows a loaded library by its path, and the number of a closed descriptor is given to the next file: for the
//   second library dlopen would return the first one.
// - A system that forbids executable files in memory (vm.memfd_noexec=1) allows them with the flag MFD_EXEC.
//
// To keep a library, do not close it. Do not use RTLD_NODELETE: if dlopen runs out of memory late, glibc keeps an
// incomplete library, and the next dlopen returns it as complete.
//
// dlopen(name, flags | RTLD_NOLOAD) is tried first: the process may have the library already.
//
// Define _GNU_SOURCE before the first header, for memfd_create: without it byoc_memory_file_open alone is there.
// Callable from any thread.
#ifndef BYOC_MEMORY_LIBRARY_H_
#define BYOC_MEMORY_LIBRARY_H_

#include <dlfcn.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#ifdef __cplusplus
extern "C" {
#endif

// Opens the library in a file in memory, as dlopen does, under a path that no library of the process has. NULL:
// dlerror() has the reason, or none if 500 of them are open. A file is opened once, and may be closed afterwards.
static inline void *byoc_memory_file_open(int file, int flags) {
  char path[1024] = "/proc/self/fd/";
  for (size_t at = strlen(path); at + 16 < sizeof(path); at += 2) {
    (void)snprintf(path + at, sizeof(path) - at, "%d", file);
    void *loaded = dlopen(path, RTLD_LAZY | RTLD_NOLOAD);
    if (loaded == NULL) return dlopen(path, flags);
    (void)dlclose(loaded);
    memcpy(path + at, "./", 2); // it names the same folder
  }
  return NULL;
}

#ifdef MFD_CLOEXEC // <sys/mman.h> declares memfd_create

// An empty file in memory whose contents may be executed; -1 with the reason in errno. Programs that the process starts
// do not inherit it.
static inline int byoc_memory_file_create(const char *name) {
  const unsigned is_executable = 0x0010u; // MFD_EXEC of Linux 6.3; older systems do not need it
  const int file = memfd_create(name, MFD_CLOEXEC | is_executable);
  return file >= 0 || errno != EINVAL ? file : memfd_create(name, MFD_CLOEXEC);
}

// Opens the library whose bytes these are; `name` is shown in messages and in /proc/self/maps. NULL, with a message in
// `reason`, if the system does not permit it. The bytes are not needed afterwards.
static inline void *byoc_memory_library_open(const char *name, const void *bytes, uint64_t byte_count, int flags,
                                             char *reason, size_t reason_size) {
  void *handle = NULL;
  uint64_t written = 0;
  const int file = byoc_memory_file_create(name);
  while (file >= 0 && written < byte_count) {
    const ssize_t count = write(file, (const char *)bytes + written, (size_t)(byte_count - written));
    if (count > 0)
      written += (uint64_t)count;
    else if (count == 0 || errno != EINTR)
      break;
  }
  const char *why = "";
  if (file < 0 || written < byte_count) {
    why = strerror(errno);
  } else {
    handle = byoc_memory_file_open(file, flags);
    if (handle == NULL) why = dlerror();
  }
  if (handle == NULL)
    (void)snprintf(reason, reason_size, "cannot open %s from memory: %s", name,
                   why != NULL ? why : "too many are open");
  if (file >= 0) (void)close(file); // its mappings stay
  return handle;
}

#endif

#ifdef __cplusplus
} // extern "C"
#endif

#endif // BYOC_MEMORY_LIBRARY_H_
