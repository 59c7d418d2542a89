// SPDX-License-Identifier: Apache-2.0
// Writes products of words as C: the sizes that the template names, then the template.
#include <stdio.h>

#include "emit/emit_amx.h"
#include "pack/pack_words.h"
#include "plan/plan_amx.h"

// The names that templates/words/words_finish.h reads.
static void emit_common(byoc_plugin_string_t *text, byoc_cutlass_names_t *names, const byoc_cutlass_problem_t *problem,
                        const byoc_cutlass_plan_t *plan) {
  static const char *const dots[] = {"", "DOT_I8X4", "DOT_I16X2", "DOT_BF16X2", "DOT_BF16_WIDE"};
  const byoc_cutlass_words_t *words = &problem->words;
  const byoc_cutlass_inputs_t *inputs = &problem->inputs;
  byoc_cutlass_define_text(text, names, "DOT", "", dots[words->dot]);
  byoc_cutlass_define(text, names, "UNIT", byoc_cutlass_words_unit(words->dot));
  byoc_cutlass_define(text, names, "BITS", 32 / byoc_cutlass_words_unit(words->dot));
  byoc_cutlass_define(text, names, "DATA",
                      words->data); // the numbers of templates/words/words.h are those of byoc/dtype.h
  byoc_cutlass_define(text, names, "RESULT", words->result);
  byoc_cutlass_define_inputs(text, names, inputs);
  const bool is_conv = problem->kind == BYOC_CUTLASS_CONV; // whose sizes are constants: those of one image
  byoc_cutlass_define(text, names, "IS_OPEN", byoc_cutlass_is_open(problem));
  byoc_cutlass_define_text(text, names, "UNITS", "", is_conv ? "FN(items)" : "FN(items)(args)");
  byoc_cutlass_define_text(text, names, "BLOCKS", "", is_conv ? "FN(blocks)" : "FN(blocks)(args)");
  byoc_cutlass_define(text, names, "INPUT_ZERO", inputs->zero);
  byoc_cutlass_define(text, names, "INPUT_FACTOR", inputs->factor);
  byoc_cutlass_define(text, names, "READS_ZERO", words->reads_zero);
  byoc_cutlass_define(text, names, "JOINS", words->joins);
  byoc_cutlass_define(text, names, "JOINS_RELU", words->joins_relu);
  byoc_cutlass_define(text, names, "RESIDUAL", words->joins ? words->residual : BYOC_DTYPE_F32);
  byoc_cutlass_define(text, names, "READS_FACTOR", words->reads_factor);
  byoc_cutlass_define(text, names, "PARAMETERS", byoc_cutlass_words_table(problem));
  byoc_cutlass_define(text, names, "TABLES", byoc_cutlass_words_table_count(problem));
  byoc_cutlass_define(text, names, "HEAD", byoc_cutlass_words_head(problem, plan));
  byoc_cutlass_define(text, names, "BLOCK_PANELS", plan->block_panels);
  byoc_cutlass_define(text, names, "SHARES", byoc_cutlass_shares(problem, plan));
  byoc_cutlass_epilogue_t epilogue = problem->epilogue;
  epilogue.has_bias = true; // from the tables, with the residual and the activation behind it
  byoc_cutlass_emit_epilogue(text, names, &epilogue, "1");
  BYOC_CUTLASS_ADD_TEMPLATE(text, words_finish);
}

// The whole tile, those of the remainders, and TILES, which picks by `row_rest` and `column_rest`.
typedef struct tiles_t {
  int64_t rows, row_rest; // of the whole tile, of the last one
  int64_t vectors, column_rest;
  int64_t lanes, last_lanes; // of a whole vector, of the last one
  const char *row_test, *column_test;
} tiles_t;

static void emit_tile(byoc_plugin_string_t *text, const byoc_cutlass_problem_t *problem, const char *name, int64_t rows,
                      int64_t vectors, int64_t lanes) {
  byoc_cutlass_names_t names = {0};
  byoc_plugin_string_add(text, "\n#define TILE_NAME FN(%s)\n", name);
  byoc_cutlass_note_name(text, &names, "TILE_NAME");
  byoc_cutlass_define(text, &names, "TILE_ROWS", rows);
  byoc_cutlass_define(text, &names, "TILE_VECTORS", vectors);
  byoc_cutlass_define(text, &names, "TILE_LANES", lanes);
  if (problem->words.amx)
    BYOC_CUTLASS_ADD_TEMPLATE(text, amx_conv);
  else if (problem->kind == BYOC_CUTLASS_CONV)
    BYOC_CUTLASS_ADD_TEMPLATE(text, words_conv_tile);
  else
    BYOC_CUTLASS_ADD_TEMPLATE(text, words_gemm_tile);
  byoc_cutlass_undefine_all(text, &names);
}

