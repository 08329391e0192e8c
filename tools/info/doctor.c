/* The checks of catena-info --doctor, and their output. */

#include "doctor.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

static void print_line(const char *verdict, const char *check,
                       const char *format, va_list arguments)
{
    printf("%s - %s: ", verdict, check);
    vprintf(format, arguments);
    putchar('\n');
    fflush(stdout);
}

void doctor_ok(doctor_t *doctor, const char *check, const char *format, ...)
{
    va_list arguments;
    (void)doctor;
    va_start(arguments, format);
    print_line("ok", check, format, arguments);
    va_end(arguments);
}

void doctor_warning(doctor_t *doctor, const char *check, const char *format,
                    ...)
{
    va_list arguments;
    doctor->warnings++;
    va_start(arguments, format);
    print_line("warning", check, format, arguments);
    va_end(arguments);
}

void doctor_error(doctor_t *doctor, const char *check, const char *format, ...)
{
    va_list arguments;
    doctor->errors++;
    va_start(arguments, format);
    print_line("error", check, format, arguments);
    va_end(arguments);
}

bool doctor_run(void)
{
    static void (*const checks[])(doctor_t *) = {
        doctor_settings, doctor_launcher, doctor_pmix, doctor_cores,
        doctor_memory,   doctor_limits,   doctor_heap, doctor_attach,
        doctor_ranks,    doctor_network,
    };
    doctor_t doctor = {.errors = 0};
    for (size_t i = 0; i < sizeof(checks) / sizeof(checks[0]); i++) {
        checks[i](&doctor);
    }
    return fflush(stdout) == 0 && !ferror(stdout) && doctor.errors == 0;
}
