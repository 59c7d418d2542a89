// SPDX-License-Identifier: Apache-2.0
// One target for each way in which a generate hook may end. All take Relu, Neg and Abs, one node per function.
//
//   each      answers function by function; declines Neg
//   rewrite   hands back IR: Neg(x) becomes Mul(x, -1), Relu(x) a C call of demo_relu in a library
//   silent    answers nothing
//   twice     answers a function twice
//   liar      lists a symbol that its object does not define
//   unlisted  binds a symbol that no module defines
//   fails     fails with a reason after it has added a module
//   speechless  fails without one
//   dirty     changes the environment
//   engine    JSON for an engine
//   mistyped  hands back a body that gives another type
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "byoc/plugin.h"

BYOC_PLUGIN_IDENTITY("demo_hooks", "2.5-rc1",
                     "each,rewrite,silent,twice,liar,unlisted,fails,speechless,dirty,engine,mistyped",
                     "Ways in which a generate hook may end");

static const byoc_host_t *host;
static int *destroyed;

// ---- C source, one function ----

static int32_t add_source(byoc_codegen_t *codegen, const char *symbol) {
  char source[512];
  snprintf(source, sizeof(source),
           "#include \"byoc/call.h\"\nBYOC_PACKED int32_t %s(const byoc_call_t *call) { return 0 * "
           "(int)call->input_count; }\n",
           symbol);
  const byoc_c_source_t module = {
      .header = BYOC_HEADER(byoc_c_source_t, 1), .name = "source", .source = source, .symbols = {&symbol, 1}};
  return host->codegen->add_c_source(codegen, &module);
}

static int32_t bind(byoc_codegen_t *codegen, byoc_function_t *function) {
  static const int64_t dims[] = {2};
  static const float values[] = {1.5f, -2.5f};
  const byoc_tensor_data_t constant = {.header = BYOC_HEADER(byoc_tensor_data_t, 1),
                                       .dtype = BYOC_DTYPE_F32,
                                       .rank = 1,
                                       .dims = dims,
                                       .data = values,
                                       .size_bytes = sizeof(values)};
  const byoc_packed_binding_t binding = {.header = BYOC_HEADER(byoc_packed_binding_t, 1),
                                         .workspace_size_bytes = 128,
                                         .constants = &constant,
                                         .constant_count = 1,
                                         .constant_stride = sizeof(constant)};
  return host->codegen->bind_packed(codegen, function, &binding);
}

static int32_t each(void *self, byoc_codegen_t *codegen, byoc_function_t *function) {
  (void)self;
  const byoc_node_t *node = host->graph->node_at(function, 0);
  if (strcmp(host->graph->node_operator(node), "Neg") == 0) {
    return host->codegen->decline(codegen, function, "Neg is better done elsewhere");
  }
  int32_t status = add_source(codegen, host->graph->function_symbol(function));
  return status == BYOC_OK ? bind(codegen, function) : status;
}

// ---- IR ----

static int32_t multiply(byoc_codegen_t *codegen, byoc_function_t *function, byoc_node_t *node) {
  static const float minus_one = -1.0f;
  const byoc_tensor_data_t data = {.header = BYOC_HEADER(byoc_tensor_data_t, 1),
                                   .dtype = BYOC_DTYPE_F32,
                                   .data = &minus_one,
                                   .size_bytes = sizeof(minus_one)};
  const byoc_edit_api_t *edit = host->edit;
  byoc_value_t *operands[] = {host->graph->operand(node, 0), edit->constant(codegen, function, &data)};
  // At the end, so that it stands behind the uses it gets: hand_back puts nodes in order.
  byoc_node_t *product = edit->create_node(codegen, function, NULL, "", "Mul", operands, 2, 1);
  if (product == NULL) return BYOC_INTERNAL;
  int32_t status =
      edit->replace_value(codegen, host->graph->node_result(node, 0), host->graph->node_result(product, 0));
  if (status == BYOC_OK) status = edit->erase_node(codegen, node);
  return status == BYOC_OK ? edit->hand_back(codegen, function) : status;
}

