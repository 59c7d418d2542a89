// SPDX-License-Identifier: Apache-2.0
// One case in this process: read, compile, run, compare.
#include <string.h>

#include "artifact.h"
#include "conform.h"
#include "core/base/file.h"
#include "core/base/log.h"
#include "core/frontend/onnx_data.h"
#include "tools/common/json_print.h"

enum { MAX_PORTS = 256 };

typedef struct case_t {
  const byoc_conform_options_t *options;
  byoc_session_t session; // its registry and targets are borrowed
  const char *path;
  const char *stage;
  byoc_onnx_summary_t summary;
  byoc_arena_t arena;
  byoc_graph_module_t *data; // owns the tensors of the current data set
  byoc_onnx_value_t inputs[MAX_PORTS], outputs[MAX_PORTS];
  json_t *nodes;
} case_t;

// ---- data ----

// Files of ONNX up to 1.12 hold the bits of bf16 tensors in u16, because NumPy lacks the type.
static byoc_status_t settle_bf16(case_t *c, const byoc_onnx_port_t *port, byoc_onnx_value_t *value, byoc_diag_t *diag) {
  byoc_constant_t *tensor = value->constant;
  if (tensor == NULL || port->dtype != BYOC_DTYPE_BF16 || tensor->type->dtype != BYOC_DTYPE_U16) return BYOC_OK;
  const byoc_type_t *type = byoc_type_tensor_static(&c->data->arena, BYOC_DTYPE_BF16, tensor->type->rank, tensor->dims);
  value->constant = type ? byoc_constant_wrap(c->data, tensor->name, type, tensor->data) : NULL;
  return value->constant ? BYOC_OK : byoc_diag_out_of_memory(diag);
}

// The values `prefix`_0.pb, _1.pb ... of a data set, as many as the model has ports.
static byoc_status_t read_values(case_t *c, const char *folder, const char *prefix, const byoc_onnx_port_t *ports,
                                 size_t count, byoc_onnx_value_t *out, byoc_diag_t *diag) {
  if (count > MAX_PORTS) return byoc_diag_error(diag, BYOC_UNSUPPORTED, "more than %d %ss", MAX_PORTS, prefix);
  for (size_t i = 0; i < count; ++i) {
    const char *path = byoc_arena_format(&c->arena, "%s/%s_%zu.pb", folder, prefix, i);
    if (path == NULL) return byoc_diag_out_of_memory(diag);
    if (!byoc_file_exists(path)) {
      return byoc_diag_error(diag, BYOC_INVALID_DATA, "%s '%s' has no file %s", prefix, ports[i].name, path);
    }
    byoc_type_kind_t kind = ports[i].kind == BYOC_TYPE_UNKNOWN ? BYOC_TYPE_TENSOR : ports[i].kind;
    BYOC_RETURN_IF_ERROR(byoc_onnx_read_value_file(path, kind, c->data, diag, &out[i]));
    BYOC_RETURN_IF_ERROR(settle_bf16(c, &ports[i], &out[i], diag));
  }
  return BYOC_OK;
}

static byoc_status_t read_data_set(case_t *c, const char *name, byoc_diag_t *diag) {
  const char *folder = byoc_arena_format(&c->arena, "%s/%s", c->path, name);
  if (folder == NULL) return byoc_diag_out_of_memory(diag);
  byoc_graph_module_destroy(c->data);
  c->data = NULL;
  BYOC_RETURN_IF_ERROR(byoc_graph_module_create(c->session.allocator, diag, &c->data));
  const byoc_onnx_summary_t *s = &c->summary;
  BYOC_RETURN_IF_ERROR(read_values(c, folder, "input", s->inputs, s->input_count, c->inputs, diag));
  return read_values(c, folder, "output", s->outputs, s->output_count, c->outputs, diag);
}

// ---- running ----

// Makes an argument of a value; items live in the data's arena.
static byoc_status_t make_argument(case_t *c, const byoc_onnx_value_t *from, byoc_argument_t *out, byoc_diag_t *diag) {
  if (from->kind == BYOC_TYPE_TENSOR) {
    const byoc_constant_t *tensor = from->constant;
    *out = (byoc_argument_t){.dtype = tensor->type->dtype,
                             .rank = (uint32_t)tensor->type->rank,
                             .dims = tensor->dims,
                             .data = (void *)(uintptr_t)tensor->data};
    return BYOC_OK;
  }
  *out = (byoc_argument_t){.kind = from->kind == BYOC_TYPE_SEQUENCE ? BYOC_ARGUMENT_SEQUENCE : BYOC_ARGUMENT_OPTIONAL,
                           .count = from->count};
  out->items = BYOC_ARENA_ARRAY(&c->data->arena, byoc_argument_t, from->count);
  if (out->items == NULL) return byoc_diag_out_of_memory(diag);
  for (size_t i = 0; i < from->count; ++i) {
    BYOC_RETURN_IF_ERROR(make_argument(c, &from->items[i], &out->items[i], diag));
  }
  return BYOC_OK;
}

