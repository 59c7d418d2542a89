// SPDX-License-Identifier: Apache-2.0
// Reads the ELF image of a shared library in memory.
#define _GNU_SOURCE // environ
#include "engine/library/image.h"

#include <elf.h>
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#if defined(__x86_64__)
#define IMAGE_MACHINE   EM_X86_64
#define IMAGE_IRELATIVE R_X86_64_IRELATIVE
#elif defined(__aarch64__)
#define IMAGE_MACHINE   EM_AARCH64
#define IMAGE_IRELATIVE R_AARCH64_IRELATIVE
#else
#error "the dnnl engine knows x86-64 and AArch64"
#endif

// Below this much saved, copying is as good.
#define IMAGE_HOLE_MINIMUM (1u << 20)
// Ignored by every dynamic loader: the first tag of the range reserved for operating systems.
#define IMAGE_HIDDEN_TAG 0x6000000e

// The tables that dlopen reads, by what the dynamic section says of them.
typedef struct image_dynamic_t {
  uint64_t rela, rela_size_bytes;
  uint64_t plt_rela, plt_rela_size_bytes;
  uint64_t symbols;
  uint64_t tables[8]; // addresses that must not lie in a hole
  uint32_t table_count;
  int text_relocations;
} image_dynamic_t;

static int range_ok(const byoc_dnnl_image_t *image, uint64_t offset, uint64_t size) {
  return offset <= image->size_bytes && size <= image->size_bytes - offset;
}

// The file offset of `size` bytes at a virtual address; UINT64_MAX where no segment has them.
static uint64_t offset_of(const byoc_dnnl_image_t *image, uint64_t address, uint64_t size) {
  Elf64_Ehdr header;
  memcpy(&header, image->data, sizeof(header));
  for (uint32_t i = 0; i < header.e_phnum; ++i) {
    Elf64_Phdr segment;
    memcpy(&segment, image->data + header.e_phoff + i * sizeof(segment), sizeof(segment));
    if (segment.p_type != PT_LOAD || address < segment.p_vaddr) continue;
    uint64_t inside = address - segment.p_vaddr;
    if (inside <= segment.p_filesz && size <= segment.p_filesz - inside) return segment.p_offset + inside;
  }
  return UINT64_MAX;
}

static void read_dynamic(byoc_dnnl_image_t *image, image_dynamic_t *dynamic) {
  memset(dynamic, 0, sizeof(*dynamic));
  for (uint64_t i = 0; i + sizeof(Elf64_Dyn) <= image->dynamic_size_bytes; i += sizeof(Elf64_Dyn)) {
    Elf64_Dyn entry;
    memcpy(&entry, image->data + image->dynamic_offset + i, sizeof(entry));
    int is_table = 0;
    switch (entry.d_tag) {
    case DT_NULL:
      return;
    case DT_INIT:
      image->init_address = entry.d_un.d_ptr;
      break;
    case DT_INIT_ARRAY:
      image->init_array_address = entry.d_un.d_ptr;
      is_table = 1;
      break;
    case DT_INIT_ARRAYSZ:
      image->init_array_size_bytes = entry.d_un.d_val;
      break;
    case DT_RELA:
      dynamic->rela = entry.d_un.d_ptr;
      is_table = 1;
      break;
    case DT_RELASZ:
      dynamic->rela_size_bytes = entry.d_un.d_val;
      break;
    case DT_JMPREL:
      dynamic->plt_rela = entry.d_un.d_ptr;
      is_table = 1;
      break;
    case DT_PLTRELSZ:
      dynamic->plt_rela_size_bytes = entry.d_un.d_val;
      break;
    case DT_SYMTAB:
      dynamic->symbols = entry.d_un.d_ptr;
      is_table = 1;
      break;
    case DT_STRTAB:
    case DT_HASH:
    case DT_GNU_HASH:
    case DT_VERSYM:
    case DT_VERNEED:
    case DT_VERDEF:
      is_table = 1;
      break;
    case DT_TEXTREL:
      dynamic->text_relocations = 1;
      break;
    case DT_FLAGS:
      if ((entry.d_un.d_val & DF_TEXTREL) != 0) dynamic->text_relocations = 1;
      break;
    default:
      break;
    }
    if (!is_table) continue;
    if (dynamic->table_count == sizeof(dynamic->tables) / sizeof(dynamic->tables[0]))
      dynamic->text_relocations = 1; // more tables than any linker writes: treat as unknown, copy whole
    else
      dynamic->tables[dynamic->table_count++] = entry.d_un.d_ptr;
  }
}

