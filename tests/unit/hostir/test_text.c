// SPDX-License-Identifier: Apache-2.0
// The text of host programs: every construct comes back, mistakes are refused at their place.
#include <stdlib.h>

#include "core/hostir/text/program_text.h"
#include "tests/support/support.h"

// Everything that a text can say.
static const char whole[] =
    "host program \"all 'of' it\" dynamic requires \"avx2 fma\" workspace 192 bound 128 {\n"
    "  symbol   N of inputs\n"
    "  symbol   \"odd one\" of inputs\n"
    "  symbol   K\n"
    "  input    %x : value f32[N,\"odd one\"]\n"
    "  input    %n : value i64[]\n"
    "  output   %\"y/1\" : value f32[K,4]\n"
    "  output   %all : value f32[?9,4,K]\n"
    "  constant %w : f32[2,2] = @w\n"
    "  constant %same : value f32[2,2] = @w\n"
    "  constant %text : string[2] = @text\n"
    "  constant %bound : f32[2] = \"packed_0\" 1\n"
    "  constant %here : i64[2] = [3, -4]\n"
    "  local    %t : f32[2,2] scope \"shared\" at 64\n"
    "  view     %v : f32[2] = %t + 8\n"
    "  local    %s : u8[64] at 128\n"
    "  local    %c : value bool[]\n"
    "  local    %i : value i64[]\n"
    "  local    %state : value f32[N,4]\n"
    "  local    %next : value f32[N,4]\n"
    "  local    %seq : value seq<f32[?3]>\n"
    "  local    %made : value f32[K,4]\n"
    "\n"
    "  match %x binds N at 0, binds \"odd one\" at 1\n"
    "  match %n\n"
    "  require of inputs (N is \"odd one\", N * 2 is_multiple_of 4 by \"Conv 'c'\" left \"its input\" right \"4\")\n"
    "  bind %here to K, N by \"Reshape\"\n"
    "  require (K is_1_or N)\n"
    "  allocate %t\n"
    "  kernel k(%w, none) [N * 2, floordiv(K, 2)] -> (%t) flops 8192 \"MatMul \\\"a\\\"\"\n"
    "  packed \"odd symbol\"(%t, %bound) -> (%v) workspace %s of @fast flops 0.5 int8\n"
    "  engine run_0(%v) -> (%t) by \"engine\" \"json_0\" of @\"12\"\n"
    "  c_call status sgemm(%w, %t) -> (%v) with (i32 101, i64 -7, f32 0.5, f64 -inf, operand 1 + 4 step 8, result 0 + "
    "-4, null, runtime) times 3 start operand 1\n"
    "  c_call void nothing() -> () with () flops 8192\n"
    "  copy %v -> %t\n"
    "  container SequenceAt(%x, none) -> (%seq) axis -1 flag 1 \"At\"\n"
    "  branch (%c) -> (%made) \"If\"\n"
    "  then {\n"
    "    loop (%n, none, %x) -> (%next, %all) scanned [4, K]\n"
    "    body (%i, %c, %state) {\n"
    "      share %state -> %made\n"
    "      yield (%c, %made, %made)\n"
    "    }\n"
    "  }\n"
    "  else {\n"
    "    yield (%x)\n"
    "  }\n"
    "  free %t\n"
    "}\n"
    "\n"
    "kernel over 0, 63 {\n"
    "  name \"k\"\n"
    "  symbols \"B\", \"A\"\n"
    "  input x : f32[A]\n"
    "  output y : f32[B]\n"
    "  vector i in 0 .. dim(\"A\") {\n"
    "    y[i] = #1(x[i] * 2.0) + #1\n"
    "  }\n"
    "}\n"
    "\n"
    "constant @w : f32[2,2] = [1.0, 2.0, 3.0, 4.0]\n"
    "\n"
    "constant @text : string[2] = [\"a\\n\", \"\"]\n"
    "\n"
    "function @fast(f32[2,2], f32[2]) -> (f32[2])\n"
    "\n"
    "function @\"12\"() -> ()\n"
    "\n"
    "module packed \"packed_0\" of \"demo -fast=1\" {\n"
    "  function \"fast\"\n"
    "  packed_symbol \"odd\"\n"
    "  import \"sources\"\n"
    "  constant : f32[1] = [1.0]\n"
    "  constant : f32[2] = [1.0, 0.5]\n"
    "  workspace 64\n"
    "}\n"
    "\n"
    "module c_source \"sources\" of \"demo\" {\n"
    "  given_name \"source\"\n"
    "  source \"int f(void) { return '\\\\n'; }\\n\"\n"
    "  compiler \"cc\"\n"
    "  setup \"prepare\"\n"
    "  user \"demo -fast=2\"\n"
    "  symbol \"f\"\n"
    "  flag \"-O3\"\n"
    "  flag \"-DX=\\\"1\\\"\"\n"
    "}\n"
    "\n"
    "module engine \"engine\" of \"demo\" {\n"
    "  engine_symbol \"engine_entry\"\n"
    "  needed \"m\"\n"
    "  search \"/opt/m\"\n"
    "  file \"e.a\" base64 \"IQphcg==\"\n"
    "  blob \"kernels\" base64 \"\"\n"
    "}\n"
    "\n"
    "module json \"json_0\" of \"demo\" {\n"
    "  function \"run_0\"\n"
    "  engine \"engine\"\n"
    "  json \"{}\"\n"
    "  import \"engine\"\n"
    "}\n"
    "\n"
    "module metadata \"notes\" of \"\" {\n"
    "  json \"{\\\"a\\\": 1}\"\n"
    "}\n"
    "\n"
    "module driver \"sim\" of \"simdev\" {\n"
    "  driver_symbol \"sim_driver\"\n"
    "  symbol \"sim_driver\"\n"
    "  needed \"m\"\n"
    "  search \"/opt/m\"\n"
    "  file \"sim.a\" base64 \"IQphcg==\"\n"
    "}\n"
    "\n"
    "module device \"kernels\" of \"simdev\" {\n"
    "  driver \"sim\"\n"
    "  import \"sim\"\n"
    "  entry \"add\"\n"
    "  entry \"relu\"\n"
    "  code binary \"simbin\" for \"sim_1\" base64 \"IQphcg==\"\n"
    "  code portable \"simir\" base64 \"\"\n"
    "  code source \"sim-c\" options \"-O \\\"2\\\"\" base64 \"YWI=\"\n"
    "}\n"
    "\n"
    "module kernels \"on_sim\" of \"simdev\" {\n"
    "  function \"on_sim\"\n"
    "  import \"kernels\"\n"
    "  constant : f32[2] = [1.0, 2.0]\n"
    "}\n";

