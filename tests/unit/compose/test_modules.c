// SPDX-License-Identifier: Apache-2.0
// Runtime modules on their way into an artifact: what their properties ask of the export, their import tree, and
// engines: constants, profiles, and one that is missing.
#include "tests/unit/compose/demo.h"

#include <jansson.h>

#include "core/compose/artifact/module_tree.h"
#include "core/loader/loader.h"

typedef struct built_t {
  demo_t demo;
  char *folder, *path;
  byoc_loaded_artifact_t artifact;
} built_t;

static byoc_status_t compose(built_t *built, byoc_diag_t *diag) {
  const byoc_compose_options_t options = {
      .output = built->path, .model_name = "demo", .cpu_features = "", .profile = true};
  return byoc_compose_artifact(built->demo.program, &options, byoc_allocator_system(), diag);
}

static void begin(built_t *built) {
  *built = (built_t){.folder = byoc_test_folder()};
  built->path = demo_output(built->folder);
  demo_init(&built->demo);
}

static void build(built_t *built) {
  byoc_diag_t diag = {0};
  byoc_test_ok(compose(built, &diag), &diag);
  byoc_test_ok(byoc_artifact_load(built->path, &diag, &built->artifact), &diag);
}

static void end(built_t *built) {
  if (built->artifact.table != NULL) byoc_artifact_unload(&built->artifact);
  byoc_test_ok(byoc_remove_tree(built->folder, NULL), NULL);
  free(built->path);
  free(built->folder);
  demo_deinit(&built->demo);
}

// ---- properties ----

static void expect_properties(const json_t *modules, const char *name, const char *first, const char *second) {
  size_t index = 0;
  const json_t *module = NULL;
  json_array_foreach(modules, index, module) {
    if (strcmp(json_string_value(json_object_get(module, "name")), name) != 0) continue;
    const json_t *properties = json_object_get(module, "properties");
    assert_int_equal(json_array_size(properties), second != NULL ? 2 : 1);
    assert_string_equal(json_string_value(json_array_get(properties, 0)), first);
    if (second != NULL) assert_string_equal(json_string_value(json_array_get(properties, 1)), second);
    return;
  }
  fail_msg("no module '%s'", name);
}

static void test_b27_metadata_tell_the_properties(void **state) {
  (void)state;
  built_t built;
  begin(&built);
  build(&built);
  json_t *root = json_loads(built.artifact.table->metadata, 0, NULL);
  const json_t *modules = json_object_get(root, "modules");
  expect_properties(modules, "demo_source", "serialisable", "linkable"); // compiled, then linked
  expect_properties(modules, "demo_library", "linkable", NULL);          // linked as it is
  expect_properties(modules, "demo", "linkable", NULL);
  expect_properties(modules, "demo_0", "serialisable", NULL); // data
  json_decref(root);
  end(&built);
}

// A module without objects cannot be what the program calls into.
static void test_b27_a_module_without_objects_cannot_be_called(void **state) {
  (void)state;
  byoc_diag_t diag = {0};
  built_t built;
  begin(&built);
  byoc_runtime_module_t *metadata = demo_module(BYOC_RUNTIME_MODULE_METADATA, "notes");
  metadata->json = "{}";
  assert_true(byoc_vector_push(&built.demo.program->libraries, byoc_allocator_system(), metadata));
  byoc_test_error(compose(&built, &diag), BYOC_INVALID_DATA, &diag,
                  "runtime module 'notes' (metadata) has no objects, and the program calls it");
  assert_int_equal(byoc_test_count_entries(built.folder), 0);
  byoc_runtime_module_release(metadata);
  end(&built);
}

// The symbols that a module lists are checked against its objects, even if the program does not call it.
static void test_listed_symbols_are_checked(void **state) {
  (void)state;
  static const char *const names[] = {"demo_source", "demo_library", "demo"};
  for (int i = 0; i < 3; ++i) {
    byoc_diag_t diag = {0};
    built_t built;
    begin(&built);
    byoc_runtime_module_t *modules[] = {built.demo.source, built.demo.library, built.demo.engine};
    byoc_test_ok(byoc_runtime_module_add_symbol(modules[i], "demo_absent", &diag), &diag);
    char part[128];
    snprintf(part, sizeof(part), "runtime module '%s' lists the symbol 'demo_absent', but none of its objects",
             names[i]);
    byoc_test_error(compose(&built, &diag), BYOC_INVALID_DATA, &diag, part);
    assert_int_equal(byoc_test_count_entries(built.folder), 0);
    end(&built);
  }
}

