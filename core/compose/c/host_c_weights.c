// SPDX-License-Identifier: Apache-2.0
// Prints the tables of an artifact whose constants lie in a weights file (core/runtime/weights.h).
#include <inttypes.h>
#include <stdarg.h>

#include "core/base/file.h"
#include "core/compose/c/host_c.h"

void byoc_host_c_emit_constant(byoc_host_c_t *host, const byoc_host_c_tensor_t *constant, byoc_string_t *out,
                               const char *format, ...) {
  if (constant->weight == 0) {
    byoc_string_appendf(out, "byoc_data + %" PRIu64, constant->offset_bytes);
    return;
  }
  byoc_string_append(out, "0");
  va_list arguments;
  va_start(arguments, format);
  byoc_string_append(&host->weight_uses, "    {(void *)&");
  byoc_string_appendv(&host->weight_uses, format, arguments);
  va_end(arguments);
  byoc_string_appendf(&host->weight_uses, ", %zu, %" PRIu64 "},\n", constant->weight - 1, constant->offset_bytes);
  host->weight_use_count++;
}

void byoc_host_c_emit_weight_data(const byoc_host_c_t *host, byoc_string_t *out) {
  if (host->layout->weights.count == 0) return;
  byoc_string_appendf(out,
                      "// Where the constants of the weights file lie; filled in when the first context is made.\n"
                      "static const uint8_t *host_weights[%zu];\n\n",
                      host->layout->weights.count);
}

void byoc_host_c_emit_weights(const byoc_host_c_t *host, byoc_string_t *out) {
  const byoc_data_layout_t *layout = host->layout;
  if (layout->weights.count == 0) return;
  byoc_string_append(out, "// Where the pointers of the tables point to in the weights, which lie in a weights file.\n"
                          "static const byoc_model_weight_use_t host_weight_uses[] = {\n");
  byoc_string_append_bytes(out, host->weight_uses.data, host->weight_uses.size);
  if (host->weight_uses.failed) out->failed = true;
  byoc_string_append(out, host->weight_use_count == 0 ? "    {0},\n};\n" : "};\n");
  byoc_string_append(out, "static byoc_model_weights_state_t host_weights_state;\n"
                          "static const byoc_model_weights_t host_weights_file = {");
  const bool is_file = host->options->weights == BYOC_COMPOSE_WEIGHTS_EXTERNAL;
  if (is_file) byoc_string_append_c_quoted(out, byoc_path_base(host->options->weights_path));
  if (!is_file) byoc_string_append(out, "0");
  byoc_string_appendf(out,
                      ", %zu, %zu,\n    (const byoc_model_weight_t *)(const void *)(byoc_data + %" PRIu64 "), "
                      "host_weights,\n    host_weight_uses, &host_weights_state};\n\n",
                      layout->weights.count, host->weight_use_count, layout->wanted->offset_bytes);
}
