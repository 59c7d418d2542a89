// SPDX-License-Identifier: Apache-2.0
// Times a packed function in a child process: links it, prepares its data, waits for the answer.
#define _GNU_SOURCE
#include "core/measure/packed.h"

#include <string.h>

#include "core/base/child.h"
#include "core/base/file.h"
#include "core/compose/c/addresses.h"
#include "core/ir/type.h"
#include "core/measure/data.h"
#include "core/measure/packed_child.h"

#define DEFAULT_TIMEOUT_MS 10000

// One measurement: the tensors as DLPack sees them, everything in one arena.
typedef struct measurement_t {
  byoc_arena_t arena;
  const byoc_measure_request_t *request;
  DLTensor *tensors;
  void *workspace;
  uint64_t random;
} measurement_t;

static byoc_status_t prepare_tensor(measurement_t *m, size_t index, byoc_diag_t *diag) {
  const byoc_measure_request_t *request = m->request;
  byoc_tensor_data_t data = {0};
  const byoc_tensor_data_t *given =
      (const byoc_tensor_data_t *)(const void *)((const char *)request->tensors + index * request->tensor_stride);
  size_t known = given->header.struct_size;
  memcpy(&data, given, known > 0 && known < sizeof(data) ? known : sizeof(data));
  const byoc_type_t *type =
      data.rank <= BYOC_MAX_RANK ? byoc_type_tensor_static(&m->arena, data.dtype, (int32_t)data.rank, data.dims) : NULL;
  int64_t size_bytes = type != NULL ? byoc_type_size_bytes(type) : -1;
  if (size_bytes < 0 || byoc_dtype_bits(data.dtype) == 0 || data.dtype == BYOC_DTYPE_STRING ||
      (data.data != NULL && data.size_bytes != (uint64_t)size_bytes)) {
    return byoc_diag_error(diag, BYOC_INVALID_ARGUMENT, "tensor %zu of the measurement has an unusable type", index);
  }
  uint8_t *memory = byoc_arena_allocate_aligned(&m->arena, (size_t)size_bytes, BYOC_BUFFER_ALIGNMENT);
  int64_t *dims = byoc_arena_copy(&m->arena, data.dims, data.rank * sizeof(*dims));
  if (memory == NULL || dims == NULL) return byoc_diag_out_of_memory(diag);
  bool is_input = index < request->input_count;
  if (data.data != NULL) memcpy(memory, data.data, (size_t)size_bytes);
  if (data.data == NULL && is_input) byoc_measure_fill(data.dtype, memory, (size_t)size_bytes, &m->random);
  m->tensors[index] = (DLTensor){.data = memory,
                                 .device = {kDLCPU, 0},
                                 .ndim = (int)data.rank,
                                 .dtype = {byoc_dtype_dlpack_code(data.dtype), (uint8_t)byoc_dtype_bits(data.dtype), 1},
                                 .shape = dims};
  return BYOC_OK;
}

static byoc_status_t prepare(measurement_t *m, byoc_diag_t *diag) {
  const byoc_measure_request_t *request = m->request;
  size_t count = (size_t)request->input_count + request->output_count;
  if (request->object == NULL || request->symbol == NULL || (count > 0 && request->tensors == NULL) ||
      (count > 0 && request->tensor_stride < offsetof(byoc_tensor_data_t, size_bytes))) {
    return byoc_diag_error(diag, BYOC_INVALID_ARGUMENT, "the measurement lacks an object, a symbol or tensors");
  }
  m->tensors = BYOC_ARENA_ARRAY(&m->arena, DLTensor, count + 1);
  if (request->workspace_size_bytes > 0) {
    m->workspace = byoc_arena_allocate_aligned(&m->arena, (size_t)request->workspace_size_bytes, BYOC_BUFFER_ALIGNMENT);
  }
  if (m->tensors == NULL || (request->workspace_size_bytes > 0 && m->workspace == NULL)) {
    return byoc_diag_out_of_memory(diag);
  }
  for (size_t i = 0; i < count; i++) BYOC_RETURN_IF_ERROR(prepare_tensor(m, i, diag));
  return BYOC_OK;
}