// True if relocating runs code of the image (IFUNC resolvers), which must then be there during dlopen.
static int relocations_run_code(const byoc_dnnl_image_t *image, const image_dynamic_t *dynamic, uint64_t address,
                                uint64_t size) {
  if (size == 0) return 0;
  uint64_t offset = offset_of(image, address, size);
  if (offset == UINT64_MAX) return 1;
  for (uint64_t i = 0; i + sizeof(Elf64_Rela) <= size; i += sizeof(Elf64_Rela)) {
    Elf64_Rela relocation;
    memcpy(&relocation, image->data + offset + i, sizeof(relocation));
    if (ELF64_R_TYPE(relocation.r_info) == IMAGE_IRELATIVE) return 1;
    uint64_t index = ELF64_R_SYM(relocation.r_info);
    if (index == 0) continue;
    Elf64_Sym symbol;
    uint64_t at = offset_of(image, dynamic->symbols + index * sizeof(symbol), sizeof(symbol));
    if (at == UINT64_MAX) return 1;
    memcpy(&symbol, image->data + at, sizeof(symbol));
    if (ELF64_ST_TYPE(symbol.st_info) == STT_GNU_IFUNC) return 1;
  }
  return 0;
}

// True if dlopen needs some byte of the segment: one of its tables, a note, or the initial image of thread-locals.
static int loader_reads_segment(const byoc_dnnl_image_t *image, const Elf64_Ehdr *header,
                                const image_dynamic_t *dynamic, const Elf64_Phdr *segment) {
  uint64_t begin = segment->p_vaddr, end = segment->p_vaddr + segment->p_filesz;
  if (segment->p_offset == 0) return 1; // the file and program headers
  for (uint32_t i = 0; i < dynamic->table_count; ++i)
    if (dynamic->tables[i] >= begin && dynamic->tables[i] < end) return 1;
  for (uint32_t i = 0; i < header->e_phnum; ++i) {
    Elf64_Phdr other;
    memcpy(&other, image->data + header->e_phoff + i * sizeof(other), sizeof(other));
    if (other.p_type == PT_LOAD || other.p_type == PT_GNU_EH_FRAME || other.p_type == PT_GNU_STACK) continue;
    if (other.p_filesz > 0 && other.p_vaddr < end && other.p_vaddr + other.p_filesz > begin) return 1;
  }
  return 0;
}

static void find_holes(byoc_dnnl_image_t *image, const Elf64_Ehdr *header) {
  image_dynamic_t dynamic;
  read_dynamic(image, &dynamic);
  if (dynamic.text_relocations || relocations_run_code(image, &dynamic, dynamic.rela, dynamic.rela_size_bytes) ||
      relocations_run_code(image, &dynamic, dynamic.plt_rela, dynamic.plt_rela_size_bytes))
    return;
  uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
  uint64_t saved = 0;
  for (uint32_t i = 0; i < header->e_phnum && image->hole_count < BYOC_DNNL_IMAGE_HOLE_COUNT; ++i) {
    Elf64_Phdr segment;
    memcpy(&segment, image->data + header->e_phoff + i * sizeof(segment), sizeof(segment));
    if (segment.p_type != PT_LOAD || (segment.p_flags & PF_W) != 0 || segment.p_filesz != segment.p_memsz) continue;
    uint64_t begin = segment.p_offset / page * page;
    uint64_t end = (segment.p_offset + segment.p_filesz + page - 1) / page * page;
    if (segment.p_offset % page != segment.p_vaddr % page || !range_ok(image, begin, end - begin)) continue;
    if (loader_reads_segment(image, header, &dynamic, &segment)) continue;
    if (image->hole_count > 0) { // segments that share a page of the file stay in the copy
      const byoc_dnnl_image_hole_t *last = &image->holes[image->hole_count - 1];
      if (begin < last->offset + last->size_bytes) continue;
    }
    image->holes[image->hole_count++] =
        (byoc_dnnl_image_hole_t){.offset = begin,
                                 .address = segment.p_vaddr / page * page,
                                 .size_bytes = end - begin,
                                 .protection = PROT_READ | ((segment.p_flags & PF_X) != 0 ? PROT_EXEC : 0)};
    saved += end - begin;
  }
  if (saved < IMAGE_HOLE_MINIMUM) image->hole_count = 0;
}

