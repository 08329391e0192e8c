/* What CATENA_<COLLECTIVE>_ALGORITHM takes beside auto: see docs/tuning.md. */
[COLL_BCAST] = {NULL},
