// SPDX-License-Identifier: Apache-2.0
// Drivers, device code and launches of functions that a codegen session gets.
#include <string.h>

#include "core/ir/attribute_names.h"
#include "core/module/extent.h"
#include "core/module/kernels.h"
#include "core/module/linkage.h"
#include "core/plugin/abi.h"
#include "core/plugin/session.h"
#include "core/runtime/fit.h"

enum {
  MAX_NAME_BYTES = 480,
  MAX_TEXT_BYTES = 4096,
  MAX_VARIANTS = 4096,
  MAX_ENTRIES = 1 << 20,
  MAX_LAUNCHES = 1 << 16,
  MAX_ARGUMENTS = 1 << 12,
  MAX_TEMPORARIES = 1 << 16,
};

// Finds a module of this run or an earlier one, by its backend's name for it. Drivers of any target are found; device
// modules belong to their target.
static byoc_runtime_module_t *find_module(const byoc_codegen_t *session, byoc_runtime_module_kind_t kind,
                                          const char *name) {
  const size_t earlier = byoc_session_earlier_count(session);
  for (size_t i = 0; i < earlier + session->made.count; ++i) {
    byoc_runtime_module_t *module =
        i < earlier ? session->module->runtime_modules.data[i] : session->made.data[i - earlier];
    if (module->kind != kind || strcmp(byoc_runtime_module_given_name(module), name) != 0) continue;
    const bool is_own = i >= earlier || byoc_runtime_module_serves(module, session->target->text);
    if (is_own || kind == BYOC_RUNTIME_MODULE_DRIVER) return module;
  }
  return NULL;
}

// ---- drivers ----

static byoc_status_t check_driver_table(const byoc_driver_t *driver, const char *name, byoc_diag_t *diag) {
  if (driver == NULL) return BYOC_OK;
  BYOC_RETURN_IF_ERROR(
      byoc_abi_check_table(driver, byoc_abi_of(byoc_driver_t), BYOC_DRIVER_ABI_VERSION, "its table", diag));
  if (strcmp(driver->name, name) == 0) return BYOC_OK;
  return byoc_diag_error(diag, BYOC_INVALID_DATA, "its table says that its name is '%.64s'", driver->name);
}

static byoc_status_t fill_driver(byoc_codegen_t *session, byoc_runtime_module_t *module,
                                 const byoc_driver_module_t *driver, const char *name, byoc_diag_t *diag) {
  bool is_filled = false;
  if (driver->file_count > MAX_ENTRIES) return byoc_diag_error(diag, BYOC_INVALID_ARGUMENT, "it has too many files");
  BYOC_RETURN_IF_ERROR(byoc_abi_copy_string(driver->symbol, "its symbol", MAX_NAME_BYTES, false, &module->arena, diag,
                                            &module->driver_symbol));
  BYOC_RETURN_IF_ERROR(byoc_runtime_module_add_symbol(module, module->driver_symbol, diag));
  BYOC_RETURN_IF_ERROR(
      byoc_session_fill_code(session, module, "driver", name, driver->file_count > 0, diag, &is_filled));
  if (!is_filled && driver->file_count == 0) return byoc_diag_error(diag, BYOC_INVALID_ARGUMENT, "it has no files");
  if (!is_filled) {
    BYOC_RETURN_IF_ERROR(
        byoc_session_add_files(session, module, driver->files, driver->file_count, driver->file_stride, false, diag));
    BYOC_RETURN_IF_ERROR(byoc_session_add_needed(module, driver->needed, diag));
  }
  BYOC_RETURN_IF_ERROR(check_driver_table(driver->in_process, name, diag));
  module->driver = driver->in_process;
  return byoc_runtime_module_check_symbols(module, diag);
}

