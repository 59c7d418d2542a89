// SPDX-License-Identifier: Apache-2.0
// The graph IR: modules of typed dataflow functions. Its text form is described in core/ir/module_text.h.
//
//   module            owns functions, constants and runtime modules; everything lives in its arena
//   └ function        a graph, a kernel (loop level) or an extern
//     └ block         parameters, nodes in topological order, results
//       └ node        an operator or a call; operands, results, attributes, nested blocks
//
// A value knows its uses, so that replacing it needs no search. Builders keep the use lists right; no other code may
// write operands. Only one thread may change a module at a time. Functions that allocate return NULL or false if out of
// memory, and then leave the graph as it was.
#ifndef BYOC_CORE_IR_GRAPH_H_
#define BYOC_CORE_IR_GRAPH_H_

#include "core/base/diag.h"
#include "core/base/file_memory.h"
#include "core/base/vector.h"
#include "core/ir/attribute.h"
#include "core/ir/type.h"

typedef struct byoc_graph_module_t byoc_graph_module_t;
typedef struct byoc_function_t byoc_function_t;
typedef struct byoc_block_t byoc_block_t;
typedef struct byoc_node_t byoc_node_t;
typedef struct byoc_value_t byoc_value_t;
typedef struct byoc_constant_t byoc_constant_t;
struct byoc_loop_kernel_t;    // core/ir/loop.h
struct byoc_runtime_module_t; // core/module/runtime_module.h

// The virtual device of a value. Device planning sets a free field (0, -1 or NULL) later.
typedef struct byoc_virtual_device_t {
  int32_t device_type; // DLPack's DLDeviceType; 0: free
  int32_t device_id;   // -1: free
  const char *target;  // target kind; NULL: free
  const char *scope;   // memory scope, "global" for plain memory; NULL: free
  const char *ranks;   // its sharding over ranks, "tp: 1" (core/pass/spread.h); NULL: free
} byoc_virtual_device_t;
#define BYOC_VIRTUAL_DEVICE_FREE ((byoc_virtual_device_t){0, -1, NULL, NULL, NULL})
bool byoc_virtual_device_equal(const byoc_virtual_device_t *a, const byoc_virtual_device_t *b);
bool byoc_virtual_device_is_free(const byoc_virtual_device_t *device); // all fields are free

// Blocks nested deeper than this below a function's body are refused, so that every walk is bounded.
#define BYOC_MAX_BLOCK_DEPTH 64
// Functions whose calls nest deeper are refused for the same reason. ONNX models may nest half as deep, so that passes
// can outline more.
#define BYOC_MAX_CALL_DEPTH 128

// Tensor data that is known at compile time. It is shared by reference within a module and never changes once made.
struct byoc_constant_t {
  byoc_graph_module_t *module;
  const char *name;        // unique in its module
  const byoc_type_t *type; // static tensor
  const int64_t *dims;     // of the type, as plain numbers
  const void *data; // dense, row-major, aligned to 64 bytes unless it views a mapped file; strings: const char *[]
  size_t size_bytes;
  uint64_t hash;         // of type and content; 0 until it is computed (byoc_constant_hash)
  bool is_read;          // an element was read by its index, so that code may depend on it
  bool is_flushed;       // core/pass/flush_subnormals.c has looked at it
  int64_t flushed_count; // the number of elements that it has made 0
};

typedef enum byoc_value_kind_t {
  BYOC_VALUE_PARAMETER, // of a block
  BYOC_VALUE_RESULT,    // of a node
  BYOC_VALUE_CONSTANT,  // stands for a module constant inside one function
} byoc_value_kind_t;

typedef struct byoc_use_t {
  byoc_node_t *node;   // NULL: a block result
  byoc_block_t *block; // the block whose result it is, if node is NULL
  uint32_t index;      // operand or result index
} byoc_use_t;

struct byoc_value_t {
  byoc_value_kind_t kind;
  uint32_t index;   // parameter or result index
  const char *name; // may be NULL; printing makes it unique
  const byoc_type_t *type;
  byoc_virtual_device_t device;
  byoc_function_t *function;
  byoc_block_t *block;       // PARAMETER: its block
  byoc_node_t *node;         // RESULT: its node
  byoc_constant_t *constant; // CONSTANT
  BYOC_VECTOR(byoc_use_t) uses;
};

