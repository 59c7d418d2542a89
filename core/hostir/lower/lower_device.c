// SPDX-License-Identifier: Apache-2.0
// Lowers nodes on devices: calls of functions that are bound to kernels become launches, byoc::DeviceCopy becomes a
// copy command. The pass order-queues adds events later.
#include <string.h>

#include "core/hostir/lower/lower_internal.h"
#include "core/module/extent.h"
#include "core/module/kernels.h"

enum { PROCESSOR = 1 }; // DLPack's kDLCPU

// ---- devices and queues ----

bool byoc_host_is_on_device(const byoc_value_t *value) {
  return value->device.device_type > PROCESSOR;
}

// The driver of the devices of a type: that of the functions that run there.
static const char *find_driver(const byoc_graph_module_t *module, int32_t type) {
  for (size_t k = 0; k < module->runtime_modules.count; ++k) {
    const byoc_kernel_launches_t *launches = module->runtime_modules.data[k]->launches;
    if (launches != NULL && launches->device_type == type) return byoc_runtime_module_given_name(launches->driver);
  }
  return NULL;
}

// The program's device of this virtual device, with its queue, both made when they are first asked for.
static byoc_status_t device_of(byoc_host_lowering_t *l, const byoc_virtual_device_t *virtual_device,
                               const byoc_host_device_t **out_device) {
  byoc_host_program_t *program = l->program;
  const int32_t ordinal = virtual_device->device_id > 0 ? virtual_device->device_id : 0;
  *out_device = NULL;
  for (size_t k = 0; k < program->devices.count; ++k) {
    const byoc_host_device_t *device = program->devices.data[k];
    if (device->type != virtual_device->device_type || device->ordinal != ordinal) continue;
    *out_device = device;
    return BYOC_OK;
  }
  const char *driver = find_driver(program->module, virtual_device->device_type);
  if (driver == NULL) {
    return byoc_diag_error(l->diag, BYOC_UNSUPPORTED,
                           "no function runs on a device of type %d, so that nothing says which driver it has",
                           (int)virtual_device->device_type);
  }
  *out_device = byoc_host_device_create(program, driver, driver, ordinal, virtual_device->device_type);
  if (*out_device == NULL) return byoc_diag_out_of_memory(l->diag);
  // The caller's queue, or the context's own if the caller brings none.
  return byoc_host_queue_create(program, driver, *out_device, BYOC_HOST_QUEUE_CURRENT, 0) != NULL
             ? BYOC_OK
             : byoc_diag_out_of_memory(l->diag);
}

// Only plain memory is planned as one workspace; another scope may have a layout of its own.
byoc_status_t byoc_host_put_on_device(byoc_host_lowering_t *l, byoc_host_buffer_t *buffer,
                                      const byoc_virtual_device_t *virtual_device) {
  const byoc_host_device_t *device = NULL;
  const char *scope = virtual_device->scope != NULL ? virtual_device->scope : BYOC_HOST_MAIN_SCOPE;
  BYOC_RETURN_IF_ERROR(device_of(l, virtual_device, &device));
  byoc_host_memory_t *memory = byoc_host_memory_get(l->program, device, scope);
  if (memory == NULL) return byoc_diag_out_of_memory(l->diag);
  memory->is_apart = strcmp(scope, BYOC_HOST_MAIN_SCOPE) != 0;
  buffer->scope = memory->scope;
  byoc_host_buffer_set_device(l->program, buffer, device);
  return BYOC_OK;
}

bool byoc_host_is_at(const byoc_host_buffer_t *buffer, const byoc_virtual_device_t *virtual_device) {
  if (buffer->device == NULL) return virtual_device->device_type <= PROCESSOR;
  const char *scope = virtual_device->scope != NULL ? virtual_device->scope : BYOC_HOST_MAIN_SCOPE;
  const int32_t ordinal = virtual_device->device_id > 0 ? virtual_device->device_id : 0;
  return buffer->device->type == virtual_device->device_type && buffer->device->ordinal == ordinal &&
         strcmp(buffer->scope, scope) == 0;
}

