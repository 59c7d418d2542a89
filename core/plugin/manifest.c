// SPDX-License-Identifier: Apache-2.0
// The rows of byoc/abi.def as data.
#include "core/plugin/manifest.h"

#define BYOC_ABI_FIELD(type, name, since, offset, size, need, zero, ...)                                               \
  {#name, since, offset, size, BYOC_ABI_##need, zero, #__VA_ARGS__},
const byoc_abi_field_t byoc_abi_fields[] = {
#include "byoc/abi.def"
};

// The index of each struct's first field.
enum {
#define BYOC_ABI_STRUCT(type, ...)      FIRST_##type, REWIND_##type = FIRST_##type - 1,
#define BYOC_ABI_FIELD(type, name, ...) FIELD_##type##_##name,
#include "byoc/abi.def"
  FIELD_COUNT
};

#define BYOC_ABI_STRUCT(type, filler, growth, since, size)                                                             \
  {#type, BYOC_ABI_##filler, BYOC_ABI_##growth, since, size, FIRST_##type},
const byoc_abi_struct_t byoc_abi_structs[BYOC_ABI_STRUCT_COUNT + 1] = {
#include "byoc/abi.def"
    {.first = FIELD_COUNT},
};

static uint32_t end_of(const byoc_abi_field_t *field) {
  return field->offset + field->size_bytes;
}

uint32_t byoc_abi_least_size(const byoc_abi_struct_t *shape) {
  uint32_t size_bytes = 0;
  for (uint32_t i = shape[0].first; i < shape[1].first; ++i) {
    const byoc_abi_need_t need = byoc_abi_fields[i].need;
    if (need == BYOC_ABI_SIZE || need == BYOC_ABI_REQUIRED) size_bytes = end_of(&byoc_abi_fields[i]);
  }
  return size_bytes;
}

bool byoc_abi_field_is_zero(const byoc_abi_field_t *field, const void *at) {
  const unsigned char *bytes = (const unsigned char *)at + field->offset;
  for (uint32_t i = 0; i < field->size_bytes; ++i) {
    if (bytes[i] != 0) return false;
  }
  return true;
}
