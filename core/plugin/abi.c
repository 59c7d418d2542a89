// SPDX-License-Identifier: Apache-2.0
// Reads data of plugins: struct headers, arrays with strides, strings.
#include "core/plugin/abi.h"

#include <ctype.h>
#include <string.h>

// ---- structs ----

// The string in the struct's field of that name; "" if there is none or it cannot be shown.
static const char *text_of(const byoc_abi_struct_t *shape, const char *name, const void *at) {
  for (uint32_t i = shape[0].first; i < shape[1].first; ++i) {
    const byoc_abi_field_t *field = &byoc_abi_fields[i];
    if (strcmp(field->name, name) != 0 || strcmp(field->type, "const char *") != 0) continue;
    const char *text = NULL;
    memcpy(&text, (const char *)at + field->offset, sizeof(text));
    if (text == NULL) return "";
    const size_t size = strnlen(text, 64);
    return size < 64 && byoc_abi_text_is_printable(text, size) ? text : "";
  }
  return "";
}

// "backend 0", or "backend 0 ('cutlass')" if the struct has a name.
static void describe(const byoc_abi_struct_t *shape, const char *what, const void *at, char *out, size_t size) {
  const char *name = text_of(shape, "name", at);
  if (name[0] == '\0') name = text_of(shape, "target", at);
  snprintf(out, size, name[0] != '\0' ? "%s ('%s')" : "%s", what, name);
}

static byoc_status_t lacks_alternatives(const byoc_abi_struct_t *shape, const char *what, byoc_diag_t *diag) {
  char names[128] = "";
  for (uint32_t i = shape[0].first; i < shape[1].first; ++i) {
    if (byoc_abi_fields[i].need != BYOC_ABI_ONE_OF) continue;
    const size_t used = strlen(names);
    snprintf(names + used, sizeof(names) - used, "%s '%s'", used == 0 ? "" : " nor", byoc_abi_fields[i].name);
  }
  return byoc_diag_error(diag, BYOC_INVALID_DATA, "%s has neither%s, one of which %s requires", what, names,
                         shape->name);
}

// `at` is as large as this host's struct.
static byoc_status_t check_fields(const byoc_abi_struct_t *shape, const char *what, const void *at, byoc_diag_t *diag) {
  char name[160];
  bool has_alternatives = false, has_one = false;
  describe(shape, what, at, name, sizeof(name));
  for (uint32_t i = shape[0].first; i < shape[1].first; ++i) {
    const byoc_abi_field_t *field = &byoc_abi_fields[i];
    if (field->need != BYOC_ABI_REQUIRED && field->need != BYOC_ABI_ONE_OF) continue;
    const bool is_zero = byoc_abi_field_is_zero(field, at);
    if (field->need == BYOC_ABI_REQUIRED && is_zero) {
      return byoc_diag_error(diag, BYOC_INVALID_DATA, "%s lacks '%s', which %s requires", name, field->name,
                             shape->name);
    }
    has_alternatives |= field->need == BYOC_ABI_ONE_OF;
    has_one |= field->need == BYOC_ABI_ONE_OF && !is_zero;
  }
  return has_alternatives && !has_one ? lacks_alternatives(shape, name, diag) : BYOC_OK;
}

byoc_status_t byoc_abi_read(const void *from, const byoc_abi_struct_t *shape, const char *what, void *out,
                            byoc_diag_t *diag) {
  memset(out, 0, shape->size_bytes);
  if (from == NULL) return byoc_diag_error(diag, BYOC_INVALID_DATA, "%s is NULL", what);
  byoc_header_t header;
  memcpy(&header, from, sizeof(header));
  if (header.struct_size < sizeof(header)) {
    byoc_status_t status =
        byoc_diag_error(diag, BYOC_INVALID_DATA, "%s has struct_size %u", what, (unsigned)header.struct_size);
    byoc_diag_hint(diag, "fill its header by BYOC_HEADER");
    return status;
  }
  if (header.struct_version != 1) {
    return byoc_diag_error(diag, BYOC_VERSION, "%s has struct_version %u, this host knows 1", what,
                           (unsigned)header.struct_version);
  }
  memcpy(out, from, header.struct_size < shape->size_bytes ? header.struct_size : shape->size_bytes);
  header.struct_size = shape->size_bytes;
  memcpy(out, &header, sizeof(header));
  return check_fields(shape, what, out, diag);
}

byoc_status_t byoc_abi_read_at(const void *array, uint64_t stride, uint64_t index, const byoc_abi_struct_t *shape,
                               const char *what, void *out, byoc_diag_t *diag) {
  memset(out, 0, shape->size_bytes);
  if (array == NULL) return byoc_diag_error(diag, BYOC_INVALID_DATA, "%s is NULL", what);
  if (stride < sizeof(byoc_header_t)) {
    return byoc_diag_error(diag, BYOC_INVALID_DATA, "the stride of %s is %llu", what, (unsigned long long)stride);
  }
  const uint8_t *at = (const uint8_t *)array + stride * index;
  byoc_header_t header;
  memcpy(&header, at, sizeof(header));
  if (header.struct_size > stride) {
    return byoc_diag_error(diag, BYOC_INVALID_DATA, "%s has struct_size %u in an array of stride %llu", what,
                           (unsigned)header.struct_size, (unsigned long long)stride);
  }
  return byoc_abi_read(at, shape, what, out, diag);
}