// ---- the import tree ----

static void test_b28_the_import_tree_comes_back(void **state) {
  (void)state;
  byoc_diag_t diag = {0};
  built_t built;
  begin(&built);
  byoc_test_ok(byoc_runtime_module_import(built.demo.json, built.demo.engine, &diag), &diag);
  byoc_test_ok(byoc_runtime_module_import(built.demo.engine, built.demo.library, &diag), &diag);
  byoc_test_ok(byoc_runtime_module_import(built.demo.engine, built.demo.source, &diag), &diag);
  build(&built);
  byoc_module_tree_t tree;
  byoc_test_ok(byoc_module_tree_read(built.artifact.table->metadata, byoc_allocator_system(), &diag, &tree), &diag);
  byoc_string_t text;
  byoc_string_init(&text, byoc_allocator_system());
  byoc_module_tree_print(&tree, &text);
  byoc_test_same_text(text.data, "demo_source: c_source by 'demo'\n"
                                 "demo_library: static_library by 'demo'\n"
                                 "demo: engine by 'demo', imports demo_library, demo_source, blob 5 bytes\n"
                                 "demo_0: json by 'demo', imports demo, 28 bytes\n");
  assert_string_equal(tree.modules.data[0]->symbols.data[0], "demo_scale");
  assert_ptr_equal(tree.modules.data[3]->imports.data[0], tree.modules.data[2]);
  byoc_string_deinit(&text);
  byoc_module_tree_deinit(&tree);
  end(&built);
}

static void test_b28_cycles_and_damage_are_refused(void **state) {
  (void)state;
  static const struct {
    const char *metadata, *part;
  } cases[] = {
      {"{", "the metadata are no JSON"},
      {"{\"modules\": [{\"name\": \"a\", \"kind\": \"json\", \"imports\": [\"b\"]},"
       " {\"name\": \"b\", \"kind\": \"engine\", \"imports\": [\"a\"]}]}",
       "'b' cannot import 'a': that closes a cycle"},
      {"{\"modules\": [{\"name\": \"a\", \"kind\": \"json\", \"imports\": [\"b\"]}]}",
       "runtime module 'a' imports 'b', which is not there"},
      {"{\"modules\": [{\"name\": \"a\", \"kind\": \"magic\"}]}", "there is no kind of runtime module 'magic'"},
      {"{\"modules\": [{\"name\": \"a\", \"kind\": \"json\"}, {\"name\": \"a\", \"kind\": \"json\"}]}", "a name twice"},
      {"{\"modules\": [{}]}", "no name"},
      {"{\"modules\": [{\"name\": \"a\", \"kind\": \"json\", \"symbols\": [1]}]}", "a symbol of 'a' is no string"},
  };
  for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); ++i) {
    byoc_diag_t diag = {0};
    byoc_module_tree_t tree;
    byoc_test_error(byoc_module_tree_read(cases[i].metadata, byoc_allocator_system(), &diag, &tree), BYOC_INVALID_DATA,
                    &diag, cases[i].part);
  }
}

// ---- engines ----

