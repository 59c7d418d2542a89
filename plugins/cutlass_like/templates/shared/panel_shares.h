// SPDX-License-Identifier: Apache-2.0
// The work of a share, where blocks are made of panels: UNITS panels in all, FN(run) of them in each block. Shares
// get equal numbers of panels; an image and group has BLOCKS blocks. A share computes all its panels of a block at
// once, or if partial sums have their own place in the workspace (PARTIAL_PANELS), as many as fit there.
static void FN(share)(void *argument, int64_t begin, int64_t end, int32_t worker) {
  const FN(args_t) *args = argument;
  (void)worker;
  for (int64_t share = begin; share < end; ++share) {
    int64_t item = UNITS * share / args->shares;
    const int64_t stop = UNITS * (share + 1) / args->shares;
    while (item < stop) {
      const int64_t first = item % FN(run), block = item / FN(run);
      int64_t last = FN(run) - first < stop - item ? FN(run) : first + stop - item;
#if PARTIAL_PANELS
      if (last - first > PARTIAL_PANELS) last = first + PARTIAL_PANELS;
#endif
      FN(block)(args, args->workspace + share * SLOT_FLOATS, block / BLOCKS, block % BLOCKS, first, last);
      item += last - first;
    }
  }
}
