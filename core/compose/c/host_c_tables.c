// SPDX-License-Identifier: Apache-2.0
// Prints the constant tables of the generated file.
#include <stdio.h>
#include <string.h>

#include "core/compose/c/host_c.h"
#include "core/module/runtime_options.h"
#include "core/runtime/check.h"

// A tensor of fixed dimensions gives them no names.
#define NO_DIM_NAMES "host_no_dim_names"

static void note(byoc_host_c_t *host, byoc_status_t status) {
  if (host->status == BYOC_OK) host->status = status;
}

// Tables are never empty in C: an empty one gets a row of zeros that its count leaves out.
static void table_begin(byoc_string_t *out, const char *type, const char *name) {
  byoc_string_appendf(out, "static const %s %s[] = {\n", type, name);
}
// Its rows have pointers to constants.
static void constants_begin(const byoc_host_c_t *host, const char *type, const char *name, byoc_string_t *out) {
  byoc_string_appendf(out, "%s %s %s[] = {\n", byoc_host_c_table_words(host), type, name);
}
static void table_end(byoc_string_t *out, size_t count) {
  byoc_string_append(out, count == 0 ? "    {0},\n};\n\n" : "};\n\n");
}

// `table` and `row`: where it stands.
static void emit_tensor(byoc_host_c_t *host, const byoc_host_c_tensor_t *tensor, const char *table, size_t row,
                        byoc_string_t *out) {
  byoc_string_append(out, "    TENSOR(");
  if (tensor->is_strings) {
    byoc_string_appendf(out, "host_strings_%u", tensor->cell);
  } else if (tensor->kind == BYOC_HOST_BUFFER_CONSTANT) {
    byoc_host_c_emit_constant(host, tensor, out, "%s[%zu].data", table, row);
  } else {
    byoc_string_append(out, "0");
  }
  byoc_dtype_t dtype = tensor->type->dtype;
  byoc_string_appendf(out, ", %d, %u, %u, %u), // ", (int)tensor->type->rank, (unsigned)byoc_dtype_dlpack_code(dtype),
                      (unsigned)byoc_dtype_bits(dtype), (unsigned)tensor->shape);
  byoc_host_c_comment(out, tensor->name);
  byoc_string_append(out, " : ");
  byoc_type_print(tensor->type, out);
  byoc_string_append(out, "\n");
}

// Constants of strings: tables of pointers.
static void emit_strings(byoc_host_c_t *host, byoc_string_t *out) {
  for (size_t i = 0; i < host->program->buffers.count; i++) {
    const byoc_host_buffer_t *buffer = host->program->buffers.data[i];
    if (buffer->kind != BYOC_HOST_BUFFER_CONSTANT || buffer->type->dtype != BYOC_DTYPE_STRING) continue;
    const char *const *texts = buffer->data;
    int64_t count = byoc_type_element_count(buffer->type);
    byoc_string_appendf(out, "static const char *const host_strings_%zu[] = {", i);
    for (int64_t k = 0; k < count; k++) {
      byoc_string_append(out, "\n    ");
      byoc_string_append_c_quoted(out, texts[k]);
      byoc_string_append(out, ",");
    }
    byoc_string_append(out, count == 0 ? "0};\n\n" : "\n};\n\n");
  }
}

static void emit_cell_list(byoc_host_buffer_t *const *buffers, size_t count, const char *name, byoc_string_t *out) {
  byoc_string_appendf(out, "static const uint32_t %s[] = {", name);
  for (size_t i = 0; i < count; i++) byoc_string_appendf(out, "%s%u", i > 0 ? ", " : "", buffers[i]->index);
  byoc_string_append(out, count == 0 ? "0};\n" : "};\n");
}

static bool is_made_once(const byoc_host_program_t *program, const byoc_host_buffer_t *buffer) {
  const byoc_host_instruction_t *allocate = NULL;
  for (size_t k = 0; k < buffer->uses.count; k++) {
    const byoc_host_instruction_t *user = buffer->uses.data[k].instruction;
    if (user->op != BYOC_HOST_ALLOCATE) continue;
    if (allocate != NULL || user->region != &program->body || user->allocation != BYOC_HOST_FRESH) return false;
    allocate = user;
  }
  return allocate != NULL;
}