static byoc_status_t parse(const char *text, byoc_diag_t *diag, byoc_graph_module_t **out_module,
                           byoc_host_program_t **out_program) {
  return byoc_host_program_parse(text, "p.host", NULL, byoc_allocator_system(), diag, out_module, out_program);
}

static void test_h2_everything_comes_back(void **state) {
  (void)state;
  byoc_diag_t diag = {0};
  byoc_graph_module_t *module = NULL;
  byoc_host_program_t *program = NULL;
  byoc_test_ok(parse(whole, &diag, &module, &program), &diag);
  byoc_string_t text;
  byoc_string_init(&text, byoc_allocator_system());
  byoc_host_program_print(program, NULL, &text);
  byoc_test_same_text(text.data, whole);
  byoc_test_ok(byoc_host_text_check(program, &diag), &diag);
  byoc_string_deinit(&text);
  byoc_host_program_destroy(program);
  byoc_graph_module_destroy(module);
}

// A program with two constants of the same 1200 bytes.
static void make_big(byoc_host_program_t **out_program, byoc_graph_module_t **out_module) {
  byoc_diag_t diag = {0};
  byoc_string_t list, text;
  byoc_string_init(&list, byoc_allocator_system());
  byoc_string_init(&text, byoc_allocator_system());
  for (int i = 0; i < 300; ++i) byoc_string_appendf(&list, "%s%d.5", i > 0 ? ", " : "", i);
  byoc_string_append(&text, "host program \"big\" workspace 0 bound 0 {\n  input %x : f32[300]\n"
                            "  constant %w : f32[300] = @w\n  constant %again : f32[300] = [");
  byoc_string_append(&text, list.data);
  byoc_string_append(&text, "]\n}\nconstant @w : f32[300] = [");
  byoc_string_append(&text, list.data);
  byoc_string_append(&text, "]\n");
  byoc_test_ok(parse(text.data, &diag, out_module, out_program), &diag);
  byoc_string_deinit(&list);
  byoc_string_deinit(&text);
}

