// SPDX-License-Identifier: Apache-2.0
// isa.h - instruction sets of the templates: the rows of byoc/isa.def, as plans and emitters read them.
//
// Example:
//   byoc_cutlass_isa_t isa = byoc_cutlass_isa_choose("avx2 fma bmi2 ...");
//   int32_t lanes = byoc_cutlass_isa_lanes(isa);
#ifndef BYOC_CUTLASS_ISA_H_
#define BYOC_CUTLASS_ISA_H_

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
#define BYOC_ISA(NAME, ...) BYOC_CUTLASS_ISA_##NAME,
#include "byoc/isa.def"
  BYOC_CUTLASS_ISA_COUNT
};
typedef uint32_t byoc_cutlass_isa_t;

// How operands are multiplied: as f32, or as 32-bit words of several terms. The numbers are those of
// templates/words/words.h.
enum {
  BYOC_CUTLASS_DOT_F32,
  BYOC_CUTLASS_DOT_I8X4,      // u8 by s8, if the instruction set has it
  BYOC_CUTLASS_DOT_I16X2,     // bytes widened to i16
  BYOC_CUTLASS_DOT_BF16X2,    // if the instruction set has it
  BYOC_CUTLASS_DOT_BF16_WIDE, // f32 data by bf16 weights, widened in registers
  BYOC_CUTLASS_DOT_COUNT,
};

// Lanes of f32 in a vector.
int32_t byoc_cutlass_isa_lanes(byoc_cutlass_isa_t isa);

// Vector registers that a tile may fill with sums; two columns and one broadcast value are kept aside.
int32_t byoc_cutlass_isa_sums(byoc_cutlass_isa_t isa);

// The width of a tile of attention, in vectors of keys.
int32_t byoc_cutlass_isa_key_vectors(byoc_cutlass_isa_t isa);

// The first line of sources for this set: it includes a header that takes longer to compile than the code. NULL: none.
const char *byoc_cutlass_isa_preamble(byoc_cutlass_isa_t isa);

// The features that code for it needs, as in /proc/cpuinfo, separated by blanks.
const char *byoc_cutlass_isa_features(byoc_cutlass_isa_t isa);

// The best instruction set that these features (separated by blanks) are enough for.
byoc_cutlass_isa_t byoc_cutlass_isa_choose(const char *features);

// The feature that a dot needs besides the instruction set; "": none. NULL if the set does not have the dot.
const char *byoc_cutlass_dot_feature(byoc_cutlass_isa_t isa, uint32_t dot);

// The features that products of tiles need for a dot; NULL if the instruction set has none.
const char *byoc_cutlass_tile_features(byoc_cutlass_isa_t isa, uint32_t dot);

// The feature besides the instruction set with which f16 is converted; "": none.
const char *byoc_cutlass_half_feature(byoc_cutlass_isa_t isa);

// Multiply-adds of a dot in the time of one of f32 (BYOC_ISA_RATE), on processors of this maker; "": of any.
double byoc_cutlass_dot_rate(byoc_cutlass_isa_t isa, uint32_t dot, const char *vendor);

// The same for products of tiles.
double byoc_cutlass_tile_rate(byoc_cutlass_isa_t isa, uint32_t dot);

// The features with which products of bf16 take less time than those of f32, and the maker of the processors; "": any.
// False if there is no row of that index.
bool byoc_cutlass_fast_bf16(size_t index, const char **out_feature, const char **out_vendor);

// True if all of `wanted` are among `features`; both are separated by blanks.
bool byoc_cutlass_has_features(const char *features, const char *wanted);

// The compiler's flags for an instruction set, a dot and `more` features, separated by blanks. Cut off at `size`.
void byoc_cutlass_isa_flags(byoc_cutlass_isa_t isa, uint32_t dot, const char *more, char *buffer, size_t size);

#endif // BYOC_CUTLASS_ISA_H_
