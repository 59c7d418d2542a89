// SPDX-License-Identifier: Apache-2.0
// Seals a linked artifact: a hash of all its bytes goes to its end, where `inspect`, `run` and the loaders check it.
#include "core/compose/artifact/seal.h"

#include <elf.h>
#include <stddef.h>
#include <string.h>

#include "byoc/verify.h"
#include "core/base/elf.h"
#include "core/base/file.h"
#include "core/base/hash.h"
#include "core/compose/cc/compiler.h"

// The changes that are still to be written.
typedef struct ending_t {
  uint8_t build_id[BYOC_BUILD_ID_BYTES];
  size_t build_id_offset; // in the file; 0 if it has no room for one
  byoc_seal_t seal;       // goes to `size_bytes`
  size_t size_bytes;
} ending_t;

// The file may be more than the memory holds: it is read in pieces of this, and each is forgotten.
#define PIECE_BYTES ((size_t)64 << 20)

static byoc_content_hash_t hash_file(const byoc_file_view_t *view) {
  byoc_hasher_t hasher;
  byoc_hasher_init(&hasher);
  for (size_t begin = 0; begin < view->size_bytes; begin += PIECE_BYTES) {
    const size_t left = view->size_bytes - begin;
    byoc_hasher_update(&hasher, view->data + begin, left < PIECE_BYTES ? left : PIECE_BYTES);
    byoc_file_view_forget(view);
  }
  return byoc_hasher_finish(&hasher);
}

static byoc_status_t make_build_id(const byoc_elf_t *elf, const byoc_file_view_t *view, byoc_diag_t *diag,
                                   ending_t *ending) {
  static const uint8_t zeros[BYOC_BUILD_ID_BYTES];
  const uint8_t *room = NULL;
  size_t room_bytes = 0;
  byoc_status_t status = byoc_elf_find_note(elf, ELF_NOTE_GNU, NT_GNU_BUILD_ID, diag, &room, &room_bytes);
  if (status == BYOC_NOT_FOUND) return BYOC_OK;
  if (status != BYOC_OK) return status;
  if (room_bytes != sizeof(zeros) || memcmp(room, zeros, sizeof(zeros)) != 0) return BYOC_OK;
  const byoc_content_hash_t hash = hash_file(view);
  if (hash.low == 0 && hash.high == 0) return byoc_diag_out_of_memory(diag);
  memcpy(ending->build_id, &hash, sizeof(hash));
  ending->build_id_offset = (size_t)(room - elf->data);
  return BYOC_OK;
}

// A stream of bytes in pieces of any size.
typedef struct stream_t {
  byoc_seal_hash_t hash;
  uint8_t rest[BYOC_SEAL_STRIPE];
  size_t rest_bytes;
} stream_t;

static void add(stream_t *stream, const void *data, size_t size_bytes) {
  const uint8_t *bytes = data;
  if (stream->rest_bytes > 0) {
    size_t taken = sizeof(stream->rest) - stream->rest_bytes;
    if (taken > size_bytes) taken = size_bytes;
    memcpy(stream->rest + stream->rest_bytes, bytes, taken);
    stream->rest_bytes += taken, bytes += taken, size_bytes -= taken;
    if (stream->rest_bytes < sizeof(stream->rest)) return;
    byoc_seal_update(&stream->hash, stream->rest, sizeof(stream->rest));
    stream->rest_bytes = 0;
  }
  size_t whole = size_bytes - size_bytes % BYOC_SEAL_STRIPE;
  byoc_seal_update(&stream->hash, bytes, whole);
  memcpy(stream->rest, bytes + whole, size_bytes - whole);
  stream->rest_bytes = size_bytes - whole;
}

// The bytes of the file from `begin` on.
static void add_rest(stream_t *stream, const byoc_file_view_t *view, size_t begin) {
  while (begin < view->size_bytes) {
    const size_t left = view->size_bytes - begin, size_bytes = left < PIECE_BYTES ? left : PIECE_BYTES;
    add(stream, view->data + begin, size_bytes);
    byoc_file_view_forget(view);
    begin += size_bytes;
  }
}

static void make_seal(const byoc_file_view_t *view, ending_t *ending) {
  byoc_seal_t *seal = &ending->seal;
  memcpy(seal->magic, BYOC_SEAL_MAGIC, sizeof(seal->magic));
  seal->version = BYOC_SEAL_VERSION;
  seal->size_bytes = view->size_bytes + sizeof(*seal);
  ending->size_bytes = view->size_bytes;
  stream_t stream = {.rest_bytes = 0};
  byoc_seal_begin(&stream.hash);
  size_t at = ending->build_id_offset, behind = at > 0 ? at + sizeof(ending->build_id) : 0;
  add(&stream, view->data, at);
  if (at > 0) add(&stream, ending->build_id, sizeof(ending->build_id));
  add_rest(&stream, view, behind);
  add(&stream, seal, offsetof(byoc_seal_t, hash));
  seal->hash = byoc_seal_end(&stream.hash, stream.rest, stream.rest_bytes);
}

static byoc_status_t write_ending(const char *path, const ending_t *ending, byoc_diag_t *diag) {
  if (ending->build_id_offset > 0) {
    BYOC_RETURN_IF_ERROR(
        byoc_file_change(path, ending->build_id_offset, ending->build_id, sizeof(ending->build_id), diag));
  }
  return byoc_file_change(path, ending->size_bytes, &ending->seal, sizeof(ending->seal), diag);
}

byoc_status_t byoc_compose_seal(const char *path, byoc_diag_t *diag) {
  byoc_file_view_t view;
  BYOC_RETURN_IF_ERROR(byoc_file_view_open(path, diag, &view));
  ending_t ending = {.build_id_offset = 0};
  byoc_elf_t elf;
  byoc_status_t status = byoc_elf_open(view.data, view.size_bytes, "the linked artifact", diag, &elf);
  if (status == BYOC_OK) status = make_build_id(&elf, &view, diag, &ending);
  if (status == BYOC_OK) make_seal(&view, &ending);
  byoc_file_view_close(&view);
  return status == BYOC_OK ? write_ending(path, &ending, diag) : status;
}