// ---- launches ----

typedef struct launch_t {
  byoc_host_lowering_t *l;
  const byoc_node_t *call;
  const byoc_runtime_module_t *binding;
  byoc_virtual_device_t virtual_device; // where the function runs
  byoc_host_buffer_t **operands, **results, **constants;
  byoc_host_buffer_t **temporaries; // NULL until a launch has it
  byoc_host_buffer_t *scratch;      // NULL: none
  bool is_shared;                   // several launches use the scratch memory
  bool is_written;                  // the first of them is behind us
} launch_t;

// Adds the scratch memory to a launch: as a result of the first launch that writes it, and as an operand of later ones
// that have results of their own.
typedef enum scratch_role_t { WORKSPACE, RESULT, OPERAND } scratch_role_t;

static bool put_dimension(void *self, byoc_dim_t leaf, byoc_dim_t *out_dim) {
  *out_dim = byoc_extent_dimension(leaf.expr->symbol, self);
  return true;
}

// Replaces the dimensions of an extent by those of this call.
static byoc_status_t extent_at(const launch_t *a, byoc_dim_t extent, int64_t least, int64_t most, const char *what,
                               byoc_dim_t *out) {
  bool failed = false;
  *out = byoc_dim_replace(extent, put_dimension, (void *)(uintptr_t)a->call, &a->l->program->arena, &failed);
  if (failed) return byoc_diag_out_of_memory(a->l->diag);
  if (!byoc_dim_is_constant(*out)) return byoc_host_check_dim_bound(a->l, *out, a->call->callee->name);
  if (out->constant >= least && out->constant <= most) return BYOC_OK;
  return byoc_diag_error(a->l->diag, BYOC_INVALID_DATA, "%s of a kernel of function '%s' is %lld", what,
                         a->call->callee->name, (long long)out->constant);
}

// The index of a buffer among the instruction's operands or results; it is added if it is new.
static byoc_status_t find_or_push(const launch_t *a, byoc_host_instruction_t *i, bool is_result,
                                  byoc_host_buffer_t *buffer, uint32_t *out_index) {
  const size_t count = is_result ? i->results.count : i->operands.count;
  byoc_host_buffer_t *const *buffers = is_result ? i->results.data : i->operands.data;
  for (*out_index = 0; *out_index < count; ++*out_index) {
    if (buffers[*out_index] == buffer) return BYOC_OK;
  }
  return byoc_host_push(a->l, i, is_result, buffer);
}

static byoc_status_t number(const launch_t *a, const byoc_bound_argument_t *bound, byoc_host_argument_t *out) {
  const bool is_wide = bound->type == BYOC_C_I64;
  out->kind = is_wide ? BYOC_HOST_ARGUMENT_I64 : BYOC_HOST_ARGUMENT_I32;
  return extent_at(a, bound->value, is_wide ? INT64_MIN : INT32_MIN, is_wide ? INT64_MAX : INT32_MAX, "an argument",
                   &out->value);
}

// Memory of the device that lives as long as the launches need it.
static byoc_status_t make_memory(const launch_t *a, byoc_dim_t bytes, const char *name,
                                 byoc_host_buffer_t **out_buffer) {
  byoc_dim_t size;
  byoc_host_program_t *program = a->l->program;
  BYOC_RETURN_IF_ERROR(extent_at(a, bytes, 0, INT64_MAX, "the size of memory", &size));
  if (byoc_dim_is_constant(size) && size.constant == 0) size = byoc_dim_constant(1);
  const byoc_type_t *type = byoc_type_tensor(&program->arena, BYOC_DTYPE_U8, 1, &size);
  *out_buffer = type != NULL ? byoc_host_buffer_create(program, BYOC_HOST_BUFFER_LOCAL, name, type) : NULL;
  if (*out_buffer == NULL) return byoc_diag_out_of_memory(a->l->diag);
  return byoc_host_put_on_device(a->l, *out_buffer, &a->virtual_device);
}

