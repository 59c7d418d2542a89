// SPDX-License-Identifier: Apache-2.0
// unary.cpp - a backend in C++17: any connected group of elementwise operators with one operand, on f32 tensors of
// known shape, becomes one loop.
#include <byoc/plugin.h>

#include <exception>
#include <map>
#include <string>
#include <vector>

BYOC_PLUGIN_IDENTITY("unary", "1.0", "unary", "Groups of unary operators as one loop");

namespace {

const byoc_host_t *host;

// What each operator computes of a value named x.
const std::map<std::string, std::string> expressions = {
    {"Abs", "fabsf(x)"},     {"Exp", "expf(x)"},        {"Neg", "-x"},
    {"Reciprocal", "1 / x"}, {"Relu", "x < 0 ? 0 : x"}, {"Sigmoid", "1 / (1 + expf(-x))"},
    {"Sqrt", "sqrtf(x)"},    {"Tanh", "tanhf(x)"},
};

int32_t accept(void *, byoc_region_t *region) {
  const byoc_graph_api_t *graph = host->graph;
  const byoc_value_t *result = graph->node_result(host->region->node_at(region, 0), 0);
  if (graph->value_dtype(result) != BYOC_DTYPE_F32) return host->region->decline(region, "it is not f32");
  if (graph->value_element_count(result) < 0) return host->region->decline(region, "it has no static shape");
  return 1;
}

// The nodes stand in topological order, so each value has a name when it is read.
std::string source_of(const byoc_function_t *function) {
  const byoc_graph_api_t *graph = host->graph;
  std::map<const byoc_value_t *, std::string> names;
  std::string loads, body, stores;
  const uint64_t inputs = graph->parameter_count(function);
  for (uint64_t i = 0; i < inputs; ++i) {
    const std::string index = std::to_string(i);
    names[graph->parameter(function, i)] = "p" + index + "[i]";
    loads += "  const float *p" + index + " = (const float *)call->tensors[" + index + "].data;\n";
  }
  for (uint64_t i = 0; i < graph->node_count(function); ++i) {
    const byoc_node_t *node = graph->node_at(function, i);
    const std::string name = "v" + std::to_string(i);
    body += "    { const float x = " + names.at(graph->operand(node, 0)) + "; " + name + " = " +
            expressions.at(graph->node_operator(node)) + "; }\n";
    loads += "  float " + name + ";\n";
    names[graph->node_result(node, 0)] = name;
  }
  for (uint64_t i = 0; i < graph->result_count(function); ++i) {
    const std::string index = std::to_string(i);
    loads += "  float *r" + index + " = (float *)call->tensors[" + std::to_string(inputs + i) + "].data;\n";
    stores += "    r" + index + "[i] = " + names.at(graph->result(function, i)) + ";\n";
  }
  return "#include <math.h>\n#include \"byoc/call.h\"\nBYOC_PACKED int32_t " +
         std::string(graph->function_symbol(function)) + "(const byoc_call_t *call) {\n" + loads +
         "  for (long i = 0; i < " + std::to_string(graph->value_element_count(graph->result(function, 0))) +
         "; ++i) {\n" + body + stores + "  }\n  return BYOC_OK;\n}\n";
}

// No exception may leave a hook: the host is C.
int32_t generate_function(void *, byoc_codegen_t *codegen, byoc_function_t *function) {
  try {
    const std::string source = source_of(function);
    const char *symbol = host->graph->function_symbol(function);
    byoc_c_source_t module = {};
    module.header = BYOC_HEADER(byoc_c_source_t, 1);
    module.name = symbol;
    module.source = source.c_str();
    module.symbols = {&symbol, 1};
    byoc_packed_binding_t binding = {};
    binding.header = BYOC_HEADER(byoc_packed_binding_t, 1);
    const int32_t status = host->codegen->add_c_source(codegen, &module);
    return status == BYOC_OK ? host->codegen->bind_packed(codegen, function, &binding) : status;
  } catch (const std::exception &exception) {
    return host->codegen->error(codegen, BYOC_INTERNAL, exception.what());
  }
}

// What the host keeps pointers to, until destroy.
struct Tables {
  std::vector<const char *> operators;
  byoc_rule_t rule = {};
  byoc_backend_t backend = {};
  const byoc_backend_t *backends[1] = {&backend};

  Tables() {
    for (const auto &entry : expressions) operators.push_back(entry.first.c_str());
    rule.header = BYOC_HEADER(byoc_rule_t, 1);
    rule.name = "unary.group";
    rule.operators = {operators.data(), operators.size()};
    rule.accept = accept;
    backend.header = BYOC_HEADER(byoc_backend_t, 1);
    backend.target = "unary";
    backend.description = "Groups of unary operators as one loop";
    backend.rules = &rule;
    backend.rule_count = 1;
    backend.rule_stride = sizeof(rule);
    backend.generate_function = generate_function;
  }
};

} // namespace

BYOC_PLUGIN_EXPORT int32_t byoc_plugin_query(const byoc_host_t *from_host, byoc_plugin_t *out_plugin) {
  host = from_host;
  try {
    auto *tables = new Tables;
    out_plugin->self = tables;
    out_plugin->backends = tables->backends;
    out_plugin->backend_count = 1;
    out_plugin->destroy = [](void *self) { delete static_cast<Tables *>(self); };
  } catch (const std::exception &exception) {
    return host->error(host, BYOC_OUT_OF_MEMORY, exception.what());
  }
  return BYOC_OK;
}
