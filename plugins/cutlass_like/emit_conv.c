// Convolutions as C.
#include "emit.h"
#include "plan.h"

void byoc_cutlass_emit_conv(byoc_cutlass_text_t *text, byoc_cutlass_names_t *names,
                            const byoc_cutlass_problem_t *problem, const byoc_cutlass_plan_t *plan) {
  const byoc_cutlass_conv_t *conv = &problem->conv;
  int64_t depth = conv->in * conv->kernel_h * conv->kernel_w, pixels = conv->out_h * conv->out_w;
  int32_t lanes = byoc_cutlass_isa_lanes(plan->isa);
  bool winograd = plan->form == BYOC_CUTLASS_FORM_WINOGRAD;
  bool direct = plan->form == BYOC_CUTLASS_FORM_DIRECT;
  bool depthwise = plan->form == BYOC_CUTLASS_FORM_DEPTHWISE;
  byoc_cutlass_text_add(text, "\n// Convolution %lldx%lld of %lldx%lldx%lldx%lld to %lld channels in %lld groups, %s\n",
                        (long long)conv->kernel_h, (long long)conv->kernel_w, (long long)conv->batch,
                        (long long)(conv->groups * conv->in), (long long)conv->in_h, (long long)conv->in_w,
                        (long long)(conv->groups * conv->out), (long long)conv->groups,
                        winograd           ? "by Winograd"
                        : direct           ? "direct"
                        : depthwise        ? "depthwise"
                        : plan->transposed ? "lanes over channels"
                                           : "lanes over pixels");
  byoc_cutlass_emit_common(text, names, problem, plan, depthwise ? 0 : depth);
  byoc_cutlass_define(text, names, "BATCH", conv->batch);
  byoc_cutlass_define(text, names, "GROUPS", conv->groups);
  byoc_cutlass_define(text, names, "IN", conv->in);
  byoc_cutlass_define(text, names, "OUT", conv->out);
  byoc_cutlass_define(text, names, "IN_H", conv->in_h);
  byoc_cutlass_define(text, names, "IN_W", conv->in_w);
  byoc_cutlass_define(text, names, "OUT_H", conv->out_h);
  byoc_cutlass_define(text, names, "OUT_W", conv->out_w);
  byoc_cutlass_define(text, names, "KERNEL_H", conv->kernel_h);
  byoc_cutlass_define(text, names, "KERNEL_W", conv->kernel_w);
  byoc_cutlass_define(text, names, "STRIDE_H", conv->stride_h);
  byoc_cutlass_define(text, names, "STRIDE_W", conv->stride_w);
  byoc_cutlass_define(text, names, "DILATION_H", conv->dilation_h);
  byoc_cutlass_define(text, names, "DILATION_W", conv->dilation_w);
  byoc_cutlass_define(text, names, "PAD_TOP", conv->pad_top);
  byoc_cutlass_define(text, names, "PAD_LEFT", conv->pad_left);
  if (direct) {
    byoc_cutlass_emit_direct(text, names, problem, plan);
    return;
  }
  if (winograd) {
    byoc_cutlass_emit_winograd(text, names, problem, plan);
    return;
  }
  byoc_cutlass_emit_epilogue(text, names, &problem->epilogue, "BIAS_OF_ROW");
  if (depthwise) byoc_cutlass_define(text, names, "CHANNELS", conv->groups * conv->out);
  if (depthwise && conv->in_blocked) {
    byoc_cutlass_define(text, names, "BLOCK", BYOC_CUTLASS_BLOCK);
    byoc_cutlass_define(text, names, "PIXELS", plan->rows);
    BYOC_CUTLASS_ADD_TEMPLATE(text, depthwise_blocked);
    return;
  }
  if (depthwise) {
    byoc_cutlass_define(text, names, "MULTIPLIER", conv->out);
    byoc_cutlass_define(text, names, "PHASE_W",
                        (conv->out_w + lanes - 1) / lanes * lanes +
                            (conv->kernel_w - 1) * conv->dilation_w / conv->stride_w);
    byoc_cutlass_define(text, names, "VECTOR_ROWS", plan->rows);
    BYOC_CUTLASS_ADD_TEMPLATE(text, depthwise);
    return;
  }
  int64_t wide = (int64_t)plan->vectors * lanes;
  byoc_cutlass_define(text, names, "CONTIGUOUS", byoc_cutlass_may_read_in_place(problem));
  byoc_cutlass_define(text, names, "WEIGHT_PANEL", plan->transposed ? wide : plan->rows);
  byoc_cutlass_define(text, names, "PIXEL_PANEL", plan->transposed ? plan->rows : wide);
  byoc_cutlass_define(text, names, "WEIGHTS_OF_GROUP",
                      (int64_t)byoc_cutlass_packed_floats(problem, plan) / conv->groups);
  byoc_cutlass_define_text(text, names, "WEIGHT_COLUMNS", "(n)",
                           plan->transposed ? "(((n) + LANES - 1) / LANES * LANES)" : "(n)");
  // While the tiles of a block compute they ask for what comes next from memory: for the next weights where lanes are
  // channels, else for the next block of pixels.
  int64_t ahead = plan->transposed ? byoc_cutlass_ceil_div(wide, plan->block_panels) : 0;
  bool pixels_ahead = !plan->transposed && !plan->direct && byoc_cutlass_may_read_in_place(problem);
  byoc_cutlass_define(text, names, "AHEAD_PIXELS", pixels_ahead);
  byoc_cutlass_define(text, names, "AHEAD", ahead);
  byoc_cutlass_tiling_t tiling = {.rows = plan->transposed ? pixels : conv->out,
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
                                  .ahead = pixels_ahead ? 1 : ahead,
                                  .partial_tile = plan->transposed};
  byoc_cutlass_emit_tiles(text, names, &tiling);
  BYOC_CUTLASS_ADD_TEMPLATE(text, conv);
  BYOC_CUTLASS_ADD_TEMPLATE(text, panel_shares);
}