static void emit_tiles(byoc_plugin_string_t *text, byoc_cutlass_names_t *names, const byoc_cutlass_problem_t *problem,
                       const tiles_t *t) {
  static const char *const kinds[] = {"tile", "tile_last_columns", "tile_last_rows", "tile_corner"};
  bool other_rows = t->row_rest != t->rows, other_columns = t->column_rest != t->vectors || t->last_lanes != t->lanes;
  for (int i = 0; i < 4; ++i) {
    if ((i & 2 && !other_rows) || (i & 1 && !other_columns)) continue;
    emit_tile(text, problem, kinds[i], i & 2 ? t->row_rest : t->rows, i & 1 ? t->column_rest : t->vectors,
              i & 1 ? t->last_lanes : t->lanes);
  }
  byoc_plugin_string_t pick = {0};
  byoc_plugin_string_add(&pick, "((void)%s, (void)%s, (", t->row_test, t->column_test);
  if (other_rows) {
    byoc_plugin_string_add(&pick, "%s ? ", t->row_test);
    if (other_columns) byoc_plugin_string_add(&pick, "(%s ? FN(tile_corner) : FN(tile_last_rows)) : ", t->column_test);
    if (!other_columns) byoc_plugin_string_add(&pick, "FN(tile_last_rows) : ");
  }
  if (other_columns) byoc_plugin_string_add(&pick, "%s ? FN(tile_last_columns) : ", t->column_test);
  byoc_plugin_string_add(&pick, "FN(tile))(__VA_ARGS__))");
  if (pick.failed) text->failed = true;
  byoc_plugin_string_add(text, "\n");
  byoc_cutlass_define_text(text, names, "TILES", "(...)", pick.data ? pick.data : "");
  byoc_plugin_string_deinit(&pick);
}

// A tile of every height, and TILES, which picks by the height and column_rest.
static void emit_tiles_of_heights(byoc_plugin_string_t *text, byoc_cutlass_names_t *names,
                                  const byoc_cutlass_problem_t *problem, const tiles_t *t) {
  byoc_plugin_string_t pick = {0};
  byoc_plugin_string_add(&pick, "switch ((height) * 2 + (rest)) {");
  for (int64_t height = 1; height <= t->rows; ++height)
    for (int rest = 0; rest < 2; ++rest) {
      char name[40];
      snprintf(name, sizeof name, "tile_of_%lld%s", (long long)height, rest ? "_last_columns" : "");
      emit_tile(text, problem, name, height, rest ? t->column_rest : t->vectors, rest ? t->last_lanes : t->lanes);
      byoc_plugin_string_add(&pick, " case %lld: FN(%s)(__VA_ARGS__); break;", (long long)(height * 2 + rest), name);
    }
  byoc_plugin_string_add(&pick, " }");
  if (pick.failed) text->failed = true;
  byoc_plugin_string_add(text, "\n");
  byoc_cutlass_define_text(text, names, "TILES", "(height, rest, ...)", pick.data ? pick.data : "");
  byoc_plugin_string_deinit(&pick);
}

// Panels of `panel` out of `total`: how large the last one is.
static int64_t rest_of(int64_t total, int64_t panel) {
  return total - (byoc_cutlass_ceil_div(total, panel) - 1) * panel;
}

// TAPS: the distance of each kernel tap's first word; PHASES: the planes in which they lie.
static void emit_taps(byoc_plugin_string_t *text, byoc_cutlass_names_t *names, const byoc_cutlass_conv_t *c,
                      const byoc_cutlass_spread_t *spread) {
  byoc_plugin_string_t taps = {0}, phases = {0};
  for (int64_t y = 0; y < c->kernel_h; ++y)
    for (int64_t x = 0; x < c->kernel_w; ++x) {
      int64_t in_y = y * c->dilation_h, in_x = x * c->dilation_w, phase = 0;
      for (int64_t i = 0; i < c->stride_h; ++i)
        for (int64_t j = 0; j < c->stride_w; ++j)
          if (i * c->stride_w + j < in_y % c->stride_h * c->stride_w + in_x % c->stride_w)
            phase += byoc_cutlass_words_phase_used(i, c->kernel_h, c->stride_h, c->dilation_h) &&
                     byoc_cutlass_words_phase_used(j, c->kernel_w, c->stride_w, c->dilation_w);
      int64_t at = (phase * spread->tall + in_y / c->stride_h) * spread->wide + in_x / c->stride_w;
      byoc_plugin_string_add(&taps, "%lld, ", (long long)at);
    }
  for (int64_t i = 0; i < c->stride_h; ++i)
    for (int64_t j = 0; j < c->stride_w; ++j)
      if (byoc_cutlass_words_phase_used(i, c->kernel_h, c->stride_h, c->dilation_h) &&
          byoc_cutlass_words_phase_used(j, c->kernel_w, c->stride_w, c->dilation_w))
        byoc_plugin_string_add(&phases, "{%lld, %lld}, ", (long long)i, (long long)j);
  if (taps.failed || phases.failed) text->failed = true;
  byoc_cutlass_define_text(text, names, "TAPS", "", taps.data ? taps.data : "");
  byoc_cutlass_define_text(text, names, "PHASES", "", phases.data ? phases.data : "");
  byoc_plugin_string_deinit(&taps);
  byoc_plugin_string_deinit(&phases);
}

