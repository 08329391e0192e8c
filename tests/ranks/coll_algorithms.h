/* What CATENA_<COLLECTIVE>_ALGORITHM takes beside auto: see docs/tuning.md. */
[COLL_BARRIER] = {"flat", "root"},
[COLL_BCAST] = {"staged", "lent", "binomial", "chain", "linear"},
[COLL_REDUCE] = {"flat", "shared", "binomial", "chain", "linear"},
[COLL_ALLREDUCE] = {"flat", "shared", "last", "recursive-doubling",
                    "rabenseifner"},
[COLL_SCAN] = {"flat", "chain"},
[COLL_EXSCAN] = {"flat", "chain"},
