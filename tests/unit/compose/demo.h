// SPDX-License-Identifier: Apache-2.0
// A host program made by hand with one instruction of each kind:
//   y = (((x + w) * 2) + 1) - c    x, y : f32[4]; + w a kernel, * 2 C source, + 1 a C function, - c an engine; a copy
#ifndef BYOC_TESTS_UNIT_COMPOSE_DEMO_H_
#define BYOC_TESTS_UNIT_COMPOSE_DEMO_H_

#include "tests/support/support.h"

#include <stdlib.h>

#include "core/base/file.h"
#include "core/base/process.h"
#include "core/compose/artifact/compose.h"
#include "core/compose/cc/compiler.h"
#include "core/hostir/lower/lower_program.h"
#include "core/hostir/program/edit.h"
#include "core/hostir/program/program.h"

static const float demo_w[4] = {10, 20, 30, 40}, demo_c[4] = {0.5f, 0.25f, 0.125f, 0};
static const float demo_x[4] = {1, 2, 3, 4}, demo_y[4] = {22.5f, 44.75f, 66.875f, 89};

static const char demo_packed_source[] =
    "#include \"byoc/call.h\"\n"
    "static void body(void *argument, int64_t begin, int64_t end, int32_t worker) {\n"
    "  const byoc_call_t *call = argument;\n"
    "  const float *in = call->tensors[0].data;\n"
    "  float *scratch = call->workspace, *out = call->tensors[call->input_count].data;\n"
    "  for (int64_t i = begin; i < end; ++i) scratch[i] = in[i] * 2;\n"
    "  for (int64_t i = begin; i < end; ++i) out[i] = scratch[i];\n"
    "  (void)worker;\n"
    "}\n"
    "BYOC_PACKED int32_t demo_scale(const byoc_call_t *call) {\n"
    "  const float *in = call->tensors[0].data;\n"
    "  if (call->workspace_size_bytes < 16) return BYOC_INTERNAL;\n"
    "  if (in[0] > 1000) {\n"
    "    call->runtime->set_error(call->runtime->self, \"the first element is too large\");\n"
    "    return BYOC_INVALID_DATA;\n"
    "  }\n"
    "  call->runtime->parallel_for(call->runtime->self, body, (void *)call, 4, 1);\n"
    "  return BYOC_OK;\n"
    "}\n";

// The setup must have run before the first call.
static const char demo_library_source[] = "#include \"byoc/call.h\"\n"
                                          "static int ready;\n"
                                          "int32_t demo_setup(const byoc_runtime_t *runtime) {\n"
                                          "  ready = runtime->thread_count >= 1;\n"
                                          "  return BYOC_OK;\n"
                                          "}\n"
                                          "int32_t demo_add(int32_t count, float value, int64_t one, double zero, "
                                          "const float *in, float *out, void *null) {\n"
                                          "  if (!ready || one != 1 || zero != 0 || null != 0) return BYOC_INTERNAL;\n"
                                          "  for (int i = 0; i < count; ++i) out[i] = in[i] + value;\n"
                                          "  return BYOC_OK;\n"
                                          "}\n";

