// SPDX-License-Identifier: Apache-2.0
// The extension "byoc.device": drivers, code and launches of a backend, and work in a child process.
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/base/child.h"
#include "core/module/extent.h"
#include "core/plugin/abi.h"
#include "core/plugin/host.h"
#include "core/plugin/session.h"

enum { CHILD_TIMEOUT_MS = 60000 };

// ---- modules and answers ----

static int32_t add_driver(byoc_codegen_t *codegen, const byoc_driver_module_t *driver) {
  byoc_diag_t diag = {0};
  byoc_driver_module_t read;
  byoc_status_t status = byoc_abi_read(driver, byoc_abi_of(byoc_driver_module_t), "the driver", &read, &diag);
  if (status == BYOC_OK) {
    status = byoc_session_add_driver(codegen, &read, &diag);
    if (status != BYOC_OK)
      byoc_diag_context(&diag, status, "adding the driver '%.128s'", read.name != NULL ? read.name : "");
  }
  return byoc_session_settle(codegen, status, &diag);
}

static int32_t add_device_module(byoc_codegen_t *codegen, const byoc_device_code_module_t *module) {
  byoc_diag_t diag = {0};
  byoc_device_code_module_t read;
  byoc_status_t status =
      byoc_abi_read(module, byoc_abi_of(byoc_device_code_module_t), "the device module", &read, &diag);
  if (status == BYOC_OK) {
    status = byoc_session_add_device_module(codegen, &read, &diag);
    if (status != BYOC_OK)
      byoc_diag_context(&diag, status, "adding the device module '%.128s'", read.name != NULL ? read.name : "");
  }
  return byoc_session_settle(codegen, status, &diag);
}

static int32_t bind_kernels(byoc_codegen_t *codegen, byoc_function_t *function, const byoc_kernel_binding_t *binding) {
  byoc_diag_t diag = {0};
  byoc_kernel_binding_t read;
  byoc_status_t status = byoc_abi_read(binding, byoc_abi_of(byoc_kernel_binding_t), "the binding", &read, &diag);
  const int64_t index = status == BYOC_OK ? byoc_session_claim(codegen, function, &diag) : -1;
  if (status == BYOC_OK && index < 0) status = diag.status;
  if (status == BYOC_OK) {
    status = byoc_session_add_kernels(codegen, index, &read, &diag);
    if (status == BYOC_OK)
      byoc_session_answer(codegen, index, BYOC_CODEGEN_BOUND);
    else
      byoc_diag_context(&diag, status, "binding function '%s' to kernels", function->name);
  }
  return byoc_session_settle(codegen, status, &diag);
}

// ---- work in a child process ----

typedef struct work_t {
  int32_t (*work)(void *argument, int out);
  void *argument;
  int out;
} work_t;

static void run_work(void *self, void *answer) {
  const work_t *work = self;
  *(int32_t *)answer = work->work(work->argument, work->out);
}

static byoc_status_t io_error(byoc_diag_t *diag, const char *what) {
  return byoc_diag_error(diag, BYOC_IO, "%s: %s", what, strerror(errno));
}

static byoc_status_t take_output(byoc_codegen_t *codegen, int fd, byoc_diag_t *diag, const void **out_data,
                                 uint64_t *out_size_bytes) {
  const off_t size = lseek(fd, 0, SEEK_END);
  if (size < 0) return io_error(diag, "reading the answer of the child process");
  char *data = byoc_arena_allocate(&codegen->arena, (size_t)size + 1, 1);
  if (data == NULL) return byoc_diag_out_of_memory(diag);
  for (size_t at = 0; at < (size_t)size;) {
    const ssize_t got = pread(fd, data + at, (size_t)size - at, (off_t)at);
    if (got <= 0) return io_error(diag, "reading the answer of the child process");
    at += (size_t)got;
  }
  data[size] = '\0';
  *out_data = data;
  *out_size_bytes = (uint64_t)size;
  return BYOC_OK;
}

static byoc_status_t work_in_child(byoc_codegen_t *codegen, work_t *work, uint32_t timeout_ms, byoc_diag_t *diag,
                                   const void **out_data, uint64_t *out_size_bytes) {
  if (work->work == NULL) return byoc_diag_error(diag, BYOC_INVALID_ARGUMENT, "the work for a child process is NULL");
  work->out = memfd_create("byoc-work", MFD_CLOEXEC);
  if (work->out < 0) return io_error(diag, "making a file for a child process");
  const byoc_child_limits_t limits = {.timeout_ms = timeout_ms != 0 ? timeout_ms : CHILD_TIMEOUT_MS};
  int32_t answer = BYOC_OK;
  byoc_status_t status = byoc_child_run(&limits, run_work, work, &answer, sizeof(answer), diag);
  if (status == BYOC_OK) status = take_output(codegen, work->out, diag, out_data, out_size_bytes);
  (void)close(work->out);
  if (status != BYOC_OK || answer == BYOC_OK) return status;
  status = byoc_status_is_known(answer) ? answer : BYOC_INTERNAL;
  return byoc_diag_error(diag, status, "its work in a child process failed (%s, %d)", byoc_status_name(answer),
                         (int)answer);
}

static int32_t run_in_child(byoc_codegen_t *codegen, int32_t (*work)(void *argument, int out), void *argument,
                            uint32_t timeout_ms, const void **out_data, uint64_t *out_size_bytes) {
  byoc_diag_t diag = {0};
  *out_data = NULL;
  *out_size_bytes = 0;
  work_t job = {.work = work, .argument = argument, .out = -1};
  return byoc_session_note(codegen, work_in_child(codegen, &job, timeout_ms, &diag, out_data, out_size_bytes), &diag);
}

// ---- extents ----

static byoc_status_t print_extent(byoc_codegen_t *codegen, const byoc_function_t *function, byoc_dim_t dim,
                                  byoc_diag_t *diag, const char **out_extent) {
  byoc_string_t text;
  byoc_string_init(&text, codegen->arena.allocator);
  const bool is_reported = byoc_extent_print(dim, function, &text), has_failed = text.failed;
  if (is_reported && !has_failed) *out_extent = byoc_arena_copy_string(&codegen->arena, text.data);
  byoc_string_deinit(&text);
  if (*out_extent != NULL) return BYOC_OK;
  if (is_reported || has_failed) return byoc_diag_out_of_memory(diag);
  return byoc_diag_error(diag, BYOC_NOT_FOUND, "the sizes of the operands and results of '%s' do not determine a size",
                         function->name);
}

static int32_t value_extent(byoc_codegen_t *codegen, const byoc_function_t *function, const byoc_value_t *value,
                            int32_t axis, const char **out_extent) {
  byoc_diag_t diag = {0};
  *out_extent = NULL;
  if (codegen == NULL) return BYOC_INVALID_ARGUMENT;
  byoc_status_t status;
  if (function == NULL || value == NULL || !byoc_type_is_tensor(value->type) || axis < 0 || axis >= value->type->rank)
    status = byoc_diag_error(&diag, BYOC_INVALID_ARGUMENT, "asking for the extent of a value: no axis %d", (int)axis);
  else
    status = print_extent(codegen, function, value->type->dims[axis], &diag, out_extent);
  return byoc_session_note(codegen, status, &diag);
}

const byoc_device_api_t *byoc_host_device_api(void) {
  static const byoc_device_api_t api = {
      .header = BYOC_HEADER(byoc_device_api_t, 1),
      .add_driver = add_driver,
      .add_device_module = add_device_module,
      .bind_kernels = bind_kernels,
      .run_in_child = run_in_child,
      .value_extent = value_extent,
  };
  return &api;
}