byoc_status_t byoc_session_add_driver(byoc_codegen_t *session, const byoc_driver_module_t *driver, byoc_diag_t *diag) {
  const char *name = NULL;
  BYOC_RETURN_IF_ERROR(
      byoc_abi_copy_string(driver->name, "its name", MAX_NAME_BYTES, false, &session->arena, diag, &name));
  if (strcmp(name, "host") == 0) {
    return byoc_diag_error(diag, BYOC_ALREADY_EXISTS, "the host's processor has this name");
  }
  const byoc_runtime_module_t *known = find_module(session, BYOC_RUNTIME_MODULE_DRIVER, name);
  byoc_runtime_module_t *module = NULL;
  BYOC_RETURN_IF_ERROR(byoc_session_create_module(session, BYOC_RUNTIME_MODULE_DRIVER, name, diag, &module));
  const size_t made = session->made.count;
  BYOC_RETURN_IF_ERROR(
      byoc_session_end_shared(session, module, fill_driver(session, module, driver, name, diag), diag));
  if (known == NULL || session->made.count == made) return BYOC_OK;
  return byoc_diag_error(diag, BYOC_ALREADY_EXISTS, "target '%s' added another driver of this name", known->target);
}

// ---- code ----

static byoc_status_t add_variant(byoc_codegen_t *session, byoc_runtime_module_t *module,
                                 const byoc_device_code_module_t *code, uint32_t index, byoc_diag_t *diag) {
  byoc_device_variant_t read;
  BYOC_RETURN_IF_ERROR(byoc_abi_read_at(code->variants, code->variant_stride, index, byoc_abi_of(byoc_device_variant_t),
                                        "a variant", &read, diag));
  if (read.kind < BYOC_DEVICE_CODE_BINARY || read.kind > BYOC_DEVICE_CODE_SOURCE) {
    return byoc_diag_error(diag, BYOC_INVALID_ARGUMENT, "variant %u is of the unknown kind %u", (unsigned)index,
                           (unsigned)read.kind);
  }
  if (read.data == NULL || read.size_bytes == 0) {
    return byoc_diag_error(diag, BYOC_INVALID_ARGUMENT, "variant %u is empty", (unsigned)index);
  }
  if (read.size_bytes >= SIZE_MAX) return byoc_diag_out_of_memory(diag);
  const bool is_binary = read.kind == BYOC_DEVICE_CODE_BINARY;
  if (is_binary != (read.architecture != NULL)) {
    return byoc_diag_error(diag, BYOC_INVALID_ARGUMENT,
                           is_binary ? "variant %u is binary and names no architecture"
                                     : "variant %u names an architecture and is not binary",
                           (unsigned)index);
  }
  byoc_device_form_t form = {.kind = read.kind, .data = read.data, .size_bytes = (size_t)read.size_bytes};
  BYOC_RETURN_IF_ERROR(byoc_abi_copy_string(read.format, "a variant's format", MAX_NAME_BYTES, false, &session->arena,
                                            diag, &form.format));
  BYOC_RETURN_IF_ERROR(byoc_abi_copy_string(read.architecture, "a variant's architecture", MAX_NAME_BYTES, true,
                                            &session->arena, diag, &form.architecture));
  BYOC_RETURN_IF_ERROR(byoc_abi_copy_string(read.options, "a variant's options", MAX_TEXT_BYTES, true, &session->arena,
                                            diag, &form.options));
  return byoc_runtime_module_add_variant(module, &form, diag);
}