// Large data goes into the data file, each content once, and comes back; a changed file is noticed.
static void test_h2_large_data_goes_into_a_file(void **state) {
  (void)state;
  byoc_diag_t diag = {0};
  byoc_graph_module_t *module = NULL, *again_module = NULL;
  byoc_host_program_t *program = NULL, *again = NULL;
  make_big(&program, &module);
  char *folder = byoc_test_folder(), path[512], beside[520];
  snprintf(path, sizeof(path), "%s/big.host", folder);
  snprintf(beside, sizeof(beside), "%s.data", path);
  byoc_file_set_t files = {0};
  byoc_test_ok(byoc_host_program_add_files(program, path, &files, &diag), &diag);
  byoc_test_ok(byoc_file_set_commit(&files, &diag), &diag);
  char *text = NULL, *data = NULL;
  size_t size = 0, data_size = 0;
  byoc_test_ok(byoc_file_read(path, byoc_allocator_system(), &diag, &text, &size), &diag);
  byoc_test_ok(byoc_file_read(beside, byoc_allocator_system(), &diag, &data, &data_size), &diag);
  assert_int_equal(data_size, 1200);
  assert_non_null(strstr(text, "constant %again : f32[300] = file 0 1200 \""));
  byoc_test_ok(byoc_host_program_read(path, byoc_allocator_system(), &diag, &again_module, &again), &diag);
  assert_memory_equal(again->buffers.data[1]->data, program->buffers.data[1]->data, 1200);
  assert_memory_equal(again->buffers.data[2]->data, program->buffers.data[1]->data, 1200);
  byoc_host_program_destroy(again);
  byoc_graph_module_destroy(again_module);
  data[7] ^= 1;
  byoc_test_ok(byoc_file_write(beside, data, data_size, &diag), &diag);
  byoc_test_error(byoc_host_program_read(path, byoc_allocator_system(), &diag, &again_module, &again),
                  BYOC_INVALID_DATA, &diag, "has changed since the text was written");
  byoc_diag_clear(&diag);
  byoc_test_ok(byoc_file_write(beside, data, 64, &diag), &diag);
  byoc_test_error(byoc_host_program_read(path, byoc_allocator_system(), &diag, &again_module, &again),
                  BYOC_INVALID_DATA, &diag, "the data file ends before this part");
  byoc_diag_clear(&diag);
  assert_int_equal(remove(beside), 0);
  byoc_test_error(byoc_host_program_read(path, byoc_allocator_system(), &diag, &again_module, &again),
                  BYOC_INVALID_DATA, &diag, "big.host.data, which is not there");
  byoc_free(byoc_allocator_system(), text);
  byoc_free(byoc_allocator_system(), data);
  free(folder);
  byoc_host_program_destroy(program);
  byoc_graph_module_destroy(module);
}

static void test_h2_elided_data_cannot_be_read(void **state) {
  (void)state;
  byoc_diag_t diag = {0};
  byoc_graph_module_t *module = NULL, *again_module = NULL;
  byoc_host_program_t *program = NULL, *again = NULL;
  make_big(&program, &module);
  byoc_string_t text;
  byoc_string_init(&text, byoc_allocator_system());
  const byoc_host_print_options_t options = {.elide_bytes = 256};
  byoc_host_program_print(program, &options, &text);
  assert_non_null(strstr(text.data, "constant @w : f32[300] = elided\n"));
  byoc_test_error(parse(text.data, &diag, &again_module, &again), BYOC_INVALID_DATA, &diag, "was left out");
  byoc_string_deinit(&text);
  byoc_host_program_destroy(program);
  byoc_graph_module_destroy(module);
}

// ---- mistakes ----

#define PROGRAM(body) "host program \"p\" workspace 0 bound 0 {\n" body "}\n"
#define KERNEL        "kernel { name \"k\" input x : f32[4] output y : f32[4] }\n"