// The cell that is made only to become the output; BYOC_CELL_NONE: there is none.
static uint32_t find_destination(const byoc_host_program_t *program, const byoc_host_buffer_t *output,
                                 const uint32_t *destinations, size_t count) {
  for (size_t k = 0; k < output->uses.count; k++) {
    const byoc_host_use_t *use = &output->uses.data[k];
    const byoc_host_instruction_t *share = use->instruction;
    if (share->op != BYOC_HOST_SHARE || use->kind != BYOC_HOST_USE_RESULT || share->region != &program->body) continue;
    const byoc_host_buffer_t *from = share->operands.data[0];
    bool fits = from->kind == BYOC_HOST_BUFFER_LOCAL && byoc_type_is_tensor(from->type) &&
                byoc_type_equal(from->type, output->type) && is_made_once(program, from);
    for (size_t i = 0; i < count; i++) fits = fits && destinations[i] != from->index; // of an earlier output
    if (fits) return from->index;
  }
  return BYOC_CELL_NONE;
}

static void emit_destinations(byoc_host_c_t *host, byoc_string_t *out) {
  const byoc_host_program_t *program = host->program;
  uint32_t *destinations = BYOC_ARENA_ARRAY(&host->arena, uint32_t, program->outputs.count);
  if (destinations == NULL) out->failed = true;
  byoc_string_append(out, "static const uint32_t host_output_destinations[] = {");
  for (size_t i = 0; destinations != NULL && i < program->outputs.count; i++) {
    destinations[i] = find_destination(program, program->outputs.data[i], destinations, i);
    byoc_string_appendf(out, "%s%uu", i > 0 ? ", " : "", destinations[i]);
  }
  byoc_string_append(out, program->outputs.count == 0 ? "0};\n" : "};\n");
}

// Which cells are inputs, outputs and constants.
static void emit_cells(byoc_host_c_t *host, byoc_string_t *out) {
  const byoc_host_program_t *program = host->program;
  size_t count = 0;
  if (!program->is_dynamic) return;
  byoc_string_append(out, "// Cells: inputs, outputs, constants.\n");
  emit_cell_list(program->inputs.data, program->inputs.count, "host_input_cells", out);
  emit_cell_list(program->outputs.data, program->outputs.count, "host_output_cells", out);
  emit_destinations(host, out);
  constants_begin(host, "byoc_model_constant_t", "host_constants", out);
  for (size_t i = 0; i < program->buffers.count; i++) {
    const byoc_host_buffer_t *buffer = program->buffers.data[i];
    if (buffer->kind != BYOC_HOST_BUFFER_CONSTANT || !buffer->is_value) continue;
    byoc_host_c_tensor_t place;
    note(host, byoc_host_c_locate(host, buffer, &place));
    byoc_string_appendf(out, "    {%zu, %u, %d, ", i, (unsigned)buffer->type->dtype, (int)buffer->type->rank);
    if (place.weight != 0) byoc_host_c_emit_constant(host, &place, out, "host_constants[%zu].data", count);
    if (place.weight == 0) byoc_host_c_emit_address(host, &place, 0, out);
    byoc_string_appendf(out, ", host_dims + %u},\n", place.shape);
    count++;
  }
  table_end(out, count);
  byoc_string_appendf(out, "#define HOST_CONSTANT_COUNT %zu\n\n", count);
}

static void emit_dims(byoc_host_c_t *host, byoc_string_t *out) {
  byoc_string_append(out, "// Dimensions of all tensors; equal shapes share theirs.\n"
                          "static const int64_t host_dims[] = {");
  for (size_t i = 0; i < host->dims.count; i++) {
    byoc_string_append(out, i % 16 == 0 ? "\n    " : " ");
    byoc_string_appendf(out, "%lld,", (long long)host->dims.data[i]);
  }
  byoc_string_append(out, host->dims.count == 0 ? "0};\n\n" : "\n};\n\n");
}

