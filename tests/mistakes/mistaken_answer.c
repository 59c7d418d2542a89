// SPDX-License-Identifier: Apache-2.0
// Answers functions of one Relu, with the mistakes of generated code, of modules and of answers.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mistaken.h"

// ---- the code ----

#define RELU "  for (int64_t i = 0; i < n; ++i) y[i] = x[i] < 0 ? 0 : x[i];\n"

static const char *body(void) {
  static const struct {
    const char *mistake, *body;
  } rows[] = {
      {"overrun", "  for (int64_t i = 0; i < n + 4096; ++i) y[i] = 7;\n"},
      {"overrun by one", RELU "  y[n] = 0;\n"},
      {"nothing", ""},
      {"wrong", "  for (int64_t i = 0; i < n; ++i) y[i] = x[i] + 1;\n"},
      {"fail with words", "  call->runtime->set_error(call->runtime->self, \"I do not want to\"); return 5;\n"},
      {"fail", "  return 5;\n"},
      {"unknown status", "  return 12345;\n"},
      {"crash", "  *(volatile int *)8 = 1;\n"},
      {"abort", "  abort();\n"},
      {"hang", "  for (volatile int i = 0;;) (void)i;\n"},
      {"exit", "  exit(3);\n"},
      {"print", RELU "  printf(\"hello from a kernel\\n\");\n"},
      {"write its input", RELU "  ((float *)x)[0] = 99;\n"},
      {"workspace", "  float *w = call->workspace; for (int i = 0; i < 64; ++i) w[i] = 1;\n" RELU},
      {"small workspace", "  float *w = call->workspace; for (int i = 0; i < 17; ++i) w[i] = 1;\n" RELU},
      {"forgotten constant", "  const float *z = call->tensors[call->input_count + 1].data; y[0] = z[0];\n" RELU},
      {"keep a pointer", "  static const float *kept; if (!kept) kept = x; x = kept;\n" RELU},
      {"syntax", "  y[0] = nothing;\n"},
      {"undeclared function", "  nobody_declared_this(x, y);\n"},
      {"missing function", "  extern void nobody_defines_this(float *); nobody_defines_this(y);\n"},
      {"warning", "  int unused; " RELU},
  };
  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); ++i) {
    if (mistaken_is("kernel", rows[i].mistake)) return rows[i].body;
  }
  return RELU;
}

static void write_source(const char *symbol, char *source, size_t size) {
  const char *linkage = mistaken_is("symbol", "static")   ? "static __attribute__((used))"
                        : mistaken_is("symbol", "hidden") ? "__attribute__((visibility(\"hidden\")))"
                                                          : "BYOC_PACKED";
  snprintf(source, size,
           "#include <stdio.h>\n#include <stdlib.h>\n#include \"byoc/call.h\"\n"
           "%s int32_t %s(const byoc_call_t *call) {\n"
           "  const float *x = call->tensors[0].data;\n"
           "  float *y = call->tensors[call->input_count].data;\n"
           "  int64_t n = 1;\n"
           "  for (int i = 0; i < call->tensors[0].ndim; ++i) n *= call->tensors[0].shape[i];\n"
           "%s  return 0;\n}\n",
           linkage, mistaken_is("symbol", "misspelt") ? "misspelt" : symbol, body());
}

// ---- the module ----

