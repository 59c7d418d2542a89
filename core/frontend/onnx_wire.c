// SPDX-License-Identifier: Apache-2.0
// Walks the wire format of a model, leaves out its weights, and unpacks the rest by protobuf-c.
#include "core/frontend/onnx_wire.h"

#include <limits.h>
#include <string.h>

#include "core/base/vector.h"
#include "onnx.pb-c.h"

// Protobuf reserves the field numbers from 19000 to 19999 for implementations, and no file may use them. Records of
// data that was left out therefore use 19000 + the field's number. Any such field in the input is dropped.
enum { NOTE_BASE = 19000, NOTE_LAST = 19999, NOTE_SIZE = 16 };
// A padded varint, so that a length can be filled in after the data it measures.
enum { PADDED_LENGTH_SIZE = 5 };
// FunctionProto.attribute_proto, which is newer than onnx 1.12.
enum { FUNCTION_ATTRIBUTE_PROTO = 11 };

typedef struct wire_t {
  const uint8_t *start;
  byoc_allocator_t allocator;
  byoc_diag_t *diag;
  uint8_t *out;
  size_t out_size, out_capacity;
} wire_t;

static bool put_bytes(wire_t *wire, const void *data, size_t size) {
  if (!byoc_vector_grow(wire->allocator, (void **)&wire->out, &wire->out_capacity, wire->out_size, size, 1)) {
    return false;
  }
  if (size > 0) memcpy(wire->out + wire->out_size, data, size);
  wire->out_size += size;
  return true;
}

static bool put_varint(wire_t *wire, uint64_t value) {
  uint8_t bytes[10];
  size_t size = 0;
  do {
    bytes[size++] = (uint8_t)((value & 0x7f) | (value > 0x7f ? 0x80 : 0));
    value >>= 7;
  } while (value != 0);
  return put_bytes(wire, bytes, size);
}

bool byoc_onnx_wire_get_varint(const uint8_t **at, const uint8_t *end, uint64_t *out_value) {
  uint64_t value = 0;
  for (unsigned shift = 0; shift < 70 && *at < end; shift += 7) {
    const uint8_t byte = *(*at)++;
    if (shift < 63 || byte <= 1) value |= (uint64_t)(byte & 0x7f) << shift;
    if (!(byte & 0x80)) {
      *out_value = value;
      return shift < 63 || byte <= 1;
    }
  }
  return false;
}

static byoc_status_t damaged(wire_t *wire, const uint8_t *at, const ProtobufCMessageDescriptor *descriptor,
                             const char *field, const char *reason) {
  byoc_diag_error(wire->diag, BYOC_INVALID_DATA, "byte %zu, in %s%s%s: %s", (size_t)(at - wire->start),
                  descriptor->short_name, field ? "." : "", field ? field : "", reason);
  byoc_diag_hint(wire->diag, "the file is damaged or cut short, or is not an ONNX model; fetch or export it again");
  return BYOC_INVALID_DATA;
}

static bool wire_type_fits(const ProtobufCFieldDescriptor *field, unsigned wire_type) {
  unsigned natural;
  switch (field->type) {
  case PROTOBUF_C_TYPE_FIXED32:
  case PROTOBUF_C_TYPE_SFIXED32:
  case PROTOBUF_C_TYPE_FLOAT:
    natural = PROTOBUF_C_WIRE_TYPE_32BIT;
    break;
  case PROTOBUF_C_TYPE_FIXED64:
  case PROTOBUF_C_TYPE_SFIXED64:
  case PROTOBUF_C_TYPE_DOUBLE:
    natural = PROTOBUF_C_WIRE_TYPE_64BIT;
    break;
  case PROTOBUF_C_TYPE_STRING:
  case PROTOBUF_C_TYPE_BYTES:
  case PROTOBUF_C_TYPE_MESSAGE:
    return wire_type == PROTOBUF_C_WIRE_TYPE_LENGTH_PREFIXED;
  default:
    natural = PROTOBUF_C_WIRE_TYPE_VARINT;
    break;
  }
  return wire_type == natural ||
         (field->label == PROTOBUF_C_LABEL_REPEATED && wire_type == PROTOBUF_C_WIRE_TYPE_LENGTH_PREFIXED);
}

// protobuf-c would end it there. Documentation is dropped.
static bool is_cut_name(const ProtobufCFieldDescriptor *field, const uint8_t *text, uint64_t size) {
  return field->type == PROTOBUF_C_TYPE_STRING && size > 0 && strcmp(field->name, "doc_string") != 0 &&
         memchr(text, '\0', (size_t)size);
}

// Tensor data that may be large: packed lists and raw bytes (string_data is handled as usual).
static bool is_left_out(const ProtobufCMessageDescriptor *descriptor, const ProtobufCFieldDescriptor *field) {
  if (descriptor != &onnx__tensor_proto__descriptor || !field) return false;
  switch (field->id) {
  case 4:  // float_data
  case 5:  // int32_data
  case 7:  // int64_data
  case 9:  // raw_data
  case 10: // double_data
  case 11: // uint64_data
    return true;
  default:
    return false;
  }
}

