// SPDX-License-Identifier: Apache-2.0
// Reads and writes NumPy's .npy files.
#include "npy.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/file.h"
#include "core/base/hash.h"
#include "core/base/visible.h"
#include "core/ir/element.h"
#include "npy_order.h"
#include "npy_text.h"

// X(NumPy's descriptor, BYOC_DTYPE_ suffix): if a type has several rows, the first is used for writing.
#define NPY_TYPE_LIST(X)                                                                                               \
  X("<f4", F32)                                                                                                        \
  X("<f8", F64)                                                                                                        \
  X("<f2", F16)                                                                                                        \
  X("|i1", I8)                                                                                                         \
  X("<i2", I16)                                                                                                        \
  X("<i4", I32)                                                                                                        \
  X("<i8", I64)                                                                                                        \
  X("|u1", U8)                                                                                                         \
  X("<u2", U16)                                                                                                        \
  X("<u4", U32)                                                                                                        \
  X("<u8", U64)                                                                                                        \
  X("|b1", BOOL)                                                                                                       \
  X("<c8", C64)                                                                                                        \
  X("<c16", C128)                                                                                                      \
  X("<u2", BF16)                                                                                                       \
  X("|u1", F8E4M3FN)                                                                                                   \
  X("|u1", F8E4M3FNUZ)                                                                                                 \
  X("|u1", F8E5M2)                                                                                                     \
  X("|u1", F8E5M2FNUZ)                                                                                                 \
  X("|u1", F8E8M0)                                                                                                     \
  X("|i1", I4)                                                                                                         \
  X("|u1", U4)                                                                                                         \
  X("|i1", I2)                                                                                                         \
  X("|u1", U2)                                                                                                         \
  X("|u1", F4E2M1)

static byoc_dtype_t parse_descriptor(const char *text) {
#define NPY_TEST(descriptor, NAME)                                                                                     \
  if (strcmp(text, descriptor) == 0) return BYOC_DTYPE_##NAME;
  NPY_TYPE_LIST(NPY_TEST)
#undef NPY_TEST
  return BYOC_DTYPE_NONE;
}

static const char *descriptor_of(byoc_dtype_t dtype) {
  switch (dtype) {
#define NPY_CASE(descriptor, NAME)                                                                                     \
  case BYOC_DTYPE_##NAME:                                                                                              \
    return descriptor;
    NPY_TYPE_LIST(NPY_CASE)
#undef NPY_CASE
  default:
    return NULL;
  }
}

// The text after 'key': in the header's dictionary, white space skipped; NULL if the key is missing.
static const char *find_key(const char *header, const char *key) {
  char quoted[32];
  snprintf(quoted, sizeof(quoted), "'%s':", key);
  const char *at = strstr(header, quoted);
  if (at == NULL) return NULL;
  at += strlen(quoted);
  while (*at == ' ') ++at;
  return at;
}

static byoc_status_t damaged(const char *what, byoc_diag_t *diag) {
  return byoc_diag_error(diag, BYOC_INVALID_DATA, "not a .npy file that can be read: %s", what);
}

static byoc_status_t parse_shape(const char *at, byoc_npy_t *array, byoc_diag_t *diag) {
  if (at == NULL || *at++ != '(') return damaged("no shape in its header", diag);
  while (*at != ')' && *at != '\0') {
    char *end = NULL;
    long long dim = strtoll(at, &end, 10);
    if (end == at || dim < 0) return damaged("a bad shape in its header", diag);
    if (array->rank == 16) return damaged("more than 16 dimensions", diag);
    array->dims[array->rank++] = dim;
    at = end + strspn(end, "L, ");
  }
  return *at == ')' ? BYOC_OK : damaged("a bad shape in its header", diag);
}

// 'U5': texts of 5 characters each.
static bool parse_text_type(const char *type, size_t *out_width) {
  char *end = NULL;
  if (type[0] != 'U' || type[1] < '0' || type[1] > '9') return false;
  *out_width = (size_t)strtoul(type + 1, &end, 10);
  return *end == '\0' && *out_width > 0;
}

// Facts in a header besides the array's type and shape.
typedef struct {
  size_t width;    // characters of each text; of other types 0
  bool is_fortran; // the first dimension is innermost
  bool is_big_endian;
} layout_t;

