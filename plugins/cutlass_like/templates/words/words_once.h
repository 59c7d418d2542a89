// SPDX-License-Identifier: Apache-2.0
// The parameters of a product of words that are the same for all channels; they lie behind the tables of the channels.
// pack_words.c writes them, and words_entry.h reads them.
typedef struct byoc_cutlass_once_t {
  int32_t zero; // of the data, as they stand in words
  // Bytes as results.
  float result_scale, result_zero, low, high;
  // Bytes added to them.
  float own_zero, own_scale, other_zero, other_scale, joined_shift;
  float joined_scale, joined_zero, joined_low, joined_high;
} byoc_cutlass_once_t;
