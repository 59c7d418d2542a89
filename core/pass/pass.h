// SPDX-License-Identifier: Apache-2.0
// Passes over graph modules, as rows of one table, and the manager that runs lists of them.
#ifndef BYOC_CORE_PASS_PASS_H_
#define BYOC_CORE_PASS_PASS_H_

#include "core/base/string.h"
#include "core/base/switches.h"
#include "core/ir/graph.h"
#include "core/targets/target.h"

// Arguments of a pass: "mark-compiler-functions-extern{compiler=cutlass}", "stream-axis{axis=batch:4}".
typedef struct byoc_pass_arguments_t {
  const char *compiler;              // looks at functions with this Compiler attribute; NULL: with any
  const byoc_target_list_t *targets; // of byoc_pass_options_t; NULL: none
  const char *axis;                  // NAME or NAME:parts; NULL: that of byoc_pass_options_t, or none
} byoc_pass_arguments_t;

// A pass changes the module and counts its changes. One of `run` and `run_with` is set.
typedef struct byoc_pass_t {
  const char *name;
  const char *summary; // one line for byoc opt --help
  byoc_status_t (*run)(byoc_graph_module_t *module, byoc_diag_t *diag, size_t *changes);
  byoc_status_t (*run_with)(byoc_graph_module_t *module, const byoc_pass_arguments_t *arguments, byoc_diag_t *diag,
                            size_t *changes);
  bool takes_compiler;  // {compiler=NAME} may stand behind its name
  bool takes_axis;      // and {axis=NAME:parts} behind the name of this one
  bool works_on_module; // it looks beyond the functions in scope, or removes what marks them as a backend's
} byoc_pass_t;

