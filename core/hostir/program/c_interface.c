// SPDX-License-Identifier: Apache-2.0
// Prepares and makes calls of C functions through libffi.
#include "core/hostir/program/c_interface.h"

#include <ffi.h>
#include <string.h>

// Storage for one argument's value.
typedef union c_value_t {
  int32_t i32;
  int64_t i64;
  float f32;
  double f64;
  void *pointer;
} c_value_t;

struct byoc_c_interface_t {
  byoc_allocator_t allocator;
  const byoc_c_call_t *call;
  void *address;
  ffi_cif cif;
  ffi_type **types;
  c_value_t *values;
  void **value_pointers;
};

static ffi_type *ffi_type_of(uint32_t type) {
  switch (type) {
  case BYOC_C_I32:
  case BYOC_C_STATUS:
    return &ffi_type_sint32;
  case BYOC_C_I64:
    return &ffi_type_sint64;
  case BYOC_C_F32:
    return &ffi_type_float;
  case BYOC_C_F64:
    return &ffi_type_double;
  case BYOC_C_POINTER:
    return &ffi_type_pointer;
  default:
    return &ffi_type_void;
  }
}

static c_value_t scalar_value(const byoc_c_argument_t *argument) {
  c_value_t value = {.pointer = NULL};
  switch (argument->type) {
  case BYOC_C_I32:
    value.i32 = (int32_t)argument->integer;
    break;
  case BYOC_C_I64:
    value.i64 = argument->integer;
    break;
  case BYOC_C_F32:
    value.f32 = (float)argument->real;
    break;
  case BYOC_C_F64:
    value.f64 = argument->real;
    break;
  default: // pointers are set before each call
    break;
  }
  return value;
}

byoc_status_t byoc_c_interface_create(const byoc_c_call_t *call, void *address, byoc_allocator_t allocator,
                                      byoc_diag_t *diag, byoc_c_interface_t **out_interface) {
  *out_interface = NULL;
  byoc_c_interface_t *c_interface = byoc_allocate(allocator, 1, sizeof(*c_interface));
  if (c_interface == NULL) return byoc_diag_out_of_memory(diag);
  uint32_t count = call->argument_count;
  c_interface->allocator = allocator;
  c_interface->call = call;
  c_interface->address = address;
  c_interface->types = byoc_allocate(allocator, count, sizeof(ffi_type *));
  c_interface->values = byoc_allocate(allocator, count, sizeof(c_value_t));
  c_interface->value_pointers = byoc_allocate(allocator, count, sizeof(void *));
  if (c_interface->types == NULL || c_interface->values == NULL || c_interface->value_pointers == NULL) {
    byoc_c_interface_destroy(c_interface);
    return byoc_diag_out_of_memory(diag);
  }
  for (uint32_t i = 0; i < count; ++i) {
    c_interface->types[i] = ffi_type_of(call->arguments[i].type);
    c_interface->values[i] = scalar_value(&call->arguments[i]);
    c_interface->value_pointers[i] = &c_interface->values[i];
  }
  if (ffi_prep_cif(&c_interface->cif, FFI_DEFAULT_ABI, count, ffi_type_of(call->return_type), c_interface->types) !=
      FFI_OK) {
    byoc_c_interface_destroy(c_interface);
    return byoc_diag_error(diag, BYOC_UNSUPPORTED, "libffi refuses the signature of '%s'", call->symbol);
  }
  *out_interface = c_interface;
  return BYOC_OK;
}

void byoc_c_interface_destroy(byoc_c_interface_t *c_interface) {
  if (c_interface == NULL) return;
  byoc_free(c_interface->allocator, c_interface->types);
  byoc_free(c_interface->allocator, c_interface->values);
  byoc_free(c_interface->allocator, c_interface->value_pointers);
  byoc_free(c_interface->allocator, c_interface);
}

byoc_status_t byoc_c_interface_call(byoc_c_interface_t *c_interface, const byoc_runtime_t *runtime,
                                    uint8_t *const *addresses, const byoc_host_instruction_t *instruction) {
  const byoc_c_call_t *call = c_interface->call;
  void (*function)(void);
  memcpy(&function, &c_interface->address, sizeof(function)); // ISO C has no cast from object to function pointer
  for (int64_t iteration = 0; iteration < call->repeat_count; ++iteration) {
    for (uint32_t i = 0; i < call->argument_count; ++i) {
      const byoc_c_argument_t *argument = &call->arguments[i];
      if (argument->kind == BYOC_C_ARGUMENT_RUNTIME) c_interface->values[i].pointer = (void *)(uintptr_t)runtime;
      bool is_operand = argument->kind == BYOC_C_ARGUMENT_OPERAND;
      if (!is_operand && argument->kind != BYOC_C_ARGUMENT_RESULT) continue;
      const byoc_host_buffer_t *buffer =
          (is_operand ? instruction->operands.data : instruction->results.data)[argument->index];
      c_interface->values[i].pointer =
          addresses[buffer->index] + argument->offset_bytes + iteration * argument->step_bytes;
    }
    ffi_arg returned = 0; // libffi widens small integers to this
    double wide[2] = {0.0, 0.0};
    bool is_status = call->return_type == BYOC_C_STATUS;
    ffi_call(&c_interface->cif, function, is_status ? (void *)&returned : (void *)wide, c_interface->value_pointers);
    if (is_status && (int32_t)returned != BYOC_OK) return (int32_t)returned;
  }
  return BYOC_OK;
}
