// SPDX-License-Identifier: Apache-2.0
// The operator table. It has one row for each operator and since-version, in one file for each family (core/ops). A row
// has everything about an operator: its schema, its type inference and its definition.
//
// An operator has one of four definitions:
//   point    each output element is an expression of input elements: the lowering fuses these freely
//   loops    a loop nest that reads through byoc_lower_load and writes through byoc_lower_store, so that elementwise
//            producers and consumers can be fused into it without its knowing
//   view     the same bytes under another shape: no code at all
//   expand   rewritten into other operators before the nodes that no backend took are lowered; an expansion for some
//            cases only (BatchNormalization in training) declines the others, which a point or loops definition takes
// Operators of control flow, of sequences, optionals and strings have no definition: the host program runs them.
#ifndef BYOC_CORE_OP_OP_H_
#define BYOC_CORE_OP_OP_H_

#include "core/base/diag.h"
#include "core/ir/graph.h"
#include "core/op/lowering.h"
#include "core/op/schema.h"

// The newest operator set of ai.onnx whose operators are in the table.
enum { BYOC_OPSET_NEWEST = 28 };

// Properties of an operator (core/op/traits.def).
typedef enum byoc_op_trait_t {
#define BYOC_OP_TRAIT(NAME, bit, text) BYOC_OP_##NAME = 1 << (bit),
#include "core/op/traits.def"
#undef BYOC_OP_TRAIT
} byoc_op_trait_t;
const char *byoc_op_trait_name(uint32_t bit); // "commutes"; NULL: there is no such trait

// The kind of an operator's arithmetic, to estimate its cost. HEAVY operators without a kind are matrix products; all
// others take one operation per element. The row's `factor` is the operand that holds the filters or the second matrix.
// X(NAME, its name in `byoc ops`)
#define BYOC_OP_WORK_LIST(X)                                                                                           \
  X(USUAL, "usual")                                                                                                    \
  X(TRANSCENDENTAL, "transcendental")                 /* exp, tanh or the like for each element */                     \
  X(PRODUCT, "product")                               /* a matrix product */                                           \
  X(CONVOLUTION, "convolution")                       /* a filter for each output channel */                           \
  X(TRANSPOSED_CONVOLUTION, "transposed convolution") /* a filter for each input channel */                            \
  X(ATTENTION, "attention")                           /* operands 0, 1 and 4: queries, keys, keys of the past */
typedef enum byoc_op_work_t {
#define BYOC_OP_WORK_ENUM(NAME, text) BYOC_WORK_##NAME,
  BYOC_OP_WORK_LIST(BYOC_OP_WORK_ENUM)
#undef BYOC_OP_WORK_ENUM
} byoc_op_work_t;
const char *byoc_op_work_name(byoc_op_work_t work);

typedef struct byoc_relations_t byoc_relations_t;
struct byoc_axis_t;         // core/op/axes.h
struct byoc_op_extension_t; // core/op/extension.h

// The input and output of type inference for one node.
typedef struct byoc_infer_t {
  byoc_node_t *node;
  byoc_arena_t *arena; // the module's
  int32_t opset;       // since-version of the row in force (node->since_version)
  byoc_diag_t *diag;
  uint64_t *next_unknown;      // ids for BYOC_DIM_UNKNOWN
  byoc_relations_t *relations; // receives relations that cannot be decided yet; NULL: they are dropped
  const byoc_node_t *named;    // the node in messages, if `node` is a copy of it; NULL: `node`
} byoc_infer_t;

// Along an axis of a result: `first` elements, then `count` runs of `length` elements each, then the rest. In a run the
// index into the operand rises by one, so that its loads are one vector after the other.
typedef struct byoc_op_runs_t {
  const byoc_loop_expr_t *first, *count, *length;
} byoc_op_runs_t;

typedef struct byoc_op_t {
  const char *domain; // "" is ai.onnx; "byoc" is ours
  const char *name;
  int32_t since_version;
  int32_t min_inputs, max_inputs;   // -1: any number
  int32_t min_outputs, max_outputs; // -1: any number
  uint32_t traits;
  byoc_op_work_t work;
  uint32_t factor; // of products, convolutions and attention: the operand that the data (operand 0) meet; 0: operand 1
  const byoc_op_attribute_t *attributes; // ends with one without a name; versions share it; NULL: none
  // Sets node->results[i]->type for every result from the operands' types (and from the values of constants).
  byoc_status_t (*infer)(byoc_infer_t *infer);
  byoc_lower_point_fn_t point; // the element of a result: core/op/lowering.h
  // For a point definition whose indices are slow to compute: its runs along an axis; false if no run is worth a loop
  // of its own. NULL: it has none.
  bool (*runs)(byoc_lower_t *lower, const byoc_node_t *node, int32_t axis, byoc_op_runs_t *out_runs);
  byoc_status_t (*loops)(byoc_lower_t *lower, const byoc_node_t *node);
  // Rewrites the node in place into simpler operators; afterwards its results are unused. *out_changed says if it did.
  byoc_status_t (*expand)(byoc_node_t *node, byoc_diag_t *diag, bool *out_changed);
  bool is_view;
  uint32_t shape_operands; // bit i: the value of operand i is needed to know the result's shape
  // For results whose shape depends on data: dimension `d` of result `result` as i64, from the dimensions and elements
  // of the operands. `node` is the operator without its results; statements may be emitted.
  const byoc_loop_expr_t *(*shape)(byoc_lower_t *lower, const byoc_node_t *node, uint32_t result, int32_t d);
  uint32_t shape_elements;  // bit i: `shape` reads operand i's elements; of the others it reads only the dimensions
  uint32_t by_shape;        // bit i: operand i's elements are not read once the results' shapes are known
  uint32_t scratch_results; // bit i: `loops` uses result i as scratch memory, even if nothing reads it
  // Dimensions along which the work can be divided (core/op/axes.h); NULL: the traits decide.
  bool (*axes)(const byoc_node_t *node, struct byoc_axis_t *axis);
  const struct byoc_op_extension_t *extension; // the plugin's extension; NULL: the row is byoc's own
} byoc_op_t;

