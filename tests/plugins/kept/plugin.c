// SPDX-License-Identifier: Apache-2.0
// A backend that uses what its minor of the ABI has, in each flavour: C source, objects with bound constants, a JSON
// engine, IR, a C call, a group. minor<N>.so beside this file are built of it with the headers of released minors
// (make.sh), and stay as they are; tests/abi/test_kept.c runs them.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "byoc/plugin.h"

#define TEXT_OF(x) #x
#define TEXT(x)    TEXT_OF(x)
#define NAME       "kept" TEXT(BYOC_ABI_MINOR)
#define NEEDED     (BYOC_ABI_MINOR < KEPT_NEEDS ? BYOC_ABI_MINOR : KEPT_NEEDS)
#ifndef KEPT_NEEDS
#define KEPT_NEEDS BYOC_ABI_MINOR
#endif

BYOC_PLUGIN_IDENTITY_NEEDS(NAME, "1.0", NAME, "Every flavour, as plugins of ABI minor " TEXT(BYOC_ABI_MINOR) " do it",
                           NEEDED);

// kept_parts.o, which goes into artifacts; the plugin itself is linked with it for the evaluator.
__asm__(".pushsection .rodata\n"
        ".balign 16\n"
        ".globl kept_parts\n.hidden kept_parts\nkept_parts:\n.incbin \"" KEPT_PARTS "\"\n"
        ".globl kept_parts_end\n.hidden kept_parts_end\nkept_parts_end:\n.byte 0\n"
        ".popsection\n");
extern __attribute__((visibility("hidden"))) const char kept_parts[], kept_parts_end[];
extern BYOC_PACKED const byoc_engine_t kept_engine;

static const byoc_host_t *host;

// Does the host of this plugin have what came in that minor? The effective minor says so, not the headers. KEPT_FORGETS
// makes a plugin that does not ask before it calls what came later, KEPT_HASTY one that does not ask in query.
static int has_minor(uint32_t minor) {
#ifdef KEPT_FORGETS
  return BYOC_ABI_MINOR >= minor;
#else
  return BYOC_ABI_MINOR >= minor && host->abi_minor >= minor;
#endif
}

#define TRY(expression)                                                                                                \
  do {                                                                                                                 \
    const int32_t tried = (expression);                                                                                \
    if (tried != BYOC_OK) return tried;                                                                                \
  } while (0)

// ---- rules ----

static int32_t is_static_f32(byoc_region_t *region, const byoc_value_t *x) {
  if (host->graph->value_dtype(x) != BYOC_DTYPE_F32)
    return host->region->decline(region, "the element type is not f32");
  return host->graph->value_element_count(x) >= 0 || host->region->decline(region, "the shape is not static");
}

static int32_t accept(void *self, byoc_region_t *region) {
  (void)self;
  return is_static_f32(region, host->region->value(region, "x"));
}

static int32_t accept_group(void *self, byoc_region_t *region) {
  (void)self;
  return is_static_f32(region, host->graph->operand(host->region->node_at(region, 0), 0));
}

static int32_t accept_pair(void *self, byoc_region_t *region) {
  const byoc_value_t *x = host->region->value(region, "x"), *b = host->region->value(region, "b");
  (void)self;
  if (!is_static_f32(region, x)) return 0;
#if BYOC_ABI_MINOR >= 5
  const int32_t rank = host->abi_minor >= 5 ? host->graph->value_rank(x) : 0;
  for (int32_t i = 0; i < rank; ++i)
    if (!host->graph->value_dims_equal(x, i, b, i)) return host->region->decline(region, "a dimension differs");
#endif
  return host->graph->value_element_count(x) == host->graph->value_element_count(b) ||
         host->region->decline(region, "the operands have different shapes");
}

static const char *const group[] = {"Floor", "Ceil"};
#define RULE(rule_name, rule_pattern, hook)                                                                            \
  { .header = BYOC_HEADER(byoc_rule_t, 1), .name = NAME "." rule_name, .pattern = rule_pattern, .accept = hook }