static const char demo_engine_source[] =
    "#include \"byoc/engine.h\"\n"
    "#include <stdlib.h>\n"
    "#include <string.h>\n"
    "typedef struct { const float *c; } instance_t;\n"
    "static int32_t create(const byoc_engine_init_t *init, void **out_instance) {\n"
    "  *out_instance = 0;\n"
    "  const byoc_engine_function_t *f = init->functions;\n"
    "  if (init->function_count != 1 || init->blob_count != 1 || strcmp(f->json, \"{\\\"op\\\":\\\"sub\\\"}\") != 0 "
    "||\n"
    "      strlen(f->json) != f->json_size || f->constant_count != 1 || memcmp(init->blobs[0].data, \"blob!\", 5) != "
    "0) {\n"
    "    init->runtime->set_error(init->runtime->self, \"unexpected description\");\n"
    "    return BYOC_INVALID_DATA;\n"
    "  }\n"
    "  instance_t *instance = malloc(sizeof(*instance));\n"
    "  if (!instance) return BYOC_OUT_OF_MEMORY;\n"
    "  instance->c = f->constants[0].data;\n"
    "  *out_instance = instance;\n"
    "  return BYOC_OK;\n"
    "}\n"
    "static void destroy(void *instance) { free(instance); }\n"
    "static int32_t run(void *self, uint32_t index, const byoc_call_t *call) {\n"
    "  const instance_t *instance = self;\n"
    "  const float *in = call->tensors[0].data;\n"
    "  float *out = call->tensors[1].data;\n"
    "  for (int i = 0; i < 4; ++i) out[i] = in[i] - instance->c[i];\n"
    "  return index == 0 ? BYOC_OK : BYOC_INTERNAL;\n"
    "}\n"
    "static int32_t profile(void *self, uint32_t index, const byoc_call_t *call, byoc_engine_profile_sink_t sink,\n"
    "                       void *argument) {\n"
    "  int32_t status = run(self, index, call);\n"
    "  sink(argument, \"sub node\", 7);\n"
    "  return status;\n"
    "}\n"
    "BYOC_PACKED const byoc_engine_t demo_engine = {sizeof(byoc_engine_t), BYOC_ENGINE_ABI_VERSION, \"demo\", 0,\n"
    "                                               create, destroy, run, profile};\n";

typedef struct demo_t {
  byoc_arena_t arena;
  byoc_host_program_t *program;
  byoc_runtime_module_t *source, *library, *engine, *json;
  byoc_loop_builder_t builder;
  const char *packed_source; // set before demo_init to replace it
} demo_t;

static void *demo_object(const char *name, const char *source, size_t *out_size) {
  byoc_diag_t diag = {0};
  void *object = NULL;
  byoc_compile_job_t job = {.name = name, .source = source};
  byoc_test_ok(byoc_compile(&job, byoc_allocator_system(), &diag, &object, out_size), &diag);
  return object;
}

// Compiles a source and adds it to the module, as an object or in an archive.
static void demo_add_object(byoc_runtime_module_t *module, const char *name, const char *source, bool archive) {
  byoc_diag_t diag = {0};
  byoc_allocator_t system = byoc_allocator_system();
  size_t size = 0;
  void *object = demo_object(name, source, &size);
  byoc_file_content_t content = {.name = name, .data = object, .size_bytes = size};
  char *folder = NULL, *path = NULL;
  if (archive) {
    folder = byoc_test_folder();
    path = byoc_path_join(system, folder, "member.o");
    byoc_test_ok(byoc_file_write(path, object, size, &diag), &diag);
    const char *argv[] = {"ar", "crs", "lib.a", "member.o", NULL};
    byoc_process_options_t options = {.directory = folder};
    byoc_process_result_t result;
    byoc_test_ok(byoc_process_run(argv, &options, NULL, &diag, &result), &diag);
    assert_int_equal(result.exit_code, 0);
    byoc_free(system, path);
    path = byoc_path_join(system, folder, "lib.a");
    content = (byoc_file_content_t){.path = path};
  }
  byoc_test_ok(byoc_runtime_module_add_file(module, &content, false, &diag), &diag);
  if (folder != NULL) byoc_test_ok(byoc_remove_tree(folder, &diag), &diag);
  free(path);
  free(folder);
  free(object);
}

static byoc_runtime_module_t *demo_module(byoc_runtime_module_kind_t kind, const char *name) {
  byoc_diag_t diag = {0};
  byoc_runtime_module_t *module = NULL;
  byoc_test_ok(byoc_runtime_module_create(kind, name, "demo", byoc_allocator_system(), &diag, &module), &diag);
  return module;
}

static byoc_host_instruction_t *demo_step(demo_t *demo, byoc_host_op_t op, const char *symbol, const char *origin,
                                          byoc_host_buffer_t *from, byoc_host_buffer_t *to) {
  byoc_host_instruction_t *step = byoc_host_instruction_create(demo->program, NULL, op);
  assert_non_null(step);
  step->symbol = symbol;
  step->origin = origin;
  assert_true(byoc_host_add_operand(demo->program, step, from));
  assert_true(byoc_host_add_result(demo->program, step, to));
  return step;
}

