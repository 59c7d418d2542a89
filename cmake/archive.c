// SPDX-License-Identifier: Apache-2.0
// Embeds an archive into a plugin, which hands it to artifacts: the archive of an engine (byoc/engine.h) or of a driver
// (byoc/device.h). byoc_add_engine compiles this file; without CMake:
//
//   embed=$(pkg-config --variable=archive byoc-plugin)
//   cc -c -fPIC -DBYOC_ARCHIVE_NAME=my_engine -DBYOC_ARCHIVE_FILE='"libmy_engine.a"' -o archive.o $embed
//
//   extern const unsigned char my_engine_archive[], my_engine_archive_end[]; // the bytes in between are the archive
#define TEXT_OF(name) #name
#define TEXT(name)    TEXT_OF(name)
#define BEGIN         TEXT(BYOC_ARCHIVE_NAME) "_archive"
#define END           BEGIN "_end"

__asm__(".pushsection .rodata.byoc_archive, \"a\", %progbits\n"
        ".globl " BEGIN ", " END "\n"
        ".hidden " BEGIN ", " END "\n"
        ".balign 64\n" BEGIN ":\n"
        ".incbin \"" BYOC_ARCHIVE_FILE "\"\n" END ":\n"
        ".byte 0\n"
        ".popsection\n");
