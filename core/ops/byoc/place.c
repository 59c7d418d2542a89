// SPDX-License-Identifier: Apache-2.0
// Operators on virtual devices. Device planning (core/device/plan.h) reads OnDevice and removes it. It puts DeviceCopy
// between devices, and the host program copies.
#include "core/op/util.h"

// Missing fields of the device are free. constrain_body puts the operand there, constrain_result the result. A side
// without a constraint may live elsewhere: then there is a copy.
static const byoc_op_attribute_t on_device_attributes[] = {
    {BYOC_ATTR_INT("device", 0)}, // DLPack's DLDeviceType
    {BYOC_ATTR_INT("id", -1)},
    {BYOC_ATTR(STRING, "target")}, // the kind of target that makes the operand, if constrain_body is set
    {BYOC_ATTR(STRING, "scope")},
    {BYOC_ATTR_INT("constrain_body", 1)},
    {BYOC_ATTR_INT("constrain_result", 0)},
    BYOC_ATTR_END,
};

static byoc_status_t infer_on_device(byoc_infer_t *infer) {
  const byoc_node_t *node = infer->node;
  const int64_t device = byoc_node_int(node, "device"), id = byoc_node_int(node, "id");
  if (device < 0 || device > INT32_MAX) return byoc_infer_error(infer, "attribute 'device' is out of range");
  if (id < -1 || id > INT32_MAX) return byoc_infer_error(infer, "attribute 'id' is out of range");
  if (device == 0 && id != -1) return byoc_infer_error(infer, "attribute 'id' is given without 'device'");
  return byoc_infer_same(infer);
}

static byoc_status_t infer_ready(byoc_infer_t *infer) {
  return byoc_infer_set(infer, 0, BYOC_DTYPE_BOOL, 0, NULL);
}

static byoc_status_t infer_threads_at_least(byoc_infer_t *infer) {
  const byoc_type_t *type = byoc_operand_type(infer->node, 0);
  if (!byoc_is_ranked(type) || type->dtype != BYOC_DTYPE_I64 || byoc_type_element_count(type) != 1) {
    return byoc_infer_error(infer, "the number of threads is one i64");
  }
  return byoc_infer_set(infer, 0, BYOC_DTYPE_BOOL, 0, NULL);
}

#define ROW(op_name, count, function)                                                                                  \
  .domain = "byoc", .name = #op_name, .since_version = 1, .min_inputs = count, .max_inputs = count, .min_outputs = 1,  \
  .max_outputs = 1, .traits = BYOC_OP_HOST, .infer = function

const byoc_op_t byoc_ops_place[] = {
    {ROW(OnDevice, 1, infer_on_device), .attributes = on_device_attributes},
    {ROW(DeviceCopy, 1, byoc_infer_same)}, // from the device of its operand to that of its result
    // Have the program's devices started? If not, an alternative without devices runs.
    {ROW(DevicesReady, 0, infer_ready)},
    // Have the program's engines started? If not, an alternative without engines and devices runs.
    {ROW(EnginesReady, 0, infer_ready)},
    // Has the context at least that many threads? It chooses among plans for several numbers of threads.
    {ROW(ThreadsAtLeast, 1, infer_threads_at_least)},
};
const size_t byoc_ops_place_count = sizeof byoc_ops_place / sizeof *byoc_ops_place;
