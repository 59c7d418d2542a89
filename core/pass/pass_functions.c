// Passes over some functions of a module: while they run, the module lists those alone.
#include <stdio.h>
#include <string.h>

#include "core/pass/pass.h"

// These look beyond the functions that they are given, or take away what makes them a backend's.
static byoc_status_t check_is_local(const char *names, byoc_diag_t *diag) {
  static const char *const whole[] = {"merge-equal-functions", "mark-compiler-functions-extern",
                                      "inline-compiler-functions", "name-unknown-dimensions", "lower-kernels"};
  while (*names != '\0') {
    size_t size = strcspn(names, ",");
    size_t name_size = strcspn(names, ",{");
    for (size_t i = 0; i < sizeof(whole) / sizeof(whole[0]); ++i) {
      if (strlen(whole[i]) != name_size || strncmp(names, whole[i], name_size) != 0) continue;
      return byoc_diag_error(diag, BYOC_INVALID_ARGUMENT, "pass %s works on whole modules, not on functions", whole[i]);
    }
    names += size + (names[size] == ',');
  }
  return BYOC_OK;
}

byoc_status_t byoc_pass_run_list_on(byoc_function_t *const *functions, size_t function_count, const char *names,
                                    byoc_diag_t *diag) {
  BYOC_RETURN_IF_ERROR(check_is_local(names, diag));
  if (function_count == 0) return BYOC_OK;
  byoc_graph_module_t *module = functions[0]->module;
  byoc_function_t **all = module->functions.data;
  const size_t all_count = module->functions.count, all_capacity = module->functions.capacity;
  module->functions.data = NULL;
  module->functions.count = module->functions.capacity = 0;
  bool ok = byoc_vector_reserve(&module->functions, module->allocator, function_count);
  for (size_t f = 0; f < function_count && ok; ++f) module->functions.data[module->functions.count++] = functions[f];
  byoc_status_t status = ok ? byoc_pass_run_list(names, module, NULL, diag) : byoc_diag_out_of_memory(diag);
  byoc_function_t **some = module->functions.data;
  const size_t some_count = module->functions.count;
  module->functions.data = all;
  module->functions.count = all_count;
  module->functions.capacity = all_capacity;
  for (size_t f = function_count; f < some_count && ok; ++f) {
    ok = byoc_vector_push(&module->functions, module->allocator, some[f]);
  }
  byoc_free(module->allocator, some);
  return status == BYOC_OK && !ok ? byoc_diag_out_of_memory(diag) : status;
}
