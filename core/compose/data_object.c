// One object with the read-only data, laid down by the assembler from files: nothing is printed as text.
#include "core/compose/data_object.h"

#include <string.h>

#include "core/compose/tool.h"

static const char assembly[] = "# The read-only data of an artifact.\n"
                               "  .section .rodata.byoc_data,\"a\",%progbits\n"
                               "  .balign 4096\n"
                               "  .globl byoc_data\n"
                               "  .hidden byoc_data\n"
                               "  .type byoc_data, %object\n"
                               "byoc_data:\n"
                               "  .incbin \"data.bin\"\n"
                               "  .size byoc_data, .-byoc_data\n"
                               "  .byte 0\n"
                               "  .section .rodata.byoc_metadata,\"a\",%progbits\n"
                               "  .globl byoc_metadata\n"
                               "  .hidden byoc_metadata\n"
                               "  .type byoc_metadata, %object\n"
                               "byoc_metadata:\n"
                               "  .incbin \"metadata.json\"\n"
                               "  .byte 0\n"
                               "  .size byoc_metadata, .-byoc_metadata\n"
                               "  .section .note.GNU-stack,\"\",%progbits\n";

static byoc_status_t write_into(const char *folder, const char *name, const void *data, size_t size_bytes,
                                byoc_allocator_t allocator, byoc_diag_t *diag) {
  char *path = byoc_path_join(allocator, folder, name);
  if (path == NULL) return byoc_diag_out_of_memory(diag);
  byoc_status_t status = byoc_file_write(path, data, size_bytes, diag);
  byoc_free(allocator, path);
  return status;
}

byoc_status_t byoc_data_object_make(const byoc_data_layout_t *layout, const char *metadata, const char *compiler,
                                    const char *folder, byoc_allocator_t allocator, byoc_diag_t *diag) {
  byoc_status_t status = BYOC_OK;
  char *data = byoc_path_join(allocator, folder, "data.bin");
  if (data == NULL) status = byoc_diag_out_of_memory(diag);
  if (status == BYOC_OK) status = byoc_data_layout_write(layout, data, diag);
  if (status == BYOC_OK) {
    status = write_into(folder, "metadata.json", metadata, strlen(metadata), allocator, diag);
  }
  if (status == BYOC_OK) status = write_into(folder, "data.s", assembly, sizeof(assembly) - 1, allocator, diag);
  if (status == BYOC_OK) status = byoc_compiler_find(compiler, diag, &compiler);
  if (status == BYOC_OK) {
    byoc_command_t command;
    byoc_command_init(&command, compiler, allocator);
    byoc_command_add(&command, "-c");
    byoc_command_add(&command, "data.s");
    byoc_command_add(&command, "-o");
    byoc_command_add(&command, "data.o");
    status = byoc_command_run(&command, "assembling the constants", folder, folder, diag);
    byoc_command_deinit(&command);
  }
  // The object has the bytes now; a big model's are not kept twice.
  if (data != NULL && status == BYOC_OK) (void)byoc_remove_tree(data, NULL);
  byoc_free(allocator, data);
  return status;
}
