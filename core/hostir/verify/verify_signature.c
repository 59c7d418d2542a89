// SPDX-License-Identifier: Apache-2.0
// Checks calls in host programs against their callees: kernels, backends' functions, functions of the artifact.
#include <string.h>

#include "core/hostir/verify/verify_internal.h"
#include "core/ir/loop.h"
#include "core/op/util.h"
#include "core/runtime/check.h"
#include "core/runtime/text.h"

// ---- one tensor ----

// A tensor as its callee declares it.
typedef struct declared_t {
  byoc_dtype_t dtype;
  const byoc_dim_t *dims;
  int32_t rank;
} declared_t;

// The values of the callee's symbols in the program.
typedef struct binding_t {
  byoc_host_verifier_t *v;
  byoc_map_t values; // text map: symbol → const byoc_dim_t *
} binding_t;

static bool is_bound(void *self, byoc_dim_t leaf) {
  const binding_t *binding = self;
  return !byoc_dim_is_unknown(leaf) && byoc_string_map_get(&binding->values, leaf.expr->symbol) != NULL;
}

// A symbol that the call does not give is that dimension of the first tensor that has it.
static byoc_status_t bind_dims(binding_t *binding, const byoc_host_buffer_t *buffer, const declared_t *declared) {
  const byoc_type_t *type = buffer->type;
  for (int32_t d = 0; byoc_type_is_tensor(type) && type->rank == declared->rank && d < type->rank; ++d) {
    const byoc_dim_t dim = declared->dims[d];
    if (byoc_dim_is_constant(dim) || dim.expr->kind != BYOC_DIM_SYMBOL || is_bound(binding, dim)) continue;
    if (!byoc_string_map_put(&binding->values, dim.expr->symbol, (void *)(uintptr_t)&type->dims[d])) {
      return byoc_diag_out_of_memory(binding->v->diag);
    }
  }
  return BYOC_OK;
}

static byoc_status_t refuse_count(byoc_host_verifier_t *v, const byoc_host_buffer_t *buffer, const char *what, size_t k,
                                  byoc_dim_t wanted) {
  byoc_string_t given, taken;
  byoc_string_init(&given, v->program->arena.allocator);
  byoc_string_init(&taken, v->program->arena.allocator);
  byoc_dim_print(byoc_host_verify_count(v, buffer->type->dims, buffer->type->rank), &given);
  byoc_dim_print(wanted, &taken);
  byoc_status_t status = byoc_host_verify_refuse(v, "%s %zu, '%s', has %s elements; the callee takes %s", what, k,
                                                 buffer->name, given.data, taken.data);
  byoc_string_deinit(&given);
  byoc_string_deinit(&taken);
  return status;
}

// Dimensions with symbols that the call does not define are left to the callee.
static byoc_status_t check_count(binding_t *binding, const byoc_host_buffer_t *buffer, const declared_t *declared,
                                 const char *what, size_t k) {
  byoc_host_verifier_t *v = binding->v;
  byoc_dim_t dims[BYOC_MAX_RANK];
  bool failed = false;
  if (buffer->type->rank < 0 || declared->rank < 0) return BYOC_OK;
  for (int32_t d = 0; d < declared->rank; ++d) {
    if (!byoc_dim_walk(declared->dims[d], is_bound, binding)) return BYOC_OK;
    dims[d] = byoc_dim_substitute(declared->dims[d], &binding->values, &v->arena, &failed);
  }
  if (failed) return byoc_diag_out_of_memory(v->diag);
  if (byoc_host_verify_same_count(v, buffer->type->dims, buffer->type->rank, dims, declared->rank)) return BYOC_OK;
  return refuse_count(v, buffer, what, k, byoc_host_verify_count(v, dims, declared->rank));
}

static byoc_status_t check_dtype(byoc_host_verifier_t *v, const byoc_host_buffer_t *buffer, byoc_dtype_t dtype,
                                 const char *what, size_t k) {
  const byoc_type_t *type = buffer->type;
  if (!byoc_type_is_tensor(type)) {
    return byoc_host_verify_refuse(v, "%s %zu, '%s', is not a tensor", what, k, buffer->name);
  }
  // Kernels move strings as the pointers that they are.
  bool is_string = type->dtype == BYOC_DTYPE_STRING && dtype == BYOC_DTYPE_U64 && v->at->op == BYOC_HOST_KERNEL;
  if (type->dtype == dtype || is_string) return BYOC_OK;
  return byoc_host_verify_refuse(v, "%s %zu, '%s', has elements of type %s; the callee takes %s", what, k, buffer->name,
                                 byoc_dtype_name(type->dtype), byoc_dtype_name(dtype));
}

