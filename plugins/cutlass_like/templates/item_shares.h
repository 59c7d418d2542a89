// SPDX-License-Identifier: Apache-2.0
// The work of a share if units of work do not depend on each other: the UNITS units are divided evenly among the
// shares.
static void FN(share)(void *argument, int64_t begin, int64_t end, int32_t worker) {
  const FN(args_t) *args = argument;
  (void)worker;
  for (int64_t share = begin; share < end; ++share)
    for (int64_t item = UNITS * share / args->shares; item < UNITS * (share + 1) / args->shares; ++item)
      FN(item)(args, args->workspace + share * SLOT_FLOATS, item);
}
