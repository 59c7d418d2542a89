// The packed function: inputs as INPUT_* say, one output.
BYOC_PACKED int32_t SYMBOL(const byoc_call_t *call) {
  const byoc_runtime_t *runtime = call->runtime;
  const int32_t *parameters = call->tensors[INPUT_BIAS].data;
  FN(args_t) args;
  args.input = call->tensors[INPUT_DATA].data;
  args.weights = call->tensors[INPUT_WEIGHTS].data;
  args.offsets = parameters;
  args.sums = parameters + PARAMETERS;
  args.scales = (const float *)(parameters + 2 * PARAMETERS);
  args.shifts = (const float *)(parameters + 3 * PARAMETERS);
  args.residual = HAS_RESIDUAL ? call->tensors[INPUT_RESIDUAL].data : NULL;
  args.output = call->tensors[call->input_count].data;
  args.workspace = call->workspace;
  const float *byte = (const float *)(parameters + 4 * PARAMETERS + 1);
  args.byte = (w_byte_t){byte[0], byte[0] > 0.0f ? 1.0f / byte[0] : 0.0f, byte[1], byte[2], byte[3]};
  const float *join = byte + 4;
  args.join = (w_join_t){
      join[0], join[1], join[2], join[3], {join[4], JOINS ? 1.0f / join[4] : 0.0f, join[5], join[6], join[7]}};
  args.zero = parameters[4 * PARAMETERS];
#if READS_ZERO
  const uint8_t zero = *(const uint8_t *)call->tensors[INPUT_ZERO].data;
  if (DATA == AS_I8) // stands in words of bytes with its sign turned
    args.zero = DOT == DOT_I8X4 ? zero ^ 128 : (int8_t)zero;
  else
    args.zero = zero;
#endif
  args.factor = READS_FACTOR ? *(const float *)call->tensors[INPUT_FACTOR].data : 1.0f;
  args.shares = runtime->thread_count < SHARES ? runtime->thread_count : SHARES;
  if (args.shares > FN(items)) args.shares = FN(items);
  FN(run_all)(&args, runtime);
  return BYOC_OK;
}
#undef SUM_T
#undef RESULT_T
#undef DATA_T
#undef RESIDUAL_T
