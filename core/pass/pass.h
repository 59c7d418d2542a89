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
  X(inline_functions, "inline-functions", PLAIN, FUNCTIONS, "put functions marked Inline where they are called")       \
  X(differentiate, "differentiate", PLAIN, FUNCTIONS, "write out the derivatives that Gradient nodes ask for")         \
  X(write_out, "write-out", PLAIN, FUNCTIONS, "write operators that stand for several of ai.onnx as those")            \
  X(canonicalise, "canonicalise", PLAIN, FUNCTIONS,                                                                    \
    "give operators with several spellings the one that rules look for")                                               \
  X(fold_structure, "fold-structure", PLAIN, FUNCTIONS,                                                                \
    "take the branch, element or optional that is known to be meant")                                                  \
  X(keep_packed_weights, "keep-packed-weights", PLAIN, FUNCTIONS,                                                      \
    "let products by weights of few bits take them as they are")                                                       \
  X(fold_constants, "fold-constants", PLAIN, FUNCTIONS, "compute what depends on constants and known shapes only")     \
  X(fold_pad, "fold-pad", PLAIN, FUNCTIONS, "fold padding with zeros into the convolution or average behind it")       \
  X(cut_kernels, "cut-kernels", PLAIN, FUNCTIONS, "leave out the taps of convolutions that read nothing but padding")  \
  X(recognise_activations, "recognise-activations", PLAIN, FUNCTIONS,                                                  \
    "make one operator of the formulas of GELU, Swish, HardSwish and Mish")                                            \
  X(recognise_layer_norm, "recognise-layer-norm", PLAIN, FUNCTIONS,                                                    \
    "make one operator of the formula of a layer normalisation")                                                       \
  X(move_transposes, "move-transposes", PLAIN, FUNCTIONS,                                                              \
    "merge transposes, through elementwise operators between them")                                                    \
  X(fold_batch_norm, "fold-batch-norm", PLAIN, FUNCTIONS,                                                              \
    "fold batch normalisation into the convolution in front of it")                                                    \
  X(flush_subnormals, "flush-subnormals", PLAIN, FUNCTIONS,                                                            \
    "make weights 0 that are no normal numbers, where their sums cannot show it")                                      \
  X(remove_identities, "remove-identities", PLAIN, FUNCTIONS, "remove operators that change nothing")                  \
  X(remove_dead_code, "remove-dead-code", PLAIN, FUNCTIONS, "remove nodes, functions and constants that nothing uses") \
  X(merge_equal_nodes, "merge-equal-nodes", PLAIN, FUNCTIONS, "compute equal expressions once")                        \
  X(simplify, "simplify", LIST, FUNCTIONS,                                                                             \
    "all of the above, fold-quantised, split-recurrent, split-transposed and, for targets, recognise-attention, "      \
    "until nothing changes (8 rounds at most)")                                                                        \
  X(choose_lengths, "choose-lengths", PLAIN, FUNCTIONS,                                                                \
    "branch by the length of lists that decide shapes and is known at run time only")                                  \
  X(choose_ranks, "choose-ranks", PLAIN, FUNCTIONS,                                                                    \
    "branch by the rank of tensors whose rank is known at run time only")                                              \
  X(sink_into_branches, "sink-into-branches", PLAIN, FUNCTIONS,                                                        \
    "move what depends on the rank of an If's result into its branches, where that differs between them")              \
  X(inline_composites, "inline-composites", PLAIN, FUNCTIONS, "put composites back that stand in no region")           \
  X(shard, "shard", PLAIN, MODULE,                                                                                     \
    "spread the model over the ranks of its mesh, as values say, and leave what one does")                             \
  X(pipeline_collectives, "pipeline-collectives", PLAIN, FUNCTIONS,                                                    \
    "let blocks of products travel between ranks while the next ones are computed")                                    \
  X(name_unknown_dimensions, "name-unknown-dimensions", PLAIN, MODULE,                                                 \
    "give a symbol to each dimension that is known at run time only")                                                  \
  X(settle_layouts, "settle-layouts", PLAIN, FUNCTIONS,                                                                \
    "compute in blocked layouts what stands between changes of layout, and remove those that meet")                    \
  X(cancel_layouts, "cancel-layouts", PLAIN, FUNCTIONS, "remove changes of layout that meet, and nothing else")        \
  X(write_around_constants, "write-around-constants", PLAIN, FUNCTIONS,                                                \
    "write operators with constants that no backend took as others, so that these can be folded")                      \
  X(lower_kernels, "lower-kernels", PLAIN, MODULE, "turn what no backend took into loop kernels")                      \
  X(spread_devices, "spread-devices", PLAIN, MODULE,                                                                   \
    "say of values where they live, as far as that follows from others")                                               \
  X(plan_devices, "plan-devices", PLAIN, MODULE, "decide where every value lives, and put copies where places clash")  \
  X(outline_compiler_functions, "outline-compiler-functions", COMPILER, FUNCTIONS,                                     \
    "make global functions of those marked Compiler that stand inline")                                                \
  X(merge_equal_functions, "merge-equal-functions", COMPILER, MODULE,                                                  \
    "let functions marked Compiler that compute the same share a symbol")                                              \
  X(mark_compiler_functions_extern, "mark-compiler-functions-extern", COMPILER, MODULE,                                \
    "turn functions marked Compiler into stubs")                                                                       \
  X(inline_compiler_functions, "inline-compiler-functions", COMPILER, MODULE,                                          \
    "put functions marked Compiler back where they are called")                                                        \
  X(fold_quantised, "fold-quantised", TARGETS, FUNCTIONS,                                                              \
    "compute on integers what stands between dequantising and quantising")                                             \
  X(recognise_attention, "recognise-attention", TARGETS, FUNCTIONS,                                                    \
    "make one operator of the products around a softmax, where a target takes it")                                     \
  X(split_recurrent, "split-recurrent", TARGETS, FUNCTIONS,                                                            \
    "make a product of all inputs and the steps of RNN, GRU and LSTM, where no target takes them whole")               \
  X(split_transposed, "split-transposed", TARGETS, FUNCTIONS,                                                          \
    "make a convolution and a rearrangement of a transposed convolution, where no target takes it whole")              \
  X(propose_layouts, "propose-layouts", TARGETS, FUNCTIONS,                                                            \
    "put changes to blocked layouts and back between operators, where a target takes such nodes")                      \
  X(stream_axis, "stream-axis", AXIS, MODULE,                                                                          \
    "compute in loops over the parts of an axis what can be, taking the memory of one part")

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
                                    byoc_diag_t *diag);
// BYOC_INVALID_ARGUMENT, with the nearest match, unless `name` is a pass, of modules or of host programs, that a build
// can do without.
byoc_status_t byoc_pass_check_switch(const char *name, byoc_diag_t *diag);

#endif // BYOC_CORE_PASS_PASS_H_
