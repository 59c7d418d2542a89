// SPDX-License-Identifier: Apache-2.0
// Memory, texts and files for the fuzz targets, and the checks that make a finding of an answer.
#include "tests/fuzz/fuzz.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/base/file.h"

// ---- memory ----

// In front of each block; as large as the strictest alignment.
typedef union block_t {
  size_t size;
  max_align_t align;
} block_t;

static size_t live_bytes;

static void *resize(void *self, void *memory, size_t size) {
  (void)self;
  block_t *old = memory != NULL ? (block_t *)memory - 1 : NULL;
  size_t old_size = old != NULL ? old->size : 0;
  if (size == 0) {
    live_bytes -= old_size;
    free(old);
    return NULL;
  }
  if (size > FUZZ_MEMORY_BYTES || live_bytes - old_size + size > FUZZ_MEMORY_BYTES) return NULL;
  block_t *block = realloc(old, sizeof(block_t) + size);
  if (block == NULL) return NULL;
  block->size = size;
  live_bytes += size - old_size;
  return block + 1;
}

byoc_allocator_t fuzz_allocator(void) {
  return (byoc_allocator_t){.resize = resize, .is_exact = byoc_allocator_system().is_exact};
}

// ---- inputs ----

char *fuzz_text(const uint8_t *data, size_t size) {
  char *text = malloc(size + 1);
  if (text == NULL) fuzz_fail("out of memory");
  if (size > 0) memcpy(text, data, size);
  text[size] = '\0';
  return text;
}

static char file_path[64];

const char *fuzz_file(const void *data, size_t size) {
  static int file = -1;
  if (file < 0) {
    file = memfd_create("fuzz", MFD_CLOEXEC);
    snprintf(file_path, sizeof(file_path), "/proc/self/fd/%d", file);
  }
  if (file < 0 || ftruncate(file, 0) != 0) fuzz_fail("no file in memory");
  for (size_t at = 0; at < size;) {
    ssize_t written = pwrite(file, (const uint8_t *)data + at, size - at, (off_t)at);
    if (written <= 0) fuzz_fail("no file in memory");
    at += (size_t)written;
  }
  return file_path;
}

// Where the links are; removed when the process ends.
static char *folder;

static void remove_folder(void) {
  (void)byoc_remove_tree(folder, NULL);
  byoc_free(byoc_allocator_system(), folder);
}

const char *fuzz_file_as(const char *ending) {
  static char link[512];
  if (folder == NULL) {
    byoc_diag_t diag = {0};
    fuzz_check_ok(byoc_make_temporary_directory("byoc-fuzz", byoc_allocator_system(), &diag, &folder), &diag,
                  "a folder");
    if (atexit(remove_folder) != 0) fuzz_fail("the folder would stay");
  }
  snprintf(link, sizeof(link), "%s/file.%s", folder, ending);
  if (symlink(file_path, link) != 0 && errno != EEXIST) fuzz_fail("no link");
  return link;
}

// ---- findings ----

void fuzz_fail(const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  fputs("FINDING: ", stderr);
  vfprintf(stderr, format, arguments);
  fputs("\n", stderr);
  va_end(arguments);
  abort();
}

void fuzz_check(byoc_status_t status, const byoc_diag_t *diag) {
  if (status == BYOC_INTERNAL) fuzz_fail("an error of byoc's own: %s: %s", diag->context, diag->message);
  if (status != BYOC_OK && diag->message[0] == '\0') fuzz_fail("error %d without a reason", (int)status);
}

void fuzz_check_ok(byoc_status_t status, const byoc_diag_t *diag, const char *what) {
  fuzz_check(status, diag);
  if (status != BYOC_OK && status != BYOC_OUT_OF_MEMORY) fuzz_fail("%s: %s: %s", what, diag->context, diag->message);
}

void fuzz_check_same(const byoc_string_t *a, const byoc_string_t *b, const char *what) {
  if (a->failed || b->failed || strcmp(a->data, b->data) == 0) return;
  fuzz_fail("%s:\n%s\n---- becomes ----\n%s", what, a->data, b->data);
}
