// driver.h - what the plugin knows of the driver.
#ifndef SLAB_DRIVER_H_
#define SLAB_DRIVER_H_

#include <byoc/device.h>

#define SLAB_DEVICE_TYPE 12 // DLPack's kDLExtDev

// Named in byoc_driver_module_t.symbol, and used by the evaluator in process.
extern BYOC_PACKED const byoc_driver_t slab_driver;

#endif // SLAB_DRIVER_H_