static byoc_status_t fill_device_module(byoc_codegen_t *session, byoc_runtime_module_t *module,
                                        const byoc_device_code_module_t *code, byoc_diag_t *diag) {
  BYOC_RETURN_IF_ERROR(byoc_abi_copy_string(code->driver, "its driver's name", MAX_NAME_BYTES, false, &module->arena,
                                            diag, &module->driver_name));
  byoc_runtime_module_t *driver = find_module(session, BYOC_RUNTIME_MODULE_DRIVER, module->driver_name);
  if (driver == NULL) {
    return byoc_diag_error(diag, BYOC_NOT_FOUND, "its driver '%s' was not added", module->driver_name);
  }
  BYOC_RETURN_IF_ERROR(byoc_session_copy_fits(code->fits, module, diag));
  const bool can_fit = driver->driver == NULL || byoc_driver_can_fit(driver->driver);
  BYOC_RETURN_IF_ERROR(byoc_session_check_fits(module, "driver", module->driver_name, can_fit, diag));
  BYOC_RETURN_IF_ERROR(byoc_runtime_module_import(module, driver, diag));
  if (code->variant_count == 0) return byoc_diag_error(diag, BYOC_INVALID_ARGUMENT, "it has no variants");
  if (code->entries.count == 0) return byoc_diag_error(diag, BYOC_INVALID_ARGUMENT, "it has no entries");
  if (code->variant_count > MAX_VARIANTS) {
    return byoc_diag_error(diag, BYOC_INVALID_ARGUMENT, "it has more than %d variants", MAX_VARIANTS);
  }
  for (uint32_t i = 0; i < code->variant_count; ++i) {
    BYOC_RETURN_IF_ERROR(add_variant(session, module, code, i, diag));
  }
  byoc_text_list_t entries;
  BYOC_RETURN_IF_ERROR(byoc_abi_copy_strings(code->entries, "its entries", MAX_NAME_BYTES, MAX_ENTRIES, &session->arena,
                                             diag, &entries));
  for (uint64_t i = 0; i < entries.count; ++i) {
    BYOC_RETURN_IF_ERROR(byoc_runtime_module_add_entry(module, entries.items[i], diag));
  }
  return BYOC_OK;
}

byoc_status_t byoc_session_add_device_module(byoc_codegen_t *session, const byoc_device_code_module_t *code,
                                             byoc_diag_t *diag) {
  const char *name = NULL;
  BYOC_RETURN_IF_ERROR(
      byoc_abi_copy_string(code->name, "its name", MAX_NAME_BYTES, false, &session->arena, diag, &name));
  const byoc_runtime_module_t *known = find_module(session, BYOC_RUNTIME_MODULE_DEVICE, name);
  byoc_runtime_module_t *module = NULL;
  BYOC_RETURN_IF_ERROR(byoc_session_create_module(session, BYOC_RUNTIME_MODULE_DEVICE, name, diag, &module));
  const size_t made = session->made.count;
  BYOC_RETURN_IF_ERROR(byoc_session_end_shared(session, module, fill_device_module(session, module, code, diag), diag));
  if (known == NULL || session->made.count == made) return BYOC_OK;
  return byoc_diag_error(diag, BYOC_ALREADY_EXISTS, "this backend has another device module of this name");
}

// ---- launches ----

// The state while a binding is read.
typedef struct binding_t {
  byoc_codegen_t *session;
  const byoc_function_t *function;
  byoc_runtime_module_t *module;
  byoc_kernel_launches_t *launches;
  bool has_scratch;
  bool *is_written; // by result, then by temporary: it is an argument of a launch
  byoc_diag_t *diag;
} binding_t;

static byoc_status_t read_extent(binding_t *b, const char *text, byoc_dim_t *out) {
  const char *copy = NULL;
  BYOC_RETURN_IF_ERROR(
      byoc_abi_copy_string(text, "an extent", MAX_TEXT_BYTES, false, &b->session->arena, b->diag, &copy));
  return byoc_extent_parse(copy, b->function, &b->module->arena, b->diag, out);
}

// A launch runs nothing if it has a negative or no work-item in a work-group.
static byoc_status_t read_extents(binding_t *b, const char *const texts[3], int64_t least, const char *what,
                                  byoc_dim_t out[3]) {
  for (int axis = 0; axis < 3; ++axis) {
    out[axis] = byoc_dim_constant(1);
    if (texts[axis] == NULL) continue;
    BYOC_RETURN_IF_ERROR(read_extent(b, texts[axis], &out[axis]));
    if (!byoc_dim_is_constant(out[axis]) || (out[axis].constant >= least && out[axis].constant <= UINT32_MAX)) continue;
    return byoc_diag_error(b->diag, BYOC_INVALID_ARGUMENT, "the %s is %lld along axis %d", what,
                           (long long)out[axis].constant, axis);
  }
  return BYOC_OK;
}