static const struct {
  const char *text, *message;
} mistakes[] = {
    {"host \"p\" {}", "expected 'program'"},
    {PROGRAM("input %x : f32[4] input %x : f32[4]"), "%x is declared twice"},
    {PROGRAM("symbol N symbol N"), "the symbol N is declared twice"},
    {PROGRAM("symbol N symbol M of inputs"), "the inputs' symbols come before the others"},
    {PROGRAM("view %v : f32[4] = %x + 0"), "there is no buffer %x"},
    {PROGRAM("constant %c : f32[4] = @c"), "there is no constant c"},
    {PROGRAM("constant %c : f32[4] = @c") "constant @c : f32[3] = [1.0, 2.0, 3.0]", "another type than %c"},
    {PROGRAM("constant %c : f32[4] = \"m\" 0"), "there is no runtime module m"},
    {PROGRAM("constant %c : f32[4] = \"m\" 4294967296"), "4294967295"},
    {PROGRAM("constant %c : f32[4] = \"m\" 0") "module packed \"m\" of \"t\" {}", "has only 0 constants"},
    {PROGRAM("constant %c : f32[N] = [1.0]"), "a tensor type without symbols"},
    {PROGRAM("input %x : f32[4] start %x"), "expected an instruction or '}', found 'start'"},
    {PROGRAM("input %x : f32[4] kernel k(%x) -> (%x)"), "there is no kernel k"},
    {PROGRAM("input %x : f32[4] kernel k(%x) [4] -> (%x)") KERNEL, "needs the values of 0 symbols, not 1"},
    {PROGRAM("input %x : f32[4] packed f(%x) -> (none)"), "expected a value"},
    {PROGRAM("input %x : f32[4] packed f(%x) -> (%x) of @f"), "there is no function f"},
    {PROGRAM("input %x : f32[4] engine f(%x) -> (%x) by \"e\" \"j\""), "there is no engine e"},
    {PROGRAM("input %x : f32[4] c_call long f(%x) -> (%x) with ()"), "expected a C type"},
    {PROGRAM("input %x : f32[4] match %x binds 4 at 0"), "only a symbol can be bound"},
    {PROGRAM("symbol N input %x : value f32[N] match %x is N at 4294967296"), "4294967295"},
    {PROGRAM("input %x : f32[4] match %x binds N at 0"), "there is no symbol N"},
    {PROGRAM("input %x : f32[4] require (4 equals 4)"), "expected a relation"},
    {PROGRAM("input %x : f32[4] loop (none, none) -> () body (%x) {}"), "%x cannot be a parameter here"},
    {PROGRAM("output %y : f32[4,5] loop (none, none) -> (%y) body () {}"), "scans 1 dimensions, not 0"},
    {PROGRAM("") "module rust \"m\" of \"t\" {}", "expected a kind of runtime module"},
    {PROGRAM("") "module json \"m\" of \"t\" { colour \"red\" }", "has no field 'colour'"},
    {PROGRAM("") "module json \"m\" of \"t\" {} module json \"m\" of \"t\" {}", "two runtime modules named 'm'"},
    {PROGRAM("") "module c_source \"m\" of \"t\" {}", "lacks its source"},
    {PROGRAM("") "module driver \"m\" of \"t\" {}", "lacks its driver_symbol"},
    {PROGRAM("") "module device \"m\" of \"t\" { code source \"c\" base64 \"\" }", "lacks its driver"},
    {PROGRAM("") "module device \"m\" of \"t\" { driver \"d\" }", "lacks its code"},
    {PROGRAM("") "module device \"m\" of \"t\" { code text \"c\" }", "expected binary, portable or source"},
    {PROGRAM("") "module device \"m\" of \"t\" { code binary \"c\" base64 \"\" }", "for"},
    {PROGRAM("") "module json \"m\" of \"t\" { import \"m\" }", "closes a cycle"},
    {PROGRAM("") "module engine \"m\" of \"t\" { engine_symbol \"e\" file \"a\" base64 \"!\" }", "not base64"},
    {PROGRAM("") "function @f() -> () function @f() -> ()", "@f is defined already"},
};

static void test_h2_mistakes_are_refused(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof(mistakes) / sizeof(mistakes[0]); ++i) {
    byoc_diag_t diag = {0};
    byoc_graph_module_t *module = NULL;
    byoc_host_program_t *program = NULL;
    byoc_status_t status = parse(mistakes[i].text, &diag, &module, &program);
    if (status == BYOC_OK || strstr(diag.message, mistakes[i].message) == NULL || diag.line == 0) {
      fail_msg("mistake %zu: '%s' at line %d, not '%s'", i, diag.message, diag.line, mistakes[i].message);
    }
    assert_null(program);
    assert_null(module);
  }
}

static void test_h1_a_duplicate_kernel_is_refused(void **state) {
  (void)state;
  byoc_diag_t diag = {0};
  byoc_graph_module_t *module = NULL;
  byoc_host_program_t *program = NULL;
  byoc_test_error(parse(PROGRAM("") KERNEL KERNEL, &diag, &module, &program), BYOC_ALREADY_EXISTS, &diag,
                  "host program 'p' has another kernel 'k' already");
  byoc_diag_clear(&diag);
  byoc_test_ok(parse(PROGRAM("") KERNEL, &diag, &module, &program), &diag);
  byoc_test_ok(byoc_host_program_add_kernel(program, program->kernels.data[0], &diag), &diag); // the same one
  assert_int_equal(program->kernels.count, 1);
  byoc_host_program_destroy(program);
  byoc_graph_module_destroy(module);
}

static byoc_status_t parse_with(void *argument, byoc_allocator_t allocator) {
  (void)argument;
  byoc_diag_t diag = {0};
  byoc_graph_module_t *module = NULL;
  byoc_host_program_t *program = NULL;
  byoc_status_t status = byoc_host_program_parse(whole, "p.host", NULL, allocator, &diag, &module, &program);
  byoc_host_program_destroy(program);
  byoc_graph_module_destroy(module);
  return status;
}

static void test_h2_each_allocation_may_fail(void **state) {
  (void)state;
  byoc_test_each_allocation_fails(parse_with, NULL, false);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_h2_everything_comes_back),         cmocka_unit_test(test_h2_large_data_goes_into_a_file),
      cmocka_unit_test(test_h2_elided_data_cannot_be_read),    cmocka_unit_test(test_h2_mistakes_are_refused),
      cmocka_unit_test(test_h1_a_duplicate_kernel_is_refused), cmocka_unit_test(test_h2_each_allocation_may_fail),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
