// SPDX-License-Identifier: Apache-2.0
// Passes over modules: one table of rows, above that of host programs.
#ifndef BYOC_CORE_PASS_PASS_H_
#define BYOC_CORE_PASS_PASS_H_

#include "core/hostir/pass/pass_manager.h"

// X(NAME, "name", kind, works on, "summary"): each row has a function byoc_pass_<NAME> in core/pass. It works on
// FUNCTIONS, those in scope (BYOC_FOR_EACH_FUNCTION), or on the MODULE as a whole. Kinds: a PLAIN pass takes no
// arguments; one for TARGETS looks at those of a build; COMPILER takes {compiler=NAME} behind its name and works on
// functions marked Compiler; AXIS takes {axis=NAME:parts}; a LIST of passes takes {without=NAME}.
#define BYOC_PASS_LIST(X)                                                                                              \
  X(infer_types, "infer-types", PLAIN, FUNCTIONS, "infer the type of every value")                                     \
  X(inline_functions, "inline-functions", PLAIN, FUNCTIONS, "inline functions marked Inline at their calls")           \
  X(differentiate, "differentiate", PLAIN, FUNCTIONS, "write out the derivatives of Gradient nodes")                   \
  X(settle_dimensions, "settle-dimensions", PLAIN, FUNCTIONS,                                                          \
    "give dimensions of inputs the numbers that operators need")                                                       \
  X(write_out, "write-out", TARGETS, FUNCTIONS,                                                                        \
    "expand operators into several operators of ai.onnx, unless a target has a rule for them")                         \
  X(canonicalise, "canonicalise", PLAIN, FUNCTIONS,                                                                    \
    "rewrite operators with several spellings to the one that rules match")                                            \
  X(fold_structure, "fold-structure", PLAIN, FUNCTIONS,                                                                \
    "replace branches, elements and optionals that are known by their values")                                         \
  X(keep_packed_weights, "keep-packed-weights", PLAIN, FUNCTIONS,                                                      \
    "let products read weights of few bits without unpacking them first")                                              \
  X(fold_constants, "fold-constants", PLAIN, FUNCTIONS,                                                                \
    "compute nodes that depend on constants and known shapes only, except for DequantizeLinear")                       \
  X(fold_dequantised, "fold-dequantised", TARGETS, FUNCTIONS,                                                          \
    "compute nodes that depend on constants only, among them DequantizeLinear of integers")                            \
  X(fold_pad, "fold-pad", PLAIN, FUNCTIONS, "fold padding with zeros into the convolution or average after it")        \
  X(cut_kernels, "cut-kernels", PLAIN, FUNCTIONS, "remove the taps of convolutions that read nothing but padding")     \
  X(recognise_activations, "recognise-activations", PLAIN, FUNCTIONS,                                                  \
    "replace the formulas of GELU, Swish, HardSwish and Mish by operators")                                            \
  X(recognise_layer_norm, "recognise-layer-norm", PLAIN, FUNCTIONS,                                                    \
    "replace the formula of a layer normalisation by the operator")                                                    \
  X(move_transposes, "move-transposes", PLAIN, FUNCTIONS,                                                              \
    "merge transposes, through elementwise operators between them")                                                    \
  X(fold_batch_norm, "fold-batch-norm", PLAIN, FUNCTIONS, "fold batch normalisation into the convolution before it")   \
  X(flush_subnormals, "flush-subnormals", PLAIN, FUNCTIONS, "set subnormal weights to 0 where no result can show it")  \
  X(remove_identities, "remove-identities", PLAIN, FUNCTIONS, "remove operators that change nothing")                  \
  X(remove_dead_code, "remove-dead-code", PLAIN, FUNCTIONS, "remove nodes, functions and constants that nothing uses") \
  X(merge_equal_nodes, "merge-equal-nodes", PLAIN, FUNCTIONS, "compute equal expressions once")                        \
  X(simplify, "simplify", LIST, FUNCTIONS,                                                                             \
    "all of the above, move-quantised, fold-quantised, raise-units, split-recurrent, split-transposed and, for "       \
    "targets, recognise-attention, until nothing changes (8 rounds at most); then split-dequantised")                  \
  X(settle_constants, "settle-constants", TARGETS, FUNCTIONS,                                                          \
    "the passes of simplify that fold constants, or keep them packed, before a model is copied or cut")                \
  X(choose_lengths, "choose-lengths", PLAIN, FUNCTIONS,                                                                \
    "branch by the lengths of lists that decide shapes and are known at run time only")                                \
  X(choose_ranks, "choose-ranks", PLAIN, FUNCTIONS, "branch by the ranks of tensors that are known at run time only")  \
  X(sink_into_branches, "sink-into-branches", PLAIN, FUNCTIONS,                                                        \
    "move nodes that depend on the rank of an If's result into its branches, if these differ in it")                   \
  X(inline_composites, "inline-composites", PLAIN, FUNCTIONS, "inline composites that are in no region")               \
  X(shard, "shard", PLAIN, MODULE, "shard the model over the ranks of its mesh, and keep the program of one rank")     \
  X(pipeline_collectives, "pipeline-collectives", PLAIN, FUNCTIONS,                                                    \
    "let blocks of products travel between ranks while the next ones are computed")                                    \
  X(name_unknown_dimensions, "name-unknown-dimensions", PLAIN, MODULE,                                                 \
    "give a symbol to each dimension that only the run knows")                                                         \
  X(settle_layouts, "settle-layouts", PLAIN, FUNCTIONS,                                                                \
    "compute nodes between changes of layout in blocks, and remove changes that cancel")                               \
  X(cancel_layouts, "cancel-layouts", PLAIN, FUNCTIONS, "remove changes of layout that cancel, and nothing else")      \
  X(write_out_units, "write-out-units", PLAIN, FUNCTIONS,                                                              \
    "expand unclaimed quantised operators into several operators")                                                     \
  X(write_around_constants, "write-around-constants", PLAIN, FUNCTIONS,                                                \
    "rewrite unclaimed operators with constants, so that the constants can be folded")                                 \
  X(tabulate_bytes, "tabulate-bytes", PLAIN, FUNCTIONS, "look functions of one byte up in tables")                     \
  X(lower_kernels, "lower-kernels", PLAIN, MODULE, "turn unclaimed operators into loop kernels")                       \
  X(spread_devices, "spread-devices", PLAIN, MODULE, "propagate the devices of values to other values")                \
  X(plan_devices, "plan-devices", PLAIN, MODULE, "decide the device of every value, and add copies between devices")   \
  X(outline_compiler_functions, "outline-compiler-functions", COMPILER, FUNCTIONS,                                     \
    "make inline functions marked Compiler global")                                                                    \
  X(merge_equal_functions, "merge-equal-functions", COMPILER, MODULE,                                                  \
    "let equal functions marked Compiler share a symbol")                                                              \
  X(mark_compiler_functions_extern, "mark-compiler-functions-extern", COMPILER, MODULE,                                \
    "turn functions marked Compiler into stubs")                                                                       \
  X(inline_compiler_functions, "inline-compiler-functions", COMPILER, MODULE,                                          \
    "inline functions marked Compiler at their calls")                                                                 \
  X(fold_quantised, "fold-quantised", PLAIN, FUNCTIONS,                                                                \
    "compute nodes between dequantising and quantising on integers")                                                   \
  X(move_quantised, "move-quantised", PLAIN, FUNCTIONS,                                                                \
    "move, pool and cut elements as quantised integers, before they become floats")                                    \
  X(raise_units, "raise-units", PLAIN, FUNCTIONS,                                                                      \
    "replace operators between dequantising and quantising by quantised operators")                                    \
  X(split_dequantised, "split-dequantised", PLAIN, FUNCTIONS,                                                          \
    "give each reader of dequantised data a DequantizeLinear of its own")                                              \
  X(recognise_attention, "recognise-attention", TARGETS, FUNCTIONS,                                                    \
    "replace the products around a softmax by Attention, if a target claims it")                                       \
  X(split_recurrent, "split-recurrent", TARGETS, FUNCTIONS,                                                            \
    "split RNN, GRU and LSTM into one product of all inputs and the steps, if no target claims them whole")            \
  X(split_transposed, "split-transposed", TARGETS, FUNCTIONS,                                                          \
    "split a transposed convolution into a convolution and a rearrangement, if no target claims it whole")             \
  X(propose_layouts, "propose-layouts", TARGETS, FUNCTIONS,                                                            \
    "add changes to blocked layouts and back between operators, if a target claims such nodes")                        \
  X(stream_axis, "stream-axis", AXIS, MODULE, "compute in loops over the parts of an axis, in the memory of one part")

