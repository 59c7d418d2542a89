// SPDX-License-Identifier: Apache-2.0
// Redirects the allocations of a loaded library: the system's where it has memory, the reserve's where it has none.
#define _GNU_SOURCE // dl_iterate_phdr, dlinfo
#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <malloc.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "pages.h"
#include "parallel.h"
#include "relro.h"
#include "reserve.h"

#if defined(__x86_64__)
#define IS_ADDRESS_OF_FUNCTION(type) ((type) == R_X86_64_JUMP_SLOT || (type) == R_X86_64_GLOB_DAT)
#elif defined(__aarch64__)
#define IS_ADDRESS_OF_FUNCTION(type) ((type) == R_AARCH64_JUMP_SLOT || (type) == R_AARCH64_GLOB_DAT)
#elif defined(__riscv)
#define IS_ADDRESS_OF_FUNCTION(type) ((type) == R_RISCV_JUMP_SLOT || (type) == R_RISCV_64)
#else
#define IS_ADDRESS_OF_FUNCTION(type) 0 // nothing is redirected
#endif

// ---- allocations ----

static void *or_reserve(void *memory, size_t size_bytes, size_t alignment) {
  return memory != NULL ? memory : byoc_dnnl_pages_take(size_bytes, alignment);
}

static void *spare_malloc(size_t size_bytes) {
  return or_reserve(malloc(size_bytes), size_bytes, 1);
}

static void *spare_calloc(size_t count, size_t size_bytes) {
  void *memory = calloc(count, size_bytes);
  size_t all = 0;
  if (memory != NULL || __builtin_mul_overflow(count, size_bytes, &all)) return memory;
  memory = byoc_dnnl_pages_take(all, 1);
  return memory != NULL ? memset(memory, 0, all) : NULL;
}

static void spare_free(void *memory) {
  if (byoc_dnnl_pages_hold(memory))
    byoc_dnnl_pages_release(memory);
  else
    free(memory);
}

static void *spare_realloc(void *memory, size_t size_bytes) {
  if (memory == NULL) return spare_malloc(size_bytes);
  int is_ours = byoc_dnnl_pages_hold(memory);
  void *moved = is_ours ? malloc(size_bytes) : realloc(memory, size_bytes);
  if (moved != NULL && !is_ours) return moved;
  if (moved == NULL && size_bytes > 0) moved = byoc_dnnl_pages_take(size_bytes, 1);
  if (moved == NULL) return NULL;
  size_t before = is_ours ? byoc_dnnl_pages_size(memory) : malloc_usable_size(memory);
  memcpy(moved, memory, before < size_bytes ? before : size_bytes);
  spare_free(memory);
  return moved;
}

static void *spare_memalign(size_t alignment, size_t size_bytes) {
  return or_reserve(memalign(alignment, size_bytes), size_bytes, alignment);
}

static void *spare_aligned_alloc(size_t alignment, size_t size_bytes) {
  return or_reserve(aligned_alloc(alignment, size_bytes), size_bytes, alignment);
}

static int spare_posix_memalign(void **out_memory, size_t alignment, size_t size_bytes) {
  int status = posix_memalign(out_memory, alignment, size_bytes);
  if (status != ENOMEM) return status;
  void *memory = byoc_dnnl_pages_take(size_bytes, alignment);
  if (memory == NULL) return ENOMEM;
  *out_memory = memory;
  return 0;
}

// Pages for generated code. They are anonymous and begin as zeros.
static void *spare_mmap(void *address, size_t size_bytes, int protection, int flags, int fd, off_t offset) {
  void *memory = mmap(address, size_bytes, protection, flags, fd, offset);
  if (memory != MAP_FAILED || errno != ENOMEM || fd >= 0 || address != NULL) return memory;
  size_t page = (size_t)sysconf(_SC_PAGESIZE), all = (size_bytes + page - 1) / page * page;
  memory = byoc_dnnl_pages_take(all, page);
  if (memory == NULL) return MAP_FAILED;
  memset(memory, 0, all);
  if (mprotect(memory, all, protection) == 0) return memory;
  byoc_dnnl_pages_release(memory);
  return MAP_FAILED;
}

static int spare_munmap(void *memory, size_t size_bytes) {
  if (!byoc_dnnl_pages_hold(memory)) return munmap(memory, size_bytes);
  if (mprotect(memory, byoc_dnnl_pages_size(memory), PROT_READ | PROT_WRITE) != 0) return -1;
  byoc_dnnl_pages_release(memory);
  return 0;
}

