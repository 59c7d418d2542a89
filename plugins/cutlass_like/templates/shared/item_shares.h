// SPDX-License-Identifier: Apache-2.0
// The work of a share if units of work do not depend on each other. With PREPARES a share first fills its workspace.
static void FN(share)(void *argument, int64_t begin, int64_t end, int32_t worker) {
  FN(args_t) *args = argument;
  (void)worker;
  for (int64_t share = begin; share < end; ++share) {
    int64_t turn = 0, item, last;
#if PREPARES
    FN(prepare)(args, args->workspace + share * SLOT_FLOATS);
#endif
    while (take_piece(args->parts, args->shares, share, UNITS, &turn, &item, &last))
      for (; item < last; ++item) FN(item)(args, args->workspace + share * SLOT_FLOATS, item);
  }
}
