#ifndef CTN_CORE_JOINED_H
#define CTN_CORE_JOINED_H

/** The key of the PMIx query by which rank 0 tells prun that all ranks have
 * joined. Its answer means nothing. */
#define CTN_PMIX_JOINED "catena.joined"

#endif
