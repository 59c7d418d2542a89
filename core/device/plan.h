// SPDX-License-Identifier: Apache-2.0
// Device planning: gives every value a device, and inserts a byoc::DeviceCopy where two devices conflict.
//
// Example:
//   BYOC_RETURN_IF_ERROR(byoc_plan_devices(module, BYOC_PLAN_ALL, diag, &changes));
//
// A value (`on {...}`), a byoc::OnDevice node, the signature of a function that is compiled as a whole (marked
// Compiler, Extern or Primitive) and the scope of a kernel's buffer name a device. From there it propagates, field by
// field (type, id, scope):
//
//   joined   Joined values live on one device: the operands and results of an operator, each node for itself, and a
//            value that a block or a function takes or returns with its name on the other side. A function has one
//            signature for all of its calls. Two devices for joined values are an error, which names both and the chain
//            between them.
//   linked   A device propagates, but a conflict gives a copy: into operands and results of functions that are compiled
//            as a whole, from parameters and into results of the module's main function (which are in the host's
//            memory), from constants, through an OnDevice that constrains neither side, and into shape operands,
//            conditions, trip counts and operands of operators that the host runs (all in the host's memory).
//   apart    Nothing propagates, and a copy is made where devices differ: an OnDevice that constrains one side.
//
// In a module with stacks_on_host, the stacked results of a Loop are in the host's memory, too.
//
// Operands whose elements are not read (Shape's) may live anywhere. Sequences, optionals and strings live in the host's
// memory. The target of a virtual device names the maker of a value, so it propagates from an OnDevice to its operand
// and no further.
//
// If neighbours of a free value have different devices, it takes the one that most of them have, and of those the first
// in the order of type, id and scope. The result does not depend on the order of nodes, and a planned module stays as
// it is.
#ifndef BYOC_CORE_DEVICE_PLAN_H_
#define BYOC_CORE_DEVICE_PLAN_H_

#include "core/base/diag.h"
#include "core/ir/graph.h"

typedef enum byoc_plan_extent_t {
  // Only joined values get a device; others stay free for the partitioning. An OnDevice whose sides may still differ
  // stays, and constrains neither.
  BYOC_PLAN_SAID,
  // Values that are still free live in the host's memory. No OnDevice is left.
  BYOC_PLAN_ALL,
} byoc_plan_extent_t;

// Does nothing to a module that names no device and no scope. *changes counts values that got a device, copies that
// were made or removed, and OnDevice nodes that were removed. After an error the module is as it was, unless memory ran
// out.
byoc_status_t byoc_plan_devices(byoc_graph_module_t *module, byoc_plan_extent_t extent, byoc_diag_t *diag,
                                size_t *changes);

#endif // BYOC_CORE_DEVICE_PLAN_H_
