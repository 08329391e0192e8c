#!/bin/sh
# Runs a program of a job such that each node has a heap of another size.
CATENA_HEAP_SIZE=$((256 + PMIX_RANK * 2))m exec "$@"
