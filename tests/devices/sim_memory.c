// SPDX-License-Identifier: Apache-2.0
// The memory of the driver `sim`. A handle is the address of pages that nobody may touch; its record lies in the page
// before them. The bytes lie between guard pages elsewhere and end at the second one.
#include <string.h>
#include <sys/mman.h>

#include "tests/devices/sim_internal.h"

enum { PAGE_BYTES = 65536, PADDING_BYTES = 64, PADDING_VALUE = 0xA5, FRESH_VALUE = 0xFF };

enum { SCOPE_GLOBAL, SCOPE_CONSTANT, SCOPE_TEXTURE };

const byoc_device_scope_t sim_scopes[SIM_SCOPE_COUNT] = {
    [SCOPE_GLOBAL] = {"global", BYOC_SCOPE_SUBDIVIDES, 0},
    [SCOPE_CONSTANT] = {"constant", BYOC_SCOPE_SUBDIVIDES, 65536},
    [SCOPE_TEXTURE] = {"global.texture", 0, 0},
};

static size_t round_up(uint64_t bytes, size_t to) {
  return (size_t)((bytes + to - 1) / to * to);
}

sim_buffer_t *sim_buffer(const byoc_device_buffer_t *handle) {
  return (sim_buffer_t *)((char *)handle - PAGE_BYTES);
}

// The record and the pages behind it.
static sim_buffer_t *make_handle(byoc_device_t *device, uint64_t size_bytes) {
  size_t bytes = PAGE_BYTES + round_up(size_bytes, PAGE_BYTES);
  char *pages = mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (pages == MAP_FAILED) return NULL;
  if (mprotect(pages, PAGE_BYTES, PROT_READ | PROT_WRITE) != 0) {
    munmap(pages, bytes);
    return NULL;
  }
  sim_buffer_t *buffer = (sim_buffer_t *)pages;
  buffer->device = device;
  buffer->size_bytes = size_bytes;
  buffer->stored_bytes = size_bytes;
  buffer->handle_bytes = bytes;
  return buffer;
}

static int make_bytes(sim_buffer_t *buffer) {
  size_t inner = round_up(buffer->stored_bytes, PAGE_BYTES), bytes = inner + 2 * PAGE_BYTES;
  char *pages = mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (pages == MAP_FAILED) return 0;
  if (mprotect(pages + PAGE_BYTES, inner, PROT_READ | PROT_WRITE) != 0) {
    munmap(pages, bytes);
    return 0;
  }
  buffer->mapping = pages;
  buffer->mapping_bytes = bytes;
  buffer->data = pages + PAGE_BYTES + inner - round_up(buffer->stored_bytes, SIM_ALIGNMENT);
  memset(buffer->data, buffer->row_bytes ? PADDING_VALUE : FRESH_VALUE, buffer->stored_bytes);
  for (uint64_t row = 0; buffer->row_bytes && row < buffer->stored_bytes; row += buffer->pitch_bytes) {
    memset(buffer->data + row, FRESH_VALUE, buffer->row_bytes);
  }
  return 1;
}

// Was the padding of rows written to?
static int is_padding_intact(const sim_buffer_t *buffer) {
  for (uint64_t row = 0; buffer->row_bytes && row < buffer->stored_bytes; row += buffer->pitch_bytes) {
    for (uint64_t i = buffer->row_bytes; i < buffer->pitch_bytes; ++i) {
      if ((unsigned char)buffer->data[row + i] != PADDING_VALUE) return 0;
    }
  }
  return 1;
}

static void unmap(sim_buffer_t *buffer) {
  if (buffer->mapping) munmap(buffer->mapping, buffer->mapping_bytes);
  munmap(buffer, buffer->handle_bytes);
}

// How a padded scope lays a tensor out: rows of the last dimension.
static int32_t lay_rows(byoc_device_t *device, const byoc_device_allocation_t *allocation, uint64_t *out_row_bytes) {
  uint64_t bytes = allocation->element_size_bytes;
  for (uint32_t i = 0; allocation->dims && i < allocation->rank; ++i) bytes *= (uint64_t)allocation->dims[i];
  if (!allocation->dims || !allocation->element_size_bytes || bytes != allocation->size_bytes) {
    return sim_fail(device, BYOC_INVALID_ARGUMENT,
                    "an allocation of scope '%s' must say its dimensions and its element size, and have as many bytes",
                    sim_scopes[allocation->scope].name);
  }
  uint32_t rank = allocation->rank;
  *out_row_bytes = allocation->element_size_bytes * (rank ? (uint64_t)allocation->dims[rank - 1] : 1);
  return BYOC_OK;
}

