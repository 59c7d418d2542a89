// SPDX-License-Identifier: Apache-2.0
// Finds the pages that are read-only after relocation, as the dynamic linker of glibc rounds them.
#define _GNU_SOURCE // dl_phdr_info
#include "relro.h"

int byoc_dnnl_is_relro(const struct dl_phdr_info *info, uintptr_t address, uintptr_t page) {
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
    if (segment->p_type != PT_GNU_RELRO) continue;
    const uintptr_t begin = info->dlpi_addr + segment->p_vaddr, end = begin + segment->p_memsz;
    // Both ends are rounded down: a last page that others share stays writable.
    if (address >= begin / page * page && address < end / page * page) return 1;
  }
  return 0;
}
