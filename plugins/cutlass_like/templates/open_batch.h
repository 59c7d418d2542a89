// The number of images is that of each call: the units of work of one image, image after image.

// Counts the units of work; returns how many shares they are worth.
static int64_t FN(split)(FN(args_t) * args, const byoc_call_t *call) {
  const DLTensor *result = &call->tensors[call->input_count];
  args->items = result->shape[0] * FN(items);
  const int64_t shares = result->shape[0] * IMAGE_MACS / SHARE_MACS;
  return args->items == 0 ? 0 : shares < 1 ? 1 : shares < args->items ? shares : args->items;
}