// ---- variables of threads ----

// The dynamic linker allocates a library's variables when a thread first uses them, and ends the process if it gets no
// memory. So those of oneDNN lie in this library's own, which each thread has from its beginning.
#if defined(__x86_64__)
enum { MOST_THREAD_BYTES = 256 };
typedef struct thread_index_t {
  size_t module, offset;
} thread_index_t;
extern void *__tls_get_addr(thread_index_t *index);

static _Thread_local __attribute__((tls_model("initial-exec"), aligned(64))) uint8_t thread_bytes[MOST_THREAD_BYTES];
static atomic_size_t thread_module; // 0 is none

static void *spare_tls_get_addr(thread_index_t *index) {
  if (index->module == atomic_load_explicit(&thread_module, memory_order_relaxed)) return thread_bytes + index->offset;
  return __tls_get_addr(index);
}

// Only for one library, whose variables begin as zeros and are its own affair.
static void adopt_thread_variables(void *handle, const struct dl_phdr_info *info) {
  size_t module = 0;
  if (atomic_load(&thread_module) != 0 || dlsym(handle, "dnnl_version") == NULL) return;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
    if (segment->p_type != PT_TLS || segment->p_filesz != 0 || segment->p_memsz > MOST_THREAD_BYTES) continue;
    if (segment->p_align > 64 || dlinfo(handle, RTLD_DI_TLS_MODID, &module) != 0) continue;
    atomic_store(&thread_module, module);
  }
}
#else
static void adopt_thread_variables(void *handle, const struct dl_phdr_info *info) {
  (void)handle;
  (void)info;
}
#endif

// ---- redirection ----

// The steps by which the entries of a table are redirected. Other threads call the functions meanwhile: malloc is
// redirected to the reserve only after free, so that every block of the reserve is freed into the reserve.
typedef enum step_t { UNLOCK, GIVE_BACK, MOVE, TAKE, LOCK } step_t;

typedef void (*function_t)(void);
typedef struct redirected_t {
  const char *name;
  function_t function;
  step_t step;
} redirected_t;

static const redirected_t redirected[] = {
    {"free", (function_t)spare_free, GIVE_BACK},
    {"munmap", (function_t)spare_munmap, GIVE_BACK},
    {"realloc", (function_t)spare_realloc, MOVE},
    {"malloc", (function_t)spare_malloc, TAKE},
    {"calloc", (function_t)spare_calloc, TAKE},
    {"memalign", (function_t)spare_memalign, TAKE},
    {"aligned_alloc", (function_t)spare_aligned_alloc, TAKE},
    {"posix_memalign", (function_t)spare_posix_memalign, TAKE},
    {"mmap", (function_t)spare_mmap, TAKE},
    {"mmap64", (function_t)spare_mmap, TAKE},
#if defined(__x86_64__)
    {"__tls_get_addr", (function_t)spare_tls_get_addr, TAKE},
#endif
    {"GOMP_parallel", (function_t)byoc_dnnl_parallel_watched, TAKE},
};

// The replacement of a loop calls the loop of the library that oneDNN uses.
static void find_parallel(void *handle) {
  void *symbol = dlsym(handle, "GOMP_parallel");
  if (symbol == NULL || byoc_dnnl_parallel_is_watched()) return;
  byoc_dnnl_parallel_t *function = NULL;
  memcpy(&function, &symbol, sizeof(function)); // ISO C has no such conversion; POSIX says that the bytes are the same
  byoc_dnnl_parallel_watch(function);
}

static const redirected_t *find_redirected(const char *name) {
  for (size_t i = 0; i < sizeof(redirected) / sizeof(redirected[0]); ++i)
    if (strcmp(redirected[i].name, name) == 0)
      return strcmp(name, "GOMP_parallel") != 0 || byoc_dnnl_parallel_is_watched() ? &redirected[i] : NULL;
  return NULL;
}

// Returns 0 if a page cannot be made writable; errno says why. One that stays writable does no harm.
static int visit(const struct dl_phdr_info *info, uintptr_t slot, const redirected_t *row, step_t step) {
  const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
  void *first = (void *)(slot / page * page);
  if (step == row->step) __atomic_store_n((uintptr_t *)slot, (uintptr_t)row->function, __ATOMIC_RELEASE);
  if ((step != UNLOCK && step != LOCK) || !byoc_dnnl_is_relro(info, slot, page)) return 1;
  return mprotect(first, page, step == UNLOCK ? PROT_READ | PROT_WRITE : PROT_READ) == 0 || step == LOCK;
}