static byoc_status_t parse_header(const char *header, byoc_npy_t *array, layout_t *out_layout, byoc_diag_t *diag) {
  *out_layout = (layout_t){0};
  const char *descriptor = find_key(header, "descr"), *order = find_key(header, "fortran_order");
  if (descriptor == NULL || order == NULL) return damaged("no descr or fortran_order in its header", diag);
  out_layout->is_fortran = strncmp(order, "True", 4) == 0;
  if (!out_layout->is_fortran && strncmp(order, "False", 5) != 0) return damaged("a bad fortran_order", diag);
  char type[16] = "";
  if (*descriptor == '\'') snprintf(type, sizeof(type), "%.*s", (int)strcspn(descriptor + 1, "'"), descriptor + 1);
  out_layout->is_big_endian = type[0] == '>';
  if (out_layout->is_big_endian) type[0] = '<';
  const bool is_text = type[0] == '<' && parse_text_type(type + 1, &out_layout->width);
  array->dtype = is_text ? BYOC_DTYPE_STRING : parse_descriptor(type);
  if (array->dtype == BYOC_DTYPE_NONE) {
    return byoc_diag_error(diag, BYOC_UNSUPPORTED, "arrays of type '%s' cannot be read", type);
  }
  return parse_shape(find_key(header, "shape"), array, diag);
}

// The type's numbers, each of which has its bytes in an order of its own: of complex numbers there are two.
static size_t unit_bytes(byoc_dtype_t dtype) {
  if (dtype == BYOC_DTYPE_STRING) return 4;
  const bool is_complex = dtype == BYOC_DTYPE_C64 || dtype == BYOC_DTYPE_C128;
  return byoc_dtype_bits(dtype) / (is_complex ? 16 : 8);
}

// A copy of the data, its elements and bytes in the order that byoc computes on.
static uint8_t *copy_data(const uint8_t *data, size_t size, size_t element, const byoc_npy_t *array,
                          const layout_t *layout, byoc_allocator_t allocator) {
  uint8_t *copy = byoc_allocate(allocator, size, 1);
  if (copy == NULL || size == 0) return copy;
  if (layout->is_fortran)
    byoc_npy_to_rows(data, array->dims, array->rank, element, size, copy);
  else
    memcpy(copy, data, size);
  if (layout->is_big_endian) byoc_npy_swap_bytes(copy, size, unit_bytes(array->dtype));
  return copy;
}

static byoc_status_t parse_data(const uint8_t *data, size_t size_bytes, const layout_t *layout,
                                byoc_allocator_t allocator, byoc_diag_t *diag, byoc_npy_t *array) {
  const bool is_text = array->dtype == BYOC_DTYPE_STRING;
  size_t count = 1, size = 0, element = byoc_dtype_bits(array->dtype) / 8;
  bool fits = true;
  for (int32_t d = 0; d < array->rank; ++d) fits = fits && byoc_size_mul(count, (size_t)array->dims[d], &count);
  if (is_text) fits = fits && byoc_size_mul(layout->width, 4, &element); // UTF-32
  if (!fits || !byoc_size_mul(count, element, &size)) return damaged("its shape is too large", diag);
  if (size != size_bytes) {
    return byoc_diag_error(diag, BYOC_INVALID_DATA, "the file holds %zu bytes of data, its shape asks for %zu",
                           size_bytes, size);
  }
  uint8_t *copy = copy_data(data, size, element, array, layout, allocator);
  if (copy == NULL) return byoc_diag_out_of_memory(diag);
  array->size_bytes = size;
  array->data = copy;
  if (!is_text) return BYOC_OK;
  const char **texts = NULL;
  byoc_status_t status = byoc_npy_read_texts(copy, count, layout->width, allocator, diag, &texts);
  byoc_free(allocator, copy);
  array->size_bytes = count * sizeof(*texts);
  array->data = (void *)texts;
  return status;
}

static byoc_status_t parse_bytes(const byoc_bytes_t *view, byoc_allocator_t allocator, byoc_diag_t *diag,
                                 byoc_npy_t *array) {
  const uint8_t *bytes = view->data;
  if (view->size_bytes < 12 || memcmp(bytes, "\x93NUMPY", 6) != 0) return damaged("no NumPy magic", diag);
  size_t prefix = bytes[6] == 1 ? 10 : 12;
  size_t header_size = bytes[8] | (size_t)bytes[9] << 8;
  if (bytes[6] > 1) header_size |= (size_t)bytes[10] << 16 | (size_t)bytes[11] << 24;
  if (bytes[6] < 1 || bytes[6] > 3) return damaged("an unknown format version", diag);
  if (header_size > view->size_bytes - prefix || header_size > 65536) return damaged("its header is cut off", diag);
  char *header = byoc_allocate(allocator, header_size + 1, 1);
  if (header == NULL) return byoc_diag_out_of_memory(diag);
  memcpy(header, bytes + prefix, header_size);
  layout_t layout;
  byoc_status_t status = parse_header(header, array, &layout, diag);
  byoc_free(allocator, header);
  if (status != BYOC_OK) return status;
  return parse_data(bytes + prefix + header_size, view->size_bytes - prefix - header_size, &layout, allocator, diag,
                    array);
}

