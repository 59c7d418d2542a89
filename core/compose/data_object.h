// The object that holds constants, texts, blobs and metadata. Internal to core/compose.
#ifndef BYOC_CORE_COMPOSE_DATA_OBJECT_H_
#define BYOC_CORE_COMPOSE_DATA_OBJECT_H_

#include "core/compose/layout.h"

// Makes <folder>/data.o, which defines byoc_data and byoc_metadata.
byoc_status_t byoc_data_object_make(const byoc_data_layout_t *layout, const char *metadata, const char *compiler,
                                    const char *folder, byoc_allocator_t allocator, byoc_diag_t *diag);

#endif // BYOC_CORE_COMPOSE_DATA_OBJECT_H_