static byoc_status_t check_index(const binding_t *b, const byoc_kernel_argument_t *argument, byoc_diag_t *diag) {
  static const char *const names[] = {[BYOC_KERNEL_ARGUMENT_OPERAND] = "operand",
                                      [BYOC_KERNEL_ARGUMENT_RESULT] = "result",
                                      [BYOC_KERNEL_ARGUMENT_CONSTANT] = "constant"};
  const byoc_block_t *body = b->function->body;
  const bool is_operand = argument->kind == BYOC_KERNEL_ARGUMENT_OPERAND;
  const bool is_constant = argument->kind == BYOC_KERNEL_ARGUMENT_CONSTANT;
  const size_t count = is_operand    ? body->parameters.count
                       : is_constant ? b->module->constants.count
                                     : body->results.count;
  const char *name = names[argument->kind];
  if (argument->index >= count) {
    return byoc_diag_error(diag, BYOC_INVALID_ARGUMENT, "there is no %s %u", name, (unsigned)argument->index);
  }
  const byoc_type_t *type = is_operand    ? body->parameters.data[argument->index]->type
                            : is_constant ? b->module->constants.data[argument->index].type
                                          : body->results.data[argument->index]->type;
  const int64_t size_bytes = byoc_type_is_tensor(type) ? byoc_type_size_bytes(type) : -1;
  if (size_bytes >= 0 && argument->offset_bytes > (uint64_t)size_bytes) {
    return byoc_diag_error(diag, BYOC_INVALID_ARGUMENT, "offset %llu is beyond the %lld bytes of %s %u",
                           (unsigned long long)argument->offset_bytes, (long long)size_bytes, name,
                           (unsigned)argument->index);
  }
  return BYOC_OK;
}

static byoc_status_t check_type(const byoc_kernel_argument_t *argument, uint32_t narrow, uint32_t wide,
                                const char *texts, byoc_diag_t *diag) {
  if (argument->type == narrow || argument->type == wide) return BYOC_OK;
  return byoc_diag_error(diag, BYOC_INVALID_ARGUMENT, "its type is %u, not %s", (unsigned)argument->type, texts);
}

static byoc_status_t check_scratch(const binding_t *b, const byoc_kernel_argument_t *argument, byoc_diag_t *diag) {
  const byoc_dim_t size = b->launches->scratch_bytes;
  if (!b->has_scratch) return byoc_diag_error(diag, BYOC_INVALID_ARGUMENT, "the binding has no scratch memory");
  if (!byoc_dim_is_constant(size) || argument->offset_bytes <= (uint64_t)size.constant) return BYOC_OK;
  return byoc_diag_error(diag, BYOC_INVALID_ARGUMENT, "offset %llu is beyond the %lld bytes of scratch memory",
                         (unsigned long long)argument->offset_bytes, (long long)size.constant);
}

static byoc_status_t check_temporary(const binding_t *b, const byoc_kernel_argument_t *argument, byoc_diag_t *diag) {
  if (argument->index >= b->launches->temporary_count) {
    return byoc_diag_error(diag, BYOC_INVALID_ARGUMENT, "there is no temporary %u", (unsigned)argument->index);
  }
  const byoc_dim_t size = b->launches->temporaries[argument->index];
  if (!byoc_dim_is_constant(size) || argument->offset_bytes <= (uint64_t)size.constant) return BYOC_OK;
  return byoc_diag_error(diag, BYOC_INVALID_ARGUMENT, "offset %llu is beyond the %lld bytes of temporary %u",
                         (unsigned long long)argument->offset_bytes, (long long)size.constant,
                         (unsigned)argument->index);
}