#define BYOC_PASS_DECLARE_PLAIN(NAME)                                                                                  \
  byoc_status_t byoc_pass_##NAME(byoc_graph_module_t *module, byoc_diag_t *diag, size_t *changes);
#define BYOC_PASS_DECLARE_WITH(NAME)                                                                                   \
  byoc_status_t byoc_pass_##NAME(byoc_graph_module_t *module, const byoc_pass_arguments_t *arguments,                  \
                                 byoc_diag_t *diag, size_t *changes);
#define BYOC_PASS_DECLARE_TARGETS                              BYOC_PASS_DECLARE_WITH
#define BYOC_PASS_DECLARE_COMPILER                             BYOC_PASS_DECLARE_WITH
#define BYOC_PASS_DECLARE_AXIS                                 BYOC_PASS_DECLARE_WITH
#define BYOC_PASS_DECLARE_LIST                                 BYOC_PASS_DECLARE_WITH
#define BYOC_PASS_DECLARE(NAME, text, kind, works_on, summary) BYOC_PASS_DECLARE_##kind(NAME)
BYOC_PASS_LIST(BYOC_PASS_DECLARE)
#undef BYOC_PASS_DECLARE

extern const byoc_passes_t byoc_graph_passes;

// A pass of that table or of the one below it.
const byoc_pass_t *byoc_pass_find(const char *name);
// The pass "simplify". `options` may be NULL.
byoc_status_t byoc_simplify(byoc_graph_module_t *module, const byoc_pass_options_t *options, byoc_diag_t *diag,
                            size_t *changes);
// Runs a list of these passes (byoc_passes_run).
byoc_status_t byoc_pass_run_list(const char *names, byoc_graph_module_t *module, const byoc_pass_options_t *options,
                                 byoc_diag_t *diag);
// Runs such a list with only these functions of one module in scope; functions that it makes join them.
byoc_status_t byoc_pass_run_list_on(byoc_function_t *const *functions, size_t function_count, const char *names,
                                    const byoc_pass_options_t *options, byoc_diag_t *diag);
// BYOC_INVALID_ARGUMENT, with the nearest match, unless `name` is a pass, of modules or of host programs, that a build
// can do without.
byoc_status_t byoc_pass_check_switch(const char *name, byoc_diag_t *diag);

#endif // BYOC_CORE_PASS_PASS_H_
