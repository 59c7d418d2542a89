// SPDX-License-Identifier: Apache-2.0
// The modules of the driver `sim`: shared objects from memory, and names of kernels that the driver has itself.
#include <dlfcn.h>
#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/devices/sim_internal.h"

static void module_free(byoc_device_module_t *module) {
  while (module->entries) {
    byoc_device_entry_t *entry = module->entries;
    module->entries = entry->next;
    free(entry);
  }
  if (module->library) dlclose(module->library);
  if (module->file >= 0) close(module->file);
  free(module->names);
  free(module);
}

// The loader maps segments without asking how long the file is.
static int32_t check_elf(const byoc_device_t *device, const byoc_device_code_t *code) {
  Elf64_Ehdr header;
  if (code->size_bytes < sizeof(header)) return sim_fail(device, BYOC_INVALID_DATA, "a module is cut short");
  memcpy(&header, code->data, sizeof(header));
  Elf64_Ehdr own;
  FILE *file = fopen("/proc/self/exe", "rb");
  int is_read = file && fread(&own, sizeof(own), 1, file) == 1;
  if (file) fclose(file);
  if (memcmp(header.e_ident, ELFMAG, SELFMAG) != 0) return sim_fail(device, BYOC_INVALID_DATA, "a module is not ELF");
  if (is_read && header.e_machine != own.e_machine) {
    return sim_fail(device, BYOC_UNSUPPORTED, "a module is for another processor");
  }
  for (unsigned i = 0; i < header.e_phnum; ++i) {
    Elf64_Phdr segment;
    uint64_t at = header.e_phoff + (uint64_t)i * sizeof(segment);
    if (at > code->size_bytes - sizeof(segment)) return sim_fail(device, BYOC_INVALID_DATA, "a module is cut short");
    memcpy(&segment, (const char *)code->data + at, sizeof(segment));
    if (segment.p_type != PT_LOAD) continue;
    if (segment.p_offset > code->size_bytes || segment.p_filesz > code->size_bytes - segment.p_offset) {
      return sim_fail(device, BYOC_INVALID_DATA, "a module is cut short");
    }
  }
  return BYOC_OK;
}

// The file stays open as long as the library: the loader takes two libraries of one path for the same.
static int32_t load_elf(byoc_device_module_t *module, const byoc_device_code_t *code) {
  const byoc_device_t *device = module->device;
  int32_t status = check_elf(device, code);
  if (status != BYOC_OK) return status;
  module->file = memfd_create("sim-module", MFD_CLOEXEC);
  if (module->file < 0) return sim_fail(device, BYOC_IO, "a module could not be written to memory");
  for (uint64_t done = 0; done < code->size_bytes;) {
    ssize_t count = write(module->file, (const char *)code->data + done, code->size_bytes - done);
    if (count <= 0) return sim_fail(device, BYOC_IO, "a module could not be written to memory");
    done += (uint64_t)count;
  }
  char path[SIM_NAME_BYTES];
  snprintf(path, sizeof(path), "/proc/self/fd/%d", module->file);
  module->library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (!module->library) return sim_fail(device, BYOC_INVALID_DATA, "a module cannot be loaded: %s", dlerror());
  return BYOC_OK;
}

static int32_t load_names(byoc_device_module_t *module, const byoc_device_code_t *code) {
  module->names = strndup(code->data, code->size_bytes);
  if (!module->names) return sim_fail(module->device, BYOC_OUT_OF_MEMORY, "out of memory");
  static const char blanks[] = " \t\n";
  for (const char *name = module->names; *(name += strspn(name, blanks)); name += strcspn(name, blanks)) {
    char text[SIM_NAME_BYTES];
    snprintf(text, sizeof(text), "%.*s", (int)strcspn(name, blanks), name);
    if (!sim_own_kernel(text)) {
      return sim_fail(module->device, BYOC_INVALID_DATA,
                      "a module names the kernel '%s', which the driver 'sim' has not", text);
    }
  }
  return BYOC_OK;
}