// ---- kernels ----

static declared_t parameter_of(const byoc_loop_kernel_t *kernel, size_t k) {
  const byoc_loop_buffer_t *parameter = kernel->parameters.data[k];
  return (declared_t){parameter->dtype, parameter->dims, parameter->rank};
}

// A kernel that moves strings declares them as u64, in all parameters of that type or in none.
static byoc_status_t check_texts(byoc_host_verifier_t *v, const byoc_host_instruction_t *i) {
  const byoc_host_buffer_t *first = NULL;
  for (size_t k = 0; k < i->kernel->parameters.count; ++k) {
    const size_t inputs = i->kernel->input_count;
    const byoc_host_buffer_t *buffer = k < inputs ? i->operands.data[k] : i->results.data[k - inputs];
    if (i->kernel->parameters.data[k]->dtype != BYOC_DTYPE_U64) continue;
    if (first == NULL) first = buffer;
    if (byoc_host_verify_holds_strings(first) == byoc_host_verify_holds_strings(buffer)) continue;
    return byoc_host_verify_refuse(v, "of '%s' and '%s' only one holds strings", first->name, buffer->name);
  }
  return BYOC_OK;
}

static byoc_status_t check_parameters(binding_t *binding, const byoc_host_instruction_t *i) {
  const byoc_loop_kernel_t *kernel = i->kernel;
  byoc_host_verifier_t *v = binding->v;
  for (size_t k = 0; k < kernel->symbols.count; ++k) {
    if (!byoc_string_map_put(&binding->values, kernel->symbols.data[k], &i->dims[k])) {
      return byoc_diag_out_of_memory(v->diag);
    }
  }
  for (size_t k = 0; k < kernel->parameters.count; ++k) {
    const declared_t declared = parameter_of(kernel, k);
    bool is_input = k < kernel->input_count;
    const size_t at = is_input ? k : k - kernel->input_count;
    const byoc_host_buffer_t *buffer = is_input ? i->operands.data[at] : i->results.data[at];
    const char *what = is_input ? "operand" : "result";
    BYOC_RETURN_IF_ERROR(check_dtype(v, buffer, declared.dtype, what, at));
    if (buffer->type->rank != declared.rank) {
      return byoc_host_verify_refuse(v, "%s %zu, '%s', has rank %d; the kernel takes rank %d", what, at, buffer->name,
                                     (int)buffer->type->rank, (int)declared.rank);
    }
    BYOC_RETURN_IF_ERROR(bind_dims(binding, buffer, &declared));
    BYOC_RETURN_IF_ERROR(check_count(binding, buffer, &declared, what, at));
  }
  return check_texts(v, i);
}

byoc_status_t byoc_host_verify_kernel(byoc_host_verifier_t *v, const byoc_host_instruction_t *i) {
  const byoc_loop_kernel_t *kernel = i->kernel;
  if (kernel == NULL) return byoc_host_verify_refuse(v, "it has no kernel");
  if (i->operands.count != kernel->input_count || i->results.count != kernel->output_count) {
    return byoc_host_verify_refuse(v, "%zu operands and %zu results; the kernel takes %u and gives %u",
                                   i->operands.count, i->results.count, kernel->input_count, kernel->output_count);
  }
  binding_t binding = {.v = v};
  byoc_string_map_init(&binding.values, v->program->arena.allocator);
  byoc_status_t status = check_parameters(&binding, i);
  byoc_map_deinit(&binding.values);
  return status;
}

// ---- functions of backends ----

// The backend's own description of its function; NULL if the program has only the signature.
static const byoc_runtime_module_t *module_of(const byoc_host_verifier_t *v, const byoc_host_instruction_t *i) {
  const byoc_graph_module_t *module = v->program->module;
  for (size_t k = 0; i->op == BYOC_HOST_PACKED && k < module->runtime_modules.count; ++k) {
    const byoc_runtime_module_t *candidate = module->runtime_modules.data[k];
    if (candidate->function_name != NULL && strcmp(candidate->function_name, i->function->name) == 0) return candidate;
  }
  return NULL;
}