static void emit_calls(byoc_host_c_t *host, byoc_string_t *out) {
  byoc_string_append(out,
                     "// Tensors of the calls: data, rank, DLPack code and bits, place of the dimensions.\n"
                     "#define TENSOR(data, rank, code, bits, dims) \\\n"
                     "  {(void *)(data), {kDLCPU, 0}, rank, {code, bits, 1}, (int64_t *)host_dims + (dims), 0, 0}\n");
  constants_begin(host, "DLTensor", "host_tensors", out);
  for (size_t i = 0; i < host->tensors.count; i++) emit_tensor(host, &host->tensors.data[i], "host_tensors", i, out);
  table_end(out, host->tensors.count);

  size_t place_count = 0;
  byoc_string_append(out, "// Which of them lie in the workspace, and where.\n");
  table_begin(out, "byoc_model_place_t", "host_places");
  for (size_t i = 0; i < host->tensors.count; i++) {
    const byoc_host_c_tensor_t *tensor = &host->tensors.data[i];
    if (tensor->kind != BYOC_HOST_BUFFER_LOCAL || tensor->in_cell) continue;
    if (!byoc_dim_is_constant(tensor->moving)) continue; // placed in front of its call
    byoc_string_appendf(out, "    {%zu, %llu},\n", i, (unsigned long long)tensor->offset_bytes);
    place_count++;
  }
  table_end(out, place_count);
  byoc_string_appendf(out, "#define HOST_PLACE_COUNT %zu\n\n", place_count);

  size_t cached_count = 0;
  byoc_string_append(out, "// Bytes of the workspace that are zero at first: offset and size.\n");
  table_begin(out, "byoc_model_range_t", "host_cached");
  for (size_t i = 0; i < host->program->buffers.count; i++) {
    const byoc_host_buffer_t *buffer = host->program->buffers.data[i];
    if (buffer->is_value || !byoc_host_is_cached(buffer)) continue;
    byoc_string_appendf(out, "    {%llu, %llu}, // ", (unsigned long long)buffer->offset_bytes,
                        (unsigned long long)buffer->size_bytes);
    byoc_host_c_comment(out, buffer->name);
    byoc_string_append(out, "\n");
    cached_count++;
  }
  table_end(out, cached_count);
  byoc_string_appendf(out, "#define HOST_CACHED_COUNT %zu\n\n", cached_count);

  byoc_string_append(
      out, "// Calls: first tensor, inputs, outputs, whether it is a kernel, offset and size of scratch memory.\n");
  table_begin(out, "byoc_model_call_t", "host_calls");
  for (size_t i = 0; i < host->calls.count; i++) {
    const byoc_host_c_call_t *call = &host->calls.data[i];
    byoc_string_appendf(out, "    {%u, %u, %u, %d, %llu, %llu},\n", call->first_tensor, call->input_count,
                        call->output_count, call->is_kernel, (unsigned long long)call->workspace_offset,
                        (unsigned long long)call->workspace_size_bytes);
  }
  table_end(out, host->calls.count);
}

static void emit_steps(byoc_host_c_t *host, byoc_string_t *out) {
  byoc_string_append(out, "// What each step came from.\nstatic const char *const host_steps[] = {\n");
  for (size_t i = 0; i < host->steps.count; i++) {
    byoc_string_append(out, "    ");
    byoc_string_append_c_quoted(out, host->steps.data[i]);
    byoc_string_append(out, ",\n");
  }
  byoc_string_append(out, host->steps.count == 0 ? "    0,\n};\n\n" : "};\n\n");
}

static unsigned long long place_of(byoc_host_c_t *host, const void *data, size_t size_bytes, const char *name) {
  uint64_t offset_bytes = 0;
  note(host, byoc_host_c_place(host, data, size_bytes, name, &offset_bytes));
  return offset_bytes;
}

static void emit_engine_constants(byoc_host_c_t *host, const byoc_runtime_module_t *function, size_t engine,
                                  size_t index, byoc_string_t *out) {
  if (function->constants.count == 0) return;
  const char *table = byoc_arena_format(&host->arena, "host_engine_%zu_constants_%zu", engine, index);
  if (table == NULL) {
    out->failed = true;
    return;
  }
  constants_begin(host, "DLTensor", table, out);
  for (size_t i = 0; i < function->constants.count; i++) {
    const byoc_bound_constant_t *constant = &function->constants.data[i];
    byoc_host_c_tensor_t tensor = {.type = constant->type, .kind = BYOC_HOST_BUFFER_CONSTANT, .name = function->name};
    note(host, byoc_host_c_place_constant(host, constant->data, constant->size_bytes, function->name, &tensor));
    note(host, byoc_host_c_shape(host, constant->type, &tensor.shape));
    emit_tensor(host, &tensor, table, i, out);
  }
  byoc_string_append(out, "};\n");
}