static const byoc_loop_kernel_t *demo_kernel(demo_t *demo, const byoc_type_t *type) {
  byoc_loop_builder_t *b = &demo->builder;
  byoc_loop_builder_init(b, &demo->arena, "byoc_k0_add");
  byoc_loop_buffer_t *x = byoc_loop_parameter(b, BYOC_LOOP_BUFFER_INPUT, "x", type);
  byoc_loop_buffer_t *w = byoc_loop_parameter(b, BYOC_LOOP_BUFFER_INPUT, "w", type);
  byoc_loop_buffer_t *y = byoc_loop_parameter(b, BYOC_LOOP_BUFFER_OUTPUT, "y", type);
  const byoc_loop_expr_t *i = byoc_loop_for(b, BYOC_LOOP_SERIAL, "i", byoc_loop_int(b, 0), byoc_loop_int(b, 4));
  byoc_loop_store(b, y, i, BYOC_LADD(b, byoc_loop_load(b, x, i), byoc_loop_load(b, w, i)));
  byoc_loop_end(b);
  assert_false(b->failed);
  b->kernel->description = "Add";
  return b->kernel;
}

static void demo_make_modules(demo_t *demo) {
  byoc_diag_t diag = {0};
  demo->source = demo_module(BYOC_RUNTIME_MODULE_C_SOURCE, "demo_source");
  demo->source->source = demo->packed_source != NULL ? demo->packed_source : demo_packed_source;
  byoc_test_ok(byoc_runtime_module_add_symbol(demo->source, "demo_scale", &diag), &diag);

  demo->library = demo_module(BYOC_RUNTIME_MODULE_STATIC_LIBRARY, "demo_library");
  demo_add_object(demo->library, "demo_library.o", demo_library_source, false);
  demo->library->setup_symbol = "demo_setup";
  byoc_test_ok(byoc_runtime_module_add_symbol(demo->library, "demo_add", &diag), &diag);

  demo->engine = demo_module(BYOC_RUNTIME_MODULE_ENGINE, "demo");
  demo_add_object(demo->engine, "demo_engine.a", demo_engine_source, true);
  demo->engine->engine_symbol = "demo_engine";
  byoc_file_content_t blob = {.name = "blob", .data = "blob!", .size_bytes = 5};
  byoc_test_ok(byoc_runtime_module_add_file(demo->engine, &blob, true, &diag), &diag);

  demo->json = demo_module(BYOC_RUNTIME_MODULE_JSON, "demo_0");
  demo->json->function_name = "demo_0";
  demo->json->engine_name = "demo";
  demo->json->json = "{\"op\":\"sub\"}";
  const int64_t dims[] = {4};
  byoc_tensor_data_t c = {.dtype = BYOC_DTYPE_F32, .rank = 1, .dims = dims, .data = demo_c, .size_bytes = 16};
  byoc_test_ok(byoc_runtime_module_add_constant(demo->json, NULL, &c, &diag), &diag);
}

