// What functions compute, in a few words: for names of instructions, errors and profiles.
#ifndef BYOC_CORE_IR_DESCRIBE_H_
#define BYOC_CORE_IR_DESCRIBE_H_

#include "core/base/string.h"
#include "core/ir/graph.h"

// The operators in order, composites looked into, changes of layout left out: "Conv+Add+Relu"; of many the first and
// their number:
// "Conv+Relu+MaxPool+... (123 operators)".
void byoc_function_describe(const byoc_function_t *function, byoc_string_t *out);

#endif // BYOC_CORE_IR_DESCRIBE_H_
