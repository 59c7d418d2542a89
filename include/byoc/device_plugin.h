// SPDX-License-Identifier: Apache-2.0
// byoc/device_plugin.h - devices of a backend plugin: its driver, the code for the device, and the launches of
// functions.
//
// Example:
//   const byoc_device_api_t *device = host->extension(host, BYOC_DEVICE_EXTENSION, 1); // NULL: an older host
//   // In the hook generate:
//   device->add_driver(codegen, &driver);        // once, however many functions there are
//   device->add_device_module(codegen, &module); // kernels, in as many variants as there are architectures
//   device->bind_kernels(codegen, function, &binding);
//
// byoc_backend_t.driver names the device of the backend's functions. Their operands and results then live in the memory
// of that device, and the host plans the copies between it and other devices. The backend is asked about nodes of known
// shapes only, unless it sets BYOC_BACKEND_OPEN_SIZES: then its kernels get dynamic sizes as extents.
//
// The rules of byoc/plugin.h hold: data of the plugin is copied, a failed answer is kept and fails the run.
#ifndef BYOC_DEVICE_PLUGIN_H_
#define BYOC_DEVICE_PLUGIN_H_

#include "byoc/device.h"
#include "byoc/plugin.h"

#ifdef __cplusplus
extern "C" {
#endif

#define BYOC_DEVICE_EXTENSION "byoc.device"

// A driver; added once.
typedef struct byoc_driver_module_t {
  byoc_header_t header;
  const char *name;                 // "opencl", as in its table: device modules and programs refer to it
  const char *symbol;               // of the byoc_driver_t in `files`
  const byoc_file_content_t *files; // archives
  uint32_t file_count;              // since minor 5, 0 if the backend announces the code (byoc_runtime_code_t)
  uint32_t file_stride;
  byoc_text_list_t needed;         // shared libraries that stay outside; a driver that opens them itself has none
  const byoc_driver_t *in_process; // the same driver for the evaluator; lives as long as the plugin is loaded
} byoc_driver_module_t;

enum {
  BYOC_DEVICE_CODE_BINARY = 1,   // for one architecture
  BYOC_DEVICE_CODE_PORTABLE = 2, // translated when it is loaded: PTX, SPIR-V
  BYOC_DEVICE_CODE_SOURCE = 3,   // compiled when it is loaded
};

// One form of a module's code. When a context is made, binaries whose architecture is the device's are tried first,
// then portable forms, then sources, each in the given order, until the driver accepts one.
typedef struct byoc_device_variant_t {
  byoc_header_t header;
  uint32_t kind; // BYOC_DEVICE_CODE_*
  uint32_t reserved;
  const char *format;       // a format of the driver: "cubin"
  const char *architecture; // BINARY: byoc_device_info_t.architecture; otherwise NULL
  const void *data;
  uint64_t size_bytes;
  const char *options; // for the driver's compiler; NULL: none
} byoc_device_variant_t;

typedef struct byoc_device_code_module_t {
  byoc_header_t header;
  const char *name;   // unique among the device modules of this backend
  const char *driver; // name of a driver that was added
  const byoc_device_variant_t *variants;
  uint32_t variant_count;
  uint32_t variant_stride;
  byoc_text_list_t entries; // kernels in it
  // Since minor 5. What the code fits, for the driver's slot `fits` (byoc_json_module_t.fits); NULL: any device of the
  // driver that takes a variant.
  const char *fits;
} byoc_device_code_module_t;

enum {
  BYOC_KERNEL_ARGUMENT_OPERAND = 1,  // operand `index` of the function
  BYOC_KERNEL_ARGUMENT_RESULT = 2,   // result `index` of the function
  BYOC_KERNEL_ARGUMENT_CONSTANT = 3, // constant `index` of the binding, uploaded once per context
  BYOC_KERNEL_ARGUMENT_SCRATCH = 4,  // scratch memory of the binding, from offset_bytes on
  BYOC_KERNEL_ARGUMENT_EXTENT = 5,   // the value of `extent`, as type I32 or I64
  BYOC_KERNEL_ARGUMENT_INTEGER = 6,  // `integer`, as type I32 or I64
  BYOC_KERNEL_ARGUMENT_REAL = 7,     // `real`, as type F32 or F64
  BYOC_KERNEL_ARGUMENT_LOCAL = 8,    // memory of one work-group, `integer` bytes
  // Since minor 5. Temporary tensor `index` of the binding: the first launch with it writes all of it, later ones read
  // it.
  BYOC_KERNEL_ARGUMENT_TEMPORARY = 9,
};

typedef struct byoc_kernel_argument_t {
  uint32_t kind; // BYOC_KERNEL_ARGUMENT_*
  uint32_t type; // EXTENT, INTEGER, REAL: BYOC_C_I32, BYOC_C_I64, BYOC_C_F32 or BYOC_C_F64
  uint32_t index;
  uint32_t reserved;
  int64_t integer;
  double real;
  uint64_t offset_bytes; // OPERAND, RESULT, CONSTANT, SCRATCH, TEMPORARY: added to the offset of the first byte
  const char *extent;    // see byoc_kernel_launch_t
} byoc_kernel_argument_t;

// One launch. An extent is a string: an integer, a dimension of an operand or a result ("p0.1" is axis 1 of operand 0,
// "r0.2" axis 2 of result 0), or + - * / % min max ceildiv over these, with parentheses: "ceildiv(p0.0 * p0.1, 64)".
// Division rounds down. Since minor 5, broadcast(a, b) is the common size of sizes that are equal, or one of which is
// 1.
typedef struct byoc_kernel_launch_t {
  byoc_header_t header;
  const char *module;   // name of a device module
  const char *entry;    // one of its entries
  const char *grid[3];  // extents: work-groups along each axis; NULL: 1
  const char *block[3]; // extents: work-items of a work-group along each axis; NULL: 1
  const byoc_kernel_argument_t *arguments;
  uint32_t argument_count;
  uint32_t argument_stride;
} byoc_kernel_launch_t;

// The answer for a function: launches in order, on one queue. Each must have a result, scratch memory or a new
// temporary among its arguments, because it writes nothing else.
typedef struct byoc_kernel_binding_t {
  byoc_header_t header;
  const byoc_kernel_launch_t *launches;
  uint32_t launch_count; // at least 1
  uint32_t launch_stride;
  const byoc_tensor_data_t *constants;
  uint32_t constant_count;
  uint32_t constant_stride;
  const char *scratch_bytes; // an extent: scratch memory of the device for each call; NULL: none
  // The memory scope of each operand, then of each result; NULL: any scope. An empty list allows any scope for all.
  byoc_text_list_t scopes;
  // Since minor 5. Tensors between launches: an extent of each for its size in bytes. The host finds memory for them,
  // as for values of the program; it is shared by those that are not needed at the same time.
  byoc_text_list_t temporaries;
} byoc_kernel_binding_t;

typedef struct byoc_device_api_t {
  byoc_header_t header;
  // BYOC_ALREADY_EXISTS if another driver has the name, BYOC_VERSION for a driver of another ABI, BYOC_INVALID_DATA for
  // a table that lacks a slot which is not optional or has another name. Adding the same one twice is BYOC_OK.
  int32_t (*add_driver)(byoc_codegen_t *codegen, const byoc_driver_module_t *driver);
  // BYOC_NOT_FOUND if there is no such driver, BYOC_ALREADY_EXISTS if the backend has another module of that name,
  // BYOC_INVALID_ARGUMENT without variants or entries.
  int32_t (*add_device_module)(byoc_codegen_t *codegen, const byoc_device_code_module_t *module);
  // An answer, as bind_packed is. BYOC_NOT_FOUND for a module or an entry that was not added; BYOC_INVALID_ARGUMENT for
  // an index out of range, an extent that cannot be read, a list of scopes of another length, a result that is an
  // argument of no launch, and a backend that names no driver.
  int32_t (*bind_kernels)(byoc_codegen_t *codegen, byoc_function_t *function, const byoc_kernel_binding_t *binding);
  // Runs `work(argument)` in a child process that is killed after timeout_ms (0: 60000), and returns its status: for
  // compilers of drivers, which install signal handlers and keep threads and memory. *out_data gets the bytes that the
  // child writes to the file descriptor `out`, even if `work` fails: a compiler may write its messages there. A NUL
  // that is not counted follows it, and it lives until the hook returns. BYOC_TOOL, with the reason, if the child
  // crashes, exits or takes too long. To build binaries only once, keep them by codegen->cache_put under a key that
  // names byoc_device_info_t.driver_version and .architecture.
  int32_t (*run_in_child)(byoc_codegen_t *codegen, int32_t (*work)(void *argument, int32_t out), void *argument,
                          uint32_t timeout_ms, const void **out_data, uint64_t *out_size_bytes);
  // Since minor 5. The size of a value of `function` along an axis as an extent: "12", "p0.1", "(p0.0 * p1.1)". It
  // lives until the hook returns. BYOC_NOT_FOUND if it does not follow from the sizes of the function's operands and
  // results, BYOC_INVALID_ARGUMENT if the value has no such axis; *out_extent is then NULL.
  int32_t (*value_extent)(byoc_codegen_t *codegen, const byoc_function_t *function, const byoc_value_t *value,
                          int32_t axis, const char **out_extent);
} byoc_device_api_t;

#ifdef __cplusplus
}
#endif
#endif // BYOC_DEVICE_PLUGIN_H_
