// SPDX-License-Identifier: Apache-2.0
// Tests of the reserve: its blocks are aligned, do not overlap, and become one gap again; it knows the pages that are
// read-only after relocation; a library allocates through it with all its functions or with none.
#define _GNU_SOURCE // dl_phdr_info
#include <dlfcn.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

#include "../reserve/pages.h"
#include "../reserve/relro.h"
#include "../reserve/reserve.h"
#include "reserve_probe.h"

enum { MOST_BLOCKS = 4096, RESERVE_BYTES = 32 << 20, UNIT = 64 };

static int map_pages(void **state) {
  (void)state;
  return byoc_dnnl_pages_map() ? 0 : 1;
}

static void assert_one_gap(void) {
  void *all = byoc_dnnl_pages_take(RESERVE_BYTES - UNIT, 1);
  assert_non_null(all);
  assert_null(byoc_dnnl_pages_take(1, 1));
  byoc_dnnl_pages_release(all);
}

static void test_blocks_are_apart(void **state) {
  (void)state;
  static uint8_t *blocks[MOST_BLOCKS];
  static size_t sizes[MOST_BLOCKS];
  uint32_t random = 1;
  int count = 0;
  for (; count < MOST_BLOCKS; ++count) {
    random = random * 1664525u + 1013904223u;
    sizes[count] = random >> 16;
    size_t alignment = (size_t)1 << (random >> 8) % 14;
    blocks[count] = byoc_dnnl_pages_take(sizes[count], alignment);
    if (blocks[count] == NULL) break;
    assert_int_equal((uintptr_t)blocks[count] % alignment, 0);
    assert_true(byoc_dnnl_pages_hold(blocks[count]));
    assert_true(byoc_dnnl_pages_size(blocks[count]) >= sizes[count]);
    memset(blocks[count], count & 0xff, sizes[count]);
  }
  assert_in_range(count, 100, MOST_BLOCKS - 1); // it was filled
  for (int begin = 0; begin < 3; ++begin) {     // every third one, so that gaps have neighbours on either side
    for (int i = begin; i < count; i += 3) {
      for (size_t k = 0; k < sizes[i]; ++k) assert_int_equal(blocks[i][k], i & 0xff);
      byoc_dnnl_pages_release(blocks[i]);
    }
  }
  assert_one_gap();
}

static void test_blocks_are_counted(void **state) {
  (void)state;
  uint64_t before = byoc_dnnl_pages_count_taken();
  assert_null(byoc_dnnl_pages_take(RESERVE_BYTES, 1));
  assert_null(byoc_dnnl_pages_take(SIZE_MAX, 1));
  assert_int_equal(byoc_dnnl_pages_count_taken(), before);
  void *memory = byoc_dnnl_pages_take(0, 1);
  assert_non_null(memory);
  assert_int_equal(byoc_dnnl_pages_count_taken(), before + 1);
  byoc_dnnl_pages_release(memory);
  assert_false(byoc_dnnl_pages_hold(&before));
  assert_false(byoc_dnnl_pages_hold(NULL));
  assert_one_gap();
}

// The last page of 0x2300 bytes from 0x11e00 on is shared with variables, and stays writable.
static void test_read_only_pages_are_whole(void **state) {
  (void)state;
  const ElfW(Phdr) segments[] = {{.p_type = PT_LOAD, .p_vaddr = 0x11000, .p_memsz = 0x9000},
                                 {.p_type = PT_GNU_RELRO, .p_vaddr = 0x11e00, .p_memsz = 0x2300}};
  const struct dl_phdr_info info = {.dlpi_addr = 0x700000, .dlpi_phdr = segments, .dlpi_phnum = 2};
  assert_false(byoc_dnnl_is_relro(&info, 0x710ff8, 0x1000));
  assert_true(byoc_dnnl_is_relro(&info, 0x711000, 0x1000));
  assert_true(byoc_dnnl_is_relro(&info, 0x711e00, 0x1000));
  assert_true(byoc_dnnl_is_relro(&info, 0x713ff8, 0x1000));
  assert_false(byoc_dnnl_is_relro(&info, 0x714000, 0x1000));
  assert_false(byoc_dnnl_is_relro(&info, 0x7140f8, 0x1000));
  assert_false(byoc_dnnl_is_relro(&info, 0x711e00, 0x10000)); // all of it lies in one page of 64 KiB
}

