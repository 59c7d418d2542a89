// SPDX-License-Identifier: Apache-2.0
// operator.c - operators of one's own domain: their types and what they compute, as text. Nothing else is needed: the
// target c compiles models with them, and the evaluator runs them.
#include <byoc/operator_plugin.h>

BYOC_PLUGIN_IDENTITY_NEEDS("acme", "1.0", "", "Operators of com.acme", 4); // no targets; operators came with minor 4
BYOC_PLUGIN_DOMAINS("com.acme");

static const byoc_operator_attribute_t gelu_attributes[] = {{.header = BYOC_HEADER(byoc_operator_attribute_t, 1),
                                                             .name = "approximate",
                                                             .kind = BYOC_OPERATOR_TEXT,
                                                             .default_value = "none",
                                                             .choices = "none|tanh"}};
static const byoc_operator_attribute_t norm_attributes[] = {{.header = BYOC_HEADER(byoc_operator_attribute_t, 1),
                                                             .name = "epsilon",
                                                             .kind = BYOC_OPERATOR_FLOAT,
                                                             .default_value = "1e-5"}};

static const byoc_operator_t operators[] = {
    {.header = BYOC_HEADER(byoc_operator_t, 1),
     .domain = "com.acme",
     .name = "MyGelu",
     .since_version = 1,
     .description = "Gelu, exactly or by tanh",
     .signature = "(x: T[S...]) -> (y: T[S...]) where T = float",
     // Elementwise: it is fused with the operators around it.
     .element = "let exactly = erf(x * 0.7071067811865476)\n"
                "let nearly = tanh(0.7978845608028654 * (x + 0.044715 * x * x * x))\n"
                "y = 0.5 * x * (1.0 + select(eq(approximate, 1), nearly, exactly))",
     .attributes = gelu_attributes,
     .attribute_count = 1,
     .attribute_stride = sizeof(gelu_attributes[0])},
    {.header = BYOC_HEADER(byoc_operator_t, 1),
     .domain = "com.acme",
     .name = "RmsNorm",
     .since_version = 1,
     .description = "Divides each row by its root mean square",
     .signature = "(x: T[B..., D], scale: T[D], bias?: T[D]) -> (y: T[B..., D]) where T = float",
     .loops = "parallel b in 0 .. B {\n"
              "  var sum = T(0)\n"
              "  reduce d in 0 .. D { sum = sum + x[b * D + d] * x[b * D + d] }\n"
              "  let factor = div(1.0, sqrt(div(sum, cast(T, D)) + epsilon))\n"
              "  vector d in 0 .. D { y[b * D + d] = x[b * D + d] * factor * scale[d] + bias[d] }\n"
              "}",
     .attributes = norm_attributes,
     .attribute_count = 1,
     .attribute_stride = sizeof(norm_attributes[0])},
};

BYOC_PLUGIN_EXPORT int32_t byoc_plugin_query(const byoc_host_t *host, byoc_plugin_t *out_plugin) {
  const byoc_operator_api_t *api = host->extension(host, BYOC_OPERATOR_EXTENSION, 1);
  (void)out_plugin; // without targets there is nothing to fill in
  if (api == NULL) return host->error(host, BYOC_VERSION, "this byoc takes no operators of plugins");
  return api->declare(host, operators, sizeof(operators) / sizeof(operators[0]), sizeof(operators[0]));
}
