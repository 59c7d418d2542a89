// SPDX-License-Identifier: Apache-2.0
// A user's program that runs the artifact its first argument names five times, and counts what a call could have kept
// from the one before: requests for memory, mappings, files, libraries and threads. Prints "first" and "later" with the
// counts, and fails where the results of two calls differ.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "byoc/artifact.h"

// ---- calls that are counted, for the artifact and its libraries as well (-rdynamic) ----

enum { MEMORY, MAPPINGS, FILES, LIBRARIES, THREADS, KINDS };
static const char *const kinds[KINDS] = {"memory", "mappings", "files", "libraries", "threads"};
static atomic_long counts[KINDS];

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *memory, size_t size);
void *__libc_memalign(size_t alignment, size_t size);

void *malloc(size_t size) {
  atomic_fetch_add(&counts[MEMORY], 1);
  return __libc_malloc(size);
}

void *calloc(size_t count, size_t size) {
  atomic_fetch_add(&counts[MEMORY], 1);
  return __libc_calloc(count, size);
}

void *realloc(void *memory, size_t size) {
  atomic_fetch_add(&counts[MEMORY], 1);
  return __libc_realloc(memory, size);
}

void *memalign(size_t alignment, size_t size) {
  atomic_fetch_add(&counts[MEMORY], 1);
  return __libc_memalign(alignment, size);
}

void *aligned_alloc(size_t alignment, size_t size) {
  return memalign(alignment, size);
}

int posix_memalign(void **out_memory, size_t alignment, size_t size) {
  *out_memory = memalign(alignment, size);
  return *out_memory != NULL ? 0 : ENOMEM;
}

// Calls the function of this name in the libraries behind the program.
#define NEXT(kind, result, name, ...)                                                                                  \
  result (*next)(__VA_ARGS__) = NULL;                                                                                  \
  void *symbol = dlsym(RTLD_NEXT, #name);                                                                              \
  atomic_fetch_add(&counts[kind], 1);                                                                                  \
  memcpy(&next, &symbol, sizeof(next))

void *mmap(void *address, size_t size, int protection, int flags, int file, off_t offset) {
  NEXT(MAPPINGS, void *, mmap, void *, size_t, int, int, int, off_t);
  return next(address, size, protection, flags, file, offset);
}

int open(const char *path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(arguments, mode_t) : 0;
  va_end(arguments);
  NEXT(FILES, int, open, const char *, int, ...);
  return next(path, flags, mode);
}

FILE *fopen(const char *path, const char *mode) {
  NEXT(FILES, FILE *, fopen, const char *, const char *);
  return next(path, mode);
}

void *dlopen(const char *path, int flags) {
  NEXT(LIBRARIES, void *, dlopen, const char *, int);
  return next(path, flags);
}

int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*start)(void *), void *argument) {
  NEXT(THREADS, int, pthread_create, pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
  return next(thread, attributes, start, argument);
}

// ---- the calls of the model ----

enum { CALLS = 5, MOST = 8 };

static size_t size_of(const byoc_tensor_info_t *info) {
  size_t count = sizeof(float);
  for (uint32_t i = 0; i < info->rank; i++) count *= (size_t)info->dims[i];
  return count;
}

static float *make_tensor(const byoc_tensor_info_t *info, uint32_t seed) {
  const size_t size = size_of(info);
  float *data = aligned_alloc(64, (size + 63) / 64 * 64);
  for (size_t i = 0; data != NULL && i < size / sizeof(*data); i++) {
    seed = seed * 1664525u + 1013904223u;
    data[i] = (float)(int32_t)(seed >> 16) / 32768.0f - 1.0f;
  }
  return data;
}

static void print_counts(const char *when) {
  long copy[KINDS];
  for (int k = 0; k < KINDS; k++) copy[k] = atomic_exchange(&counts[k], 0);
  printf("%s:", when);
  for (int k = 0; k < KINDS; k++) printf(" %s %ld", kinds[k], copy[k]);
  printf("\n");
}

int main(int argc, char **argv) {
  static char standard_output[4096]; // so that printing asks for no memory
  setvbuf(stdout, standard_output, _IOFBF, sizeof(standard_output));
  void *library = argc > 1 ? dlopen(argv[1], RTLD_NOW) : NULL;
  void *symbol = library != NULL ? dlsym(library, BYOC_ARTIFACT_ENTRY) : NULL;
  byoc_artifact_entry_t entry = NULL;
  memcpy(&entry, &symbol, sizeof(entry));
  const byoc_artifact_t *table = entry != NULL ? entry(BYOC_ARTIFACT_ABI) : NULL;
  if (table == NULL || table->input_count > MOST || table->output_count != 1) return 2;
  const void *inputs[MOST];
  void *results[CALLS];
  const size_t size = size_of(&table->outputs[0]);
  for (uint32_t i = 0; i < table->input_count; i++) inputs[i] = make_tensor(&table->inputs[i], i + 1);
  for (int i = 0; i < CALLS; i++) results[i] = make_tensor(&table->outputs[0], 0);
  byoc_context_options_t options = {.struct_size = sizeof(options), .thread_count = 2};
  byoc_context_t *context = NULL;
  int32_t status = table->create(&options, &context);
  print_counts("created");
  for (int i = 0; i < CALLS && status == 0; i++) {
    status = table->run(context, inputs, &results[i]);
    if (i == 0) print_counts("first");
  }
  print_counts("later");
  if (status != 0) fprintf(stderr, "%s\n", table->last_error(context));
  for (int i = 1; i < CALLS && status == 0; i++) status = memcmp(results[0], results[i], size) != 0;
  table->destroy(context);
  return status;
}
