#ifndef CATENA_REQUEST_H
#define CATENA_REQUEST_H

#include <stddef.h>

#include <catena/status.h>

#ifdef __cplusplus
extern "C" {
#endif

/** A nonblocking operation (catena_i...) or a persistent one (catena_..._init).
 * As in MPI: completing a nonblocking request frees it and sets the handle to
 * NULL; a persistent one becomes inactive and exists until catena_request_free.
 * A NULL handle counts as complete.
 *
 * Persistent requests match in the order in which they are initialized: all
 * ranks of a group initialize the same ones in the same order relative to their
 * other calls. Ranks may start and free them in any order; the n-th start of a
 * request matches the n-th start of the same request on the other ranks, and
 * never a call that is not persistent. */
typedef struct catena_request catena_request_t;

/** Start a persistent request. ERR_STATE if it is active. */
CATENA_API catena_status_t catena_request_start(catena_request_t *request);
/** Start several persistent requests in their order; all are tried.
 * @return the first error, as of catena_request_start */
CATENA_API catena_status_t
catena_request_startall(size_t count, catena_request_t *requests[]);

/** Make progress once; `done` is set if the request is complete.
 * @return the operation's status if it is complete */
CATENA_API catena_status_t catena_request_test(catena_request_t **request,
                                               int *done);

/** Block until the request is complete. */
CATENA_API catena_status_t catena_request_wait(catena_request_t **request);

/** Block until all requests are complete; returns the first error. */
CATENA_API catena_status_t catena_request_waitall(size_t count,
                                                  catena_request_t *requests[]);

/** `done` is set only if all requests are complete. */
CATENA_API catena_status_t catena_request_testall(size_t count,
                                                  catena_request_t *requests[],
                                                  int *done);

/** Block until one active request is complete.
 * @param[out] index its index, or `count` if none is active */
CATENA_API catena_status_t catena_request_waitany(size_t count,
                                                  catena_request_t *requests[],
                                                  size_t *index);

/** Make progress once; take one active request that is complete.
 * @param[out] index its index; `count` if there is none
 * @param[out] done  set if one was taken, or if none is active */
CATENA_API catena_status_t catena_request_testany(size_t count,
                                                  catena_request_t *requests[],
                                                  size_t *index, int *done);

/** Block until an active request is complete; take all that are.
 * @param[out] completed number of these; 0 if none was active
 * @param[out] indices   [count] the indices of these, ascending
 * @param[out] statuses  [count] the status of each, in the order of `indices`;
 *                       may be NULL
 * @return the first error among these; the outputs are set then, too. ERR_ARG
 *         and no outputs: an argument is NULL */
CATENA_API catena_status_t catena_request_waitsome(size_t count,
                                                   catena_request_t *requests[],
                                                   size_t *completed,
                                                   size_t indices[],
                                                   catena_status_t statuses[]);

/** Make progress once; take all active requests that are complete. Arguments
 * and return value as in catena_request_waitsome, and:
 * @param[out] completed may be 0
 * @param[out] done      set if no request is active any more */
CATENA_API catena_status_t catena_request_testsome(
    size_t count, catena_request_t *requests[], size_t *completed,
    size_t indices[], catena_status_t statuses[], int *done);

/** Free an inactive persistent request; does not block.
 * @param[in,out] request NULL afterwards
 * @return CATENA_OK, ERR_ARG (`request` is NULL), ERR_STATE (it is active, or
 *         not persistent; nothing is done) */
CATENA_API catena_status_t catena_request_free(catena_request_t **request);

/** Describe the phase of an operation and the rank (of its group) that it waits
 * for: "alltoall/leaders: exchange, waits for rank 7". Always terminated. */
CATENA_API catena_status_t catena_request_describe(
    const catena_request_t *request, char *text, size_t bytes);

#ifdef __cplusplus
}
#endif
#endif