static byoc_status_t put_note(wire_t *wire, uint32_t field, const uint8_t *data, uint64_t size) {
  const uint64_t note[2] = {(uint64_t)(data - wire->start), size};
  const uint64_t key = ((uint64_t)(NOTE_BASE + field) << 3) | PROTOBUF_C_WIRE_TYPE_LENGTH_PREFIXED;
  _Static_assert(sizeof(note) == NOTE_SIZE, "a note is two words");
  if (!put_varint(wire, key) || !put_varint(wire, NOTE_SIZE) || !put_bytes(wire, note, NOTE_SIZE)) {
    return byoc_diag_out_of_memory(wire->diag);
  }
  return BYOC_OK;
}

static byoc_status_t walk(wire_t *wire, const uint8_t *at, const uint8_t *end,
                          const ProtobufCMessageDescriptor *descriptor, int depth);

static byoc_status_t walk_message_field(wire_t *wire, uint64_t key, const uint8_t *data, uint64_t size,
                                        const ProtobufCMessageDescriptor *descriptor, int depth) {
  if (!put_varint(wire, key)) return byoc_diag_out_of_memory(wire->diag);
  const size_t length_at = wire->out_size;
  static const uint8_t zeros[PADDED_LENGTH_SIZE] = {0};
  if (!put_bytes(wire, zeros, PADDED_LENGTH_SIZE)) return byoc_diag_out_of_memory(wire->diag);
  BYOC_RETURN_IF_ERROR(walk(wire, data, data + size, descriptor, depth + 1));
  const size_t length = wire->out_size - length_at - PADDED_LENGTH_SIZE;
  for (int i = 0; i < PADDED_LENGTH_SIZE; i++) {
    wire->out[length_at + (size_t)i] =
        (uint8_t)(((length >> (7 * i)) & 0x7f) | (i + 1 < PADDED_LENGTH_SIZE ? 0x80 : 0));
  }
  return BYOC_OK;
}

static byoc_status_t walk(wire_t *wire, const uint8_t *at, const uint8_t *end,
                          const ProtobufCMessageDescriptor *descriptor, int depth) {
  if (depth > BYOC_ONNX_MAX_NESTING) {
    return byoc_diag_error(wire->diag, BYOC_INVALID_DATA, "byte %zu, in %s: messages are nested more than %d deep",
                           (size_t)(at - wire->start), descriptor->short_name, BYOC_ONNX_MAX_NESTING);
  }
  uint64_t seen = 0; // singular fields met, by index: protobuf-c would merge a second occurrence
  while (at < end) {
    const uint8_t *field_start = at;
    uint64_t key;
    if (!byoc_onnx_wire_get_varint(&at, end, &key))
      return damaged(wire, field_start, descriptor, NULL, "a field's key is cut short");
    const unsigned wire_type = (unsigned)(key & 7);
    const uint64_t number = key >> 3;
    if (number == 0 || number > 0x1fffffff) {
      return damaged(wire, field_start, descriptor, NULL, "a field has an invalid number");
    }
    const ProtobufCFieldDescriptor *field =
        protobuf_c_message_descriptor_get_field(descriptor, (unsigned)number); // NULL if it is newer
    const char *name = field ? field->name : NULL;
    uint64_t size = 0;
    const uint8_t *payload = at;
    switch (wire_type) {
    case PROTOBUF_C_WIRE_TYPE_VARINT: {
      uint64_t ignored;
      if (!byoc_onnx_wire_get_varint(&at, end, &ignored))
        return damaged(wire, payload, descriptor, name, "a number is cut short");
      break;
    }
    case PROTOBUF_C_WIRE_TYPE_64BIT:
    case PROTOBUF_C_WIRE_TYPE_32BIT:
      size = wire_type == PROTOBUF_C_WIRE_TYPE_64BIT ? 8 : 4;
      if ((uint64_t)(end - at) < size) return damaged(wire, payload, descriptor, name, "a number is cut short");
      at += size;
      break;
    case PROTOBUF_C_WIRE_TYPE_LENGTH_PREFIXED:
      if (!byoc_onnx_wire_get_varint(&at, end, &size))
        return damaged(wire, payload, descriptor, name, "a length is cut short");
      payload = at;
      if (size > (uint64_t)(end - at)) {
        char reason[96];
        snprintf(reason, sizeof(reason), "a length of %llu bytes, where %llu are left", (unsigned long long)size,
                 (unsigned long long)(end - at));
        return damaged(wire, field_start, descriptor, name, reason);
      }
      at += size;
      break;
    default:
      return damaged(wire, field_start, descriptor, name, "a wire type that ONNX does not use");
    }
    if (field && !wire_type_fits(field, wire_type)) {
      return damaged(wire, field_start, descriptor, name, "the field has another wire type than its own");
    }
    if (number >= NOTE_BASE && number <= NOTE_LAST) continue;
    if (field && is_cut_name(field, payload, size)) {
      return damaged(wire, payload, descriptor, name, "a name has a NUL character inside");
    }

    const ProtobufCMessageDescriptor *nested = NULL;
    if (field && field->type == PROTOBUF_C_TYPE_MESSAGE) nested = field->descriptor;
    if (!field && descriptor == &onnx__function_proto__descriptor && number == FUNCTION_ATTRIBUTE_PROTO &&
        wire_type == PROTOBUF_C_WIRE_TYPE_LENGTH_PREFIXED) {
      nested = &onnx__attribute_proto__descriptor;
    }
    if (nested) {
      if (field && field->label != PROTOBUF_C_LABEL_REPEATED) {
        const uint64_t bit = UINT64_C(1) << ((size_t)(field - descriptor->fields) & 63);
        if (seen & bit) return damaged(wire, field_start, descriptor, name, "the field is there twice");
        seen |= bit;
      }
      BYOC_RETURN_IF_ERROR(walk_message_field(wire, key, payload, size, nested, depth));
    } else if (wire_type == PROTOBUF_C_WIRE_TYPE_LENGTH_PREFIXED && is_left_out(descriptor, field)) {
      BYOC_RETURN_IF_ERROR(put_note(wire, (uint32_t)number, payload, size));
    } else if (!put_bytes(wire, field_start, (size_t)(at - field_start))) {
      return byoc_diag_out_of_memory(wire->diag);
    }
  }
  return BYOC_OK;
}

