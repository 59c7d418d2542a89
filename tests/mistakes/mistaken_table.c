// SPDX-License-Identifier: Apache-2.0
// The mistakes of what query announces: rules, patterns, options, backends.
#include <stdlib.h>
#include <string.h>

#include "mistaken.h"

static void spoil_rules(byoc_backend_t *backend) {
  static byoc_rule_t rules[2];
  static const char *const relu[] = {"Relu"}, *const misspelt[] = {"Rleu"};
  rules[0] = rules[1] = backend->rules[0];
  backend->rules = rules;
  byoc_rule_t *rule = &rules[0];
  const char *mistake = getenv("BYOC_TEST_MISTAKE");
  if (mistake != NULL && strncmp(mistake, "pattern:", 8) == 0) rule->pattern = mistake + 8;
  if (mistaken_is("rule", "without a header")) rule->header = (byoc_header_t){0};
  if (mistaken_is("rule", "of another struct's size")) rule->header.struct_size = 8;
  if (mistaken_is("rule", "of version 2")) rule->header.struct_version = 2;
  if (mistaken_is("rule", "without a name")) rule->name = NULL;
  if (mistaken_is("rule", "of another target")) rule->name = "other.relu";
  if (mistaken_is("rule", "with pattern and operators")) rule->operators = (byoc_text_list_t){relu, 1};
  if (mistaken_is("rule", "with neither")) rule->pattern = NULL;
  if (mistaken_is("rule", "with a misspelt operator")) {
    rule->pattern = NULL;
    rule->operators = (byoc_text_list_t){misspelt, 1};
  }
  if (mistaken_is("rule", "with operators of NULL")) rule->operators = (byoc_text_list_t){NULL, 3};
  if (mistaken_is("rule", "with unknown flags")) rule->flags = 1u << 20;
  if (mistaken_is("rules", "with a stride of 0")) backend->rule_stride = 0;
  if (mistaken_is("rules", "counted, not given")) backend->rules = NULL;
  if (mistaken_is("rules", "twice the same name")) backend->rule_count = 2;
}

static void spoil_options(byoc_backend_t *backend) {
  static byoc_option_t options[2];
  byoc_option_t *option = &options[0];
  *option = (byoc_option_t){.header = BYOC_HEADER(byoc_option_t, 1),
                            .name = "level",
                            .type = BYOC_OPTION_INT,
                            .default_value = "1",
                            .minimum = 0,
                            .maximum = 3,
                            .help = "how hard to try"};
  backend->options = options;
  backend->option_count = 1;
  backend->option_stride = sizeof(options[0]);
  if (mistaken_is("option", "without a header")) option->header = (byoc_header_t){0};
  if (mistaken_is("option", "without a type")) option->type = 0;
  if (mistaken_is("option", "without a name")) option->name = NULL;
  if (mistaken_is("option", "named with a dash")) option->name = "-level";
  if (mistaken_is("option", "with a default out of range")) option->default_value = "9";
  if (mistaken_is("option", "with a default of words")) option->default_value = "high";
  if (mistaken_is("option", "of choices without any")) option->type = BYOC_OPTION_CHOICE;
  if (mistaken_is("option", "with an empty range")) option->minimum = 5;
  options[1] = options[0];
  if (mistaken_is("option", "twice")) backend->option_count = 2;
  if (mistaken_is("options", "with a stride of 0")) backend->option_stride = 0;
}

static void spoil_backends(byoc_backend_t *backend, byoc_plugin_t *plugin) {
  static const byoc_backend_t *rows[2];
  if (mistaken_is("backend", "without a header")) backend->header = (byoc_header_t){0};
  if (mistaken_is("backend", "of version 2")) backend->header.struct_version = 2;
  if (mistaken_is("backend", "without a target")) backend->target = NULL;
  if (mistaken_is("backend", "not announced")) backend->target = "unannounced";
  if (mistaken_is("backend", "without generate")) backend->generate = NULL;
  if (mistaken_is("backend", "with a misspelt driver")) backend->driver = "../nowhere", backend->device_type = 4;
  rows[0] = rows[1] = backend;
  if (mistaken_is("backends", "twice the same")) plugin->backends = rows, plugin->backend_count = 2;
  if (mistaken_is("backends", "NULL among them")) rows[1] = NULL, plugin->backends = rows, plugin->backend_count = 2;
  if (mistaken_is("backends", "counted, not given")) plugin->backends = NULL;
  if (mistaken_is("backends", "none")) plugin->backend_count = 0;
  if (mistaken_is("backends", "a billion")) plugin->backend_count = 1u << 30;
}

void mistaken_spoil(byoc_backend_t *backend, byoc_plugin_t *plugin) {
  spoil_rules(backend);
  spoil_options(backend);
  spoil_backends(backend, plugin);
}
