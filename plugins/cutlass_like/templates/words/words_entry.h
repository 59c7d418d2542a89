// SPDX-License-Identifier: Apache-2.0
// The packed function: INPUT_* are the places of its inputs, and it has one output. Where the number of rows or images
// is that of each call (IS_OPEN), it goes through slices of at most SLICE of them, each of SLICE_DATA and SLICE_RESULT
// elements and SLICE_MACS multiply-adds: the workspace is as large as one slice needs.
BYOC_PACKED int32_t SYMBOL(const byoc_call_t *call) {
  const byoc_runtime_t *runtime = call->runtime;
  const int32_t *parameters = call->tensors[INPUT_BIAS].data;
  FN(args_t) own, *const args = &own;
  args->input = call->tensors[INPUT_DATA].data;
  args->weights = call->tensors[INPUT_WEIGHTS].data;
  args->offsets = parameters;
  args->sums = parameters + PARAMETERS;
  args->scales = (const float *)(parameters + 2 * PARAMETERS);
  args->shifts = (const float *)(parameters + 3 * PARAMETERS);
  args->factors = (const float *)(parameters + (TABLES - 2) * PARAMETERS);
  args->summands = (const float *)(parameters + (TABLES - 1) * PARAMETERS);
  args->residual = HAS_RESIDUAL ? call->tensors[INPUT_RESIDUAL].data : NULL;
  args->output = call->tensors[call->input_count].data;
  args->workspace = call->workspace;
  const byoc_cutlass_once_t *once = (const byoc_cutlass_once_t *)(parameters + TABLES * PARAMETERS);
  args->byte = w_byte(once->result_scale, once->result_zero, once->low, once->high);
  args->join = (w_join_t){
      once->own_zero,     once->own_scale,
      once->other_zero,   once->other_scale,
      once->joined_shift, w_byte(once->joined_scale, once->joined_zero, once->joined_low, once->joined_high)};
  args->zero = once->zero;
#if READS_ZERO
  const uint8_t zero = *(const uint8_t *)call->tensors[INPUT_ZERO].data;
  if (DATA == AS_I8) // words of bytes hold it with its sign bit flipped
    args->zero = DOT == DOT_I8X4 ? zero ^ 128 : (int8_t)zero;
  else
    args->zero = zero;
#endif
  args->factor = READS_FACTOR ? *(const float *)call->tensors[INPUT_FACTOR].data : 1.0f;
  const int64_t most = runtime->thread_count < SHARES ? runtime->thread_count : SHARES;
#if IS_OPEN
  const DLTensor *result = &call->tensors[call->input_count];
  int64_t left = 1;
  for (int32_t i = 0; i < COUNTED_AXES; ++i) left *= result->shape[i];
  for (; left > 0; left -= args->rows) {
    args->rows = left < SLICE ? left : SLICE;
    const int64_t worth = args->rows * SLICE_MACS / SHARE_MACS + 1, wanted = most < worth ? most : worth;
    args->shares = wanted < UNITS ? wanted : UNITS;
    FN(run_all)(args, runtime);
    args->input += args->rows * SLICE_DATA;
    args->output += args->rows * SLICE_RESULT;
    if (HAS_RESIDUAL) args->residual += args->rows * SLICE_RESULT;
  }
#else
  args->shares = most < UNITS ? most : UNITS;
  FN(run_all)(args, runtime);
#endif
  return BYOC_OK;
}
#undef SUM_T
#undef HAS_FACTORS
#undef RESULT_T
#undef DATA_T
#undef RESIDUAL_T
