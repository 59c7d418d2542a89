// SPDX-License-Identifier: Apache-2.0
// Shared by the files of the reader. Internal to core/frontend.
#ifndef BYOC_CORE_FRONTEND_ONNX_READER_H_
#define BYOC_CORE_FRONTEND_ONNX_READER_H_

#include <string.h>

#include "core/base/file.h"
#include "core/frontend/onnx_read.h"
#include "onnx.pb-c.h"

// An attribute of a call, after references to the caller's own parameters were followed.
typedef struct byoc_onnx_argument_t {
  const char *name;
  const Onnx__AttributeProto *value;
} byoc_onnx_argument_t;

// The context of look-ups of operators: the model's imports, or those of a local function with the attributes of one
// call.
typedef struct byoc_onnx_context_t {
  const struct byoc_onnx_context_t *caller; // NULL for the model
  const Onnx__FunctionProto *function;      // NULL for the model
  size_t import_count;
  Onnx__OperatorSetIdProto *const *imports;
  const byoc_onnx_argument_t *arguments;
  size_t argument_count;
} byoc_onnx_context_t;

// The meaning of a name. All NULL: an optional input of a function that the call leaves out.
typedef struct byoc_onnx_binding_t {
  byoc_value_t *value;
  byoc_constant_t *constant; // becomes a value of the function on first use
  byoc_value_t *map_values;  // the name is a map: `value` are its keys
} byoc_onnx_binding_t;

// The names of one graph; `outer` is the scope of the graph around it, NULL for a function's body.
typedef struct byoc_onnx_scope_t {
  const struct byoc_onnx_scope_t *outer;
  const byoc_onnx_context_t *context;
  byoc_block_t *block;
  byoc_map_t names; // text map → byoc_onnx_binding_t *
} byoc_onnx_scope_t;

typedef struct byoc_onnx_reader_t {
  byoc_graph_module_t *module;
  byoc_diag_t *diag;
  byoc_allocator_t allocator;
  byoc_arena_t scratch; // messages, scopes and maps; freed when reading is over
  const byoc_onnx_read_options_t *options;
  const uint8_t *data; // the file
  size_t size_bytes;
  bool may_view;           // `data` outlives the module
  bool viewed;             // some constant points into it
  const char *folder;      // of external data; NULL: none
  byoc_map_t external;     // text map: location → byoc_file_view_t *
  byoc_map_t functions;    // text map: key of a local function → Onnx__FunctionProto *
  byoc_map_t instances;    // pointer map: Onnx__FunctionProto * → number of its copies
  byoc_map_t symbols;      // text map: symbolic dimensions of the inputs, bound ones too
  byoc_map_t declarations; // pointer map: byoc_value_t * → byoc_type_t *, as declared; dynamic dimensions are
                           // BYOC_DIM_UNKNOWN
  byoc_map_t told;         // pointer map: values whose different declared shape was reported
  byoc_map_t optional;     // text map: inputs with an initialiser that stay inputs
  size_t unreported_count; // values with different declared shapes that were not reported
  size_t call_count;       // function bodies made so far
  size_t node_count;       // nodes made so far
  size_t inference_count;  // nodes inferred so far, repeats included
} byoc_onnx_reader_t;

// ---- onnx_reader.c, onnx_open.c ----
// BYOC_INVALID_DATA for a Git LFS pointer. `what` begins the message: "it".
byoc_status_t byoc_onnx_check_fetched(const void *data, size_t size_bytes, const char *what, byoc_diag_t *diag);

// Sets the file, and makes all maps and the scratch arena, which the caller ends; `diag` and `options` are the
// caller's.
void byoc_onnx_reader_init(byoc_onnx_reader_t *reader, const void *data, size_t size_bytes, byoc_allocator_t allocator);
// Unpacks the model into scratch memory, checks its versions, loads the operators of its domains and collects its local
// functions.
byoc_status_t byoc_onnx_open_model(byoc_onnx_reader_t *reader, const Onnx__ModelProto **out_model);