// Links the object, and the artifacts' thread pool if threads are wanted, into a shared object for the child.
static byoc_status_t link_object(const byoc_measure_request_t *request, const char *compiler, const char *folder,
                                 const char *output, byoc_allocator_t allocator, byoc_diag_t *diag) {
  const char *symbols[] = {request->symbol, "byoc_model_pool_acquire", "byoc_model_pool_run"};
  bool threads = request->thread_count > 1;
  byoc_link_files_t files;
  byoc_link_files_init(&files, folder, allocator);
  byoc_status_t status = byoc_link_files_add(&files, request->object, (size_t)request->object_size_bytes, diag);
  if (status == BYOC_OK && threads) status = byoc_link_files_add_runtime(&files, diag);
  if (status == BYOC_OK)
    status = byoc_link_addresses(&files, NULL, symbols, threads ? 3 : 1, compiler, output, allocator, diag);
  byoc_link_files_deinit(&files);
  return status;
}

static byoc_status_t run_child(const byoc_measure_request_t *request, byoc_measure_job_t *job, uint32_t timeout_ms,
                               byoc_diag_t *diag, double *out_ns) {
  const byoc_child_limits_t limits = {.timeout_ms = timeout_ms};
  byoc_measure_result_t result;
  byoc_status_t status = byoc_child_run(&limits, byoc_measure_child, job, &result, sizeof(result), diag);
  result.message[sizeof(result.message) - 1] = '\0';
  if (status == BYOC_OK && result.status != BYOC_OK) {
    const char *reason = result.message[0] != '\0' ? result.message : byoc_status_name(result.status);
    status = byoc_diag_error(diag, BYOC_TOOL, "it failed: %s", reason);
  }
  if (status != BYOC_OK) return byoc_diag_context(diag, status, "measuring '%s'", request->symbol);
  *out_ns = result.median_ns;
  return BYOC_OK;
}

byoc_status_t byoc_measure_packed(const byoc_measure_request_t *request, const char *compiler,
                                  byoc_allocator_t allocator, byoc_diag_t *diag, double *out_median_ns) {
  *out_median_ns = 0;
  measurement_t m = {.request = request, .random = BYOC_MEASURE_SEED};
  byoc_arena_init(&m.arena, allocator);
  char *folder = NULL, *library = NULL;
  byoc_status_t status = prepare(&m, diag);
  if (status == BYOC_OK) status = byoc_make_temporary_directory("byoc-measure", allocator, diag, &folder);
  if (status == BYOC_OK) {
    library = byoc_path_join(allocator, folder, "measured.so");
    if (library == NULL) status = byoc_diag_out_of_memory(diag);
  }
  if (status == BYOC_OK) status = link_object(request, compiler, folder, library, allocator, diag);
  if (status == BYOC_OK) {
    uint32_t timeout_ms = request->timeout_ms > 0 ? request->timeout_ms : DEFAULT_TIMEOUT_MS;
    byoc_measure_job_t job = {
        .library = library,
        .call = {.struct_size = sizeof(job.call),
                 .input_count = request->input_count,
                 .output_count = request->output_count,
                 .tensors = m.tensors,
                 .workspace = m.workspace,
                 .workspace_size_bytes = request->workspace_size_bytes},
        .thread_count = request->thread_count > 1 ? (int32_t)request->thread_count : 1,
        .limit_ns = (int64_t)timeout_ms * 1000000 / 2,
    };
    status = run_child(request, &job, timeout_ms, diag, out_median_ns);
  }
  if (folder != NULL) (void)byoc_remove_tree(folder, NULL);
  byoc_free(allocator, library);
  byoc_free(allocator, folder);
  byoc_arena_deinit(&m.arena);
  return status;
}