// Writes its figures: instances made so far, runs of this one, and numbers made of its constants.
static const char counting_engine[] =
    "#include \"byoc/engine.h\"\n"
    "#include <stdlib.h>\n"
    "typedef struct { const byoc_engine_init_t *init; int runs; float code; } instance_t;\n"
    "static int instances;\n"
    "static int32_t create(const byoc_engine_init_t *init, void **out_instance) {\n"
    "  instance_t *made = calloc(1, sizeof(*made));\n"
    "  const byoc_engine_function_t *f = init->functions;\n"
    "  for (uint32_t i = 0; i < f->constant_count; ++i) {\n"
    "    if ((uintptr_t)f->constants[i].data % 64 != 0) return BYOC_INTERNAL;\n"
    "    made->code = 10 * made->code + ((const float *)f->constants[i].data)[0];\n"
    "  }\n"
    "  ++instances;\n"
    "  *out_instance = made;\n"
    "  return made ? BYOC_OK : BYOC_OUT_OF_MEMORY;\n"
    "}\n"
    "static void destroy(void *instance) { free(instance); }\n"
    "static int32_t run(void *self, uint32_t index, const byoc_call_t *call) {\n"
    "  instance_t *instance = self;\n"
    "  float *out = call->tensors[call->input_count].data;\n"
    "  out[0] = (float)instances, out[1] = (float)++instance->runs, out[2] = instance->code;\n"
    "  out[3] = (float)call->input_count + (float)index;\n"
    "  return BYOC_OK;\n"
    "}\n"
    "BYOC_PACKED const byoc_engine_t demo_engine = {sizeof(byoc_engine_t), BYOC_ENGINE_ABI_VERSION, \"demo\", 0,\n"
    "                                               create, destroy, run, 0};\n";

// Its create, destroy and run are not static, though every engine's should be.
static const char doubling_engine[] =
    "#include \"byoc/engine.h\"\n"
    "int32_t create(const byoc_engine_init_t *init, void **out_instance) {\n"
    "  *out_instance = (void *)init;\n"
    "  return BYOC_OK;\n"
    "}\n"
    "void destroy(void *instance) { (void)instance; }\n"
    "int32_t run(void *self, uint32_t index, const byoc_call_t *call) {\n"
    "  const float *in = call->tensors[0].data;\n"
    "  float *out = call->tensors[1].data;\n"
    "  for (int i = 0; i < 4; ++i) out[i] = 2 * in[i];\n"
    "  return BYOC_OK;\n"
    "}\n"
    "BYOC_PACKED const byoc_engine_t demo_engine = {sizeof(byoc_engine_t), BYOC_ENGINE_ABI_VERSION, \"demo\", 0,\n"
    "                                               create, destroy, run, 0};\n";

static void expect_run(const built_t *built, byoc_context_t *context, float instances, float runs) {
  float y[4] = {0};
  const void *inputs[] = {demo_x};
  void *outputs[] = {y};
  assert_int_equal(built->artifact.table->run(context, inputs, outputs), BYOC_OK);
  const float expected[] = {instances, runs, 78, 1}; // one input: constants are not passed again
  assert_memory_equal(y, expected, sizeof(y));
}

// Constants reach the engine with the instance, in the order of the backend, and never with a call.
static void test_b29_constants_arrive_once_in_order(void **state) {
  (void)state;
  byoc_diag_t diag = {0};
  built_t built;
  begin(&built);
  built.demo.engine->files.count = 0;
  demo_add_object(built.demo.engine, "counting.a", counting_engine, true);
  static const float more[] = {7, 8};
  built.demo.json->constants.count = 0;
  for (size_t i = 0; i < 2; ++i) {
    const byoc_tensor_data_t data = {.dtype = BYOC_DTYPE_F32, .data = &more[i], .size_bytes = sizeof(float)};
    byoc_test_ok(byoc_runtime_module_add_constant(built.demo.json, NULL, &data, &diag), &diag);
  }
  build(&built);
  const byoc_artifact_t *table = built.artifact.table;
  byoc_context_t *one = NULL, *two = NULL;
  assert_int_equal(table->create(NULL, &one), BYOC_OK);
  for (int i = 1; i <= 3; ++i) expect_run(&built, one, 1, (float)i);
  assert_int_equal(table->create(NULL, &two), BYOC_OK);
  expect_run(&built, two, 2, 1);
  expect_run(&built, one, 2, 4);
  table->destroy(one);
  table->destroy(two);
  end(&built);
}