static const byoc_rule_t rules[] = {
    RULE("source", "op:{Relu|LeakyRelu}(%x)", accept),
    RULE("constant", "Add(%x, @b)", accept_pair),
    // The engine takes both operands as inputs, constants too.
    {.header = BYOC_HEADER(byoc_rule_t, 1),
     .name = NAME ".engine",
     .pattern = "Mul(%x, %b)",
     .flags = BYOC_RULE_PASS_CONSTANTS,
     .accept = accept_pair},
    RULE("ir", "Neg(%x)", accept),
    RULE("call", "Abs(%x)", accept),
    RULE("object", "Tanh(%x)", accept),
#if BYOC_ABI_MINOR >= 1
    RULE("typed", "Sqrt<f32>(%x<f32>)", accept),
#endif
    {.header = BYOC_HEADER(byoc_rule_t, 1),
     .name = NAME ".group",
     .operators = {group, 2},
     .max_nodes = 1,
     .accept = accept_group},
};

static const byoc_option_t options[] = {
    {.header = BYOC_HEADER(byoc_option_t, 1),
     .name = "O",
     .type = BYOC_OPTION_INT,
     .default_value = "2",
     .maximum = 3,
     .help = "optimisation level"},
    {.header = BYOC_HEADER(byoc_option_t, 1),
     .name = "factor",
     .type = BYOC_OPTION_FLOAT,
     .default_value = "1",
     .help = "what products are multiplied by"},
    {.header = BYOC_HEADER(byoc_option_t, 1),
     .name = "log",
     .type = BYOC_OPTION_BOOL,
     .default_value = "0",
     .help = "log each function"},
    {.header = BYOC_HEADER(byoc_option_t, 1),
     .name = "note",
     .type = BYOC_OPTION_STRING,
     .default_value = "none",
     .help = "any text"},
    {.header = BYOC_HEADER(byoc_option_t, 1),
     .name = "way",
     .type = BYOC_OPTION_CHOICE,
     .default_value = "one",
     .choices = "one|two",
     .help = "one of two"},
#if BYOC_ABI_MINOR >= 4
    // The last one: a host that does not know its type is not told of it.
    {.header = BYOC_HEADER(byoc_option_t, 1), .name = "mcpu", .type = BYOC_OPTION_CPU, .help = "instruction set"},
#endif
};

// ---- flavours ----

static int64_t count_of(const byoc_function_t *function) {
  return host->graph->value_element_count(host->graph->result(function, 0));
}

static int32_t bind(byoc_codegen_t *codegen, byoc_function_t *function, const char *symbol) {
  const byoc_packed_binding_t binding = {.header = BYOC_HEADER(byoc_packed_binding_t, 1), .symbol = symbol};
  return host->codegen->bind_packed(codegen, function, &binding);
}

// The node that computes: in the body, or in the Composite function that the body calls.
static byoc_node_t *node_of(const byoc_function_t *function) {
  byoc_node_t *node = host->graph->node_at(function, 0);
  const byoc_function_t *callee = host->graph->node_callee(node);
  return callee != NULL ? host->graph->node_at(callee, 0) : node;
}

static double slope_of(const byoc_node_t *node) {
#if BYOC_ABI_MINOR >= 4
  if (has_minor(4)) return host->graph->node_float(node, "alpha");
#endif
  return host->graph->attribute_float(node, "alpha", 0.01);
}

static void write_kernel(char *source, size_t size, const char *symbol, const byoc_function_t *function) {
  const byoc_node_t *node = node_of(function);
  const char *op = host->graph->node_operator(node);
  char leaky[64];
  snprintf(leaky, sizeof(leaky), "x[i] > 0 ? x[i] : %a * x[i]", strcmp(op, "LeakyRelu") == 0 ? slope_of(node) : 0);
  const struct {
    const char *op, *value;
  } forms[] = {{"Relu", "x[i] > 0 ? x[i] : 0"}, {"LeakyRelu", leaky},    {"Floor", "floorf(x[i])"},
               {"Ceil", "ceilf(x[i])"},         {"Sqrt", "sqrtf(x[i])"}, {"Tanh", "tanhf(x[i])"}};
  const char *value = "";
  for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); ++i) {
    if (strcmp(op, forms[i].op) == 0) value = forms[i].value;
  }
  snprintf(source, size,
           "#include \"byoc/call.h\"\n#include <math.h>\n"
           "BYOC_PACKED int32_t %s(const byoc_call_t *call) {\n"
           "  const float *x = (const float *)call->tensors[0].data;\n"
           "  float *y = (float *)call->tensors[call->input_count].data;\n"
           "  for (long long i = 0; i < %lld; ++i) y[i] = (float)(%s);\n"
           "  return BYOC_OK;\n"
           "}\n",
           symbol, (long long)count_of(function), value);
}

