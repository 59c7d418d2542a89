// SPDX-License-Identifier: Apache-2.0
// Writes convolutions as C: the sizes that the template names, then the template.
#include "emit/emit.h"
#include "pack/pack.h"

static void emit_depthwise_blocked(byoc_plugin_string_t *text, byoc_cutlass_names_t *names,
                                   const byoc_cutlass_problem_t *problem, const byoc_cutlass_plan_t *plan) {
  byoc_cutlass_emit_epilogue(text, names, &problem->epilogue, "BIAS_OF_ROW");
  byoc_cutlass_define(text, names, "CHANNELS", problem->conv.groups * problem->conv.out);
  byoc_cutlass_define(text, names, "BLOCK", BYOC_CUTLASS_BLOCK);
  byoc_cutlass_define(text, names, "PIXELS", plan->rows);
  BYOC_CUTLASS_ADD_TEMPLATE(text, depthwise_blocked);
  BYOC_CUTLASS_ADD_TEMPLATE(text, band_shares);
}

static void emit_depthwise(byoc_plugin_string_t *text, byoc_cutlass_names_t *names,
                           const byoc_cutlass_problem_t *problem, const byoc_cutlass_plan_t *plan) {
  const byoc_cutlass_conv_t *conv = &problem->conv;
  byoc_cutlass_depthwise_t sizes;
  byoc_cutlass_depthwise_sizes(conv, plan->isa, &sizes);
  byoc_cutlass_emit_epilogue(text, names, &problem->epilogue, "BIAS_OF_ROW");
  byoc_cutlass_define(text, names, "CHANNELS", conv->groups * conv->out);
  byoc_cutlass_define(text, names, "MULTIPLIER", conv->out);
  byoc_cutlass_define(text, names, "BAND_H", sizes.band_h);
  byoc_cutlass_define(text, names, "BAND_W", sizes.band_w);
  byoc_cutlass_define(text, names, "PHASE_W", sizes.phase_w);
  byoc_cutlass_define(text, names, "PADDED_ROW", sizes.padded_row);
  byoc_cutlass_define(text, names, "PADDED_TAIL", sizes.tail);
  byoc_cutlass_define(text, names, "VECTOR_ROWS", plan->rows);
  byoc_cutlass_define(text, names, "SHARES_LOADS", byoc_cutlass_shares_loads(conv, plan));
  BYOC_CUTLASS_ADD_TEMPLATE(text, depthwise);
  BYOC_CUTLASS_ADD_TEMPLATE(text, item_shares);
}

// Can the kernel reach so far into the padding that some of its taps read nothing else?
static bool may_skip_taps(const byoc_cutlass_conv_t *conv) {
  const bool is_padded = conv->pad_top > 0 || conv->pad_left > 0 || conv->same != BYOC_CUTLASS_SAME_NONE;
  return is_padded && conv->kernel_h * conv->kernel_w > 1 && (conv->dilation_h > 1 || conv->dilation_w > 1);
}

static void emit_implicit_gemm(byoc_plugin_string_t *text, byoc_cutlass_names_t *names,
                               const byoc_cutlass_problem_t *problem, const byoc_cutlass_plan_t *plan) {
  const byoc_cutlass_conv_t *conv = &problem->conv;
  int64_t lanes = byoc_cutlass_isa_lanes(plan->isa), wide = plan->vectors * lanes, pixels = conv->out_h * conv->out_w;
  byoc_cutlass_emit_epilogue(text, names, &problem->epilogue, "BIAS_OF_ROW");
  byoc_cutlass_define(text, names, "CONTIGUOUS", byoc_cutlass_may_read_in_place(problem));
  byoc_cutlass_define(text, names, "SKIPS_TAPS", may_skip_taps(conv));
  byoc_cutlass_define(text, names, "WEIGHT_PANEL", plan->transposed ? wide : plan->rows);
  byoc_cutlass_define(text, names, "PIXEL_PANEL", plan->transposed ? plan->rows : wide);
  byoc_cutlass_define(text, names, "WEIGHTS_OF_GROUP",
                      (int64_t)byoc_cutlass_packed_floats(problem, plan) / conv->groups);
  byoc_cutlass_define_text(text, names, "WEIGHT_COLUMNS", "(n)",
                           plan->transposed ? "(((n) + LANES - 1) / LANES * LANES)" : "(n)");
  // While the tiles of a block compute, they prefetch what comes next from memory: the next weights if lanes are
  // channels, otherwise the next block of pixels. If sizes are open, the call says what.
  int64_t ahead = plan->transposed ? byoc_cutlass_ceil_div(wide, plan->block_panels) : 0;
  bool is_open = byoc_cutlass_open_sizes(problem);
  bool pixels_ahead = !plan->transposed && !plan->direct && byoc_cutlass_may_read_in_place(problem);
  byoc_cutlass_define(text, names, "AHEAD_PIXELS", pixels_ahead);
  byoc_cutlass_define(text, names, "AHEAD", ahead);
  byoc_cutlass_tiling_t tiling = {.rows = plan->transposed ? pixels : conv->out,
                                  .columns = plan->transposed ? conv->out : pixels,
                                  .tile_rows = plan->rows,
                                  .vectors = plan->vectors,
                                  .lanes = (int32_t)lanes,
                                  .a_packed = true,
                                  .b_padded = !plan->direct,
                                  .b_packed = !plan->direct,
                                  .b_whole = !plan->transposed,
                                  .b_depth = pixels,
                                  .c_row = pixels,
                                  .ahead = pixels_ahead || is_open                        ? 1
                                           : byoc_cutlass_is_half(problem->types.weights) ? (ahead + 1) / 2
                                                                                          : ahead,
                                  .partial_tile = plan->transposed || byoc_cutlass_is_half(problem->types.result),
                                  .open_columns = is_open};
  byoc_cutlass_define_text(text, names, "TILE_SIZES", "", is_open ? ", pixels, LEFT" : "");
  byoc_cutlass_define_text(text, names, "LEFT", "", "(pixels - pixel)");
  if (is_open)
    byoc_cutlass_emit_open_tiles(text, names, &tiling);
  else
    byoc_cutlass_emit_tiles(text, names, &tiling);
  BYOC_CUTLASS_ADD_TEMPLATE(text, conv);
  BYOC_CUTLASS_ADD_TEMPLATE(text, panel_shares);
}

