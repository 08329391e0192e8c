#ifndef INFO_ATTACH_H
#define INFO_ATTACH_H

/** Whether a child of a launcher can read the memory of another one, as ranks
 * of a node do with CATENA_SINGLE_COPY. @return 0, an errno, or -1: not known
 */
int attach_try(void);

enum { ATTACH_REASON_BYTES = 256 };
/** Find out which setting of the system denies it, and what to change.
 * @param wrong not 0, from attach_try */
void attach_reason(int wrong, char text[ATTACH_REASON_BYTES]);

#endif
