"""picture_difference.py A.png B.png MOST: fails where two PNG files (8 bits a channel, not interlaced) have other sizes, or samples that differ by more than MOST."""
import struct
import sys
import zlib


def samples(path):
    data = open(path, "rb").read()
    assert data[:8] == b"\x89PNG\r\n\x1a\n", path + " is no PNG"
    at, packed, head = 8, b"", None
    while at < len(data):
        length, kind = struct.unpack(">I4s", data[at : at + 8])
        body = data[at + 8 : at + 8 + length]
        if kind == b"IHDR":
            head = struct.unpack(">IIBBBBB", body)
        if kind == b"IDAT":
            packed += body
        at += 12 + length
    width, height, bits, colour, _, _, interlaced = head
    assert bits == 8 and not interlaced and colour in (0, 2, 4, 6), path + " is of another kind"
    step = {0: 1, 2: 3, 4: 2, 6: 4}[colour]
    stride, raw = width * step, zlib.decompress(packed)
    above, rows = bytearray(stride), []
    for y in range(height):
        kind, row = raw[y * (stride + 1)], bytearray(raw[y * (stride + 1) + 1 : (y + 1) * (stride + 1)])
        for x in range(stride):  # the filters of PNG, 9.2
            a, b, c = (row[x - step], above[x], above[x - step]) if x >= step else (0, above[x], 0)
            if kind == 1:
                row[x] = (row[x] + a) & 255
            elif kind == 2:
                row[x] = (row[x] + b) & 255
            elif kind == 3:
                row[x] = (row[x] + (a + b) // 2) & 255
            elif kind == 4:
                near = min((abs(b - c), 0, a), (abs(a - c), 1, b), (abs(a + b - 2 * c), 2, c))
                row[x] = (row[x] + near[2]) & 255
        rows.append(row)
        above = row
    return (width, height, step), b"".join(rows)


(first, a), (second, b) = samples(sys.argv[1]), samples(sys.argv[2])
if first != second:
    sys.exit(f"{first} in place of {second} (width, height, channels)")
most = max(abs(x - y) for x, y in zip(a, b))
print(f"{first[0]} x {first[1]}, {first[2]} channels: samples differ by at most {most}, {sum(x != y for x, y in zip(a, b))} of {len(a)} at all")
sys.exit(most > int(sys.argv[3]))
