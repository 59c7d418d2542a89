// SPDX-License-Identifier: Apache-2.0
// Compiles kernels for the device of this machine.
#include "binary.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/plugin_string.h"
#include "driver/driver.h"

enum { TIMEOUT_MS = 10 * 60 * 1000 };

// The output of a child begins with one of these; a message follows the second.
enum { DONE = 'd', FAILED = 'f' };

typedef struct work_t {
  const char *source; // NULL: only the device's architecture is asked for
  size_t size_bytes;
} work_t;

static int32_t write_all(int out, const void *data, size_t size_bytes) {
  for (size_t done = 0; done < size_bytes;) {
    ssize_t count = write(out, (const char *)data + done, size_bytes - done);
    if (count <= 0) return BYOC_IO;
    done += (size_t)count;
  }
  return BYOC_OK;
}

static int32_t answer(int out, char mark, const void *data, size_t size_bytes) {
  int32_t status = write_all(out, &mark, 1);
  return status == BYOC_OK ? write_all(out, data, size_bytes) : status;
}

// ---- in the child process ----

static void take_error(void *self, const char *message) {
  (void)snprintf(self, 512, "%s", message);
}

static int32_t write_binary(const byoc_device_t *device, cl_program program, int out) {
  size_t size = 0;
  if (device->cl.clGetProgramInfo(program, CL_PROGRAM_BINARY_SIZES, sizeof(size), &size, NULL) != CL_SUCCESS)
    return BYOC_UNSUPPORTED;
  unsigned char *binary = malloc(size + 1);
  if (binary == NULL) return BYOC_OUT_OF_MEMORY;
  int32_t status = BYOC_UNSUPPORTED;
  if (size > 0 &&
      device->cl.clGetProgramInfo(program, CL_PROGRAM_BINARIES, sizeof(binary), &binary, NULL) == CL_SUCCESS)
    status = answer(out, DONE, binary, size);
  free(binary);
  return status;
}

static int32_t work_on(byoc_device_t *device, const work_t *work, int out) {
  if (work->source == NULL) return answer(out, DONE, device->architecture, strlen(device->architecture));
  byoc_device_code_t code = {.struct_size = sizeof(code),
                             .format = BYOC_OPENCL_FORMAT_SOURCE,
                             .data = work->source,
                             .size_bytes = work->size_bytes,
                             .options = BYOC_OPENCL_OPTIONS};
  byoc_device_module_t *module = NULL;
  int32_t status = byoc_opencl_module_load(device, &code, &module);
  if (status == BYOC_OK) status = write_binary(device, module->program, out);
  byoc_opencl_module_unload(device, module);
  return status;
}

static int32_t run(void *argument, int out) {
  char message[512] = "";
  byoc_runtime_t runtime = {
      .struct_size = sizeof(runtime), .thread_count = 1, .self = message, .set_error = take_error};
  byoc_device_init_t init = {.struct_size = sizeof(init), .runtime = &runtime};
  byoc_device_t *device = NULL;
  int32_t status = byoc_opencl_open(&init, &device);
  if (status == BYOC_OK) status = work_on(device, argument, out);
  byoc_opencl_close(device);
  return status != BYOC_OK && message[0] != '\0' ? answer(out, FAILED, message, strlen(message)) : status;
}

// ---- in the build ----

// The output of the child, with a NUL behind it.
static int32_t run_in_child(const byoc_opencl_state_t *state, byoc_codegen_t *codegen, work_t *work,
                            const char **out_data, uint64_t *out_size_bytes) {
  const void *data = NULL;
  uint64_t size = 0;
  char message[640];
  int32_t status = state->device->run_in_child(codegen, run, work, TIMEOUT_MS, &data, &size);
  if (status != BYOC_OK) return status; // which is reported
  const char *text = data;
  if (size == 0 || text[0] != DONE) {
    (void)snprintf(message, sizeof(message), "the kernels cannot be compiled on this machine: %s",
                   size > 1 ? text + 1 : "the compiler gave no reason");
    return state->host->codegen->error(codegen, BYOC_TOOL, message);
  }
  *out_data = text + 1;
  *out_size_bytes = size - 1;
  return BYOC_OK;
}

int32_t byoc_opencl_compile(const byoc_opencl_state_t *state, byoc_codegen_t *codegen, const char *source,
                            size_t size_bytes, byoc_opencl_binary_t *out_binary) {
  const byoc_codegen_api_t *api = state->host->codegen;
  work_t describe = {.source = NULL}, compile = {.source = source, .size_bytes = size_bytes};
  const char *architecture = NULL, *data = NULL;
  uint64_t size = 0;
  int32_t status = run_in_child(state, codegen, &describe, &architecture, &size);
  if (status != BYOC_OK) return status;
  char key[700];
  (void)snprintf(key, sizeof(key), "%s %016llx", architecture,
                 (unsigned long long)byoc_plugin_hash(BYOC_PLUGIN_HASH, source, size_bytes));
  const void *cached = NULL;
  if (api->cache_get(codegen, key, &cached, &size) == BYOC_OK) {
    api->log(codegen, "the compiled kernels come from the cache");
    data = cached;
  } else {
    status = run_in_child(state, codegen, &compile, &data, &size);
    if (status != BYOC_OK) return status;
    api->log(codegen, "the kernels were compiled");
    (void)api->cache_put(codegen, key, data, size); // a disk that is full costs time only
  }
  *out_binary = (byoc_opencl_binary_t){architecture, data, size};
  return BYOC_OK;
}
