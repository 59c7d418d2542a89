// SPDX-License-Identifier: Apache-2.0
// Rules about loading the plugin, one step after the other; they do so themselves.
#include <dirent.h>
#include <dlfcn.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/file.h"
#include "core/plugin/host.h"
#include "core/plugin/identity.h"
#include "core/plugin/library.h"
#include "tools/plugin_check/check.h"

static void read_note(check_t *check, byoc_plugin_note_t *out_note) {
  byoc_diag_t diag = {0};
  bool has_note = false;
  check_ok(check, byoc_plugin_identity_read(check->plugin, &diag, out_note, &has_note), &diag,
           "it is refused before it is loaded");
}

void check_load_resolves(check_t *check) {
  check_needs_code(check);
  check_doing(check, "the loader opens it and runs its constructors");
  void *handle = dlopen(check->plugin, RTLD_NOW | RTLD_LOCAL);
  if (handle == NULL) check_stop(check, NULL, "%s", dlerror());
  check_doing(check, "the loader closes it and runs its destructors");
  (void)dlclose(handle);
}

void check_load_accepted(check_t *check) {
  check_needs_code(check);
  byoc_diag_t diag = {0};
  byoc_plugin_note_t note;
  byoc_plugin_library_t *library = NULL;
  read_note(check, &note);
  check_doing(check, "the host calls byoc_plugin_query");
  check_ok(
      check,
      byoc_plugin_library_load(check->plugin, &note, byoc_host_fill_tables, byoc_allocator_system(), &diag, &library),
      &diag, "it is refused");
  check_doing(check, "the host calls destroy and unloads it");
  byoc_plugin_library_release(library);
}

void check_load_clean(check_t *check) {
  check_needs_code(check);
  enum { TIMEOUT_MS = 20000 };
  byoc_diag_t diag = {0};
  byoc_plugin_note_t note;
  read_note(check, &note);
  check_doing(check, "the host tries it in a process of its own");
  check_ok(check, byoc_plugin_try(check->plugin, &note, TIMEOUT_MS, &diag), &diag, "it is refused");
}

// ---- again and again ----

// The resources of a process. A sanitizer's own tables may grow, and mallinfo2 does not count its memory.
typedef struct holdings_t {
  size_t files, mappings, threads, heap_bytes;
} holdings_t;

static size_t count_entries(check_t *check, const char *path) {
  DIR *folder = opendir(path);
  if (folder == NULL) check_stop(check, NULL, "%s cannot be read", path);
  size_t count = 0;
  while (readdir(folder) != NULL) ++count;
  closedir(folder);
  return count;
}

static holdings_t take_stock(check_t *check) {
  holdings_t holdings = {.files = count_entries(check, "/proc/self/fd"),
                         .threads = count_entries(check, "/proc/self/task"),
                         .heap_bytes = mallinfo2().uordblks};
  FILE *maps = fopen("/proc/self/maps", "re");
  if (maps == NULL) check_stop(check, NULL, "/proc/self/maps cannot be read");
  for (int c = fgetc(maps); c != EOF; c = fgetc(maps)) holdings.mappings += c == '\n';
  fclose(maps);
  return holdings;
}

// Without a trial each time, which costs a process.
static byoc_status_t load_once(check_t *check, const byoc_plugin_note_t *note, byoc_allocator_t allocator,
                               byoc_diag_t *diag) {
  byoc_plugin_library_t *library = NULL;
  byoc_status_t status =
      byoc_plugin_library_load(check->plugin, note, byoc_host_fill_tables, allocator, diag, &library);
  byoc_plugin_library_release(library);
  return status;
}

// libstdc++ has memory for exceptions, which it never frees: a plugin that carries a copy of it leaves one such block
// behind with each unload, and cannot help it. From gcc 13 on a variable of the environment turns that off.
#define POOL_VARIABLE "GLIBCXX_TUNABLES"
#define POOL_OFF      "glibcxx.eh_pool.obj_count=0"
enum { POOL_BYTES = 64 * 1024 + 64 * 112 }; // up to gcc 12: objects of 1 KiB, and dependent exceptions