// The first launch that has a temporary writes it.
static byoc_status_t temporary(const launch_t *a, byoc_host_instruction_t *i, uint32_t index,
                               byoc_host_argument_t *out) {
  byoc_host_buffer_t **buffer = &a->temporaries[index];
  if (*buffer == NULL) {
    BYOC_RETURN_IF_ERROR(make_memory(a, a->binding->launches->temporaries[index], "temporary", buffer));
    out->kind = BYOC_HOST_ARGUMENT_RESULT;
    return find_or_push(a, i, true, *buffer, &out->index);
  }
  for (size_t k = 0; k < i->results.count; ++k) { // of this launch, for the second time
    if (i->results.data[k] != *buffer) continue;
    out->kind = BYOC_HOST_ARGUMENT_RESULT;
    out->index = (uint32_t)k;
    return BYOC_OK;
  }
  out->kind = BYOC_HOST_ARGUMENT_OPERAND;
  return find_or_push(a, i, false, *buffer, &out->index);
}

static byoc_status_t argument(const launch_t *a, byoc_host_instruction_t *i, const byoc_bound_argument_t *bound,
                              scratch_role_t role, byoc_host_argument_t *out) {
  *out = (byoc_host_argument_t){.offset_bytes = bound->offset_bytes, .value = bound->value, .real = bound->real};
  switch (bound->kind) {
  case BYOC_KERNEL_ARGUMENT_RESULT:
    out->kind = BYOC_HOST_ARGUMENT_RESULT;
    return find_or_push(a, i, true, a->results[bound->index], &out->index);
  case BYOC_KERNEL_ARGUMENT_OPERAND:
    return find_or_push(a, i, false, a->operands[bound->index], &out->index);
  case BYOC_KERNEL_ARGUMENT_CONSTANT:
    return find_or_push(a, i, false, a->constants[bound->index], &out->index);
  case BYOC_KERNEL_ARGUMENT_TEMPORARY:
    return temporary(a, i, bound->index, out);
  case BYOC_KERNEL_ARGUMENT_SCRATCH:
    if (role != WORKSPACE) {
      out->kind = role == RESULT ? BYOC_HOST_ARGUMENT_RESULT : BYOC_HOST_ARGUMENT_OPERAND;
      return find_or_push(a, i, role == RESULT, a->scratch, &out->index);
    }
    out->kind = BYOC_HOST_ARGUMENT_SCRATCH;
    if (i->workspace == a->scratch || byoc_host_set_workspace(a->l->program, i, a->scratch)) return BYOC_OK;
    return byoc_diag_out_of_memory(a->l->diag);
  case BYOC_KERNEL_ARGUMENT_REAL:
    out->kind = bound->type == BYOC_C_F32 ? BYOC_HOST_ARGUMENT_F32 : BYOC_HOST_ARGUMENT_F64;
    return BYOC_OK;
  case BYOC_KERNEL_ARGUMENT_LOCAL:
    out->kind = BYOC_HOST_ARGUMENT_LOCAL;
    return BYOC_OK;
  default:
    return number(a, bound, out);
  }
}

static bool has_argument(const byoc_bound_launch_t *bound, uint32_t kind) {
  for (uint32_t k = 0; k < bound->argument_count; ++k) {
    if (bound->arguments[k].kind == kind) return true;
  }
  return false;
}

static scratch_role_t role_of_scratch(const launch_t *a, const byoc_bound_launch_t *bound) {
  const bool has_result = has_argument(bound, BYOC_KERNEL_ARGUMENT_RESULT);
  if (!a->is_shared && has_result) return WORKSPACE;
  return a->is_written && has_result ? OPERAND : RESULT;
}

