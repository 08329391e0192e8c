/* Which rank is on which node, and texts for PMIx that say so. */
#include "layout.h"
#include "deal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Choose the node of each rank: layout->node_of. */
static void prun_deal_nodes(struct prun_layout *layout,
                            const struct prun_options *options,
                            const uint32_t *room)
{
    uint32_t count = layout->node_count;
    uint32_t *size = prun_alloc(count, sizeof *size);
    bool span = options->by_node;
    if (options->rank_by != PRUN_RANK_DEFAULT &&
        options->map_level == PRUN_LEVEL_NONE)
        span = options->rank_by == PRUN_RANK_SPAN;
    prun_deal_sizes(layout->np, count, room, options->by_node, size);
    prun_deal_ranks(layout->np, count, size, span, layout->node_of);
    free(size);
}

void prun_layout_make(struct prun_layout *layout,
                      const struct prun_options *options, const char *host)
{
    uint32_t np = options->np;
    bool listed = options->ppn_count > 1;
    uint32_t ppn = options->ppn_count == 1 ? options->ppn[0] : np;
    uint32_t count = listed ? options->ppn_count : (np + ppn - 1) / ppn;
    uint32_t *room = prun_alloc(count, sizeof *room);

    layout->np = np;
    layout->node_count = count;
    layout->nodes = prun_alloc(count, sizeof *layout->nodes);
    layout->node_of = prun_alloc(np, sizeof *layout->node_of);
    layout->local_of = prun_alloc(np, sizeof *layout->local_of);
    for (uint32_t n = 0; n < count; n++) {
        layout->nodes[n].name = count == 1 ? prun_format("%s", host)
                                           : prun_format("%s-vn%u", host, n);
        room[n] = listed ? options->ppn[n] : ppn;
        layout->nodes[n].ranks = prun_alloc(room[n], sizeof(uint32_t));
    }
    prun_deal_nodes(layout, options, room);
    free(room);
    for (uint32_t rank = 0; rank < np; rank++) {
        struct prun_node *node = &layout->nodes[layout->node_of[rank]];
        layout->local_of[rank] = node->size;
        node->ranks[node->size++] = rank;
    }
}

void prun_layout_free(struct prun_layout *layout)
{
    for (uint32_t n = 0; n < layout->node_count; n++) {
        free(layout->nodes[n].name);
        free(layout->nodes[n].ranks);
    }
    free(layout->nodes);
    free(layout->node_of);
    free(layout->local_of);
    *layout = (struct prun_layout){0};
}

static void prun_append_ranks(struct prun_buffer *text,
                              const struct prun_node *node)
{
    for (uint32_t i = 0; i < node->size; i++) {
        char number[16];
        int length = snprintf(number, sizeof number, "%s%u", i ? "," : "",
                              node->ranks[i]);
        prun_buffer_append(text, number, (size_t)length);
    }
}

char *prun_layout_peers(const struct prun_node *node)
{
    struct prun_buffer text = {0};
    prun_append_ranks(&text, node);
    prun_buffer_append(&text, "", 1);
    return text.data;
}

char *prun_layout_names(const struct prun_layout *layout)
{
    struct prun_buffer text = {0};
    for (uint32_t n = 0; n < layout->node_count; n++) {
        const char *name = layout->nodes[n].name;
        prun_buffer_append(&text, ",", n ? 1 : 0);
        prun_buffer_append(&text, name, strlen(name));
    }
    prun_buffer_append(&text, "", 1);
    return text.data;
}

char *prun_layout_ranks(const struct prun_layout *layout)
{
    struct prun_buffer text = {0};
    for (uint32_t n = 0; n < layout->node_count; n++) {
        prun_buffer_append(&text, ";", n ? 1 : 0);
        prun_append_ranks(&text, &layout->nodes[n]);
    }
    prun_buffer_append(&text, "", 1);
    return text.data;
}
