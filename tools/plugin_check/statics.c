// SPDX-License-Identifier: Apache-2.0
// Compares the writable memory of a loaded artifact before and after a run.
#define _GNU_SOURCE
#include "tools/plugin_check/statics.h"

#include <dlfcn.h>
#include <link.h>
#include <string.h>

enum { MOST_PARTS = 8 };

typedef struct part_t {
  const uint8_t *at;
  uint8_t *before;
  size_t size;
} part_t;

typedef struct statics_t {
  const struct link_map *object;
  part_t parts[MOST_PARTS];
  size_t count;
} statics_t;

static int list_parts(struct dl_phdr_info *info, size_t size, void *self) {
  statics_t *statics = self;
  (void)size;
  if (info->dlpi_addr != statics->object->l_addr || strcmp(info->dlpi_name, statics->object->l_name) != 0) return 0;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr) *header = &info->dlpi_phdr[i];
    if (header->p_type != PT_LOAD || (header->p_flags & PF_W) == 0 || statics->count == MOST_PARTS) continue;
    statics->parts[statics->count++] =
        (part_t){.at = (const uint8_t *)(info->dlpi_addr + header->p_vaddr), .size = (size_t)header->p_memsz};
  }
  return 1;
}

static void take(check_t *check, statics_t *statics) {
  for (size_t i = 0; i < statics->count; ++i) {
    part_t *part = &statics->parts[i];
    part->before = check_allocate(check, part->size + 1, 1);
    memcpy(part->before, part->at, part->size);
  }
}

static size_t count_changed(const statics_t *statics) {
  size_t changed = 0;
  for (size_t i = 0; i < statics->count; ++i) {
    const part_t *part = &statics->parts[i];
    for (size_t k = 0; k < part->size; ++k) changed += part->at[k] != part->before[k];
  }
  return changed;
}

// The same values in another order, so that indices stay in range.
static void **turned(check_t *check, const check_ports_t *inputs) {
  void **data = check_allocate(check, inputs->count + 1, sizeof(*data));
  for (size_t i = 0; i < inputs->count; ++i) {
    const size_t size = inputs->sizes_bytes[i];
    const size_t step = inputs->element_counts[i] > 0 ? size / (size_t)inputs->element_counts[i] : 0;
    uint8_t *copy = check_allocate(check, size + 64, 1);
    memcpy(copy, (const uint8_t *)inputs->data[i] + step, size - step);
    memcpy(copy + size - step, inputs->data[i], step);
    data[i] = copy;
  }
  return data;
}

size_t check_statics_changed(check_t *check, const byoc_loaded_artifact_t *artifact, const check_ports_t *inputs,
                             const check_ports_t *outputs) {
  statics_t statics = {0};
  struct link_map *object = NULL;
  if (dlinfo(artifact->library, RTLD_DI_LINKMAP, &object) != 0) return 0;
  statics.object = object;
  if (dl_iterate_phdr(list_parts, &statics) == 0) return 0;
  const byoc_context_options_t options = {.struct_size = sizeof(options), .thread_count = 1};
  byoc_context_t *context = NULL;
  size_t changed = 0;
  if (artifact->table->create(&options, &context) == BYOC_OK &&
      artifact->table->run(context, (const void *const *)inputs->data, outputs->data) == BYOC_OK) {
    take(check, &statics);
    const int32_t status = artifact->table->run(context, (const void *const *)turned(check, inputs), outputs->data);
    changed = status == BYOC_OK ? count_changed(&statics) : 0;
  }
  artifact->table->destroy(context);
  return changed;
}