static byoc_status_t check_integer(const byoc_kernel_argument_t *argument, byoc_diag_t *diag) {
  BYOC_RETURN_IF_ERROR(check_type(argument, BYOC_C_I32, BYOC_C_I64, "I32 or I64", diag));
  if (argument->kind != BYOC_KERNEL_ARGUMENT_INTEGER || argument->type == BYOC_C_I64) return BYOC_OK;
  if (argument->integer >= INT32_MIN && argument->integer <= INT32_MAX) return BYOC_OK;
  return byoc_diag_error(diag, BYOC_INVALID_ARGUMENT, "%lld does not fit into I32", (long long)argument->integer);
}

static byoc_status_t read_argument(binding_t *b, const byoc_kernel_argument_t *given, byoc_bound_argument_t *out) {
  *out = (byoc_bound_argument_t){.kind = given->kind,
                                 .type = given->type,
                                 .index = given->index,
                                 .value = byoc_dim_constant(given->integer),
                                 .real = given->real,
                                 .offset_bytes = given->offset_bytes};
  switch (given->kind) {
  case BYOC_KERNEL_ARGUMENT_RESULT:
  case BYOC_KERNEL_ARGUMENT_OPERAND:
  case BYOC_KERNEL_ARGUMENT_CONSTANT:
    BYOC_RETURN_IF_ERROR(check_index(b, given, b->diag));
    return BYOC_OK;
  case BYOC_KERNEL_ARGUMENT_TEMPORARY:
    return check_temporary(b, given, b->diag);
  case BYOC_KERNEL_ARGUMENT_SCRATCH:
    return check_scratch(b, given, b->diag);
  case BYOC_KERNEL_ARGUMENT_EXTENT:
    BYOC_RETURN_IF_ERROR(check_integer(given, b->diag));
    return read_extent(b, given->extent, &out->value);
  case BYOC_KERNEL_ARGUMENT_INTEGER:
    return check_integer(given, b->diag);
  case BYOC_KERNEL_ARGUMENT_REAL:
    return check_type(given, BYOC_C_F32, BYOC_C_F64, "F32 or F64", b->diag);
  case BYOC_KERNEL_ARGUMENT_LOCAL:
    if (given->integer > 0) return BYOC_OK;
    return byoc_diag_error(b->diag, BYOC_INVALID_ARGUMENT, "%lld bytes of local memory", (long long)given->integer);
  default:
    return byoc_diag_error(b->diag, BYOC_INVALID_ARGUMENT, "its kind %u is unknown", (unsigned)given->kind);
  }
}

// Records the tensors that the launch writes. False if there are none.
static bool note_written(binding_t *b, const byoc_bound_argument_t *arguments, uint32_t count) {
  const size_t results = b->function->body->results.count;
  bool writes = false;
  for (uint32_t i = 0; i < count; ++i) {
    const bool is_result = arguments[i].kind == BYOC_KERNEL_ARGUMENT_RESULT;
    const bool is_temporary = arguments[i].kind == BYOC_KERNEL_ARGUMENT_TEMPORARY;
    const size_t at = arguments[i].index + (is_temporary ? results : 0);
    writes = writes || arguments[i].kind == BYOC_KERNEL_ARGUMENT_SCRATCH || is_result ||
             (is_temporary && !b->is_written[at]);
    if (is_result || is_temporary) b->is_written[at] = true;
  }
  return writes;
}

