// SPDX-License-Identifier: Apache-2.0
// The work of a share, as in shared/panel_shares.h. Tiles belong to a thread, and their shapes take time to set.
//   AMX_HEIGHT   rows of a tile of sums
static void FN(share)(void *argument, int64_t begin, int64_t end, int32_t worker) {
  const FN(args_t) *args = argument;
  (void)worker;
  FN(configure)(AMX_HEIGHT);
  for (int64_t share = begin; share < end; ++share) {
    int64_t item = UNITS * share / args->shares;
    const int64_t stop = UNITS * (share + 1) / args->shares;
    while (item < stop) {
      const int64_t first = item % FN(run), block = item / FN(run);
      const int64_t last = FN(run) - first < stop - item ? FN(run) : first + stop - item;
      FN(block)(args, NULL, block / BLOCKS, block % BLOCKS, first, last);
      item += last - first;
    }
  }
  _tile_release();
}
