// SPDX-License-Identifier: Apache-2.0
// The attributes of an operator. The schema is part of the operator's row, and the only place for names, kinds,
// defaults and allowed strings of attributes. Inference refuses attributes that are not in it, and readers of an
// attribute get the default from it.
//
// Example:
//   static const byoc_op_attribute_t softmax_attributes[] = {
//       {BYOC_ATTR_INT("axis", 1), .until = 13},
//       {BYOC_ATTR_INT("axis", -1), .since = 13},
//       BYOC_ATTR_END,
//   };
//   int64_t axis = byoc_node_int(node, "axis");
#ifndef BYOC_CORE_OP_SCHEMA_H_
#define BYOC_CORE_OP_SCHEMA_H_

#include "core/base/diag.h"
#include "core/ir/graph.h"

struct byoc_op_t; // core/op/op.h

// One attribute, in force for the versions [since, until) of its operator; 0 means no limit. An attribute whose kind,
// default or allowed strings changed between versions has one entry for each.
typedef struct byoc_op_attribute_t {
  byoc_attribute_t value; // name, kind and the default, if there is one
  bool required;
  bool has_default;           // false: without the attribute, more than the node's attributes decides
  bool is_block;              // a nested block of the node instead of an attribute; `value` has only its name
  const char *const *allowed; // the allowed strings, ending with NULL; NULL: any string
  int32_t since, until;
} byoc_op_attribute_t;

// Macros for a table: an optional attribute without a default; a required one; one with a default, for each kind; a
// choice of strings, the first of which is the default.
#define BYOC_ATTR(kind_name, text)          .value = {.name = text, .kind = BYOC_ATTRIBUTE_##kind_name}
#define BYOC_ATTR_REQUIRED(kind_name, text) BYOC_ATTR(kind_name, text), .required = true
#define BYOC_ATTR_INT(text, number)                                                                                    \
  .value = {.name = text, .kind = BYOC_ATTRIBUTE_INT, .i = number}, .has_default = true
#define BYOC_ATTR_FLOAT(text, number)                                                                                  \
  .value = {.name = text, .kind = BYOC_ATTRIBUTE_FLOAT, .f = (double)(float)(number)}, .has_default = true
#define BYOC_ATTR_TEXT(text, words)                                                                                    \
  .value = {.name = text, .kind = BYOC_ATTRIBUTE_STRING, .s = words, .count = sizeof(words) - 1}, .has_default = true
#define BYOC_ATTR_CHOICE(text, first, ...) BYOC_ATTR_TEXT(text, first), .allowed = BYOC_ATTR_ALLOWED(first, __VA_ARGS__)
#define BYOC_ATTR_BLOCK(text)              .value = {.name = text}, .is_block = true, .required = true
#define BYOC_ATTR_ALLOWED(...)             ((const char *const[]){__VA_ARGS__, NULL})
#define BYOC_ATTR_END                                                                                                  \
  {                                                                                                                    \
    .value = {.name = NULL }                                                                                           \
  }

// Does the name begin with BYOC_ATTRIBUTE_RESERVED?
bool byoc_attribute_is_reserved(const char *name);

// The entry for the row's version; NULL if it has no such attribute.
const byoc_op_attribute_t *byoc_op_attribute(const struct byoc_op_t *op, const char *name);
// May a node of the row have the attribute? True for attributes of the row, of the compiler, and of tools.
bool byoc_op_knows_attribute(const struct byoc_op_t *op, const char *name);
// Is the entry in force for this version of its operator?
bool byoc_op_attribute_holds(const byoc_op_attribute_t *attribute, int32_t version);

// Refuses attributes and blocks that the row does not have or has with another kind, strings that are not allowed, and
// a node without a required attribute.
byoc_status_t byoc_op_check_attributes(const byoc_node_t *node, const struct byoc_op_t *op, byoc_diag_t *diag);

// The node's value, else the default of its row. A version without the attribute also gets the default, because ONNX
// extends operators in this way. The operator must have the attribute, with this kind.
int64_t byoc_node_int(const byoc_node_t *node, const char *name);
double byoc_node_float(const byoc_node_t *node, const char *name);
const char *byoc_node_text(const byoc_node_t *node, const char *name); // NULL if it is left out and has no default
// The node's own attribute, else the default; NULL if there is neither. `name` may be any name.
const byoc_attribute_t *byoc_node_value(const byoc_node_t *node, const char *name);
// Does the operator have the attribute in any version?
bool byoc_node_takes(const byoc_node_t *node, const char *name);
// The index of the string among the allowed ones, from 0.
int byoc_node_choice(const byoc_node_t *node, const char *name);
// The list and its length; NULL and 0 if it is left out.
const int64_t *byoc_node_ints(const byoc_node_t *node, const char *name, size_t *out_count);
const double *byoc_node_floats(const byoc_node_t *node, const char *name, size_t *out_count);
const char *const *byoc_node_texts(const byoc_node_t *node, const char *name, size_t *out_count);
// The node's own attribute; NULL if it is left out, even if it has a default.
const byoc_attribute_t *byoc_node_given(const byoc_node_t *node, const char *name);
static inline bool byoc_node_flag(const byoc_node_t *node, const char *name) {
  return byoc_node_int(node, name) != 0;
}

#endif // BYOC_CORE_OP_SCHEMA_H_