byoc_status_t byoc_abi_check_table(const void *table, const byoc_abi_struct_t *shape, uint32_t version,
                                   const char *what, byoc_diag_t *diag) {
  struct {
    uint32_t struct_size, abi_version;
  } head;
  memcpy(&head, table, sizeof(head));
  if (head.struct_size < byoc_abi_least_size(shape)) {
    return byoc_diag_error(diag, BYOC_INVALID_DATA, "%s has struct_size %u, and %s has at least %u bytes", what,
                           (unsigned)head.struct_size, shape->name, (unsigned)byoc_abi_least_size(shape));
  }
  if (head.abi_version != version) {
    return byoc_diag_error(diag, BYOC_VERSION, "%s is of ABI %u, this host has %u", what, (unsigned)head.abi_version,
                           (unsigned)version);
  }
  for (uint32_t i = shape[0].first; i < shape[1].first; ++i) {
    const byoc_abi_field_t *field = &byoc_abi_fields[i];
    if (field->need != BYOC_ABI_REQUIRED || !byoc_abi_field_is_zero(field, table)) continue;
    return byoc_diag_error(diag, BYOC_INVALID_DATA, "%s lacks '%s', which %s requires", what, field->name, shape->name);
  }
  return BYOC_OK;
}

// ---- strings ----

// The number of bytes of the UTF-8 character at `text`, which has at most `size` bytes; 0 if there is none.
static size_t character_size(const unsigned char *text, size_t size) {
  static const struct {
    unsigned char mask, bits;
    size_t size;
    uint32_t smallest;
  } forms[] = {{0x80, 0x00, 1, 0}, {0xE0, 0xC0, 2, 0x80}, {0xF0, 0xE0, 3, 0x800}, {0xF8, 0xF0, 4, 0x10000}};
  for (size_t f = 0; f < sizeof(forms) / sizeof(forms[0]); ++f) {
    if ((text[0] & forms[f].mask) != forms[f].bits) continue;
    if (forms[f].size > size) return 0;
    uint32_t code = text[0] & (unsigned char)~forms[f].mask;
    for (size_t i = 1; i < forms[f].size; ++i) {
      if ((text[i] & 0xC0) != 0x80) return 0;
      code = code << 6 | (text[i] & 0x3Fu);
    }
    const bool valid = code >= forms[f].smallest && code <= 0x10FFFF && !(code >= 0xD800 && code <= 0xDFFF);
    const bool control = code < 0x20 || (code >= 0x7F && code < 0xA0);
    return valid && !control ? forms[f].size : 0;
  }
  return 0;
}

bool byoc_abi_text_is_printable(const char *text, size_t size) {
  for (size_t i = 0; i < size;) {
    const size_t step = character_size((const unsigned char *)text + i, size - i);
    if (step == 0) return false;
    i += step;
  }
  return true;
}

bool byoc_abi_is_name(const char *text, size_t size) {
  if (size == 0 || !isalpha((unsigned char)text[0])) return false;
  for (size_t i = 0; i < size; ++i) {
    if (!isalnum((unsigned char)text[i]) && text[i] != '_' && text[i] != '-') return false;
  }
  return true;
}

byoc_status_t byoc_abi_copy_string(const char *text, const char *what, size_t limit, bool optional, byoc_arena_t *arena,
                                   byoc_diag_t *diag, const char **out_text) {
  *out_text = "";
  if (text == NULL) return optional ? BYOC_OK : byoc_diag_error(diag, BYOC_INVALID_DATA, "%s is NULL", what);
  const size_t size = strnlen(text, limit + 1);
  if (size > limit) return byoc_diag_error(diag, BYOC_INVALID_DATA, "%s is longer than %zu bytes", what, limit);
  if (!byoc_abi_text_is_printable(text, size)) {
    return byoc_diag_error(diag, BYOC_INVALID_DATA, "%s is not one line of printable UTF-8", what);
  }
  char *copy = byoc_arena_copy_string(arena, text);
  if (copy == NULL) return byoc_diag_out_of_memory(diag);
  *out_text = copy;
  return BYOC_OK;
}

byoc_status_t byoc_abi_copy_strings(byoc_text_list_t list, const char *what, size_t limit, uint64_t count_limit,
                                    byoc_arena_t *arena, byoc_diag_t *diag, byoc_text_list_t *out_list) {
  *out_list = (byoc_text_list_t){0};
  if (list.count == 0) return BYOC_OK;
  if (list.items == NULL) return byoc_diag_error(diag, BYOC_INVALID_DATA, "%s is NULL", what);
  if (list.count > count_limit) {
    return byoc_diag_error(diag, BYOC_INVALID_DATA, "%s has %llu entries, more than %llu", what,
                           (unsigned long long)list.count, (unsigned long long)count_limit);
  }
  const char **items = BYOC_ARENA_ARRAY(arena, const char *, (size_t)list.count);
  if (items == NULL) return byoc_diag_out_of_memory(diag);
  for (uint64_t i = 0; i < list.count; ++i) {
    char entry[96];
    snprintf(entry, sizeof(entry), "entry %llu of %s", (unsigned long long)i, what);
    BYOC_RETURN_IF_ERROR(byoc_abi_copy_string(list.items[i], entry, limit, false, arena, diag, &items[i]));
  }
  *out_list = (byoc_text_list_t){items, list.count};
  return BYOC_OK;
}