static int32_t allocate(byoc_device_t *device, const byoc_device_allocation_t *allocation,
                        byoc_device_buffer_t **out_buffer) {
  if (allocation->scope >= SIM_SCOPE_COUNT || !allocation->size_bytes) {
    return sim_fail(device, BYOC_INVALID_ARGUMENT, "an allocation has a scope of the device and at least one byte");
  }
  const byoc_device_scope_t *scope = &sim_scopes[allocation->scope];
  if (allocation->size_bytes > device->options.memory_bytes ||
      (scope->allocation_size && allocation->size_bytes > scope->allocation_size)) {
    return sim_fail(device, BYOC_OUT_OF_MEMORY, "the device 'sim' has no room for %llu bytes of scope '%s'",
                    (unsigned long long)allocation->size_bytes, scope->name);
  }
  uint64_t row_bytes = 0, pitch_bytes = 0, stored_bytes = allocation->size_bytes;
  if (!(scope->flags & BYOC_SCOPE_SUBDIVIDES)) {
    int32_t status = lay_rows(device, allocation, &row_bytes);
    if (status != BYOC_OK) return status;
    pitch_bytes = round_up(row_bytes, PADDING_BYTES) + PADDING_BYTES;
    stored_bytes = allocation->size_bytes / row_bytes * pitch_bytes;
  }
  if (device->counts.bytes + stored_bytes > device->options.memory_bytes) {
    return sim_fail(device, BYOC_OUT_OF_MEMORY, "the device 'sim' has no room for %llu bytes; it holds %llu of %llu",
                    (unsigned long long)stored_bytes, (unsigned long long)device->counts.bytes,
                    (unsigned long long)device->options.memory_bytes);
  }
  sim_buffer_t *buffer = make_handle(device, allocation->size_bytes);
  if (!buffer) return sim_fail(device, BYOC_OUT_OF_MEMORY, "out of memory");
  buffer->scope = allocation->scope;
  buffer->row_bytes = row_bytes;
  buffer->pitch_bytes = pitch_bytes;
  buffer->stored_bytes = stored_bytes;
  if (!make_bytes(buffer)) {
    unmap(buffer);
    return sim_fail(device, BYOC_OUT_OF_MEMORY, "out of memory");
  }
  SIM_ALIVE(device, buffers, 1);
  SIM_ALIVE(device, bytes, (int64_t)stored_bytes);
  sim_log(device, "allocate %s %llu", scope->name, (unsigned long long)allocation->size_bytes);
  *out_buffer = (byoc_device_buffer_t *)((char *)buffer + PAGE_BYTES);
  return BYOC_OK;
}

int32_t sim_allocate(byoc_device_t *device, const byoc_device_allocation_t *allocation,
                     byoc_device_buffer_t **out_buffer) {
  *out_buffer = NULL;
  int32_t status = sim_enter(device, SIM_CALL_allocate);
  if (status == BYOC_OK) status = allocate(device, allocation, out_buffer);
  sim_leave(device);
  return status;
}

static int32_t import(byoc_device_t *device, void *host, uint64_t size_bytes, byoc_device_buffer_t **out_buffer) {
  if (!device->options.unified) {
    return sim_fail(device, BYOC_UNSUPPORTED, "the device 'sim' cannot use memory of the host");
  }
  sim_buffer_t *buffer = make_handle(device, size_bytes);
  if (!buffer) return sim_fail(device, BYOC_OUT_OF_MEMORY, "out of memory");
  buffer->scope = SCOPE_GLOBAL;
  buffer->data = host;
  SIM_ALIVE(device, buffers, 1);
  sim_log(device, "import %llu", (unsigned long long)size_bytes);
  *out_buffer = (byoc_device_buffer_t *)((char *)buffer + PAGE_BYTES);
  return BYOC_OK;
}

int32_t sim_import(byoc_device_t *device, void *host, uint64_t size_bytes, byoc_device_buffer_t **out_buffer) {
  *out_buffer = NULL;
  int32_t status = sim_enter(device, SIM_CALL_import);
  if (status == BYOC_OK) status = import(device, host, size_bytes, out_buffer);
  sim_leave(device);
  return status;
}

void sim_release(byoc_device_t *device, byoc_device_buffer_t *handle) {
  if (!handle) return;
  sim_enter_uncounted(device);
  sim_buffer_t *buffer = sim_buffer(handle);
  if (buffer->device != device) sim_mistake("a buffer is released on another device than its own");
  pthread_mutex_lock(&device->lock);
  if (buffer->use_count) sim_begin_all(device);
  while (buffer->use_count) pthread_cond_wait(&device->changed, &device->lock);
  pthread_mutex_unlock(&device->lock);
  if (!is_padding_intact(buffer)) sim_mistake("a kernel wrote between the rows of a padded buffer");
  SIM_ALIVE(device, buffers, -1);
  if (buffer->mapping) SIM_ALIVE(device, bytes, -(int64_t)buffer->stored_bytes);
  unmap(buffer);
  sim_leave(device);
}

int32_t sim_find_span(byoc_device_t *device, const byoc_device_buffer_t *handle, uint64_t offset_bytes,
                      uint64_t size_bytes, sim_span_t *out_span) {
  sim_buffer_t *buffer = sim_buffer(handle);
  if (buffer->device != device) {
    return sim_fail(device, BYOC_INVALID_ARGUMENT, "a command uses a buffer of another device");
  }
  if (offset_bytes > buffer->size_bytes || size_bytes > buffer->size_bytes - offset_bytes) {
    return sim_fail(device, BYOC_INVALID_ARGUMENT, "a command uses bytes %llu to %llu of a buffer of %llu bytes",
                    (unsigned long long)offset_bytes, (unsigned long long)(offset_bytes + size_bytes),
                    (unsigned long long)buffer->size_bytes);
  }
  *out_span = (sim_span_t){buffer, buffer->data + offset_bytes, buffer->row_bytes, buffer->pitch_bytes};
  return BYOC_OK;
}
