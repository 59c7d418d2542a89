// SPDX-License-Identifier: Apache-2.0
// The extension byoc.device: what a backend hands over for its device, each way to lie about it, and work in a child.
#include "tests/support/support.h"

#include <stdlib.h>
#include <unistd.h>

#include "core/base/file.h"
#include "core/base/log.h"
#include "core/base/process.h"
#include "core/base/string.h"
#include "core/ir/module_text.h"
#include "core/module/kernels.h"
#include "core/plugin/codegen.h"
#include "core/plugin/host.h"

static const char graph_text[] = "module {\n"
                                 "  func @main(%x : f32[2,3]) -> (%r : f32[2,3]) {\n"
                                 "    %r = call @first(%x) : f32[2,3]\n"
                                 "    return %r\n"
                                 "  }\n"
                                 "  func @first(%a : f32[2,3]) -> (%b : f32[2,3]) attributes {Compiler = \"probe\"} {\n"
                                 "    %b = Relu@14(%a) : f32[2,3]\n"
                                 "    return %b\n"
                                 "  }\n"
                                 "}\n";

// ---- a driver ----

static byoc_bytes_t object; // defines demo_driver

static int group_setup(void **state) {
  (void)state;
  char *folder = byoc_test_folder(), *source = byoc_path_join(byoc_allocator_system(), folder, "a.c");
  char *path = byoc_path_join(byoc_allocator_system(), folder, "a.o"), *data = NULL;
  static const char text[] = "const int demo_driver = 1;\n";
  byoc_diag_t diag = {0};
  byoc_test_ok(byoc_file_write(source, text, sizeof(text) - 1, &diag), &diag);
  const char *const argv[] = {"cc", "-c", source, "-o", path, NULL};
  byoc_string_t output;
  byoc_string_init(&output, byoc_allocator_system());
  byoc_process_result_t result;
  byoc_test_ok(byoc_process_run(argv, NULL, &output, &diag, &result), &diag);
  byoc_string_deinit(&output);
  byoc_test_ok(byoc_file_read(path, byoc_allocator_system(), &diag, &data, &object.size_bytes), &diag);
  object.data = data;
  free(source);
  free(path);
  free(folder);
  return 0;
}

static int group_teardown(void **state) {
  (void)state;
  free((void *)(uintptr_t)object.data);
  return 0;
}

// The host only looks at the table: no slot is NULL, and none is ever called.
static byoc_driver_t whole_table(void) {
  byoc_driver_t table = {
      .struct_size = sizeof(table), .abi_version = BYOC_DRIVER_ABI_VERSION, .name = "demo", .flags = 0};
  memset((char *)&table + offsetof(byoc_driver_t, open), 0xFF, sizeof(table) - offsetof(byoc_driver_t, open));
  return table;
}

// ---- what a run hands over ----

// Everything that an honest backend hands over; a row of `lies` spoils a part of it.
typedef struct offer_t {
  byoc_driver_t table;
  byoc_file_content_t file;
  byoc_driver_module_t driver;
  byoc_device_variant_t variants[2];
  const char *entries[2];
  byoc_device_code_module_t code;
  byoc_kernel_argument_t arguments[6];
  byoc_kernel_launch_t launch;
  byoc_kernel_binding_t binding;
  float value;
  byoc_tensor_data_t constant;
  const char *scopes[2], *temporaries[2];
} offer_t;

