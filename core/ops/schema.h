// What attributes an operator takes. The schema is a part of the operator's row, and the one place where names, kinds,
// defaults and allowed texts of attributes stand: inference refuses what it does not have, and whoever reads an
// attribute of a node takes the default from it.
//
//   static const byoc_op_attribute_t softmax_attributes[] = {
//       {BYOC_ATTR_INT("axis", 1), .until = 13},
//       {BYOC_ATTR_INT("axis", -1), .since = 13},
//       BYOC_ATTR_END,
//   };
//   ...
//   int64_t axis = byoc_node_int(node, "axis");
#ifndef BYOC_CORE_OPS_SCHEMA_H_
#define BYOC_CORE_OPS_SCHEMA_H_

#include "core/base/diag.h"
#include "core/ir/graph.h"

struct byoc_op_t; // core/ops/op.h

// One attribute, in force for the versions [since, until) of its operator; a limit of 0 is none. An attribute whose
// kind, default or allowed texts changed from one version to the next has an entry for each.
typedef struct byoc_op_attribute_t {
  byoc_attribute_t value; // name, kind and, where there is one, the default
  bool required;
  bool has_default; // false: what it means to leave the attribute out depends on more than the node's attributes
  bool is_block;    // a nested block of the node instead of an attribute; `value` has its name alone
  const char *const *allowed; // the texts that it may hold, with NULL behind the last one; NULL: any text
  int32_t since, until;
} byoc_op_attribute_t;

// The parts of a table. An attribute that may be left out without a default; one that may not; one with a default of
// each kind; a text that is one of several, the first of which is the default.
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

// The entry that holds for the row's version; NULL where it takes no such attribute.
const byoc_op_attribute_t *byoc_op_attribute(const struct byoc_op_t *op, const char *name);
// Does the entry hold for this version of its operator?
bool byoc_op_attribute_holds(const byoc_op_attribute_t *attribute, int32_t version);

// Refuses attributes and blocks that the row does not have, or has otherwise: of another kind, or with a text that is
// not allowed; and the lack of required ones.
byoc_status_t byoc_op_check_attributes(const byoc_node_t *node, const struct byoc_op_t *op, byoc_diag_t *diag);

// What a node says, else the default of its row. A version before the attribute came has the default too, since that is
// how operators are extended. The operator must have the attribute, with this kind.
int64_t byoc_node_int(const byoc_node_t *node, const char *name);
double byoc_node_float(const byoc_node_t *node, const char *name);
const char *byoc_node_text(const byoc_node_t *node, const char *name); // NULL where it is left out without a default
// The node's own attribute, else the default; NULL where there is neither. Any name may be asked for.
const byoc_attribute_t *byoc_node_value(const byoc_node_t *node, const char *name);
// Does the operator have the attribute, at any version?
bool byoc_node_takes(const byoc_node_t *node, const char *name);
// The place of the text among the allowed ones, from 0.
int byoc_node_choice(const byoc_node_t *node, const char *name);
// The list and its length; NULL and 0 where it is left out.
const int64_t *byoc_node_ints(const byoc_node_t *node, const char *name, size_t *out_count);
const double *byoc_node_floats(const byoc_node_t *node, const char *name, size_t *out_count);
const char *const *byoc_node_texts(const byoc_node_t *node, const char *name, size_t *out_count);
// The node's own attribute; NULL where it is left out, whatever its default.
const byoc_attribute_t *byoc_node_given(const byoc_node_t *node, const char *name);
static inline bool byoc_node_flag(const byoc_node_t *node, const char *name) {
  return byoc_node_int(node, name) != 0;
}

#endif // BYOC_CORE_OPS_SCHEMA_H_
