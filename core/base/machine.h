// SPDX-License-Identifier: Apache-2.0
// Machines for which byoc makes code, by name, triple and ELF number: the rows of byoc/isa.def.
#ifndef BYOC_CORE_BASE_MACHINE_H_
#define BYOC_CORE_BASE_MACHINE_H_

#include "core/base/diag.h"

typedef enum byoc_machine_t {
#define BYOC_ISA_MACHINE(NAME, ...) BYOC_MACHINE_##NAME,
#include "byoc/isa.def"
  BYOC_MACHINE_COUNT
} byoc_machine_t;

// The machine of this program, and its triple in Debian: "x86_64-linux-gnu".
byoc_machine_t byoc_machine_host(void);
const char *byoc_machine_host_triple(void);

const char *byoc_machine_name(byoc_machine_t machine);
uint16_t byoc_machine_elf(byoc_machine_t machine);
// The compilers' option that takes words of features, "" if there is none; and the word of -mcpu for any such machine.
const char *byoc_machine_march(byoc_machine_t machine);
const char *byoc_machine_base(byoc_machine_t machine);

// Writes "aarch64", or "ELF machine 40" for a number without a row. Returns `buffer`.
enum { BYOC_MACHINE_NAME_BYTES = 32 };
const char *byoc_machine_print_elf(uint16_t elf, char buffer[BYOC_MACHINE_NAME_BYTES]);

// The machine of a triple ("aarch64-linux-gnu", "riscv64-linux-musl"): words of letters, digits, '_' and '.' joined by
// '-', at least two, of which one is "linux". BYOC_INVALID_ARGUMENT, listing the machines.
byoc_status_t byoc_machine_of_triple(const char *triple, byoc_diag_t *diag, byoc_machine_t *out_machine);

#endif // BYOC_CORE_BASE_MACHINE_H_
