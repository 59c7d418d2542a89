// Answers functions of one Relu.
#include <stdio.h>

#include "mistaken.h"

int32_t mistaken_answer(byoc_codegen_t *codegen, byoc_function_t *function) {
  const byoc_host_t *host = mistaken_host();
  const char *symbol = host->graph->function_symbol(function);
  char source[2048];
  snprintf(source, sizeof(source),
           "#include \"byoc/call.h\"\n"
           "BYOC_PACKED int32_t %s(const byoc_call_t *call) {\n"
           "  const float *x = call->tensors[0].data;\n"
           "  float *y = call->tensors[call->input_count].data;\n"
           "  int64_t n = 1;\n"
           "  for (int i = 0; i < call->tensors[0].ndim; ++i) n *= call->tensors[0].shape[i];\n"
           "  for (int64_t i = 0; i < n; ++i) y[i] = x[i] > 0 ? x[i] : 0;\n"
           "  return 0;\n"
           "}\n",
           symbol);
  const byoc_c_source_t module = {
      .header = BYOC_HEADER(byoc_c_source_t, 1), .name = symbol, .source = source, .symbols = {&symbol, 1}};
  const int32_t status = host->codegen->add_c_source(codegen, &module);
  if (status != BYOC_OK) return status;
  const byoc_packed_binding_t binding = {.header = BYOC_HEADER(byoc_packed_binding_t, 1)};
  return host->codegen->bind_packed(codegen, function, &binding);
}
