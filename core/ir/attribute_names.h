// SPDX-License-Identifier: Apache-2.0
// Names of the attributes that the compiler itself gives to functions, modules and nodes, with their meaning and the
// step that sets them. Names that backends read, too (Compiler, Composite), are in byoc/plugin.h; attributes of
// operators are in the operators' rows.
#ifndef BYOC_CORE_IR_ATTRIBUTE_NAMES_H_
#define BYOC_CORE_IR_ATTRIBUTE_NAMES_H_

#include "byoc/plugin.h" // BYOC_ATTRIBUTE_COMPILER, BYOC_ATTRIBUTE_COMPOSITE

// ---- of functions ----

// String: the symbol of the compiled function. Placement and kernel outlining set it to the function's name;
// outline-compiler-functions takes it from the user's annotation.
#define BYOC_ATTRIBUTE_GLOBAL_SYMBOL "global_symbol"
// Int, index in the target list: the target of the function, because several targets may be of one kind. Set by
// placement, and by the build for functions of the model itself.
#define BYOC_ATTRIBUTE_TARGET "Target"
// Int: the number of the device on which the function runs, among those of its driver; without it, the first. Set by
// the build from devices that the model names.
#define BYOC_ATTRIBUTE_DEVICE_ID "DeviceId"
// Int, a flag: the function's nodes are compiled together. Set by placement and by kernel outlining.
#define BYOC_ATTRIBUTE_PRIMITIVE "Primitive"
// Int, a flag: calls of the function are replaced by its body. Set by the frontend on the model's own functions, and by
// the build on regions that fall back.
#define BYOC_ATTRIBUTE_INLINE "Inline"
// Int, a flag: the function is compiled already, and its body is kept for its shapes only. Set by
// mark-compiler-functions-extern.
#define BYOC_ATTRIBUTE_EXTERN "Extern"
// Int: the number of the match that the rule's hook accepted (core/plugin/accepted_match.h); without it, the first. Set
// by placement.
#define BYOC_ATTRIBUTE_MATCH "Match"
// Ints, rising: the parameters for which every call passes a constant that the rule's pattern asks for ("@"). Set by
// placement.
#define BYOC_ATTRIBUTE_PASSED "PassedConstants"

// ---- of modules, set by the frontend ----

#define BYOC_ATTRIBUTE_MODEL      "model"      // string: the model's name
#define BYOC_ATTRIBUTE_PRODUCER   "producer"   // string: the program that wrote the model, and its version
#define BYOC_ATTRIBUTE_IR_VERSION "ir_version" // int: of the ONNX format
// Strings, "NAME=INPUT.2": dimensions of the inputs that the model calls by a name and that were given a size.
#define BYOC_ATTRIBUTE_DIMENSIONS "dimensions"
// Strings, "OUTPUT.2=NAME": the model's names of dimensions of outputs that are no dimension of an input
// (core/ir/dim_names.h).
#define BYOC_ATTRIBUTE_RESULT_DIMENSIONS "result_dimensions"

// String, "clamp": an index out of range becomes the nearest valid one, and a division of integers by 0 gives a number;
// without it, both are errors. Set by the build before inference, if the target "c" has the option -indices=clamp.
#define BYOC_ATTRIBUTE_INDICES "indices"
// Strings, "batch=1,sequence=128": the sizes that have variants. Set by the build (core/compile/variants.h).
#define BYOC_ATTRIBUTE_VARIANTS "variants"
// Ints, rising: the numbers of threads that have plans of their own. Set by the build (core/compile/thread_cases.h).
#define BYOC_ATTRIBUTE_THREAD_PLANS "thread_plans"

// Int, a flag: products with integers of other than 8 bits are operators on floats, because no rule took their units
// and a rule names the operators. Set by the build, before simplification is repeated.
#define BYOC_ATTRIBUTE_UNITS_WRITTEN "units_written"

// ---- of modules that are for one rank of several (the pass shard) ----