static inline void demo_init(demo_t *demo) {
  byoc_diag_t diag = {0};
  byoc_allocator_t system = byoc_allocator_system();
  byoc_arena_init(&demo->arena, system);
  byoc_test_ok(byoc_host_program_create(NULL, "demo", system, &diag, &demo->program), &diag);
  byoc_host_program_t *p = demo->program;
  demo_make_modules(demo);

  const int64_t four[] = {4}, wide[] = {16};
  const byoc_type_t *type = byoc_type_tensor_static(&demo->arena, BYOC_DTYPE_F32, 1, four);
  const byoc_type_t *bytes = byoc_type_tensor_static(&demo->arena, BYOC_DTYPE_U8, 1, wide);
  byoc_host_buffer_t *x = byoc_host_buffer_create(p, BYOC_HOST_BUFFER_INPUT, "x/in:0", type);
  byoc_host_buffer_t *y = byoc_host_buffer_create(p, BYOC_HOST_BUFFER_OUTPUT, "class", type);
  byoc_host_buffer_t *w = byoc_host_buffer_create(p, BYOC_HOST_BUFFER_CONSTANT, "w", type);
  byoc_host_buffer_t *t[4];
  for (int i = 0; i < 4; i++) t[i] = byoc_host_buffer_create(p, BYOC_HOST_BUFFER_LOCAL, "t", type);
  byoc_host_buffer_t *scratch = byoc_host_buffer_create(p, BYOC_HOST_BUFFER_LOCAL, "s", bytes);
  w->data = demo_w;
  assert_true(byoc_vector_push(&p->inputs, system, x));
  assert_true(byoc_vector_push(&p->outputs, system, y));

  const byoc_loop_kernel_t *kernel = demo_kernel(demo, type);
  assert_true(byoc_vector_push(&p->kernels, system, kernel));
  byoc_host_instruction_t *add = demo_step(demo, BYOC_HOST_KERNEL, kernel->name, "Add 'add'", x, t[0]);
  add->kernel = kernel;
  assert_true(byoc_host_add_operand(demo->program, add, w));

  byoc_host_instruction_t *scale = demo_step(demo, BYOC_HOST_PACKED, "demo_scale", "Mul 'mul'", t[0], t[1]);
  assert_true(byoc_host_set_workspace(p, scale, scratch));

  // Two calls of two elements each.
  static const byoc_c_argument_t arguments[] = {
      {.kind = BYOC_C_ARGUMENT_INTEGER, .type = BYOC_C_I32, .integer = 2},
      {.kind = BYOC_C_ARGUMENT_REAL, .type = BYOC_C_F32, .real = 1},
      {.kind = BYOC_C_ARGUMENT_INTEGER, .type = BYOC_C_I64, .integer = 1},
      {.kind = BYOC_C_ARGUMENT_REAL, .type = BYOC_C_F64, .real = 0},
      {.kind = BYOC_C_ARGUMENT_OPERAND, .type = BYOC_C_POINTER, .step_bytes = 8},
      {.kind = BYOC_C_ARGUMENT_RESULT, .type = BYOC_C_POINTER, .step_bytes = 8},
      {.kind = BYOC_C_ARGUMENT_NULL, .type = BYOC_C_POINTER}};
  static const byoc_c_call_t call = {.symbol = "demo_add",
                                     .return_type = BYOC_C_STATUS,
                                     .argument_count = 7,
                                     .arguments = arguments,
                                     .repeat_count = 2,
                                     .result_from_operand = -1};
  demo_step(demo, BYOC_HOST_C_CALL, "demo_add", "Add 'one'", t[1], t[2])->c_call = &call;

  byoc_host_instruction_t *sub = demo_step(demo, BYOC_HOST_ENGINE, "demo_0", "Sub 'sub'", t[2], t[3]);
  sub->engine = demo->engine;
  sub->json = demo->json;
  demo_step(demo, BYOC_HOST_COPY, NULL, "Identity 'out'", t[3], y);

  byoc_host_engine_t engine = {.engine = demo->engine};
  assert_true(byoc_vector_push(&engine.functions, system, demo->json));
  assert_true(byoc_vector_push(&p->engines, system, engine));
  assert_true(byoc_vector_push(&p->libraries, system, demo->source));
  assert_true(byoc_vector_push(&p->libraries, system, demo->library));
  byoc_test_ok(byoc_host_place_lifetimes(p, &diag), &diag);
  byoc_test_ok(byoc_host_plan_memory(p, &diag), &diag);
}

static inline void demo_deinit(demo_t *demo) {
  byoc_host_program_destroy(demo->program);
  byoc_loop_builder_deinit(&demo->builder);
  byoc_runtime_module_release(demo->source);
  byoc_runtime_module_release(demo->library);
  byoc_runtime_module_release(demo->engine);
  byoc_runtime_module_release(demo->json);
  byoc_arena_deinit(&demo->arena);
  *demo = (demo_t){0};
}

// Folder/model.so; free with free().
static inline char *demo_output(const char *folder) {
  char *path = byoc_path_join(byoc_allocator_system(), folder, "model.so");
  assert_non_null(path);
  return path;
}

#endif // BYOC_TESTS_UNIT_COMPOSE_DEMO_H_
