/* Layouts of ranks: LAYOUT(name, settings, how, ranks, nodes, cost, run).
 * how: options of prun, or --sim and the ranks of each node. cost: of a case.
 * run: which build of tests/run has it: "usual", "sanitized", "both", or none
 * ("twice"). In the others it is in the suite "twice". tests/run has every case
 * in a layout. Meson parses these lines too. */
/* clang-format off */
LAYOUT("n1", "", "-n 1", 1, 1, 150, "usual")
LAYOUT("n2", "", "-n 2", 2, 1, 35, "usual")
LAYOUT("n5-numa", "CATENA_TOPOLOGY=pack:2 numa:2 l3:2 core:1 pu:2", "-n 5", 5, 1, 30, "usual")
LAYOUT("n13", "", "-n 13", 13, 1, 140, "twice")
LAYOUT("n3-posix", "UCX_TLS=posix,tcp,self", "-n 3 --ppn 2", 3, 2, 60, "sanitized")
LAYOUT("n7", "UCX_TLS=tcp,self;CATENA_TOPOLOGY=numa:2 core:2 pu:1", "-n 7 --ppn 3 --map-by node", 7, 3, 180, "usual")
LAYOUT("n4-rma", "UCX_TLS=tcp,self;CATENA_UCX_PUT=rma", "-n 4 --ppn 1", 4, 4, 70, "usual")
LAYOUT("n6-check", "UCX_TLS=tcp,self;CATENA_CHECK=on", "-n 6 --ppn 2 --map-by node", 6, 3, 60, "twice")
LAYOUT("n5-sleep", "UCX_TLS=tcp,self;CATENA_WAIT=sleep;CATENA_SINGLE_COPY=off", "-n 5 --ppn 2", 5, 3, 80, "usual")
LAYOUT("sim1", "", "--sim 1", 1, 1, 150, "both")
LAYOUT("sim13", "", "--sim 13", 13, 1, 200, "usual")
LAYOUT("sim3+1+5", "", "--sim 3+1+5", 9, 3, 110, "usual")
LAYOUT("sim:2+4+1", "", "--sim :2+4+1", 7, 3, 90, "sanitized")
LAYOUT("sim1+1+1+1+1", "", "--sim 1+1+1+1+1", 5, 5, 30, "usual")
LAYOUT("sim4+4+4+4", "", "--sim 4+4+4+4", 16, 4, 220, "usual")
LAYOUT("sim4+1-numa", "CATENA_TOPOLOGY=pack:2 numa:2 l3:2 core:1 pu:2", "--sim 4+1", 5, 2, 28, "usual")
LAYOUT("sim:9+4+20", "", "--sim :9+4+20", 33, 3, 300, "twice")