struct byoc_node_t {
  uint64_t id;               // unique and rising within its module, in order of creation
  const char *name;          // the model's name for it; "" if it has none
  const char *domain;        // "" is ai.onnx
  const char *op;            // operator name; for calls "call"
  int32_t since_version;     // operator set version that defines it; 0 for calls
  byoc_function_t *callee;   // NULL unless a call
  byoc_function_t *function; // the function it is in
  byoc_block_t *block;
  byoc_node_t *previous, *next;
  byoc_value_t **operands; // NULL if an optional one is left out
  uint32_t operand_count;
  byoc_value_t **results;
  uint32_t result_count;
  byoc_attributes_t attributes;
  byoc_block_t **blocks; // If: then_branch, else_branch; Loop, Scan: body
  const char **block_names;
  uint32_t block_count;
};

struct byoc_block_t {
  byoc_function_t *function;
  byoc_node_t *owner; // NULL: the function's body
  BYOC_VECTOR(byoc_value_t *) parameters;
  byoc_node_t *first, *last;
  size_t node_count;
  BYOC_VECTOR(byoc_value_t *) results;
  BYOC_VECTOR(const char *) result_names; // parallel to results
};

typedef enum byoc_function_kind_t {
  BYOC_FUNCTION_GRAPH,
  BYOC_FUNCTION_KERNEL, // loop level: `kernel` is its body, `body` its signature
  BYOC_FUNCTION_EXTERN, // compiled elsewhere: `body` keeps the signature and the retained body
} byoc_function_kind_t;

struct byoc_function_t {
  byoc_graph_module_t *module;
  const char *name; // unique in its module
  byoc_function_kind_t kind;
  byoc_attributes_t attributes; // Compiler, Composite, Primitive, Inline, Extern, global_symbol ...
  byoc_block_t *body;
  struct byoc_loop_kernel_t *kernel;
  byoc_map_t constants; // pointer map: byoc_constant_t * → byoc_value_t *, in order of first use
};

// The vectors and the two name maps use `allocator`; everything else lives in `arena`.
struct byoc_graph_module_t {
  byoc_allocator_t allocator;
  byoc_arena_t arena;
  BYOC_VECTOR(byoc_function_t *) functions; // stable order
  byoc_map_t *scope;                        // pointer map: functions that passes work on, new ones included; NULL: all
  byoc_map_t function_names;                // text map → byoc_function_t *
  BYOC_VECTOR(byoc_constant_t *) constants;
  byoc_map_t constant_names;                                      // text map → byoc_constant_t *
  BYOC_VECTOR(struct byoc_runtime_module_t *) runtime_modules;    // retained; in order of production
  void (*release_runtime_module)(struct byoc_runtime_module_t *); // set by core/module when the first one is added
  BYOC_VECTOR(byoc_file_view_t) mappings;                         // files that constants point into
  byoc_file_memory_t *file_memory; // of large constants (core/ir/constant_memory.c); NULL: there is none yet
  uint64_t constant_bytes;         // of constants that are not in files
  uint64_t touched_bytes;          // of large constants since their pages were dropped
  byoc_attributes_t attributes;    // opset_import.<domain>, model name, producer ...
  uint64_t next_id;
  bool is_being_lowered; // dimensions become no more precise: inference may assume relations that the run checks
  bool stacks_on_host;   // values that a Loop stacks are in the host's memory
  bool is_unfused;       // a kernel for each operator that no backend takes: `c -fuse=0`
  int32_t vector_bytes;  // of the vector registers of `c -mcpu`; 0: not known
  bool bytes_as_floats;  // `c -mcpu` has no instruction for products of bytes
  bool is_lowered;       // no rule is asked any more; the two lines above are known
  bool has_fold_budget;  // folding has begun, and may make fold_budget_bytes more (core/pass/fold_constants.c)
  int64_t fold_budget_bytes;
};

