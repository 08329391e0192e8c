#ifndef INFO_DOCTOR_H
#define INFO_DOCTOR_H

#include <stdbool.h>

/** What the checks have found so far. */
typedef struct doctor {
    int warnings;
    int errors;
    bool heapless; /* the shared heap cannot be made: no rank starts */
} doctor_t;

/** Check this machine for jobs of catena, and print a line for each check.
 * @return whether jobs can run: there is no error */
bool doctor_run(void);

/* For the checks: print a line. Problems say what was found, and after a
 * semicolon what to change. */
__attribute__((format(printf, 3, 4))) void
doctor_ok(doctor_t *doctor, const char *check, const char *format, ...);
__attribute__((format(printf, 3, 4))) void
doctor_warning(doctor_t *doctor, const char *check, const char *format, ...);
__attribute__((format(printf, 3, 4))) void
doctor_error(doctor_t *doctor, const char *check, const char *format, ...);

/* doctor_system.c */
void doctor_memory(doctor_t *doctor);
void doctor_attach(doctor_t *doctor);
void doctor_limits(doctor_t *doctor);
void doctor_cores(doctor_t *doctor);
/* doctor_jobs.c: the first one removes bad settings from the environment, so
 * that the others judge the rest. */
void doctor_settings(doctor_t *doctor);
void doctor_launcher(doctor_t *doctor);
void doctor_pmix(doctor_t *doctor);
void doctor_heap(doctor_t *doctor);
void doctor_ranks(doctor_t *doctor);
void doctor_network(doctor_t *doctor);

#endif
