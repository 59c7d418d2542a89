// SPDX-License-Identifier: Apache-2.0
// The work of a share if units of work do not depend on each other: each share has an equal part of the UNITS units,
// and takes it piece by piece. Who has nothing left takes pieces of the others' parts: weights come from memory, whose
// speed threads do not get in equal parts, and processors have other work. Which thread computes a unit changes nothing
// else.
enum { FN(most_pieces) = 32 }; // of a part: the last ones leave a thread waiting for 3 % of its work

static void FN(share)(void *argument, int64_t begin, int64_t end, int32_t worker) {
  FN(args_t) *args = argument;
  (void)worker;
  for (int64_t share = begin; share < end; ++share)
    for (int64_t turn = 0; turn < args->shares; ++turn) {
      const int64_t part = (share + turn) % args->shares, first = UNITS * part / args->shares;
      const int64_t count = UNITS * (part + 1) / args->shares - first;
      const int64_t pieces = args->shares == 1 ? 1 : count < FN(most_pieces) ? count : FN(most_pieces);
      for (int64_t piece; (piece = TAKE_PIECE(args->parts[part])) < pieces;)
        for (int64_t item = count * piece / pieces; item < count * (piece + 1) / pieces; ++item)
          FN(item)(args, args->workspace + share * SLOT_FLOATS, first + item);
    }
}
