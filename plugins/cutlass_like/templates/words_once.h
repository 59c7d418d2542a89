// What the parameters of a product of words say once, behind the tables of each channel: laid out here for the code
// that writes them (pack_words.c) and for the code that reads them (words_entry.h).
typedef struct byoc_cutlass_once_t {
  int32_t zero; // of the data, as they stand in words
  // Bytes as results.
  float result_scale, result_zero, low, high;
  // Bytes added to them.
  float own_zero, own_scale, other_zero, other_scale;
  float joined_scale, joined_zero, joined_low, joined_high;
} byoc_cutlass_once_t;
