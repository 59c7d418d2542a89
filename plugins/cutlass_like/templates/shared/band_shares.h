// SPDX-License-Identifier: Apache-2.0
// The work of a share of a depthwise convolution, whose units are rows of planes. Large images are divided into bands
// of rows through all channels, as in the convolutions around it, so that a thread mostly reads values that it wrote
// itself and that are not in another core's cache. Small images are divided by channels.
static void FN(share)(void *argument, int64_t begin, int64_t end, int32_t worker) {
  const FN(args_t) *args = argument;
  (void)worker;
  const int64_t planes = UNITS / OUT_H;
  const int banded = planes == FN(channel_blocks) && OUT_H >= 16 * args->shares;
  for (int64_t share = begin; share < end; ++share) {
    if (!banded) {
      for (int64_t item = UNITS * share / args->shares; item < UNITS * (share + 1) / args->shares; ++item)
        FN(item)(args, args->workspace, item);
      continue;
    }
    const int64_t first = OUT_H * share / args->shares, last = OUT_H * (share + 1) / args->shares;
    for (int64_t plane = 0; plane < planes; ++plane)
      for (int64_t y = first; y < last; ++y) FN(item)(args, args->workspace, plane * OUT_H + y);
  }
}