static byoc_status_t append_launch(launch_t *a, const byoc_bound_launch_t *bound) {
  byoc_host_lowering_t *l = a->l;
  byoc_host_launch_t *launch = BYOC_ARENA_NEW(&l->program->arena, byoc_host_launch_t);
  byoc_host_argument_t *arguments =
      BYOC_ARENA_ARRAY(&l->program->arena, byoc_host_argument_t, (size_t)bound->argument_count + 1);
  byoc_host_instruction_t *i = NULL;
  const byoc_host_device_t *device = NULL;
  if (launch == NULL || arguments == NULL) return byoc_diag_out_of_memory(l->diag);
  BYOC_RETURN_IF_ERROR(device_of(l, &a->virtual_device, &device));
  BYOC_RETURN_IF_ERROR(byoc_host_append(l, BYOC_HOST_LAUNCH, a->call, &i));
  i->on.queue = byoc_host_queue_of(l, device);
  i->flops = -1;
  i->launch = launch;
  launch->module = bound->module->name;
  launch->entry = i->symbol = bound->entry;
  for (int axis = 0; axis < 3; ++axis) {
    BYOC_RETURN_IF_ERROR(extent_at(a, bound->grid[axis], 0, UINT32_MAX, "the grid", &launch->grid[axis]));
    BYOC_RETURN_IF_ERROR(extent_at(a, bound->block[axis], 1, UINT32_MAX, "the block", &launch->block[axis]));
  }
  const scratch_role_t role = role_of_scratch(a, bound);
  for (uint32_t k = 0; k < bound->argument_count; ++k) {
    BYOC_RETURN_IF_ERROR(argument(a, i, &bound->arguments[k], role, &arguments[k]));
  }
  a->is_written = a->is_written || has_argument(bound, BYOC_KERNEL_ARGUMENT_SCRATCH);
  launch->arguments = arguments;
  launch->argument_count = bound->argument_count;
  return BYOC_OK;
}

// Operands must be where the function runs; device planning sees to that.
static byoc_status_t check_device(const launch_t *a, const byoc_value_t *value, const byoc_host_buffer_t *buffer) {
  if (buffer->device != NULL && buffer->device->type == a->virtual_device.device_type) return BYOC_OK;
  return byoc_diag_error(a->l->diag, BYOC_INTERNAL, "value '%s' is not on the device of function '%s'",
                         value->name != NULL ? value->name : "", a->call->callee->name);
}

static byoc_status_t find_buffers(launch_t *a) {
  byoc_host_lowering_t *l = a->l;
  const byoc_node_t *call = a->call;
  byoc_arena_t *arena = &l->program->arena;
  a->operands = BYOC_ARENA_ARRAY(arena, byoc_host_buffer_t *, (size_t)call->operand_count + 1);
  a->results = BYOC_ARENA_ARRAY(arena, byoc_host_buffer_t *, (size_t)call->result_count + 1);
  a->constants = BYOC_ARENA_ARRAY(arena, byoc_host_buffer_t *, a->binding->constants.count + 1);
  a->temporaries = BYOC_ARENA_ARRAY(arena, byoc_host_buffer_t *, (size_t)a->binding->launches->temporary_count + 1);
  if (a->operands == NULL || a->results == NULL || a->constants == NULL || a->temporaries == NULL) {
    return byoc_diag_out_of_memory(l->diag);
  }
  for (uint32_t k = 0; k < call->operand_count; ++k) {
    BYOC_RETURN_IF_ERROR(byoc_host_buffer_of(l, call->operands[k], &a->operands[k]));
    BYOC_RETURN_IF_ERROR(check_device(a, call->operands[k], a->operands[k]));
  }
  for (size_t k = 0; k < a->binding->constants.count; ++k) {
    BYOC_RETURN_IF_ERROR(byoc_host_bound_constant(l, a->binding, k, &a->constants[k]));
    if (a->constants[k]->device == NULL)
      BYOC_RETURN_IF_ERROR(byoc_host_put_on_device(l, a->constants[k], &a->virtual_device));
  }
  for (uint32_t k = 0; k < call->result_count; ++k) {
    BYOC_RETURN_IF_ERROR(byoc_host_make_result(l, call->results[k], &a->results[k]));
    BYOC_RETURN_IF_ERROR(check_device(a, call->results[k], a->results[k]));
  }
  return BYOC_OK;
}

