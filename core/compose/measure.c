// Timing a packed function in a child process: linking it, preparing its data, waiting for the answer.
#define _GNU_SOURCE
#include "core/compose/measure.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/file.h"
#include "core/base/log.h"
#include "core/compose/addresses.h"
#include "core/compose/measure_child.h"
#include "core/ir/type.h"

#define DEFAULT_TIMEOUT_MS 10000

// One measurement: the tensors as DLPack sees them, everything in one arena.
typedef struct measurement_t {
  byoc_arena_t arena;
  const byoc_measure_request_t *request;
  DLTensor *tensors;
  void *workspace;
  uint64_t random;
} measurement_t;

// splitmix64; a fixed seed, so that candidates meet the same data.
static uint64_t next_random(measurement_t *m) {
  uint64_t z = (m->random += 0x9E3779B97F4A7C15u);
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return z ^ (z >> 31);
}

// Random data of ordinary size: numbers in [-1, 1), integers 0 and 1 (they may be indices). Denormals and huge values
// would measure something else.
static void fill(measurement_t *m, uint32_t dtype, uint8_t *data, size_t size_bytes) {
  switch (dtype) {
  case BYOC_DTYPE_F32:
  case BYOC_DTYPE_C64:
    for (size_t i = 0; i + 4 <= size_bytes; i += 4) {
      float value = (float)(int64_t)(next_random(m) >> 40) / (float)(1 << 23) - 1.0f;
      memcpy(data + i, &value, 4);
    }
    return;
  case BYOC_DTYPE_F64:
  case BYOC_DTYPE_C128:
    for (size_t i = 0; i + 8 <= size_bytes; i += 8) {
      double value = (double)(int64_t)(next_random(m) >> 40) / (double)(1 << 23) - 1.0;
      memcpy(data + i, &value, 8);
    }
    return;
  case BYOC_DTYPE_F16:
  case BYOC_DTYPE_BF16:
    // Any sign, magnitudes from 1/8 to 1.
    for (size_t i = 0; i + 2 <= size_bytes; i += 2) {
      uint64_t r = next_random(m);
      uint16_t half = (uint16_t)(0x3000u | (r & 0x0bffu)), brain = (uint16_t)(0x3e00u | (r & 0x017fu));
      uint16_t value = (uint16_t)((dtype == BYOC_DTYPE_F16 ? half : brain) | (r >> 16 & 0x8000u));
      memcpy(data + i, &value, 2);
    }
    return;
  default: {
    size_t width = byoc_dtype_bits(dtype) / 8;
    if (width == 0) width = 1;
    memset(data, 0, size_bytes);
    for (size_t i = 0; i < size_bytes; i += width) data[i] = (uint8_t)(next_random(m) & 1);
    return;
  }
  }
}

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
  if (data.data == NULL && is_input) fill(m, data.dtype, memory, (size_t)size_bytes);
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

// The object, and the artifacts' thread pool where threads are wanted, as a shared object for the child.
static byoc_status_t link_object(const byoc_measure_request_t *request, const char *folder, const char *output,
                                 byoc_allocator_t allocator, byoc_diag_t *diag) {
  const char *symbols[] = {request->symbol, "byoc_model_pool_acquire", "byoc_model_pool_run"};
  bool threads = request->thread_count > 1;
  byoc_link_files_t files;
  byoc_link_files_init(&files, folder, allocator);
  byoc_status_t status = byoc_link_files_add(&files, request->object, (size_t)request->object_size_bytes, diag);
  if (status == BYOC_OK && threads) status = byoc_link_files_add_runtime(&files, diag);
  if (status == BYOC_OK) status = byoc_link_addresses(&files, symbols, threads ? 3 : 1, output, allocator, diag);
  byoc_link_files_deinit(&files);
  return status;
}

