#ifndef CATENA_REQUEST_H
#define CATENA_REQUEST_H

#include <stddef.h>

#include <catena/status.h>

#ifdef __cplusplus
extern "C" {
#endif

/** A nonblocking operation (catena_i...) or a persistent one (catena_..._init).
 * As in MPI: a request is complete when a function below has returned its
 * status. Completing a nonblocking request frees it and sets the handle to
 * NULL; a persistent one becomes inactive and exists until catena_request_free.
 * A NULL handle counts as complete.
 *
 * Persistent requests match in the order in which they are initialized: all
 * ranks of a group initialize the same ones, in the same order among their
 * calls on the group. Ranks may start and free them in any order; the n-th
 * start of a request matches the n-th start of the same request on the other
 * ranks, and never a call that is not persistent. So CATENA_CHECK=on compares
 * their initializations, but not their starts. */
typedef struct catena_request catena_request_t;

/** @file
 * If operations failed, functions that complete requests return an error of
 * theirs; `done`, `index` and the handles are set all the same. */

/** Start a persistent request; does not block.
 * @param request from one of the _init functions
 * @return CATENA_OK, ERR_ARG (NULL), ERR_STATE (it is active, or not
 *         persistent) */
CATENA_API catena_status_t catena_request_start(catena_request_t *request);
/** Start several persistent requests in their order. An error of one does not
 * keep the next ones from being started.
 * @param[in] requests [count]
 * @return the first error, as of catena_request_start */
CATENA_API catena_status_t
catena_request_startall(size_t count, catena_request_t *requests[]);

/** Make progress once, and complete the request if its operation has ended.
 * @param[in,out] request set to NULL if a nonblocking request is complete
 * @param[out]    done    1: complete; 0: not
 * @return the operation's status if it is complete, else CATENA_OK; ERR_ARG
 *         (NULL) */
CATENA_API catena_status_t catena_request_test(catena_request_t **request,
                                               int *done);

/** Block until the request is complete.
 * @param[in,out] request set to NULL if it is nonblocking
 * @return the operation's status; ERR_ARG (`request` is NULL) */
CATENA_API catena_status_t catena_request_wait(catena_request_t **request);

/** Block until all requests are complete.
 * @param[in,out] requests [count]; nonblocking ones are set to NULL, here and
 *                         in the functions below
 * @return the first error in the order of `requests`; ERR_ARG (NULL) */
CATENA_API catena_status_t catena_request_waitall(size_t count,
                                                  catena_request_t *requests[]);

/** Make progress once; complete all requests if the operations of all have
 * ended, else none.
 * @param[out] done 1: all are complete; 0: none was completed by this call
 * @return as catena_request_waitall if `done` is 1, else CATENA_OK */
CATENA_API catena_status_t catena_request_testall(size_t count,
                                                  catena_request_t *requests[],
                                                  int *done);

/** Block until one active request is complete.
 * @param[out] index its index, or `count` if none is active
 * @return its operation's status; CATENA_OK if none is active; ERR_ARG (NULL)
 */
CATENA_API catena_status_t catena_request_waitany(size_t count,
                                                  catena_request_t *requests[],
                                                  size_t *index);

/** Make progress once; complete one active request whose operation has ended.
 * @param[out] index its index; `count` if there is none
 * @param[out] done  1: one was completed, or none is active; 0: neither
 * @return as catena_request_waitany */
CATENA_API catena_status_t catena_request_testany(size_t count,
                                                  catena_request_t *requests[],
                                                  size_t *index, int *done);

/** Block until the operation of at least one active request has ended; complete
 * all requests whose operations have ended.
 * @param[out] completed number of completed requests; 0 if none was active
 * @param[out] indices   [count] the indices of the completed ones, ascending
 * @param[out] statuses  [count] the status of each, in the order of `indices`;
 *                       may be NULL
 * @return the first error among `statuses`, with all outputs set; ERR_ARG
 *         without outputs: an argument is NULL */
CATENA_API catena_status_t catena_request_waitsome(size_t count,
                                                   catena_request_t *requests[],
                                                   size_t *completed,
                                                   size_t indices[],
                                                   catena_status_t statuses[]);

/** As catena_request_waitsome, but do not block: make progress once; complete
 * all active requests whose operations have ended.
 * @param[out] completed may be 0 although requests are active
 * @param[out] done      1: no request is active any more; 0: some are */
CATENA_API catena_status_t catena_request_testsome(
    size_t count, catena_request_t *requests[], size_t *completed,
    size_t indices[], catena_status_t statuses[], int *done);

/** Free an inactive persistent request; does not block.
 * @param[in,out] request NULL afterwards
 * @return CATENA_OK, ERR_ARG (`request` is NULL), ERR_STATE (it is active, or
 *         not persistent; it is unchanged) */
CATENA_API catena_status_t catena_request_free(catena_request_t **request);

/** Describe the step that an operation is at, and the rank of its group that it
 * waits for: "alltoall/leaders: exchange, waits for rank 7".
 * @param[out] text at most `bytes` bytes, terminated; "" for a NULL handle
 * @return CATENA_OK, ERR_ARG (`text` is NULL, or `bytes` 0) */
CATENA_API catena_status_t catena_request_describe(
    const catena_request_t *request, char *text, size_t bytes);

#ifdef __cplusplus
}
#endif
#endif