int32_t byoc_dnnl_image_parse(const char *name, const void *data, uint64_t size_bytes, byoc_dnnl_image_t *out_image,
                              byoc_dnnl_error_t *error) {
  memset(out_image, 0, sizeof(*out_image));
  out_image->data = data;
  out_image->size_bytes = size_bytes;
  Elf64_Ehdr header;
  if (size_bytes < sizeof(header) || memcmp(data, ELFMAG, SELFMAG) != 0)
    return byoc_dnnl_fail(error, BYOC_INVALID_DATA, "the bundled %s is not an ELF file", name);
  memcpy(&header, data, sizeof(header));
  if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_type != ET_DYN || header.e_machine != IMAGE_MACHINE)
    return byoc_dnnl_fail(error, BYOC_INVALID_DATA, "the bundled %s is not a shared library for this machine", name);
  if (header.e_phentsize != sizeof(Elf64_Phdr) ||
      !range_ok(out_image, header.e_phoff, (uint64_t)header.e_phnum * sizeof(Elf64_Phdr)))
    return byoc_dnnl_fail(error, BYOC_INVALID_DATA, "the bundled %s has no program headers", name);
  for (uint32_t i = 0; i < header.e_phnum; ++i) {
    Elf64_Phdr segment;
    memcpy(&segment, out_image->data + header.e_phoff + i * sizeof(segment), sizeof(segment));
    if (!range_ok(out_image, segment.p_offset, segment.p_filesz) || segment.p_vaddr > UINT64_MAX / 4)
      return byoc_dnnl_fail(error, BYOC_INVALID_DATA, "the bundled %s is cut short", name);
    if (segment.p_type != PT_DYNAMIC) continue;
    out_image->dynamic_offset = segment.p_offset;
    out_image->dynamic_size_bytes = segment.p_filesz;
  }
  find_holes(out_image, &header);
  return BYOC_OK;
}

static int32_t write_range(const char *name, const byoc_dnnl_image_t *image, int fd, uint64_t begin, uint64_t end,
                           byoc_dnnl_error_t *error) {
  while (begin < end) {
    ssize_t written = pwrite(fd, image->data + begin, (size_t)(end - begin), (off_t)begin);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0)
      return byoc_dnnl_fail(error, BYOC_IO, "cannot copy the bundled %s into memory: %s", name, strerror(errno));
    begin += (uint64_t)written;
  }
  return BYOC_OK;
}

// Gives DT_INIT and DT_INIT_ARRAY of the copy a tag that dlopen passes over.
static int32_t hide_constructors(const char *name, const byoc_dnnl_image_t *image, int fd, byoc_dnnl_error_t *error) {
  for (uint64_t i = 0; i + sizeof(Elf64_Dyn) <= image->dynamic_size_bytes; i += sizeof(Elf64_Dyn)) {
    Elf64_Dyn entry;
    memcpy(&entry, image->data + image->dynamic_offset + i, sizeof(entry));
    if (entry.d_tag == DT_NULL) break;
    if (entry.d_tag != DT_INIT && entry.d_tag != DT_INIT_ARRAY && entry.d_tag != DT_INIT_ARRAYSZ) continue;
    entry.d_tag = IMAGE_HIDDEN_TAG;
    if (pwrite(fd, &entry, sizeof(entry), (off_t)(image->dynamic_offset + i)) != (ssize_t)sizeof(entry))
      return byoc_dnnl_fail(error, BYOC_IO, "cannot copy the bundled %s into memory: %s", name, strerror(errno));
  }
  return BYOC_OK;
}

int32_t byoc_dnnl_image_write(const char *name, const byoc_dnnl_image_t *image, int fd, byoc_dnnl_error_t *error) {
  if (ftruncate(fd, (off_t)image->size_bytes) != 0)
    return byoc_dnnl_fail(error, BYOC_IO, "cannot reserve memory for the bundled %s: %s", name, strerror(errno));
  uint64_t position = 0;
  for (uint32_t i = 0; i < image->hole_count; ++i) {
    int32_t status = write_range(name, image, fd, position, image->holes[i].offset, error);
    if (status != BYOC_OK) return status;
    position = image->holes[i].offset + image->holes[i].size_bytes;
  }
  int32_t status = write_range(name, image, fd, position, image->size_bytes, error);
  if (status == BYOC_OK) status = hide_constructors(name, image, fd, error);
  return status;
}

int32_t byoc_dnnl_image_write_hole(const char *name, const byoc_dnnl_image_t *image, const byoc_dnnl_image_hole_t *hole,
                                   int fd, byoc_dnnl_error_t *error) {
  return write_range(name, image, fd, hole->offset, hole->offset + hole->size_bytes, error);
}

void byoc_dnnl_image_run_constructors(const byoc_dnnl_image_t *image, uintptr_t base) {
  typedef void (*constructor_t)(int, char **, char **);
  char *no_arguments[] = {NULL};
  if (image->init_address != 0) ((constructor_t)(base + image->init_address))(0, no_arguments, environ);
  const uintptr_t *array = (const uintptr_t *)(base + image->init_array_address);
  for (uint64_t i = 0; i < image->init_array_size_bytes / sizeof(uintptr_t); ++i)
    if (array[i] != 0 && array[i] != UINTPTR_MAX) ((constructor_t)array[i])(0, no_arguments, environ);
}
