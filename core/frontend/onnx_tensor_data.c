// SPDX-License-Identifier: Apache-2.0
// Reads the data fields of a tensor. Data that is not raw is in one field, which depends on the element type; narrow
// types are varints in int32_data. Packed fields were left in the file (onnx_wire.h): they are read from there.
#include <string.h>

#include "core/frontend/onnx_reader.h"
#include "core/frontend/onnx_wire.h"

// Numbers of TensorProto's fields.
enum {
  FIELD_FLOAT = 4,
  FIELD_INT32 = 5,
  FIELD_STRING = 6,
  FIELD_INT64 = 7,
  FIELD_RAW = 9,
  FIELD_DOUBLE = 10,
  FIELD_UINT64 = 11,
};

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "ONNX data is little-endian and used as it is");

static uint32_t field_of(byoc_dtype_t dtype) {
  switch (dtype) {
  case BYOC_DTYPE_F32:
  case BYOC_DTYPE_C64:
    return FIELD_FLOAT;
  case BYOC_DTYPE_F64:
  case BYOC_DTYPE_C128:
    return FIELD_DOUBLE;
  case BYOC_DTYPE_I64:
    return FIELD_INT64;
  case BYOC_DTYPE_U32:
  case BYOC_DTYPE_U64:
    return FIELD_UINT64;
  case BYOC_DTYPE_STRING:
    return FIELD_STRING;
  default:
    return FIELD_INT32;
  }
}

static const char *field_name(uint32_t field) {
  const ProtobufCFieldDescriptor *descriptor =
      protobuf_c_message_descriptor_get_field(&onnx__tensor_proto__descriptor, field);
  return descriptor ? descriptor->name : "data";
}

// Elements that protobuf-c unpacked; they come from writers that do not pack.
static size_t unpacked_count(const Onnx__TensorProto *tensor, uint32_t field) {
  switch (field) {
  case FIELD_FLOAT:
    return tensor->n_float_data;
  case FIELD_INT32:
    return tensor->n_int32_data;
  case FIELD_STRING:
    return tensor->n_string_data;
  case FIELD_INT64:
    return tensor->n_int64_data;
  case FIELD_DOUBLE:
    return tensor->n_double_data;
  case FIELD_UINT64:
    return tensor->n_uint64_data;
  default:
    return 0;
  }
}

static size_t word_size(uint32_t field) {
  return field == FIELD_FLOAT ? 4 : field == FIELD_DOUBLE ? 8 : 0; // 0: varints
}

// Counts the elements in the packed pieces of `field`; -1 if a piece does not divide into elements.
static int64_t packed_count(const byoc_onnx_reader_t *reader, const Onnx__TensorProto *tensor, uint32_t field) {
  int64_t count = 0;
  size_t cursor = 0;
  byoc_onnx_wire_piece_t piece;
  while (byoc_onnx_wire_next_piece(&tensor->base, field, &cursor, &piece)) {
    const uint8_t *data = reader->data + piece.offset;
    if (word_size(field) > 0) {
      if (piece.size_bytes % word_size(field) != 0) return -1;
      count += (int64_t)(piece.size_bytes / word_size(field));
      continue;
    }
    size_t run = 0; // bytes of the varint so far
    for (uint64_t i = 0; i < piece.size_bytes; i++) {
      if (++run > 10) return -1;
      if (data[i] & 0x80) continue;
      count++;
      run = 0;
    }
    if (run != 0) return -1;
  }
  return count;
}

// The number of words that the field must hold: complex numbers are pairs, numbers of 4 and 2 bits come two and four
// per int32.
static int64_t expected_words(byoc_dtype_t dtype, int64_t count) {
  if (dtype == BYOC_DTYPE_C64 || dtype == BYOC_DTYPE_C128) return count * 2;
  const int64_t bits = byoc_dtype_bits(dtype);
  if (bits < 8) return count / (8 / bits) + (count % (8 / bits) != 0);
  return count;
}

