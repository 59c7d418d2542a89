// SPDX-License-Identifier: Apache-2.0
// How the rows of a call are split into groups and the work among threads, and the packed function itself.

static inline int64_t FN(first_row)(const FN(args_t) * args, int64_t group) {
  return group * args->low + (group < args->high_groups ? group : args->high_groups);
}

// Items are tiles, those of a group of rows one after the other. A share makes the data of a group ready once for all
// its tiles.
static void FN(share)(void *argument, int64_t begin, int64_t end, int32_t worker) {
  FN(args_t) *args = argument;
  (void)worker;
  for (int64_t share = begin; share < end; ++share) {
    const FN(data_t) data = FN(data)(args->workspace + share * SLOT_FLOATS);
    int64_t ready = -1, turn = 0, item, last;
    while (take_piece(args->parts, args->shares, share, args->items, &turn, &item, &last))
      for (; item < last; ++item) {
        const int64_t group = item / FN(tiles), row = FN(first_row)(args, group);
        const int64_t height = FN(first_row)(args, group + 1) - row;
        if (group != ready)
          for (int64_t r = 0; r < height; ++r)
            for (int64_t block = 0; block < FN(blocks); ++block)
              FN(prepare_block)(&data, args->input + (row + r) * K, r, block);
        ready = group;
        TILES(height, args, &data, row, item % FN(tiles));
      }
  }
}

BYOC_PACKED int32_t SYMBOL(const byoc_call_t *call) {
  const byoc_runtime_t *runtime = call->runtime;
  const DLTensor *result = &call->tensors[call->input_count];
  FN(args_t)
  args = {.input = call->tensors[INPUT_DATA].data,
          .words = call->tensors[INPUT_WEIGHTS].data,
          .scales = call->tensors[INPUT_SCALES].data,
          .zeros = HAS_ZEROS ? call->tensors[INPUT_ZEROS].data : NULL,
          .bias = HAS_BIAS ? call->tensors[INPUT_BIAS].data : NULL,
          .residual = HAS_RESIDUAL ? call->tensors[INPUT_RESIDUAL].data : NULL,
          .output = result->data,
          .workspace = call->workspace,
          .rows = 1};
  for (int32_t i = 0; i + 1 < result->ndim; ++i) args.rows *= result->shape[i];
  if (args.rows == 0) return BYOC_OK;
  args.groups = (args.rows + GROUP_MOST - 1) / GROUP_MOST;
  args.low = args.rows / args.groups;
  args.high_groups = args.rows % args.groups;
  args.items = args.groups * FN(tiles);
  const int64_t worth = args.rows * N * K / SHARE_MACS; // shares
  args.shares = runtime->thread_count < SHARES ? runtime->thread_count : SHARES;
  if (args.shares > worth) args.shares = worth < 1 ? 1 : worth;
  if (args.shares > args.items) args.shares = args.items;
  runtime->parallel_for(runtime->self, FN(share), &args, args.shares, 1);
  return BYOC_OK;
}