static byoc_status_t read_arguments(binding_t *b, const byoc_kernel_launch_t *read, byoc_bound_launch_t *out) {
  if (read->argument_count > MAX_ARGUMENTS) {
    return byoc_diag_error(b->diag, BYOC_INVALID_ARGUMENT, "it has more than %d arguments", MAX_ARGUMENTS);
  }
  if (read->argument_count > 0 && (read->arguments == NULL || read->argument_stride < sizeof(*read->arguments))) {
    return byoc_diag_error(b->diag, BYOC_INVALID_DATA, "its arguments are NULL, or their stride is %u",
                           (unsigned)read->argument_stride);
  }
  byoc_bound_argument_t *arguments = BYOC_ARENA_ARRAY(&b->module->arena, byoc_bound_argument_t, read->argument_count);
  if (arguments == NULL) return byoc_diag_out_of_memory(b->diag);
  for (uint32_t i = 0; i < read->argument_count; ++i) {
    byoc_kernel_argument_t given;
    memcpy(&given, (const char *)read->arguments + (size_t)read->argument_stride * i, sizeof(given));
    BYOC_RETURN_IF_ERROR_IN(b->diag, read_argument(b, &given, &arguments[i]), "argument %u", (unsigned)i);
  }
  out->arguments = arguments;
  out->argument_count = read->argument_count;
  if (note_written(b, arguments, read->argument_count)) return BYOC_OK;
  return byoc_diag_error(b->diag, BYOC_INVALID_ARGUMENT,
                         "no result, scratch memory or new temporary is among its arguments, so that it writes "
                         "nothing");
}

static byoc_status_t read_launch(binding_t *b, const byoc_kernel_launch_t *read, byoc_bound_launch_t *out) {
  const char *name = NULL;
  byoc_arena_t *arena = &b->session->arena;
  BYOC_RETURN_IF_ERROR(
      byoc_abi_copy_string(read->module, "its device module's name", MAX_NAME_BYTES, false, arena, b->diag, &name));
  byoc_runtime_module_t *module = find_module(b->session, BYOC_RUNTIME_MODULE_DEVICE, name);
  if (module == NULL) {
    return byoc_diag_error(b->diag, BYOC_NOT_FOUND, "its device module '%s' was not added", name);
  }
  if (byoc_runtime_module_driver(module) != b->launches->driver) {
    return byoc_diag_error(b->diag, BYOC_INVALID_ARGUMENT, "its device module '%s' is for the driver '%s', not '%s'",
                           name, module->driver_name, byoc_runtime_module_given_name(b->launches->driver));
  }
  BYOC_RETURN_IF_ERROR(byoc_runtime_module_import(b->module, module, b->diag));
  BYOC_RETURN_IF_ERROR(byoc_abi_copy_string(read->entry, "its entry's name", MAX_NAME_BYTES, false, &b->module->arena,
                                            b->diag, &out->entry));
  if (!byoc_runtime_module_has_entry(module, out->entry)) {
    return byoc_diag_error(b->diag, BYOC_NOT_FOUND, "its device module '%s' has no entry '%s'", name, out->entry);
  }
  out->module = module;
  BYOC_RETURN_IF_ERROR(read_extents(b, read->grid, 0, "grid", out->grid));
  BYOC_RETURN_IF_ERROR(read_extents(b, read->block, 1, "block", out->block));
  return read_arguments(b, read, out);
}

static byoc_status_t read_scopes(binding_t *b, byoc_text_list_t scopes) {
  const size_t operands = b->function->body->parameters.count, results = b->function->body->results.count;
  const char **copies = BYOC_ARENA_ARRAY(&b->module->arena, const char *, operands + results);
  if (copies == NULL) return byoc_diag_out_of_memory(b->diag);
  b->launches->operand_scopes = copies;
  b->launches->result_scopes = copies + operands;
  if (scopes.count == 0) return BYOC_OK;
  if (scopes.count != operands + results || scopes.items == NULL) {
    return byoc_diag_error(b->diag, BYOC_INVALID_ARGUMENT, "%llu scopes for %zu operands and %zu results",
                           (unsigned long long)scopes.count, operands, results);
  }
  for (size_t i = 0; i < operands + results; ++i) {
    if (scopes.items[i] == NULL) continue;
    BYOC_RETURN_IF_ERROR(byoc_abi_copy_string(scopes.items[i], "a memory scope", MAX_NAME_BYTES, false,
                                              &b->module->arena, b->diag, &copies[i]));
  }
  return BYOC_OK;
}

