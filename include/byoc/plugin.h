// SPDX-License-Identifier: Apache-2.0
// byoc/plugin.h - the interface between a backend plugin and the host.
//
// Example:
//   #include "byoc/plugin.h"
//   BYOC_PLUGIN_IDENTITY("demo", "1.0", "demo", "One line about it");
//
//   int32_t generate(void *self, byoc_codegen_t *codegen); // in another file: binds every function of codegen
//   static const byoc_rule_t rules[] = {
//       {.header = BYOC_HEADER(byoc_rule_t, 1), .name = "demo.relu", .pattern = "Relu(%x)"}};
//   static const byoc_backend_t backend = {.header = BYOC_HEADER(byoc_backend_t, 1),
//                                          .target = "demo",
//                                          .rules = rules,
//                                          .rule_count = 1,
//                                          .rule_stride = sizeof(rules[0]),
//                                          .generate = generate};
//   BYOC_PLUGIN_EXPORT int32_t byoc_plugin_query(const byoc_host_t *host, byoc_plugin_t *out_plugin) {
//     static const byoc_backend_t *const backends[] = {&backend};
//     out_plugin->backends = backends, out_plugin->backend_count = 1;
//     return BYOC_OK;
//   }
//
// A plugin is a shared object that exports byoc_plugin_query and nothing else, carries the identity note, and links to
// libc only (and to libraries of its own choice). It reaches everything of the host through the tables below. It is
// loaded with RTLD_NOW | RTLD_LOCAL.
//
// Versions. The plugin's major number must be equal to the host's. A plugin states the smallest minor it needs; the
// effective minor is the smaller of the two sides' minors and may be read from the host table. Structs start with their
// size: a reader takes as many bytes as both sides know and treats the rest as zero. Arrays of structs come with a
// stride. Additions appear at the end of a struct or in a new table of host->extension(). byoc/abi.def lists every
// struct with its layout, and which fields are required: the host refuses a struct without one of them by name.
// docs/abi.md (share/doc/byoc/abi.md) explains what may change in a patch, a minor and a major version, and how a
// plugin serves older hosts.
//
// Ownership. Strings and data that a plugin gives to the host are copied before the call returns, unless a comment says
// otherwise. Views that the host hands out live until the hook (query, accept, generate ...) that got them returns. A
// plugin may allocate its own memory in any way; host->resize is one.
//
// Threads. The host calls one hook of a backend at a time. Backends flagged BYOC_BACKEND_REENTRANT may get `accept`
// calls from several threads at once, and those flagged BYOC_BACKEND_GENERATES_AT_ONCE calls of `generate` and
// `generate_function`. Host tables may be used only from the thread that runs the hook.
//
// Errors. A hook returns a byoc_status_t. Before it returns anything but BYOC_OK, it reports the reason with the error
// call of the handle that it was given. A plugin does not exit, print, install signal handlers, or change locale,
// working folder, environment, umask or floating-point mode. If a hook does one of these, crashes, throws a C++
// exception, or runs longer than BYOC_HOOK_TIMEOUT seconds (300) without a call of the host, byoc ends with exit code 1
// and a message that names the hook. Only logging, progress, answers, edits and services count as such calls, not reads
// of the graph and allocations. A search for the cheapest plan leaves out the candidate of such a generate hook, and
// does without the costs of such a state_costs or state_target_costs hook. Each plan does without the claims of such a
// partition hook.
#ifndef BYOC_PLUGIN_H_
#define BYOC_PLUGIN_H_

#include <stddef.h>
#include <stdint.h>

#include "byoc/call.h"
#include "byoc/dtype.h"
#include "byoc/engine.h"
#include "byoc/status.h"

