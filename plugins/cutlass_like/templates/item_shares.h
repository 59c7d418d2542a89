// The work of a share, where units of work know nothing of each other: FN(items) of them, shared out evenly.
static void FN(share)(void *argument, int64_t begin, int64_t end, int32_t worker) {
  const FN(args_t) *args = argument;
  (void)worker;
  for (int64_t share = begin; share < end; ++share)
    for (int64_t item = FN(items) * share / args->shares; item < FN(items) * (share + 1) / args->shares; ++item)
      FN(item)(args, args->workspace + share * SLOT_FLOATS, item);
}