static void fill(offer_t *o) {
  *o = (offer_t){.table = whole_table(),
                 .value = 0.5f,
                 .entries = {"relu", "add"},
                 .scopes = {NULL, "global.texture"},
                 .temporaries = {"p0.0 * 4", "64"}};
  o->file = (byoc_file_content_t){.header = BYOC_HEADER(byoc_file_content_t, 1),
                                  .name = "a.o",
                                  .data = object.data,
                                  .size_bytes = object.size_bytes};
  o->driver = (byoc_driver_module_t){.header = BYOC_HEADER(byoc_driver_module_t, 1),
                                     .name = "demo",
                                     .symbol = "demo_driver",
                                     .files = &o->file,
                                     .file_count = 1,
                                     .file_stride = sizeof(o->file),
                                     .in_process = &o->table};
  o->variants[0] = (byoc_device_variant_t){.header = BYOC_HEADER(byoc_device_variant_t, 1),
                                           .kind = BYOC_DEVICE_CODE_BINARY,
                                           .format = "bin",
                                           .architecture = "d1",
                                           .data = "\1\2",
                                           .size_bytes = 2};
  o->variants[1] = (byoc_device_variant_t){.header = BYOC_HEADER(byoc_device_variant_t, 1),
                                           .kind = BYOC_DEVICE_CODE_SOURCE,
                                           .format = "text",
                                           .data = "kernel",
                                           .size_bytes = 6,
                                           .options = "-O2"};
  o->code = (byoc_device_code_module_t){.header = BYOC_HEADER(byoc_device_code_module_t, 1),
                                        .name = "kernels",
                                        .driver = "demo",
                                        .variants = o->variants,
                                        .variant_count = 2,
                                        .variant_stride = sizeof(o->variants[0]),
                                        .entries = {o->entries, 2}};
  o->arguments[0] = (byoc_kernel_argument_t){.kind = BYOC_KERNEL_ARGUMENT_OPERAND};
  o->arguments[1] = (byoc_kernel_argument_t){.kind = BYOC_KERNEL_ARGUMENT_RESULT};
  o->arguments[2] =
      (byoc_kernel_argument_t){.kind = BYOC_KERNEL_ARGUMENT_EXTENT, .type = BYOC_C_I32, .extent = "p0.0 * p0.1"};
  o->arguments[3] = (byoc_kernel_argument_t){.kind = BYOC_KERNEL_ARGUMENT_CONSTANT};
  o->arguments[4] = (byoc_kernel_argument_t){.kind = BYOC_KERNEL_ARGUMENT_SCRATCH, .offset_bytes = 64};
  o->arguments[5] = (byoc_kernel_argument_t){.kind = BYOC_KERNEL_ARGUMENT_TEMPORARY, .index = 1, .offset_bytes = 64};
  o->launch = (byoc_kernel_launch_t){.header = BYOC_HEADER(byoc_kernel_launch_t, 1),
                                     .module = "kernels",
                                     .entry = "relu",
                                     .grid = {"ceildiv(r0.0 * r0.1, 64)"},
                                     .block = {"64"},
                                     .arguments = o->arguments,
                                     .argument_count = 6,
                                     .argument_stride = sizeof(o->arguments[0])};
  o->constant = (byoc_tensor_data_t){.header = BYOC_HEADER(byoc_tensor_data_t, 1),
                                     .dtype = BYOC_DTYPE_F32,
                                     .data = &o->value,
                                     .size_bytes = sizeof(o->value)};
  o->binding = (byoc_kernel_binding_t){.header = BYOC_HEADER(byoc_kernel_binding_t, 1),
                                       .launches = &o->launch,
                                       .launch_count = 1,
                                       .launch_stride = sizeof(o->launch),
                                       .constants = &o->constant,
                                       .constant_count = 1,
                                       .constant_stride = sizeof(o->constant),
                                       .scratch_bytes = "128",
                                       .scopes = {o->scopes, 2},
                                       .temporaries = {o->temporaries, 2}};
}

static const byoc_device_api_t *device_api(void) {
  byoc_host_t host = {0};
  byoc_host_fill_tables(&host);
  const byoc_device_api_t *api = host.extension(&host, BYOC_DEVICE_EXTENSION, 1);
  assert_non_null(api);
  assert_null(host.extension(&host, BYOC_DEVICE_EXTENSION, 2));
  assert_null(host.extension(&host, "byoc.nothing", 1));
  assert_null(host.extension(&host, NULL, 1));
  return api;
}

static int32_t hand_over(void *self, byoc_codegen_t *codegen) {
  const offer_t *offer = self;
  const byoc_device_api_t *api = device_api();
  (void)api->add_driver(codegen, &offer->driver);
  (void)api->add_driver(codegen, &offer->driver); // the same once more is fine
  (void)api->add_device_module(codegen, &offer->code);
  byoc_function_t *function = byoc_host_codegen_api()->function_at(codegen, 0);
  (void)api->bind_kernels(codegen, function, &offer->binding);
  return BYOC_OK;
}

