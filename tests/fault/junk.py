"""What a stranger sends: junk.py [--silent SECONDS] COUNT TARGET... sends random bytes
COUNT times, to the targets in turn, and prints how many sends succeeded. A target is
ADDRESS:PORT (a new connection each time) or @NAME (an abstract datagram
socket). With --silent it sends nothing, and keeps all connections for SECONDS
after it has printed."""

import random
import socket
import struct
import sys
import time

draw = random.Random(1)
silent = sys.argv[1] == "--silent"
count, *targets = sys.argv[3:] if silent else sys.argv[1:]
left = []  # some connections stay open for a while


def send(target):
    junk = draw.randbytes(draw.choice([0, 1, 8, 16, 64, 200, 4096]))
    if target.startswith("@"):
        peer = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        # It waits, in the kernel, while the queue is full.
        peer.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, struct.pack("ll", 5, 0))
        peer.sendto(junk, "\0" + target[1:])
    else:
        host, port = target.rsplit(":", 1)
        peer = socket.create_connection((host, int(port)), timeout=5)
        if not silent:
            peer.sendall(junk)
    left.append(peer)
    if not silent:
        del left[:-50]


accepted = 0
for i in range(int(count)):
    try:
        send(targets[i % len(targets)])
        accepted += 1
    except OSError as error:
        print(error, file=sys.stderr)
print(accepted, flush=True)
if silent:
    time.sleep(float(sys.argv[2]))