byoc_status_t byoc_npy_parse(const void *data, size_t size_bytes, byoc_allocator_t allocator, byoc_diag_t *diag,
                             byoc_npy_t *out_array) {
  const byoc_bytes_t bytes = {.data = data, .size_bytes = size_bytes};
  *out_array = (byoc_npy_t){0};
  byoc_status_t status = parse_bytes(&bytes, allocator, diag, out_array);
  if (status != BYOC_OK) byoc_npy_deinit(out_array, allocator);
  return status;
}

byoc_status_t byoc_npy_read(const char *path, byoc_allocator_t allocator, byoc_diag_t *diag, byoc_npy_t *out_array) {
  *out_array = (byoc_npy_t){0};
  byoc_file_view_t view;
  BYOC_RETURN_IF_ERROR(byoc_file_view_open(path, diag, &view));
  byoc_status_t status = byoc_npy_parse(view.data, view.size_bytes, allocator, diag, out_array);
  byoc_file_view_close(&view);
  return status == BYOC_OK ? BYOC_OK : byoc_diag_context(diag, status, "%s", path);
}

void byoc_npy_deinit(byoc_npy_t *array, byoc_allocator_t allocator) {
  byoc_free(allocator, array->data);
  *array = (byoc_npy_t){0};
}

static byoc_status_t write_array(const char *path, const char *descriptor, int32_t rank, const int64_t *dims,
                                 const void *data, uint64_t size_bytes, byoc_diag_t *diag) {
  byoc_string_t header;
  byoc_string_init(&header, byoc_allocator_system());
  byoc_string_appendf(&header, "{'descr': '%s', 'fortran_order': False, 'shape': (", descriptor);
  for (int32_t d = 0; d < rank; ++d) byoc_string_appendf(&header, "%" PRId64 "%s", dims[d], d + 1 < rank ? ", " : "");
  byoc_string_append(&header, rank == 1 ? ",), }" : "), }");
  byoc_string_indent(&header, (int)(63 - (10 + header.size) % 64)); // the data starts at a multiple of 64
  byoc_string_append(&header, "\n");
  const uint8_t prefix[10] = {0x93, 'N', 'U', 'M', 'P', 'Y', 1, 0, header.size & 255, (header.size >> 8) & 255};
  const byoc_bytes_t parts[] = {{prefix, sizeof(prefix)}, {header.data, header.size}, {data, size_bytes}};
  byoc_status_t status =
      header.failed ? byoc_diag_out_of_memory(diag) : byoc_file_write_atomic_parts(path, parts, 3, 0644, diag);
  byoc_string_deinit(&header);
  return status;
}

// Bits of element `index` of a type that is packed; integers with their sign.
static uint8_t unpack(byoc_dtype_t dtype, const uint8_t *data, uint64_t index) {
  const uint32_t bits = byoc_dtype_bits(dtype), each = 8 / bits, half = 1U << (bits - 1);
  const uint32_t value = (uint32_t)data[index / each] >> (index % each * bits) & (2 * half - 1);
  return (uint8_t)(byoc_dtype_is_signed_integer(dtype) && value >= half ? value - 2 * half : value);
}

byoc_status_t byoc_npy_pack(byoc_npy_t *array, byoc_dtype_t dtype, byoc_diag_t *diag) {
  const uint32_t bits = byoc_dtype_bits(dtype), each = 8 / bits, ones = (1U << bits) - 1;
  uint8_t *bytes = array->data;
  for (uint64_t i = 0; i < array->size_bytes; ++i) {
    const uint32_t shift = (uint32_t)(i % each) * bits, value = bytes[i];
    uint8_t *to = &bytes[i / each]; // at or before the byte that was read
    *to = (uint8_t)((shift == 0 ? 0 : *to) | (value & ones) << shift);
    if (unpack(dtype, bytes, i) != value) {
      return byoc_diag_error(diag, BYOC_INVALID_DATA, "element %" PRIu64 " is no %s", i, byoc_dtype_name(dtype));
    }
  }
  array->size_bytes = (array->size_bytes + each - 1) / each;
  array->dtype = dtype;
  return BYOC_OK;
}

