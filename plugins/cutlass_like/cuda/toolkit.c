// SPDX-License-Identifier: Apache-2.0
// Finds NVRTC and the headers, and compiles with them.
#include "cuda/toolkit.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/plugin_string.h"

// ---- finding ----

static const struct {
  const char *package, *path, *include; // of the file that must be there; of the folder that is searched, or NULL
} parts[] = {
    {"nvidia-cuda-nvrtc-cu12", "nvidia/cuda_nvrtc/lib/libnvrtc.so.12", NULL},
    {"nvidia-cutlass", "cutlass_library/source/include/cutlass/cutlass.h", "cutlass_library/source/include"},
    {"nvidia-cuda-runtime-cu12", "nvidia/cuda_runtime/include/cuda_runtime.h", "nvidia/cuda_runtime/include"},
    {"nvidia-cuda-cccl-cu12", "nvidia/cuda_cccl/include/cuda/std/cassert", "nvidia/cuda_cccl/include"},
    {"nvidia-cuda-nvcc-cu12", "nvidia/cuda_nvcc/include/crt/mma.h", "nvidia/cuda_nvcc/include"},
};
enum { PART_COUNT = sizeof(parts) / sizeof(parts[0]) };

static int32_t refuse(const byoc_host_t *host, byoc_codegen_t *codegen, int32_t status, const char *folder,
                      const char *package) {
  char message[1536];
  const char *format =
      "cutlass: -device=cuda compiles with NVRTC and CUTLASS; %s%s%s%s. Install them by 'pip install --target=DIR "
      "nvidia-cutlass nvidia-cuda-nvrtc-cu12 nvidia-cuda-runtime-cu12 nvidia-cuda-cccl-cu12 nvidia-cuda-nvcc-cu12' and "
      "say -cuda_path=DIR";
  if (package)
    snprintf(message, sizeof message, format, "the folder '", folder, "' does not hold ", package);
  else
    snprintf(message, sizeof message, format, "-cuda_path is not given", "", "", "");
  return host->codegen->error(codegen, status, message);
}

int32_t byoc_cutlass_toolkit_find(const byoc_host_t *host, byoc_codegen_t *codegen, const char *folder,
                                  byoc_cutlass_toolkit_t *out_toolkit) {
  *out_toolkit = (byoc_cutlass_toolkit_t){0};
  if (!folder || !folder[0]) return refuse(host, codegen, BYOC_INVALID_ARGUMENT, "", NULL);
  size_t includes = 0;
  for (size_t i = 0; i < PART_COUNT; ++i) {
    char path[1024];
    struct stat status;
    snprintf(path, sizeof path, "%s/%s", folder, parts[i].path);
    if (stat(path, &status) != 0) return refuse(host, codegen, BYOC_NOT_FOUND, folder, parts[i].package);
    if (parts[i].include) {
      char *include = out_toolkit->includes[includes++];
      snprintf(include, sizeof out_toolkit->includes[0], "-I%s/%s", folder, parts[i].include);
      continue;
    }
    snprintf(out_toolkit->library, sizeof out_toolkit->library, "%s", path);
    out_toolkit->library_bytes = (uint64_t)status.st_size;
  }
  return BYOC_OK;
}

// ---- compiling, in a child process ----

typedef struct nvrtc_program_t nvrtc_program_t;

// Declarations of NVRTC's header.
typedef struct nvrtc_t {
  int (*nvrtcCreateProgram)(nvrtc_program_t **program, const char *text, const char *name, int header_count,
                            const char *const *headers, const char *const *names);
  int (*nvrtcCompileProgram)(nvrtc_program_t *program, int option_count, const char *const *options);
  int (*nvrtcGetProgramLogSize)(nvrtc_program_t *program, size_t *size);
  int (*nvrtcGetProgramLog)(nvrtc_program_t *program, char *log);
  int (*nvrtcGetCUBINSize)(nvrtc_program_t *program, size_t *size);
  int (*nvrtcGetCUBIN)(nvrtc_program_t *program, char *code);
  int (*nvrtcGetPTXSize)(nvrtc_program_t *program, size_t *size);
  int (*nvrtcGetPTX)(nvrtc_program_t *program, char *code);
} nvrtc_t;

typedef struct work_t {
  const byoc_cutlass_toolkit_t *toolkit;
  const char *architecture, *text;
} work_t;

static bool open_nvrtc(const char *path, nvrtc_t *out) {
  static const char *const names[] = {"nvrtcCreateProgram", "nvrtcCompileProgram", "nvrtcGetProgramLogSize",
                                      "nvrtcGetProgramLog", "nvrtcGetCUBINSize",   "nvrtcGetCUBIN",
                                      "nvrtcGetPTXSize",    "nvrtcGetPTX"};
  void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  for (size_t i = 0; library && i < sizeof names / sizeof *names; ++i) {
    void *symbol = dlsym(library, names[i]);
    if (!symbol) return false;
    memcpy((char *)out + i * sizeof symbol, &symbol, sizeof symbol); // the members stand in this order
  }
  return library != NULL;
}

static bool write_all(int out, const void *data, size_t size) {
  for (size_t done = 0; done < size;) {
    ssize_t count = write(out, (const char *)data + done, size - done);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    done += (size_t)count;
  }
  return true;
}

