// merge-equal-functions, mark-compiler-functions-extern, inline-compiler-functions, name-unknown-dimensions,
// lower-kernels
#include "core/ir/outline.h"
#include "core/kernel/lower.h"
#include "core/ops/op.h"
#include "core/pass/pass.h"

static bool has_compiler(void *self, const byoc_function_t *function) {
  (void)self;
  return byoc_attributes_find(&function->attributes, "Compiler") != NULL;
}

byoc_status_t byoc_pass_merge_equal_functions(byoc_graph_module_t *module, byoc_diag_t *diag, size_t *changes) {
  return byoc_merge_equal_functions(module, has_compiler, NULL, NULL, diag, changes);
}

// A function that a backend compiled becomes a stub: signature, body and calls stay, all attributes but Extern go.
byoc_status_t byoc_pass_mark_compiler_functions_extern(byoc_graph_module_t *module, byoc_diag_t *diag,
                                                       size_t *changes) {
  for (size_t f = 0; f < module->functions.count; ++f) {
    byoc_function_t *function = module->functions.data[f];
    if (!has_compiler(NULL, function)) continue;
    byoc_attributes_clear(&function->attributes);
    if (!byoc_attributes_set_int(&function->attributes, "Extern", 1)) return byoc_diag_out_of_memory(diag);
    function->kind = BYOC_FUNCTION_EXTERN;
    *changes += 1;
  }
  return BYOC_OK;
}

byoc_status_t byoc_pass_inline_compiler_functions(byoc_graph_module_t *module, byoc_diag_t *diag, size_t *changes) {
  return byoc_inline_functions(module, has_compiler, NULL, diag, changes);
}

byoc_status_t byoc_pass_name_unknown_dimensions(byoc_graph_module_t *module, byoc_diag_t *diag, size_t *changes) {
  return byoc_name_unknown_dimensions(module, diag, changes);
}

byoc_status_t byoc_pass_lower_kernels(byoc_graph_module_t *module, byoc_diag_t *diag, size_t *changes) {
  size_t before = module->functions.count;
  BYOC_RETURN_IF_ERROR(byoc_kernel_lower_module(module, NULL, diag));
  *changes = module->functions.count - before;
  return BYOC_OK;
}
