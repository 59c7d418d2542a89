// SPDX-License-Identifier: Apache-2.0
// Prints the kernels, constants, signatures and runtime modules that a host program refers to, and their bytes.
#include <inttypes.h>
#include <string.h>

#include "core/base/hash.h"
#include "core/hostir/text/text_internal.h"
#include "core/ir/base64.h"
#include "core/ir/loop_text.h"
#include "core/ir/text_names.h"
#include "core/ir/text_parts.h"

const byoc_host_text_field_t byoc_host_text_fields[BYOC_HOST_TEXT_FIELD_COUNT] = {
    {"given_name", offsetof(byoc_runtime_module_t, given_name)},
    {"source", offsetof(byoc_runtime_module_t, source)},
    {"compiler", offsetof(byoc_runtime_module_t, compiler)},
    {"setup", offsetof(byoc_runtime_module_t, setup_symbol)},
    {"engine_symbol", offsetof(byoc_runtime_module_t, engine_symbol)},
    {"function", offsetof(byoc_runtime_module_t, function_name)},
    {"packed_symbol", offsetof(byoc_runtime_module_t, packed_symbol)},
    {"engine", offsetof(byoc_runtime_module_t, engine_name)},
    {"json", offsetof(byoc_runtime_module_t, json)},
    {"driver_symbol", offsetof(byoc_runtime_module_t, driver_symbol)},
    {"driver", offsetof(byoc_runtime_module_t, driver_name)},
    {"fits", offsetof(byoc_runtime_module_t, fits)},
    {"options", offsetof(byoc_runtime_module_t, runtime_options)},
};

const char *const byoc_host_code_words[BYOC_DEVICE_CODE_SOURCE + 1] = {[BYOC_DEVICE_CODE_BINARY] = "binary",
                                                                       [BYOC_DEVICE_CODE_PORTABLE] = "portable",
                                                                       [BYOC_DEVICE_CODE_SOURCE] = "source"};

static void print_quoted(const char *text, byoc_string_t *out) {
  byoc_text_print_quoted(text, strlen(text), out);
}

// ---- bytes ----

static bool goes_into_file(const byoc_host_printer_t *printer, size_t size_bytes) {
  return printer->options.data != NULL && size_bytes > BYOC_HOST_INLINE_BYTES;
}

// Puts the bytes into the data file, unless they are there, and returns their offset.
static uint64_t place(byoc_host_data_t *file, const void *data, size_t size_bytes, const char digits[33]) {
  static const uint8_t zeros[BYOC_BUFFER_ALIGNMENT];
  char key[64];
  snprintf(key, sizeof(key), "%s-%zu", digits, size_bytes);
  uintptr_t known = (uintptr_t)byoc_string_map_get(&file->offsets, key);
  if (known != 0) return known - 1;
  const size_t padding = (size_t)(-file->size_bytes % BYOC_BUFFER_ALIGNMENT);
  const uint64_t offset = file->size_bytes + padding;
  file->failed = file->failed || !byoc_vector_push(&file->parts, file->allocator, (byoc_bytes_t){zeros, padding}) ||
                 !byoc_vector_push(&file->parts, file->allocator, (byoc_bytes_t){data, size_bytes}) ||
                 !byoc_string_map_put(&file->offsets, key, (void *)((uintptr_t)offset + 1));
  file->size_bytes = offset + size_bytes;
  return offset;
}

static void print_file_part(byoc_host_printer_t *printer, const void *data, size_t size_bytes) {
  char digits[33];
  byoc_content_hash_format(byoc_content_hash(data, size_bytes), digits);
  const uint64_t offset = place(printer->options.data, data, size_bytes, digits);
  byoc_string_appendf(printer->out, "file %" PRIu64 " %zu \"%s\"", offset, size_bytes, digits);
}

// Prints bytes: in place, as a part of the data file, or elided.
static void print_bytes(byoc_host_printer_t *printer, const void *data, size_t size_bytes) {
  if (printer->options.elide_bytes > 0 && size_bytes > printer->options.elide_bytes) {
    byoc_string_append(printer->out, "elided");
  } else if (goes_into_file(printer, size_bytes)) {
    print_file_part(printer, data, size_bytes);
  } else {
    byoc_string_append(printer->out, "base64 \"");
    byoc_base64_append(printer->out, data, size_bytes);
    byoc_string_append(printer->out, "\"");
  }
}

void byoc_host_print_tensor(byoc_host_printer_t *printer, const byoc_type_t *type, const void *data,
                            size_t size_bytes) {
  if (goes_into_file(printer, size_bytes) && printer->options.elide_bytes == 0 && type->dtype != BYOC_DTYPE_STRING) {
    print_file_part(printer, data, size_bytes);
    return;
  }
  const byoc_constant_t constant = {.type = type, .data = data, .size_bytes = size_bytes};
  const byoc_print_options_t options = {.elide_bytes = printer->options.elide_bytes};
  byoc_constant_print_data(&constant, &options, printer->out);
}

