// SPDX-License-Identifier: Apache-2.0
// Tests of the reserve: its blocks are aligned, do not overlap, and become one gap again; it knows the pages that are
// read-only after relocation.
#define _GNU_SOURCE // dl_phdr_info
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "../reserve/pages.h"
#include "../reserve/relro.h"

enum { MOST_BLOCKS = 4096, RESERVE_BYTES = 32 << 20, UNIT = 64 };

static int map_pages(void **state) {
  (void)state;
  return byoc_dnnl_pages_map() ? 0 : 1;
}

static void assert_one_gap(void) {
  void *all = byoc_dnnl_pages_take(RESERVE_BYTES - UNIT, 1);
  assert_non_null(all);
  assert_null(byoc_dnnl_pages_take(1, 1));
  byoc_dnnl_pages_give_back(all);
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
      byoc_dnnl_pages_give_back(blocks[i]);
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
  byoc_dnnl_pages_give_back(memory);
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

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_blocks_are_apart),
      cmocka_unit_test(test_blocks_are_counted),
      cmocka_unit_test(test_read_only_pages_are_whole),
  };
  return cmocka_run_group_tests(tests, map_pages, NULL);
}