typedef struct tables_t {
  const ElfW(Sym) * symbols;
  const char *names;
  const ElfW(Rela) * relocations[2];
  size_t sizes_bytes[2];
} tables_t;

// On most machines the loader has replaced these offsets by addresses.
static const void *table_at(const struct link_map *map, uintptr_t value) {
  return (const void *)(value < map->l_addr ? value + map->l_addr : value);
}

static tables_t read_tables(const struct link_map *map) {
  tables_t tables = {0};
  for (const ElfW(Dyn) *entry = map->l_ld; entry->d_tag != DT_NULL; ++entry) {
    uintptr_t value = entry->d_un.d_val;
    if (entry->d_tag == DT_SYMTAB) tables.symbols = table_at(map, value);
    if (entry->d_tag == DT_STRTAB) tables.names = table_at(map, value);
    if (entry->d_tag == DT_RELA) tables.relocations[0] = table_at(map, value);
    if (entry->d_tag == DT_RELASZ) tables.sizes_bytes[0] = value;
    if (entry->d_tag == DT_JMPREL) tables.relocations[1] = table_at(map, value);
    if (entry->d_tag == DT_PLTRELSZ) tables.sizes_bytes[1] = value;
  }
  return tables;
}

static int visit_all(const struct link_map *map, const struct dl_phdr_info *info, step_t step) {
  tables_t tables = read_tables(map);
  if (tables.symbols == NULL || tables.names == NULL) return 1; // it calls nothing
  for (int t = 0; t < 2; ++t) {
    const ElfW(Rela) *relocation = tables.relocations[t];
    const ElfW(Rela) *end = relocation + tables.sizes_bytes[t] / sizeof(*relocation);
    for (; relocation != NULL && relocation < end; ++relocation) {
      if (!IS_ADDRESS_OF_FUNCTION(ELF64_R_TYPE(relocation->r_info))) continue;
      const ElfW(Sym) *symbol = &tables.symbols[ELF64_R_SYM(relocation->r_info)];
      if (symbol->st_shndx != SHN_UNDEF) continue;
      const redirected_t *row = find_redirected(tables.names + symbol->st_name);
      if (row != NULL && !visit(info, map->l_addr + relocation->r_offset, row, step)) return 0;
    }
  }
  return 1;
}

// All or nothing: a free that is not redirected would give memory of the reserve to the system.
static int redirect(void *handle, const struct link_map *map, const struct dl_phdr_info *info, int32_t is_new) {
  if (!visit_all(map, info, UNLOCK)) {
    const int error = errno;
    (void)visit_all(map, info, LOCK);
    errno = error;
    return 0;
  }
  if (is_new) adopt_thread_variables(handle, info);
  for (step_t step = GIVE_BACK; step <= LOCK; ++step) (void)visit_all(map, info, step);
  return 1;
}

typedef struct search_t {
  uintptr_t base;
  struct dl_phdr_info info;
  int is_found;
} search_t;

static int match(struct dl_phdr_info *info, size_t size_bytes, void *argument) {
  (void)size_bytes;
  search_t *search = argument;
  if (info->dlpi_addr != search->base) return 0;
  search->info = *info;
  return search->is_found = 1;
}

// ---- exported functions ----

static atomic_int sees_loops; // those of oneDNN

int32_t byoc_reserve_open(void) {
  return byoc_dnnl_pages_map();
}

int32_t byoc_reserve_protect(void *handle, int32_t is_new) {
  struct link_map *map = NULL;
  if (dlinfo(handle, RTLD_DI_LINKMAP, &map) != 0) return 0;
  search_t search = {.base = map->l_addr};
  (void)dl_iterate_phdr(match, &search);
  if (!search.is_found) return 0;
  const int is_onednn = dlsym(handle, "dnnl_version") != NULL;
  if (is_onednn) find_parallel(handle);
  if (!redirect(handle, map, &search.info, is_new)) return 0;
  if (is_onednn) atomic_store(&sees_loops, byoc_dnnl_parallel_is_watched());
  return 1;
}

uint64_t byoc_reserve_count(void) {
  return byoc_dnnl_pages_count_taken();
}

int32_t byoc_reserve_sees_loops(void) {
  return atomic_load(&sees_loops);
}

int32_t byoc_reserve_take_invalid(void) {
  return byoc_dnnl_parallel_take_raised();
}