static int32_t add_module(byoc_codegen_t *codegen, const char *symbol, const char *source) {
  const byoc_codegen_api_t *api = mistaken_host()->codegen;
  static const char *const bad_flags[] = {"-fno-such-option"};
  byoc_c_source_t module = {
      .header = BYOC_HEADER(byoc_c_source_t, 1), .name = symbol, .source = source, .symbols = {&symbol, 1}};
  static const char *const words[] = {"two words"};
  if (mistaken_is("module", "NULL")) return api->add_c_source(codegen, NULL);
  if (mistaken_is("module", "without a header")) module.header = (byoc_header_t){0};
  if (mistaken_is("module", "of a small struct")) module.header.struct_size = 16;
  if (mistaken_is("module", "of a huge struct")) module.header.struct_size = 1u << 30;
  if (mistaken_is("module", "of version 2")) module.header.struct_version = 2;
  if (mistaken_is("module", "without a source")) module.source = NULL;
  if (mistaken_is("module", "without symbols")) module.symbols.count = 0;
  if (mistaken_is("module", "with a bad symbol")) module.symbols.items = words;
  if (mistaken_is("module", "with symbols of NULL")) module.symbols.items = NULL;
  if (mistaken_is("module", "with no compiler")) module.compiler = "no-such-cc";
  if (mistaken_is("module", "with bad flags")) module.flags = (byoc_text_list_t){bad_flags, 1};
  if (mistaken_is("module", "left out")) return BYOC_OK;
  int32_t status = api->add_c_source(codegen, &module);
  if (mistaken_is("module", "twice")) {
    module.name = "another";
    status = api->add_c_source(codegen, &module);
  }
  if (mistaken_is("module", "status ignored")) {
    module.source = NULL;
    (void)api->add_c_source(codegen, &module);
    status = BYOC_OK;
  }
  return status;
}

// ---- other modules ----

static int32_t add_others(byoc_codegen_t *codegen, byoc_function_t *function) {
  const byoc_codegen_api_t *api = mistaken_host()->codegen;
  if (mistaken_is("json", "not JSON") || mistaken_is("json", "of no engine")) {
    const byoc_json_module_t module = {.header = BYOC_HEADER(byoc_json_module_t, 1),
                                       .engine = "nowhere",
                                       .json = mistaken_is("json", "not JSON") ? "{" : "{}"};
    return api->add_json(codegen, function, &module);
  }
  byoc_file_content_t file = {.header = BYOC_HEADER(byoc_file_content_t, 1),
                              .name = "libnowhere.a",
                              .data = "no archive",
                              .size_bytes = sizeof("no archive")};
  if (mistaken_is("library", "of no file")) file.data = NULL, file.size_bytes = 0, file.path = "/nowhere/lib.a";
  const byoc_static_library_t library = {.header = BYOC_HEADER(byoc_static_library_t, 1),
                                         .name = "nowhere",
                                         .files = &file,
                                         .file_count = mistaken_is("library", "empty") ? 0 : 1,
                                         .file_stride = sizeof(file)};
  return api->add_static_library(codegen, &library);
}

// ---- the edit table ----

static int32_t edit(byoc_codegen_t *codegen, byoc_function_t *function) {
  const byoc_host_t *host = mistaken_host();
  const byoc_edit_api_t *table = host->edit;
  const float numbers[2] = {1, 2};
  const int64_t dims[1] = {2};
  const byoc_tensor_data_t small = {.header = BYOC_HEADER(byoc_tensor_data_t, 1),
                                    .dtype = BYOC_DTYPE_F32,
                                    .rank = 1,
                                    .dims = dims,
                                    .data = numbers,
                                    .size_bytes = mistaken_is("edit", "constant of a wrong size") ? 4 : 8};
  byoc_value_t *result = host->graph->result(function, 0), *x = host->graph->parameter(function, 0);
  if (mistaken_is("edit", "another shape") || mistaken_is("edit", "constant of a wrong size")) {
    (void)table->replace_value(codegen, result, table->constant(codegen, function, &small));
  } else if (mistaken_is("edit", "unknown operator")) {
    byoc_node_t *node = table->create_node(codegen, function, NULL, "", "Rlu", &x, 1, 1);
    if (node == NULL) return BYOC_INVALID_ARGUMENT;
  } else if (mistaken_is("edit", "erase what is used")) {
    return table->erase_node(codegen, host->graph->node_at(function, 0));
  } else if (mistaken_is("edit", "unknown pass")) {
    return table->run_passes(codegen, "no-such-pass");
  } else if (mistaken_is("edit", "NULL")) {
    return table->replace_value(codegen, NULL, NULL);
  }
  return table->hand_back(codegen, function);
}