// Waits for the child's answer until `deadline_ns`; false where the time is over.
static bool await_result(int fd, int64_t deadline_ns, byoc_measure_result_t *result, size_t *out_size) {
  *out_size = 0;
  for (;;) {
    int64_t left_ms = (deadline_ns - byoc_now_ns()) / 1000000;
    if (left_ms <= 0) return false;
    struct pollfd poll_fd = {.fd = fd, .events = POLLIN};
    int ready = poll(&poll_fd, 1, left_ms > 1000 ? 1000 : (int)left_ms);
    if (ready < 0 && errno != EINTR) return true;
    if (ready <= 0) continue;
    ssize_t got = read(fd, (char *)result + *out_size, sizeof(*result) - *out_size);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return true; // the child has closed its end
    *out_size += (size_t)got;
    if (*out_size == sizeof(*result)) return true;
  }
}

static byoc_status_t judge(const byoc_measure_request_t *request, bool in_time, uint32_t timeout_ms, size_t size,
                           const byoc_measure_result_t *result, int wait_status, byoc_diag_t *diag, double *out_ns) {
  if (!in_time) {
    return byoc_diag_error(diag, BYOC_TOOL, "measuring '%s': it took longer than %u ms", request->symbol, timeout_ms);
  }
  if (size != sizeof(*result) && WIFSIGNALED(wait_status)) {
    return byoc_diag_error(diag, BYOC_TOOL, "measuring '%s': it crashed (signal %d, %s)", request->symbol,
                           WTERMSIG(wait_status), strsignal(WTERMSIG(wait_status)));
  }
  if (size != sizeof(*result)) {
    return byoc_diag_error(diag, BYOC_TOOL, "measuring '%s': the process ended without an answer", request->symbol);
  }
  if (result->status != BYOC_OK) {
    const char *reason = result->message[0] != '\0' ? result->message : byoc_status_name(result->status);
    return byoc_diag_error(diag, BYOC_TOOL, "measuring '%s': it failed: %s", request->symbol, reason);
  }
  *out_ns = result->median_ns;
  return BYOC_OK;
}

static byoc_status_t run_child(const byoc_measure_request_t *request, const byoc_measure_job_t *job,
                               uint32_t timeout_ms, byoc_diag_t *diag, double *out_ns) {
  int fds[2];
  if (pipe2(fds, O_CLOEXEC) != 0) return byoc_diag_error(diag, BYOC_IO, "no pipe: %s", strerror(errno));
  pid_t pid = fork();
  if (pid < 0) {
    byoc_status_t status = byoc_diag_error(diag, BYOC_IO, "no child process: %s", strerror(errno));
    close(fds[0]);
    close(fds[1]);
    return status;
  }
  if (pid == 0) {
    close(fds[0]);
    byoc_measure_child(job, fds[1]);
  }
  close(fds[1]);
  (void)setpgid(pid, pid); // both sides do it, whoever comes first
  byoc_measure_result_t result = {0};
  size_t size = 0;
  bool in_time = await_result(fds[0], byoc_now_ns() + (int64_t)timeout_ms * 1000000, &result, &size);
  close(fds[0]);
  if (!in_time) {
    (void)kill(-pid, SIGKILL);
    (void)kill(pid, SIGKILL); // before it has a group of its own
  }
  int wait_status = 0;
  while (waitpid(pid, &wait_status, 0) < 0 && errno == EINTR) continue;
  result.message[sizeof(result.message) - 1] = '\0';
  return judge(request, in_time, timeout_ms, size, &result, wait_status, diag, out_ns);
}

byoc_status_t byoc_measure_packed(const byoc_measure_request_t *request, byoc_allocator_t allocator, byoc_diag_t *diag,
                                  double *out_median_ns) {
  *out_median_ns = 0;
  measurement_t m = {.request = request, .random = 1};
  byoc_arena_init(&m.arena, allocator);
  char *folder = NULL, *library = NULL;
  byoc_status_t status = prepare(&m, diag);
  if (status == BYOC_OK) status = byoc_make_temporary_directory("byoc-measure", allocator, diag, &folder);
  if (status == BYOC_OK) {
    library = byoc_path_join(allocator, folder, "measured.so");
    if (library == NULL) status = byoc_diag_out_of_memory(diag);
  }
  if (status == BYOC_OK) status = link_object(request, folder, library, allocator, diag);
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
