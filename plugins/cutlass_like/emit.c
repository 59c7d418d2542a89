// A problem and its plan as C: the constants that a template names, then the template.
#include <math.h>
#include <string.h>

#include "problem.h"

#define BYOC_CUTLASS_TEMPLATES(X)                                                                                      \
  X(prelude)                                                                                                           \
  X(vec_portable)                                                                                                      \
  X(vec_avx2) X(vec_avx512) X(vec_math) X(tile) X(conv) X(depthwise) X(gemm_weights) X(gemm) X(dot) X(entry)

#define BYOC_CUTLASS_DECLARE(name)                                                                                     \
  extern const unsigned char byoc_embed_cutlass_##name[];                                                              \
  extern const unsigned long long byoc_embed_cutlass_##name##_size;
BYOC_CUTLASS_TEMPLATES(BYOC_CUTLASS_DECLARE)

#define ADD_TEMPLATE(text, name)                                                                                       \
  byoc_cutlass_text_add_bytes(text, byoc_embed_cutlass_##name, byoc_embed_cutlass_##name##_size)

void byoc_cutlass_emit_prelude(byoc_cutlass_text_t *text, byoc_cutlass_isa_t isa) {
  ADD_TEMPLATE(text, prelude);
  byoc_cutlass_text_add(text, "\n");
  if (isa == BYOC_CUTLASS_ISA_AVX512)
    ADD_TEMPLATE(text, vec_avx512);
  else if (isa == BYOC_CUTLASS_ISA_AVX2)
    ADD_TEMPLATE(text, vec_avx2);
  else
    ADD_TEMPLATE(text, vec_portable);
  byoc_cutlass_text_add(text, "\n");
  ADD_TEMPLATE(text, vec_math);
}

// Names defined for one function, undefined after it.
typedef struct names_t {
  const char *name[64];
  size_t count;
} names_t;

static void note_name(byoc_cutlass_text_t *text, names_t *names, const char *name) {
  if (names->count == sizeof names->name / sizeof *names->name)
    text->failed = true;
  else
    names->name[names->count++] = name;
}

static void define(byoc_cutlass_text_t *text, names_t *names, const char *name, int64_t value) {
  note_name(text, names, name);
  byoc_cutlass_text_add(text, "#define %s %lld\n", name, (long long)value);
}

static void define_text(byoc_cutlass_text_t *text, names_t *names, const char *name, const char *arguments,
                        const char *value) {
  note_name(text, names, name);
  byoc_cutlass_text_add(text, "#define %s%s %s\n", name, arguments, value);
}

static void undefine_all(byoc_cutlass_text_t *text, const names_t *names) {
  for (size_t i = 0; i < names->count; ++i) byoc_cutlass_text_add(text, "#undef %s\n", names->name[i]);
}

// A float as a C literal that reads back as the same bits; infinities as the compiler's builtin.
static void add_float(byoc_cutlass_text_t *text, float value) {
  if (isinf(value))
    byoc_cutlass_text_add(text, "%s__builtin_inff()", value < 0 ? "-" : "");
  else
    byoc_cutlass_text_add(text, "%af", (double)value);
}

static void emit_epilogue(byoc_cutlass_text_t *text, names_t *names, const byoc_cutlass_epilogue_t *epilogue) {
  static const char *const call[BYOC_CUTLASS_ACT_COUNT] = {
      "",       "v_relu",      "v_leaky_relu",   "v_clip",       "v_sigmoid", "v_tanh",
      "v_gelu", "v_gelu_tanh", "v_hard_sigmoid", "v_hard_swish", "v_silu"};
  static const uint32_t parameters[BYOC_CUTLASS_ACT_COUNT] = {
      [BYOC_CUTLASS_ACT_LEAKY_RELU] = 1, [BYOC_CUTLASS_ACT_CLIP] = 2, [BYOC_CUTLASS_ACT_HARD_SIGMOID] = 2};
  byoc_cutlass_text_t value = {0};
  byoc_cutlass_text_add(&value, "%s(", call[epilogue->activation]);
  if (epilogue->alpha != 1.0f) {
    byoc_cutlass_text_add(&value, "(sum) * ");
    add_float(&value, epilogue->alpha);
  } else {
    byoc_cutlass_text_add(&value, "(sum)");
  }
  if (epilogue->has_bias) byoc_cutlass_text_add(&value, " + (bias)");
  byoc_cutlass_text_t residual = {0};
  if (epilogue->has_residual) {
    byoc_cutlass_text_add(&residual, " + (residual)");
    if (epilogue->beta != 1.0f) {
      byoc_cutlass_text_add(&residual, " * ");
      add_float(&residual, epilogue->beta);
    }
    if (!epilogue->residual_last && residual.data) byoc_cutlass_text_add(&value, "%s", residual.data);
  }
  if (parameters[epilogue->activation] > 0) {
    byoc_cutlass_text_add(&value, ", ");
    add_float(&value, epilogue->p0);
  }
  if (parameters[epilogue->activation] > 1) {
    byoc_cutlass_text_add(&value, ", ");
    add_float(&value, epilogue->p1);
  }
  byoc_cutlass_text_add(&value, ")");
  if (epilogue->has_residual && epilogue->residual_last && residual.data)
    byoc_cutlass_text_add(&value, "%s", residual.data);
  if (value.failed || residual.failed) text->failed = true;
  define_text(text, names, "FINISH", "(sum, bias, residual)", value.data ? value.data : "");
  byoc_cutlass_text_deinit(&value);
  byoc_cutlass_text_deinit(&residual);
}

// The register tiles that a grid of `rows` x `columns` needs (the whole one and those of the remainders), and TILES,
// which picks among them by row_rest and column_rest.
typedef struct tiling_t {
  int64_t rows, columns;      // of the grid
  int32_t tile_rows, vectors; // of the whole tile
  int32_t lanes;
  bool a_packed; // rows of a stand side by side, as many as the tile has
  int64_t a_row, a_depth;
  bool b_padded; // b's panels are padded to whole vectors
  bool b_packed; // b's panels are as wide as the tile
  bool b_whole;  // b's panels are always as wide as the whole tile
  int64_t b_depth;
  int64_t c_row;
  bool partial_tile; // partial sums have the shape of the whole tile, not of the result
} tiling_t;

static void emit_tile(byoc_cutlass_text_t *text, const char *name, const tiling_t *t, int64_t rows, int64_t columns) {
  int64_t vectors = (columns + t->lanes - 1) / t->lanes, lanes = columns - (vectors - 1) * t->lanes;
  names_t names = {0};
  byoc_cutlass_text_add(text, "\n#define TILE_NAME FN(%s)\n", name);
  note_name(text, &names, "TILE_NAME");
  define(text, &names, "TILE_ROWS", rows);
  define(text, &names, "TILE_VECTORS", vectors);
  define(text, &names, "TILE_LANES", lanes);
  define(text, &names, "TILE_A_ROW", t->a_packed ? 1 : t->a_row);
  define(text, &names, "TILE_A_DEPTH", t->a_packed ? rows : t->a_depth);
  define(text, &names, "TILE_B_DEPTH", !t->b_packed ? t->b_depth : (t->b_whole ? t->vectors : vectors) * t->lanes);
  define(text, &names, "TILE_C_ROW", t->c_row);
  define(text, &names, "TILE_PARTIAL_ROW", t->partial_tile ? t->vectors * t->lanes : t->c_row);
  ADD_TEMPLATE(text, tile);
  undefine_all(text, &names);
}

static void emit_tiles(byoc_cutlass_text_t *text, names_t *names, const tiling_t *t) {
  int64_t wide = (int64_t)t->vectors * t->lanes, row_rest = t->rows % t->tile_rows, column_rest = t->columns % wide;
  bool whole_rows = t->rows >= t->tile_rows, whole_columns = t->columns >= wide;
  define(text, names, "B_PADDED", t->b_padded);
  if (whole_rows && whole_columns) emit_tile(text, "tile", t, t->tile_rows, wide);
  if (row_rest && whole_columns) emit_tile(text, "tile_last_rows", t, row_rest, wide);
  if (whole_rows && column_rest) emit_tile(text, "tile_last_columns", t, t->tile_rows, column_rest);
  if (row_rest && column_rest) emit_tile(text, "tile_corner", t, row_rest, column_rest);
  byoc_cutlass_text_t pick = {0};
  const char *row_one = row_rest && whole_rows ? "row_rest ? " : "",
             *column_one = column_rest && whole_columns ? "column_rest ? " : "";
  byoc_cutlass_text_add(&pick, "((void)row_rest, (void)column_rest, (");
  // Spelt out as nested conditions over the tiles that exist.
  const char *corner = "FN(tile_corner)", *last_rows = "FN(tile_last_rows)", *last_columns = "FN(tile_last_columns)",
             *whole = "FN(tile)";
  if (row_rest) {
    byoc_cutlass_text_add(&pick, "%s(", row_one);
    if (column_rest) byoc_cutlass_text_add(&pick, "%s%s", column_one, corner);
    if (column_rest && whole_columns) byoc_cutlass_text_add(&pick, " : ");
    if (whole_columns) byoc_cutlass_text_add(&pick, "%s", last_rows);
    byoc_cutlass_text_add(&pick, ")");
    if (whole_rows) byoc_cutlass_text_add(&pick, " : ");
  }
  if (whole_rows) {
    byoc_cutlass_text_add(&pick, "(");
    if (column_rest) byoc_cutlass_text_add(&pick, "%s%s", column_one, last_columns);
    if (column_rest && whole_columns) byoc_cutlass_text_add(&pick, " : ");
    if (whole_columns) byoc_cutlass_text_add(&pick, "%s", whole);
    byoc_cutlass_text_add(&pick, ")");
  }
  byoc_cutlass_text_add(&pick, ")(__VA_ARGS__))");
  if (pick.failed) text->failed = true;
  byoc_cutlass_text_add(text, "\n");
  define_text(text, names, "TILES", "(...)", pick.data ? pick.data : "");
  byoc_cutlass_text_deinit(&pick);
}

static void emit_common(byoc_cutlass_text_t *text, names_t *names, const byoc_cutlass_problem_t *problem,
                        const byoc_cutlass_plan_t *plan, int64_t depth, const char *bias_kind) {
  const byoc_cutlass_inputs_t *inputs = &problem->inputs;
  define(text, names, "INPUT_DATA", inputs->data);
  define(text, names, "INPUT_WEIGHTS", inputs->weights);
  define(text, names, "INPUT_BIAS", inputs->bias);
  define(text, names, "INPUT_RESIDUAL", inputs->residual);
  define_text(text, names, "HAS_BIAS", "", problem->epilogue.has_bias ? bias_kind : "0");
  define(text, names, "HAS_RESIDUAL", problem->epilogue.has_residual);
  define(text, names, "TRANSPOSED", plan->transposed);
  define(text, names, "DIRECT", plan->direct);
  define(text, names, "BLOCK_DEPTH", plan->block_depth);
  define(text, names, "BLOCK_PANELS", plan->block_panels);
  define(text, names, "SPLIT_DEPTH", plan->block_depth < depth);
  int64_t shares = byoc_cutlass_shares(problem, plan);
  define(text, names, "SHARES", shares);
  define(text, names, "SLOT_FLOATS", (int64_t)(byoc_cutlass_workspace_bytes(problem, plan) / sizeof(float)) / shares);
  emit_epilogue(text, names, &problem->epilogue);
}

static void emit_conv(byoc_cutlass_text_t *text, names_t *names, const byoc_cutlass_problem_t *problem,
                      const byoc_cutlass_plan_t *plan) {
  const byoc_cutlass_conv_t *conv = &problem->conv;
  int64_t depth = conv->in * conv->kernel_h * conv->kernel_w, pixels = conv->out_h * conv->out_w;
  int32_t lanes = byoc_cutlass_isa_lanes(plan->isa);
  bool depthwise = plan->form == BYOC_CUTLASS_FORM_DEPTHWISE;
  byoc_cutlass_text_add(text, "\n// Convolution %lldx%lld of %lldx%lldx%lldx%lld to %lld channels in %lld groups, %s\n",
                        (long long)conv->kernel_h, (long long)conv->kernel_w, (long long)conv->batch,
                        (long long)(conv->groups * conv->in), (long long)conv->in_h, (long long)conv->in_w,
                        (long long)(conv->groups * conv->out), (long long)conv->groups,
                        depthwise          ? "depthwise"
                        : plan->transposed ? "lanes over channels"
                                           : "lanes over pixels");
  emit_common(text, names, problem, plan, depthwise ? 0 : depth, "BIAS_OF_ROW");
  define(text, names, "BATCH", conv->batch);
  define(text, names, "GROUPS", conv->groups);
  define(text, names, "IN", conv->in);
  define(text, names, "OUT", conv->out);
  define(text, names, "IN_H", conv->in_h);
  define(text, names, "IN_W", conv->in_w);
  define(text, names, "OUT_H", conv->out_h);
  define(text, names, "OUT_W", conv->out_w);
  define(text, names, "KERNEL_H", conv->kernel_h);
  define(text, names, "KERNEL_W", conv->kernel_w);
  define(text, names, "STRIDE_H", conv->stride_h);
  define(text, names, "STRIDE_W", conv->stride_w);
  define(text, names, "DILATION_H", conv->dilation_h);
  define(text, names, "DILATION_W", conv->dilation_w);
  define(text, names, "PAD_TOP", conv->pad_top);
  define(text, names, "PAD_LEFT", conv->pad_left);
  if (depthwise) {
    define(text, names, "CHANNELS", conv->groups * conv->out);
    define(text, names, "MULTIPLIER", conv->out);
    define(text, names, "PHASE_W",
           (conv->out_w + lanes - 1) / lanes * lanes + (conv->kernel_w - 1) * conv->dilation_w / conv->stride_w);
    define(text, names, "VECTOR_ROWS", plan->rows);
    ADD_TEMPLATE(text, depthwise);
    return;
  }
  int64_t wide = (int64_t)plan->vectors * lanes;
  define(text, names, "WEIGHT_PANEL", plan->transposed ? wide : plan->rows);
  define(text, names, "PIXEL_PANEL", plan->transposed ? plan->rows : wide);
  define(text, names, "WEIGHTS_OF_GROUP", (int64_t)byoc_cutlass_packed_floats(problem, plan) / conv->groups);
  define_text(text, names, "WEIGHT_COLUMNS", "(n)", plan->transposed ? "(((n) + LANES - 1) / LANES * LANES)" : "(n)");
  tiling_t tiling = {.rows = plan->transposed ? pixels : conv->out,
                     .columns = plan->transposed ? conv->out : pixels,
                     .tile_rows = plan->rows,
                     .vectors = plan->vectors,
                     .lanes = lanes,
                     .a_packed = true,
                     .b_padded = !plan->direct,
                     .b_packed = !plan->direct,
                     .b_whole = !plan->transposed,
                     .b_depth = pixels,
                     .c_row = pixels,
                     .partial_tile = plan->transposed};
  emit_tiles(text, names, &tiling);
  ADD_TEMPLATE(text, conv);
}

// A matrix index from the batch index, as a macro: repeated dimensions count once.
static void emit_matrix_index(byoc_cutlass_text_t *text, names_t *names, const char *name,
                              const byoc_cutlass_gemm_t *gemm, const bool *repeat) {
  byoc_cutlass_text_t value = {0};
  int64_t inner = 1, stride = 1;
  byoc_cutlass_text_add(&value, "(0");
  for (uint32_t i = gemm->batch_rank; i-- > 0;) {
    if (!repeat[i] && gemm->batch[i] > 1) {
      byoc_cutlass_text_add(&value, " + (batch) / %lld %% %lld * %lld", (long long)inner, (long long)gemm->batch[i],
                            (long long)stride);
      stride *= gemm->batch[i];
    }
    inner *= gemm->batch[i];
  }
  byoc_cutlass_text_add(&value, ")");
  if (value.failed) text->failed = true;
  define_text(text, names, name, "(batch)", value.data ? value.data : "");
  byoc_cutlass_text_deinit(&value);
}

static void emit_gemm(byoc_cutlass_text_t *text, names_t *names, const byoc_cutlass_problem_t *problem,
                      const byoc_cutlass_plan_t *plan) {
  const byoc_cutlass_gemm_t *gemm = &problem->gemm;
  int32_t lanes = byoc_cutlass_isa_lanes(plan->isa);
  byoc_cutlass_text_add(text, "\n// Matrix product %lldx%lldx%lld, %lld of them, %s\n", (long long)gemm->m,
                        (long long)gemm->n, (long long)gemm->k, (long long)byoc_cutlass_batch(gemm),
                        gemm->constant_b ? "constant B" : "computed B");
  emit_common(text, names, problem, plan, gemm->k, "BIAS_OF_COLUMN");
  define(text, names, "BATCH", byoc_cutlass_batch(gemm));
  define(text, names, "M", gemm->m);
  define(text, names, "N", gemm->n);
  define(text, names, "K", gemm->k);
  define(text, names, "A_ROW", gemm->transpose_a ? 1 : gemm->k);
  define(text, names, "A_DEPTH", gemm->transpose_a ? gemm->m : 1);
  define(text, names, "ROW_PANEL", plan->rows);
  define(text, names, "COLUMN_PANEL", (int64_t)plan->vectors * lanes);
  emit_matrix_index(text, names, "A_MATRIX", gemm, gemm->repeat_a);
  emit_matrix_index(text, names, "B_MATRIX", gemm, gemm->repeat_b);
  if (plan->form == BYOC_CUTLASS_FORM_DOT) {
    ADD_TEMPLATE(text, dot);
    return;
  }
  tiling_t tiling = {.rows = gemm->m,
                     .columns = gemm->n,
                     .tile_rows = plan->rows,
                     .vectors = plan->vectors,
                     .lanes = lanes,
                     .a_row = gemm->transpose_a ? 1 : gemm->k,
                     .a_depth = gemm->transpose_a ? gemm->m : 1,
                     .b_padded = gemm->constant_b || !plan->direct,
                     .b_packed = gemm->constant_b || !plan->direct,
                     .b_whole = !gemm->constant_b,
                     .b_depth = gemm->n,
                     .c_row = gemm->n};
  emit_tiles(text, names, &tiling);
  if (gemm->constant_b) {
    int64_t matrices = 1;
    for (uint32_t i = 0; i < gemm->batch_rank; ++i) matrices *= gemm->repeat_b[i] ? 1 : gemm->batch[i];
    define(text, names, "WEIGHTS_OF_MATRIX", (int64_t)byoc_cutlass_packed_floats(problem, plan) / matrices);
    define_text(text, names, "WEIGHT_COLUMNS", "(n)", "(((n) + LANES - 1) / LANES * LANES)");
    ADD_TEMPLATE(text, gemm_weights);
  } else {
    define(text, names, "B_DEPTH", gemm->transpose_b ? 1 : gemm->n);
    define(text, names, "B_COLUMN", gemm->transpose_b ? gemm->k : 1);
    ADD_TEMPLATE(text, gemm);
  }
}

void byoc_cutlass_emit(byoc_cutlass_text_t *text, const byoc_cutlass_problem_t *problem,
                       const byoc_cutlass_plan_t *plan, const char *symbol) {
  names_t names = {0};
  byoc_cutlass_text_add(text, "\n// ---- %s ----\n", symbol);
  define_text(text, &names, "SYMBOL", "", symbol);
  if (problem->kind == BYOC_CUTLASS_CONV)
    emit_conv(text, &names, problem, plan);
  else
    emit_gemm(text, &names, problem, plan);
  byoc_cutlass_text_add(text, "\n");
  ADD_TEMPLATE(text, entry);
  undefine_all(text, &names);
}