// One element may stand for a whole input: CastLike's cases of ONNX 1.12 give only one of the tensor's equal elements.
static bool fill_all(byoc_port_t *port, byoc_argument_t *argument, const byoc_constant_t *from) {
  bool one = from != NULL && byoc_type_element_count(from->type) == 1 && from->type->dtype == port->dtype &&
             byoc_dtype_bits(port->dtype) >= 8 && port->data != NULL && port->size_bytes > from->size_bytes;
  if (!one) return false;
  for (uint64_t at = 0; at < port->size_bytes; at += from->size_bytes) {
    memcpy((uint8_t *)port->data + at, from->data, from->size_bytes);
  }
  *argument =
      (byoc_argument_t){.dtype = port->dtype, .rank = (uint32_t)port->rank, .dims = port->dims, .data = port->data};
  return true;
}

static byoc_status_t make_inputs(case_t *c, byoc_ports_t *ports, byoc_argument_t *out, byoc_diag_t *diag) {
  for (size_t i = 0; i < ports->count; ++i) {
    byoc_port_t *port = &ports->items[i];
    size_t k = 0;
    while (k < c->summary.input_count && strcmp(c->summary.inputs[k].name, port->name) != 0) ++k;
    if (k == c->summary.input_count) {
      return byoc_diag_error(diag, BYOC_UNSUPPORTED, "there is no value for input '%s'", port->name);
    }
    if (fill_all(port, &out[i], c->inputs[k].constant)) continue;
    BYOC_RETURN_IF_ERROR(make_argument(c, &c->inputs[k], &out[i], diag));
  }
  return BYOC_OK;
}

static byoc_status_t compare_outputs(case_t *c, size_t count, const byoc_argument_t *results, byoc_diag_t *diag) {
  c->stage = "compare";
  if (count != c->summary.output_count) {
    return byoc_diag_error(diag, BYOC_MISMATCH, "%zu output%s, expected %zu", count, byoc_plural(count),
                           c->summary.output_count);
  }
  for (size_t i = 0; i < count; ++i) {
    BYOC_RETURN_IF_ERROR(
        byoc_conform_compare(c->options, c->summary.outputs[i].name, &results[i], &c->outputs[i], diag));
  }
  return BYOC_OK;
}

static byoc_status_t run_evaluated(case_t *c, byoc_diag_t *diag) {
  const byoc_host_program_t *program = c->session.setup.build.result.program;
  byoc_ports_t inputs = {0};
  byoc_argument_t in[MAX_PORTS], out[MAX_PORTS];
  byoc_build_evaluation_t evaluation = {0};
  byoc_status_t status = byoc_ports_for_buffers(&inputs, program->inputs.data, program->inputs.count, diag);
  if (status == BYOC_OK) status = make_inputs(c, &inputs, in, diag);
  if (status == BYOC_OK) status = byoc_build_evaluate(&c->session.setup.build, 1, diag, &evaluation);
  if (status == BYOC_OK) {
    c->stage = "run";
    status = byoc_evaluator_run_arguments(evaluation.evaluator, in, out, diag);
  }
  if (status == BYOC_OK) status = compare_outputs(c, program->outputs.count, out, diag);
  byoc_build_evaluation_end(&evaluation);
  byoc_ports_deinit(&inputs);
  return status;
}

static byoc_status_t run_compiled(case_t *c, byoc_diag_t *diag) {
  byoc_build_temporary_t artifact;
  byoc_status_t status = byoc_session_compose_temporary(&c->session, diag, &artifact);
  byoc_artifact_run_t run = {0};
  if (status == BYOC_OK) {
    c->stage = "run";
    status = byoc_artifact_run_open(artifact.path, NULL, 1, diag, &run);
  }
  if (status == BYOC_OK) {
    const byoc_artifact_t *table = run.artifact.table;
    byoc_argument_t in[MAX_PORTS], out[MAX_PORTS];
    status = make_inputs(c, &run.inputs, in, diag);
    if (status == BYOC_OK) {
      status = table->run_arguments(run.context, in, out);
      if (status != BYOC_OK) byoc_diag_error(diag, status, "the run failed: %s", table->last_error(run.context));
    }
    if (status == BYOC_OK) status = compare_outputs(c, table->output_count, out, diag);
    byoc_artifact_run_close(&run);
  }
  byoc_build_temporary_remove(&artifact);
  return status;
}

// ---- the case ----

