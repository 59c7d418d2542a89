// SPDX-License-Identifier: Apache-2.0
// emit.h - C code of a problem: definitions around a template, register tiles, epilogues.
//
// Example:
//   byoc_cutlass_names_t names = {0};
//   byoc_cutlass_define(text, &names, "OUT", 64);
//   BYOC_CUTLASS_ADD_TEMPLATE(text, conv);
//   byoc_cutlass_undefine_all(text, &names);
#ifndef BYOC_CUTLASS_EMIT_H_
#define BYOC_CUTLASS_EMIT_H_

#include "common/plugin_string.h"
#include "plan/plan.h"

// The head of a translation unit: includes, vectors, activations.
void byoc_cutlass_emit_prelude(byoc_plugin_string_t *text, byoc_cutlass_isa_t isa);

// Vectors of f16 and bf16, which a function that has such tensors adds by itself. One source may have them several
// times.
void byoc_cutlass_emit_half(byoc_plugin_string_t *text, byoc_cutlass_isa_t isa);

// One packed function named `symbol`, with everything that it needs.
void byoc_cutlass_emit(byoc_plugin_string_t *text, const byoc_cutlass_problem_t *problem,
                       const byoc_cutlass_plan_t *plan, const char *symbol);

// --- Shared by the files of this folder
// -------------------------------------------------------------------------------

#define BYOC_CUTLASS_TEMPLATES(X)                                                                                      \
  X(prelude)                                                                                                           \
  X(vec_math)                                                                                                          \
  X(tile)                                                                                                              \
  X(conv)                                                                                                              \
  X(winograd_math)                                                                                                     \
  X(winograd)                                                                                                          \
  X(direct_tile)                                                                                                       \
  X(direct)                                                                                                            \
  X(depthwise)                                                                                                         \
  X(depthwise_blocked)                                                                                                 \
  X(open_images)                                                                                                       \
  X(gemm_pack_rows)                                                                                                    \
  X(gemm_open_rows)                                                                                                    \
  X(gemm_weights)                                                                                                      \
  X(gemm_few_rows)                                                                                                     \
  X(gemm)                                                                                                              \
  X(attention)                                                                                                         \
  X(args)                                                                                                              \
  X(item_shares)                                                                                                       \
  X(band_shares)                                                                                                       \
  X(panel_shares)                                                                                                      \
  X(bits)                                                                                                              \
  X(bits_tile)                                                                                                         \
  X(bits_entry)                                                                                                        \
  X(dot)                                                                                                               \
  X(entry)                                                                                                             \
  X(half)                                                                                                              \
  X(half_bits)                                                                                                         \
  X(words_once)                                                                                                        \
  X(words)                                                                                                             \
  X(words_lanes)                                                                                                       \
  X(words_finish)                                                                                                      \
  X(words_conv)                                                                                                        \
  X(words_depthwise)                                                                                                   \
  X(words_conv_tile)                                                                                                   \
  X(words_gemm)                                                                                                        \
  X(words_gemm_tile)                                                                                                   \
  X(words_entry)                                                                                                       \
  X(amx)                                                                                                               \
  X(amx_conv)                                                                                                          \
  X(amx_gemm)                                                                                                          \
  X(amx_shares)

#define BYOC_CUTLASS_DECLARE(name)                                                                                     \
  extern const unsigned char byoc_embed_cutlass_##name[];                                                              \
  extern const unsigned long long byoc_embed_cutlass_##name##_size;
