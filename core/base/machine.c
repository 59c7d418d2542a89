// SPDX-License-Identifier: Apache-2.0
// Machines and triples, by the rows of byoc/isa.def.
#include "core/base/machine.h"

#include <ctype.h>
#include <limits.h> // says by its macros which libc this is
#include <stdio.h>
#include <string.h>

#include "core/base/elf.h"

#if defined(__GLIBC__)
#define HOST_LIBC "gnu"
#else
#define HOST_LIBC "musl"
#endif

typedef struct row_t {
  const char *name, *triple, *march, *base;
  uint16_t elf;
} row_t;
static const row_t rows[BYOC_MACHINE_COUNT] = {
#define BYOC_ISA_MACHINE(NAME, name, elf, march, base)                                                                 \
  [BYOC_MACHINE_##NAME] = {name, name "-linux-" HOST_LIBC, march, base, elf},
#include "byoc/isa.def"
};

byoc_machine_t byoc_machine_host(void) {
  size_t i = 0;
  while (i + 1 < BYOC_MACHINE_COUNT && rows[i].elf != byoc_elf_host_machine()) ++i;
  return (byoc_machine_t)i;
}

const char *byoc_machine_host_triple(void) {
  return rows[byoc_machine_host()].triple;
}

const char *byoc_machine_name(byoc_machine_t machine) {
  return rows[machine].name;
}

uint16_t byoc_machine_elf(byoc_machine_t machine) {
  return rows[machine].elf;
}

const char *byoc_machine_march(byoc_machine_t machine) {
  return rows[machine].march;
}

const char *byoc_machine_base(byoc_machine_t machine) {
  return rows[machine].base;
}

const char *byoc_machine_print_elf(uint16_t elf, char buffer[BYOC_MACHINE_NAME_BYTES]) {
  snprintf(buffer, BYOC_MACHINE_NAME_BYTES, "ELF machine %u", (unsigned)elf);
  for (size_t i = 0; i < BYOC_MACHINE_COUNT; ++i) {
    if (rows[i].elf == elf) snprintf(buffer, BYOC_MACHINE_NAME_BYTES, "%s", rows[i].name);
  }
  return buffer;
}

// Checks for words joined by '-', one of which is the system. The string becomes part of the name of a program.
static bool is_triple(const char *text) {
  static const char linux_word[] = "linux";
  bool has_linux = false;
  size_t words = 0;
  for (bool goes_on = true; goes_on; ++words) {
    size_t size = 0;
    while (isalnum((unsigned char)text[size]) || text[size] == '_' || text[size] == '.') ++size;
    if (size == 0) return false;
    has_linux = has_linux || (size == strlen(linux_word) && memcmp(text, linux_word, size) == 0);
    text += size;
    goes_on = *text == '-';
    if (goes_on) ++text;
  }
  return *text == '\0' && words > 1 && has_linux;
}

// "gnux32", "gnu_ilp32", "muslabin32": pointers of 32 bits on a 64-bit machine.
static bool is_narrow_abi(const char *triple) {
  const size_t size = strlen(triple);
  return size > 2 && strcmp(triple + size - 2, "32") == 0;
}

byoc_status_t byoc_machine_of_triple(const char *triple, byoc_diag_t *diag, byoc_machine_t *out_machine) {
  const char *names[BYOC_MACHINE_COUNT];
  char all[256] = "", first[32];
  snprintf(first, sizeof(first), "%.*s", (int)strcspn(triple, "-"), triple);
  for (size_t i = 0, used = 0; i < BYOC_MACHINE_COUNT; ++i) {
    names[i] = rows[i].name;
    used += (size_t)snprintf(all + used, sizeof(all) - used, "%s%s", i > 0 ? ", " : "", names[i]);
    if (strcmp(first, names[i]) != 0) continue;
    *out_machine = (byoc_machine_t)i;
    if (is_triple(triple) && is_narrow_abi(triple)) {
      byoc_status_t status =
          byoc_diag_error(diag, BYOC_INVALID_ARGUMENT,
                          "'%.64s' has pointers of 32 bits, and byoc makes code for %s with 64 only", triple, names[i]);
      byoc_diag_hint(diag, "the triple of the usual ABI is %s-linux-gnu", names[i]);
      return status;
    }
    if (is_triple(triple)) return BYOC_OK;
  }
  byoc_status_t status = byoc_diag_error(
      diag, BYOC_INVALID_ARGUMENT,
      "'%.64s' is not the triple of a machine that byoc knows; those of Linux look like %s, and there are %s", triple,
      byoc_machine_host_triple(), all);
  const char *nearest = byoc_nearest_match(first, names, BYOC_MACHINE_COUNT);
  const bool is_machine = nearest != NULL && strcmp(nearest, first) == 0;
  if (nearest != NULL && (!is_machine || strchr(triple, '-') == NULL)) {
    byoc_diag_hint(diag, "did you mean '%s-linux-gnu%s'?", nearest, strcmp(nearest, "arm") == 0 ? "eabihf" : "");
  }
  return status;
}