// Constants that the backend bound come behind the function's operands, in the backend's order.
static byoc_status_t check_bound(byoc_host_verifier_t *v, const byoc_host_instruction_t *i, size_t first) {
  const byoc_runtime_module_t *module = module_of(v, i);
  for (size_t k = first; k < i->operands.count; ++k) {
    const byoc_host_buffer_t *buffer = i->operands.data[k];
    if (buffer->kind != BYOC_HOST_BUFFER_CONSTANT) {
      return byoc_host_verify_refuse(v, "operand %zu, '%s', is not a constant; the function takes %zu operands", k,
                                     buffer->name, first);
    }
    if (module == NULL || (buffer->bound_by == module && buffer->bound_index == k - first)) continue;
    return byoc_host_verify_refuse(v, "operand %zu, '%s', is not constant %zu that the function's backend bound", k,
                                   buffer->name, k - first);
  }
  if (module == NULL) return BYOC_OK;
  if (i->operands.count - first != module->constants.count) {
    return byoc_host_verify_refuse(v, "%zu constants; the function's backend bound %zu", i->operands.count - first,
                                   module->constants.count);
  }
  const uint64_t scratch = i->workspace != NULL ? i->workspace->size_bytes : 0;
  if (scratch >= module->workspace_size_bytes) return BYOC_OK;
  return byoc_host_verify_refuse(v, "a workspace of %llu bytes; the function needs %llu", (unsigned long long)scratch,
                                 (unsigned long long)module->workspace_size_bytes);
}

static byoc_status_t check_values(binding_t *binding, const byoc_host_instruction_t *i, const byoc_block_t *body) {
  byoc_host_verifier_t *v = binding->v;
  for (size_t k = 0; k < i->operands.count + i->results.count; ++k) {
    bool is_input = k < i->operands.count;
    const size_t at = is_input ? k : k - i->operands.count;
    const byoc_host_buffer_t *buffer = is_input ? i->operands.data[at] : i->results.data[at];
    const char *what = is_input ? "operand" : "result";
    if (is_input && k >= body->parameters.count) continue; // check_bound
    const byoc_type_t *type = is_input ? body->parameters.data[at]->type : body->results.data[at]->type;
    if (!byoc_type_is_tensor(type)) continue;
    const declared_t declared = {type->dtype, type->dims, type->rank};
    BYOC_RETURN_IF_ERROR(check_dtype(v, buffer, type->dtype, what, at));
    BYOC_RETURN_IF_ERROR(bind_dims(binding, buffer, &declared));
    BYOC_RETURN_IF_ERROR(check_count(binding, buffer, &declared, what, at));
  }
  return BYOC_OK;
}

byoc_status_t byoc_host_verify_function(byoc_host_verifier_t *v, const byoc_host_instruction_t *i) {
  const byoc_block_t *body = i->function != NULL ? i->function->body : NULL;
  if (body == NULL) return BYOC_OK;
  if (i->operands.count < body->parameters.count || i->results.count != body->results.count) {
    return byoc_host_verify_refuse(v, "%zu operands and %zu results; the function takes %zu and gives %zu",
                                   i->operands.count, i->results.count, body->parameters.count, body->results.count);
  }
  binding_t binding = {.v = v};
  byoc_string_map_init(&binding.values, v->program->arena.allocator);
  byoc_status_t status = check_values(&binding, i, body);
  byoc_map_deinit(&binding.values);
  return status == BYOC_OK ? check_bound(v, i, body->parameters.count) : status;
}

// ---- functions of the artifact ----

// One word for each operand, ">", one for each result. A word is the element type (s: string, b: bool, i: i64, u: u64,
// f: f32, d: f64, k: an integer of 8 to 64 bits, *: any) and the number of elements: n: the same in all words with n,
// -: any, +: at least one, 1, 2, 3, 5.
static const struct {
  const char *symbol, *words;
} known[] = {
    {BYOC_CHECK_DIMS, "in in sn >"},
    {BYOC_CHECK_RANGE, "k- i+ i5 s+ >"},
    {BYOC_CHECK_FAIL, "s1 >"},
    {BYOC_CHECK_DEVICES, "> b1"},
    {BYOC_CHECK_ENGINES, "> b1"},
    {BYOC_CHECK_THREADS, "i1 > b1"},
    {"byoc_text_equal", "sn sn > bn"},
    {"byoc_text_concat", "sn sn > sn"},
    {"byoc_text_search", "sn s- > in"},
    {"byoc_text_ranks", "sn > in"},
    {"byoc_text_normalize", "s- s- i2 > s- i1"},
    {"byoc_text_split_count", "sn s+ i1 > in"},
    {"byoc_text_split", "s- *n s+ i1 > sn"},
    {"byoc_text_token_count", "sn s- i3 > in"},
    {"byoc_text_tokens", "s- *n s- i3 s1 > sn"},
    {"byoc_text_match", "sn s+ > bn"},
    {"byoc_text_from_f32", "fn > sn"},
    {"byoc_text_from_f64", "dn > sn"},
    {"byoc_text_from_i64", "in > sn"},
    {"byoc_text_from_u64", "un > sn"},
    {"byoc_text_from_bool", "bn > sn"},
    {"byoc_text_print_f64", "dn > sn"},
    {"byoc_text_to_f64", "sn > dn"},
    {"byoc_text_to_i64", "sn > in"},
};

