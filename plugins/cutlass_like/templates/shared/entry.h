// SPDX-License-Identifier: Apache-2.0
// The packed function: INPUT_* are the places of its inputs, and it has one output. Attention with a cache (HAS_PAST)
// also returns the next cache.
BYOC_PACKED int32_t SYMBOL(const byoc_call_t *call) {
  const byoc_runtime_t *runtime = call->runtime;
  FN(args_t) own, *const args = &own;
  args->input = call->tensors[INPUT_DATA].data;
  args->weights = call->tensors[INPUT_WEIGHTS].data;
  args->bias = HAS_BIAS ? call->tensors[INPUT_BIAS].data : NULL;
  args->residual = HAS_RESIDUAL ? call->tensors[INPUT_RESIDUAL].data : NULL;
  args->output = call->tensors[call->input_count].data;
  args->workspace = call->workspace;
#if HAS_PAST
  args->past_keys = call->tensors[INPUT_PAST_KEYS].data;
  args->past_values = call->tensors[INPUT_PAST_VALUES].data;
  args->present_keys = call->tensors[call->input_count + 1].data;
  args->present_values = call->tensors[call->input_count + 2].data;
#endif
  args->shares = runtime->thread_count < SHARES ? runtime->thread_count : SHARES;
#if IS_OPEN
  const int64_t most = FN(split)(args, call);
  if (most == 0) return BYOC_OK;
#else
  const int64_t most = UNITS;
#endif
  if (args->shares > most) args->shares = most;
#if TAKES_PIECES
  for (int64_t part = 0; part < args->shares; ++part) args->parts[part].taken = 0;
#endif
  runtime->parallel_for(runtime->self, FN(share), args, args->shares, 1);
  return BYOC_OK;
}