static byoc_status_t read_size(binding_t *b, const char *text, const char *what, byoc_dim_t *out) {
  BYOC_RETURN_IF_ERROR(read_extent(b, text, out));
  if (!byoc_dim_is_constant(*out) || out->constant >= 0) return BYOC_OK;
  return byoc_diag_error(b->diag, BYOC_INVALID_ARGUMENT, "%s is %lld", what, (long long)out->constant);
}

static byoc_status_t read_scratch(binding_t *b, const char *text) {
  b->has_scratch = text != NULL;
  if (text == NULL) return BYOC_OK;
  BYOC_RETURN_IF_ERROR_IN(b->diag, read_size(b, text, "scratch_bytes", &b->launches->scratch_bytes), "scratch_bytes");
  return BYOC_OK;
}

static byoc_status_t read_temporaries(binding_t *b, byoc_text_list_t sizes) {
  if (sizes.count == 0) return BYOC_OK;
  if (sizes.count > MAX_TEMPORARIES || sizes.items == NULL) {
    return byoc_diag_error(b->diag, BYOC_INVALID_ARGUMENT, "it has %llu temporaries; there may be %d, with a size each",
                           (unsigned long long)sizes.count, MAX_TEMPORARIES);
  }
  byoc_dim_t *dims = BYOC_ARENA_ARRAY(&b->module->arena, byoc_dim_t, sizes.count);
  if (dims == NULL) return byoc_diag_out_of_memory(b->diag);
  for (uint32_t i = 0; i < sizes.count; ++i) {
    BYOC_RETURN_IF_ERROR_IN(b->diag, read_size(b, sizes.items[i], "the size", &dims[i]), "temporary %u", (unsigned)i);
  }
  b->launches->temporaries = dims;
  b->launches->temporary_count = (uint32_t)sizes.count;
  return BYOC_OK;
}

static byoc_status_t find_driver(binding_t *b) {
  const byoc_backend_t *backend = b->session->target->kind->backend;
  if (backend->driver == NULL || !byoc_target_runs_on_device(b->session->target)) {
    return byoc_diag_error(b->diag, BYOC_INVALID_ARGUMENT,
                           "its backend names no driver (byoc_backend_t.driver), so its functions run on the host");
  }
  b->launches->driver = find_module(b->session, BYOC_RUNTIME_MODULE_DRIVER, backend->driver);
  b->launches->device_type = backend->device_type;
  if (b->launches->driver != NULL) return BYOC_OK;
  return byoc_diag_error(b->diag, BYOC_NOT_FOUND, "the driver '%s' was not added", backend->driver);
}

