/* Runs a program for which some system calls fail, as a seccomp profile of a
 * container has it: deny CALL[,CALL...] PROGRAM [ARGUMENT...] */

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static const struct {
    const char *name;
    unsigned number;
} calls[] = {
    {"process_vm_readv", SYS_process_vm_readv},
    {"memfd_create", SYS_memfd_create},
};

/* Let a system call fail with EPERM from now on. */
static int deny(unsigned number)
{
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof(filter) / sizeof(filter[0]), filter};
    return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

int main(int argc, char **argv)
{
    if (argc < 3 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) {
        fprintf(stderr, "usage: deny CALL[,CALL...] PROGRAM [ARGUMENT...]\n");
        return 2;
    }
    for (char *name = strtok(argv[1], ","); name != NULL;
         name = strtok(NULL, ",")) {
        size_t i = 0;
        while (i < sizeof(calls) / sizeof(calls[0]) &&
               strcmp(calls[i].name, name) != 0) {
            i++;
        }
        if (i == sizeof(calls) / sizeof(calls[0]) ||
            deny(calls[i].number) != 0) {
            fprintf(stderr, "deny: cannot deny %s\n", name);
            return 2;
        }
    }
    execvp(argv[2], argv + 2);
    perror(argv[2]);
    return 127;
}
