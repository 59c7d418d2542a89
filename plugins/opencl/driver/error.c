// SPDX-License-Identifier: Apache-2.0
// Messages for failures, and the statuses that OpenCL's codes stand for.
#include "driver.h"

// Codes that a correct program can meet, or that a mistake in the driver would bring up.
#define CODES(X)                                                                                                       \
  X(CL_DEVICE_NOT_FOUND, BYOC_NOT_FOUND)                                                                               \
  X(CL_DEVICE_NOT_AVAILABLE, BYOC_NOT_FOUND)                                                                           \
  X(CL_COMPILER_NOT_AVAILABLE, BYOC_UNSUPPORTED)                                                                       \
  X(CL_MEM_OBJECT_ALLOCATION_FAILURE, BYOC_OUT_OF_MEMORY)                                                              \
  X(CL_OUT_OF_RESOURCES, BYOC_OUT_OF_MEMORY)                                                                           \
  X(CL_OUT_OF_HOST_MEMORY, BYOC_OUT_OF_MEMORY)                                                                         \
  X(CL_PROFILING_INFO_NOT_AVAILABLE, BYOC_UNSUPPORTED)                                                                 \
  X(CL_BUILD_PROGRAM_FAILURE, BYOC_INVALID_DATA)                                                                       \
  X(CL_MISALIGNED_SUB_BUFFER_OFFSET, BYOC_INVALID_ARGUMENT)                                                            \
  X(CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST, BYOC_INTERNAL)                                                       \
  X(CL_INVALID_VALUE, BYOC_INVALID_ARGUMENT)                                                                           \
  X(CL_INVALID_DEVICE, BYOC_INVALID_ARGUMENT)                                                                          \
  X(CL_INVALID_CONTEXT, BYOC_INVALID_ARGUMENT)                                                                         \
  X(CL_INVALID_QUEUE_PROPERTIES, BYOC_UNSUPPORTED)                                                                     \
  X(CL_INVALID_COMMAND_QUEUE, BYOC_INVALID_ARGUMENT)                                                                   \
  X(CL_INVALID_HOST_PTR, BYOC_INVALID_ARGUMENT)                                                                        \
  X(CL_INVALID_MEM_OBJECT, BYOC_INVALID_ARGUMENT)                                                                      \
  X(CL_INVALID_BINARY, BYOC_UNSUPPORTED)                                                                               \
  X(CL_INVALID_BUILD_OPTIONS, BYOC_INVALID_DATA)                                                                       \
  X(CL_INVALID_PROGRAM, BYOC_INVALID_DATA)                                                                             \
  X(CL_INVALID_PROGRAM_EXECUTABLE, BYOC_INVALID_DATA)                                                                  \
  X(CL_INVALID_KERNEL_NAME, BYOC_NOT_FOUND)                                                                            \
  X(CL_INVALID_KERNEL, BYOC_INVALID_ARGUMENT)                                                                          \
  X(CL_INVALID_ARG_INDEX, BYOC_INVALID_ARGUMENT)                                                                       \
  X(CL_INVALID_ARG_VALUE, BYOC_INVALID_ARGUMENT)                                                                       \
  X(CL_INVALID_ARG_SIZE, BYOC_INVALID_ARGUMENT)                                                                        \
  X(CL_INVALID_KERNEL_ARGS, BYOC_INVALID_ARGUMENT)                                                                     \
  X(CL_INVALID_WORK_GROUP_SIZE, BYOC_INVALID_ARGUMENT)                                                                 \
  X(CL_INVALID_WORK_ITEM_SIZE, BYOC_INVALID_ARGUMENT)                                                                  \
  X(CL_INVALID_EVENT_WAIT_LIST, BYOC_INVALID_ARGUMENT)                                                                 \
  X(CL_INVALID_EVENT, BYOC_INVALID_ARGUMENT)                                                                           \
  X(CL_INVALID_BUFFER_SIZE, BYOC_OUT_OF_MEMORY)                                                                        \
  X(CL_INVALID_GLOBAL_WORK_SIZE, BYOC_INVALID_ARGUMENT)

const char *byoc_opencl_code_name(cl_int code) {
  switch (code) {
#define CODE_NAME(NAME, status)                                                                                        \
  case NAME:                                                                                                           \
    return #NAME;
    CODES(CODE_NAME)
#undef CODE_NAME
  default:
    return "an unknown error";
  }
}

int32_t byoc_opencl_status_of(cl_int code) {
  switch (code) {
  case CL_SUCCESS:
    return BYOC_OK;
#define CODE_STATUS(NAME, status)                                                                                      \
  case NAME:                                                                                                           \
    return status;
    CODES(CODE_STATUS)
#undef CODE_STATUS
  default:
    return BYOC_INTERNAL;
  }
}

int32_t byoc_opencl_out_of_memory(const byoc_device_t *device) {
  return byoc_plugin_fail(device->runtime, BYOC_OUT_OF_MEMORY, "out of memory");
}

int32_t byoc_opencl_check_code(const byoc_runtime_t *runtime, cl_int code, const char *what) {
  if (code == CL_SUCCESS) return BYOC_OK;
  return byoc_plugin_fail(runtime, byoc_opencl_status_of(code), "OpenCL cannot %s: %s (%d)", what,
                          byoc_opencl_code_name(code), code);
}