static byoc_status_t fill_kernels(binding_t *b, const byoc_kernel_binding_t *binding) {
  byoc_arena_t *arena = &b->module->arena;
  b->module->function_name = byoc_arena_copy_string(arena, b->function->name);
  b->launches = BYOC_ARENA_NEW(arena, byoc_kernel_launches_t);
  if (b->module->function_name == NULL || b->launches == NULL) return byoc_diag_out_of_memory(b->diag);
  b->module->launches = b->launches;
  b->launches->scratch_bytes = byoc_dim_constant(0);
  BYOC_RETURN_IF_ERROR(find_driver(b));
  if (binding->launch_count == 0) return byoc_diag_error(b->diag, BYOC_INVALID_ARGUMENT, "it has no launches");
  if (binding->launch_count > MAX_LAUNCHES) {
    return byoc_diag_error(b->diag, BYOC_INVALID_ARGUMENT, "it has more than %d launches", MAX_LAUNCHES);
  }
  BYOC_RETURN_IF_ERROR(byoc_session_add_constants(b->session, b->module, binding->constants, binding->constant_count,
                                                  binding->constant_stride, b->diag));
  BYOC_RETURN_IF_ERROR(read_scratch(b, binding->scratch_bytes));
  BYOC_RETURN_IF_ERROR(read_temporaries(b, binding->temporaries));
  BYOC_RETURN_IF_ERROR(read_scopes(b, binding->scopes));
  const size_t written = b->function->body->results.count + b->launches->temporary_count;
  b->is_written = BYOC_ARENA_ARRAY(&b->session->arena, bool, written + 1);
  if (b->is_written == NULL) return byoc_diag_out_of_memory(b->diag);
  byoc_bound_launch_t *launches = BYOC_ARENA_ARRAY(arena, byoc_bound_launch_t, binding->launch_count);
  if (launches == NULL) return byoc_diag_out_of_memory(b->diag);
  for (uint32_t i = 0; i < binding->launch_count; ++i) {
    byoc_kernel_launch_t read;
    BYOC_RETURN_IF_ERROR(byoc_abi_read_at(binding->launches, binding->launch_stride, i,
                                          byoc_abi_of(byoc_kernel_launch_t), "a launch", &read, b->diag));
    BYOC_RETURN_IF_ERROR_IN(b->diag, read_launch(b, &read, &launches[i]), "launch %u", (unsigned)i);
  }
  b->launches->launches = launches;
  b->launches->launch_count = binding->launch_count;
  for (size_t r = 0; r < b->function->body->results.count; ++r) {
    if (b->is_written[r]) continue;
    return byoc_diag_error(b->diag, BYOC_INVALID_ARGUMENT, "result %zu is an argument of no launch", r);
  }
  return BYOC_OK;
}

byoc_status_t byoc_session_add_kernels(byoc_codegen_t *session, int64_t index, const byoc_kernel_binding_t *binding,
                                       byoc_diag_t *diag) {
  binding_t b = {.session = session, .function = session->functions[index], .diag = diag};
  BYOC_RETURN_IF_ERROR(byoc_session_create_module(session, BYOC_RUNTIME_MODULE_KERNELS, byoc_session_symbol(b.function),
                                                  diag, &b.module));
  return byoc_session_end_module(session, b.module, fill_kernels(&b, binding), diag);
}

// ---- virtual devices ----

// `device`: the device, without a scope.
static byoc_status_t assign_value(byoc_codegen_t *session, byoc_value_t *value, byoc_virtual_device_t device,
                                  const char *scope, byoc_diag_t *diag) {
  const char *copy = scope != NULL ? byoc_arena_copy_string(&session->module->arena, scope) : NULL;
  if (scope != NULL && copy == NULL) return byoc_diag_out_of_memory(diag);
  value->device = device;
  value->device.scope = copy;
  return BYOC_OK;
}

byoc_status_t byoc_session_place_boundaries(byoc_codegen_t *session, byoc_diag_t *diag) {
  for (size_t i = 0; i < session->made.count; ++i) {
    const byoc_kernel_launches_t *launches = session->made.data[i]->launches;
    if (launches == NULL) continue;
    const byoc_function_t *function = byoc_graph_module_find(session->module, session->made.data[i]->function_name);
    const byoc_block_t *body = function->body;
    const int64_t id = byoc_attributes_int(&function->attributes, BYOC_ATTRIBUTE_DEVICE_ID, 0);
    const byoc_virtual_device_t device = {.device_type = launches->device_type, .device_id = (int32_t)id};
    for (size_t k = 0; k < body->parameters.count; ++k) {
      BYOC_RETURN_IF_ERROR(assign_value(session, body->parameters.data[k], device, launches->operand_scopes[k], diag));
    }
    for (size_t k = 0; k < body->results.count; ++k) {
      BYOC_RETURN_IF_ERROR(assign_value(session, body->results.data[k], device, launches->result_scopes[k], diag));
    }
  }
  return BYOC_OK;
}
