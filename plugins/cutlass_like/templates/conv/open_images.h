// SPDX-License-Identifier: Apache-2.0
// The number of images is dynamic, and with OPEN_SIZES so are the sizes of the images: units of work are those of one
// image, image after image.
//   IN_BLOCKED, OUT_BLOCKED  1 if the last axis is a block of channels
//   SAME                     padding in front of a dynamic axis follows from its sizes: 1 the smaller half, 2 the
//   larger

#if OPEN_SIZES
static int64_t FN(padding)(int64_t in, int64_t out, int64_t reach, int64_t stride) {
  const int64_t total = (out - 1) * stride + reach - in;
  return total <= 0 ? 0 : SAME == 1 ? total / 2 : total - total / 2;
}

// A tensor of one spatial axis is an image of height 1, which is constant then.
static void FN(measure)(FN(args_t) * args, const DLTensor *data, const DLTensor *result) {
  const int32_t in_x = data->ndim - 1 - IN_BLOCKED, out_x = result->ndim - 1 - OUT_BLOCKED;
  args->in_h = data->shape[in_x - 1];
  args->in_w = data->shape[in_x];
  args->out_h = result->shape[out_x - 1];
  args->out_w = result->shape[out_x];
  args->pad_top = FN(padding)(IN_H, OUT_H, (KERNEL_H - 1) * DILATION_H + 1, STRIDE_H);
  args->pad_left = FN(padding)(IN_W, OUT_W, (KERNEL_W - 1) * DILATION_W + 1, STRIDE_W);
}
#endif

// Counts the units of work; returns how many shares they are worth.
static int64_t FN(split)(FN(args_t) * args, const byoc_call_t *call) {
  const DLTensor *result = &call->tensors[call->input_count];
#if OPEN_SIZES
  FN(measure)(args, &call->tensors[INPUT_DATA], result);
  if (OUT_H == 0 || OUT_W == 0) return 0;
#endif
  args->items = result->shape[0] * FN(items)(args);
  const int64_t shares = result->shape[0] * PIXEL_MACS * OUT_H * OUT_W / SHARE_MACS;
  return args->items == 0 ? 0 : shares < 1 ? 1 : shares < args->items ? shares : args->items;
}
