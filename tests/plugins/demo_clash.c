// SPDX-License-Identifier: Apache-2.0
// A good plugin with a helper whose name the host and another plugin have too. CLASH tells the plugins apart: its
// helper's answer is in the description of the target.
#include "byoc/plugin.h"

#ifndef CLASH
#define CLASH 1
#endif
#if CLASH == 1
#define NAME   "demo_clash"
#define ANSWER "helper 1"
#else
#define NAME   "demo_clash_too"
#define ANSWER "helper 2"
#endif
BYOC_PLUGIN_IDENTITY(NAME, "1.0", NAME, "A helper that others have too");

const char *clash_helper(void);
const char *clash_helper(void) {
  return ANSWER;
}

static int32_t generate(void *self, byoc_codegen_t *codegen) {
  (void)self;
  (void)codegen;
  return BYOC_OK;
}

static byoc_backend_t backend = {.header = BYOC_HEADER(byoc_backend_t, 1), .target = NAME, .generate = generate};

BYOC_PLUGIN_EXPORT int32_t byoc_plugin_query(const byoc_host_t *host, byoc_plugin_t *out_plugin) {
  static const byoc_backend_t *const backends[] = {&backend};
  (void)host;
  backend.description = clash_helper();
  out_plugin->backends = backends;
  out_plugin->backend_count = 1;
  return BYOC_OK;
}