static bool states_fits(const byoc_host_engine_t *engine) {
  bool states = engine->engine->fits != NULL;
  for (size_t i = 0; i < engine->functions.count; i++) states = states || engine->functions.data[i]->fits != NULL;
  return states;
}

// What each function fits, and what the blobs fit.
static void emit_fits(const byoc_host_engine_t *engine, size_t index, byoc_string_t *out) {
  if (!states_fits(engine)) return;
  byoc_string_appendf(out, "static const char *const host_engine_%zu_fits[] = {\n", index);
  for (size_t i = 0; i <= engine->functions.count; i++) {
    const byoc_runtime_module_t *module = i < engine->functions.count ? engine->functions.data[i] : engine->engine;
    byoc_string_append(out, "    ");
    if (module->fits != NULL) byoc_string_append_c_quoted(out, module->fits);
    byoc_string_append(out, module->fits != NULL ? ",\n" : "0,\n");
  }
  byoc_string_append(out, "};\n");
}

static byoc_runtime_schema_t options_of(byoc_host_c_t *host, const byoc_host_engine_t *engine) {
  byoc_runtime_schema_t schema;
  note(host, byoc_runtime_module_read_options(engine->engine, &host->arena, host->diag, &schema));
  return schema;
}

static void emit_engine(byoc_host_c_t *host, size_t index, byoc_string_t *out) {
  const byoc_host_engine_t *engine = &host->program->engines.data[index];
  byoc_string_append(out, "// Engine '");
  byoc_host_c_comment(out, engine->engine->name);
  byoc_string_append(out, "' and its functions.\n");
  for (size_t i = 0; i < engine->functions.count; i++) {
    emit_engine_constants(host, engine->functions.data[i], index, i, out);
  }
  byoc_string_appendf(out, "static const byoc_engine_function_t host_engine_%zu_functions[] = {\n", index);
  for (size_t i = 0; i < engine->functions.count; i++) {
    const byoc_runtime_module_t *function = engine->functions.data[i];
    size_t json_size = strlen(function->json);
    byoc_string_append(out, "    {");
    byoc_string_append_c_quoted(out, function->function_name != NULL ? function->function_name : function->name);
    byoc_string_appendf(out, ", (const char *)byoc_data + %llu, %zu, ",
                        place_of(host, function->json, json_size + 1, function->name), json_size);
    if (function->constants.count > 0) byoc_string_appendf(out, "host_engine_%zu_constants_%zu", index, i);
    if (function->constants.count == 0) byoc_string_append(out, "0");
    byoc_string_appendf(out, ", %zu, 0},\n", function->constants.count);
  }
  table_end(out, engine->functions.count);
  byoc_string_appendf(out, "static const byoc_engine_blob_t host_engine_%zu_blobs[] = {\n", index);
  for (size_t i = 0; i < engine->engine->blobs.count; i++) {
    const byoc_file_bytes_t *blob = &engine->engine->blobs.data[i];
    byoc_string_append(out, "    {");
    byoc_string_append_c_quoted(out, blob->name);
    byoc_string_appendf(out, ", byoc_data + %llu, %zu},\n", place_of(host, blob->data, blob->size_bytes, blob->name),
                        blob->size_bytes);
  }
  table_end(out, engine->engine->blobs.count);
  emit_fits(engine, index, out);
  const byoc_runtime_schema_t schema = options_of(host, engine);
  byoc_host_c_emit_options(schema.rows, schema.count, "engine", index, out);
}