#ifdef __cplusplus
extern "C" {
#endif

#define BYOC_ABI_MAJOR 1
#define BYOC_ABI_MINOR 5

// Every struct that crosses the boundary starts with these two.
typedef struct byoc_header_t {
  uint32_t struct_size;    // sizeof of the struct on the side that filled it
  uint32_t struct_version; // 1; rises only when the meaning of a field changes
} byoc_header_t;
#ifdef __cplusplus
#define BYOC_HEADER(type, version)                                                                                     \
  byoc_header_t {                                                                                                      \
    sizeof(type), version                                                                                              \
  }
#else
#define BYOC_HEADER(type, version)                                                                                     \
  { sizeof(type), version }
#endif

// Handles. They are opaque here, and all belong to the host.
typedef struct byoc_graph_module_t byoc_graph_module_t; // a module of functions
typedef struct byoc_function_t byoc_function_t;         // parameters, nodes, results, attributes
typedef struct byoc_node_t byoc_node_t;                 // an operator, or a call of a function
typedef struct byoc_value_t byoc_value_t;               // a parameter, a node's result, or a constant
typedef struct byoc_target_t byoc_target_t;             // a target with its options
typedef struct byoc_region_t byoc_region_t;             // nodes that a rule matched
typedef struct byoc_codegen_t byoc_codegen_t;           // one run of a backend's generate hook

// ---------------------------------------------------------------------------------------------------------------------
// Identity: an ELF note that the host reads before it runs any code of the plugin.

#define BYOC_PLUGIN_NOTE_OWNER "byoc"
#define BYOC_PLUGIN_NOTE_TYPE  1

// The note's descriptor. Strings are NUL-terminated within their arrays.
typedef struct byoc_plugin_note_t {
  uint32_t struct_size;
  uint32_t abi_major;
  uint32_t abi_minor_built;  // BYOC_ABI_MINOR of the headers that the plugin was built with
  uint32_t abi_minor_needed; // the smallest host minor that it runs with
  char name[32];             // plugin name: letters, digits, '_' and '-'
  char version[32];
  char targets[128]; // target kinds, comma-separated; "" for a plugin with operators only
  char description[120];
} byoc_plugin_note_t;

typedef struct byoc_plugin_elf_note_t {
  uint32_t name_size, descriptor_size, type;
  char owner[8];
  byoc_plugin_note_t descriptor;
} byoc_plugin_elf_note_t;

// One per plugin, at file scope in one C or C++ file. `_NEEDS` states a smallest minor other than 0.
#define BYOC_PLUGIN_IDENTITY(plugin_name, plugin_version, plugin_targets, plugin_description)                          \
  BYOC_PLUGIN_IDENTITY_NEEDS(plugin_name, plugin_version, plugin_targets, plugin_description, 0)
#define BYOC_PLUGIN_IDENTITY_NEEDS(plugin_name, plugin_version, plugin_targets, plugin_description, minor_needed)      \
  __attribute__((used, aligned(4),                                                                                     \
                 section(".note.byoc"))) static const byoc_plugin_elf_note_t byoc_plugin_identity = {                  \
      sizeof(BYOC_PLUGIN_NOTE_OWNER),                                                                                  \
      sizeof(byoc_plugin_note_t),                                                                                      \
      BYOC_PLUGIN_NOTE_TYPE,                                                                                           \
      BYOC_PLUGIN_NOTE_OWNER,                                                                                          \
      {sizeof(byoc_plugin_note_t), BYOC_ABI_MAJOR, BYOC_ABI_MINOR, minor_needed, plugin_name, plugin_version,          \
       plugin_targets, plugin_description}}

// ---------------------------------------------------------------------------------------------------------------------
// Data in both directions.

// A dense row-major tensor.
typedef struct byoc_tensor_data_t {
  byoc_header_t header;
  uint32_t dtype; // BYOC_DTYPE_*
  uint32_t rank;
  const int64_t *dims; // `rank` of them, in elements
  const void *data;
  uint64_t size_bytes;
} byoc_tensor_data_t;

// A file's content, by bytes or by path (the host reads it at once). Exactly one of the two is given.
typedef struct byoc_file_content_t {
  byoc_header_t header;
  const char *name; // base name for messages and, for blobs, for the engine: "libfoo.a"
  const char *path; // NULL if bytes are given
  const void *data; // NULL if a path is given
  uint64_t size_bytes;
} byoc_file_content_t;

// One string of a list.
typedef struct byoc_text_list_t {
  const char *const *items;
  uint64_t count;
} byoc_text_list_t;

// ---------------------------------------------------------------------------------------------------------------------
// Targets and their options.

enum {
  BYOC_OPTION_INT = 1,    // -tune_trials=32; range minimum .. maximum
  BYOC_OPTION_FLOAT = 2,  // -ratio=0.5; range minimum_f64 .. maximum_f64
  BYOC_OPTION_BOOL = 3,   // -fast=1, -fast=0, -fast=true, -fast=false, -fast alone
  BYOC_OPTION_STRING = 4, // any string, at most maximum bytes (0: 4096)
  BYOC_OPTION_CHOICE = 5, // one of `choices`
  // Since minor 4. An instruction set: "native" (the default if default_value is NULL), or words of byoc/isa.def joined
  // by '+'. The words are the same for every target; codegen->option_cpu_features returns their features. If a user
  // names several processors, joined by ',', a target gets the one of the present build.
  BYOC_OPTION_CPU = 6,
  // Since minor 5. One of `choices`, each a precision that the target can compute in; the default is that of the
  // operators' types. If a user allows an error (byoc build --error), the host offers every precision of a target whose
  // option was not given as a target of its own, and chooses one for each region. The hook relative_error says which of
  // them are exact. At most one option of a target has this type.
  BYOC_OPTION_PRECISION = 7,
};

typedef struct byoc_option_t {
  byoc_header_t header;
  const char *name; // without the leading '-'
  uint32_t type;    // BYOC_OPTION_*
  uint32_t reserved;
  const char *default_value; // as a user would write it; NULL: "", 0 or false
  int64_t minimum, maximum;  // INT; both 0: any
  double minimum_f64, maximum_f64;
  const char *choices; // CHOICE, PRECISION: "bundle|system"
  const char *help;    // one line, no full stop
} byoc_option_t;

typedef struct byoc_target_api_t {
  byoc_header_t header;
  const char *(*kind)(const byoc_target_t *target); // "cutlass"
  // The whole target as it was given, with defaults filled in and options in schema order: "cutlass -mcpu=avx2 -O3".
  const char *(*text)(const byoc_target_t *target);
  // The option's value or its default. An undeclared name, or another type, gives 0, 0.0 or "".
  int64_t (*option_int)(const byoc_target_t *target, const char *name); // INT and BOOL
  double (*option_float)(const byoc_target_t *target, const char *name);
  const char *(*option_string)(const byoc_target_t *target, const char *name); // STRING, CHOICE, CPU and PRECISION
  // Since minor 5. 1 if every processor that the option of type CPU stands for has these features, separated by spaces,
  // and is of this maker, as CPUID names it ("AuthenticAMD"; "": any maker); else 0. Only "native" stands for
  // processors of one maker.
  int32_t (*option_cpu_has)(const byoc_target_t *target, const char *name, const char *features, const char *vendor);
} byoc_target_api_t;

// ---------------------------------------------------------------------------------------------------------------------
// Reading the graph. These calls change nothing; indices out of range and wrong kinds give NULL, 0 or the fallback.

typedef struct byoc_graph_api_t {
  byoc_header_t header;

  uint64_t (*function_count)(const byoc_graph_module_t *module);
  byoc_function_t *(*function_at)(const byoc_graph_module_t *module, uint64_t index);
  byoc_function_t *(*function_find)(const byoc_graph_module_t *module, const char *name);

  const char *(*function_name)(const byoc_function_t *function);
  // The symbol that the artifact will call: valid in C, unique in the artifact.
  const char *(*function_symbol)(const byoc_function_t *function);
  const char *(*function_string)(const byoc_function_t *function, const char *attribute, const char *fallback);
  int64_t (*function_int)(const byoc_function_t *function, const char *attribute, int64_t fallback);
  uint64_t (*parameter_count)(const byoc_function_t *function);
  byoc_value_t *(*parameter)(const byoc_function_t *function, uint64_t index);
  uint64_t (*result_count)(const byoc_function_t *function);
  byoc_value_t *(*result)(const byoc_function_t *function, uint64_t index);
  uint64_t (*node_count)(const byoc_function_t *function);
  byoc_node_t *(*node_at)(const byoc_function_t *function, uint64_t index); // topological order

  uint64_t (*node_id)(const byoc_node_t *node);          // unique in its module
  const char *(*node_name)(const byoc_node_t *node);     // the model's name; may be ""
  const char *(*node_domain)(const byoc_node_t *node);   // "" is ai.onnx
  const char *(*node_operator)(const byoc_node_t *node); // "Conv"; "call" for a call
  int32_t (*node_since_version)(const byoc_node_t *node);
  byoc_function_t *(*node_callee)(const byoc_node_t *node); // NULL unless a call
  uint64_t (*operand_count)(const byoc_node_t *node);
  byoc_value_t *(*operand)(const byoc_node_t *node, uint64_t index); // NULL if left out
  uint64_t (*node_result_count)(const byoc_node_t *node);
  byoc_value_t *(*node_result)(const byoc_node_t *node, uint64_t index);
  uint64_t (*node_block_count)(const byoc_node_t *node); // nested blocks: If, Loop, Scan

  int32_t (*has_attribute)(const byoc_node_t *node, const char *name);
  int64_t (*attribute_int)(const byoc_node_t *node, const char *name, int64_t fallback);
  double (*attribute_float)(const byoc_node_t *node, const char *name, double fallback);
  const char *(*attribute_string)(const byoc_node_t *node, const char *name, const char *fallback);
  const int64_t *(*attribute_ints)(const byoc_node_t *node, const char *name, uint64_t *out_count);
  const double *(*attribute_floats)(const byoc_node_t *node, const char *name, uint64_t *out_count);

  const char *(*value_name)(const byoc_value_t *value);
  uint32_t (*value_dtype)(const byoc_value_t *value);            // BYOC_DTYPE_NONE unless a tensor
  int32_t (*value_rank)(const byoc_value_t *value);              // -1 if unknown
  int64_t (*value_dim)(const byoc_value_t *value, int32_t axis); // -1 if not constant
  int64_t (*value_element_count)(const byoc_value_t *value);     // -1 if not static
  byoc_node_t *(*value_producer)(const byoc_value_t *value);     // NULL for parameters and constants
  uint64_t (*value_use_count)(const byoc_value_t *value);
  byoc_node_t *(*value_user)(const byoc_value_t *value, uint64_t index); // NULL: a function result
  // The index among the function's parameters, or -1.
  int64_t (*value_parameter_index)(const byoc_value_t *value);
  // Fills *out_data and returns 1 for a constant; returns 0 otherwise. The data lives as long as the module.
  int32_t (*value_constant)(const byoc_value_t *value, byoc_tensor_data_t *out_data);

  // Since minor 4. The node's attribute, or else the default of its operator (`byoc ops NAME` shows the defaults). 0 or
  // NULL if there is neither, or if the attribute is of another kind. Inference has already refused attributes that the
  // operator does not have.
  int64_t (*node_int)(const byoc_node_t *node, const char *name);
  double (*node_float)(const byoc_node_t *node, const char *name);
  const char *(*node_text)(const byoc_node_t *node, const char *name);
  // Since minor 4. 1 if the node's operator has the trait of that name in `byoc ops`: "elementwise", "moves", ...
  int32_t (*node_has_trait)(const byoc_node_t *node, const char *trait);
  // Since minor 5. 1 if the two dimensions are equal in every run: the same constant, or the same dynamic size
  // (value_dim is -1 for both then). 0 if they may differ, and for an axis that a value does not have.
  int32_t (*value_dims_equal)(const byoc_value_t *a, int32_t axis_a, const byoc_value_t *b, int32_t axis_b);
} byoc_graph_api_t;

// ---------------------------------------------------------------------------------------------------------------------
// Rules: the parts of a graph that a backend can claim.

// The view of `accept`. For a pattern rule the region is the whole match; for a group rule it is one node. The nodes
// are those of the model: the graph table reads their neighbours (value_producer, value_user) too.
typedef struct byoc_region_api_t {
  byoc_header_t header;
  const byoc_target_t *(*target)(const byoc_region_t *region);
  uint64_t (*node_count)(const byoc_region_t *region);
  byoc_node_t *(*node_at)(const byoc_region_t *region, uint64_t index); // topological order
  // The node or value that a name in the pattern is bound to: "conv:Conv(%x, @w)" binds a node "conv" and values "x"
  // and "w". NULL if an optional part did not match.
  byoc_node_t *(*node)(const byoc_region_t *region, const char *name);
  byoc_value_t *(*value)(const byoc_region_t *region, const char *name);
  // Records why the backend declines the region, for byoc explain; copied at once. Returns 0, for `return
  // api->decline(...)`.
  int32_t (*decline)(byoc_region_t *region, const char *reason);
} byoc_region_api_t;

enum {
  // The nodes of a match or group and those of its neighbours may become one function (without it: one function per
  // match).
  BYOC_RULE_MERGE = 1,
  // Constants become parameters of the function instead of travelling in its body.
  BYOC_RULE_PASS_CONSTANTS = 2,
  // Since minor 5. Matches of the rule may be slower than other targets' code: only plans by cost, and saved plans, may
  // use it. Greedy placement, which knows no costs, ignores it.
  BYOC_RULE_BY_COST = 4,
};

// Attributes of the functions that the host makes of nodes that a target claims: strings, for function_string.
#define BYOC_ATTRIBUTE_COMPILER  "Compiler"  // the target
#define BYOC_ATTRIBUTE_COMPOSITE "Composite" // the name of the pattern rule

// Rules see the model after simplification: constants are folded, operators with several spellings have one, batch
// normalisation is a part of the convolution before it. `byoc ops --after-simplify MODEL` lists the remaining
// operators.
//
// Pattern text. It is matched from its root against a node; earlier rows of this table are tried first:
//   %x          any value; a name used twice means the same value            _    any value, unnamed
//   @w          a constant                                                   @    a constant, unnamed
//   Conv(...)   an operator of ai.onnx; domain::Op for others; trailing operands not written are refused unless `...`
//   Op?(p, ...) optional: the operator, or just its first operand's pattern
//   {A|B}(...)  one of several operators; {A|B}?(...) optional
//   (p | q)     alternatives
//   n:Conv(...) names the node
//   Split(...)#1  the operator's second result; Split(...) alone is its first, #_ any of them (since minor 4). Every
//                 result of a match's last operator may be used outside, so #1 there only says that it has a second.
//   Conv[group=1, auto_pad="NOTSET"](...)  attribute tests, against the default if the node has no such attribute
//   Transpose[perm=[1, 0]](...)  a test of a whole list, of numbers or of strings; a list that the node leaves out
//   counts
//                                as what the operator does then: strides of 1, pads of 0, dimensions reversed (since
//                                minor 5)
//   %x<f32>  @w<f32|f16, 4>  _<_, 2>  Conv<f32>(...)  tests of element type and rank; for an operator, those of its
//                                                 matched result (since minor 1)
//   p <~ path <~ q  p (an operator) dominates q: the result of q reaches p directly or through any number of nodes that
//                   match `path` (operators over _, @ and ..., without names), which may branch and join; all uses of
//                   q lead to p. Add(...) <~ {Relu|Mul|Add}(...) <~ Conv(%x, @w)  (since minor 1)
// The operands of a commutative operator are tried in both orders. A match is rejected if one of its inner values is
// used outside it. Each way to match optional operators and alternatives is a candidate; greedy placement takes the
// first one that is accepted, and prefers to take an optional operator rather than leave it out.
//
// Blocked layouts. byoc::ToBlocked(x) moves blocks of 16 channels innermost, [N,C,H,W] to [N,C/16,H,W,16];
// byoc::FromBlocked is the inverse. If a rule in the build names one of them, the host puts such pairs between
// operators, and a backend that has them in its regions reads and writes blocked tensors:
// byoc::ToBlocked?(Relu?(Conv(byoc::FromBlocked?(%x), @w))).
//
// Functions of matches. Each match of a pattern rule becomes a function with the attributes Compiler (the target) and
// Composite (the rule's name), whose body holds the matched nodes. With BYOC_RULE_MERGE, neighbouring matches become
// one function whose nodes are calls of such Composite functions. A group becomes a function with the attribute
// Compiler and the nodes as they are. Constants are in the body (value_constant) unless the rule says otherwise. If a
// Composite function is called, its body holds only the constants that its pattern matches by @; the others are in the
// function around it and are passed. A value that is used twice is one parameter. Parameters and results have static
// types unless those of the model are dynamic: then value_dim is -1 for a dynamic dimension, value_element_count is -1,
// value_dims_equal compares dimensions, and a kernel reads the shapes of its call (byoc/call.h).
typedef struct byoc_rule_t {
  byoc_header_t header;
  const char *name;    // "<target>.<what>"; becomes the Composite attribute of pattern matches
  const char *pattern; // NULL for a group rule
  // Group rule: any connected group of nodes with these operators ("Conv", "domain::Op"); each node is accepted by
  // itself.
  byoc_text_list_t operators;
  // The largest number of nodes in a group, or in the function that merges neighbours (the smallest limit of all rules
  // that take part); 0: no limit.
  uint32_t max_nodes;
  uint32_t flags; // BYOC_RULE_*
  // Returns 1 if the backend takes the region, else 0 (after `decline`); anything else is an error. NULL: always 1. May
  // be called several times for one region.
  int32_t (*accept)(void *self, byoc_region_t *region);
} byoc_rule_t;

// ---------------------------------------------------------------------------------------------------------------------
// Generating code.

// The call of a function by the packed convention (byoc/call.h): the inputs are the function's parameters, then
// `constants`; the outputs are its results.
typedef struct byoc_packed_binding_t {
  byoc_header_t header;
  const char *symbol;            // NULL: the function's own symbol
  uint64_t workspace_size_bytes; // scratch memory for each call
  const byoc_tensor_data_t *constants;
  uint32_t constant_count;
  uint32_t constant_stride; // sizeof(byoc_tensor_data_t)
} byoc_packed_binding_t;

// C source that the host compiles with this module's own compiler and flags.
typedef struct byoc_c_source_t {
  byoc_header_t header;
  const char *name;         // of the translation unit, for messages and --emit=c: "cutlass_0"
  const char *source;       // NUL-terminated; "byoc/call.h" can be included
  const char *compiler;     // program; NULL: the compiler of the host
  byoc_text_list_t flags;   // "-O3", "-mavx2"; position-independence and hidden visibility are added
  byoc_text_list_t symbols; // global symbols that it defines; checked against the object
} byoc_c_source_t;

// Objects or archives, linked as they are. Their symbols are local to the module: another module of the artifact may
// have different symbols with the same names. Without files it stands for shared libraries: then `needed` is not empty,
// and one of those libraries defines the symbols (since minor 4).
typedef struct byoc_static_library_t {
  byoc_header_t header;
  const char *name;
  const byoc_file_content_t *files; // .o or .a
  uint32_t file_count;
  uint32_t file_stride;
  byoc_text_list_t symbols; // those that functions are bound to; checked against the objects
  byoc_text_list_t needed;  // shared libraries that stay outside: "libfoo.so.1" becomes a NEEDED entry
  // The name, among the symbols, of a function int32_t setup(const byoc_runtime_t *), which runs once per context
  // before its first call; NULL: none.
  const char *setup_symbol;
  // Gives the evaluator a dlopen handle in which dlsym finds the symbols without a linker (the plugin closes it at
  // destroy). NULL: the files are linked into a temporary shared object.
  int32_t (*open_in_process)(void *self, const byoc_runtime_t *runtime, void **out_handle);
  // Since minor 4. Folders that hold needed libraries, beside the system's: whole paths, or paths that begin with
  // "$ORIGIN", the artifact's own folder. The loader of the artifact looks in all of them. A build looks in those
  // with whole paths only, because the artifact's folder is not known yet.
  byoc_text_list_t search;
} byoc_static_library_t;

// A JSON engine; added once for all functions that use it.
typedef struct byoc_engine_module_t {
  byoc_header_t header;
  const char *name;                 // JSON modules refer to it by this name
  const char *symbol;               // of the byoc_engine_t in `files`
  const byoc_file_content_t *files; // archives
  uint32_t file_count;              // since minor 5, 0 if the backend announces the code (byoc_runtime_code_t)
  uint32_t file_stride;
  const byoc_file_content_t *blobs; // files that travel inside the artifact; the engine gets them in this order
  uint32_t blob_count;
  uint32_t blob_stride;
  byoc_text_list_t needed;         // shared libraries that stay outside
  const byoc_engine_t *in_process; // the same engine for the evaluator; lives as long as the plugin is loaded
  // Since minor 5. What the blobs fit, as in byoc_json_module_t.
  const char *fits;
} byoc_engine_module_t;

// One function that an engine runs.
typedef struct byoc_json_module_t {
  byoc_header_t header;
  const char *engine; // its name
  const char *json;   // NUL-terminated UTF-8
  const byoc_tensor_data_t *constants;
  uint32_t constant_count;
  uint32_t constant_stride;
  uint64_t workspace_size_bytes;
  // Since minor 5. What the description and its constants fit: the chip, its revision, the version of the command
  // stream, in the backend's own words: "npu-2 B, stream 3" (copied; at most 255 bytes). The engine's hook `fits`
  // compares it with the chip at hand when a context is made, and `byoc inspect` shows it. NULL: whatever the engine
  // runs on.
  const char *fits;
} byoc_json_module_t;

// A call of a C function, described as data. Pointers point to the first element of a tensor.
enum {
  BYOC_C_VOID = 0,
  BYOC_C_I32 = 1,
  BYOC_C_I64 = 2,
  BYOC_C_F32 = 3,
  BYOC_C_F64 = 4,
  BYOC_C_POINTER = 5, // as an argument only
  BYOC_C_STATUS = 6,  // as a return type only: int32_t, 0 is success
};
enum {
  BYOC_C_ARGUMENT_INTEGER = 1, // `integer`, as type I32 or I64
  BYOC_C_ARGUMENT_REAL = 2,    // `real`, as type F32 or F64
  BYOC_C_ARGUMENT_OPERAND = 3, // pointer to operand `index`
  BYOC_C_ARGUMENT_RESULT = 4,  // pointer to result `index`
  BYOC_C_ARGUMENT_NULL = 5,
  BYOC_C_ARGUMENT_RUNTIME = 6, // since minor 4: the const byoc_runtime_t * of the context, as type POINTER
};
typedef struct byoc_c_argument_t {
  uint32_t kind;  // BYOC_C_ARGUMENT_*
  uint32_t type;  // BYOC_C_*
  uint32_t index; // OPERAND, RESULT
  uint32_t reserved;
  int64_t integer;
  double real;
  int64_t offset_bytes; // added to a pointer
  int64_t step_bytes;   // added to a pointer from one repetition to the next
} byoc_c_argument_t;
typedef struct byoc_c_call_t {
  byoc_header_t header;
  const char *symbol;
  uint32_t return_type; // BYOC_C_VOID or BYOC_C_STATUS (or the type of a return value that is dropped)
  uint32_t argument_count;
  const byoc_c_argument_t *arguments;
  int64_t repeat_count; // calls in a row, at least 1
  // Result 0 starts as a copy of this operand (a C matrix that is added to); no copy is made if this is the operand's
  // last use. -1: results start undefined.
  int32_t result_from_operand;
  int32_t reserved;
} byoc_c_call_t;

// Rewriting the graph, for backends that hand back IR. Only functions of the running codegen may be changed, and only
// until they are answered. Otherwise a call returns BYOC_INVALID_ARGUMENT, as it does for handles that are NULL, erased
// or of another function, and for what is listed below. All of them may return BYOC_OUT_OF_MEMORY too. A status that is
// not BYOC_OK is kept and fails the run, even if the hook returns BYOC_OK. A hook may recover from a NULL of
// create_node and create_c_call.
typedef struct byoc_edit_api_t {
  byoc_header_t header;
  // Inserts an operator before `before` (NULL: at the end) and infers its results. Returns NULL if there is no such
  // operator or if it does not take that many operands and results; the reason is reported if the hook then fails.
  byoc_node_t *(*create_node)(byoc_codegen_t *codegen, byoc_function_t *function, byoc_node_t *before,
                              const char *domain, const char *op, byoc_value_t *const *operands, uint32_t operand_count,
                              uint32_t result_count);
  // Set attributes of a node made by create_node; types are inferred again after the change. BYOC_INVALID_ARGUMENT for
  // an empty name, and for calls, which have no attributes.
  int32_t (*set_int)(byoc_codegen_t *codegen, byoc_node_t *node, const char *name, int64_t value);
  int32_t (*set_float)(byoc_codegen_t *codegen, byoc_node_t *node, const char *name, double value);
  int32_t (*set_string)(byoc_codegen_t *codegen, byoc_node_t *node, const char *name, const char *value);
  int32_t (*set_ints)(byoc_codegen_t *codegen, byoc_node_t *node, const char *name, const int64_t *values,
                      uint64_t count);
  // Copies the data. Returns NULL, and the run fails, if the type is not numeric or the size does not fit the type
  // (BYOC_INVALID_ARGUMENT), or if the struct cannot be read (BYOC_INVALID_DATA, BYOC_VERSION).
  byoc_value_t *(*constant)(byoc_codegen_t *codegen, byoc_function_t *function, const byoc_tensor_data_t *data);
  // A call of a C function; its results are tensors of these types (dims concatenated, ranks[i] of them for result i).
  // Returns NULL if call and operands do not fit each other; the reason is reported if the hook then fails.
  byoc_node_t *(*create_c_call)(byoc_codegen_t *codegen, byoc_function_t *function, byoc_node_t *before,
                                const byoc_c_call_t *call, byoc_value_t *const *operands, uint32_t operand_count,
                                const uint32_t *dtypes, const uint32_t *ranks, const int64_t *dims,
                                uint32_t result_count);
  int32_t (*replace_value)(byoc_codegen_t *codegen, byoc_value_t *value, byoc_value_t *by); // all uses
  // BYOC_INVALID_ARGUMENT if one of its results is still used.
  int32_t (*erase_node)(byoc_codegen_t *codegen, byoc_node_t *node);
  // Hands back the function's body as the answer: the host replaces calls of the function by it. BYOC_INVALID_DATA if
  // the body has a cycle, an operator that cannot be inferred, or results of other types than before.
  int32_t (*hand_back)(byoc_codegen_t *codegen, byoc_function_t *function);
  // Since minor 1. Runs passes of the host (byoc opt --help lists them; separated by commas, as in
  // "fold-constants,remove-dead-code") over the functions of this codegen that have no answer yet, and over nothing
  // else. Handles of their nodes and values are invalid afterwards. BYOC_INVALID_ARGUMENT for a pass that is unknown or
  // works on whole modules only, BYOC_UNSUPPORTED if this host has no passes, or the status of the pass that failed.
  int32_t (*run_passes)(byoc_codegen_t *codegen, const char *passes);
} byoc_edit_api_t;

// ---- reports and run-time options (since minor 5) ----

enum {
  BYOC_REPORT_TEXT = 1,
  BYOC_REPORT_JSON = 2,
  // A fragment of a page. It is shown with those elements and attributes only that lay out text and tables
  // (docs/plugin.md lists them); scripts, links, images and forms are left out.
  BYOC_REPORT_HTML = 3,
};

// What a vendor wants seen of a compilation: a schedule, a memory map, the log of a compiler. Since minor 5.
typedef struct byoc_report_t {
  byoc_header_t header;
  const char *name;    // "memory": 1 to 64 letters, digits and . _ -
  uint32_t kind;       // BYOC_REPORT_*
  uint32_t reserved;   // 0
  const char *content; // UTF-8, without control characters other than tabs and the ends of lines
  uint64_t size_bytes; // of it, without a NUL; 1 to 1 MiB
} byoc_report_t;

// A request to compile C into an object, cached by content.
typedef struct byoc_compile_request_t {
  byoc_header_t header;
  const char *name;     // for messages
  const char *source;   // NUL-terminated
  const char *compiler; // NULL: the compiler of the host
  byoc_text_list_t flags;
  // Since minor 3. Text that goes before the source; NULL: none. If the compiler can, headers that many sources share
  // ("#include <immintrin.h>\n") are precompiled.
  const char *preamble;
} byoc_compile_request_t;

// A request to time a packed function in a child process, on random data.
typedef struct byoc_measure_request_t {
  byoc_header_t header;
  const void *object; // relocatable object that defines `symbol`
  uint64_t object_size_bytes;
  const char *symbol;
  const byoc_tensor_data_t *tensors; // inputs, constants, then outputs; data NULL: filled by the host
  uint32_t input_count;              // constants included
  uint32_t output_count;
  uint32_t tensor_stride;
  uint32_t thread_count; // 0: one
  uint64_t workspace_size_bytes;
  uint32_t timeout_ms; // 0: 10000
  uint32_t reserved;
} byoc_measure_request_t;

// Answers, modules and services of one run. In addition to the statuses listed below, each call that returns a status
// may return BYOC_OUT_OF_MEMORY. Each call that takes a struct may return BYOC_INVALID_DATA (the struct is NULL, lacks
// a field that byoc/abi.def calls required, or has an impossible size, or a string in it is NULL or not printable
// UTF-8) and BYOC_VERSION (this host does not know its struct_version). A failed answer or module is kept and fails the
// run, even if the hook returns BYOC_OK; a hook may recover from a failed service.
typedef struct byoc_codegen_api_t {
  byoc_header_t header;
  const byoc_target_t *(*target)(const byoc_codegen_t *codegen); // the current target
  byoc_graph_module_t *(*module)(const byoc_codegen_t *codegen); // the whole module
  // The functions that this backend must implement, in module order.
  uint64_t (*function_count)(const byoc_codegen_t *codegen);
  byoc_function_t *(*function_at)(const byoc_codegen_t *codegen, uint64_t index);

  // Matches a pattern (see byoc_rule_t) inside one of these functions, at the producer of `root` (NULL: of the
  // function's first result), and returns the bindings of a rule. If the pattern is that of the function's rule, and it
  // matches in several ways, the result is the match that the rule's accept hook accepted. Returns NULL if the pattern
  // does not match. A pattern that cannot be read, or a function that is not one of these, fails the run.
  byoc_region_t *(*match)(byoc_codegen_t *codegen, byoc_function_t *function, byoc_value_t *root, const char *pattern);

  // Records the reason of a failure (copied) and returns `status`.
  int32_t (*error)(byoc_codegen_t *codegen, int32_t status, const char *message);
  // Writes one line for --verbose; shows the progress of long work (total 0: unknown) on a terminal, and nothing
  // elsewhere. Both count as calls of the host: BYOC_HOOK_TIMEOUT begins anew.
  void (*log)(byoc_codegen_t *codegen, const char *message);
  void (*progress)(byoc_codegen_t *codegen, const char *what, uint64_t done, uint64_t total);

  // Each function is answered by exactly one of: bind_packed, add_json, edit->hand_back, decline, decline_nodes, and
  // bind_kernels of byoc/device_plugin.h. BYOC_INVALID_ARGUMENT for a second answer, for an answer by the prepare hook,
  // for a function that is not one of these, for a symbol that is not a C identifier, and for a constant whose type and
  // size do not fit; BYOC_INVALID_DATA for a text that is not JSON.
  int32_t (*bind_packed)(byoc_codegen_t *codegen, byoc_function_t *function, const byoc_packed_binding_t *binding);
  int32_t (*add_json)(byoc_codegen_t *codegen, byoc_function_t *function, const byoc_json_module_t *module);
  // Gives the function back to the next backend in line, with the reason.
  int32_t (*decline)(byoc_codegen_t *codegen, byoc_function_t *function, const char *reason);

  // BYOC_INVALID_ARGUMENT for symbols that are not C identifiers, needed libraries that are not file names and a module
  // without files; BYOC_INVALID_DATA for files that are not objects or that lack a listed
  // symbol; BYOC_NOT_FOUND, BYOC_PERMISSION or BYOC_IO for a path that cannot be read. add_engine: BYOC_ALREADY_EXISTS
  // if another engine has the name, BYOC_VERSION for an engine of another ABI. Adding the same library or engine twice
  // is BYOC_OK.
  int32_t (*add_c_source)(byoc_codegen_t *codegen, const byoc_c_source_t *module);
  int32_t (*add_static_library)(byoc_codegen_t *codegen, const byoc_static_library_t *module);
  int32_t (*add_engine)(byoc_codegen_t *codegen, const byoc_engine_module_t *module);

  // Services. Data that they return lives until the hook returns; outputs are NULL or 0 unless the call succeeds.
  //
  // Compiles C. BYOC_TOOL with the compiler's messages if it refuses the source, BYOC_NOT_FOUND if there is no
  // compiler, BYOC_IO if the disk fails, BYOC_UNSUPPORTED if this run has no compiler service.
  int32_t (*compile)(byoc_codegen_t *codegen, const byoc_compile_request_t *request, const void **out_object,
                     uint64_t *out_size_bytes);
  // Measures the median nanoseconds of one call. A crash, a hang or a failing status is BYOC_TOOL with the reason (this
  // is not an error of the hook: skip the candidate). BYOC_INVALID_ARGUMENT if a tensor's type is missing,
  // BYOC_NOT_FOUND if there is no linker, BYOC_IO if the disk fails, BYOC_UNSUPPORTED if this run has no measuring
  // service.
  int32_t (*measure)(byoc_codegen_t *codegen, const byoc_measure_request_t *request, double *out_median_ns);
  // A cache on disk, private to the plugin, its version and the content of its file: a plugin that was built anew finds
  // nothing. get: BYOC_NOT_FOUND if the key is new. put: BYOC_IO or BYOC_PERMISSION if the disk cannot store it, which
  // only costs time in the next run; BYOC_OK if nothing is cached in this run. BYOC_INVALID_ARGUMENT if a key is empty
  // or has 64 KB, or if data is NULL.
  int32_t (*cache_get)(byoc_codegen_t *codegen, const char *key, const void **out_data, uint64_t *out_size_bytes);
  int32_t (*cache_put)(byoc_codegen_t *codegen, const char *key, const void *data, uint64_t size_bytes);
  // Instruction set extensions of the machine that the artifact is for, space-separated, as in /proc/cpuinfo flags:
  // "avx2 fma avx512f ...". A function that is compiled for fewer of them may use only those.
  const char *(*cpu_features)(const byoc_codegen_t *codegen);
  // States that the artifact must not run without these features (a subset of cpu_features, space-separated).
  // BYOC_NOT_FOUND for a name that byoc does not know, BYOC_INVALID_ARGUMENT for a feature that is not in cpu_features.
  // A failure is kept and fails the run.
  int32_t (*require_cpu_features)(byoc_codegen_t *codegen, const char *features);
  // Since minor 3. Like compile, but on all processors at once: out_objects[i] and out_sizes_bytes[i] belong to
  // requests[i]. If a request fails, the first failure is returned and there are no objects. The statuses are those of
  // compile.
  int32_t (*compile_all)(byoc_codegen_t *codegen, const byoc_compile_request_t *requests, uint32_t count,
                         uint32_t stride, const void **out_objects, uint64_t *out_sizes_bytes);
  // Since minor 4. The features of an option of type CPU of the current target, with all that they imply, in the form
  // of cpu_features; "native" means cpu_features itself. They may include features that are not in cpu_features. "" if
  // the target has no such option, and if out of memory.
  const char *(*option_cpu_features)(byoc_codegen_t *codegen, const char *name);
  // Since minor 5. 1 if the artifact is to be C source (byoc build -o model.c): it can hold only modules of
  // add_c_source, and engines, drivers and static libraries whose code the backend announces (byoc_runtime_code_t).
  // Any other module ends the build with an error. 0 otherwise.
  int32_t (*wants_source)(const byoc_codegen_t *codegen);
  // Since minor 5. The maker of the processor that the artifact is for, as CPUID names it ("AuthenticAMD"); "" if the
  // artifact is also for other processors with cpu_features, and on machines that do not say it.
  const char *(*cpu_vendor)(const byoc_codegen_t *codegen);
  // Since minor 5. States in which precision one of these functions is computed, for byoc explain: "int8", "bf16
  // weights, f32 sums" (copied; up to 60 bytes are shown). `lapse`: why this is less or more than an option of the
  // target asks for; the user is warned. NULL: it is what the options ask for. A function without a statement has the
  // precision of its operators' types. BYOC_INVALID_ARGUMENT for a function that is not one of these.
  int32_t (*report_precision)(byoc_codegen_t *codegen, const byoc_function_t *function, const char *precision,
                              const char *lapse);
  // Since minor 5. One more answer: gives single nodes of the function back, with the reason. All its nodes are placed
  // again, as after `decline`, but the target may take the others again: the hook then gets them in functions without
  // these nodes. `nodes` are of the function, or of Composite functions that it calls. BYOC_INVALID_ARGUMENT as for the
  // other answers, if there are none, and for a node that is not of the function.
  int32_t (*decline_nodes)(byoc_codegen_t *codegen, byoc_function_t *function, byoc_node_t *const *nodes,
                           uint64_t node_count, const char *reason);
  // Since minor 5. The triple of the machine that the artifact is for, if this is not the host's: "aarch64-linux-gnu".
  // NULL: it is for this machine, or C source. Files of this machine, such as shared libraries, do not belong into an
  // artifact for another one.
  const char *(*triple)(const byoc_codegen_t *codegen);
  // Since minor 5. Adds a report about one of these functions, or about all of them (function NULL); copied. It travels
  // in the metadata of the artifact: byoc inspect, explain --html and profile --html show it. Those of a function that
  // the hook declines are dropped. A run may add 256 reports with 4 MiB of content together. BYOC_INVALID_ARGUMENT for
  // a function that is not one of these, a name or kind that is not as above, and for a report too many or too large;
  // BYOC_INVALID_DATA for content that is not UTF-8, or not JSON where its kind says so. A failure is kept and fails
  // the run.
  int32_t (*add_report)(byoc_codegen_t *codegen, const byoc_function_t *function, const byoc_report_t *report);
  // Since minor 5. Declares the run-time options of an engine or a driver, by name, after it was added: the schema of
  // what its users may set when they make a context (byoc_context_options_t.runtime_options). `options` are like those
  // of a backend, of the types INT to CHOICE: CPU and PRECISION are for targets. If the current target has an option of
  // the same name, its value is the default. The engine gets the values in byoc_engine_init_t, the driver in
  // byoc_device_init_t. Declaring the same again is BYOC_OK. BYOC_NOT_FOUND: no such engine or driver was added.
  // BYOC_ALREADY_EXISTS: it has other options. BYOC_INVALID_ARGUMENT: more than 64, a name that is no word of letters,
  // digits, _ and -, two of one name, a type or default that is not valid. A failure is kept and fails the run.
  int32_t (*declare_runtime_options)(byoc_codegen_t *codegen, const char *owner, const byoc_option_t *options,
                                     uint32_t count, uint32_t stride);
} byoc_codegen_api_t;

// ---------------------------------------------------------------------------------------------------------------------
// Costs that a backend states, because its chip is not in the machine that builds (since minor 5). docs/plans.md has
// the rules by which plans mix them with measured costs.
//
// Example:
//   static int32_t state_costs(void *self, const byoc_cost_query_t *query) {
//     const double clock_hz = 1e6 * host->target->option_int(query->target, "clock_mhz");
//     for (uint32_t i = 0; i < query->function_count; ++i) {
//       const byoc_stated_cost_t cost = {.header = BYOC_HEADER(byoc_stated_cost_t, 1),
//                                        .stated = BYOC_STATED_TIME,
//                                        .time_ns = 1e9 * cycles_of(query->functions[i]) / clock_hz};
//       const int32_t status = query->state(query, i, &cost);
//       if (status != BYOC_OK) return status;
//     }
//     return BYOC_OK;
//   }

// The figures that a struct below states.
enum {
  BYOC_STATED_TIME = 1,        // byoc_stated_cost_t.time_ns
  BYOC_STATED_MOVED_BYTES = 2, // byoc_stated_cost_t.moved_bytes
  BYOC_STATED_ENERGY = 4,      // byoc_stated_cost_t.energy_nj
  BYOC_STATED_BOUNDARY = 8,    // the four figures of byoc_target_costs_t about entering and leaving
};

// The cost of one call of a function, in the target's own model. Each figure is finite and at least 0.
typedef struct byoc_stated_cost_t {
  byoc_header_t header;
  uint32_t stated;   // BYOC_STATED_*, joined by |; without TIME the host measures or estimates the function
  uint32_t reserved; // 0
  // Nanoseconds from the last input that is in place until the last output is there. Commands count, but entering and
  // leaving do not.
  double time_ns;
  double moved_bytes; // between the chip's memory and its units, weights included; for byoc explain
  double energy_nj;   // nanojoules; for byoc explain
} byoc_stated_cost_t;

// The costs of a target apart from its functions. The host sets the header and zeroes the rest; a plugin sets only
// fields within header.struct_size. Each figure is finite and at least 0.
typedef struct byoc_target_costs_t {
  byoc_header_t header;
  uint32_t stated; // BYOC_STATED_BOUNDARY or 0; without it the host counts what it knows: calls, and copies to devices
  // Regions of fewer operators, or of fewer operations (two per multiply-add, as byoc counts them), are not worth it:
  // plans by cost do not use them. 0: regions of any size.
  uint32_t least_operators;
  double least_operations;
  // A tensor of so many bytes that is not on the target costs enter_ns + bytes * enter_ns_per_byte, once for all of the
  // target's regions that read it. Weights cost nothing. A result that is read elsewhere costs leave_ns + bytes *
  // leave_ns_per_byte, once. Tensors between regions of the target cost nothing.
  double enter_ns, enter_ns_per_byte;
  double leave_ns, leave_ns_per_byte;
} byoc_target_costs_t;

// A question of the host: the costs of functions on one target. All of it lives until the hook returns.
typedef struct byoc_cost_query_t byoc_cost_query_t;
struct byoc_cost_query_t {
  byoc_header_t header;
  const byoc_target_t *target; // with the options of this build
  // Functions as the generate hook would get them, but constants are always in their bodies. They are not in one graph:
  // several may hold the same nodes of the model.
  byoc_function_t *const *functions;
  uint32_t function_count; // at least 1
  uint32_t thread_count;   // of the host, for which the plan is
  // States the cost of functions[index], which is copied. A function without an answer is measured or estimated.
  // BYOC_INVALID_ARGUMENT: the index is not less than function_count, or it has a statement already.
  // BYOC_INVALID_DATA: a stated figure is negative, NaN or infinite. A failure is kept and fails the hook.
  int32_t (*state)(const byoc_cost_query_t *query, uint32_t index, const byoc_stated_cost_t *cost);
  // Declines functions[index], as generate would do: no plan by cost uses it. byoc explain shows the reason (copied; up
  // to 120 bytes). The statuses are those of `state`.
  int32_t (*decline)(const byoc_cost_query_t *query, uint32_t index, const char *reason);
  // Records why the hook fails (copied); returns `status`.
  int32_t (*error)(const byoc_cost_query_t *query, int32_t status, const char *message);
};

// ---------------------------------------------------------------------------------------------------------------------
// Claims of a backend that looks at the whole graph (since minor 5). They are candidates beside the matches of its
// rules. Greedy plans take a target's claims before its matches, in the order in which they were made. Plans by cost
// take a claim if it is part of the cheapest plan. Claims may overlap, also those of one target: no node is taken
// twice.
//
// Example:
//   static int32_t partition(void *self, const byoc_partition_query_t *query) {
//     byoc_node_t *taken[MOST_NODES];
//     uint64_t count = 0;
//     for (uint64_t i = 0; i < query->node_count && count < MOST_NODES; ++i) {
//       byoc_node_t *node = query->nodes[i];
//       if (!query->may_take(query, node)) continue;
//       if (fits_on_chip(node)) taken[count++] = node;
//       else (void)query->decline(query, node, "it does not fit on the chip");
//     }
//     return count > 0 ? query->claim(query, "demo.block", 0, taken, count) : BYOC_OK;
//   }
//
// The host checks each claim. All its nodes are nodes of the query, each is listed once, and no path leaves the claim
// and comes back. The user is warned of a claim that is wrong, and it is not used; the others are. A claim becomes one
// function, of which no part is taken and which is joined with no neighbour. It has the attributes Compiler and Claim.

#define BYOC_ATTRIBUTE_CLAIM "Claim" // string, of the function of a claim: the name that the hook gave

// A question of the host: the claims in one block. All of it lives until the hook returns.
typedef struct byoc_partition_query_t byoc_partition_query_t;
struct byoc_partition_query_t {
  byoc_header_t header;
  const byoc_target_t *target; // with the options of this build
  const byoc_graph_module_t *module;
  const byoc_function_t *function; // the function with the block: the model's main function, as a rule
  // All nodes of the block after simplification, in topological order. The block is the function's body, or the body of
  // a branch or a loop in it; the host asks about each.
  byoc_node_t *const *nodes;
  uint64_t node_count;
  // 1 if the target may claim the node. 0 for calls, for nodes that the model binds to another target or device, for
  // nodes that this target's hooks declined earlier in this build, and for what is not a node of the query. A claim
  // with such a node of the query is not used; byoc explain shows the reason.
  int32_t (*may_take)(const byoc_partition_query_t *query, const byoc_node_t *node);
  // Claims nodes, in any order. `name` is "<target>.<what>", of letters, digits and ._- (copied). `flags`: those of
  // BYOC_RULE_PASS_CONSTANTS and BYOC_RULE_BY_COST that are to hold for the claim. BYOC_OK: the claim is recorded. The
  // host checks it later. BYOC_OUT_OF_MEMORY: the answers of the query take more than 64 KiB and 256 bytes per node of
  // the block. Each takes its text, 4 bytes per node of it, and 16 bytes; that failure is kept and fails the hook.
  int32_t (*claim)(const byoc_partition_query_t *query, const char *name, uint32_t flags, byoc_node_t *const *nodes,
                   uint64_t node_count);
  // Says why the target does not claim a node, for byoc explain (copied; up to 240 bytes). The statuses are those of
  // `claim`; BYOC_INVALID_ARGUMENT: it is not a node of the query, or the reason is not printable text.
  int32_t (*decline)(const byoc_partition_query_t *query, const byoc_node_t *node, const char *reason);
  // Records why the hook fails (copied); returns `status`.
  int32_t (*error)(const byoc_partition_query_t *query, int32_t status, const char *message);
};

// ---------------------------------------------------------------------------------------------------------------------
// Runtime code for other machines (since minor 5): of an engine, a driver or a static library that a backend adds. The
// files of its byoc_engine_module_t and so on are for the machine that the plugin was built for. A backend announces
// here where the same code for other machines is: archives by triple, or C sources that the host compiles by the
// compiler of the artifact.
//
// Example:
//   static const byoc_file_content_t arm = {
//       .header = BYOC_HEADER(byoc_file_content_t, 1), .path = "aarch64/libnpu_engine.a"};
//   static const byoc_machine_code_t archives[] = {{.header = BYOC_HEADER(byoc_machine_code_t, 1),
//                                                   .machines = "aarch64-linux-gnu",
//                                                   .files = &arm,
//                                                   .file_count = 1,
//                                                   .file_stride = sizeof(arm)}};
//   static const byoc_file_content_t source = {
//       .header = BYOC_HEADER(byoc_file_content_t, 1), .path = "engine/engine.c"};
//   static const byoc_runtime_code_t code[] = {{.header = BYOC_HEADER(byoc_runtime_code_t, 1),
//                                               .name = "npu",
//                                               .archives = archives,
//                                               .archive_count = 1,
//                                               .archive_stride = sizeof(archives[0]),
//                                               .sources = &source,
//                                               .source_count = 1,
//                                               .source_stride = sizeof(source)}};
//   // In the backend: .runtime_code = code, .runtime_code_count = 1, .runtime_code_stride = sizeof(code[0])
//
// When the hook adds an engine, a driver or a static library of that name, the host chooses. For this machine: its own
// files, if it has some. For another machine (--triple), and if it has no files: the first archives that are for the
// triple, otherwise the sources. For C source (byoc build -o model.c): the sources, which become part of it.
//
// Ownership: everything here is the plugin's, and lives until destroy. The host reads files by path when it needs them;
// a relative path is relative to the folder of the plugin's file. Errors: a struct that is wrong makes the host refuse
// the plugin. Archives whose files are missing count as not announced. A source that cannot be read, an archive for
// another machine, and sources that do not compile end the build with a message that names the plugin's target and the
// file.

// Objects or archives for one kind of machine.
typedef struct byoc_machine_code_t {
  byoc_header_t header;
  // Triples, separated by blanks; `*` stands for any characters: "aarch64-linux-gnu", "riscv64-* riscv32-*". Each is of
  // letters, digits and -_.*, and begins with a letter, a digit or `*`.
  const char *machines;
  const byoc_file_content_t *files;
  uint32_t file_count; // at least 1
  uint32_t file_stride;
  byoc_text_list_t needed; // shared libraries that stay outside of an artifact with these files
} byoc_machine_code_t;

// The code of one engine, driver or static library. At least one of `archives` and `sources` is given.
typedef struct byoc_runtime_code_t {
  byoc_header_t header;
  const char *name; // as add_engine, add_driver or add_static_library names it
  const byoc_machine_code_t *archives;
  uint32_t archive_count;
  uint32_t archive_stride;
  // C files, each of which is compiled, as gnu11, position-independent and with hidden visibility. `name` is a file
  // name, which may be in folders ("engine/engine.c"); without it, the path is the name, or its last part if the path
  // is not relative.
  const byoc_file_content_t *sources;
  uint32_t source_count;
  uint32_t source_stride;
  // Files that the sources include, by the same names: beside the including file, or from the common folder of all. A
  // path may name a folder, which stands for all files in it and below it; their names are of letters, digits and ._+-.
  // Files with one name have one content. The headers of byoc/ are always there.
  const byoc_file_content_t *headers;
  uint32_t header_count;
  uint32_t header_stride;
  byoc_text_list_t flags;  // of the compiler, for the sources: "-O2", "-DNDEBUG"; none: "-O2"
  byoc_text_list_t needed; // shared libraries that stay outside of an artifact with the compiled sources
} byoc_runtime_code_t;

// ---------------------------------------------------------------------------------------------------------------------
// The two sides.

typedef struct byoc_host_t byoc_host_t;
struct byoc_host_t {
  byoc_header_t header;
  uint32_t abi_major;
  uint32_t abi_minor;  // the effective minor: the smaller of the host's and the plugin's
  const char *version; // of the host, for messages
  // realloc's contract: NULL allocates, size 0 frees, NULL on failure with the old memory kept.
  void *(*resize)(const byoc_host_t *host, void *memory, uint64_t size_bytes);
  // Records why query fails; returns `status`.
  int32_t (*error)(const byoc_host_t *host, int32_t status, const char *message);
  // Returns a table by name and version, NULL if this host has none. Table versions are independent of this struct's.
  // byoc/device_plugin.h, byoc/operator_plugin.h and byoc/table.h have some.
  const void *(*extension)(const byoc_host_t *host, const char *name, uint32_t version);
  const byoc_target_api_t *target;
  const byoc_graph_api_t *graph;
  const byoc_region_api_t *region;
  const byoc_edit_api_t *edit;
  const byoc_codegen_api_t *codegen;
};

enum {
  BYOC_BACKEND_REENTRANT = 1, // accept may be called from several threads at once
  // Since minor 5. It makes code for every machine of byoc/isa.def: C that codegen->compile compiles, for the features
  // of codegen->cpu_features, and no archives of its own. Builds for another machine than the host's leave out the
  // targets of backends without this flag, unless they announce runtime_code for that machine.
  BYOC_BACKEND_EVERY_MACHINE = 2,
  // Since minor 5. Its functions on a device support tensors of dynamic sizes: its kernels get values that depend on
  // them as extents (byoc/device_plugin.h). Other targets on devices are asked about operators of known sizes only.
  BYOC_BACKEND_OPEN_SIZES = 4,

  // ---- expensive compiles (since minor 5) ----
  // With either of the next two flags, the host calls the hooks for one function at a time: function_count is 1 (hosts
  // of older minors ignore the flags). Each call adds all modules that its function needs, engines too; equal ones
  // become one.
  //
  // Answers are cached on disk. The answer for a function depends on nothing but the function, the target with its
  // options, what the codegen table says of the processor, the plugin's file and the text of `depends_on`. With an
  // answer in the cache, generate is not called; prepare always is. Reports and declared run-time options are parts of
  // answers. Not cached: answers by hand_back or bind_kernels, with announced code (byoc_runtime_code_t), or with
  // tables that are not in the plugin's own memory; those of hooks that read codegen->module, or edited the function in
  // generate; and those for functions to which prepare did more than edit them.
  BYOC_BACKEND_CACHED = 8,
  // generate or generate_function may be called from several threads at once, with a codegen each, and so may accept.
  // They do not edit: the edit table refuses with BYOC_UNSUPPORTED, and what prepare does stays. The host uses as many
  // threads as BYOC_JOBS says. The answers are in the order of the functions, and the first function in that
  // order that fails is reported.
  BYOC_BACKEND_GENERATES_AT_ONCE = 16,
};

// One target. Required: `target`, and either `generate` or `generate_function`. Everything else may be left zero.
typedef struct byoc_backend_t {
  byoc_header_t header;
  const char *target;      // kind: "cutlass"; listed in the identity note too
  const char *description; // one line
  uint64_t flags;          // BYOC_BACKEND_*
  void *self;              // first argument of the hooks
  const byoc_option_t *options;
  uint32_t option_count;
  uint32_t option_stride;
  const byoc_rule_t *rules;
  uint32_t rule_count;
  uint32_t rule_stride;
  // Generates code for the whole module at once; its own target is current.
  int32_t (*generate)(void *self, byoc_codegen_t *codegen);
  // For convenience: called for each function in turn if generate is NULL.
  int32_t (*generate_function)(void *self, byoc_codegen_t *codegen, byoc_function_t *function);
  // Since minor 1; optional. Called before generate with the same functions, to optimise them by the edit table. Their
  // parameters and results must stay as they are. It must not answer any of them.
  int32_t (*prepare)(void *self, byoc_codegen_t *codegen);
  // Since minor 2; optional. The largest error of this target's floats with its current options, relative to the
  // magnitude of a tensor and measured against the operators as written: 0.1 for weights of 8 bits. 0, or no hook: only
  // the error of rounding in another order. Candidates are checked with this error before they are timed.
  double (*relative_error)(void *self, const byoc_target_t *target);
  // Since minor 4; optional. The driver (byoc/device_plugin.h) of the device on which this target's functions run, and
  // that device's type, a DLDeviceType of DLPack; NULL and 0: the host's processor.
  const char *driver;
  int32_t device_type;
  uint32_t reserved; // 0
  // Since minor 4; optional. 0 if this target's functions run on the host's processor with its current options,
  // although the backend names a driver.
  int32_t (*runs_on_device)(void *self, const byoc_target_t *target);
  // Since minor 5; optional. States the costs of functions of this target, several at once. Plans by cost use them
  // instead of measuring or estimating. Equal functions and options get equal costs, alone and among others. The host
  // calls it, and the next two hooks, in a child process: changes of the plugin's memory are lost, and threads that the
  // plugin started before do not exist there. If a hook fails, crashes or states an impossible figure, the user is
  // warned, and the target is measured or estimated.
  int32_t (*state_costs)(void *self, const byoc_cost_query_t *query);
  // Since minor 5; optional. States what entering and leaving the target costs, and the least region that is worth it.
  // Any status but BYOC_OK is a failure.
  int32_t (*state_target_costs)(void *self, const byoc_target_t *target, byoc_target_costs_t *out_costs);
  // Since minor 5; optional. Claims sub-graphs of a whole block, beside what the rules match. The host calls it once
  // for each block and target of a placement, in a child process, as it calls state_costs. The same block and options
  // get the same claims. If the hook fails or crashes, the user is warned, and none of its claims for that block are
  // used.
  int32_t (*partition)(void *self, const byoc_partition_query_t *query);
  // Since minor 5; optional. The code of the backend's engines, drivers and static libraries for other machines; each
  // name occurs once. Builds for another machine than the host's use the backend if each of these codes is there for
  // that machine. Its other answers must then be for every machine: JSON, constants, C source (add_c_source).
  const byoc_runtime_code_t *runtime_code;
  uint32_t runtime_code_count;
  uint32_t runtime_code_stride;

  // ---- expensive compiles (since minor 5) ----
  // Since minor 5; optional. On what cached answers depend outside of the plugin's file and the options: the versions
  // of a compiler that the hooks start, of a library that they load. A text that lives until the next call, up to 4096
  // bytes; NULL: it cannot be found out now, and nothing is cached in this build. Asked once a run of generate, on
  // backends with BYOC_BACKEND_CACHED only.
  const char *(*depends_on)(void *self, const byoc_target_t *target);
} byoc_backend_t;

// Filled by query. The host sets the header and zeroes the rest.
typedef struct byoc_plugin_t {
  byoc_header_t header;
  void *self;
  const byoc_backend_t *const *backends; // live until `destroy` is called; NULL: it has operators only
  uint64_t backend_count;
  void (*destroy)(void *self); // optional; called once, after everything made with the plugin is gone
} byoc_plugin_t;

#if defined(__GNUC__)
#define BYOC_PLUGIN_EXPORT __attribute__((visibility("default")))
#else
#define BYOC_PLUGIN_EXPORT
#endif

// The one symbol that a plugin exports. `host` lives until destroy.
BYOC_PLUGIN_EXPORT int32_t byoc_plugin_query(const byoc_host_t *host, byoc_plugin_t *out_plugin);
typedef int32_t (*byoc_plugin_query_t)(const byoc_host_t *host, byoc_plugin_t *out_plugin);

#ifdef __cplusplus
}
#endif
#endif // BYOC_PLUGIN_H_
