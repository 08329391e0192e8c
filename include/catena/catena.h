#ifndef CATENA_CATENA_H
#define CATENA_CATENA_H

/* Everything that libcatena offers. The headers of libcatena-sim, sim.h and
 * model.h, are included separately. */

#include <catena/accumulator.h>
#include <catena/chain.h>
#include <catena/coll.h>
#include <catena/context.h>
#include <catena/group.h>
#include <catena/heap.h>
#include <catena/neighbor.h>
#include <catena/op.h>
#include <catena/request.h>
#include <catena/status.h>
#include <catena/type.h>
#include <catena/version.h>

#endif