typedef struct run_t {
  byoc_graph_module_t *module;
  byoc_codegen_report_t report;
  byoc_diag_t diag;
} run_t;

static byoc_status_t generate(run_t *run, void *self, int32_t (*hook)(void *self, byoc_codegen_t *codegen),
                              const char *driver, const char *target_text, byoc_allocator_t allocator) {
  const byoc_backend_t backend = {.header = BYOC_HEADER(byoc_backend_t, 1),
                                  .target = "probe",
                                  .self = self,
                                  .generate = hook,
                                  .driver = driver,
                                  .device_type = 12};
  byoc_target_kind_t kind = {.name = "probe", .plugin_name = "prober", .plugin_version = "1", .backend = &backend};
  byoc_target_t target = {.kind = &kind, .text = target_text};
  const byoc_codegen_services_t services = {0};
  *run = (run_t){0};
  byoc_codegen_report_init(&run->report, allocator);
  BYOC_RETURN_IF_ERROR(byoc_graph_parse(graph_text, "test", allocator, &run->diag, &run->module));
  byoc_function_t *functions[] = {byoc_graph_module_find(run->module, "first")};
  return byoc_codegen_run(run->module, &target, functions, 1, &services, &run->diag, &run->report);
}

static void end(run_t *run) {
  byoc_codegen_report_deinit(&run->report);
  byoc_graph_module_destroy(run->module);
}

// ---- what is kept ----

static void test_kept(void **state) {
  (void)state;
  offer_t offer;
  fill(&offer);
  run_t run;
  byoc_test_ok(generate(&run, &offer, hand_over, "demo", "probe", byoc_allocator_system()), &run.diag);
  assert_int_equal(run.report.results.data[0].answer, BYOC_CODEGEN_BOUND);
  assert_int_equal(run.module->runtime_modules.count, 3);
  const byoc_runtime_module_t *driver = run.module->runtime_modules.data[0];
  const byoc_runtime_module_t *code = run.module->runtime_modules.data[1];
  const byoc_runtime_module_t *kernels = run.module->runtime_modules.data[2];
  assert_int_equal(driver->kind, BYOC_RUNTIME_MODULE_DRIVER);
  assert_string_equal(driver->driver_symbol, "demo_driver");
  assert_ptr_equal(driver->driver, &offer.table);
  assert_true(byoc_runtime_module_has(driver, BYOC_MODULE_LINKABLE | BYOC_MODULE_RUNNABLE));
  assert_int_equal(code->kind, BYOC_RUNTIME_MODULE_DEVICE);
  assert_ptr_equal(byoc_runtime_module_driver(code), driver);
  assert_int_equal(code->entries.count, 2);
  assert_int_equal(code->variants.count, 2);
  assert_string_equal(code->variants.data[0].architecture, "d1");
  assert_string_equal(code->variants.data[1].options, "-O2");
  assert_memory_equal(code->variants.data[1].data, "kernel", 7); // with the NUL behind it
  assert_int_equal(kernels->kind, BYOC_RUNTIME_MODULE_KERNELS);
  assert_string_equal(kernels->function_name, "first");
  assert_ptr_equal(kernels->imports.data[0], code);
  assert_int_equal(kernels->constants.count, 1);
  assert_int_equal(kernels->launches->scratch_bytes.constant, 128);
  assert_int_equal(kernels->launches->temporary_count, 2);
  assert_false(byoc_dim_is_constant(kernels->launches->temporaries[0]));
  assert_int_equal(kernels->launches->temporaries[1].constant, 64);
  assert_int_equal(kernels->launches->launches[0].arguments[5].kind, BYOC_KERNEL_ARGUMENT_TEMPORARY);
  assert_int_equal(kernels->launches->launches[0].block[0].constant, 64);
  assert_int_equal(kernels->launches->launches[0].grid[2].constant, 1);
  assert_string_equal(kernels->launches->launches[0].entry, "relu");
  // The function's boundary says where it runs.
  const byoc_block_t *body = byoc_graph_module_find(run.module, "first")->body;
  assert_int_equal(body->parameters.data[0]->device.device_type, 12);
  assert_int_equal(body->parameters.data[0]->device.device_id, 0);
  assert_null(body->parameters.data[0]->device.scope);
  assert_string_equal(body->results.data[0]->device.scope, "global.texture");
  end(&run);
}