static int32_t call_c(byoc_codegen_t *codegen, byoc_function_t *function, byoc_node_t *node) {
  const byoc_edit_api_t *edit = host->edit;
  byoc_value_t *x = host->graph->operand(node, 0);
  const byoc_c_argument_t arguments[] = {
      {.kind = BYOC_C_ARGUMENT_INTEGER, .type = BYOC_C_I64, .integer = host->graph->value_element_count(x)},
      {.kind = BYOC_C_ARGUMENT_OPERAND, .type = BYOC_C_POINTER, .index = 0},
      {.kind = BYOC_C_ARGUMENT_RESULT, .type = BYOC_C_POINTER, .index = 0}};
  const byoc_c_call_t call = {.header = BYOC_HEADER(byoc_c_call_t, 1),
                              .symbol = "demo_relu",
                              .return_type = BYOC_C_VOID,
                              .argument_count = 3,
                              .arguments = arguments,
                              .repeat_count = 1,
                              .result_from_operand = -1};
  const uint32_t dtype = host->graph->value_dtype(x), rank = (uint32_t)host->graph->value_rank(x);
  int64_t dims[8] = {0};
  for (uint32_t i = 0; i < rank && i < 8; ++i) dims[i] = host->graph->value_dim(x, (int32_t)i);
  byoc_node_t *made = edit->create_c_call(codegen, function, node, &call, &x, 1, &dtype, &rank, dims, 1);
  if (made == NULL) return BYOC_INTERNAL;
  int32_t status = edit->replace_value(codegen, host->graph->node_result(node, 0), host->graph->node_result(made, 0));
  if (status == BYOC_OK) status = edit->erase_node(codegen, node);
  return status == BYOC_OK ? edit->hand_back(codegen, function) : status;
}

// An object of one function, or of one engine, by the host's compiler.
static int32_t compile(byoc_codegen_t *codegen, const char *source, const void **out_object, uint64_t *out_size) {
  const byoc_compile_request_t request = {
      .header = BYOC_HEADER(byoc_compile_request_t, 1), .name = "demo", .source = source};
  return host->codegen->compile(codegen, &request, out_object, out_size);
}

static int32_t add_library(byoc_codegen_t *codegen, const char *source, const char *symbol) {
  byoc_file_content_t file = {.header = BYOC_HEADER(byoc_file_content_t, 1), .name = "demo.o"};
  int32_t status = compile(codegen, source, &file.data, &file.size_bytes);
  if (status != BYOC_OK) return status;
  const byoc_static_library_t library = {.header = BYOC_HEADER(byoc_static_library_t, 1),
                                         .name = "demo_library",
                                         .files = &file,
                                         .file_count = 1,
                                         .file_stride = sizeof(file),
                                         .symbols = {&symbol, 1}};
  return host->codegen->add_static_library(codegen, &library);
}

static const char relu_source[] = "void demo_relu(long n, const float *x, float *y);\n"
                                  "void demo_relu(long n, const float *x, float *y) {\n"
                                  "  for (long i = 0; i < n; ++i) y[i] = x[i] < 0 ? 0 : x[i];\n"
                                  "}\n";

static int32_t rewrite(void *self, byoc_codegen_t *codegen) {
  (void)self;
  int32_t status = add_library(codegen, relu_source, "demo_relu");
  for (uint64_t i = 0; i < host->codegen->function_count(codegen) && status == BYOC_OK; ++i) {
    byoc_function_t *function = host->codegen->function_at(codegen, i);
    byoc_node_t *node = host->graph->node_at(function, 0);
    const int is_neg = strcmp(host->graph->node_operator(node), "Neg") == 0;
    status = is_neg ? multiply(codegen, function, node) : call_c(codegen, function, node);
  }
  return status;
}

static int32_t mistyped(void *self, byoc_codegen_t *codegen) {
  (void)self;
  byoc_function_t *function = host->codegen->function_at(codegen, 0);
  byoc_node_t *node = host->graph->node_at(function, 0);
  byoc_value_t *x = host->graph->operand(node, 0);
  byoc_node_t *cast = host->edit->create_node(codegen, function, node, "", "Cast", &x, 1, 1);
  int32_t status = host->edit->set_int(codegen, cast, "to", 7); // int64
  if (status == BYOC_OK) {
    status = host->edit->replace_value(codegen, host->graph->node_result(node, 0), host->graph->node_result(cast, 0));
  }
  return status == BYOC_OK ? host->edit->hand_back(codegen, function) : status;
}