// Hands over "<status> <cubin bytes> <ptx bytes>\n" in 64 bytes, then the code, or the compiler's messages as PTX.
static int32_t hand_over(int out, int failed, const char *cubin, size_t cubin_bytes, const char *ptx,
                         size_t ptx_bytes) {
  char head[64] = {0};
  snprintf(head, sizeof head, "%d %zu %zu\n", failed, cubin_bytes, ptx_bytes);
  bool ok = write_all(out, head, sizeof head) && write_all(out, cubin, cubin_bytes) && write_all(out, ptx, ptx_bytes);
  return ok ? BYOC_OK : BYOC_IO;
}

static int32_t fetch(const nvrtc_t *nvrtc, nvrtc_program_t *program, int failed, int out) {
  size_t cubin_bytes = 0, ptx_bytes = 0;
  if (failed) {
    nvrtc->nvrtcGetProgramLogSize(program, &ptx_bytes);
  } else if (nvrtc->nvrtcGetCUBINSize(program, &cubin_bytes) != 0 || nvrtc->nvrtcGetPTXSize(program, &ptx_bytes) != 0) {
    return BYOC_TOOL;
  }
  char *cubin = calloc(1, cubin_bytes + 1), *ptx = calloc(1, ptx_bytes + 1);
  int32_t status = cubin && ptx ? BYOC_OK : BYOC_OUT_OF_MEMORY;
  if (status == BYOC_OK && failed) nvrtc->nvrtcGetProgramLog(program, ptx);
  if (status == BYOC_OK && !failed &&
      (nvrtc->nvrtcGetCUBIN(program, cubin) != 0 || nvrtc->nvrtcGetPTX(program, ptx) != 0))
    status = BYOC_TOOL;
  if (status == BYOC_OK) status = hand_over(out, failed, cubin, cubin_bytes, ptx, ptx_bytes);
  free(cubin);
  free(ptx);
  return status;
}

static int32_t compile_in_child(void *argument, int out) {
  const work_t *work = argument;
  nvrtc_t nvrtc;
  nvrtc_program_t *program = NULL;
  if (!open_nvrtc(work->toolkit->library, &nvrtc)) return BYOC_NOT_FOUND;
  char architecture[64];
  snprintf(architecture, sizeof architecture, "--gpu-architecture=%s", work->architecture);
  const char *options[3 + BYOC_CUTLASS_CUDA_MOST_INCLUDES] = {architecture, "-std=c++17", "-default-device"};
  for (int i = 0; i < BYOC_CUTLASS_CUDA_MOST_INCLUDES; ++i) options[3 + i] = work->toolkit->includes[i];
  if (nvrtc.nvrtcCreateProgram(&program, work->text, "kernel.cu", 0, NULL, NULL) != 0) return BYOC_TOOL;
  int failed = nvrtc.nvrtcCompileProgram(program, 3 + BYOC_CUTLASS_CUDA_MOST_INCLUDES, options);
  return fetch(&nvrtc, program, failed, out);
}

// Reads what a child handed over, now or in an earlier build.
static int32_t read_binary(const byoc_host_t *host, byoc_codegen_t *codegen, const char *data, uint64_t size,
                           byoc_cutlass_binary_t *out) {
  enum { HEAD_BYTES = 64 };
  int failed = 0;
  size_t cubin_bytes = 0, ptx_bytes = 0;
  bool ok = size >= HEAD_BYTES && sscanf(data, "%d %zu %zu", &failed, &cubin_bytes, &ptx_bytes) == 3 &&
            cubin_bytes <= size && ptx_bytes == size - HEAD_BYTES - cubin_bytes;
  if (!ok)
    return host->codegen->error(codegen, BYOC_TOOL,
                                "cutlass: the child process that runs NVRTC returned an incomplete kernel");
  if (failed) {
    char message[1024];
    snprintf(message, sizeof message, "cutlass: NVRTC cannot compile a kernel: %.*s", (int)ptx_bytes,
             data + HEAD_BYTES + cubin_bytes);
    return host->codegen->error(codegen, BYOC_TOOL, message);
  }
  *out = (byoc_cutlass_binary_t){data + HEAD_BYTES, data + HEAD_BYTES + cubin_bytes, cubin_bytes,
                                 ptx_bytes ? ptx_bytes - 1 : 0};
  return BYOC_OK;
}

int32_t byoc_cutlass_toolkit_compile(const byoc_host_t *host, const byoc_device_api_t *device, byoc_codegen_t *codegen,
                                     const byoc_cutlass_toolkit_t *toolkit, const char *architecture, const char *text,
                                     byoc_cutlass_binary_t *out_binary) {
  enum { TIMEOUT_MS = 600000 };
  char key[128];
  const void *data = NULL;
  uint64_t size = 0;
  snprintf(key, sizeof key, "cuda %s %llu %016llx", architecture, (unsigned long long)toolkit->library_bytes,
           (unsigned long long)byoc_plugin_hash_string(text));
  if (host->codegen->cache_get(codegen, key, &data, &size) == BYOC_OK)
    return read_binary(host, codegen, data, size, out_binary);
  work_t work = {toolkit, architecture, text};
  int32_t status = device->run_in_child(codegen, compile_in_child, &work, TIMEOUT_MS, &data, &size);
  if (status == BYOC_OK) status = read_binary(host, codegen, data, size, out_binary);
  if (status == BYOC_OK) (void)host->codegen->cache_put(codegen, key, data, size);
  return status;
}
