"""Bitmaps: sorted slots as bytes, where bit i is bit 7 - i % 8 of byte i // 8."""

from discreet.local.oracles.randomizer import impossible_payload


def bitmap_bytes(size: int) -> int:
    """Length of a bitmap of so many slots."""
    return (size + 7) // 8


def pack(slots: tuple[int, ...], size: int) -> bytes:
    """The bitmap of sorted slots."""
    bits = bytearray(bitmap_bytes(size))
    for slot in slots:
        bits[slot // 8] |= 0x80 >> slot % 8
    return bytes(bits)


def unpack(payload: bytes, size: int, kind: str) -> tuple[int, ...]:
    """The sorted slots of a bitmap; refused where a bit stands for no slot."""
    slots = tuple(slot for slot in range(8 * len(payload)) if payload[slot // 8] & 0x80 >> slot % 8)
    if len(payload) != bitmap_bytes(size) or (slots and slots[-1] >= size):
        raise impossible_payload(kind)
    return slots