#define BYOC_ATTRIBUTE_RANK       "rank"       // int: which rank
#define BYOC_ATTRIBUTE_RANK_COUNT "rank_count" // int: of how many; set by the pass
// Int: a hash of the whole model and of its sharding, the same for all ranks; set by the pass.
#define BYOC_ATTRIBUTE_RANK_BUILD "rank_build"
#define BYOC_ATTRIBUTE_MESH       "mesh" // string, before the pass: "dp=2, tp=4" (core/pass/spread.h)
// String, before the pass: the axis of the mesh along which constants of matrix products and look-ups are sharded.
#define BYOC_ATTRIBUTE_CUT_WEIGHTS "cut_weights"
// Int, a flag: the build runs pipeline-collectives after the pass.
#define BYOC_ATTRIBUTE_PIPELINED "pipelined"

// ---- of nodes ----

// The prefix of attributes that passes leave on nodes of any operator; models cannot have them.
#define BYOC_ATTRIBUTE_RESERVED "byoc."

// Ints, rising: indices in the target list of the targets that can claim the node. Set by annotate-targets, removed by
// partition.
#define BYOC_ATTRIBUTE_TARGETS BYOC_ATTRIBUTE_RESERVED "targets"
// Int: the number of the node's region, unique in its function. Set by merge-regions, removed by partition.
#define BYOC_ATTRIBUTE_REGION BYOC_ATTRIBUTE_RESERVED "region"
// Ints: indices in the target list of the backends that claimed the node and fell back. Set by the build.
#define BYOC_ATTRIBUTE_DECLINED_BY BYOC_ATTRIBUTE_RESERVED "given_back_by"
// Int, a flag: a backend handed the node back as its answer, and no target is asked about it again. Set by the build
// and removed when all targets have answered.
#define BYOC_ATTRIBUTE_ANSWERED BYOC_ATTRIBUTE_RESERVED "answered"
// Int, a flag, on DequantizeLinear: no rule takes it with its constant, so that it is folded. Set by the build.
#define BYOC_ATTRIBUTE_FOLDS BYOC_ATTRIBUTE_RESERVED "folds"
// Int, a flag: other targets are asked about the node when operators beside it were written out, or constants folded.
// Set by the replay of a saved plan that does so, and by the build when a target that the plan chose declines the node.
#define BYOC_ATTRIBUTE_OPEN BYOC_ATTRIBUTE_RESERVED "open"
// Int, a flag: the node stands for another one, which has stated the limits of its operands (core/op/limit.h). Set by
// write-out.
#define BYOC_ATTRIBUTE_WRITTEN BYOC_ATTRIBUTE_RESERVED "written"
// String, on byoc::CallC: the target whose library defines the symbol; without it, only one module listed the symbol.
// Set when a backend creates the call.
#define BYOC_ATTRIBUTE_OF_TARGET BYOC_ATTRIBUTE_RESERVED "target"
// Int, on byoc::CallC: the number of operations of the call, if known; for profiles, without effect on the code. Set by
// the build.
#define BYOC_ATTRIBUTE_FLOPS BYOC_ATTRIBUTE_RESERVED "flops"
// Two strings, on the Ifs that choose between variants (core/compile/variants.h): the sizes of each branch. Set by the
// build.
#define BYOC_ATTRIBUTE_CASES BYOC_ATTRIBUTE_RESERVED "cases"
// Int, on Squeeze without axes: the rank of its result in the branch in which it stands (core/pass/choose_lengths.c).
#define BYOC_ATTRIBUTE_RESULT_RANK BYOC_ATTRIBUTE_RESERVED "result_rank"
// Int, on random operators without a seed: the number of their stream. Set by type inference.
#define BYOC_ATTRIBUTE_STREAM BYOC_ATTRIBUTE_RESERVED "stream"
// On byoc::ResultShape, beside the attributes of the operator that it stands for (core/ops/byoc/symbolic.h): its domain
// and name (strings) and version (int), pairs of a result and a dimension (ints), the ranks of the results (ints). Set
// with the node.
#define BYOC_ATTRIBUTE_OF_DOMAIN  BYOC_ATTRIBUTE_RESERVED "of_domain"
#define BYOC_ATTRIBUTE_OF_OP      BYOC_ATTRIBUTE_RESERVED "of_operator"
#define BYOC_ATTRIBUTE_OF_VERSION BYOC_ATTRIBUTE_RESERVED "of_version"
#define BYOC_ATTRIBUTE_PLACES     BYOC_ATTRIBUTE_RESERVED "places"
#define BYOC_ATTRIBUTE_RANKS      BYOC_ATTRIBUTE_RESERVED "ranks"

#endif // BYOC_CORE_IR_ATTRIBUTE_NAMES_H_