static int32_t by_source(byoc_codegen_t *codegen, byoc_function_t *function) {
  const char *symbol = host->graph->function_symbol(function);
  char source[1024], level[8];
  write_kernel(source, sizeof(source), symbol, function);
  snprintf(level, sizeof(level), "-O%d", (int)host->target->option_int(host->codegen->target(codegen), "O"));
  const char *const flags[] = {level};
  const byoc_c_source_t module = {.header = BYOC_HEADER(byoc_c_source_t, 1),
                                  .name = NAME,
                                  .source = source,
                                  .flags = {flags, 1},
                                  .symbols = {&symbol, 1}};
  TRY(host->codegen->add_c_source(codegen, &module));
  return bind(codegen, function, NULL);
}

static int32_t add_library(byoc_codegen_t *codegen, const char *name, const void *data, uint64_t size_bytes,
                           const char *const *symbols, uint64_t symbol_count) {
  const byoc_file_content_t file = {
      .header = BYOC_HEADER(byoc_file_content_t, 1), .name = "kept.o", .data = data, .size_bytes = size_bytes};
  const byoc_static_library_t library = {.header = BYOC_HEADER(byoc_static_library_t, 1),
                                         .name = name,
                                         .files = &file,
                                         .file_count = 1,
                                         .file_stride = sizeof(file),
                                         .symbols = {symbols, symbol_count}};
  return host->codegen->add_static_library(codegen, &library);
}

static int32_t by_object(byoc_codegen_t *codegen, byoc_function_t *function) {
  const char *symbol = host->graph->function_symbol(function);
  const void *object = NULL;
  uint64_t size = 0;
  char source[1024];
  write_kernel(source, sizeof(source), symbol, function);
  const byoc_compile_request_t request = {
    .header = BYOC_HEADER(byoc_compile_request_t, 1),
    .name = NAME,
    .source = source,
#if BYOC_ABI_MINOR >= 3
    .preamble = "#include <math.h>\n",
#endif
  };
#if BYOC_ABI_MINOR >= 3
  if (has_minor(3)) TRY(host->codegen->compile_all(codegen, &request, 1, sizeof(request), &object, &size));
#endif
  if (object == NULL) TRY(host->codegen->compile(codegen, &request, &object, &size));
  TRY(add_library(codegen, symbol, object, size, &symbol, 1));
  return bind(codegen, function, NULL);
}

static const char *const part_symbols[] = {"kept_add", "kept_abs"};

static int32_t add_parts(byoc_codegen_t *codegen) {
  return add_library(codegen, NAME "_parts", kept_parts, (uint64_t)(kept_parts_end - kept_parts), part_symbols, 2);
}

static int32_t by_constant(byoc_codegen_t *codegen, byoc_function_t *function) {
  byoc_region_t *region = host->codegen->match(codegen, function, NULL, "Add(%x, @b)");
  byoc_tensor_data_t constant = {.header = BYOC_HEADER(byoc_tensor_data_t, 1)};
  if (region == NULL || !host->graph->value_constant(host->region->value(region, "b"), &constant)) {
    return host->codegen->error(codegen, BYOC_INTERNAL, "the constant cannot be read");
  }
  const byoc_packed_binding_t binding = {.header = BYOC_HEADER(byoc_packed_binding_t, 1),
                                         .symbol = "kept_add",
                                         .workspace_size_bytes = 64,
                                         .constants = &constant,
                                         .constant_count = 1,
                                         .constant_stride = sizeof(constant)};
  TRY(add_parts(codegen));
  return host->codegen->bind_packed(codegen, function, &binding);
}

