// The packed function: INPUT_* are the places of its inputs, and it has one output.
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
  const byoc_cutlass_once_t *once = (const byoc_cutlass_once_t *)(parameters + 4 * PARAMETERS);
  args.byte = w_byte(once->result_scale, once->result_zero, once->low, once->high);
  args.join = (w_join_t){once->own_zero, once->own_scale, once->other_zero, once->other_scale,
                         w_byte(once->joined_scale, once->joined_zero, once->joined_low, once->joined_high)};
  args.zero = once->zero;
#if READS_ZERO
  const uint8_t zero = *(const uint8_t *)call->tensors[INPUT_ZERO].data;
  if (DATA == AS_I8) // words of bytes hold it with its sign bit flipped
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
