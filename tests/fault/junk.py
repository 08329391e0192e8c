"""What a stranger sends: junk.py COUNT TARGET... sends random bytes COUNT times,
to the targets in turn, and prints how many sends succeeded. A target is
ADDRESS:PORT (a new connection each time) or @NAME (an abstract datagram
socket)."""

import random
import socket
import sys

draw = random.Random(1)
left = []  # some connections stay open for a while


def send(target):
    junk = draw.randbytes(draw.choice([0, 1, 8, 16, 64, 200, 4096]))
    if target.startswith("@"):
        peer = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        peer.settimeout(5)  # it waits while the queue is full
        peer.sendto(junk, "\0" + target[1:])
    else:
        host, port = target.rsplit(":", 1)
        peer = socket.create_connection((host, int(port)), timeout=5)
        peer.sendall(junk)
    left.append(peer)
    del left[:-50]


accepted = 0
targets = sys.argv[2:]
for i in range(int(sys.argv[1])):
    try:
        send(targets[i % len(targets)])
        accepted += 1
    except OSError as error:
        print(error, file=sys.stderr)
print(accepted)
