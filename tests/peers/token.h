#ifndef TOKEN_H
#define TOKEN_H

/* Programs that measure in turn: only those that hold the token run, all others
 * sleep. So each side of a comparison has its times from the same moments,
 * which matters where the speed of the machine changes from one second to the
 * next.
 *
 * PEER_TOKEN=FILE:INDEX:SIDES names the file that the programs share, which
 * side this one is, and their number. Without it the token is always held. */

/** Read PEER_TOKEN, and wait until every side has come here.
 * @param rank of this process; rank 0 stands for its side
 * @return NULL, or what is wrong */
const char *token_open(int rank);

/** Wait until this side holds the token. Every rank calls it.
 * @return NULL, or what is wrong: another side ended, or is too slow */
const char *token_wait(void);

/** Hand the token to the next side. Rank 0 calls it, after all ranks of its
 * side have finished what they measured; the others call it, too. */
void token_pass(void);

#endif
