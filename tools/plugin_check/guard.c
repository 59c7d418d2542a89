// SPDX-License-Identifier: Apache-2.0
// Memory that tells who touches what it must not.
#include "tools/plugin_check/guard.h"

#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

enum { PATTERN = 0x5C, SLACK_PAGES = 1, MOST_AREAS = 1 << 14 };
#define POOL_BYTES ((size_t)1 << 34) // of address space; pages are used once

static check_t *checked;
static guard_area_t *areas[MOST_AREAS];
static size_t area_count;
static uint8_t *pool;
static size_t pool_used;
static const char *freed_name = "memory that was freed";

static size_t page_size(void) {
  static size_t size;
  if (size == 0) size = (size_t)sysconf(_SC_PAGESIZE);
  return size;
}

static size_t whole_pages(size_t size) {
  return (size + page_size() - 1) / page_size() * page_size();
}

// ---- who touches it ----

static bool is_write(const void *context) {
#if defined(__x86_64__)
  return (((const ucontext_t *)context)->uc_mcontext.gregs[REG_ERR] & 2) != 0;
#else
  (void)context;
  return false;
#endif
}

static void say_area(const guard_area_t *area, const uint8_t *at, bool writes) {
  const char *doing = checked->answer->doing, *verb = writes ? "writes" : "touches";
  if (area->is_dead) {
    check_stop(checked, NULL, "%s: it touches %s, which is over", doing, area->what);
  }
  if (at >= area->data && at < area->data + area->size) {
    check_stop(checked, NULL, "%s: it writes to %s, at byte %zu of %zu", doing, area->what, (size_t)(at - area->data),
               area->size);
  }
  const bool behind = at >= area->data + area->size;
  const size_t distance = behind ? (size_t)(at - area->data) - area->size : (size_t)(area->data - at);
  check_stop(checked, NULL, "%s: it %s memory %zu bytes %s %s, which has %zu bytes", doing, verb, distance,
             behind ? "behind the end of" : "in front of", area->what, area->size);
}

// Formatting and ending the rule are safe here: the access was made by code of the plugin, which holds no lock of ours.
static void handle(int number, siginfo_t *info, void *context) {
  const uint8_t *at = info->si_addr;
  for (size_t i = 0; i < area_count; ++i) {
    if (at >= areas[i]->pages && at < areas[i]->pages + areas[i]->pages_size) say_area(areas[i], at, is_write(context));
  }
  if (pool != NULL && at >= pool && at < pool + POOL_BYTES) {
    check_stop(checked, NULL, "%s: it touches %s", checked->answer->doing, freed_name);
  }
  (void)signal(number, SIG_DFL); // an ordinary crash
  (void)raise(number);
}

void guard_begin(check_t *check) {
  static uint8_t stack[1 << 16]; // the plugin's own may have ended
  checked = check;
  const stack_t alternative = {.ss_sp = stack, .ss_size = sizeof(stack)};
  struct sigaction action = {.sa_sigaction = handle, .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER};
  (void)sigaltstack(&alternative, NULL);
  (void)sigemptyset(&action.sa_mask);
  (void)sigaction(SIGSEGV, &action, NULL);
  (void)sigaction(SIGBUS, &action, NULL);
}

// ---- areas ----

guard_area_t *guard_create(size_t size, size_t alignment, guard_place_t place, const char *format, ...) {
  guard_area_t *area = calloc(1, sizeof(*area));
  if (area == NULL || area_count == MOST_AREAS) check_stop(checked, NULL, "too little memory for guarded areas");
  const size_t page = page_size(), room = whole_pages(size == 0 ? 1 : size);
  const size_t slack = place == GUARD_LOOSE ? SLACK_PAGES * page : 0;
  area->size = size;
  area->pages_size = room + 2 * slack + 2 * page;
  area->pages = mmap(NULL, area->pages_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (area->pages == MAP_FAILED) check_stop(checked, NULL, "too little memory for guarded areas");
  uint8_t *first = area->pages + page + slack;
  memset(area->pages, PATTERN, area->pages_size);
  area->data = first;
  if (place == GUARD_AT_END) area->data = first + (room - size) / alignment * alignment;
  (void)mprotect(area->pages, page, PROT_NONE);
  (void)mprotect(area->pages + area->pages_size - page, page, PROT_NONE);
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(area->what, sizeof(area->what), format, arguments);
  va_end(arguments);
  areas[area_count++] = area;
  return area;
}

void guard_check(const guard_area_t *area, const char *who) {
  const size_t page = page_size();
  for (const uint8_t *at = area->pages + page; at < area->pages + area->pages_size - page; ++at) {
    if ((at >= area->data && at < area->data + area->size) || *at == PATTERN) continue;
    const bool behind = at >= area->data;
    check_fail(checked, "%s: it writes memory %zu bytes %s %s, which has %zu bytes", who,
               behind ? (size_t)(at - area->data) - area->size : (size_t)(area->data - at),
               behind ? "behind the end of" : "in front of", area->what, area->size);
    return;
  }
}

void guard_seal(const guard_area_t *area) {
  (void)mprotect(area->pages + page_size(), area->pages_size - 2 * page_size(), PROT_READ);
}

void guard_kill(guard_area_t *area) {
  area->is_dead = true;
  (void)mprotect(area->pages, area->pages_size, PROT_NONE);
}

void guard_destroy(guard_area_t *area) {
  for (size_t i = area_count; i-- > 0;) {
    if (areas[i] != area) continue;
    areas[i] = areas[--area_count];
    break;
  }
  (void)munmap(area->pages, area->pages_size);
  free(area);
}

// ---- the allocator ----

typedef struct block_t {
  size_t pages_size, size;
} block_t;
enum { BLOCK_BYTES = 64 }; // in front of a block's memory, which keeps it aligned

void guard_name_freed(const char *what) {
  freed_name = what;
}

static void *take(size_t size) {
  if (size > POOL_BYTES) return NULL; // and the sum below would be a small number
  const size_t pages_size = whole_pages(size + BLOCK_BYTES);
  if (pool_used + pages_size > POOL_BYTES) return NULL;
  uint8_t *pages = pool + pool_used;
  if (mprotect(pages, pages_size, PROT_READ | PROT_WRITE) != 0) return NULL;
  pool_used += pages_size;
  *(block_t *)(void *)pages = (block_t){pages_size, size};
  return pages + BLOCK_BYTES;
}

static void give_back(void *memory) {
  uint8_t *pages = (uint8_t *)memory - BLOCK_BYTES;
  const size_t pages_size = ((const block_t *)(const void *)pages)->pages_size;
  (void)madvise(pages, pages_size, MADV_DONTNEED);
  (void)mprotect(pages, pages_size, PROT_NONE);
}

static void *resize(void *self, void *memory, size_t size) {
  (void)self;
  if (size == 0) {
    if (memory != NULL) give_back(memory);
    return NULL;
  }
  if (memory == NULL) return take(size);
  const block_t *old = (const block_t *)(const void *)((uint8_t *)memory - BLOCK_BYTES);
  void *grown = take(size);
  if (grown == NULL) return NULL;
  memcpy(grown, memory, old->size < size ? old->size : size);
  give_back(memory);
  return grown;
}

byoc_allocator_t guard_allocator(void) {
  if (pool == NULL) {
    pool = mmap(NULL, POOL_BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (pool == MAP_FAILED) check_stop(checked, NULL, "too little address space for guarded memory");
  }
  return (byoc_allocator_t){.resize = resize, .is_exact = byoc_allocator_system().is_exact};
}