BYOC_CUTLASS_TEMPLATES(BYOC_CUTLASS_DECLARE)
#define BYOC_ISA(NAME, id, ...)                                                                                        \
  BYOC_CUTLASS_DECLARE(vec_##id) BYOC_CUTLASS_DECLARE(words_##id) BYOC_CUTLASS_DECLARE(half_##id)
#include "byoc/isa.def"

#define BYOC_CUTLASS_ADD_TEMPLATE(text, name)                                                                          \
  byoc_plugin_string_add_bytes(text, byoc_embed_cutlass_##name, byoc_embed_cutlass_##name##_size)

// Names defined for one function, undefined after it.
typedef struct byoc_cutlass_names_t {
  const char *name[160];
  size_t count;
} byoc_cutlass_names_t;

// Remembers a name only, for definitions that are written by hand.
void byoc_cutlass_note_name(byoc_plugin_string_t *text, byoc_cutlass_names_t *names, const char *name);
void byoc_cutlass_define(byoc_plugin_string_t *text, byoc_cutlass_names_t *names, const char *name, int64_t value);
// A float as a literal that reads back as the same bits.
void byoc_cutlass_define_float(byoc_plugin_string_t *text, byoc_cutlass_names_t *names, const char *name, float value);
void byoc_cutlass_define_text(byoc_plugin_string_t *text, byoc_cutlass_names_t *names, const char *name,
                              const char *arguments, const char *value);
void byoc_cutlass_undefine_all(byoc_plugin_string_t *text, const byoc_cutlass_names_t *names);

// HAS_BIAS, HAS_RESIDUAL and FINISH(sum, bias, residual): the epilogue as an expression on vectors. `bias_kind`:
// BIAS_OF_ROW or BIAS_OF_COLUMN.
void byoc_cutlass_emit_epilogue(byoc_plugin_string_t *text, byoc_cutlass_names_t *names,
                                const byoc_cutlass_epilogue_t *epilogue, const char *bias_kind);

// The register tiles that a grid of `rows` x `columns` needs (the whole one and those of the remainders), and TILES,
// which picks among them by row_rest and column_rest.
typedef struct byoc_cutlass_tiling_t {
  int64_t rows, columns;      // size of the grid
  int32_t tile_rows, vectors; // size of the whole tile
  int32_t lanes;
  bool a_packed; // rows of a stand side by side, as many as the tile has
  int64_t a_row, a_depth;
  bool b_padded; // b's panels are padded to whole vectors
  bool b_packed; // b's panels are as wide as the tile
  bool b_whole;  // b's panels are always as wide as the whole tile
  int64_t b_depth;
  int64_t c_row;
  int64_t ahead;      // floats of the next weights that each term prefetches
  bool partial_tile;  // partial sums have the shape of the whole tile, not of the result
  bool float_result;  // c is f32 whatever the result's type is
  const char *b_type; // NULL: float
  bool widens;        // b as floats is stored where `ahead` points
  bool open_columns;  // a tile gets the lengths of c's rows, of b's unless they are packed, and of its own as arguments
} byoc_cutlass_tiling_t;

// One tile as the function FN(name).
void byoc_cutlass_emit_tile(byoc_plugin_string_t *text, const char *name, const byoc_cutlass_tiling_t *tiling,
                            int64_t rows, int64_t columns);
void byoc_cutlass_emit_tiles(byoc_plugin_string_t *text, byoc_cutlass_names_t *names,
                             const byoc_cutlass_tiling_t *tiling);

// The same where the columns are those of a call: TILES picks by row_rest and LEFT, the columns from the tile on.
void byoc_cutlass_emit_open_tiles(byoc_plugin_string_t *text, byoc_cutlass_names_t *names,
                                  const byoc_cutlass_tiling_t *tiling);

// Tiles of every height up to the whole one's, whose names begin with `tile`, and `macro`, which picks among them by a
// height and column_rest.
void byoc_cutlass_emit_tiles_of_heights(byoc_plugin_string_t *text, byoc_cutlass_names_t *names, const char *macro,
                                        const char *tile, const byoc_cutlass_tiling_t *tiling);

// The places of the inputs that every template has.
void byoc_cutlass_define_inputs(byoc_plugin_string_t *text, byoc_cutlass_names_t *names,
                                const byoc_cutlass_inputs_t *inputs);
// DATA_T, WEIGHT_T, RESIDUAL_T, RESULT_T, and HALF_* for those that are f16 or bf16.
void byoc_cutlass_define_types(byoc_plugin_string_t *text, byoc_cutlass_names_t *names,
                               const byoc_cutlass_types_t *types);
// Inputs, types, blocking and shares, which every template reads.
void byoc_cutlass_emit_common(byoc_plugin_string_t *text, byoc_cutlass_names_t *names,
                              const byoc_cutlass_problem_t *problem, const byoc_cutlass_plan_t *plan, int64_t depth);

void byoc_cutlass_emit_conv(byoc_plugin_string_t *text, byoc_cutlass_names_t *names,
                            const byoc_cutlass_problem_t *problem, const byoc_cutlass_plan_t *plan);
void byoc_cutlass_emit_winograd(byoc_plugin_string_t *text, byoc_cutlass_names_t *names,
                                const byoc_cutlass_problem_t *problem, const byoc_cutlass_plan_t *plan);
void byoc_cutlass_emit_direct(byoc_plugin_string_t *text, byoc_cutlass_names_t *names,
                              const byoc_cutlass_problem_t *problem, const byoc_cutlass_plan_t *plan);
void byoc_cutlass_emit_gemm(byoc_plugin_string_t *text, byoc_cutlass_names_t *names,
                            const byoc_cutlass_problem_t *problem, const byoc_cutlass_plan_t *plan);

void byoc_cutlass_emit_attention(byoc_plugin_string_t *text, byoc_cutlass_names_t *names,
                                 const byoc_cutlass_problem_t *problem, const byoc_cutlass_plan_t *plan);

void byoc_cutlass_bits_emit(byoc_plugin_string_t *text, byoc_cutlass_names_t *names,
                            const byoc_cutlass_problem_t *problem, const byoc_cutlass_plan_t *plan);

void byoc_cutlass_words_emit(byoc_plugin_string_t *text, byoc_cutlass_names_t *names,
                             const byoc_cutlass_problem_t *problem, const byoc_cutlass_plan_t *plan);

#endif // BYOC_CUTLASS_EMIT_H_