// A library that an engine needs and that is not there when the artifact is loaded.
static void test_b30_a_missing_engine_is_named_at_load(void **state) {
  (void)state;
  byoc_diag_t diag = {0};
  built_t built;
  begin(&built);
  assert_true(byoc_vector_push(&built.demo.engine->needed, byoc_allocator_system(), "libdemo_engine.so.3"));
  char *library = byoc_path_join(byoc_allocator_system(), built.folder, "libdemo_engine.so.3");
  const char *const argv[] = {"cc",    "-shared", "-Wl,-soname,libdemo_engine.so.3", "-x", "c", "/dev/null", "-o",
                              library, NULL};
  byoc_process_result_t result;
  byoc_test_ok(byoc_process_run(argv, NULL, NULL, &diag, &result), &diag);
  assert_int_equal(result.exit_code, 0);
  assert_int_equal(setenv("LIBRARY_PATH", built.folder, 1), 0); // where the linker finds it
  byoc_test_ok(compose(&built, &diag), &diag);
  assert_int_equal(unsetenv("LIBRARY_PATH"), 0);
  byoc_test_ok(byoc_remove_tree(library, &diag), &diag);
  byoc_test_error(byoc_artifact_load(built.path, &diag, &built.artifact), BYOC_INVALID_DATA, &diag,
                  "libdemo_engine.so.3: cannot open shared object file");
  assert_non_null(strstr(diag.hint, "install it"));
  built.artifact.table = NULL;
  free(library);
  byoc_vector_deinit(&built.demo.engine->needed, byoc_allocator_system());
  end(&built);
}

// Defect 11: two engines of one name and one symbol, whose helpers have one name too, each with its own behaviour.
static void test_two_engines_of_one_symbol(void **state) {
  (void)state;
  byoc_diag_t diag = {0};
  byoc_allocator_t system = byoc_allocator_system();
  built_t built;
  begin(&built);
  byoc_host_program_t *program = built.demo.program;
  byoc_graph_module_t *graph = NULL;
  byoc_test_ok(byoc_graph_module_create(system, &diag, &graph), &diag);
  byoc_runtime_module_t *other = demo_module(BYOC_RUNTIME_MODULE_ENGINE, "demo_1");
  demo_add_object(other, "doubling.a", doubling_engine, true);
  other->engine_symbol = "demo_engine";
  byoc_test_ok(byoc_graph_module_add_runtime_module(graph, built.demo.engine, &diag), &diag);
  byoc_test_ok(byoc_graph_module_add_runtime_module(graph, other, &diag), &diag);
  program->module = graph;

  // y = 2 * (...) in place of the copy.
  byoc_host_instruction_t *last = program->body.last;
  while (last->op != BYOC_HOST_COPY) last = last->previous;
  last->op = BYOC_HOST_ENGINE;
  last->symbol = "demo_0";
  last->engine = other;
  last->json = built.demo.json;
  byoc_host_engine_t engine = {.engine = other};
  assert_true(byoc_vector_push(&engine.functions, system, built.demo.json));
  assert_true(byoc_vector_push(&program->engines, system, engine));
  build(&built);
  byoc_context_t *context = NULL;
  assert_int_equal(built.artifact.table->create(NULL, &context), BYOC_OK);
  float y[4] = {0};
  const void *inputs[] = {demo_x};
  void *outputs[] = {y};
  assert_int_equal(built.artifact.table->run(context, inputs, outputs), BYOC_OK);
  for (int i = 0; i < 4; ++i) assert_true(y[i] == 2 * demo_y[i]);
  built.artifact.table->destroy(context);
  program->module = NULL;
  byoc_graph_module_destroy(graph);
  byoc_runtime_module_release(other);
  end(&built);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_listed_symbols_are_checked),
      cmocka_unit_test(test_two_engines_of_one_symbol),
      cmocka_unit_test(test_b27_metadata_tell_the_properties),
      cmocka_unit_test(test_b27_a_module_without_objects_cannot_be_called),
      cmocka_unit_test(test_b28_the_import_tree_comes_back),
      cmocka_unit_test(test_b28_cycles_and_damage_are_refused),
      cmocka_unit_test(test_b29_constants_arrive_once_in_order),
      cmocka_unit_test(test_b30_a_missing_engine_is_named_at_load),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