static int32_t by_engine(byoc_codegen_t *codegen, byoc_function_t *function) {
  const byoc_file_content_t file = {.header = BYOC_HEADER(byoc_file_content_t, 1),
                                    .name = "kept.o",
                                    .data = kept_parts,
                                    .size_bytes = (uint64_t)(kept_parts_end - kept_parts)};
  const byoc_file_content_t blob = {
      .header = BYOC_HEADER(byoc_file_content_t, 1), .name = "blob.txt", .data = "blob", .size_bytes = 4};
  const byoc_engine_module_t engine = {.header = BYOC_HEADER(byoc_engine_module_t, 1),
                                       .name = NAME "_engine",
                                       .symbol = "kept_engine",
                                       .files = &file,
                                       .file_count = 1,
                                       .file_stride = sizeof(file),
                                       .blobs = &blob,
                                       .blob_count = 1,
                                       .blob_stride = sizeof(blob),
                                       .in_process = &kept_engine};
  const float factor = (float)host->target->option_float(host->codegen->target(codegen), "factor");
  const byoc_tensor_data_t constant = {.header = BYOC_HEADER(byoc_tensor_data_t, 1),
                                       .dtype = BYOC_DTYPE_F32,
                                       .data = &factor,
                                       .size_bytes = sizeof(factor)};
  char json[64];
  snprintf(json, sizeof(json), "{\"count\":%lld}", (long long)count_of(function));
  const byoc_json_module_t module = {
    .header = BYOC_HEADER(byoc_json_module_t, 1),
    .engine = NAME "_engine",
    .json = json,
    .constants = &constant,
    .constant_count = 1,
    .constant_stride = sizeof(constant),
#if BYOC_ABI_MINOR >= 5
    .fits = "a chip of paper",
#endif
  };
  TRY(host->codegen->add_engine(codegen, &engine));
#if BYOC_ABI_MINOR >= 5
  if (has_minor(5)) {
    static const byoc_option_t power = {
        .header = BYOC_HEADER(byoc_option_t, 1), .name = "power", .type = BYOC_OPTION_INT, .maximum = 3};
    const byoc_report_t report = {.header = BYOC_HEADER(byoc_report_t, 1),
                                  .name = "factor",
                                  .kind = BYOC_REPORT_JSON,
                                  .content = json,
                                  .size_bytes = strlen(json)};
    TRY(host->codegen->declare_runtime_options(codegen, NAME "_engine", &power, 1, sizeof(power)));
    TRY(host->codegen->add_report(codegen, function, &report));
  }
#endif
  return host->codegen->add_json(codegen, function, &module);
}

static int32_t put_in_place(byoc_codegen_t *codegen, byoc_function_t *function, byoc_node_t *node, byoc_node_t *by) {
  if (by == NULL) return host->codegen->error(codegen, BYOC_INTERNAL, "a node cannot be made");
  TRY(host->edit->replace_value(codegen, host->graph->node_result(node, 0), host->graph->node_result(by, 0)));
  TRY(host->edit->erase_node(codegen, node));
  return host->edit->hand_back(codegen, function);
}

static int32_t by_ir(byoc_codegen_t *codegen, byoc_function_t *function) {
  static const float minus_one = -1.0f;
  const byoc_tensor_data_t data = {.header = BYOC_HEADER(byoc_tensor_data_t, 1),
                                   .dtype = BYOC_DTYPE_F32,
                                   .data = &minus_one,
                                   .size_bytes = sizeof(minus_one)};
  byoc_node_t *node = host->graph->node_at(function, 0);
  byoc_value_t *operands[] = {host->graph->operand(node, 0), host->edit->constant(codegen, function, &data)};
  return put_in_place(codegen, function, node,
                      host->edit->create_node(codegen, function, node, "", "Mul", operands, 2, 1));
}

static int32_t by_call(byoc_codegen_t *codegen, byoc_function_t *function) {
  byoc_node_t *node = host->graph->node_at(function, 0);
  byoc_value_t *x = host->graph->operand(node, 0);
  const byoc_c_argument_t arguments[] = {
      {.kind = BYOC_C_ARGUMENT_INTEGER, .type = BYOC_C_I64, .integer = count_of(function)},
      {.kind = BYOC_C_ARGUMENT_OPERAND, .type = BYOC_C_POINTER},
      {.kind = BYOC_C_ARGUMENT_RESULT, .type = BYOC_C_POINTER}};
  const byoc_c_call_t call = {.header = BYOC_HEADER(byoc_c_call_t, 1),
                              .symbol = "kept_abs",
                              .return_type = BYOC_C_VOID,
                              .argument_count = 3,
                              .arguments = arguments,
                              .repeat_count = 1,
                              .result_from_operand = -1};
  const uint32_t dtype = BYOC_DTYPE_F32, rank = (uint32_t)host->graph->value_rank(x);
  int64_t dims[8] = {0};
  for (uint32_t i = 0; i < rank && i < 8; ++i) dims[i] = host->graph->value_dim(x, (int32_t)i);
  TRY(add_parts(codegen));
  return put_in_place(codegen, function, node,
                      host->edit->create_c_call(codegen, function, node, &call, &x, 1, &dtype, &rank, dims, 1));
}

