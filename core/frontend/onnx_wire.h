// SPDX-License-Identifier: Apache-2.0
// Turns bytes into protobuf-c messages, in two steps. The first step walks the wire format along the message
// descriptors. It refuses bad lengths, wire types and nesting with the offset in the file, and replaces the tensors'
// data by the offset of each piece. In the second step protobuf-c unpacks the small copy. So weights are not copied,
// and protobuf-c, which recurses without a limit, gets only bounded nesting.
#ifndef BYOC_CORE_FRONTEND_ONNX_WIRE_H_
#define BYOC_CORE_FRONTEND_ONNX_WIRE_H_

#include <protobuf-c/protobuf-c.h>

#include "core/base/arena.h"
#include "core/base/diag.h"

// Reads the number at *at and moves *at after it. False if it extends beyond `end` or is longer than 64 bits.
bool byoc_onnx_wire_get_varint(const uint8_t **at, const uint8_t *end, uint64_t *out_value);

// The deepest nesting of messages; a nested graph takes three levels.
#define BYOC_ONNX_MAX_NESTING 120

// The message lives in `arena`. Data that tensors hold stays in `data`.
byoc_status_t byoc_onnx_wire_unpack(const uint8_t *data, size_t size_bytes,
                                    const ProtobufCMessageDescriptor *descriptor, byoc_arena_t *arena,
                                    byoc_diag_t *diag, ProtobufCMessage **out_message);

// Visits the pieces of the data field `field` (its number in TensorProto) that were left out, in the file's order.
// Offsets count from the start of the bytes given to _unpack. Start with *cursor = 0; false when there are no more.
typedef struct byoc_onnx_wire_piece_t {
  uint64_t offset, size_bytes;
} byoc_onnx_wire_piece_t;
bool byoc_onnx_wire_next_piece(const ProtobufCMessage *tensor, uint32_t field, size_t *cursor,
                               byoc_onnx_wire_piece_t *out_piece);

// For fields newer than the compiled onnx.proto: the payload of the next length-delimited occurrence of `field`.
bool byoc_onnx_wire_next_unknown(const ProtobufCMessage *message, uint32_t field, size_t *cursor,
                                 const uint8_t **out_data, size_t *out_size_bytes);

// Unpacks bytes that the walk has already checked: the payload of an unknown field.
byoc_status_t byoc_onnx_wire_unpack_slim(const uint8_t *data, size_t size_bytes,
                                         const ProtobufCMessageDescriptor *descriptor, byoc_arena_t *arena,
                                         byoc_diag_t *diag, ProtobufCMessage **out_message);

#endif // BYOC_CORE_FRONTEND_ONNX_WIRE_H_