static bool carries_libstdcxx(check_t *check) {
  static const char words[] = "terminate called after throwing an instance of '"; // of its terminate handler
  byoc_diag_t diag = {0};
  char *content = NULL;
  size_t size = 0;
  check_ok(check, byoc_file_read(check->plugin, byoc_allocator_system(), &diag, &content, &size), &diag, "its file");
  const bool found = memmem(content, size, words, sizeof(words) - 1) != NULL;
  byoc_free(byoc_allocator_system(), content);
  return found;
}

// The bytes in use without those blocks.
static size_t without_pools(check_t *check, size_t before, size_t after, size_t loads) {
  void *pool = check_allocate(check, POOL_BYTES, 1);
  const size_t pools = loads * (malloc_usable_size(pool) + sizeof(size_t)); // with the size in front of the block
  byoc_free(byoc_allocator_system(), pool);
  if (after < before + pools || !carries_libstdcxx(check)) return after;
  check_property(check, "it carries libstdc++, which leaves %d bytes behind with each unload", POOL_BYTES);
  return after - pools;
}

static void compare(check_t *check, const char *what, size_t before, size_t after, size_t slack) {
  if (after > before + slack)
    check_fail(check, "%zu %s after a thousand loads, %zu at the beginning", after, what, before);
}

void check_load_thousand(check_t *check) {
  check_needs_code(check);
  // A leak in each round exceeds this slack, which is for the heaps of sanitizers.
  enum { COUNT = 1000, SETTLED = 20, SLACK_BYTES = 4096, SLACK_MAPPINGS = 100 };
  byoc_plugin_note_t note;
  holdings_t before = {0};
  read_note(check, &note);
  byoc_plugin_registry_destroy(check->registry);
  (void)setenv(POOL_VARIABLE, POOL_OFF, 1);
  for (int i = 0; i < COUNT; ++i) {
    byoc_diag_t diag = {0};
    check_doing(check, "loading it and unloading it for the %d. time", i + 1);
    check_ok(check, load_once(check, &note, byoc_allocator_system(), &diag), &diag, "it is refused");
    if (i == SETTLED) before = take_stock(check); // the first rounds settle the C library's own heaps
  }
  holdings_t after = take_stock(check);
  after.heap_bytes = without_pools(check, before.heap_bytes, after.heap_bytes, COUNT - 1 - SETTLED);
  compare(check, "open files", before.files, after.files, 0);
  compare(check, "mappings", before.mappings, after.mappings, SLACK_MAPPINGS);
  compare(check, "threads", before.threads, after.threads, 0);
  compare(check, "bytes in use", before.heap_bytes, after.heap_bytes, SLACK_BYTES);
}

void check_load_memory(check_t *check) {
  check_needs_code(check);
  byoc_plugin_note_t note;
  byoc_failing_allocator_t counter = {.base = byoc_allocator_system()};
  const byoc_allocator_t allocator = byoc_failing_allocator(&counter);
  read_note(check, &note);
  byoc_plugin_registry_destroy(check->registry);
  byoc_status_t status = BYOC_OUT_OF_MEMORY;
  for (int64_t n = 0; status != BYOC_OK; ++n) {
    byoc_diag_t diag = {0};
    check_doing(check, "loading it while request %lld for memory fails", (long long)n);
    counter.count = 0;
    counter.fail_at = n;
    status = load_once(check, &note, allocator, &diag);
    if (counter.live_count != 0) {
      check_stop(check, NULL, "%lld blocks are left after request %lld failed", (long long)counter.live_count,
                 (long long)n);
    }
    if (status != BYOC_OK && counter.count <= n) check_stop(check, &diag, "it is refused with all the memory it wants");
  }
}