// Reports a violation of the specification that is understood: an error when reading is strict, else a warning;
// byoc_onnx_tolerate gives no warning.
byoc_status_t byoc_onnx_forbidden(byoc_onnx_reader_t *reader, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
byoc_status_t byoc_onnx_tolerate(byoc_onnx_reader_t *reader, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static inline const char *byoc_onnx_string(const char *text) {
  return text ? text : "";
}
// Writes "node 'conv1' (Conv)"; a node without a name is described by its number and first output.
void byoc_onnx_describe_node(const Onnx__NodeProto *node, size_t index, char *buffer, size_t size);
static inline const char *byoc_onnx_domain(const char *domain) {
  domain = byoc_onnx_string(domain);
  return strcmp(domain, "ai.onnx") == 0 ? "" : domain;
}
// Finds the operator set of `domain` imported in this context; false if there is none. Domains whose operators models
// use without importing them have version 1.
bool byoc_onnx_find_version(const byoc_onnx_context_t *context, const char *domain, int64_t *out_version);
bool byoc_onnx_find_import(const byoc_onnx_context_t *context, const char *domain, int64_t *out_version);

// ---- onnx_tensor.c, onnx_tensor_data.c, onnx_sparse.c, onnx_external.c ----
// Copies strings of the model. A string with a NUL inside is refused, because strings end at a NUL.
byoc_status_t byoc_onnx_copy_texts(byoc_onnx_reader_t *reader, byoc_arena_t *arena, const ProtobufCBinaryData *from,
                                   size_t count, const char *what, const char **out_texts);
// `what` opens messages: "initialiser 'w'". The constant is named `name`.
byoc_status_t byoc_onnx_read_tensor(byoc_onnx_reader_t *reader, const Onnx__TensorProto *tensor, const char *what,
                                    const char *name, byoc_constant_t **out_constant);
byoc_status_t byoc_onnx_read_sparse_tensor(byoc_onnx_reader_t *reader, const Onnx__SparseTensorProto *sparse,
                                           const char *what, const char *name, byoc_constant_t **out_constant);
// The declared type of a tensor, and its size; checks rank, dimensions and overflow.
byoc_status_t byoc_onnx_tensor_type(byoc_onnx_reader_t *reader, int32_t onnx_type, size_t rank, const int64_t *dims,
                                    const char *what, const byoc_type_t **out_type, int64_t *out_count,
                                    int64_t *out_size_bytes);
// "int4" and so on, for messages.
const char *byoc_onnx_type_name(int32_t onnx_type);
// Checks that the tensor's own data fields hold exactly `count` elements of `dtype`, before anything is allocated. If
// they are one piece in the element's own format, *out_piece is that piece (else NULL).
byoc_status_t byoc_onnx_check_data(byoc_onnx_reader_t *reader, const Onnx__TensorProto *tensor, const char *what,
                                   byoc_dtype_t dtype, int64_t count, int64_t size_bytes, const uint8_t **out_piece);
// Decodes what _check_data accepted into `to` (size_bytes; strings: const char *[]).
byoc_status_t byoc_onnx_decode_data(byoc_onnx_reader_t *reader, const Onnx__TensorProto *tensor, const char *what,
                                    byoc_dtype_t dtype, int64_t count, void *to);
// The bytes of a tensor that is kept in another file, which stays mapped as long as the module lives.
byoc_status_t byoc_onnx_external_data(byoc_onnx_reader_t *reader, const Onnx__TensorProto *tensor, const char *what,
                                      int64_t size_bytes, const uint8_t **out_data);
// Hands a file view (made by byoc_onnx_keep_view) over to the module.
byoc_status_t byoc_onnx_keep_view(byoc_onnx_reader_t *reader, const byoc_file_view_t *view);

// Whether the type is a map, or a sequence of maps: results of ai.onnx.ml::ZipMap, tensors here.
bool byoc_onnx_holds_maps(const Onnx__TypeProto *type);

// ---- onnx_map.c ----
// An input that is a map becomes two inputs: vectors of keys and values, of one dynamic length.
bool byoc_onnx_is_map(const Onnx__TypeProto *type);
byoc_status_t byoc_onnx_add_map(byoc_onnx_reader_t *reader, const Onnx__ValueInfoProto *input,
                                byoc_onnx_scope_t *scope);
// ---- onnx_default.c ----
// Keeps an input with an initialiser as an optional input, if the options say so; *out_kept is then true. Its name then
// means the run's value, or the initialiser.
byoc_status_t byoc_onnx_keep_input(byoc_onnx_reader_t *reader, const Onnx__ValueInfoProto *input,
                                   byoc_onnx_scope_t *scope, bool *out_kept);

// The operands of a node: two for each map. *out_count is their number.
byoc_status_t byoc_onnx_find_operands(byoc_onnx_reader_t *reader, const byoc_onnx_scope_t *scope,
                                      const Onnx__NodeProto *node, const char *what, size_t input_count,
                                      byoc_value_t ***out_operands, size_t *out_count);

// ---- onnx_type.c ----
// The declared type; *out_type is NULL if there is none. Dynamic dimensions become BYOC_DIM_UNKNOWN of id 0; symbols
// stay symbols (bound ones become constants).
byoc_status_t byoc_onnx_read_type(byoc_onnx_reader_t *reader, const Onnx__TypeProto *type, const char *what,
                                  const byoc_type_t **out_type);
// The type of a model input. Overrides and bindings are applied; open dimensions become symbols "<name>.<axis>".
byoc_status_t byoc_onnx_read_input_type(byoc_onnx_reader_t *reader, const Onnx__ValueInfoProto *input,
                                        const byoc_type_t **out_type);
// Options that refer to nothing in the model are errors.
byoc_status_t byoc_onnx_check_options(byoc_onnx_reader_t *reader);

// ---- onnx_attribute.c ----
// Follows ref_attr_name through the context; NULL if the call leaves the attribute out.
byoc_status_t byoc_onnx_resolve_attribute(byoc_onnx_reader_t *reader, const byoc_onnx_context_t *context,
                                          const Onnx__AttributeProto *attribute, const char *what,
                                          const Onnx__AttributeProto **out_attribute);
// Sets an attribute of any kind except graphs, which the caller handles.
byoc_status_t byoc_onnx_read_attribute(byoc_onnx_reader_t *reader, const Onnx__AttributeProto *attribute,
                                       const char *name, const char *what, byoc_node_t *node);
// The kind of an attribute: its `type`, or, in files older than that field, the kind of its value. Checks that they
// agree.
byoc_status_t byoc_onnx_attribute_kind(byoc_onnx_reader_t *reader, const Onnx__AttributeProto *attribute,
                                       const char *what, Onnx__AttributeProto__AttributeType *out_kind);
// The constant that a Constant node stands for.
byoc_status_t byoc_onnx_read_constant_node(byoc_onnx_reader_t *reader, const byoc_onnx_scope_t *scope,
                                           const Onnx__NodeProto *node, const char *what,
                                           byoc_constant_t **out_constant);

// ---- onnx_order.c ----
// An order in which a graph's nodes can be made: the file's own if it is topological, else the nearest one that is. In
// scratch memory; a cycle is an error.
byoc_status_t byoc_onnx_order_nodes(byoc_onnx_reader_t *reader, Onnx__NodeProto *const *nodes, size_t count,
                                    const size_t **out_order);

// ---- onnx_scope.c ----
byoc_status_t byoc_onnx_scope_init(byoc_onnx_reader_t *reader, byoc_onnx_scope_t *scope, const byoc_onnx_scope_t *outer,
                                   const byoc_onnx_context_t *context, byoc_block_t *block);
// Refuses a name that the scope already has. `kind` is for the message: "input", "initialiser" ...
byoc_status_t byoc_onnx_scope_add(byoc_onnx_reader_t *reader, byoc_onnx_scope_t *scope, const char *name,
                                  const char *kind, byoc_value_t *value, byoc_constant_t *constant);
// The name of a constant of the scope in the module: its own name, after the function's name outside of "main". NULL if
// out of memory.
const char *byoc_onnx_constant_name(byoc_onnx_reader_t *reader, const byoc_block_t *block, const char *name);
// *out_value is NULL for "" and for inputs that a call leaves out.
byoc_status_t byoc_onnx_scope_find(byoc_onnx_reader_t *reader, const byoc_onnx_scope_t *scope, const char *name,
                                   const char *what, byoc_value_t **out_value);

// ---- onnx_graph.c ----
byoc_status_t byoc_onnx_read_main(byoc_onnx_reader_t *reader, const Onnx__GraphProto *graph,
                                  const byoc_onnx_context_t *context);
byoc_status_t byoc_onnx_read_block(byoc_onnx_reader_t *reader, const Onnx__GraphProto *graph,
                                   const byoc_onnx_scope_t *outer, byoc_block_t *block);
byoc_status_t byoc_onnx_read_nodes(byoc_onnx_reader_t *reader, Onnx__NodeProto *const *nodes, size_t count,
                                   byoc_onnx_scope_t *scope);

// ---- onnx_node.c ----
byoc_status_t byoc_onnx_read_node(byoc_onnx_reader_t *reader, const Onnx__NodeProto *node, size_t index,
                                  byoc_onnx_scope_t *scope);

// ---- onnx_coverage.c ----
// The row that a node means; NULL if there is none.
const byoc_op_t *byoc_onnx_find_operator(const byoc_onnx_context_t *context, const Onnx__NodeProto *node);
// Refuses a model with operators that are not known, and names all of them.
byoc_status_t byoc_onnx_check_operators(byoc_onnx_reader_t *reader, const Onnx__ModelProto *model);

// ---- onnx_function.c ----
byoc_status_t byoc_onnx_collect_functions(byoc_onnx_reader_t *reader, const Onnx__ModelProto *model);
// The local function that a node calls; NULL if it is an operator.
byoc_status_t byoc_onnx_find_function(byoc_onnx_reader_t *reader, const Onnx__NodeProto *node,
                                      const Onnx__FunctionProto **out_function);
// Makes the function for this call and the call node.
byoc_status_t byoc_onnx_read_call(byoc_onnx_reader_t *reader, const Onnx__NodeProto *node, const char *what,
                                  const Onnx__FunctionProto *function, byoc_value_t *const *operands,
                                  size_t operand_count, byoc_onnx_scope_t *scope, byoc_node_t **out_call);

// ---- onnx_infer.c ----
// Infers the type of every value of the module, block by block; declarations serve as checks and fill gaps.
byoc_status_t byoc_onnx_infer(byoc_onnx_reader_t *reader);
byoc_status_t byoc_onnx_declare(byoc_onnx_reader_t *reader, byoc_value_t *value, const Onnx__TypeProto *type,
                                const char *what);

// ---- onnx_dim_names.c ----
// Records the file's names of outputs' dimensions in the module, after all types are inferred (core/ir/dim_names.h).
byoc_status_t byoc_onnx_name_output_dims(byoc_onnx_reader_t *reader);

#endif // BYOC_CORE_FRONTEND_ONNX_READER_H_