static void emit_engines(byoc_host_c_t *host, byoc_string_t *out) {
  size_t count = host->program->engines.count;
  for (size_t i = 0; i < count; i++) emit_engine(host, i, out);
  table_begin(out, "byoc_model_engine_t", "host_engines");
  for (size_t i = 0; i < count; i++) {
    const byoc_host_engine_t *engine = &host->program->engines.data[i];
    byoc_string_append(out, "    {");
    byoc_string_append_c_quoted(out, engine->engine->name);
    byoc_string_appendf(out, ", &%s, host_engine_%zu_functions, host_engine_%zu_blobs, %zu, %zu",
                        host->engine_symbols.data[i], i, i, engine->functions.count, engine->engine->blobs.count);
    const byoc_runtime_schema_t schema = options_of(host, engine);
    if (schema.count > 0) byoc_string_appendf(out, ", .options = host_engine_%zu_options", i);
    if (schema.count > 0) byoc_string_appendf(out, ", .option_count = %u", (unsigned)schema.count);
    if (states_fits(engine)) byoc_string_appendf(out, ", .fits = host_engine_%zu_fits", i);
    byoc_string_append(out, "},\n");
  }
  table_end(out, count);
}

static void emit_setups(byoc_host_c_t *host, byoc_string_t *out) {
  byoc_string_append(out, "// Set up once per context.\n");
  table_begin(out, "byoc_model_setup_t", "host_setups");
  for (size_t i = 0; i < host->setups.count; i++) {
    byoc_string_append(out, "    {");
    byoc_string_append_c_quoted(out, host->setups.data[i]->name);
    byoc_string_appendf(out, ", %s},\n", host->setup_symbols.data[i]);
  }
  table_end(out, host->setups.count);
}

// The tensors in a sequence or optional.
static const byoc_type_t *tensor_type(const byoc_host_buffer_t *buffer) {
  const byoc_type_t *type = buffer->type;
  while (type->element != NULL) type = type->element;
  return type;
}

// A name says that dimensions are equal: one of an input stands for nothing else, so that a formula which only may be
// as large is written out.
static void print_dim(const byoc_host_c_t *host, byoc_dim_t dim, byoc_string_t *out) {
  const byoc_host_program_t *program = host->program;
  byoc_string_t name;
  byoc_string_init(&name, out->allocator);
  byoc_dim_print_named(dim, &host->dim_names, &name);
  const uintptr_t symbol = name.failed ? 0 : (uintptr_t)byoc_string_map_get(&program->symbol_indices, name.data);
  const bool is_of_input = symbol != 0 && symbol <= program->input_symbol_count && dim.expr->kind != BYOC_DIM_SYMBOL;
  if (is_of_input) byoc_string_clear(&name);
  if (is_of_input) byoc_dim_print(dim, &name);
  if (name.failed) out->failed = true;
  const bool is_nameless = name.failed || (byoc_dim_is_unknown(dim) && name.data[0] == '?');
  byoc_string_append_c_quoted(out, is_nameless ? "?" : name.data);
  byoc_string_deinit(&name);
}

// Names of symbolic dimensions; one shared table where there are none.
static void emit_dim_names(const byoc_host_c_t *host, const byoc_host_buffer_t *buffer, const char *table, size_t index,
                           byoc_string_t *out) {
  const byoc_type_t *type = tensor_type(buffer);
  if (byoc_type_is_static(type)) return;
  byoc_string_appendf(out, "static const char *const %s_%zu_dim_names[] = {", table, index);
  for (int32_t i = 0; i < type->rank; i++) {
    if (byoc_dim_is_constant(type->dims[i])) {
      byoc_string_append(out, "0, ");
      continue;
    }
    print_dim(host, type->dims[i], out);
    byoc_string_append(out, ", ");
  }
  byoc_string_append(out, type->rank > 0 ? "};\n" : "0};\n");
}

static void emit_info(byoc_host_c_t *host, const byoc_host_buffer_t *buffer, const char *table, size_t index,
                      byoc_string_t *out) {
  const byoc_type_t *type = tensor_type(buffer);
  uint32_t shape = 0;
  note(host, byoc_host_c_shape(host, type, &shape));
  byoc_string_append(out, "    {");
  byoc_string_append_c_quoted(out, byoc_host_port_name(buffer));
  byoc_string_appendf(out, ", %u, ", (unsigned)type->dtype);
  if (type->rank == BYOC_RANK_UNKNOWN) byoc_string_append(out, "BYOC_ARGUMENT_ANY_RANK");
  if (type->rank != BYOC_RANK_UNKNOWN) byoc_string_appendf(out, "%d", (int)type->rank);
  byoc_string_appendf(out, ", host_dims + %u, ", (unsigned)shape);
  if (byoc_type_is_static(type)) byoc_string_append(out, NO_DIM_NAMES);
  if (!byoc_type_is_static(type)) byoc_string_appendf(out, "%s_%zu_dim_names", table, index);
  byoc_string_appendf(out, ", %llu}, // ", (unsigned long long)buffer->size_bytes);
  byoc_type_print(buffer->type, out);
  byoc_string_append(out, "\n");
}