// ---- hooks ----

static int32_t generate_function(byoc_codegen_t *codegen, byoc_function_t *function) {
  static const struct {
    const char *op;
    int32_t (*answer)(byoc_codegen_t *codegen, byoc_function_t *function);
  } answers[] = {{"Add", by_constant}, {"Mul", by_engine}, {"Neg", by_ir}, {"Abs", by_call}, {"Tanh", by_object}};
  const char *op = host->graph->node_operator(node_of(function));
  if (host->target->option_int(host->codegen->target(codegen), "log")) host->codegen->log(codegen, op);
  for (size_t i = 0; i < sizeof(answers) / sizeof(answers[0]); ++i) {
    if (strcmp(op, answers[i].op) == 0) return answers[i].answer(codegen, function);
  }
  return by_source(codegen, function);
}

static int32_t use_services(byoc_codegen_t *codegen) {
  const byoc_target_t *target = host->codegen->target(codegen);
  const void *data = NULL;
  uint64_t size = 0;
  if (strcmp(host->target->kind(target), NAME) != 0 || strcmp(host->target->option_string(target, "way"), "one") != 0) {
    return host->codegen->error(codegen, BYOC_INTERNAL, "the target is not this one");
  }
  if (host->codegen->cache_get(codegen, "key", &data, &size) == BYOC_OK &&
      (size != 4 || memcmp(data, "kept", 4) != 0)) {
    return host->codegen->error(codegen, BYOC_INTERNAL, "the cache gives back what was not put there");
  }
  (void)host->codegen->cache_put(codegen, "key", "kept", 4);
  if (strstr(host->codegen->cpu_features(codegen), "sse2") != NULL) {
    TRY(host->codegen->require_cpu_features(codegen, "sse2"));
  }
#if BYOC_ABI_MINOR >= 4
  if (has_minor(4) && host->codegen->option_cpu_features(codegen, "mcpu")[0] == '\0' &&
      host->codegen->cpu_features(codegen)[0] != '\0') {
    return host->codegen->error(codegen, BYOC_INTERNAL, "the instruction set of -mcpu is empty");
  }
#endif
#if BYOC_ABI_MINOR >= 5
  if (has_minor(5) && host->target->option_cpu_has(host->codegen->target(codegen), "mcpu", "", "nobody") != 0) {
    return host->codegen->error(codegen, BYOC_INTERNAL, "the processor is of an unknown maker");
  }
  if (has_minor(5) && host->codegen->cpu_vendor(codegen) == NULL) {
    return host->codegen->error(codegen, BYOC_INTERNAL, "the maker of the processor is NULL");
  }
  if (has_minor(5) && host->codegen->triple(codegen) != NULL) {
    return host->codegen->error(codegen, BYOC_INTERNAL, "the artifact is for another machine");
  }
  for (uint64_t i = 0; has_minor(5) && i < host->codegen->function_count(codegen); ++i) {
    TRY(host->codegen->report_precision(codegen, host->codegen->function_at(codegen, i), "f32", NULL));
  }
#endif
  host->codegen->progress(codegen, "functions", 0, host->codegen->function_count(codegen));
  return BYOC_OK;
}

static int32_t generate(void *self, byoc_codegen_t *codegen) {
  (void)self;
  TRY(use_services(codegen));
  for (uint64_t i = 0; i < host->codegen->function_count(codegen); ++i) {
    TRY(generate_function(codegen, host->codegen->function_at(codegen, i)));
  }
  return BYOC_OK;
}

#if BYOC_ABI_MINOR >= 1
static int32_t prepare(void *self, byoc_codegen_t *codegen) {
  (void)self;
  return has_minor(1) ? host->edit->run_passes(codegen, "remove-dead-code") : BYOC_OK;
}
#endif

#if BYOC_ABI_MINOR >= 2
static double relative_error(void *self, const byoc_target_t *target) {
  (void)self;
  return host->target->option_float(target, "factor") == 1 ? 0 : 10;
}
#endif