// ---- redirection ----

enum { MOST_PAGES = 64, MOST_FUNCTIONS = 16 };

// The last call of mprotect for each page; the linker replaces the original by this function (CMakeLists.txt).
static struct {
  void *address;
  int protection;
} pages[MOST_PAGES];
static int page_count, call_count;
static int refused_call; // counted from 1; 0: none

int __real_mprotect(void *address, size_t size_bytes, int protection);
int __wrap_mprotect(void *address, size_t size_bytes, int protection);
int __wrap_mprotect(void *address, size_t size_bytes, int protection) {
  if (++call_count == refused_call) {
    errno = ENOMEM;
    return -1;
  }
  int i = 0;
  while (i < page_count && pages[i].address != address) ++i;
  assert_in_range(i, 0, MOST_PAGES - 1);
  if (i == page_count) ++page_count;
  pages[i].address = address;
  pages[i].protection = protection;
  return __real_mprotect(address, size_bytes, protection);
}

static int protect_refusing(void *probe, int call) {
  call_count = 0;
  refused_call = call;
  errno = 0;
  return byoc_reserve_protect(probe, 0);
}

static int count_writable_pages(void) {
  int count = 0;
  for (int i = 0; i < page_count; ++i) count += pages[i].protection != PROT_READ;
  return count;
}

static void *find(void *library, const char *name) {
  void *symbol = dlsym(library, name);
  assert_non_null(symbol);
  return symbol;
}

// If any change of a page is refused, no function is redirected, and no page stays writable.
static void test_redirects_all_or_nothing(void **state) {
  (void)state;
  void *probe = dlopen(BYOC_DNNL_RESERVE_PROBE, RTLD_NOW | RTLD_LOCAL);
  if (probe == NULL) fail_msg("%s", dlerror());
  __typeof__(reserve_probe_count) *count_absent = NULL;
  __typeof__(reserve_probe_address) *address = NULL;
  *(void **)&count_absent = find(probe, "reserve_probe_count");
  *(void **)&address = find(probe, "reserve_probe_address");
  assert_int_equal(count_absent(), 0);
  reserve_probe_function_t before[MOST_FUNCTIONS];
  int count = 0, call = 1;
  while ((before[count] = address(count)) != NULL) assert_in_range(++count, 1, MOST_FUNCTIONS - 1);
  for (; !protect_refusing(probe, call); ++call) {
    assert_int_equal(errno, ENOMEM);
    assert_int_equal(count_writable_pages(), 0);
    for (int i = 0; i < count; ++i) assert_true(address(i) == before[i]);
    assert_in_range(call, 1, MOST_PAGES);
  }
  assert_in_range(call, count, MOST_PAGES); // the refused call was one that makes a page read-only again
  assert_in_range(page_count, 2, MOST_PAGES);
  for (int i = 0; i < count; ++i) assert_false(address(i) == before[i]);
  assert_true(protect_refusing(probe, 0));
  assert_int_equal(count_writable_pages(), 0);
  void (*give_back)(void *) = (void (*)(void *))address(1);
  give_back(byoc_dnnl_pages_take(100, 1));
  assert_one_gap();
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_blocks_are_apart),
      cmocka_unit_test(test_blocks_are_counted),
      cmocka_unit_test(test_read_only_pages_are_whole),
      cmocka_unit_test(test_redirects_all_or_nothing),
  };
  return cmocka_run_group_tests(tests, map_pages, NULL);
}