// ---- modules ----
byoc_status_t byoc_graph_module_create(byoc_allocator_t allocator, byoc_diag_t *diag, byoc_graph_module_t **out_module);
void byoc_graph_module_destroy(byoc_graph_module_t *module); // accepts NULL
byoc_function_t *byoc_graph_module_find(const byoc_graph_module_t *module, const char *name);
// Large constants are in mapped files: the model's own, and a file without a name for constants that passes make. Code
// that has read the bytes of a constant reports it here. After many bytes, the pages of all constants are dropped from
// this process's memory (not from the files), so that it never holds the whole model. Memory for a large constant in
// the file without a name, at the beginning of a page. NULL if the constant is not large, if the module's constants are
// small enough for memory, or if the disk is full. Then the caller allocates it, and its bytes are counted.
void *byoc_graph_module_take_file_memory(byoc_graph_module_t *module, uint64_t size_bytes);
void byoc_graph_module_touched(byoc_graph_module_t *module, uint64_t size_bytes);
// Copies the bytes of a constant in pieces and reports them, so that neither copy is in memory as a whole if it is in a
// file.
void byoc_graph_module_copy(byoc_graph_module_t *module, void *to, const void *from, size_t size_bytes);
void byoc_graph_module_forget_pages(const byoc_graph_module_t *module);
byoc_constant_t *byoc_graph_module_find_constant(const byoc_graph_module_t *module, const char *name);
// The function named "main", or else the first one; NULL in an empty module.
byoc_function_t *byoc_graph_module_main(const byoc_graph_module_t *module);
// Do passes currently work on the function?
bool byoc_function_is_in_scope(const byoc_function_t *function);
// The next function in scope, starting at *index, which is moved beyond it; NULL at the end.
byoc_function_t *byoc_graph_module_next(const byoc_graph_module_t *module, size_t *index);
// Visits the functions in scope, including those that the loop adds; it must not erase any.
#define BYOC_FOR_EACH_FUNCTION(name, module)                                                                           \
  for (size_t name##_index = 0, name##_ends = 0; name##_ends == 0; name##_ends = 1)                                    \
    for (byoc_function_t * name; (name = byoc_graph_module_next((module), &name##_index)) != NULL;)
// Erases the functions for which `keeps` returns false.
void byoc_graph_module_keep_functions(byoc_graph_module_t *module, bool (*keeps)(void *self, const byoc_function_t *),
                                      void *self);
void byoc_graph_module_drop_runtime_modules(byoc_graph_module_t *module);
// `name`, or name_1, name_2 ...: the first one that no function or constant has. In the module's arena.
const char *byoc_graph_module_unique_name(byoc_graph_module_t *module, const char *name);

// ---- constants ----
// Copies the data. NULL if out of memory. The name is made unique.
byoc_constant_t *byoc_constant_create(byoc_graph_module_t *module, const char *name, const byoc_type_t *type,
                                      const void *data);
// Uses the data in place: it must live as long as the module.
byoc_constant_t *byoc_constant_wrap(byoc_graph_module_t *module, const char *name, const byoc_type_t *type,
                                    const void *data);
// Makes an uninitialised constant; the caller fills its data (not const yet) before anybody reads it.
byoc_constant_t *byoc_constant_allocate(byoc_graph_module_t *module, const char *name, const byoc_type_t *type,
                                        void **out_data);
// Replaces the numbers of a constant by a copy of `data`, before code was made of it. False if out of memory.
bool byoc_constant_assign(byoc_constant_t *constant, const void *data);
// The same with a copy of its own numbers, which the caller may change; NULL if out of memory.
void *byoc_constant_change(byoc_constant_t *constant);
uint64_t byoc_constant_hash(byoc_constant_t *constant);
bool byoc_constant_equal(byoc_constant_t *a, byoc_constant_t *b); // type and content
// Element `index` as a number; integers beyond 2^53 are exact only through _int.
double byoc_constant_element_f64(const byoc_constant_t *constant, int64_t index);
int64_t byoc_constant_element_i64(const byoc_constant_t *constant, int64_t index);
// The number in a constant value with exactly one element, of any rank; false for all other values.
bool byoc_value_scalar_f64(const byoc_value_t *value, double *out_number);
bool byoc_value_scalar_i64(const byoc_value_t *value, int64_t *out_number);

// ---- functions ----
// An empty graph function; NULL if out of memory. The name must not be taken (BYOC_ASSERTed).
byoc_function_t *byoc_function_create(byoc_graph_module_t *module, const char *name);
// Removes an unreferenced function from its module.
void byoc_function_erase(byoc_function_t *function);
bool byoc_function_rename(byoc_function_t *function, const char *name);
// A copy under a new name in the same module, with nested blocks, attributes and values of constants.
byoc_function_t *byoc_function_clone(byoc_function_t *function, const char *name);
// The value that stands for a constant in this function (one per constant).
byoc_value_t *byoc_function_constant(byoc_function_t *function, byoc_constant_t *constant);
bool byoc_function_has_flag(const byoc_function_t *function, const char *attribute); // an int attribute that is not 0
bool byoc_function_is_region(const byoc_function_t *function); // outlined for a backend: has the attribute "Compiler"
// Do its nodes still need a target? True for a graph that is neither a region nor a composite.
bool byoc_function_is_open(const byoc_function_t *function);
// Gives a function whose body is not known results of these types: one node "byoc::Opaque@1" over all parameters. The
// text form leaves it out. False if out of memory.
bool byoc_function_set_opaque_body(byoc_function_t *function, const char *const *result_names,
                                   const byoc_type_t *const *result_types, uint32_t result_count);
bool byoc_function_is_opaque(const byoc_function_t *function);

// ---- blocks ----
byoc_value_t *byoc_block_add_parameter(byoc_block_t *block, const char *name, const byoc_type_t *type);
bool byoc_block_add_result(byoc_block_t *block, const char *name, byoc_value_t *value);
// False if out of memory (the old result is kept), as for operands below.
bool byoc_block_set_result(byoc_block_t *block, uint32_t index, byoc_value_t *value);
void byoc_block_remove_result(byoc_block_t *block, uint32_t index);
// Blocks between this one and its function's body: 0 for the body itself.
uint32_t byoc_block_depth(const byoc_block_t *block);

// ---- nodes ----
// Appends (or, with `before`, inserts) a node. Operands may hold NULL for omitted ones. Results get unknown types and
// no names. NULL if out of memory.
byoc_node_t *byoc_node_create(byoc_block_t *block, byoc_node_t *before, const char *domain, const char *op,
                              int32_t since_version, byoc_value_t *const *operands, uint32_t operand_count,
                              uint32_t result_count);
byoc_node_t *byoc_node_create_call(byoc_block_t *block, byoc_node_t *before, byoc_function_t *callee,
                                   byoc_value_t *const *operands, uint32_t operand_count);
bool byoc_node_set_name(byoc_node_t *node, const char *name); // copied; if out of memory, the old one stays
// Adds a nested block; "then_branch" and so on. NULL also if it would be nested deeper than BYOC_MAX_BLOCK_DEPTH.
byoc_block_t *byoc_node_add_block(byoc_node_t *node, const char *name);
byoc_block_t *byoc_node_find_block(const byoc_node_t *node, const char *name);
// The value may be NULL. False if out of memory (the old operand is kept).
bool byoc_node_set_operand(byoc_node_t *node, uint32_t index, byoc_value_t *value);
bool byoc_node_set_operands(byoc_node_t *node, byoc_value_t *const *operands, uint32_t count);
// Adds one more result of unknown type.
byoc_value_t *byoc_node_add_result(byoc_node_t *node);
// Unlinks a node whose results are unused, nested blocks included (memory stays in the arena).
void byoc_node_erase(byoc_node_t *node);
// Moves a node before another one of the same function, or to the end of `block` if `before` is NULL.
void byoc_node_move(byoc_node_t *node, byoc_block_t *block, byoc_node_t *before);
// A copy with operands and nested blocks. `map` (pointer map: old value → new value, updated) translates operands;
// values that are not in it are used as they are. The function of `block` gets its own values for constants. If out of
// memory, the graph is unchanged, but `map` may hold values of the abandoned copy.
byoc_node_t *byoc_node_clone(const byoc_node_t *node, byoc_block_t *block, byoc_node_t *before, byoc_map_t *map);
bool byoc_node_is(const byoc_node_t *node, const char *domain, const char *op);
static inline bool byoc_node_is_onnx(const byoc_node_t *node, const char *op) {
  return byoc_node_is(node, "", op);
}
// "Conv 'conv1' (ai.onnx 11)" for messages.
void byoc_node_describe(const byoc_node_t *node, char *buffer, size_t size);

// ---- values ----
// Every use of `value` becomes a use of `by` (block results included). False if out of memory (nothing is changed).
bool byoc_value_replace_uses(byoc_value_t *value, byoc_value_t *by);
void byoc_value_set_name(byoc_value_t *value, const char *name); // copied; if out of memory, the old one stays
static inline bool byoc_value_is_constant(const byoc_value_t *value) {
  return value && value->kind == BYOC_VALUE_CONSTANT;
}
// The node that produces the value; NULL for parameters and constants.
static inline byoc_node_t *byoc_value_producer(const byoc_value_t *value) {
  return value && value->kind == BYOC_VALUE_RESULT ? value->node : NULL;
}
bool byoc_value_is_block_result(const byoc_value_t *value);

// ---- order ----
// Walks the nodes of a block and of the blocks nested in it, in order; stops and returns false when `visit` does.
bool byoc_block_walk(byoc_block_t *block, bool (*visit)(void *self, byoc_node_t *node), void *self);
// Sorts the nodes of a block (nested ones too) topologically; the order is stable where it is free. BYOC_INVALID_DATA,
// naming a node on it, if there is a cycle.
byoc_status_t byoc_block_sort(byoc_block_t *block, byoc_diag_t *diag);

#define BYOC_FOR_EACH_NODE(node, block) for (byoc_node_t *node = (block)->first; node != NULL; node = node->next)
// The walk goes on if the body erases `node`.
#define BYOC_FOR_EACH_NODE_SAFE(node, block)                                                                           \
  for (byoc_node_t *node = (block)->first, *byoc_next_ = node ? node->next : NULL; node != NULL;                       \
       node = byoc_next_, byoc_next_ = node ? node->next : NULL)

#endif // BYOC_CORE_IR_GRAPH_H_
