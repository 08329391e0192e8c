/* Graph files of catena-bench (--neighborhood graph:FILE). The edges of an
 * accepted one lead to ranks that exist. */

#include "fuzz.h"

#include <stdlib.h>

#include "graph.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    struct bench_graph graph = {.shape = BENCH_LISTED};
    char wrong[512];
    if (!bench_graph_read_file(fuzz_file(data, bytes), &graph, wrong,
                               sizeof(wrong))) {
        bench_graph_free(&graph);
        return 0;
    }
    if (graph.vertices <= 4096 &&
        bench_graph_fit(&graph, graph.vertices) == NULL) {
        for (int rank = 0; rank < graph.vertices; rank++) {
            int degree = bench_graph_degree(&graph, rank, true);
            struct bench_end *ends =
                malloc(((size_t)degree + 1) * sizeof(*ends));
            if (ends == NULL) {
                abort();
            }
            bench_graph_ends(&graph, rank, true, ends);
            for (int i = 0; i < degree; i++) {
                if (ends[i].rank < 0 || ends[i].rank >= graph.vertices) {
                    abort();
                }
            }
            free(ends);
        }
    }
    bench_graph_free(&graph);
    return 0;
}