// The rows of one file of core/ops.
typedef struct byoc_op_family_t {
  const byoc_op_t *rows;
  const size_t *count;
} byoc_op_family_t;

// Gives the table its families: core/ops/families.c does it when a program starts. The array stays the caller's.
void byoc_op_table_set(const byoc_op_family_t *families, size_t count);

// The row in force for `opset` (the largest since_version <= opset); NULL if there is none.
const byoc_op_t *byoc_op_find(const char *domain, const char *name, int32_t opset);
// The oldest row, for models that use an operator with an operator set that did not have it yet. NULL if there is none,
// or if the operator had another meaning before.
const byoc_op_t *byoc_op_find_oldest(const char *domain, const char *name);
const byoc_op_t *byoc_op_newest(const char *domain, const char *name); // its last version
// The row of a node (by its since_version); NULL for calls and unknown operators.
const byoc_op_t *byoc_op_of(const byoc_node_t *node);
bool byoc_node_has_trait(const byoc_node_t *node, uint32_t trait);
// Is the operator known at any version?  For messages: the nearest known name.
bool byoc_op_known(const char *domain, const char *name);
const char *byoc_op_nearest(const char *domain, const char *name);
// All rows, family by family, then those of extensions (core/op/extension.h).
size_t byoc_op_count(void);
const byoc_op_t *byoc_op_at(size_t index);

// Checks operand and result counts and attributes (core/op/schema.h), and runs inference for one node, or for all
// nodes of a function (nested blocks and callees included) in order. Types that are already known must agree; a
// dimension may become more precise.
byoc_status_t byoc_infer_node(byoc_node_t *node, byoc_diag_t *diag);
byoc_status_t byoc_infer_nested(byoc_node_t *node, byoc_diag_t *diag); // with its blocks and its callee
byoc_status_t byoc_infer_function(byoc_function_t *function, byoc_diag_t *diag);
byoc_status_t byoc_infer_module(byoc_graph_module_t *module, byoc_diag_t *diag);
// Decides about an error in the inference of a branch of an If. BYOC_OK if its nodes only contradict each other: then
// the branch may not run, and byoc_infer_function replaces it by byoc::Refuse. Otherwise records and returns the error.
byoc_status_t byoc_infer_branch_fault(byoc_block_t *block, byoc_status_t status, const byoc_diag_t *fault,
                                      byoc_diag_t *diag);

// Infers all types of a graph function from scratch, nested blocks included, from the types of its parameters. Declared
// constants and names are kept if they are more precise. Afterwards every unknown dimension belongs to an operator of
// the function. Does nothing if types have no unknown dimensions.
byoc_status_t byoc_infer_afresh(byoc_function_t *function, byoc_diag_t *diag);
// Does the same for every graph function, then gives each unknown dimension a symbol (u0, u1, ...: unique in the
// module). Dimensions inside sequences and optionals get none, because elements may differ in them.
byoc_status_t byoc_name_unknown_dimensions(byoc_graph_module_t *module, byoc_diag_t *diag, size_t *out_named);

// Makes a node of an ONNX operator at its newest row and infers its results; for rewrites and expansions. Returns NULL
// if out of memory, if the operator is not known, or if its types do not infer; `diag` (which may be NULL) has the
// reason, and the graph is unchanged. byoc_diag_failure(diag) is the status to return.
byoc_node_t *byoc_op_create(byoc_block_t *block, byoc_node_t *before, const char *domain, const char *name,
                            byoc_value_t *const *operands, uint32_t operand_count, uint32_t result_count,
                            byoc_diag_t *diag);
// The same for operators whose attributes decide their types.
byoc_node_t *byoc_op_create_with(byoc_block_t *block, byoc_node_t *before, const char *domain, const char *name,
                                 byoc_value_t *const *operands, uint32_t operand_count, uint32_t result_count,
                                 const byoc_attribute_t *attributes, size_t attribute_count, byoc_diag_t *diag);

#endif // BYOC_CORE_OP_OP_H_
