// SPDX-License-Identifier: Apache-2.0
// Declares operators of com.acme in wrong ways, one for each number in ACME_LIE. Without one it is a good plugin whose
// MyGelu is another's, too. What the texts of declarations may hold is tested in tests/unit/ops/test_declared.c; here
// are the ways in which a plugin hands them over.
#include <stdlib.h>

#include "byoc/operator_plugin.h"

BYOC_PLUGIN_IDENTITY_NEEDS("lies", "1.0", "", "Operators in wrong ways", 4);
BYOC_PLUGIN_DOMAINS("com.acme");

#define SAME "(x: T[S...]) -> (y: T[S...]) where T = float"
#define OPERATOR(...)                                                                                                  \
  { .header = BYOC_HEADER(byoc_operator_t, 1), .domain = "com.acme", .since_version = 1, __VA_ARGS__ }
#define ATTRIBUTE(...)                                                                                                 \
  (const byoc_operator_attribute_t[]) {                                                                                \
    { .header = BYOC_HEADER(byoc_operator_attribute_t, 1), __VA_ARGS__ }                                               \
  }
#define WITH(...)                                                                                                      \
  .name = "Lie", .signature = SAME, .element = "y = x", .attribute_count = 1,                                          \
  .attribute_stride = sizeof(byoc_operator_attribute_t), .attributes = ATTRIBUTE(__VA_ARGS__)

static const byoc_host_t *host;
static const byoc_operator_t operators[] = {
    OPERATOR(.name = "MyGelu", .signature = SAME, .element = "y = x"),                        // 0: good, but not alone
    OPERATOR(.name = "Lie"),                                                                  // 1: no signature
    OPERATOR(.signature = SAME),                                                              // 2: no name
    OPERATOR(.name = "Lie", .signature = "(x: T[S...]) -> (y: T[S...])", .element = "y = x"), // 3
    OPERATOR(.name = "Lie", .signature = SAME, .element = "y = gelu(x)"),                     // 4
    OPERATOR(.name = "Lie", .signature = SAME, .element = "y = x", .flags = 64),              // 5
    {.header = BYOC_HEADER(byoc_operator_t, 1),
     .domain = "com.other",
     .name = "Lie",
     .since_version = 1,
     .signature = SAME,
     .element = "y = x"}, // 6: a domain that is not announced
    {.header = BYOC_HEADER(byoc_operator_t, 1),
     .domain = "ai.onnx",
     .name = "Relu",
     .since_version = 99,
     .signature = SAME,
     .element = "y = x"},                       // 7: an operator of byoc's own
    OPERATOR(WITH(.name = "alpha", .kind = 9)), // 8
    OPERATOR(WITH(.name = "alpha", .kind = BYOC_OPERATOR_FLOAT, .default_value = "one")),               // 9
    OPERATOR(WITH(.name = "alpha", .kind = BYOC_OPERATOR_INTS, .default_value = "1")),                  // 10
    OPERATOR(WITH(.name = "mode", .kind = BYOC_OPERATOR_TEXT, .choices = "a||b")),                      // 11
    OPERATOR(WITH(.name = "mode", .kind = BYOC_OPERATOR_TEXT, .choices = "a|b", .default_value = "c")), // 12
    OPERATOR(WITH(.name = "mode", .kind = BYOC_OPERATOR_INT, .choices = "1|2")),                        // 13
    OPERATOR(
        WITH(.name = "alpha", .kind = BYOC_OPERATOR_INT, .flags = BYOC_OPERATOR_REQUIRED, .default_value = "1")), // 14
    OPERATOR(WITH(.kind = BYOC_OPERATOR_INT)), // 15: an attribute without a name
    {.domain = "com.acme"},                    // 16: no header
};
enum { COUNT = sizeof(operators) / sizeof(operators[0]) };

static void declare_late(void *self) {
  (void)self;
  const byoc_operator_api_t *api = host->extension(host, BYOC_OPERATOR_EXTENSION, 1);
  if (api->declare(host, operators, 1, sizeof(operators[0])) != BYOC_INVALID_ARGUMENT) abort();
}

BYOC_PLUGIN_EXPORT int32_t byoc_plugin_query(const byoc_host_t *from_host, byoc_plugin_t *out_plugin) {
  const char *number = getenv("ACME_LIE");
  const int lie = number != NULL ? atoi(number) : 0;
  host = from_host;
  out_plugin->destroy = declare_late;
  const byoc_operator_api_t *api = host->extension(host, BYOC_OPERATOR_EXTENSION, 1);
  if (host->extension(host, BYOC_OPERATOR_EXTENSION, 2) != NULL) abort();
  if (lie < COUNT) (void)api->declare(host, &operators[lie], 1, sizeof(operators[0])); // a failure is kept
  if (lie == COUNT) (void)api->declare(host, operators, 1, 3);
  if (lie == COUNT + 1) (void)api->declare(host, NULL, 1, sizeof(operators[0]));
  if (lie == COUNT + 2) (void)api->declare(host, operators, 100000, sizeof(operators[0]));
  if (lie == COUNT + 3) { // one version twice
    (void)api->declare(host, operators, 1, sizeof(operators[0]));
    (void)api->declare(host, operators, 1, sizeof(operators[0]));
  }
  return BYOC_OK; // COUNT + 4: a domain without operators
}
