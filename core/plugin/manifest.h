// SPDX-License-Identifier: Apache-2.0
// The rows of byoc/abi.def as data: the fields of the structs of the public headers, the version since which they
// exist, and whether they are required.
#ifndef BYOC_CORE_PLUGIN_MANIFEST_H_
#define BYOC_CORE_PLUGIN_MANIFEST_H_

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// byoc/abi.def explains the columns.
typedef enum byoc_abi_filler_t {
  BYOC_ABI_HOST,
  BYOC_ABI_PLUGIN,
  BYOC_ABI_ARTIFACT,
  BYOC_ABI_CALLER,
  BYOC_ABI_BOTH,
} byoc_abi_filler_t;
typedef enum byoc_abi_growth_t { BYOC_ABI_FIXED, BYOC_ABI_GROWS } byoc_abi_growth_t;
typedef enum byoc_abi_need_t {
  BYOC_ABI_SIZE,
  BYOC_ABI_REQUIRED,
  BYOC_ABI_ONE_OF,
  BYOC_ABI_OPTIONAL,
  BYOC_ABI_VALUE,
  BYOC_ABI_RESERVED,
} byoc_abi_need_t;

typedef struct byoc_abi_field_t {
  const char *name;
  uint32_t since;
  uint32_t offset, size_bytes;
  byoc_abi_need_t need;
  const char *zero; // OPTIONAL: the meaning of zero; otherwise ""
  const char *type;
} byoc_abi_field_t;

typedef struct byoc_abi_struct_t {
  const char *name;
  byoc_abi_filler_t filler;
  byoc_abi_growth_t growth;
  uint32_t since;
  uint32_t size_bytes;
  uint32_t first; // of byoc_abi_fields; the next struct's fields follow its own
} byoc_abi_struct_t;

// The index of each struct in byoc_abi_structs.
enum {
#define BYOC_ABI_STRUCT(type, ...) BYOC_ABI_ID_##type,
#include "byoc/abi.def"
  BYOC_ABI_STRUCT_COUNT
};

extern const byoc_abi_struct_t byoc_abi_structs[BYOC_ABI_STRUCT_COUNT + 1]; // the last one is a sentinel without a name
extern const byoc_abi_field_t byoc_abi_fields[];

// The rows of a struct, by its type: byoc_abi_of(byoc_backend_t).
#define byoc_abi_of(type) (&byoc_abi_structs[BYOC_ABI_ID_##type])

// The bytes that every struct must have: those up to the last required field.
uint32_t byoc_abi_least_size(const byoc_abi_struct_t *shape);
// Is the field all zeros in a struct at `at`?
bool byoc_abi_field_is_zero(const byoc_abi_field_t *field, const void *at);

#endif // BYOC_CORE_PLUGIN_MANIFEST_H_
