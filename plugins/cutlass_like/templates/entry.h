// The packed function: inputs as INPUT_* say, one output.
BYOC_PACKED int32_t SYMBOL(const byoc_call_t *call) {
  const byoc_runtime_t *runtime = call->runtime;
  FN(args_t) args;
  args.input = call->tensors[INPUT_DATA].data;
  args.weights = call->tensors[INPUT_WEIGHTS].data;
  args.bias = HAS_BIAS ? call->tensors[INPUT_BIAS].data : NULL;
  args.residual = HAS_RESIDUAL ? call->tensors[INPUT_RESIDUAL].data : NULL;
  args.output = call->tensors[call->input_count].data;
  args.workspace = call->workspace;
  args.shares = runtime->thread_count < SHARES ? runtime->thread_count : SHARES;
  if (args.shares > FN(items)) args.shares = FN(items);
  runtime->parallel_for(runtime->self, FN(share), &args, args.shares, 1);
  return BYOC_OK;
}
