#include "artifact.h"

#include <string.h>

static byoc_status_t fill_ports(byoc_ports_t *ports, const byoc_tensor_info_t *infos, uint32_t count,
                                byoc_diag_t *diag) {
  BYOC_RETURN_IF_ERROR(byoc_ports_init(ports, count, diag));
  for (uint32_t i = 0; i < count; ++i) {
    byoc_port_t *port = &ports->items[i];
    if (infos[i].rank > BYOC_MAX_RANK) {
      return byoc_diag_error(diag, BYOC_UNSUPPORTED, "'%s' has %u dimensions", infos[i].name, infos[i].rank);
    }
    port->name = infos[i].name;
    port->dtype = infos[i].dtype;
    port->rank = (int32_t)infos[i].rank;
    if (infos[i].rank > 0) memcpy(port->dims, infos[i].dims, infos[i].rank * sizeof(port->dims[0]));
  }
  return byoc_ports_allocate(ports, diag);
}

static byoc_status_t open_run(const char *path, int32_t thread_count, byoc_diag_t *diag, byoc_artifact_run_t *run) {
  BYOC_RETURN_IF_ERROR(byoc_artifact_load(path, diag, &run->artifact));
  const byoc_artifact_t *table = run->artifact.table;
  const byoc_context_options_t options = {.struct_size = sizeof(options), .thread_count = thread_count};
  byoc_status_t status = table->create(&options, &run->context);
  if (status != BYOC_OK) {
    return byoc_diag_error(diag, status, "%s: cannot make a context: %s", path, table->last_error(NULL));
  }
  BYOC_RETURN_IF_ERROR(fill_ports(&run->inputs, table->inputs, table->input_count, diag));
  return fill_ports(&run->outputs, table->outputs, table->output_count, diag);
}

byoc_status_t byoc_artifact_run_open(const char *path, int32_t thread_count, byoc_diag_t *diag,
                                     byoc_artifact_run_t *run) {
  *run = (byoc_artifact_run_t){0};
  byoc_status_t status = open_run(path, thread_count, diag, run);
  if (status != BYOC_OK) byoc_artifact_run_close(run);
  return status;
}

void byoc_artifact_run_close(byoc_artifact_run_t *run) {
  byoc_ports_deinit(&run->inputs);
  byoc_ports_deinit(&run->outputs);
  if (run->artifact.table != NULL) {
    run->artifact.table->destroy(run->context);
    byoc_artifact_unload(&run->artifact);
  }
  *run = (byoc_artifact_run_t){0};
}

byoc_status_t byoc_artifact_run_once(byoc_artifact_run_t *run, byoc_diag_t *diag) {
  const byoc_artifact_t *table = run->artifact.table;
  byoc_status_t status = table->run(run->context, (const void *const *)run->inputs.pointers, run->outputs.pointers);
  if (status == BYOC_OK) return BYOC_OK;
  return byoc_diag_error(diag, status, "the run failed: %s", table->last_error(run->context));
}