static void emit_infos(byoc_host_c_t *host, byoc_host_buffer_t *const *buffers, size_t count, const char *table,
                       byoc_string_t *out) {
  for (size_t i = 0; i < count; i++) emit_dim_names(host, buffers[i], table, i, out);
  table_begin(out, "byoc_tensor_info_t", table);
  for (size_t i = 0; i < count; i++) emit_info(host, buffers[i], table, i, out);
  table_end(out, count);
  byoc_string_appendf(out, "static const char *const %s_kinds[] = {", table);
  for (size_t i = 0; i < count; i++) {
    byoc_string_append(out, i > 0 ? ", \"" : "\"");
    for (const byoc_type_t *type = buffers[i]->type; type->element != NULL; type = type->element) {
      byoc_string_append(out, type->kind == BYOC_TYPE_SEQUENCE ? "s" : "o");
    }
    byoc_string_append(out, "t\"");
  }
  byoc_string_append(out, count == 0 ? "0};\n\n" : "};\n\n");
}

// The input that each output may be written over.
static void emit_pairs(const byoc_host_c_t *host, byoc_string_t *out) {
  const byoc_host_program_t *program = host->program;
  byoc_string_append(out, "static const int32_t host_outputs_over[] = {");
  for (size_t i = 0; i < program->outputs.count; i++) {
    const byoc_host_buffer_t *over = program->outputs.data[i]->over;
    const int input = over != NULL ? (int)(uintptr_t)byoc_pointer_map_get(&host->inputs, over) - 1 : -1;
    byoc_string_appendf(out, "%s%d", i > 0 ? ", " : "", input);
  }
  byoc_string_append(out, program->outputs.count == 0 ? "0};\n\n" : "};\n\n");
}

void byoc_host_c_emit_tables(byoc_host_c_t *host, byoc_string_t *out) {
  // The dimensions come first in the text, and are complete last.
  byoc_string_t rest;
  byoc_string_init(&rest, out->allocator);
  const byoc_host_program_t *program = host->program;
  emit_strings(host, &rest);
  emit_calls(host, &rest);
  emit_steps(host, &rest);
  byoc_host_c_emit_trace_tables(host, &rest);
  emit_engines(host, &rest);
  emit_setups(host, &rest);
  byoc_host_c_emit_places(host, &rest);
  emit_cells(host, &rest);
  const size_t infos = rest.size;
  emit_infos(host, program->inputs.data, program->inputs.count, "host_inputs", &rest);
  emit_infos(host, program->outputs.data, program->outputs.count, "host_outputs", &rest);
  if (!rest.failed && strstr(rest.data + infos, NO_DIM_NAMES) != NULL) {
    byoc_string_appendf(out, "static const char *const " NO_DIM_NAMES "[%d] = {0};\n\n", BYOC_MAX_RANK);
  }
  emit_pairs(host, &rest);
  byoc_host_c_emit_weights(host, &rest);
  emit_dims(host, out);
  byoc_string_append_bytes(out, rest.data, rest.size);
  if (rest.failed) out->failed = true;
  byoc_string_deinit(&rest);
}

// The exported function, which gives the table of the first entry, on the best level.
static void emit_function(const byoc_compose_place_t *place, byoc_string_t *out) {
  if (byoc_compose_position(place) > 0) return;
  char choice[64] = "&HOST_ARTIFACT";
  if (place->level_count > 0) {
    snprintf(choice, sizeof(choice), "byoc_model_choose_isa_level(host_levels, %zu)", place->level_count);
  }
  byoc_string_appendf(out,
                      "// The one symbol that the artifact exports.\n"
                      "__attribute__((visibility(\"default\"))) const byoc_artifact_t *"
                      "byoc_artifact_entry(uint32_t abi_version) {\n"
                      "  return abi_version >= 1 && abi_version <= BYOC_ARTIFACT_ABI ? %s : 0;\n}\n",
                      choice);
}

