// SPDX-License-Identifier: Apache-2.0
// Parts of the text form that other text forms (loop kernels, host programs) share: dimensions, types, attributes,
// virtual devices and the data of constants. Parsers return false with lexer->status set. Their results are in the
// given arena, which may differ from the lexer's.
#ifndef BYOC_CORE_IR_TEXT_PARTS_H_
#define BYOC_CORE_IR_TEXT_PARTS_H_

#include "core/ir/graph.h"
#include "core/ir/lexer.h"
#include "core/ir/module_text.h"

// N, 4, N * 2 + 1, floordiv(H + 2, 2), min(N, M, 512), "odd name", ?7
bool byoc_dim_parse(byoc_lexer_t *lexer, byoc_arena_t *arena, byoc_dim_t *out_dim);
// f32[N,4], f32[], f32[*], seq<T>, opt<T>, ?
bool byoc_type_parse(byoc_lexer_t *lexer, byoc_arena_t *arena, const byoc_type_t **out_type);
// {a = 1, b = "x"}; @name is looked up among the module's constants. Adds to `attributes`.
bool byoc_attributes_parse(byoc_lexer_t *lexer, byoc_graph_module_t *module, byoc_attributes_t *attributes);
// " on {device = 1, id = 0, target = "c", scope = "global"}", without free fields; nothing if all are free.
void byoc_virtual_device_print(const byoc_virtual_device_t *device, byoc_string_t *out);
// The same, optional: a device with all fields free if there is none.
bool byoc_virtual_device_parse(byoc_lexer_t *lexer, byoc_arena_t *arena, byoc_virtual_device_t *out_device);

// Prints the data of a constant, after "=": a list in row-major order (complex elements as (re, im)), `splat x`, or
// `base64 "..."` of the dense little-endian data.
void byoc_constant_print_data(const byoc_constant_t *constant, const byoc_print_options_t *options, byoc_string_t *out);
// Fills the dense data of a static tensor type.
bool byoc_constant_parse_data(byoc_lexer_t *lexer, const byoc_type_t *type, byoc_arena_t *arena, void *data);

#endif // BYOC_CORE_IR_TEXT_PARTS_H_
