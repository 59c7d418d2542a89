// SPDX-License-Identifier: Apache-2.0
// Graph modules for tests: compared, and one function of them as text.
#ifndef BYOC_TESTS_SUPPORT_GRAPH_H_
#define BYOC_TESTS_SUPPORT_GRAPH_H_

#include "core/base/string.h"
#include "core/ir/graph.h"

// Have the modules the same functions, by name, with equal structure (core/ir/structural.h)?
bool byoc_test_modules_equal(const byoc_graph_module_t *a, const byoc_graph_module_t *b);
// Appends the function as byoc_graph_print prints it, without the module around it.
void byoc_test_print_function(const byoc_function_t *function, byoc_string_t *out);

#endif // BYOC_TESTS_SUPPORT_GRAPH_H_