// ---- ends ----

static int32_t silent(void *self, byoc_codegen_t *codegen) {
  (void)self;
  (void)codegen;
  return BYOC_OK;
}

static int32_t twice(void *self, byoc_codegen_t *codegen) {
  (void)self;
  byoc_function_t *function = host->codegen->function_at(codegen, 0);
  add_source(codegen, host->graph->function_symbol(function));
  bind(codegen, function);
  bind(codegen, function);
  return BYOC_OK; // the host must not believe this
}

static int32_t liar(void *self, byoc_codegen_t *codegen) {
  (void)self;
  byoc_function_t *function = host->codegen->function_at(codegen, 0);
  int32_t status = add_library(codegen, relu_source, "demo_rely");
  return status == BYOC_OK ? bind(codegen, function) : status;
}

static int32_t unlisted(void *self, byoc_codegen_t *codegen) {
  (void)self;
  return bind(codegen, host->codegen->function_at(codegen, 0));
}

static int32_t fails(void *self, byoc_codegen_t *codegen) {
  (void)self;
  add_source(codegen, "half_done");
  return host->codegen->error(codegen, BYOC_UNSUPPORTED, "this machine is too small");
}

static int32_t speechless(void *self, byoc_codegen_t *codegen) {
  (void)self;
  (void)codegen;
  return 4711;
}

static int32_t dirty(void *self, byoc_codegen_t *codegen) {
  (void)self;
  setenv("BYOC_TEST_OF_HYGIENE", "1", 1);
  for (uint64_t i = 0; i < host->codegen->function_count(codegen); ++i) {
    host->codegen->decline(codegen, host->codegen->function_at(codegen, i), "");
  }
  return BYOC_OK;
}

// ---- JSON ----

static const char engine_source[] =
    "#include \"byoc/engine.h\"\n"
    "static int32_t create(const byoc_engine_init_t *init, void **out) {\n"
    "  *out = (void *)init;\n"
    "  return 0;\n"
    "}\n"
    "static void destroy(void *instance) { (void)instance; }\n"
    "static int32_t run(void *instance, uint32_t index, const byoc_call_t *call) {\n"
    "  (void)instance, (void)index, (void)call;\n"
    "  return 0;\n"
    "}\n"
    "const byoc_engine_t demo_engine = {sizeof(byoc_engine_t), BYOC_ENGINE_ABI_VERSION, \"demo\", 0,\n"
    "                                   create, destroy, run, 0};\n";

static const byoc_option_t engine_options[] = {
    {.header = BYOC_HEADER(byoc_option_t, 1),
     .name = "blob",
     .type = BYOC_OPTION_STRING,
     .help = "content of the blob"},
    {.header = BYOC_HEADER(byoc_option_t, 1), .name = "json", .type = BYOC_OPTION_STRING, .default_value = "{}"},
    {.header = BYOC_HEADER(byoc_option_t, 1), .name = "absent", .type = BYOC_OPTION_BOOL},
    {.header = BYOC_HEADER(byoc_option_t, 1), .name = "misnamed", .type = BYOC_OPTION_BOOL}};

static int32_t misnamed_create(const byoc_engine_init_t *init, void **out_instance) {
  *out_instance = NULL;
  (void)init;
  return BYOC_INTERNAL; // it is never created
}

static void misnamed_destroy(void *instance) {
  (void)instance;
}

static int32_t misnamed_run(void *instance, uint32_t function, const byoc_call_t *call) {
  (void)instance, (void)function, (void)call;
  return BYOC_INTERNAL;
}

static const byoc_engine_t misnamed = {.struct_size = sizeof(misnamed),
                                       .abi_version = BYOC_ENGINE_ABI_VERSION,
                                       .name = "demon",
                                       .create = misnamed_create,
                                       .destroy = misnamed_destroy,
                                       .run = misnamed_run};