// A virtual device names the type of a device, not its driver, so that a type has one driver in a program.
static byoc_status_t check_driver(byoc_host_lowering_t *l, const byoc_node_t *node,
                                  const byoc_kernel_launches_t *launches) {
  const char *driver = find_driver(l->program->module, launches->device_type);
  const char *wanted = byoc_runtime_module_given_name(launches->driver);
  if (strcmp(driver, wanted) == 0) return BYOC_OK;
  return byoc_diag_error(l->diag, BYOC_UNSUPPORTED,
                         "function '%s' needs the driver '%s', and devices of type %d have the driver '%s' already",
                         node->callee->name, wanted, (int)launches->device_type, driver);
}

byoc_status_t byoc_host_lower_launches(byoc_host_lowering_t *l, const byoc_node_t *node,
                                       const byoc_runtime_module_t *binding) {
  const byoc_kernel_launches_t *launches = binding->launches;
  BYOC_RETURN_IF_ERROR(check_driver(l, node, launches));
  launch_t a = {.l = l,
                .call = node,
                .binding = binding,
                .virtual_device = {.device_type = launches->device_type, .device_id = 0}};
  if (node->result_count > 0) a.virtual_device.device_id = node->results[0]->device.device_id;
  BYOC_RETURN_IF_ERROR(find_buffers(&a));
  uint32_t users = 0;
  for (uint32_t k = 0; k < launches->launch_count; ++k) {
    if (has_argument(&launches->launches[k], BYOC_KERNEL_ARGUMENT_SCRATCH)) ++users;
  }
  a.is_shared = users > 1;
  if (users > 0) BYOC_RETURN_IF_ERROR(make_memory(&a, launches->scratch_bytes, "scratch", &a.scratch));
  for (uint32_t k = 0; k < launches->launch_count; ++k) {
    BYOC_RETURN_IF_ERROR(append_launch(&a, &launches->launches[k]));
  }
  return BYOC_OK;
}

// ---- copies ----

// A constant is uploaded once, by the context.
static byoc_status_t upload_constant(byoc_host_lowering_t *l, const byoc_node_t *node) {
  byoc_constant_t *constant = node->operands[0]->constant;
  byoc_value_t *result = node->results[0];
  byoc_host_buffer_t *buffer =
      byoc_host_buffer_create(l->program, BYOC_HOST_BUFFER_CONSTANT, constant->name, constant->type);
  BYOC_RETURN_IF_ERROR(byoc_host_set_buffer(l, result, buffer));
  buffer->constant = constant;
  buffer->data = constant->data;
  return byoc_host_put_on_device(l, buffer, &result->device);
}

static byoc_status_t append_copy(byoc_host_lowering_t *l, const byoc_node_t *node, byoc_host_buffer_t *from,
                                 byoc_host_buffer_t *to) {
  byoc_host_instruction_t *copy = NULL;
  BYOC_RETURN_IF_ERROR(byoc_host_append(l, BYOC_HOST_COPY, node, &copy));
  BYOC_RETURN_IF_ERROR(byoc_host_push(l, copy, false, from));
  BYOC_RETURN_IF_ERROR(byoc_host_push(l, copy, true, to));
  byoc_host_set_queue(l, copy);
  return BYOC_OK;
}

byoc_status_t byoc_host_lower_device_copy(byoc_host_lowering_t *l, const byoc_node_t *node) {
  byoc_host_buffer_t *from = NULL, *to = NULL;
  if (byoc_value_is_constant(node->operands[0]) && byoc_host_is_on_device(node->results[0])) {
    return upload_constant(l, node);
  }
  BYOC_RETURN_IF_ERROR(byoc_host_buffer_of(l, node->operands[0], &from));
  BYOC_RETURN_IF_ERROR(byoc_host_make_result(l, node->results[0], &to));
  if (from->device == NULL || to->device == NULL || from->device == to->device) return append_copy(l, node, from, to);
  // Two devices meet on the host.
  byoc_host_buffer_t *between = byoc_host_buffer_create(l->program, BYOC_HOST_BUFFER_LOCAL, from->name, from->type);
  if (between == NULL) return byoc_diag_out_of_memory(l->diag);
  BYOC_RETURN_IF_ERROR(append_copy(l, node, from, between));
  return append_copy(l, node, between, to);
}