#if BYOC_ABI_MINOR >= 5
// A nanosecond per element.
static int32_t state_costs(void *self, const byoc_cost_query_t *query) {
  (void)self;
  for (uint32_t i = 0; i < query->function_count; ++i) {
    const int64_t count = count_of(query->functions[i]);
    const byoc_stated_cost_t cost = {.header = BYOC_HEADER(byoc_stated_cost_t, 1),
                                     .stated = count >= 0 ? BYOC_STATED_TIME : 0,
                                     .time_ns = (double)count};
    TRY(query->state(query, i, &cost));
  }
  return BYOC_OK;
}

static int32_t state_target_costs(void *self, const byoc_target_t *target, byoc_target_costs_t *out_costs) {
  (void)self;
  (void)target;
  out_costs->least_operators = 1;
  return BYOC_OK;
}

// Claims nothing, after a look at each node.
static int32_t partition(void *self, const byoc_partition_query_t *query) {
  (void)self;
  for (uint64_t i = 0; i < query->node_count; ++i) {
    if (query->may_take(query, query->nodes[i]) && host->graph->node_operator(query->nodes[i])[0] == '\0') {
      return query->error(query, BYOC_INTERNAL, "a node has no operator");
    }
  }
  return BYOC_OK;
}
#endif

#if BYOC_ABI_MINOR >= 5
// Code for a machine that is not there.
static const byoc_file_content_t elsewhere = {
    .header = BYOC_HEADER(byoc_file_content_t, 1), .name = "kept_parts.o", .path = "elsewhere/kept_parts.o"};
static const byoc_machine_code_t machines = {.header = BYOC_HEADER(byoc_machine_code_t, 1),
                                             .machines = "m68k-*",
                                             .files = &elsewhere,
                                             .file_count = 1,
                                             .file_stride = sizeof(elsewhere)};
static const byoc_runtime_code_t code = {.header = BYOC_HEADER(byoc_runtime_code_t, 1),
                                         .name = NAME "_engine",
                                         .archives = &machines,
                                         .archive_count = 1,
                                         .archive_stride = sizeof(machines)};
#endif

static byoc_backend_t backend = {
    .header = BYOC_HEADER(byoc_backend_t, 1),
    .target = NAME,
    .description = "every flavour",
    .options = options,
    .option_count = sizeof(options) / sizeof(options[0]),
    .option_stride = sizeof(options[0]),
    .rules = rules,
    .rule_count = sizeof(rules) / sizeof(rules[0]),
    .rule_stride = sizeof(rules[0]),
    .generate = generate,
#if BYOC_ABI_MINOR >= 1
    .prepare = prepare,
#endif
#if BYOC_ABI_MINOR >= 2
    .relative_error = relative_error,
#endif
#if BYOC_ABI_MINOR >= 5
    .state_costs = state_costs,
    .state_target_costs = state_target_costs,
    .partition = partition,
    .runtime_code = &code,
    .runtime_code_count = 1,
    .runtime_code_stride = sizeof(code),
#endif
};

static void destroy(void *self) {
  (void)host->resize(host, self, 0);
}

BYOC_PLUGIN_EXPORT int32_t byoc_plugin_query(const byoc_host_t *from_host, byoc_plugin_t *out_plugin) {
  static const byoc_backend_t *const backends[] = {&backend};
  host = from_host;
  if (host->abi_major != BYOC_ABI_MAJOR || host->abi_minor > BYOC_ABI_MINOR ||
      host->header.struct_size < sizeof(*host) || out_plugin->header.struct_size < sizeof(*out_plugin)) {
    return host->error(host, BYOC_VERSION, "the host does not speak minor " TEXT(BYOC_ABI_MINOR));
  }
  if (host->extension(host, "nobody has this", 1) != NULL) return host->error(host, BYOC_INTERNAL, "a strange table");
#if BYOC_ABI_MINOR >= 4 && !defined(KEPT_HASTY)
  if (host->abi_minor < 4) backend.option_count = sizeof(options) / sizeof(options[0]) - 1;
#endif
  out_plugin->self = host->resize(host, NULL, 64);
  if (out_plugin->self == NULL) return host->error(host, BYOC_OUT_OF_MEMORY, "out of memory");
  out_plugin->backends = backends;
  out_plugin->backend_count = 1;
  out_plugin->destroy = destroy;
  return BYOC_OK;
}
