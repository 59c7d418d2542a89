// SPDX-License-Identifier: Apache-2.0
// relro.h - which pages of a loaded library the dynamic linker has made read-only after relocation.
#ifndef BYOC_DNNL_RESERVE_RELRO_H_
#define BYOC_DNNL_RESERVE_RELRO_H_

#include <link.h>
#include <stdint.h>

// Whether the address lies in such a page. `page` is the size of one in bytes.
int byoc_dnnl_is_relro(const struct dl_phdr_info *info, uintptr_t address, uintptr_t page);

#endif // BYOC_DNNL_RESERVE_RELRO_H_
