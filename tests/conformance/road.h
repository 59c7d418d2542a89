// From a model in memory to results, with the plugin under test: the parts of the road that the suite looks at.
#ifndef BYOC_TESTS_CONFORMANCE_ROAD_H_
#define BYOC_TESTS_CONFORMANCE_ROAD_H_

#include "core/build/build.h"
#include "core/plugin/registry.h"
#include "core/runtime/loader.h"

typedef struct road_t {
  byoc_target_list_t targets;
  byoc_build_t build;
} road_t;

// Reads the model and takes it along the road. road_close in any case.
byoc_status_t road_open(road_t *road, byoc_plugin_registry_t *registry, const void *model, size_t size_bytes,
                        const char *targets, byoc_build_extent_t extent, byoc_allocator_t allocator, byoc_diag_t *diag);
void road_close(road_t *road);
byoc_status_t road_compose(const road_t *road, const char *path, byoc_diag_t *diag);
// One run in this process.
byoc_status_t road_evaluate(const road_t *road, void *const *inputs, void *const *outputs, byoc_diag_t *diag);
// `runs` runs in a context of its own.
byoc_status_t artifact_run(const byoc_loaded_artifact_t *artifact, int32_t thread_count, int runs, void *const *inputs,
                           void *const *outputs, byoc_diag_t *diag);

// A tensor for each port of a program.
typedef struct port_set_t {
  size_t count;
  char (*names)[80];
  byoc_dtype_t *dtypes;
  int64_t *element_counts;
  size_t *sizes_bytes;
  void **data;
} port_set_t;
void port_set_init(port_set_t *set, byoc_host_buffer_t *const *buffers, size_t count);
void port_set_deinit(port_set_t *set);
// Values that depend on the names alone (see cases.h).
void port_set_fill(port_set_t *set);
// 0xA5 everywhere, which no result is made of.
void port_set_spoil(port_set_t *set);

#endif // BYOC_TESTS_CONFORMANCE_ROAD_H_
