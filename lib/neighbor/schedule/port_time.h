#ifndef CTN_NEIGHBOR_SCHEDULE_PORT_TIME_H
#define CTN_NEIGHBOR_SCHEDULE_PORT_TIME_H

#include "neighbor/schedule/edge_coloring.h"

#include <stdbool.h>

/* How long an exchange occupies the ports of a network that holds a message at
 * its sender until the receiver's port has taken it (network.buffer_bytes of
 * catena-machine(5)). Each rank has a port. A message takes its weight, or if
 * they are not weighed 1. */

/** All at once: each rank sends its messages in the order of the list, each
 * when the one before is taken. A port takes them as they come.
 * @param     ranks  their number
 * @param[in] edge   [count] by sender
 * @return CATENA_OK, ERR_NO_MEMORY */
catena_status_t ctn_port_time_at_once(size_t ranks,
                                      const ctn_bipartite_edge_t edge[],
                                      size_t count, bool weighed,
                                      uint64_t *time);

/** In rounds, each as long as its longest message.
 * @param[in] edge [count] in any order, with colors
 * @return CATENA_OK, ERR_NO_MEMORY */
catena_status_t ctn_port_time_rounds(const ctn_bipartite_edge_t edge[],
                                     size_t count, uint32_t colors,
                                     bool weighed, uint64_t *time);

#endif