// ---- extents of values ----

static int32_t ask_extents(void *self, byoc_codegen_t *codegen) {
  (void)self;
  const byoc_device_api_t *api = device_api();
  const byoc_graph_api_t *graph = byoc_host_graph_api();
  byoc_function_t *function = byoc_host_codegen_api()->function_at(codegen, 0);
  const byoc_value_t *x = graph->parameter(function, 0);
  const struct {
    const byoc_function_t *function;
    const byoc_value_t *value;
    int32_t axis, status;
    const char *extent;
  } rows[] = {{function, x, 0, BYOC_OK, "2"},
              {function, x, 1, BYOC_OK, "3"},
              {function, x, 2, BYOC_INVALID_ARGUMENT, NULL},
              {function, x, -1, BYOC_INVALID_ARGUMENT, NULL},
              {function, NULL, 0, BYOC_INVALID_ARGUMENT, NULL},
              {NULL, x, 0, BYOC_INVALID_ARGUMENT, NULL}};
  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    const char *extent = "unchanged";
    assert_int_equal(api->value_extent(codegen, rows[i].function, rows[i].value, rows[i].axis, &extent),
                     rows[i].status);
    if (rows[i].extent == NULL) assert_null(extent);
    if (rows[i].extent != NULL) assert_string_equal(extent, rows[i].extent);
  }
  return byoc_host_codegen_api()->decline(codegen, function, "only the extents were asked for");
}

static void test_extents_of_values(void **state) {
  (void)state;
  run_t run;
  byoc_test_ok(generate(&run, NULL, ask_extents, "demo", "probe", byoc_allocator_system()), &run.diag);
  end(&run);
}

// ---- lies ----

typedef struct lie_t {
  void (*tell)(offer_t *offer);
  byoc_status_t status;
  const char *message;
} lie_t;

#define LIE(name, statement)                                                                                           \
  static void name(offer_t *o) {                                                                                       \
    statement;                                                                                                         \
  }
LIE(old_table, o->table.abi_version = 99)
LIE(short_table, o->table.struct_size = 16)
LIE(other_name, o->table.name = "other")
LIE(no_launch_slot, o->table.launch = NULL)
LIE(name_of_the_host, o->driver.name = "host")
LIE(no_files, o->driver.file_count = 0)
LIE(absent_symbol, o->driver.symbol = "demo_drover")
LIE(unnamed, o->driver.name = NULL)
LIE(unknown_driver, o->code.driver = "demi")
LIE(no_variants, o->code.variant_count = 0)
LIE(no_entries, o->code.entries.count = 0)
LIE(unknown_kind, o->variants[1].kind = 4)
LIE(empty_variant, o->variants[1].size_bytes = 0)
LIE(binary_for_all, o->variants[0].architecture = NULL)
LIE(source_for_one, o->variants[1].architecture = "d1")
LIE(no_format, o->variants[0].format = NULL)
LIE(unknown_module, o->launch.module = "colonels")
LIE(unknown_entry, o->launch.entry = "sub")
LIE(no_launches, o->binding.launch_count = 0)
LIE(bad_grid, o->launch.grid[0] = "p0.0 +")
LIE(negative_grid, o->launch.grid[1] = "1 - 2")
LIE(huge_grid, o->launch.grid[1] = "65536 * 65536")
LIE(empty_block, o->launch.block[2] = "0")
LIE(absent_axis, o->arguments[2].extent = "p0.2")
LIE(no_extent, o->arguments[2].extent = NULL)
LIE(extent_type, o->arguments[2].type = BYOC_C_F32)
LIE(absent_operand, o->arguments[0].index = 1)
LIE(absent_constant, o->arguments[3].index = 1)
LIE(far_offset, o->arguments[0].offset_bytes = 25)
LIE(unwritten, o->arguments[1].kind = BYOC_KERNEL_ARGUMENT_OPERAND)
LIE(idle, o->launch.argument_count = 1)
LIE(unknown_argument, o->arguments[1].kind = 10)
LIE(absent_temporary, o->arguments[5].index = 2)
LIE(far_temporary, o->arguments[5].offset_bytes = 65)
LIE(negative_temporary, o->temporaries[1] = "0 - 4")
LIE(nameless_temporary, o->temporaries[0] = NULL)
LIE(no_temporaries, o->binding.temporaries.items = NULL)
LIE(far_scratch, o->arguments[4].offset_bytes = 129)
LIE(no_scratch, o->binding.scratch_bytes = NULL)
LIE(negative_scratch, o->binding.scratch_bytes = "0 - 1")
LIE(one_scope, o->binding.scopes.count = 1)
LIE(strange_scope, o->scopes[0] = "a\nb")
LIE(wide_integer, (o->arguments[2] = (byoc_kernel_argument_t){
                       .kind = BYOC_KERNEL_ARGUMENT_INTEGER, .type = BYOC_C_I32, .integer = INT64_C(1) << 40}))