typedef struct constant_t {
  const char *name;
  int64_t value;
} constant_t;

static void emit_shape(byoc_plugin_string_t *text, byoc_cutlass_names_t *names, const byoc_cutlass_conv_t *c) {
  const constant_t constants[] = {{"BATCH", c->batch},       {"GROUPS", c->groups},   {"IN", c->in},
                                  {"OUT", c->out},           {"IN_H", c->in_h},       {"IN_W", c->in_w},
                                  {"OUT_H", c->out_h},       {"OUT_W", c->out_w},     {"STRIDE_H", c->stride_h},
                                  {"STRIDE_W", c->stride_w}, {"PAD_TOP", c->pad_top}, {"PAD_LEFT", c->pad_left}};
  for (size_t i = 0; i < sizeof constants / sizeof *constants; ++i)
    byoc_cutlass_define(text, names, constants[i].name, constants[i].value);
}

static void emit_depthwise(byoc_plugin_string_t *text, byoc_cutlass_names_t *names,
                           const byoc_cutlass_problem_t *problem, const byoc_cutlass_plan_t *plan) {
  const byoc_cutlass_conv_t *c = &problem->conv;
  const byoc_cutlass_rows_t rows = byoc_cutlass_words_rows(problem, byoc_cutlass_isa_lanes(plan->isa));
  const constant_t constants[] = {
      {"KERNEL_H", c->kernel_h},     {"DILATION_H", c->dilation_h}, {"DILATION_W", c->dilation_w}, {"TAPS", rows.taps},
      {"ROW_WORDS", rows.row_words}, {"BAND_H", rows.band_h},       {"WIDE", rows.wide},           {"TALL", rows.tall},
      {"FLAT", rows.flat},           {"MOST_ROWS", rows.together}};
  emit_shape(text, names, c);
  for (size_t i = 0; i < sizeof constants / sizeof *constants; ++i)
    byoc_cutlass_define(text, names, constants[i].name, constants[i].value);
  BYOC_CUTLASS_ADD_TEMPLATE(text, words_depthwise);
}

static void emit_conv(byoc_plugin_string_t *text, byoc_cutlass_names_t *names, const byoc_cutlass_problem_t *problem,
                      const byoc_cutlass_plan_t *plan) {
  const byoc_cutlass_conv_t *c = &problem->conv;
  int32_t lanes = byoc_cutlass_isa_lanes(plan->isa);
  byoc_cutlass_spread_t spread = byoc_cutlass_words_spread(c, lanes);
  int64_t positions = (c->out_h - 1) * spread.wide + c->out_w;
  int64_t planes = byoc_cutlass_ceil_div(c->in, byoc_cutlass_words_unit(problem->words.dot));
  if (problem->words.amx) planes = byoc_cutlass_amx_sizes(problem).steps * byoc_cutlass_amx_sizes(problem).depth;
  const constant_t constants[] = {{"TAP_COUNT", c->kernel_h * c->kernel_w},
                                  {"PLANES", planes},
                                  {"WEIGHT_WORDS", planes * c->kernel_h * c->kernel_w},
                                  {"WIDE", spread.wide},
                                  {"TALL", spread.tall},
                                  {"PLANE", spread.plane},
                                  {"CHUNK", byoc_cutlass_words_chunk(problem)},
                                  {"WHOLE", spread.whole},
                                  {"POSITION_VECTORS", plan->vectors},
                                  {"CHANNEL_PANEL", plan->rows},
                                  {"WEIGHTS_OF_GROUP", (int64_t)byoc_cutlass_words_packed(problem, plan) / c->groups}};
  emit_shape(text, names, c);
  for (size_t i = 0; i < sizeof constants / sizeof *constants; ++i)
    byoc_cutlass_define(text, names, constants[i].name, constants[i].value);
  emit_taps(text, names, c, &spread);
  tiles_t tiles = {.rows = plan->rows,
                   .row_rest = rest_of(c->out, plan->rows),
                   .vectors = plan->vectors,
                   .column_rest = rest_of(byoc_cutlass_ceil_div(positions, lanes), plan->vectors),
                   .lanes = lanes,
                   .last_lanes = lanes,
                   .row_test = "channel_rest",
                   .column_test = "position_rest"};
  emit_tiles(text, names, problem, &tiles);
  BYOC_CUTLASS_ADD_TEMPLATE(text, words_conv);
}