// ---- answers ----

static int32_t bind(byoc_codegen_t *codegen, byoc_function_t *function) {
  const byoc_codegen_api_t *api = mistaken_host()->codegen;
  const float numbers[2] = {1, 2};
  const int64_t dims[1] = {3};
  const byoc_tensor_data_t constant = {.header = BYOC_HEADER(byoc_tensor_data_t, 1),
                                       .dtype = BYOC_DTYPE_F32,
                                       .rank = 1,
                                       .dims = dims,
                                       .data = numbers,
                                       .size_bytes = sizeof(numbers)};
  byoc_packed_binding_t binding = {.header = BYOC_HEADER(byoc_packed_binding_t, 1)};
  if (mistaken_is("kernel", "small workspace")) binding.workspace_size_bytes = 64;
  if (mistaken_is("binding", "NULL")) return api->bind_packed(codegen, function, NULL);
  if (mistaken_is("binding", "of no function")) return api->bind_packed(codegen, NULL, &binding);
  if (mistaken_is("binding", "without a header")) binding.header = (byoc_header_t){0};
  if (mistaken_is("binding", "of an undefined symbol")) binding.symbol = "nobody_defines_this";
  if (mistaken_is("binding", "of no C name")) binding.symbol = "two words";
  if (mistaken_is("binding", "with a constant of a wrong size") || mistaken_is("binding", "without a stride")) {
    binding.constants = &constant;
    binding.constant_count = mistaken_is("binding", "without a stride") ? 2 : 1;
    binding.constant_stride = mistaken_is("binding", "without a stride") ? 0 : sizeof(constant);
  }
  return api->bind_packed(codegen, function, &binding);
}

int32_t mistaken_answer(byoc_codegen_t *codegen, byoc_function_t *function) {
  const byoc_host_t *host = mistaken_host();
  const byoc_codegen_api_t *api = host->codegen;
  if (mistaken_is("answer", "a status without words")) return BYOC_UNSUPPORTED;
  if (mistaken_is("answer", "an unknown status")) return 12345;
  if (mistaken_is("answer", "words")) return api->error(codegen, BYOC_UNSUPPORTED, "the licence has expired");
  if (mistaken_is("answer", "words of NULL")) return api->error(codegen, BYOC_UNSUPPORTED, NULL);
  if (mistaken_is("answer", "none")) return BYOC_OK;
  if (mistaken_is("answer", "decline")) return api->decline(codegen, function, "it is Monday");
  if (mistaken_is("answer", "a node for a function")) {
    return bind(codegen, (byoc_function_t *)host->graph->node_at(function, 0));
  }
  if (mistaken_is("service", "no CPU feature")) (void)api->require_cpu_features(codegen, "avx1024");
  if (mistaken_is("service", "bad pattern")) (void)api->match(codegen, function, NULL, "Relu(%x");
  const char *mistake = getenv("BYOC_TEST_MISTAKE");
  if (mistake == NULL) mistake = "";
  if (strncmp(mistake, "edit:", 5) == 0) return edit(codegen, function);
  if (strncmp(mistake, "json:", 5) == 0 || strncmp(mistake, "library:", 8) == 0) return add_others(codegen, function);
  const char *symbol = host->graph->function_symbol(function);
  char source[4096];
  write_source(symbol, source, sizeof(source));
  int32_t status = add_module(codegen, symbol, source);
  if (status == BYOC_OK) status = bind(codegen, function);
  if (mistaken_is("answer", "twice")) (void)bind(codegen, function);
  if (mistaken_is("answer", "twice, differently")) (void)api->decline(codegen, function, "second thoughts");
  if (mistaken_is("answer", "free what is the host's")) free((void *)(uintptr_t)symbol);
  if (mistaken_is("answer", "resize what is the host's")) (void)host->resize(host, (void *)(uintptr_t)symbol, 0);
  return status;
}