static void print_text(byoc_host_printer_t *printer, const char *text) {
  const size_t size = strlen(text);
  if (size > BYOC_HOST_INLINE_BYTES && (goes_into_file(printer, size) || printer->options.elide_bytes > 0)) {
    print_bytes(printer, text, size);
  } else {
    print_quoted(text, printer->out);
  }
}

// ---- kernels, constants, functions ----

static void print_kernel(const byoc_loop_kernel_t *kernel, byoc_string_t *out) {
  byoc_string_append(out, "\nkernel ");
  for (uint32_t r = 0; r < BYOC_LOOP_OVERWRITING; ++r) {
    const char *separator = "over ";
    for (uint32_t i = 0; i < 64; ++i) {
      if (!byoc_loop_overwrites(kernel, i, r)) continue;
      byoc_string_appendf(out, "%s%u", separator, i);
      separator = ", ";
    }
    if (kernel->overwritten[r] != 0 && r > 0) byoc_string_appendf(out, " by %u", r);
    if (kernel->overwritten[r] != 0) byoc_string_append(out, " ");
  }
  byoc_loop_kernel_print_at(kernel, 0, out);
  byoc_string_append(out, "\n");
}

// Constants in the order of the buffers that stand for them; several buffers may stand for one.
static void print_constants(byoc_host_printer_t *printer, byoc_map_t *seen) {
  for (size_t i = 0; i < printer->program->buffers.count; ++i) {
    const byoc_constant_t *constant = printer->program->buffers.data[i]->constant;
    if (constant == NULL || byoc_pointer_map_find(seen, constant) != NULL) continue;
    if (!byoc_pointer_map_put(seen, constant, NULL)) printer->out->failed = true;
    byoc_string_append(printer->out, "\nconstant ");
    byoc_text_print_name('@', constant->name, printer->out);
    byoc_string_append(printer->out, " : ");
    byoc_type_print(constant->type, printer->out);
    byoc_string_append(printer->out, " = ");
    byoc_host_print_tensor(printer, constant->type, constant->data, constant->size_bytes);
    byoc_string_append(printer->out, "\n");
  }
}

static void print_types(byoc_value_t *const *values, size_t count, byoc_string_t *out) {
  byoc_string_append(out, "(");
  for (size_t i = 0; i < count; ++i) {
    if (i > 0) byoc_string_append(out, ", ");
    byoc_type_print(values[i]->type != NULL ? values[i]->type : byoc_type_unknown(), out);
  }
  byoc_string_append(out, ")");
}

static void print_functions(byoc_host_printer_t *printer, byoc_map_t *seen) {
  BYOC_HOST_FOR_EACH(i, printer->program) {
    const byoc_function_t *function = i->op != BYOC_HOST_KERNEL ? i->function : NULL;
    if (function == NULL || byoc_pointer_map_find(seen, function) != NULL) continue;
    if (!byoc_pointer_map_put(seen, function, NULL)) printer->out->failed = true;
    byoc_string_append(printer->out, "\nfunction ");
    byoc_text_print_name('@', function->name, printer->out);
    print_types(function->body->parameters.data, function->body->parameters.count, printer->out);
    byoc_string_append(printer->out, " -> ");
    print_types(function->body->results.data, function->body->results.count, printer->out);
    byoc_string_append(printer->out, "\n");
  }
}

// ---- runtime modules ----

static void print_field(const char *name, const char *text, byoc_string_t *out) {
  byoc_string_appendf(out, "  %s ", name);
  print_quoted(text, out);
  byoc_string_append(out, "\n");
}

static void print_files(byoc_host_printer_t *printer, const char *name, const byoc_file_bytes_t *files, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    byoc_string_appendf(printer->out, "  %s ", name);
    print_quoted(files[i].name, printer->out);
    byoc_string_append(printer->out, " ");
    print_bytes(printer, files[i].data, files[i].size_bytes);
    byoc_string_append(printer->out, "\n");
  }
}

// code binary "cubin" for "sm_90" options "-v" BYTES
static void print_variant(byoc_host_printer_t *printer, const byoc_device_form_t *form) {
  byoc_string_appendf(printer->out, "  code %s ", byoc_host_code_words[form->kind]);
  print_quoted(form->format, printer->out);
  if (form->kind == BYOC_DEVICE_CODE_BINARY) {
    byoc_string_append(printer->out, " for ");
    print_quoted(form->architecture, printer->out);
  }
  if (form->options[0] != '\0') {
    byoc_string_append(printer->out, " options ");
    print_quoted(form->options, printer->out);
  }
  byoc_string_append(printer->out, " ");
  print_bytes(printer, form->data, form->size_bytes);
  byoc_string_append(printer->out, "\n");
}