static byoc_status_t write_packed(const char *path, byoc_dtype_t dtype, int32_t rank, const int64_t *dims,
                                  const void *data, byoc_diag_t *diag) {
  uint64_t count = 1;
  for (int32_t d = 0; d < rank; ++d) count *= (uint64_t)dims[d];
  uint8_t *bytes = byoc_allocate(byoc_allocator_system(), (size_t)count, 1);
  if (bytes == NULL) return byoc_diag_out_of_memory(diag);
  for (uint64_t i = 0; i < count; ++i) bytes[i] = unpack(dtype, data, i);
  byoc_status_t status = write_array(path, descriptor_of(dtype), rank, dims, bytes, count, diag);
  byoc_free(byoc_allocator_system(), bytes);
  return status;
}

byoc_status_t byoc_npy_write(const char *path, byoc_dtype_t dtype, int32_t rank, const int64_t *dims, const void *data,
                             uint64_t size_bytes, byoc_diag_t *diag) {
  if (dtype == BYOC_DTYPE_STRING) {
    uint8_t *bytes = NULL;
    size_t count = (size_t)(size_bytes / sizeof(char *)), width = 0;
    char type[32];
    byoc_status_t status = byoc_npy_write_texts(data, count, byoc_allocator_system(), diag, &bytes, &width);
    if (status != BYOC_OK) return byoc_diag_context(diag, status, "%s", path);
    snprintf(type, sizeof(type), "<U%zu", width);
    status = write_array(path, type, rank, dims, bytes, count * width * 4, diag);
    byoc_free(byoc_allocator_system(), bytes);
    return status;
  }
  const char *descriptor = descriptor_of(dtype);
  if (descriptor != NULL && byoc_dtype_bits(dtype) < 8) return write_packed(path, dtype, rank, dims, data, diag);
  if (descriptor == NULL) {
    return byoc_diag_error(diag, BYOC_UNSUPPORTED, "%s: NumPy has no type for %s", path, byoc_dtype_name(dtype));
  }
  return write_array(path, descriptor, rank, dims, data, size_bytes, diag);
}

// File systems take 255 bytes, and there are numbers, endings and marks of temporary files behind the name.
enum { NAME_BYTES = 160 };

// Replaces the end of a name that is too long, not in the middle of a character.
static void shorten(const char *tensor, size_t start, byoc_string_t *out) {
  size_t size = start + NAME_BYTES;
  while (size > start && ((unsigned char)out->data[size] & 0xc0) == 0x80) size--;
  out->data[out->size = size] = '\0';
  byoc_string_appendf(out, "~%016llx", (unsigned long long)byoc_hash_string(tensor));
}

void byoc_npy_name(const char *tensor, byoc_string_t *out) {
  const char *end = tensor + strlen(tensor), *at = tensor;
  const size_t start = out->size;
  char shown[BYOC_SHOWN_BYTES];
  for (; *at == '.'; at++) byoc_string_append(out, "_");
  while (at < end) {
    const size_t length = byoc_show_character(at, (size_t)(end - at), shown);
    const bool is_same = shown[length] == '\0' && memcmp(shown, at, length) == 0;
    byoc_string_append(out, is_same && *at != '/' && *at != ':' ? shown : "_");
    at += length;
  }
  if (tensor == end) byoc_string_append(out, "_");
  if (!out->failed && out->size - start > NAME_BYTES) shorten(tensor, start, out);
}

// Notes the names that a tensor's file and folder have where capitals make no difference, unless they are taken.
static bool take_name(const char *name, byoc_map_t *taken, byoc_string_t *key) {
  byoc_string_clear(key);
  byoc_string_append(key, name);
  for (size_t i = 0; !key->failed && i < key->size; i++) key->data[i] = (char)tolower((unsigned char)key->data[i]);
  const size_t size = key->size;
  byoc_string_append(key, ".npy");
  if (key->failed || byoc_string_map_find(taken, key->data) != NULL) return false;
  if (!byoc_string_map_put(taken, key->data, taken)) key->failed = true;
  if (!key->failed) key->data[key->size = size] = '\0';
  if (!key->failed && byoc_string_map_find(taken, key->data) != NULL) return false;
  if (!key->failed && !byoc_string_map_put(taken, key->data, taken)) key->failed = true;
  return !key->failed;
}

byoc_status_t byoc_npy_unique_name(const char *tensor, byoc_map_t *taken, byoc_string_t *out, byoc_diag_t *diag) {
  byoc_string_t key;
  byoc_string_init(&key, byoc_allocator_system());
  byoc_npy_name(tensor, out);
  const size_t size = out->size;
  for (int number = 2; !out->failed && !take_name(out->data, taken, &key) && !key.failed; ++number) {
    out->data[out->size = size] = '\0';
    byoc_string_appendf(out, "_%d", number);
  }
  const bool failed = out->failed || key.failed;
  byoc_string_deinit(&key);
  return failed ? byoc_diag_out_of_memory(diag) : BYOC_OK;
}
