// SPDX-License-Identifier: Apache-2.0
// Device planning: decides where every value lives, and puts a byoc::DeviceCopy where two places clash.
//
// Example:
//   BYOC_RETURN_IF_ERROR(byoc_plan_devices(module, BYOC_PLAN_ALL, diag, &changes));
//
// Places are said by values (`on {...}`), by byoc::OnDevice nodes, by the signatures of functions that are compiled as
// a whole (marked Compiler, Extern or Primitive) and by the scopes of kernels' buffers. From there they spread, field
// by field:
//
//   joined   The operands and results of an operator live in one place, each node for itself. So do a value that a
//            block or a function takes or returns and its name on the other side; a function has one signature for all
//            of its calls. If two places are said of joined values, that is an error, which names both and the chain
//            between them.
//   linked   A place spreads, but gives way to a copy where it clashes: into operands and results of functions that are
//            compiled as a whole, from parameters and into results of the module's main function (which are in the
//            host's memory), from constants, through an OnDevice that constrains neither side, and into shape operands,
//            conditions, trip counts and operands of operators that the host runs (all in the host's memory).
//   apart    Nothing spreads, and a copy is made where places differ: an OnDevice that constrains one side.
//
// In a module that says so (stacks_on_host), what the turns of a Loop give to be stacked is in the host's memory, too.
//
// Operands whose elements are not read (Shape's) may live anywhere. Sequences, optionals and texts live in the host's
// memory. The target of a place says who makes a value, so it spreads from an OnDevice to its operand and no further.
//
// If linked values offer different places to one that is free, it takes the place that most of them offer, and of those
// the first in the order of device, id and scope. All of this does not depend on the order of nodes, and a module that
// was planned stays as it is.
#ifndef BYOC_CORE_DEVICE_PLAN_H_
#define BYOC_CORE_DEVICE_PLAN_H_

#include "core/base/diag.h"
#include "core/ir/graph.h"

typedef enum byoc_plan_extent_t {
  // Only what is joined with what is said; other values stay free, for placement to decide. Where two sides of an
  // OnDevice may still differ, it stays, and constrains neither.
  BYOC_PLAN_SAID,
  // Values that are still free live in the host's memory. No OnDevice is left.
  BYOC_PLAN_ALL,
} byoc_plan_extent_t;

// Does nothing to a module in which nobody says a device or a scope. *changes counts values that got a place, copies
// that were made or dropped, and OnDevice nodes that were taken out. After an error the module is as it was, unless
// memory ran out.
byoc_status_t byoc_plan_devices(byoc_graph_module_t *module, byoc_plan_extent_t extent, byoc_diag_t *diag,
                                size_t *changes);

#endif // BYOC_CORE_DEVICE_PLAN_H_
