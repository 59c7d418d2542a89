# SPDX-License-Identifier: Apache-2.0
# byoc_embed(target name file): puts the bytes of `file` (a path or a generator expression such as
# $<TARGET_FILE:archive>) into `target` as
#
#   extern const unsigned char byoc_embed_<name>[];            // 64-byte aligned, followed by a NUL that is not counted
#   extern const unsigned long long byoc_embed_<name>_size;
#
# The target is assembled again when the file changes.
function(byoc_embed target name file)
  set(base ${CMAKE_CURRENT_BINARY_DIR}/embed/${name})
  if(NOT file MATCHES "\\$<")
    get_filename_component(file ${file} ABSOLUTE)
  endif()
  # A copy gives the assembler a file with a fixed path to depend on, whatever the expression means.
  add_custom_command(
    OUTPUT ${base}.bin
    COMMAND ${CMAKE_COMMAND} -E copy ${file} ${base}.bin
    DEPENDS ${file}
    COMMENT "Embedding ${name}"
    VERBATIM)
  file(
    GENERATE
    OUTPUT ${base}.S
    CONTENT
      "  .section .rodata.byoc_embed_${name},\"a\",%progbits
  .globl byoc_embed_${name}
  .hidden byoc_embed_${name}
  .type byoc_embed_${name}, %object
  .balign 64
byoc_embed_${name}:
  .incbin \"${base}.bin\"
.Lbyoc_embed_${name}_end:
  .size byoc_embed_${name}, .Lbyoc_embed_${name}_end - byoc_embed_${name}
  .byte 0
  .globl byoc_embed_${name}_size
  .hidden byoc_embed_${name}_size
  .type byoc_embed_${name}_size, %object
  .size byoc_embed_${name}_size, 8
  .balign 8
byoc_embed_${name}_size:
  .quad .Lbyoc_embed_${name}_end - byoc_embed_${name}
  .section .note.GNU-stack,\"\",%progbits
")
  set_source_files_properties(${base}.S PROPERTIES GENERATED ON OBJECT_DEPENDS ${base}.bin)
  # An object library of this folder, so that the target may be one of another.
  add_library(byoc_embed_${name} OBJECT ${base}.S ${base}.bin)
  set_source_files_properties(${base}.bin PROPERTIES GENERATED ON EXTERNAL_OBJECT OFF HEADER_FILE_ONLY ON)
  target_sources(${target} PRIVATE $<TARGET_OBJECTS:byoc_embed_${name}>)
endfunction()