// The shape, as every template of convolutions reads it: constants, or what templates/conv/open_images.h finds in a
// call.
static void emit_shape(byoc_plugin_string_t *text, byoc_cutlass_names_t *names, const byoc_cutlass_conv_t *conv) {
  const bool same_h = conv->open_h && conv->stride_h > 1 && conv->same != BYOC_CUTLASS_SAME_NONE;
  const bool same_w = conv->open_w && conv->stride_w > 1 && conv->same != BYOC_CUTLASS_SAME_NONE;
  const struct {
    const char *name;
    int64_t value;
    const char *open; // NULL if it is constant
  } shape[] = {{"BATCH", conv->batch, NULL},
               {"GROUPS", conv->groups, NULL},
               {"IN", conv->in, NULL},
               {"OUT", conv->out, NULL},
               {"IN_H", conv->in_h, conv->open_h ? "args->in_h" : NULL},
               {"IN_W", conv->in_w, conv->open_w ? "args->in_w" : NULL},
               {"OUT_H", conv->out_h, conv->open_h ? "args->out_h" : NULL},
               {"OUT_W", conv->out_w, conv->open_w ? "args->out_w" : NULL},
               {"KERNEL_H", conv->kernel_h, NULL},
               {"KERNEL_W", conv->kernel_w, NULL},
               {"STRIDE_H", conv->stride_h, NULL},
               {"STRIDE_W", conv->stride_w, NULL},
               {"DILATION_H", conv->dilation_h, NULL},
               {"DILATION_W", conv->dilation_w, NULL},
               {"PAD_TOP", conv->pad_top, same_h ? "args->pad_top" : NULL},
               {"PAD_LEFT", conv->pad_left, same_w ? "args->pad_left" : NULL}};
  for (size_t i = 0; i < sizeof shape / sizeof *shape; ++i) {
    if (shape[i].open)
      byoc_cutlass_define_text(text, names, shape[i].name, "", shape[i].open);
    else
      byoc_cutlass_define(text, names, shape[i].name, shape[i].value);
  }
}

void byoc_cutlass_emit_conv(byoc_plugin_string_t *text, byoc_cutlass_names_t *names,
                            const byoc_cutlass_problem_t *problem, const byoc_cutlass_plan_t *plan) {
  typedef void (*emit_form_t)(byoc_plugin_string_t *, byoc_cutlass_names_t *, const byoc_cutlass_problem_t *,
                              const byoc_cutlass_plan_t *);
  const byoc_cutlass_conv_t *conv = &problem->conv;
  const char *how = plan->transposed ? "lanes over channels" : "lanes over pixels";
  emit_form_t emit_form = emit_implicit_gemm;
  int64_t depth = 0; // the depth that may be split, by blocks of sums
  if (plan->form == BYOC_CUTLASS_FORM_WINOGRAD)
    how = "by Winograd", emit_form = byoc_cutlass_emit_winograd;
  else if (plan->form == BYOC_CUTLASS_FORM_DIRECT)
    how = "direct", emit_form = byoc_cutlass_emit_direct;
  else if (plan->form == BYOC_CUTLASS_FORM_DEPTHWISE)
    how = "depthwise", emit_form = conv->in_blocked ? emit_depthwise_blocked : emit_depthwise;
  else
    depth = conv->in * conv->kernel_h * conv->kernel_w;
  byoc_plugin_string_add(text,
                         "\n// Convolution %lldx%lld of %lldx%lldx%lldx%lld to %lld channels in %lld groups, %s\n",
                         (long long)conv->kernel_h, (long long)conv->kernel_w, (long long)conv->batch,
                         (long long)(conv->groups * conv->in), (long long)conv->in_h, (long long)conv->in_w,
                         (long long)(conv->groups * conv->out), (long long)conv->groups, how);
  byoc_cutlass_emit_common(text, names, problem, plan, depth);
  BYOC_CUTLASS_ADD_TEMPLATE(text, args);
  emit_shape(text, names, conv);
  emit_form(text, names, problem, plan);
  if (!conv->open_batch) return;
  byoc_cutlass_define(text, names, "IN_BLOCKED", conv->in_blocked);
  byoc_cutlass_define(text, names, "OUT_BLOCKED", conv->out_blocked);
  byoc_cutlass_define(text, names, "SAME", conv->same);
  byoc_cutlass_define(text, names, "PIXEL_MACS", conv->groups * conv->out * conv->in * conv->kernel_h * conv->kernel_w);
  BYOC_CUTLASS_ADD_TEMPLATE(text, open_images);
}