// The tables of the entries of a level are known to one another, and the first of each level to all.
static void emit_tables_of(const byoc_compose_place_t *place, byoc_string_t *out) {
  for (size_t i = 0; i < byoc_compose_position_count(place); i++) {
    byoc_string_appendf(
        out, "extern __attribute__((visibility(\"hidden\"))) const byoc_artifact_t " BYOC_HOST_C_TABLE ";", i);
    if (place->count > 0) {
      byoc_string_append(out, " // ");
      byoc_host_c_comment(out, place->names[i % place->count]);
    }
    byoc_string_append(out, "\n");
  }
}

static void emit_levels(const byoc_compose_place_t *place, byoc_string_t *out) {
  byoc_string_append(out, "static const byoc_model_isa_level_t host_levels[] = {\n");
  for (size_t i = 0; i < place->level_count; i++) {
    byoc_compose_place_t first = {.count = place->count, .level = i};
    byoc_string_append(out, "    {");
    byoc_string_append_c_quoted(out, place->levels[i].name);
    byoc_string_append(out, ", ");
    byoc_string_append_c_quoted(out, place->levels[i].cpu_features);
    byoc_string_appendf(out, ", &" BYOC_HOST_C_TABLE "},\n", byoc_compose_position(&first));
  }
  byoc_string_append(out, "};\n");
}

static void emit_declarations(const byoc_compose_place_t *place, byoc_string_t *out) {
  if (place->count == 0 && place->level_count == 0) {
    byoc_string_append(out, "#define HOST_ARTIFACT host_artifact\nstatic const byoc_artifact_t host_artifact;\n");
    return;
  }
  byoc_string_appendf(out, "#define HOST_ARTIFACT " BYOC_HOST_C_TABLE "\n", byoc_compose_position(place));
  emit_tables_of(place, out);
  if (place->level_count > 0) emit_levels(place, out);
  if (place->count == 0) return;
  byoc_string_append(out, "static const byoc_artifact_t *const host_entries[] = {");
  for (size_t i = 0; i < place->count; i++) {
    const byoc_compose_place_t entry = {.count = place->count, .index = i, .level = place->level};
    byoc_string_appendf(out, "%s&" BYOC_HOST_C_TABLE, i > 0 ? ", " : "", byoc_compose_position(&entry));
  }
  byoc_string_append(out, "};\n");
}

