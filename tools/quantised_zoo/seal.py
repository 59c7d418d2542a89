#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Ends a shared object, which a C compiler made of byoc's C source, with the seal that byoc run asks for
(include/byoc/verify.h).

usage: seal.py FILE.so
"""
import pathlib
import struct
import sys

MAGIC, VERSION, SIZE = b"BYOCSEAL", 1, 32
MASK = 2 ** 64 - 1
ONE, TWO, THREE, FOUR, FIVE = (0x9E3779B185EBCA87, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9, 0x85EBCA77C2B2AE63,
                               0x27D4EB2F165667C5)


def rotate(value, bits):
    value &= MASK
    return (value << bits | value >> (64 - bits)) & MASK


def round64(lane, word):
    return rotate(lane + word * TWO, 31) * ONE & MASK


def hash64(content):
    """XXH64 with seed 0."""
    lanes = [ONE + TWO & MASK, TWO, 0, -ONE & MASK]
    whole = len(content) // 32 * 32
    for words in struct.iter_unpack("<4Q", content[:whole]):
        lanes = [round64(lane, word) for lane, word in zip(lanes, words)]
    value = FIVE
    if whole:
        value = sum(rotate(lane, bits) for lane, bits in zip(lanes, (1, 7, 12, 18)))
        for lane in lanes:
            value = (value ^ round64(0, lane)) * ONE + FOUR & MASK
    return finish(value + len(content) & MASK, content[whole:])


def finish(value, rest):
    while len(rest) >= 8:
        value = rotate(value ^ round64(0, int.from_bytes(rest[:8], "little")), 27) * ONE + FOUR & MASK
        rest = rest[8:]
    if len(rest) >= 4:
        value = rotate(value ^ int.from_bytes(rest[:4], "little") * ONE & MASK, 23) * TWO + THREE & MASK
        rest = rest[4:]
    for byte in rest:
        value = rotate(value ^ byte * FIVE & MASK, 11) * ONE & MASK
    value = (value ^ value >> 33) * TWO & MASK
    value = (value ^ value >> 29) * THREE & MASK
    return value ^ value >> 32


def main():
    path = pathlib.Path(sys.argv[1])
    content = path.read_bytes()
    content += bytes(-len(content) % 8)
    content += MAGIC + struct.pack("<IIQ", VERSION, 0, len(content) + SIZE)
    path.write_bytes(content + struct.pack("<Q", hash64(content)))


if __name__ == "__main__":
    main()
