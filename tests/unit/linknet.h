#ifndef UNIT_LINKNET_H
#define UNIT_LINKNET_H

#include "job.h"
#include "neighbor/link.h"

/* Links between random ranks of a job, some both ways, some several between two
 * ranks, and a channel that numbers the operations that use them. */

enum { LINKNET_MOST = 24 };

typedef struct linknet_link {
    uint32_t from, to;
} linknet_link_t;

typedef struct linknet {
    job_t *job;
    bool sizes;  /* data have a size only */
    bool mortal; /* a rank dies, and what it lent goes with it */
    uint32_t links, outs, ins;
    linknet_link_t link[LINKNET_MOST];
    ctn_link_out_t *out; /* [outs] of this rank, of link[sends[i]] */
    ctn_link_in_t *in;   /* [ins] of link[receives[i]] */
    uint32_t sends[LINKNET_MOST];
    uint32_t receives[LINKNET_MOST];
    void *memory;
    ctn_channel_t channel;
    uint64_t random; /* this rank's, for the order of what it does */
} linknet_t;

/** Draw them from the job's seed, and connect their ends. Collective. */
linknet_t *linknet_open(job_t *job);
/** Collective; free it in any case. */
catena_status_t linknet_close(linknet_t *net);

#endif