LIE(real_type, (o->arguments[2] = (byoc_kernel_argument_t){.kind = BYOC_KERNEL_ARGUMENT_REAL, .type = BYOC_C_I32}))
LIE(no_local, (o->arguments[2] = (byoc_kernel_argument_t){.kind = BYOC_KERNEL_ARGUMENT_LOCAL}))
LIE(no_stride, o->launch.argument_stride = 4)

static const lie_t lies[] = {
    {old_table, BYOC_VERSION, "adding the driver 'demo': its table is of ABI 99, this host has 1"},
    {short_table, BYOC_INVALID_DATA, "its table has struct_size 16"},
    {other_name, BYOC_INVALID_DATA, "its table says that its name is 'other'"},
    {no_launch_slot, BYOC_INVALID_DATA, "its table lacks 'launch', which byoc_driver_t requires"},
    {name_of_the_host, BYOC_ALREADY_EXISTS, "the host's processor has this name"},
    {no_files, BYOC_INVALID_ARGUMENT, "it has no files"},
    {absent_symbol, BYOC_INVALID_DATA, "lists the symbol 'demo_drover', but none of its objects defines it"},
    {unnamed, BYOC_INVALID_DATA, "the driver lacks 'name', which byoc_driver_module_t requires"},
    {unknown_driver, BYOC_NOT_FOUND, "adding the device module 'kernels': its driver 'demi' was not added"},
    {no_variants, BYOC_INVALID_ARGUMENT, "it has no variants"},
    {no_entries, BYOC_INVALID_ARGUMENT, "it has no entries"},
    {unknown_kind, BYOC_INVALID_ARGUMENT, "variant 1 is of the unknown kind 4"},
    {empty_variant, BYOC_INVALID_ARGUMENT, "variant 1 is empty"},
    {binary_for_all, BYOC_INVALID_ARGUMENT, "variant 0 is binary and names no architecture"},
    {source_for_one, BYOC_INVALID_ARGUMENT, "variant 1 names an architecture and is not binary"},
    {no_format, BYOC_INVALID_DATA, "a variant lacks 'format', which byoc_device_variant_t requires"},
    {unknown_module, BYOC_NOT_FOUND,
     "binding function 'first' to kernels: launch 0: its device module 'colonels' was not added"},
    {unknown_entry, BYOC_NOT_FOUND, "launch 0: its device module 'kernels' has no entry 'sub'"},
    {no_launches, BYOC_INVALID_ARGUMENT, "it has no launches"},
    {bad_grid, BYOC_INVALID_ARGUMENT, "the extent 'p0.0 +'"},
    {negative_grid, BYOC_INVALID_ARGUMENT, "the grid is -1 along axis 1"},
    {huge_grid, BYOC_INVALID_ARGUMENT, "the grid is 4294967296 along axis 1"},
    {empty_block, BYOC_INVALID_ARGUMENT, "the block is 0 along axis 2"},
    {absent_axis, BYOC_INVALID_ARGUMENT, "launch 0: argument 2: the extent 'p0.2': operand 0 has no axis 2"},
    {no_extent, BYOC_INVALID_DATA, "argument 2: an extent is NULL"},
    {extent_type, BYOC_INVALID_ARGUMENT, "not I32 or I64"},
    {absent_operand, BYOC_INVALID_ARGUMENT, "argument 0: there is no operand 1"},
    {absent_constant, BYOC_INVALID_ARGUMENT, "argument 3: there is no constant 1"},
    {far_offset, BYOC_INVALID_ARGUMENT, "offset 25 is beyond the 24 bytes of operand 0"},
    {idle, BYOC_INVALID_ARGUMENT, "launch 0: no result, scratch memory or new temporary is among its arguments"},
    {unwritten, BYOC_INVALID_ARGUMENT, "result 0 is an argument of no launch"},
    {unknown_argument, BYOC_INVALID_ARGUMENT, "argument 1: its kind 10 is unknown"},
    {absent_temporary, BYOC_INVALID_ARGUMENT, "argument 5: there is no temporary 2"},
    {far_temporary, BYOC_INVALID_ARGUMENT, "offset 65 is beyond the 64 bytes of temporary 1"},
    {negative_temporary, BYOC_INVALID_ARGUMENT, "temporary 1: the size is -4"},
    {nameless_temporary, BYOC_INVALID_DATA, "temporary 0: an extent is NULL"},
    {no_temporaries, BYOC_INVALID_ARGUMENT, "it has 2 temporaries; there may be 65536, with a size each"},
    {far_scratch, BYOC_INVALID_ARGUMENT, "offset 129 is beyond the 128 bytes of scratch memory"},
    {no_scratch, BYOC_INVALID_ARGUMENT, "the binding has no scratch memory"},
    {negative_scratch, BYOC_INVALID_ARGUMENT, "scratch_bytes is -1"},
    {one_scope, BYOC_INVALID_ARGUMENT, "1 scopes for 1 operands and 1 results"},
    {strange_scope, BYOC_INVALID_DATA, "a memory scope is not one line of printable UTF-8"},
    {wide_integer, BYOC_INVALID_ARGUMENT, "1099511627776 does not fit into I32"},
    {real_type, BYOC_INVALID_ARGUMENT, "not F32 or F64"},
    {no_local, BYOC_INVALID_ARGUMENT, "0 bytes of local memory"},
    {no_stride, BYOC_INVALID_DATA, "its arguments are NULL, or their stride is 4"},
};