// How many nodes each target took; "c" took the rest.
static byoc_status_t count_nodes(case_t *c, byoc_diag_t *diag) {
  const byoc_placement_t *placement = &c->session.setup.build.result.placement;
  json_decref(c->nodes);
  c->nodes = json_object();
  bool ok = c->nodes != NULL;
  for (size_t t = 0; ok && t < c->session.setup.targets.targets.count; ++t) {
    const byoc_target_t *target = c->session.setup.targets.targets.data[t];
    size_t count = target->kind->backend == NULL ? placement->left_over_count : 0;
    for (size_t r = 0; r < placement->regions.count; ++r) {
      const byoc_placement_region_t *region = &placement->regions.data[r];
      if (region->target == target && !region->falls_back) count += region->node_count;
    }
    ok = json_object_set_new(c->nodes, target->kind->name, json_integer((json_int_t)count)) == 0;
  }
  return ok ? BYOC_OK : byoc_diag_out_of_memory(diag);
}

static byoc_status_t run_data_set(case_t *c, const char *model, const char *name, byoc_diag_t *diag) {
  c->stage = "data";
  BYOC_RETURN_IF_ERROR(read_data_set(c, name, diag));
  // The model is compiled for the shapes of its data, whatever symbols it declares, unless --symbolic is given.
  byoc_onnx_input_shape_t shapes[MAX_PORTS];
  size_t shape_count = 0;
  for (size_t i = 0; i < c->summary.input_count; ++i) {
    const byoc_constant_t *input = c->inputs[i].constant;
    if (input == NULL || c->summary.inputs[i].is_static || c->options->symbolic) continue;
    shapes[shape_count++] =
        (byoc_onnx_input_shape_t){c->summary.inputs[i].name, input->dims, (size_t)input->type->rank};
  }
  const byoc_onnx_read_options_t read = {.shapes = shapes, .shape_count = shape_count};
  c->stage = "read";
  BYOC_RETURN_IF_ERROR(byoc_session_begin(&c->session, diag));
  byoc_status_t status = byoc_build_read(&c->session.setup.build, model, &read, diag);
  if (status == BYOC_OK) {
    c->stage = "compile";
    status = byoc_session_compile(&c->session, BYOC_BUILD_ALL, diag);
  }
  if (status == BYOC_OK) status = count_nodes(c, diag);
  if (status == BYOC_OK) status = c->options->evaluate ? run_evaluated(c, diag) : run_compiled(c, diag);
  byoc_build_deinit(&c->session.setup.build);
  return status;
}

static byoc_status_t run_data_sets(case_t *c, byoc_diag_t *diag, size_t *out_count) {
  c->stage = "read";
  const char *model = byoc_arena_format(&c->arena, "%s/model.onnx", c->path);
  if (model == NULL) return byoc_diag_out_of_memory(diag);
  BYOC_RETURN_IF_ERROR(byoc_onnx_summarise_file(model, &c->arena, diag, &c->summary));
  char **names = NULL;
  size_t count = 0;
  BYOC_RETURN_IF_ERROR(byoc_list_directory(c->path, c->session.allocator, diag, &names, &count));
  byoc_status_t status = BYOC_OK;
  for (size_t i = 0; i < count && status == BYOC_OK; ++i) {
    if (!byoc_starts_with(names[i], "test_data_set_")) continue;
    ++*out_count;
    status = run_data_set(c, model, names[i], diag);
    if (status != BYOC_OK && *out_count > 1) byoc_diag_context(diag, status, "%s", names[i]);
  }
  byoc_free_names(c->session.allocator, names, count);
  return status;
}

static bool add_operators(json_t *record, const byoc_onnx_summary_t *summary) {
  json_t *operators = json_array();
  bool ok = operators != NULL;
  for (size_t i = 0; ok && i < summary->operator_count; ++i) {
    ok = json_array_append_new(operators, byoc_json_string(summary->operators[i])) == 0;
  }
  return json_object_set_new(record, "operators", operators) == 0 && ok;
}

json_t *byoc_conform_run_case(const byoc_session_t *session, const byoc_conform_options_t *options, const char *path) {
  case_t c = {.options = options, .session = *session, .path = path};
  byoc_diag_t diag = {0};
  size_t data_set_count = 0;
  int64_t start_ns = byoc_now_ns();
  byoc_arena_init(&c.arena, session->allocator);
  byoc_status_t status = run_data_sets(&c, &diag, &data_set_count);
  json_t *record = NULL;
  if (status != BYOC_OK) {
    char reason[2048];
    byoc_diag_format(&diag, reason, sizeof(reason));
    record = byoc_conform_record("failed", c.stage, reason);
  } else if (data_set_count == 0) {
    record = byoc_conform_record("skipped", "data", "it has no test_data_set_* folder");
  } else {
    record = byoc_conform_record("passed", NULL, NULL);
  }
  bool ok = record != NULL && add_operators(record, &c.summary) &&
            json_object_set_new(record, "seconds", json_real((double)(byoc_now_ns() - start_ns) / 1e9)) == 0 &&
            (c.nodes == NULL || json_object_set(record, "nodes", c.nodes) == 0);
  if (!ok) {
    json_decref(record);
    record = NULL;
  }
  json_decref(c.nodes);
  byoc_graph_module_destroy(c.data);
  byoc_arena_deinit(&c.arena);
  return record;
}
