// The suite for drivers on the driver of examples/plugins/device, with two kernels more, which the suite launches.
#include "examples/plugins/device/driver.c"

#include "tests/devices/suite.h"

static void scale(const byoc_device_argument_t *arguments, uint32_t item) {
  if (item >= arguments[3].integer) return;
  *element(&arguments[1], item) = *element(&arguments[0], item) * (float)arguments[2].real;
}

static void count(const byoc_device_argument_t *arguments, uint32_t item) {
  if (item >= arguments[1].integer) return;
  *(int32_t *)(void *)element(&arguments[0], item) += 1;
}

static int32_t find_kernel(byoc_device_t *device, byoc_device_module_t *module, const char *name,
                           byoc_device_entry_t **out_entry) {
  static byoc_device_entry_t more[] = {{{"scale", 4, scale}}, {{"count", 2, count}}};
  for (size_t i = 0; i < sizeof(more) / sizeof(more[0]); ++i) {
    *out_entry = &more[i];
    if (strcmp(more[i].kernel.name, name) == 0) return BYOC_OK;
  }
  return slab_driver.module_entry(device, module, name, out_entry);
}

int main(int argc, char **argv) {
  byoc_driver_t driver = slab_driver;
  static const char code[] = "relu add";
  const suite_kernels_t kernels = {.struct_size = sizeof(kernels),
                                   .format = "slab",
                                   .data = code,
                                   .size_bytes = sizeof(code) - 1,
                                   .scale = "scale",
                                   .count = "count"};
  driver.module_entry = find_kernel;
  return suite_run(&driver, &kernels, argc, argv);
}