static void test_lies(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof(lies) / sizeof(lies[0]); ++i) {
    offer_t offer;
    fill(&offer);
    lies[i].tell(&offer);
    run_t run;
    byoc_test_error(generate(&run, &offer, hand_over, "demo", "probe", byoc_allocator_system()), lies[i].status,
                    &run.diag, lies[i].message);
    assert_int_equal(run.module->runtime_modules.count, 0);
    assert_true(
        byoc_virtual_device_is_free(&byoc_graph_module_find(run.module, "first")->body->results.data[0]->device));
    end(&run);
  }
}

static void test_backend_without_driver(void **state) {
  (void)state;
  offer_t offer;
  fill(&offer);
  run_t run;
  byoc_test_error(generate(&run, &offer, hand_over, NULL, "probe", byoc_allocator_system()), BYOC_INVALID_ARGUMENT,
                  &run.diag, "its backend names no driver (byoc_backend_t.driver), so its functions run on the host");
  end(&run);
  byoc_test_error(generate(&run, &offer, hand_over, "demi", "probe", byoc_allocator_system()), BYOC_NOT_FOUND,
                  &run.diag, "the driver 'demi' was not added");
  end(&run);
}

static int32_t hand_over_two(void *self, byoc_codegen_t *codegen) {
  offer_t second;
  fill(&second);
  second.table = ((const offer_t *)self)->table; // another address: another driver
  const byoc_device_api_t *api = device_api();
  (void)api->add_driver(codegen, &((const offer_t *)self)->driver);
  (void)api->add_driver(codegen, &second.driver);
  return byoc_host_codegen_api()->decline(codegen, byoc_host_codegen_api()->function_at(codegen, 0), "");
}

static int32_t hand_over_two_modules(void *self, byoc_codegen_t *codegen) {
  offer_t *offer = self;
  const byoc_device_api_t *api = device_api();
  (void)api->add_driver(codegen, &offer->driver);
  (void)api->add_device_module(codegen, &offer->code);
  (void)api->add_device_module(codegen, &offer->code);
  offer->variants[1].options = "-O3";
  (void)api->add_device_module(codegen, &offer->code);
  return byoc_host_codegen_api()->decline(codegen, byoc_host_codegen_api()->function_at(codegen, 0), "");
}