static byoc_status_t check_raw(byoc_onnx_reader_t *reader, const char *what, byoc_dtype_t dtype, int64_t size_bytes,
                               const byoc_onnx_wire_piece_t *piece, const uint8_t **out_piece) {
  if (dtype == BYOC_DTYPE_STRING) {
    return byoc_diag_error(reader->diag, BYOC_INVALID_DATA, "%s: strings cannot be raw data", what);
  }
  if (piece->size_bytes != (uint64_t)size_bytes) {
    return byoc_diag_error(reader->diag, BYOC_INVALID_DATA, "%s: its shape takes %lld bytes, its raw data has %llu",
                           what, (long long)size_bytes, (unsigned long long)piece->size_bytes);
  }
  *out_piece = reader->data + piece->offset;
  return BYOC_OK;
}

byoc_status_t byoc_onnx_check_data(byoc_onnx_reader_t *reader, const Onnx__TensorProto *tensor, const char *what,
                                   byoc_dtype_t dtype, int64_t count, int64_t size_bytes, const uint8_t **out_piece) {
  *out_piece = NULL;
  const uint32_t own = field_of(dtype);
  static const uint32_t fields[] = {FIELD_FLOAT, FIELD_INT32, FIELD_STRING, FIELD_INT64, FIELD_DOUBLE, FIELD_UINT64};
  bool has_raw = false;
  byoc_onnx_wire_piece_t raw = {0}, piece;
  size_t cursor = 0;
  while (byoc_onnx_wire_next_piece(&tensor->base, FIELD_RAW, &cursor, &piece)) {
    has_raw = true; // the last one counts, by the rules of protobuf
    raw = piece;
  }
  // Some writers leave an empty raw field beside typed data, or the reverse, so empty fields do not count as data.
  if (raw.size_bytes == 0) has_raw = false;
  for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
    const bool holds = unpacked_count(tensor, fields[i]) > 0 || packed_count(reader, tensor, fields[i]) != 0;
    if (holds && (has_raw || fields[i] != own)) {
      return byoc_diag_error(reader->diag, BYOC_INVALID_DATA, "%s: element type %s with data in %s%s", what,
                             byoc_dtype_name(dtype), field_name(fields[i]), has_raw ? " beside raw_data" : "");
    }
  }
  if (has_raw) return check_raw(reader, what, dtype, size_bytes, &raw, out_piece);

  const int64_t packed = packed_count(reader, tensor, own);
  const size_t unpacked = unpacked_count(tensor, own);
  if (packed < 0) {
    return byoc_diag_error(reader->diag, BYOC_INVALID_DATA, "%s: %s ends within an element", what, field_name(own));
  }
  if (packed > 0 && unpacked > 0) {
    return byoc_diag_error(reader->diag, BYOC_UNSUPPORTED, "%s: %s is partly packed", what, field_name(own));
  }
  const int64_t held = packed + (int64_t)unpacked, expected = expected_words(dtype, count);
  if (held != expected) {
    if (held == 0) {
      byoc_diag_error(reader->diag, BYOC_INVALID_DATA, "%s: it holds no data, but its shape has %lld elements", what,
                      (long long)count);
      byoc_diag_hint(reader->diag, "was the model saved without its weights?");
      return BYOC_INVALID_DATA;
    }
    return byoc_diag_error(reader->diag, BYOC_INVALID_DATA, "%s: its shape takes %lld numbers, %s has %lld", what,
                           (long long)expected, field_name(own), (long long)held);
  }
  // Packed floats and doubles have the same format as raw bytes.
  if (word_size(own) > 0 && packed > 0) {
    cursor = 0;
    byoc_onnx_wire_next_piece(&tensor->base, own, &cursor, &piece);
    if (piece.size_bytes == (uint64_t)size_bytes) *out_piece = reader->data + piece.offset;
  }
  return BYOC_OK;
}

// Stores the low bits of `word` as element `index`. Values are sign- or zero-extended; anything wider is refused.
static bool store_word(byoc_dtype_t dtype, uint64_t word, int64_t index, void *to) {
  const int64_t value = (int64_t)word;
  switch (byoc_dtype_bits(dtype)) {
  case 2: // already four
  case 4: // already a pair
  case 8:
    if (dtype == BYOC_DTYPE_BOOL) {
      ((uint8_t *)to)[index] = value != 0;
      return true;
    }
    ((uint8_t *)to)[index] = (uint8_t)value;
    return value >= INT8_MIN && value <= UINT8_MAX;
  case 16: {
    const uint16_t half = (uint16_t)value;
    memcpy((uint8_t *)to + 2 * index, &half, 2);
    return value >= INT16_MIN && value <= UINT16_MAX;
  }
  case 32: {
    const uint32_t whole = (uint32_t)value;
    memcpy((uint8_t *)to + 4 * index, &whole, 4);
    return value >= INT32_MIN && value <= UINT32_MAX;
  }
  default:
    memcpy((uint8_t *)to + 8 * index, &word, 8);
    return true;
  }
}