// X(NAME, "name", works on, "summary"): each row has a function byoc_pass_<NAME> in core/pass. It works on FUNCTIONS,
// those in scope (BYOC_FOR_EACH_FUNCTION), or on the MODULE as a whole.
#define BYOC_PASS_LIST(X)                                                                                              \
  X(infer_types, "infer-types", FUNCTIONS, "infer the type of every value")                                            \
  X(inline_functions, "inline-functions", FUNCTIONS, "inline functions marked Inline at their calls")                  \
  X(differentiate, "differentiate", FUNCTIONS, "write out the derivatives of Gradient nodes")                          \
  X(write_out, "write-out", FUNCTIONS, "expand operators into several operators of ai.onnx")                           \
  X(canonicalise, "canonicalise", FUNCTIONS, "rewrite operators with several spellings to the one that rules match")   \
  X(fold_structure, "fold-structure", FUNCTIONS,                                                                       \
    "replace branches, elements and optionals that are known by their values")                                         \
  X(keep_packed_weights, "keep-packed-weights", FUNCTIONS,                                                             \
    "let products read weights of few bits without unpacking them first")                                              \
  X(fold_constants, "fold-constants", FUNCTIONS, "compute nodes that depend on constants and known shapes only")       \
  X(fold_pad, "fold-pad", FUNCTIONS, "fold padding with zeros into the convolution or average after it")               \
  X(cut_kernels, "cut-kernels", FUNCTIONS, "remove the taps of convolutions that read nothing but padding")            \
  X(recognise_activations, "recognise-activations", FUNCTIONS,                                                         \
    "replace the formulas of GELU, Swish, HardSwish and Mish by operators")                                            \
  X(recognise_layer_norm, "recognise-layer-norm", FUNCTIONS,                                                           \
    "replace the formula of a layer normalisation by the operator")                                                    \
  X(move_transposes, "move-transposes", FUNCTIONS, "merge transposes, through elementwise operators between them")     \
  X(fold_batch_norm, "fold-batch-norm", FUNCTIONS, "fold batch normalisation into the convolution before it")          \
  X(flush_subnormals, "flush-subnormals", FUNCTIONS, "set subnormal weights to 0 where no result can show it")         \
  X(remove_identities, "remove-identities", FUNCTIONS, "remove operators that change nothing")                         \
  X(remove_dead_code, "remove-dead-code", FUNCTIONS, "remove nodes, functions and constants that nothing uses")        \
  X(merge_equal_nodes, "merge-equal-nodes", FUNCTIONS, "compute equal expressions once")                               \
  X(simplify, "simplify", FUNCTIONS,                                                                                   \
    "all of the above, fold-quantised, split-recurrent, split-transposed and, for targets, recognise-attention, "      \
    "until nothing changes (8 rounds at most)")                                                                        \
  X(choose_lengths, "choose-lengths", FUNCTIONS,                                                                       \
    "branch by the lengths of lists that decide shapes and are known at run time only")                                \
  X(choose_ranks, "choose-ranks", FUNCTIONS, "branch by the ranks of tensors that are known at run time only")         \
  X(sink_into_branches, "sink-into-branches", FUNCTIONS,                                                               \
    "move nodes that depend on the rank of an If's result into its branches, if these differ in it")                   \
  X(inline_composites, "inline-composites", FUNCTIONS, "inline composites that are in no region")                      \
  X(shard, "shard", MODULE, "shard the model over the ranks of its mesh, and keep the program of one rank")            \
  X(pipeline_collectives, "pipeline-collectives", FUNCTIONS,                                                           \
    "let blocks of products travel between ranks while the next ones are computed")                                    \
  X(name_unknown_dimensions, "name-unknown-dimensions", MODULE,                                                        \
    "give a symbol to each dimension that only the run knows")                                                         \
  X(settle_layouts, "settle-layouts", FUNCTIONS,                                                                       \
    "compute nodes between changes of layout in blocks, and remove changes that cancel")                               \
  X(cancel_layouts, "cancel-layouts", FUNCTIONS, "remove changes of layout that cancel, and nothing else")             \
  X(write_around_constants, "write-around-constants", FUNCTIONS,                                                       \
    "rewrite unclaimed operators with constants, so that the constants can be folded")                                 \
  X(lower_kernels, "lower-kernels", MODULE, "turn unclaimed operators into loop kernels")                              \
  X(spread_devices, "spread-devices", MODULE, "propagate the devices of values to other values")                       \
  X(plan_devices, "plan-devices", MODULE, "decide the device of every value, and add copies between devices")

// The same for passes over functions marked Compiler, which take {compiler=NAME}.
#define BYOC_COMPILER_PASS_LIST(X)                                                                                     \
  X(outline_compiler_functions, "outline-compiler-functions", FUNCTIONS,                                               \
    "make inline functions marked Compiler global")                                                                    \
  X(merge_equal_functions, "merge-equal-functions", MODULE, "let equal functions marked Compiler share a symbol")      \
  X(mark_compiler_functions_extern, "mark-compiler-functions-extern", MODULE,                                          \
    "turn functions marked Compiler into stubs")                                                                       \
  X(inline_compiler_functions, "inline-compiler-functions", MODULE, "inline functions marked Compiler at their calls")

// The same for passes that look at the targets of a build.
#define BYOC_TARGET_PASS_LIST(X)                                                                                       \
  X(fold_quantised, "fold-quantised", FUNCTIONS, "compute nodes between dequantising and quantising on integers")      \
  X(recognise_attention, "recognise-attention", FUNCTIONS,                                                             \
    "replace the products around a softmax by Attention, if a target claims it")                                       \
  X(split_recurrent, "split-recurrent", FUNCTIONS,                                                                     \
    "split RNN, GRU and LSTM into one product of all inputs and the steps, if no target claims them whole")            \
  X(split_transposed, "split-transposed", FUNCTIONS,                                                                   \
    "split a transposed convolution into a convolution and a rearrangement, if no target claims it whole")             \
  X(propose_layouts, "propose-layouts", FUNCTIONS,                                                                     \
    "add changes to blocked layouts and back between operators, if a target claims such nodes")