static void test_names_are_taken(void **state) {
  (void)state;
  offer_t offer;
  fill(&offer);
  run_t run;
  byoc_test_error(generate(&run, &offer, hand_over_two, "demo", "probe", byoc_allocator_system()), BYOC_ALREADY_EXISTS,
                  &run.diag, "target 'probe' added another driver of this name");
  end(&run);
  byoc_test_error(generate(&run, &offer, hand_over_two_modules, "demo", "probe", byoc_allocator_system()),
                  BYOC_ALREADY_EXISTS, &run.diag, "this backend has another device module of this name");
  end(&run);
}

static byoc_status_t run_once(void *argument, byoc_allocator_t allocator) {
  run_t run;
  byoc_status_t status = generate(&run, argument, hand_over, "demo", "probe", allocator);
  end(&run);
  return status;
}

// A launch may write by its first argument alone.
static void test_the_result_comes_first(void **state) {
  (void)state;
  offer_t offer;
  fill(&offer);
  const byoc_kernel_argument_t operand = offer.arguments[0];
  offer.arguments[0] = offer.arguments[1];
  offer.arguments[1] = operand;
  offer.launch.argument_count = 4;
  offer.binding.temporaries.count = 0;
  run_t run;
  byoc_test_ok(generate(&run, &offer, hand_over, "demo", "probe", byoc_allocator_system()), &run.diag);
  assert_int_equal(run.report.results.data[0].answer, BYOC_CODEGEN_BOUND);
  end(&run);
}

static void test_out_of_memory(void **state) {
  (void)state;
  offer_t offer;
  fill(&offer);
  byoc_test_each_allocation_fails(run_once, &offer, false);
}

// ---- work in a child ----

static int32_t write_text(void *argument, int out) {
  const char *text = argument;
  return write(out, text, strlen(text)) == (ssize_t)strlen(text) ? BYOC_OK : BYOC_IO;
}

static int32_t write_and_fail(void *argument, int out) {
  (void)write_text(argument, out);
  return BYOC_INVALID_DATA;
}

static int32_t crash(void *argument, int out) {
  (void)argument;
  (void)out;
  abort();
}

static int32_t sleep_long(void *argument, int out) {
  (void)argument;
  (void)out;
  (void)sleep(60);
  return BYOC_OK;
}

static int32_t work(void *self, byoc_codegen_t *codegen) {
  (void)self;
  const byoc_device_api_t *api = device_api();
  const void *data = NULL;
  uint64_t size = 0;
  char text[] = "a binary";
  assert_int_equal(api->run_in_child(codegen, write_text, text, 0, &data, &size), BYOC_OK);
  assert_int_equal(size, 8);
  assert_string_equal(data, "a binary");
  assert_int_equal(api->run_in_child(codegen, write_and_fail, text, 0, &data, &size), BYOC_INVALID_DATA);
  assert_string_equal(data, "a binary"); // the compiler's messages
  assert_int_equal(api->run_in_child(codegen, crash, NULL, 0, &data, &size), BYOC_TOOL);
  assert_null(data);
  assert_int_equal(api->run_in_child(codegen, NULL, NULL, 0, &data, &size), BYOC_INVALID_ARGUMENT);
  return api->run_in_child(codegen, sleep_long, NULL, 100, &data, &size);
}

static void test_work_in_a_child(void **state) {
  (void)state;
  run_t run;
  byoc_test_error(generate(&run, NULL, work, "demo", "probe", byoc_allocator_system()), BYOC_TOOL, &run.diag,
                  "it took longer than");
  end(&run);
}

int main(void) {
  byoc_log_set_level(BYOC_LOG_ERROR);
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_kept),
      cmocka_unit_test(test_extents_of_values),
      cmocka_unit_test(test_lies),
      cmocka_unit_test(test_backend_without_driver),
      cmocka_unit_test(test_names_are_taken),
      cmocka_unit_test(test_the_result_comes_first),
      cmocka_unit_test(test_out_of_memory),
      cmocka_unit_test(test_work_in_a_child),
  };
  return cmocka_run_group_tests(tests, group_setup, group_teardown);
}