static void print_module(byoc_host_printer_t *printer, const byoc_runtime_module_t *module) {
  byoc_string_t *out = printer->out;
  byoc_string_appendf(out, "\nmodule %s ", byoc_runtime_module_kind_name(module->kind));
  print_quoted(module->name, out);
  byoc_string_append(out, " of ");
  print_quoted(module->target, out);
  byoc_string_append(out, " {\n");
  for (size_t i = 0; i < BYOC_HOST_TEXT_FIELD_COUNT; ++i) {
    const char *text = NULL;
    memcpy(&text, (const char *)module + byoc_host_text_fields[i].offset, sizeof(text));
    if (text == NULL) continue;
    byoc_string_appendf(out, "  %s ", byoc_host_text_fields[i].name);
    print_text(printer, text);
    byoc_string_append(out, "\n");
  }
  for (size_t i = 0; i < module->users.count; ++i) print_field("user", module->users.data[i], out);
  for (size_t i = 0; i < module->symbols.count; ++i) print_field("symbol", module->symbols.data[i], out);
  for (size_t i = 0; i < module->flags.count; ++i) print_field("flag", module->flags.data[i], out);
  for (size_t i = 0; i < module->needed.count; ++i) print_field("needed", module->needed.data[i], out);
  for (size_t i = 0; i < module->search.count; ++i) print_field("search", module->search.data[i], out);
  for (size_t i = 0; i < module->imports.count; ++i) print_field("import", module->imports.data[i]->name, out);
  print_files(printer, "file", module->files.data, module->files.count);
  print_files(printer, "blob", module->blobs.data, module->blobs.count);
  for (size_t i = 0; i < module->entries.count; ++i) print_field("entry", module->entries.data[i], out);
  for (size_t i = 0; i < module->variants.count; ++i) print_variant(printer, &module->variants.data[i]);
  for (size_t i = 0; i < module->constants.count; ++i) {
    const byoc_bound_constant_t *constant = &module->constants.data[i];
    byoc_string_append(out, "  constant : ");
    byoc_type_print(constant->type, out);
    byoc_string_append(out, " = ");
    byoc_host_print_tensor(printer, constant->type, constant->data, constant->size_bytes);
    byoc_string_append(out, "\n");
  }
  if (module->workspace_size_bytes > 0) {
    byoc_string_appendf(out, "  workspace %" PRIu64 "\n", module->workspace_size_bytes);
  }
  byoc_string_append(out, "}\n");
}

// The imports of a module are printed behind it, unless they were printed before.
static void print_module_once(byoc_host_printer_t *printer, byoc_map_t *seen, const byoc_runtime_module_t *module) {
  if (byoc_pointer_map_find(seen, module) != NULL) return;
  if (!byoc_pointer_map_put(seen, module, NULL)) printer->out->failed = true;
  if (printer->out->failed) return;
  print_module(printer, module);
}

static void print_imports(byoc_host_printer_t *printer, byoc_map_t *seen, const byoc_runtime_module_t *module) {
  for (size_t i = 0; i < module->imports.count && !printer->out->failed; ++i) {
    print_module_once(printer, seen, module->imports.data[i]);
    print_imports(printer, seen, module->imports.data[i]);
  }
}

// The graph module's, in order of production; then those that only the program knows.
static void print_modules(byoc_host_printer_t *printer, byoc_map_t *seen) {
  const byoc_host_program_t *program = printer->program;
  for (size_t i = 0; program->module != NULL && i < program->module->runtime_modules.count; ++i) {
    print_module_once(printer, seen, program->module->runtime_modules.data[i]);
  }
  for (size_t i = 0; i < program->libraries.count; ++i) print_module_once(printer, seen, program->libraries.data[i]);
  for (size_t i = 0; i < program->engines.count; ++i) {
    const byoc_host_engine_t *engine = &program->engines.data[i];
    print_module_once(printer, seen, engine->engine);
    for (size_t f = 0; f < engine->functions.count; ++f) print_module_once(printer, seen, engine->functions.data[f]);
  }
  const size_t listed = seen->count;
  for (size_t i = 0; i < listed; ++i) print_imports(printer, seen, seen->entries[i].pointer);
}

void byoc_host_print_parts(byoc_host_printer_t *printer) {
  byoc_map_t seen;
  byoc_pointer_map_init(&seen, printer->out->allocator);
  for (size_t i = 0; i < printer->program->kernels.count; ++i) {
    print_kernel(printer->program->kernels.data[i], printer->out);
  }
  print_constants(printer, &seen);
  byoc_map_clear(&seen);
  print_functions(printer, &seen);
  byoc_map_clear(&seen);
  print_modules(printer, &seen);
  byoc_map_deinit(&seen);
}