// The same for passes over an axis of the inputs.
#define BYOC_AXIS_PASS_LIST(X)                                                                                         \
  X(stream_axis, "stream-axis", MODULE, "compute in loops over the parts of an axis, in the memory of one part")

#define BYOC_PASS_DECLARE(NAME, text, works_on, summary)                                                               \
  byoc_status_t byoc_pass_##NAME(byoc_graph_module_t *module, byoc_diag_t *diag, size_t *changes);
BYOC_PASS_LIST(BYOC_PASS_DECLARE)
#undef BYOC_PASS_DECLARE
#define BYOC_PASS_DECLARE(NAME, text, works_on, summary)                                                               \
  byoc_status_t byoc_pass_##NAME(byoc_graph_module_t *module, const byoc_pass_arguments_t *arguments,                  \
                                 byoc_diag_t *diag, size_t *changes);
BYOC_COMPILER_PASS_LIST(BYOC_PASS_DECLARE)
BYOC_TARGET_PASS_LIST(BYOC_PASS_DECLARE)
BYOC_AXIS_PASS_LIST(BYOC_PASS_DECLARE)
#undef BYOC_PASS_DECLARE

// The table; NULL behind the end.
const byoc_pass_t *byoc_pass_at(size_t index);
const byoc_pass_t *byoc_pass_find(const char *name);

typedef struct byoc_pass_options_t {
  const char *print_after;           // name of a pass, or "all"; NULL: none
  byoc_string_t *print_out;          // where to print; NULL: standard output
  size_t print_elide_bytes;          // larger constants are elided in prints
  const byoc_target_list_t *targets; // for passes that place; NULL: none
  const byoc_switches_t *switches;   // passes that are off do nothing; NULL: all are on
  const char *stream_axis;           // for the pass stream-axis where it has no argument; NULL: none
  const byoc_pass_t *more;           // passes of rooms above this one, for lists
  size_t more_count;
} byoc_pass_options_t;

// Runs one pass: logs its name and changes, verifies the module (debug builds, and whenever it changed something), and
// prints it if asked to. A failure names the pass.
byoc_status_t byoc_pass_run(const byoc_pass_t *pass, byoc_graph_module_t *module, const byoc_pass_options_t *options,
                            byoc_diag_t *diag, size_t *out_changes);
// The pass "simplify", which hands the options on to the passes inside it.
byoc_status_t byoc_simplify(byoc_graph_module_t *module, const byoc_pass_options_t *options, byoc_diag_t *diag,
                            size_t *changes);
// Runs a comma-separated list, each name with its arguments in braces where it takes some. An unknown name is
// BYOC_INVALID_ARGUMENT with the nearest match.
byoc_status_t byoc_pass_run_list(const char *names, byoc_graph_module_t *module, const byoc_pass_options_t *options,
                                 byoc_diag_t *diag);
// Runs such a list with only these functions of one module in scope; functions that it makes join them. A pass that
// works on whole modules is BYOC_INVALID_ARGUMENT.
byoc_status_t byoc_pass_run_list_on(byoc_function_t *const *functions, size_t function_count, const char *names,
                                    byoc_diag_t *diag);
// BYOC_INVALID_ARGUMENT, with the nearest match, unless `name` is a pass, of modules or of host programs, that a build
// can do without.
byoc_status_t byoc_pass_check_switch(const char *name, byoc_diag_t *diag);
// The same unless `name` is what print_after may be; host passes are among it.
byoc_status_t byoc_pass_check_print_after(const char *name, byoc_diag_t *diag);
// Prints the module under a heading when options ask for it after `name`. For steps that are not passes.
byoc_status_t byoc_pass_print_after(const char *name, const byoc_graph_module_t *module,
                                    const byoc_pass_options_t *options, byoc_diag_t *diag);

#endif // BYOC_CORE_PASS_PASS_H_