static bool is_of(char letter, byoc_dtype_t dtype) {
  switch (letter) {
  case 's':
    return dtype == BYOC_DTYPE_STRING;
  case 'b':
    return dtype == BYOC_DTYPE_BOOL;
  case 'i':
    return dtype == BYOC_DTYPE_I64;
  case 'u':
    return dtype == BYOC_DTYPE_U64;
  case 'f':
    return dtype == BYOC_DTYPE_F32;
  case 'd':
    return dtype == BYOC_DTYPE_F64;
  case 'k':
    return byoc_dtype_is_integer(dtype);
  default:
    return true;
  }
}

static bool fits_count(byoc_host_verifier_t *v, const byoc_type_t *type, char letter, const byoc_type_t **first) {
  const byoc_dim_t count = byoc_host_verify_count(v, type->dims, type->rank);
  switch (letter) {
  case 'n':
    if (*first == NULL) *first = type;
    return byoc_host_verify_same_count(v, type->dims, type->rank, (*first)->dims, (*first)->rank);
  case '+':
    return byoc_dim_is_constant(count) && count.constant > 0;
  case '1':
  case '2':
  case '3':
  case '5':
    return byoc_dim_is_constant(count) && count.constant == letter - '0';
  default:
    return true;
  }
}

// The words do not express that the filter has room for all strings, that a part of a string has its own bytes, or that
// a check goes along one dimension.
static bool fits_otherwise(byoc_host_verifier_t *v, const byoc_host_instruction_t *i) {
  if (i->operands.count == 0) return true;
  const byoc_type_t *x = i->operands.data[0]->type;
  if (i->results.count == 0) return x->rank == 1 || strcmp(i->symbol, BYOC_CHECK_RANGE) == 0;
  const byoc_type_t *y = i->results.data[0]->type;
  if (strcmp(i->symbol, "byoc_text_split") == 0 || strcmp(i->symbol, "byoc_text_tokens") == 0) {
    return y->rank > 0 && byoc_host_verify_same_count(v, x->dims, x->rank, y->dims, y->rank - 1);
  }
  if (strcmp(i->symbol, "byoc_text_normalize") != 0) return true;
  const byoc_dim_t count = byoc_host_verify_count(v, x->dims, x->rank);
  const byoc_dim_t room = byoc_host_verify_count(v, y->dims, y->rank);
  bool failed = false;
  const byoc_dim_t larger = byoc_dim_binary(&v->arena, BYOC_DIM_MAX, count, room, &failed);
  return !failed && byoc_host_verify_same_dim(v, larger, room);
}

static bool fits_words(byoc_host_verifier_t *v, const byoc_host_instruction_t *i, const char *words) {
  const byoc_type_t *first = NULL;
  size_t operand = 0, result = 0;
  bool is_result = false;
  for (const char *at = words; *at != '\0'; at += strcspn(at, " "), at += *at == ' ') {
    if (*at == '>') {
      is_result = true;
      continue;
    }
    const size_t index = is_result ? result++ : operand++;
    if (index >= (is_result ? i->results.count : i->operands.count)) return false;
    const byoc_type_t *type = is_result ? i->results.data[index]->type : i->operands.data[index]->type;
    if (!byoc_type_is_tensor(type) || type->rank < 0 || !is_of(at[0], type->dtype)) return false;
    if (!fits_count(v, type, at[1], &first)) return false;
  }
  return operand == i->operands.count && result == i->results.count && fits_otherwise(v, i);
}

byoc_status_t byoc_host_verify_artifact_function(byoc_host_verifier_t *v, const byoc_host_instruction_t *i) {
  for (size_t k = 0; k < sizeof(known) / sizeof(known[0]); ++k) {
    if (strcmp(known[k].symbol, i->symbol) != 0) continue;
    return fits_words(v, i, known[k].words)
               ? BYOC_OK
               : byoc_host_verify_refuse(v, "operands and results do not fit; the function takes %s", known[k].words);
  }
  return BYOC_OK;
}
