// SPDX-License-Identifier: Apache-2.0
// Puts kernels together to one source.
#include "module.h"

#include <stdlib.h>
#include <string.h>

void byoc_opencl_module_deinit(byoc_opencl_module_t *module) {
  byoc_plugin_string_deinit(&module->source);
  free(module->entries);
}

const char *byoc_opencl_module_entry_name(const byoc_opencl_module_t *module, uint32_t entry) {
  return module->entries[entry].name.text;
}

// The code behind the kernel's name.
static void add_definition(byoc_plugin_string_t *text, const byoc_opencl_kernel_t *kernel) {
  byoc_plugin_string_add(text, "(");
  for (uint32_t i = 0; i < kernel->argument_count; ++i) {
    const byoc_opencl_argument_t *argument = &kernel->arguments[i];
    byoc_opencl_name_t name = byoc_opencl_argument_name(argument, i);
    if (i > 0) byoc_plugin_string_add(text, ", ");
    if (argument->extent != NULL)
      byoc_plugin_string_add(text, "int %s", name.text);
    else
      byoc_plugin_string_add(text, "global %s%s *restrict %s", argument->is_written ? "" : "const ",
                             byoc_opencl_type_name(argument->dtype), name.text);
  }
  byoc_plugin_string_add(text, ") {\n");
  if (kernel->body.length > 0) byoc_plugin_string_add_bytes(text, kernel->body.data, kernel->body.length);
  byoc_plugin_string_add(text, "}\n\n");
}

bool byoc_opencl_module_add(byoc_opencl_module_t *module, const byoc_opencl_kernel_t *kernel, uint32_t *out_entry) {
  byoc_plugin_string_t text = {0};
  bool ok = false;
  *out_entry = 0;
  // The size of the work-group is a part of the kernel.
  add_definition(&text, kernel);
  if (!byoc_plugin_string_ok(&text)) goto cleanup;
  uint64_t hash = byoc_plugin_hash(BYOC_PLUGIN_HASH, text.data, text.length) + kernel->block;
  for (uint32_t i = 0; i < module->entry_count; ++i) {
    const byoc_opencl_entry_t *entry = &module->entries[i];
    bool is_same = entry->hash == hash && strcmp(entry->stem, kernel->stem) == 0 &&
                   entry->end - entry->begin == text.length &&
                   memcmp(module->source.data + entry->begin, text.data, text.length) == 0;
    if (!is_same) continue;
    *out_entry = i;
    ok = true;
    goto cleanup;
  }
  if (module->entry_count == module->entry_capacity) {
    uint32_t capacity = module->entry_capacity == 0 ? 32 : module->entry_capacity * 2;
    byoc_opencl_entry_t *entries = realloc(module->entries, capacity * sizeof(*entries));
    if (entries == NULL) goto cleanup;
    module->entries = entries;
    module->entry_capacity = capacity;
  }
  byoc_opencl_entry_t *entry = &module->entries[module->entry_count];
  *entry = (byoc_opencl_entry_t){.stem = kernel->stem, .hash = hash};
  entry->name = byoc_opencl_name("%s_%u", kernel->stem, module->entry_count);
  byoc_plugin_string_add(&module->source, "__attribute__((reqd_work_group_size(%u, 1, 1)))\nkernel void %s",
                         kernel->block, entry->name.text);
  entry->begin = module->source.length;
  byoc_plugin_string_add_bytes(&module->source, text.data, text.length);
  entry->end = module->source.length;
  *out_entry = module->entry_count++;
  ok = byoc_plugin_string_ok(&module->source);
cleanup:
  byoc_plugin_string_deinit(&text);
  return ok;
}