// A statement is the architecture that the code is for.
int32_t sim_fits(byoc_device_t *device, const char *statement) {
  const char *architecture = device->options.architecture;
  if (strcmp(statement, architecture) == 0) return BYOC_OK;
  return sim_fail(device, BYOC_UNSUPPORTED, "it is of architecture '%s'", architecture);
}

int32_t sim_module_load(byoc_device_t *device, const byoc_device_code_t *code, byoc_device_module_t **out_module) {
  *out_module = NULL;
  int32_t status = sim_enter(device, SIM_CALL_module);
  byoc_device_module_t *module = NULL;
  if (status == BYOC_OK) {
    module = calloc(1, sizeof(*module));
    if (!module) status = sim_fail(device, BYOC_OUT_OF_MEMORY, "out of memory");
  }
  if (module) {
    module->device = device;
    module->file = -1;
    if (strcmp(code->format, "elf") == 0)
      status = load_elf(module, code);
    else if (strcmp(code->format, "sim") == 0)
      status = load_names(module, code);
    else
      status = sim_fail(device, BYOC_UNSUPPORTED, "the driver 'sim' does not take code in format '%s'", code->format);
    if (status == BYOC_OK) {
      SIM_ALIVE(device, modules, 1);
      sim_log(device, "module %s %llu", code->format, (unsigned long long)code->size_bytes);
      *out_module = module;
    } else {
      module_free(module);
    }
  }
  sim_leave(device);
  return status;
}

void sim_module_unload(byoc_device_t *device, byoc_device_module_t *module) {
  if (!module) return;
  sim_enter_uncounted(device);
  pthread_mutex_lock(&device->lock);
  if (module->use_count) sim_begin_all(device);
  while (module->use_count) pthread_cond_wait(&device->changed, &device->lock);
  pthread_mutex_unlock(&device->lock);
  module_free(module);
  SIM_ALIVE(device, modules, -1);
  sim_leave(device);
}

// Does the text name the word?
static int names_word(const char *text, const char *word) {
  size_t size = strlen(word);
  for (const char *found = text; (found = strstr(found, word)) != NULL; found += size) {
    int begins = found == text || strchr(" \t\n", found[-1]) != NULL;
    if (begins && strchr(" \t\n", found[size]) != NULL) return 1; // or the end of the text
  }
  return 0;
}

static sim_kernel_t find_kernel(const byoc_device_module_t *module, const char *name) {
  if (!module->library) return names_word(module->names, name) ? sim_own_kernel(name) : NULL;
  void *symbol = dlsym(module->library, name);
  sim_kernel_t kernel = NULL;
  memcpy(&kernel, &symbol, sizeof(kernel));
  return kernel;
}

static int32_t find_entry(byoc_device_t *device, byoc_device_module_t *module, const char *name,
                          byoc_device_entry_t **out_entry) {
  sim_kernel_t kernel = *name ? find_kernel(module, name) : NULL;
  if (!kernel) return sim_fail(device, BYOC_NOT_FOUND, "a module has no entry '%s'", name);
  byoc_device_entry_t *entry = calloc(1, sizeof(*entry));
  if (!entry) return sim_fail(device, BYOC_OUT_OF_MEMORY, "out of memory");
  entry->module = module;
  entry->kernel = kernel;
  snprintf(entry->name, sizeof(entry->name), "%s", name);
  entry->next = module->entries;
  module->entries = entry;
  *out_entry = entry;
  return BYOC_OK;
}

int32_t sim_module_entry(byoc_device_t *device, byoc_device_module_t *module, const char *name,
                         byoc_device_entry_t **out_entry) {
  *out_entry = NULL;
  int32_t status = sim_enter(device, SIM_CALL_entry);
  if (status == BYOC_OK) status = find_entry(device, module, name, out_entry);
  sim_leave(device);
  return status;
}