static int32_t engine(void *self, byoc_codegen_t *codegen) {
  (void)self;
  const byoc_codegen_api_t *api = host->codegen;
  const byoc_target_t *target = api->target(codegen);
  const char *content = host->target->option_string(target, "blob");
  byoc_file_content_t file = {.header = BYOC_HEADER(byoc_file_content_t, 1), .name = "engine.o"};
  int32_t status = compile(codegen, engine_source, &file.data, &file.size_bytes);
  const byoc_file_content_t blob = {
      .header = BYOC_HEADER(byoc_file_content_t, 1), .name = "blob", .data = content, .size_bytes = strlen(content)};
  const int is_misnamed = host->target->option_int(target, "misnamed") != 0;
  const byoc_engine_module_t module = {.header = BYOC_HEADER(byoc_engine_module_t, 1),
                                       .name = "demo",
                                       .in_process = is_misnamed ? &misnamed : NULL,
                                       .symbol = "demo_engine",
                                       .files = &file,
                                       .file_count = 1,
                                       .file_stride = sizeof(file),
                                       .blobs = &blob,
                                       .blob_count = 1,
                                       .blob_stride = sizeof(blob)};
  if (status == BYOC_OK && !host->target->option_int(target, "absent")) status = api->add_engine(codegen, &module);
  for (uint64_t i = 0; i < api->function_count(codegen) && status == BYOC_OK; ++i) {
    const byoc_json_module_t json = {.header = BYOC_HEADER(byoc_json_module_t, 1),
                                     .engine = "demo",
                                     .json = host->target->option_string(target, "json")};
    status = api->add_json(codegen, api->function_at(codegen, i), &json);
  }
  return status;
}

// ---- the plugin ----

static const char *const operators[] = {"Relu", "Neg", "Abs"};
#define RULE(name_)                                                                                                    \
  static const byoc_rule_t name_##_rule = {                                                                            \
      .header = BYOC_HEADER(byoc_rule_t, 1), .name = #name_ ".node", .operators = {operators, 3}, .max_nodes = 1}
#define BACKEND(name_, ...)                                                                                            \
  RULE(name_);                                                                                                         \
  static const byoc_backend_t name_##_backend = {.header = BYOC_HEADER(byoc_backend_t, 1),                             \
                                                 .target = #name_,                                                     \
                                                 .rules = &name_##_rule,                                               \
                                                 .rule_count = 1,                                                      \
                                                 .rule_stride = sizeof(byoc_rule_t),                                   \
                                                 __VA_ARGS__}

BACKEND(each, .generate_function = each);
BACKEND(rewrite, .generate = rewrite);
BACKEND(silent, .generate = silent);
BACKEND(twice, .generate = twice);
BACKEND(liar, .generate = liar);
BACKEND(unlisted, .generate = unlisted);
BACKEND(fails, .generate = fails);
BACKEND(speechless, .generate = speechless);
BACKEND(dirty, .generate = dirty);
BACKEND(mistyped, .generate = mistyped);
BACKEND(engine, .generate = engine, .options = engine_options, .option_count = 4,
        .option_stride = sizeof(engine_options[0]));

// Counts its calls in an integer whose address the environment gives: destroy must be called once.
static void destroy(void *self) {
  (void)self;
  if (destroyed != NULL) *destroyed += 1;
}

BYOC_PLUGIN_EXPORT int32_t byoc_plugin_query(const byoc_host_t *from_host, byoc_plugin_t *out_plugin) {
  static const byoc_backend_t *const backends[] = {
      &each_backend,  &rewrite_backend,    &silent_backend, &twice_backend,  &liar_backend,    &unlisted_backend,
      &fails_backend, &speechless_backend, &dirty_backend,  &engine_backend, &mistyped_backend};
  host = from_host;
  const char *address = getenv("BYOC_TEST_DESTROYED");
  destroyed = address != NULL ? (int *)(uintptr_t)strtoull(address, NULL, 16) : NULL;
  out_plugin->backends = backends;
  out_plugin->backend_count = sizeof(backends) / sizeof(backends[0]);
  out_plugin->destroy = destroy;
  return BYOC_OK;
}
