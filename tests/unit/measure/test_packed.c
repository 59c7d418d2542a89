// SPDX-License-Identifier: Apache-2.0
// Timing in a child process: crashes, hangs and failures cost one measurement.
#include "tests/support/support.h"

#include <stdio.h>
#include <stdlib.h>

#include "core/base/log.h"
#include "core/compose/cc/compiler.h"
#include "core/measure/packed.h"

#define HEAD       "#include \"byoc/call.h\"\n#include <stdlib.h>\n#include <stdio.h>\n"
#define BODY(text) HEAD "BYOC_PACKED int32_t timed(const byoc_call_t *call) {\n" text "\nreturn BYOC_OK; }\n"

static byoc_status_t measure(const char *source, uint32_t threads, uint32_t timeout_ms, byoc_diag_t *diag,
                             double *out_ns) {
  void *object = NULL;
  size_t size = 0;
  const char *flags[] = {"-O1"};
  byoc_compile_job_t job = {.name = "timed", .source = source, .flags = flags, .flag_count = 1};
  byoc_test_ok(byoc_compile(&job, byoc_allocator_system(), diag, &object, &size), diag);
  const int64_t dims[] = {8, 32}, wide[] = {8};
  const int32_t given[8] = {5, 6, 7, 8, 9, 10, 11, 12};
  const byoc_tensor_data_t tensors[] = {
      {BYOC_HEADER(byoc_tensor_data_t, 1), BYOC_DTYPE_F32, 2, dims, NULL, 0},
      {BYOC_HEADER(byoc_tensor_data_t, 1), BYOC_DTYPE_I32, 1, wide, given, sizeof(given)},
      {BYOC_HEADER(byoc_tensor_data_t, 1), BYOC_DTYPE_F32, 2, dims, NULL, 0}};
  byoc_measure_request_t request = {.header = BYOC_HEADER(byoc_measure_request_t, 1),
                                    .object = object,
                                    .object_size_bytes = size,
                                    .symbol = "timed",
                                    .tensors = tensors,
                                    .input_count = 2,
                                    .output_count = 1,
                                    .tensor_stride = sizeof(tensors[0]),
                                    .thread_count = threads,
                                    .workspace_size_bytes = 100,
                                    .timeout_ms = timeout_ms};
  byoc_status_t status = byoc_measure_packed(&request, NULL, byoc_allocator_system(), diag, out_ns);
  free(object);
  return status;
}

static void test_times(void **state) {
  (void)state;
  byoc_diag_t diag = {0};
  double short_ns = 0, long_ns = 0;
  const char *checked =
      BODY("const float *x = call->tensors[0].data; const int32_t *i = call->tensors[1].data;\n"
           "float *y = call->tensors[2].data; char *w = call->workspace;\n"
           "if (call->input_count != 2 || call->output_count != 1 || call->workspace_size_bytes != 100) return 5;\n"
           "if (x[0] == 0 || x[0] < -1 || x[0] >= 1 || i[7] != 12 || call->tensors[0].shape[1] != 32) return 6;\n"
           "if ((size_t)x % 64 || (size_t)w % 64 || call->tensors[0].ndim != 2) return 7;\n"
           "w[99] = 1; y[255] = x[3]; printf(\"noise\\n\");");
  byoc_test_ok(measure(checked, 0, 0, &diag, &short_ns), &diag);
  assert_true(short_ns > 0 && short_ns < 1e6);
  byoc_test_ok(measure(BODY("volatile int n = 0; while (n < 3000000) n = n + 1;"), 1, 0, &diag, &long_ns), &diag);
  assert_true(long_ns > 20 * short_ns);
}

static void test_threads(void **state) {
  (void)state;
#if defined(__SANITIZE_THREAD__)
  byoc_test_skip("the thread sanitizer does not know threads after fork");
#endif
  byoc_diag_t diag = {0};
  double ns = 0;
  const char *source = HEAD "#include <stdatomic.h>\nstatic atomic_int seen;\n"
                            "static void body(void *a, int64_t b, int64_t e, int32_t w) { atomic_fetch_or(&seen, 1 << "
                            "w); }\n"
                            "BYOC_PACKED int32_t timed(const byoc_call_t *call) {\n"
                            "  call->runtime->parallel_for(call->runtime->self, body, 0, 3, 1);\n"
                            "  return call->runtime->thread_count == 3 && seen == 7 ? BYOC_OK : BYOC_INTERNAL;\n}\n";
  byoc_test_ok(measure(source, 3, 0, &diag, &ns), &diag);
}

static void test_failures(void **state) {
  (void)state;
  byoc_diag_t diag = {0};
  double ns = 0;
  byoc_test_error(measure(BODY("*(volatile int *)8 = 1;"), 1, 0, &diag, &ns), BYOC_TOOL, &diag,
                  "measuring 'timed': it crashed (signal 11");
  byoc_diag_clear(&diag);
  byoc_test_error(measure(BODY("abort();"), 1, 0, &diag, &ns), BYOC_TOOL, &diag, "signal 6");
  byoc_diag_clear(&diag);
  byoc_test_error(
      measure(BODY("call->runtime->set_error(call->runtime->self, \"no luck\"); return 5;"), 1, 0, &diag, &ns),
      BYOC_TOOL, &diag, "it failed: no luck");
  byoc_diag_clear(&diag);
  byoc_test_error(measure(BODY("exit(0);"), 1, 0, &diag, &ns), BYOC_TOOL, &diag, "without an answer");
  byoc_diag_clear(&diag);
  int64_t start_ns = byoc_now_ns();
  byoc_test_error(measure(BODY("for (;;) *(volatile char *)call->workspace = 1;"), 1, 300, &diag, &ns), BYOC_TOOL,
                  &diag, "longer than 300 ms");
  assert_true(byoc_now_ns() - start_ns < 50000000000);
  byoc_diag_clear(&diag);
  byoc_test_error(measure(BODY("extern int nowhere(void); return nowhere();"), 1, 0, &diag, &ns), BYOC_TOOL, &diag,
                  "undefined symbol: nowhere");
  assert_true(ns == 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_times),
      cmocka_unit_test(test_threads),
      cmocka_unit_test(test_failures),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
