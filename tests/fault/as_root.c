/* Preloaded by strangers.sh: a process that says it is root. */
#include <sys/types.h>

uid_t geteuid(void);
gid_t getegid(void);

uid_t geteuid(void)
{
    return 0;
}

gid_t getegid(void)
{
    return 0;
}