void byoc_host_c_emit_entry(byoc_host_c_t *host, const byoc_host_c_metadata_t *metadata, byoc_string_t *out) {
  const byoc_compose_place_t *place = &host->options->place;
  const byoc_host_program_t *program = host->program;
  emit_declarations(place, out);
  byoc_string_append(out, "static const byoc_model_t host_model = {\n"
                          "    .artifact = &HOST_ARTIFACT,\n    .cpu_features = ");
  byoc_string_append_c_quoted(out, host->options->cpu_features != NULL ? host->options->cpu_features : "");
  byoc_string_appendf(out,
                      ",\n    .thread_count = %d,\n    .huge_pages = %d,\n    .is_static = %d,\n%s"
                      "    .tensor_count = %zu,\n    .call_count = %zu,\n"
                      "    .place_count = HOST_PLACE_COUNT,\n    .engine_count = %zu,\n    .setup_count = %zu,\n",
                      (int)host->options->thread_count, (int)host->options->huge_pages,
                      host->options->output != NULL && byoc_compose_form(host->options->output) != BYOC_COMPOSE_SHARED,
                      host->layout->weights.count > 0 ? "    .weights = &host_weights_file,\n"
                                                      : "    .data = byoc_data,\n",
                      host->tensors.count, host->calls.count, program->engines.count, host->setups.count);
  byoc_string_append(out, "    .tensors = host_tensors,\n    .calls = host_calls,\n    .places = host_places,\n"
                          "    .cached = host_cached,\n    .cached_count = HOST_CACHED_COUNT,\n"
                          "    .engines = host_engines,\n    .setups = host_setups,\n    .steps = host_steps,\n");
  if (place->level_count > 0) {
    byoc_string_appendf(out, "    .levels = host_levels,\n    .level_count = %zu,\n", place->level_count);
  }
  if (program->rank_count > 0) {
    byoc_string_appendf(out, "    .rank_count = %u,\n    .rank = %d,\n    .rank_build = %lluu,\n", program->rank_count,
                        program->rank, (unsigned long long)program->rank_build);
  }
  if (program->symbols.count > 0) byoc_string_appendf(out, "    .symbol_count = %zu,\n", program->symbols.count);
  if (program->is_dynamic) {
    byoc_string_appendf(
        out,
        "    .execute = host_execute,\n    .cell_count = %zu,\n"
        "    .constant_count = HOST_CONSTANT_COUNT,\n    .input_cells = host_input_cells,\n"
        "    .output_cells = host_output_cells,\n    .output_destinations = host_output_destinations,\n    "
        ".constants = host_constants,\n",
        program->buffers.count);
  }
  if (byoc_host_asks(program, BYOC_CHECK_ENGINES)) byoc_string_append(out, "    .has_engine_fallback = 1,\n");
  if (byoc_host_c_has_devices(host)) byoc_string_append(out, "    .on_devices = &host_places_on_devices,\n");
  byoc_string_append(out, "};\n\n"
                          "static int32_t host_check(char *message, uint64_t size) {\n"
                          "  return byoc_model_check(&host_model, message, size);\n}\n\n"
                          "static int32_t host_create(const byoc_context_options_t *options, byoc_context_t "
                          "**out_context) {\n  return byoc_model_create(&host_model, options, out_context);\n}\n\n");
  char offset[32] = "";
  if (metadata->offset_bytes > 0) snprintf(offset, sizeof(offset), " + %zu", metadata->offset_bytes);
  byoc_string_append(out, byoc_compose_position_count(place) == 1 && place->count == 0 ? "static " : "");
  byoc_string_append(out, "const byoc_artifact_t HOST_ARTIFACT = {\n"
                          "    .struct_size = sizeof(byoc_artifact_t),\n    .abi_version = BYOC_ARTIFACT_ABI,\n"
                          "    .model_name = ");
  byoc_string_append_c_quoted(out, host->options->model_name);
  byoc_string_appendf(out,
                      ",\n    .input_count = %zu,\n    .output_count = %zu,\n    .inputs = host_inputs,\n"
                      "    .outputs = host_outputs,\n    .workspace_size_bytes = %llu,\n"
                      "    .constants_size_bytes = %llu,\n    .metadata = byoc_metadata%s,\n"
                      "    .metadata_size_bytes = %zu,\n",
                      program->inputs.count, program->outputs.count, (unsigned long long)program->workspace_size_bytes,
                      (unsigned long long)host->layout->constants_size_bytes, offset, metadata->size_bytes);
  byoc_string_appendf(out, "    .run = %s,\n", program->is_dynamic ? "byoc_model_refuse_run" : "host_run");
  byoc_string_append(out, "    .check = host_check,\n    .create = host_create,\n"
                          "    .destroy = byoc_model_destroy,\n    .last_error = byoc_model_last_error,\n");
  byoc_string_appendf(out, "    .profile = %s,\n",
                      host->options->profile && !program->is_dynamic ? "host_profile" : "0");
  byoc_string_appendf(out,
                      "    .input_kinds = host_inputs_kinds,\n    .output_kinds = host_outputs_kinds,\n"
                      "    .is_dynamic = %d,\n    .run_arguments = byoc_model_run_arguments,\n"
                      "    .set_counter_sink = byoc_model_set_counter_sink,\n"
                      "    .signature_hash = 0x%016llxu,\n    .peak_bytes = byoc_model_peak_bytes,\n"
                      "    .outputs_over = host_outputs_over,\n    .run_with = byoc_model_run_with,\n",
                      program->is_dynamic, (unsigned long long)host->signature);
  if (host->options->trace) byoc_string_append(out, "    .trace = byoc_model_trace,\n");
  if (host->options->profile) byoc_string_append(out, "    .profile_arguments = byoc_model_profile_arguments,\n");
  if (place->count > 0) {
    byoc_string_append(out, "    .entry = ");
    byoc_string_append_c_quoted(out, place->names[place->index]);
    byoc_string_appendf(out, ",\n    .entries = host_entries,\n    .entry_count = %zu,\n", place->count);
  }
  byoc_string_append(out, "};\n\n");
  emit_function(place, out);
}
