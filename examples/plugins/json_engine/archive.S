// The engine's archive as read-only data; ARCHIVE is its path.
  .section .rodata.xnnpack_archive, "a", %progbits
  .globl xnnpack_archive, xnnpack_archive_end
  .hidden xnnpack_archive, xnnpack_archive_end
  .balign 64
xnnpack_archive:
  .incbin ARCHIVE
xnnpack_archive_end:
  .byte 0
  .section .note.GNU-stack, "", %progbits