// protobuf-c gives no reason for a failure, so the allocator records a lack of memory.
typedef struct arena_allocator_t {
  byoc_arena_t *arena;
  bool failed;
} arena_allocator_t;

static void *arena_alloc(void *self, size_t size) {
  arena_allocator_t *allocator = self;
  void *memory = byoc_arena_allocate(allocator->arena, size > 0 ? size : 1, 1);
  if (!memory) allocator->failed = true;
  return memory;
}
static void arena_free(void *self, void *memory) {
  (void)self;
  (void)memory;
}

byoc_status_t byoc_onnx_wire_unpack_slim(const uint8_t *data, size_t size_bytes,
                                         const ProtobufCMessageDescriptor *descriptor, byoc_arena_t *arena,
                                         byoc_diag_t *diag, ProtobufCMessage **out_message) {
  arena_allocator_t memory = {.arena = arena};
  ProtobufCAllocator allocator = {arena_alloc, arena_free, &memory};
  *out_message = protobuf_c_message_unpack(descriptor, &allocator, size_bytes, data);
  if (*out_message) return BYOC_OK;
  if (memory.failed) return byoc_diag_out_of_memory(diag);
  // The walk has checked messages and fields. The remaining cause is a packed list that does not divide into numbers.
  return byoc_diag_error(diag, BYOC_INVALID_DATA, "protobuf-c cannot unpack the %s: the file is damaged",
                         descriptor->short_name);
}

byoc_status_t byoc_onnx_wire_unpack(const uint8_t *data, size_t size_bytes,
                                    const ProtobufCMessageDescriptor *descriptor, byoc_arena_t *arena,
                                    byoc_diag_t *diag, ProtobufCMessage **out_message) {
  *out_message = NULL;
  wire_t wire = {.start = data, .allocator = arena->allocator, .diag = diag};
  byoc_status_t status = walk(&wire, data, data + size_bytes, descriptor, 0);
  if (status == BYOC_OK && wire.out_size > INT_MAX) {
    status = byoc_diag_error(diag, BYOC_UNSUPPORTED,
                             "the model is larger than 2 GiB even without its weights, which protobuf cannot hold");
  }
  if (status == BYOC_OK) {
    status = byoc_onnx_wire_unpack_slim(wire.out, wire.out_size, descriptor, arena, diag, out_message);
  }
  byoc_free(wire.allocator, wire.out);
  return status;
}

bool byoc_onnx_wire_next_unknown(const ProtobufCMessage *message, uint32_t field, size_t *cursor,
                                 const uint8_t **out_data, size_t *out_size_bytes) {
  while (*cursor < message->n_unknown_fields) {
    const ProtobufCMessageUnknownField *unknown = &message->unknown_fields[(*cursor)++];
    if (unknown->tag != field || unknown->wire_type != PROTOBUF_C_WIRE_TYPE_LENGTH_PREFIXED) continue;
    const uint8_t *at = unknown->data, *end = unknown->data + unknown->len;
    uint64_t size;
    if (!byoc_onnx_wire_get_varint(&at, end, &size) || size != (uint64_t)(end - at)) continue;
    *out_data = at;
    *out_size_bytes = (size_t)size;
    return true;
  }
  return false;
}

bool byoc_onnx_wire_next_piece(const ProtobufCMessage *tensor, uint32_t field, size_t *cursor,
                               byoc_onnx_wire_piece_t *out_piece) {
  const uint8_t *data;
  size_t size;
  while (byoc_onnx_wire_next_unknown(tensor, NOTE_BASE + field, cursor, &data, &size)) {
    if (size != NOTE_SIZE) continue;
    memcpy(&out_piece->offset, data, 8);
    memcpy(&out_piece->size_bytes, data + 8, 8);
    return true;
  }
  return false;
}