static void emit_gemm(byoc_plugin_string_t *text, byoc_cutlass_names_t *names, const byoc_cutlass_problem_t *problem,
                      const byoc_cutlass_plan_t *plan) {
  const byoc_cutlass_gemm_t *gemm = &problem->gemm;
  int32_t lanes = byoc_cutlass_isa_lanes(plan->isa);
  if (gemm->open_rows)
    byoc_cutlass_define_text(text, names, "M", "", "args->rows");
  else
    byoc_cutlass_define(text, names, "M", gemm->m);
  byoc_cutlass_define(text, names, "N", gemm->n);
  byoc_cutlass_define(text, names, "K", gemm->k);
  byoc_cutlass_define(text, names, "IN_PLACE", plan->direct);
  byoc_cutlass_define(text, names, "ROW_WORDS", byoc_cutlass_words_row(problem));
  byoc_cutlass_define(text, names, "ROW_PANEL", plan->rows);
  byoc_cutlass_define(text, names, "COLUMN_VECTORS", plan->vectors);
  tiles_t tiles = {.rows = plan->rows,
                   .row_rest = rest_of(gemm->m, plan->rows),
                   .vectors = plan->vectors,
                   .column_rest = rest_of(byoc_cutlass_ceil_div(gemm->n, lanes), plan->vectors),
                   .lanes = lanes,
                   .last_lanes = rest_of(gemm->n, lanes),
                   .row_test = "row_rest",
                   .column_test = "column_rest"};
  if (gemm->open_rows)
    emit_tiles_of_heights(text, names, problem, &tiles);
  else
    emit_tiles(text, names, problem, &tiles);
  BYOC_CUTLASS_ADD_TEMPLATE(text, words_gemm);
}

// The names that templates/words/words_entry.h reads to go through the rows or images of a call.
static void emit_slices(byoc_plugin_string_t *text, byoc_cutlass_names_t *names, const byoc_cutlass_problem_t *problem,
                        const byoc_cutlass_plan_t *plan) {
  const byoc_cutlass_conv_t *c = &problem->conv;
  const byoc_cutlass_gemm_t *gemm = &problem->gemm;
  const bool is_conv = problem->kind == BYOC_CUTLASS_CONV;
  byoc_cutlass_define_text(text, names, "COUNTED_AXES", "", is_conv ? "1" : "result->ndim - 1");
  byoc_cutlass_define(text, names, "SLICE", is_conv ? 1 : plan->direct ? INT32_MAX : gemm->m);
  byoc_cutlass_define(text, names, "SLICE_DATA", is_conv ? c->groups * c->in * c->in_h * c->in_w : gemm->k);
  byoc_cutlass_define(text, names, "SLICE_RESULT", is_conv ? c->groups * c->out * c->out_h * c->out_w : gemm->n);
  byoc_cutlass_define(text, names, "SLICE_MACS", is_conv ? byoc_cutlass_macs(problem) : gemm->n * gemm->k);
  byoc_cutlass_define(text, names, "SHARE_MACS", byoc_cutlass_share_macs(problem, plan));
}

void byoc_cutlass_words_emit(byoc_plugin_string_t *text, byoc_cutlass_names_t *names,
                             const byoc_cutlass_problem_t *problem, const byoc_cutlass_plan_t *plan) {
  emit_common(text, names, problem, plan);
  if (problem->words.amx) byoc_cutlass_amx_emit(text, names, problem);
  const bool is_depthwise = byoc_cutlass_words_depthwise(problem);
  if (is_depthwise)
    emit_depthwise(text, names, problem, plan);
  else if (problem->kind == BYOC_CUTLASS_CONV)
    emit_conv(text, names, problem, plan);
  else if (problem->words.amx)
    byoc_cutlass_amx_emit_gemm(text, names, problem, plan);
  else
    emit_gemm(text, names, problem, plan);
  if (byoc_cutlass_is_open(problem)) emit_slices(text, names, problem, plan);
  const int32_t lanes = byoc_cutlass_isa_lanes(plan->isa);
  byoc_cutlass_define(text, names, "SLOT_FLOATS", is_depthwise ? byoc_cutlass_words_rows(problem, lanes).slot : 0);
  if (problem->words.amx)
    BYOC_CUTLASS_ADD_TEMPLATE(text, amx_shares);
  else
    BYOC_CUTLASS_ADD_TEMPLATE(text, panel_shares);
  byoc_plugin_string_add(text, "\n");
  BYOC_CUTLASS_ADD_TEMPLATE(text, words_entry);
}