byoc_status_t byoc_onnx_copy_texts(byoc_onnx_reader_t *reader, byoc_arena_t *arena, const ProtobufCBinaryData *from,
                                   size_t count, const char *what, const char **out_texts) {
  for (size_t i = 0; i < count; i++) {
    const size_t size = from[i].len;
    if (size > 0 && memchr(from[i].data, '\0', size)) {
      byoc_diag_error(reader->diag, BYOC_UNSUPPORTED, "%s: string %zu has a NUL character inside", what, i);
      byoc_diag_hint(reader->diag, "strings of artifacts end at the first NUL; remove it from the model");
      return BYOC_UNSUPPORTED;
    }
    char *copy = byoc_arena_allocate(arena, size + 1, 1);
    if (!copy) return byoc_diag_out_of_memory(reader->diag);
    if (size > 0) memcpy(copy, from[i].data, size);
    out_texts[i] = copy;
  }
  return BYOC_OK;
}

static byoc_status_t decode_varints(byoc_onnx_reader_t *reader, const Onnx__TensorProto *tensor, const char *what,
                                    uint32_t field, byoc_dtype_t dtype, void *to) {
  int64_t index = 0;
  bool fits = true;
  size_t cursor = 0;
  byoc_onnx_wire_piece_t piece;
  while (byoc_onnx_wire_next_piece(&tensor->base, field, &cursor, &piece)) {
    uint64_t word = 0;
    unsigned shift = 0;
    for (uint64_t i = 0; i < piece.size_bytes; i++) {
      const uint8_t byte = reader->data[piece.offset + i];
      if (shift < 64) word |= (uint64_t)(byte & 0x7f) << shift;
      shift += 7;
      if (byte & 0x80) continue;
      fits &= store_word(dtype, word, index++, to);
      word = 0;
      shift = 0;
    }
  }
  for (size_t i = 0; i < unpacked_count(tensor, field); i++) {
    const uint64_t word = field == FIELD_INT32   ? (uint64_t)(int64_t)tensor->int32_data[i]
                          : field == FIELD_INT64 ? (uint64_t)tensor->int64_data[i]
                                                 : tensor->uint64_data[i];
    fits &= store_word(dtype, word, index++, to);
  }
  if (!fits) {
    return byoc_diag_error(reader->diag, BYOC_INVALID_DATA, "%s: a number in %s does not fit %s", what,
                           field_name(field), byoc_dtype_name(dtype));
  }
  return BYOC_OK;
}

byoc_status_t byoc_onnx_decode_data(byoc_onnx_reader_t *reader, const Onnx__TensorProto *tensor, const char *what,
                                    byoc_dtype_t dtype, int64_t count, void *to) {
  if (count == 0) return BYOC_OK;
  const uint32_t field = field_of(dtype);
  if (field == FIELD_STRING) {
    return byoc_onnx_copy_texts(reader, &reader->module->arena, tensor->string_data, (size_t)count, what, to);
  }
  if (word_size(field) == 0) return decode_varints(reader, tensor, what, field, dtype, to);
  uint8_t *at = to;
  size_t cursor = 0;
  byoc_onnx_wire_piece_t piece;
  while (byoc_onnx_wire_next_piece(&tensor->base, field, &cursor, &piece)) {
    if (piece.size_bytes > 0) memcpy(at, reader->data + piece.offset, piece.size_bytes);
    at += piece.size_bytes;
  }
  const size_t unpacked = unpacked_count(tensor, field) * word_size(field);
  if (unpacked > 0)
    memcpy(at, field == FIELD_FLOAT ? (void *)tensor->float_data : (void *)tensor->double_data, unpacked);
  return BYOC_OK;
}
