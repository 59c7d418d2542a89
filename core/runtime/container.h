// SPDX-License-Identifier: Apache-2.0
// Operators on sequences and optionals, as ONNX defines them. Sequences are values: an operator that changes a sequence
// makes a new one with the same cells as items.
#ifndef BYOC_CORE_RUNTIME_CONTAINER_H_
#define BYOC_CORE_RUNTIME_CONTAINER_H_

#include "core/runtime/cell.h"

// One operator call: cells by their index in the frame's table, BYOC_CELL_NONE if an operand is left out.
typedef struct byoc_container_call_t {
  uint32_t result, operand_count;
  const uint32_t *operands;
  int64_t axis; // ConcatFromSequence, SplitToSequence; RankIs, AsRank: the rank
  int64_t flag; // ConcatFromSequence: new_axis; SplitToSequence: keepdims
} byoc_container_call_t;

// X(operator, function)
#define BYOC_CONTAINER_LIST(X)                                                                                         \
  X("SequenceEmpty", byoc_sequence_construct)                                                                          \
  X("SequenceConstruct", byoc_sequence_construct)                                                                      \
  X("SequenceInsert", byoc_sequence_insert)                                                                            \
  X("SequenceErase", byoc_sequence_erase)                                                                              \
  X("SequenceAt", byoc_sequence_at)                                                                                    \
  X("SequenceLength", byoc_sequence_length)                                                                            \
  X("ConcatFromSequence", byoc_sequence_concat)                                                                        \
  X("SplitToSequence", byoc_sequence_split)                                                                            \
  X("Optional", byoc_optional_make)                                                                                    \
  X("OptionalHasElement", byoc_optional_has_element)                                                                   \
  X("OptionalGetElement", byoc_optional_get_element)                                                                   \
  X("RankIs", byoc_rank_is)                                                                                            \
  X("AsRank", byoc_as_rank)

typedef int32_t (*byoc_container_function_t)(byoc_frame_t *frame, const byoc_container_call_t *call);

#define BYOC_CONTAINER_DECLARE(op, function) int32_t function(byoc_frame_t *frame, const byoc_container_call_t *call);
BYOC_CONTAINER_LIST(BYOC_CONTAINER_DECLARE)
#undef BYOC_CONTAINER_DECLARE

#endif // BYOC_CORE_RUNTIME_CONTAINER_H_
