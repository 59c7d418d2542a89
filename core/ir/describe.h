// SPDX-License-Identifier: Apache-2.0
// Describes functions in a few words, for names of instructions, errors and profiles.
#ifndef BYOC_CORE_IR_DESCRIBE_H_
#define BYOC_CORE_IR_DESCRIBE_H_

#include "core/base/string.h"
#include "core/ir/graph.h"

// The operators in order, including those inside composites and without changes of layout: "Conv+Add+Relu". If there
// are many, the first ones and their number: "Conv+Relu+MaxPool+... (123 operators)".
void byoc_function_describe(const byoc_function_t *function, byoc_string_t *out);

// The sizes of a branch in the choice between variants, "sequence=128" (BYOC_ATTRIBUTE_CASES); NULL for other blocks.
const char *byoc_block_case(const byoc_block_t *block);

#endif // BYOC_CORE_IR_DESCRIBE_H_
