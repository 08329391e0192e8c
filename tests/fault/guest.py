"""A process that says it is rank 1 of a job with CATENA_BOOT=tcp: guest.py ADDRESS:PORT SIZE WHAT.
It waits until rank 0 listens, and prints what comes of it:
  closed          rank 0 has closed the connection without an answer
  refused: TEXT   rank 0 says so
  kept            neither, for 20 seconds
  joined          it belongs to the job. That ends here, unless WHAT says what it sends then, in
                  a job of 2 ranks:
  records         records of an impossible length
  value           a record with a value that is longer than the records
  sent            rank 0 has left after that
With WHAT gone it says that the job is of one rank more, and closes the connection at once; then
again, with a reset. It prints sent."""

import socket
import struct
import sys
import time

address, size, what = sys.argv[1], int(sys.argv[2]), sys.argv[3]
MAGIC = b"catena1\0"
HELLO = struct.Struct("8s4I64s")  # number, size, port, unused, secret
ANSWER = struct.Struct("8s168s64s2I64s")  # refused, parent's address and port, secret
IDENTITY = bytes(32)  # of a rank on a host of its own
VALUE = struct.Struct("48sQ")  # key, bytes that follow
LIMIT = 20  # seconds


def connect():
    host, port = address.rsplit(":", 1)
    end = time.monotonic() + LIMIT
    while True:
        try:
            return socket.create_connection((host, int(port)), timeout=LIMIT)
        except ConnectionRefusedError:
            if time.monotonic() > end:
                raise
            time.sleep(0.02)


def receive(count):
    """`count` bytes, or fewer if the connection ends before."""
    got = b""
    try:
        while len(got) < count:
            part = rank_zero.recv(count - len(got))
            if not part:
                break
            got += part
    except ConnectionResetError:
        pass
    except TimeoutError:
        print("kept")
        sys.exit()
    return got


def gather(own):
    """The allgather: what both ranks have sent."""
    rank_zero.sendall(own)
    both = receive(2 * len(own))
    if len(both) < 2 * len(own):
        sys.exit(f"rank 0 has left an allgather of {len(own)} bytes")
    return both


def exchange(records):
    """Exchange records as lib/boot/exchange.c does."""
    lengths = struct.unpack("2Q", gather(struct.pack("Q", len(records))))
    if max(lengths) > 0:
        gather(records.ljust(max(lengths), b"\0"))


if what == "gone":
    for linger in 0, 1:
        rank_zero = connect()
        rank_zero.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("2i", linger, 0))
        rank_zero.sendall(HELLO.pack(MAGIC, 1, size + 1, 0, 0, b""))
        rank_zero.close()
    print("sent")
    sys.exit()
rank_zero = connect()
rank_zero.sendall(HELLO.pack(MAGIC, 1, size, 0, 0, b""))
answer = receive(ANSWER.size)
if len(answer) < ANSWER.size:
    print("closed")
    sys.exit()
refused = ANSWER.unpack(answer)[1].rstrip(b"\0")
if refused:
    print("refused:", refused.decode())
    sys.exit()
if what == "join":
    print("joined")
    sys.exit()
gather(IDENTITY)
if what == "records":
    gather(struct.pack("Q", 1 << 63))
else:
    exchange(b"")  # the names of segments
    exchange(VALUE.pack(b"catena.ep_address", 1 << 30) + bytes(64))
receive(1)
print("sent")
